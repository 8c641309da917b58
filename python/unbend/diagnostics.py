"""Whether normalised outputs will collapse (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*).

LLE, LTSA, Hessian LLE, Laplacian eigenmaps and diffusion maps make the same cost small, Phi(Y) (eq. 2), among
all Y of unit covariance. Where a curve Z has a lower cost than the truth, they prefer it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from .neighbors import Neighborhoods, resolve
from .points import Matrix, as_points, thread_count

__all__ = ["Price", "Verdict", "price_of_normalization"]

Array = npt.NDArray[np.float64]
Outcome = Literal["holds", "would collapse", "too close to tell"]

# What each is called, and whether its constraint is weighted by the degrees (eq. 3).
ALGORITHMS = {
    "LLE": "LocallyLinearEmbedding",
    "LTSA": "LTSA",
    "HLLE": "HessianLLE",
    "LEM": "LaplacianEigenmaps",
    "DFM": "DiffusionMaps",
}
WEIGHTED = ("LEM", "DFM")

# Two costs are told apart when they differ by more than this many standard errors of their difference ...
SURE = 2.0
# ... and by more than this share. With LEM, grids of 81 x 41 and 81 x 39 points are 0.024 and 0.078 away from
# where it tips.
CLEAR = 0.01


@dataclass(frozen=True)
class Verdict:
    """What one algorithm would do, and the numbers behind it.

    With more than two dimensions "second" is the axis whose loss would save most (section 5.4).

    Attributes
    ----------
    algorithm : str
        "LLE", "LTSA", "HLLE", "LEM" or "DFM".
    outcome : {"holds", "would collapse", "too close to tell"}
        Whether Phi of the coordinates exceeds that of the cheaper curve.
    phi_y, phi_z : float
        Phi of the normalised coordinates (eq. 9), and of the curve that the paper puts against them (eq. 10,
        13). For LEM and DFM both with the constraints that are weighted by degrees (section 5.2).
    phi_parabola : float
        Phi of a curve without a kink, x1 and a square of it: cheaper where the cost is that of curvature.
    uncertainty : float
        Standard error of the difference between Phi of the coordinates and of the cheaper curve.
    e1, e2 : float
        Mean cost of the first and the second coordinate, not normalised.
    sigma, tau : float
        Standard deviations of these coordinates.
    kappa, rho : float
        Of eq. 10 and 11.
    split : float
        Share of neighbourhoods with points on both sides of the kink, ``|N_0| / N``.
    r_max : float
        The largest diameter among them.
    theorem : tuple of float
        Left and right of eq. 12, for LEM and DFM of the sharper one after it: where the left is less, the
        theorem says that the algorithm fails.
    corollary : tuple of float
        Left of Corollary 5.2, and sigma / tau.
    corollary_applies : bool
        Whether what it assumes of e1, kappa and rho is the case.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.grid(81, 41)
    >>> verdict = ub.price_of_normalization(X, coordinates, algorithms="LEM")["LEM"]
    >>> verdict.outcome, verdict.phi_y < verdict.phi_z
    ('holds', True)
    """

    algorithm: str
    outcome: Outcome
    phi_y: float
    phi_z: float
    phi_parabola: float
    uncertainty: float
    e1: float
    e2: float
    sigma: float
    tau: float
    kappa: float
    rho: float
    split: float
    r_max: float
    theorem: tuple[float, float]
    corollary: tuple[float, float]
    corollary_applies: bool

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        curve, ratio = min(self.phi_z, self.phi_parabola), self.sigma / self.tau
        shape = f"(the data are {ratio:.2g} times as long as wide)"
        if self.outcome == "holds":
            return (
                f"{self.algorithm} should keep both dimensions {shape}: a curve would cost "
                f"{_times(curve, self.phi_y)} times as much."
            )
        if self.outcome == "would collapse":
            return (
                f"{self.algorithm} would collapse {shape}: a curve costs {_times(curve, self.phi_y)} of what "
                "the coordinates cost."
            )
        return f"{self.algorithm} is close to the point where it collapses {shape}."

    @property
    def by_theorem(self) -> bool:
        """Whether Theorem 5.1 proves that the algorithm fails."""
        return self.theorem[0] < self.theorem[1]

    @property
    def by_corollary(self) -> bool:
        """Whether Corollary 5.2 proves it."""
        return self.corollary_applies and self.corollary[0] < self.corollary[1]


@dataclass(frozen=True)
class Price:
    """The verdict on every algorithm; see :func:`price_of_normalization`.

    Attributes
    ----------
    verdicts : dict of str to Verdict
        By algorithm.
    y, z : ndarray of shape (n, d)
        The normalised coordinates, and the curve of eq. 10 that has the same covariance.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.grid(81, 39)
    >>> ub.price_of_normalization(X, coordinates, n_neighbors=8)["LEM"].outcome
    'would collapse'
    """

    verdicts: dict[str, Verdict]
    y: Array = field(repr=False)
    z: Array = field(repr=False)

    def __getitem__(self, algorithm: str) -> Verdict:
        """Return the verdict on one algorithm."""
        return self.verdicts[algorithm]

    def __str__(self) -> str:
        """Return a table, then what it says."""
        some = next(iter(self.verdicts.values()))
        head = f"{len(self.y):,} points, sigma / tau = {_ratio(some.sigma, some.tau)}"
        lines = [head, "", "         Phi(Y)     Phi(Z)   parabola      e1 / e2   outcome"]
        for one in self.verdicts.values():
            curves = f"{one.phi_z:>10.4g} {one.phi_parabola:>10.4g}"
            lines.append(
                f"  {one.algorithm:<5}{one.phi_y:>9.4g} {curves} {_ratio(one.e1, one.e2):>12}   {one.outcome}"
            )
        return "\n".join([*lines, "", *(one.sentence for one in self.verdicts.values())])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return all numbers, by algorithm."""
        extra = ("sentence", "by_theorem", "by_corollary")
        return {
            name: asdict(one) | {key: getattr(one, key) for key in extra}
            for name, one in self.verdicts.items()
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw Y and Z side by side, coloured by the first coordinate (as Fig. 2); needs matplotlib.

        Parameters
        ----------
        axes : pair of matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Figure
        """
        from matplotlib import pyplot

        if axes is None:
            _, axes = pyplot.subplots(1, 2, figsize=(8, 4), layout="constrained")
        titles = ("Y: the coordinates, normalised", "Z: a curve with the same covariance")
        for ax, points, title in zip(axes, (self.y, self.z), titles, strict=True):
            ax.scatter(points[:, 0], points[:, 1], c=self.y[:, 0], s=4, linewidths=0)
            ax.set(title=title, aspect="equal")
        return axes[0].figure


def price_of_normalization(
    X: Any,
    coordinates: Any = None,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    algorithms: Any = tuple(ALGORITHMS),
    n_components: int = 2,
    n_jobs: int | None = None,
) -> Price:
    """Tell whether algorithms that normalise their output would collapse these data, without running them.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    coordinates : array-like of shape (n, d), optional
        What is believed of them: the truth, or an embedding that keeps lengths. By default
        :class:`ProcrustesAlignment` finds them.
    n_neighbors : int, default 8
        How many other points a neighbourhood holds.
    radius, neighborhoods
        Instead: all within a distance, or neighbourhoods already computed.
    algorithms : sequence of str
        Some of "LLE", "LTSA", "HLLE", "LEM" and "DFM".
    n_components : int, default 2
        Of the coordinates, where they are to be found.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.

    Returns
    -------
    Price
        A :class:`Verdict` for each algorithm, which prints as a table.

    Raises
    ------
    ValueError
        If X and the coordinates do not belong together, hold entries that are not finite, or an algorithm is
        unknown.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.strip(3000, length=6.0, noise=0.01, random_state=0)
    >>> print(ub.price_of_normalization(X, coordinates, algorithms=["LEM"])["LEM"].outcome)
    would collapse
    """
    x = as_points(X, "X")
    names = _check(algorithms)
    given = None if coordinates is None else as_points(coordinates, "coordinates")
    if given is not None and len(given) != len(x):
        raise ValueError(f"X has {len(x)} rows, but coordinates has {len(given)}")
    k = 8 if n_neighbors is None and radius is None and neighborhoods is None else n_neighbors
    graph = resolve(x, neighborhoods, k, radius, n_jobs)
    labels = graph.n_connected_components
    if labels > 1:
        raise ValueError(
            f"the neighbourhood graph has {labels} pieces: judge each by itself, or use more neighbours"
        )
    theta = _found(x, n_components, n_jobs) if given is None else np.asarray(given, np.float64)
    if theta.shape[1] < 2:
        raise ValueError("coordinates of one dimension cannot collapse: at least 2 are needed")
    plain = _Axes.of(theta, None)
    verdicts = {name: _judge(name, x, theta, plain, graph, n_jobs) for name in names}
    return Price(verdicts, plain.y, plain.with_curve(plain.kink(), 1))


def _check(algorithms: Any) -> list[str]:
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    unknown = [name for name in names if name not in ALGORITHMS]
    if unknown or not names:
        what = f"algorithm {unknown[0]!r} is unknown" if unknown else "no algorithm is named"
        raise ValueError(f"{what}: there are {', '.join(map(repr, ALGORITHMS))}")
    return names


def _found(x: Matrix, n_components: int, n_jobs: int | None) -> Array:
    from .align import ProcrustesAlignment

    return ProcrustesAlignment(n_components=n_components, n_jobs=n_jobs).fit(x).embedding_


# The two embeddings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axes:
    """The coordinates about their mean and along their principal axes, the longest first (before eq. 9).

    Means and variances are weighted, by the degrees for LEM and DFM (section 5.2); weights add up to 1.
    """

    x: Array
    spread: Array
    weights: Array

    @classmethod
    def of(cls, theta: Array, degrees: Array | None) -> _Axes:
        n, d = theta.shape
        weights = np.full(n, 1 / n) if degrees is None else degrees / degrees.sum()
        centred = theta - weights @ theta
        unit = np.abs(centred).max(initial=0.0)
        if unit > 0:
            centred = centred / unit
        variances, axes = np.linalg.eigh(centred.T @ (weights[:, None] * centred))
        variances = np.maximum(variances[::-1], 0.0)
        flat = int((variances <= 1e-24 * max(variances[0], 1e-300)).sum())
        if flat:
            raise ValueError(f"the coordinates have no extent in {flat} of {d} dimensions")
        x = centred @ axes[:, ::-1]
        # kappa >= 1, without loss of generality
        x[:, 0] *= 1.0 if _kappa(x[:, 0], weights) >= 1 else -1.0
        return cls(x * unit, np.sqrt(variances) * unit, weights)

    @property
    def y(self) -> Array:
        """Eq. 9: the coordinates, normalised."""
        return self.x / self.spread

    @property
    def kappa(self) -> float:
        return _kappa(self.x[:, 0], self.weights)

    @property
    def rho(self) -> float:
        return self._deviation(self._bent())

    def kink(self) -> Array:
        """Return the second coordinate of eq. 10: both sides of 0 turned up."""
        return self._normalised(self._bent())

    def parabola(self) -> Array:
        """Return a second coordinate that is a square of the first."""
        first = self.y[:, 0]
        square = first**2 - self.weights @ first**2
        return self._normalised(square - (self.weights @ (square * first)) * first)

    def with_curve(self, column: Array, axis: int) -> Array:
        """Put `column` in the place of an axis; what follows is made uncorrelated to it (section 5.4)."""
        rest = [j for j in range(self.x.shape[1]) if j not in (0, axis)]
        columns = np.column_stack([self.y[:, 0], column, self.y[:, rest]])
        root = np.sqrt(self.weights)[:, None]
        q, r = np.linalg.qr(root * columns)
        return q * np.sign(np.diag(r)) / root

    def _bent(self) -> Array:
        first = self.x[:, 0]
        return np.where(first < 0, -first, self.kappa * first)

    def _deviation(self, column: Array) -> float:
        return math.sqrt(self.weights @ (column - self.weights @ column) ** 2)

    def _normalised(self, column: Array) -> Array:
        centred = column - self.weights @ column
        deviation = self._deviation(column)
        return centred / deviation if deviation > 0 else centred


def _kappa(first: Array, weights: Array) -> float:
    """Eq. 11."""
    squares = weights * first**2
    below, above = squares[first < 0].sum(), squares[first >= 0].sum()
    return math.sqrt(below / above) if above > 0 else math.inf


# The verdict --------------------------------------------------------------------------------------------


def _judge(
    name: str, x: Matrix, theta: Array, plain: _Axes, graph: Neighborhoods, n_jobs: int | None
) -> Verdict:
    jobs, d = thread_count(n_jobs), theta.shape[1]
    weights = _weights(name, x, graph, d, jobs)
    axes = _Axes.of(theta, weights.degrees(graph._graph, True)) if name in WEIGHTED else plain

    def phi(columns: Array) -> Array:
        return weights.phi(graph._graph, np.ascontiguousarray(columns.reshape(len(x), -1)))

    cost = [float(phi(axes.x[:, j]).mean()) for j in range(d)]
    lost = max(range(1, d), key=lambda j: cost[j] / axes.spread[j] ** 2)
    of_y = phi(axes.y)
    of_z, of_parabola = (phi(axes.with_curve(column, lost)) for column in (axes.kink(), axes.parabola()))
    cheaper = min(of_z, of_parabola, key=lambda values: float(values.sum()))
    phi_y, phi_z, phi_parabola = (float(values.sum()) for values in (of_y, of_z, of_parabola))
    uncertainty = math.sqrt(len(x)) * float((of_y - cheaper).std())
    sizes = graph.sizes
    split, r_max = _split(axes.x, graph)
    sigma, tau, e1, e2 = float(axes.spread[0]), float(axes.spread[lost]), cost[0], cost[lost]
    bend = axes.kappa**2 / axes.rho**2 if axes.rho > 0 else math.inf
    kinks = 0.0 if name in WEIGHTED else split * _constant(name, int(sizes.max()), d) * r_max**2
    return Verdict(
        name,
        _outcome(phi_y, min(phi_z, phi_parabola), uncertainty),
        phi_y,
        phi_z,
        phi_parabola,
        uncertainty,
        e1,
        e2,
        sigma,
        tau,
        axes.kappa,
        axes.rho,
        split,
        r_max,
        (bend * (e1 + kinks), e2 / tau**2),
        (4 * (1 + kinks / (math.sqrt(2) * e2)) if e2 > 0 else math.inf, sigma / tau),
        e1 < math.sqrt(2) * e2 and axes.kappa < 2**0.25 and axes.rho**2 > sigma**2 / 8,
    )


def _weights(name: str, x: Matrix, graph: Neighborhoods, d: int, n_jobs: int) -> _core.LocalWeights:
    """Return the W_i, with the default parameters of the estimators."""
    data = (x, graph._graph)
    match name:
        case "LLE":
            return _core.LocalWeights.lle(*data, "tikhonov", 1e-3, d, n_jobs)
        case "LTSA":
            return _core.LocalWeights.ltsa(*data, d, True, n_jobs)
        case "HLLE":
            return _core.LocalWeights.hlle(*data, d, False, n_jobs)
        case "LEM":
            return _core.LocalWeights.lem(*data, "window", None, n_jobs)
        case _:
            return _core.LocalWeights.dfm(*data, 1.0, "heat", None, n_jobs)


def _constant(name: str, k: int, d: int) -> float:
    """Return c_a of Lemma A.1."""
    return {"LLE": 1 / k, "LTSA": k**2, "HLLE": d * (d + 1) / 2 * (k + 1)}[name]


def _outcome(phi_y: float, phi_z: float, uncertainty: float) -> Outcome:
    difference = phi_y - phi_z
    if difference < -max(SURE * uncertainty, CLEAR * phi_z):
        return "holds"
    if difference > max(SURE * uncertainty, CLEAR * phi_z):
        return "would collapse"
    return "too close to tell"


def _split(x: Array, graph: Neighborhoods) -> tuple[float, float]:
    """Return the share of neighbourhoods on both sides of the kink, and the diameter of the largest."""
    sizes, n = graph.sizes, len(graph)
    owners = np.repeat(np.arange(n), sizes)
    above = x[:, 0] >= 0
    others = np.bincount(owners, above[graph.indices], minlength=n)
    n_above = others + above
    both = np.flatnonzero((n_above > 0) & (n_above < sizes + 1))
    largest = 0.0
    for start in range(0, len(both), 4096):
        block = both[start : start + 4096]
        width = int(sizes[block].max())
        place = graph.indptr[block][:, None] + np.minimum(np.arange(width), sizes[block][:, None] - 1)
        points = x[np.column_stack([block, graph.indices[place]])]
        for j in range(width + 1):
            apart = np.linalg.norm(points - points[:, j : j + 1], axis=2)
            largest = max(largest, float(apart.max()))
    return len(both) / n, largest


def _times(a: float, b: float) -> str:
    """Return a / b for a sentence."""
    if a < b:
        return f"{100 * a / b:.2g} %"
    return f"{a / b:.3g}" if a < 1000 * b else "more than 1000"


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.3g}" if b > 0 else "inf"
