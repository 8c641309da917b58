"""Whether normalised outputs will collapse (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*).

LLE, LTSA, Hessian LLE, Laplacian eigenmaps and diffusion maps make the same cost small, Phi(Y) (eq. 2), among
all Y of unit covariance. Where a curve Z has a lower cost than the truth, they prefer it (section 5).

That is a proof of failure, but one Z that costs more than Y is no proof of success. So the verdict goes by
the cheapest smooth functions of the coordinates, which `ritz` finds: do they keep all dimensions?
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_points, thread_count
from ..core.jsonable import finite
from ..graph.neighbors import Neighborhoods, resolve
from .rayleigh_ritz import Columns, cheapest

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

# Embeddings that are read so are no coordinates to judge by.
UNTRUE = ("folded", "torn", "collapsed", "unrelated", "distorted")

# Coordinates of unit variance that cost less cost nothing.
ROUNDING = 1e-20

# A dimension is kept if the output explains at least this share of its variance linearly.
KEPT = 0.5

# Two costs are told apart when they differ by more than this many standard errors of their difference ...
SURE = 2.0
# ... and by more than this share.
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
        Whether the d cheapest functions of the coordinates keep all d dimensions.
    needed : int
        How many of the cheapest functions it takes to keep them all: d if the algorithm holds. Where it does
        not, an embedding of so many dimensions has what was lost.
    costs : tuple of float
        Phi of the cheapest functions of unit variance, the first d and as many as are needed, at least d + 1.
    uncertainty : float
        Standard error of the difference of the two costs that decide: of function d, and of the last one
        needed, or of function d + 1 where no more are needed.
    phi_y, phi_z : float
        Phi of the normalised coordinates (eq. 9), and of the curve that the paper puts against them (eq. 10,
        13). For LEM and DFM both with the constraints that are weighted by degrees (section 5.2).
    e1, e2 : float
        Mean cost of the first and the second coordinate, not normalised.
    sigma, tau : float
        Standard deviations of these coordinates.
    kappa, rho : float
        Of eq. 10 and 11; kappa without the square roots, so that the columns of Z are uncorrelated.
    split : float
        Share of neighbourhoods with points on both sides of the kink, ``|N_0| / N``.
    r_max : float
        The largest diameter among them.
    c_a : float
        Of Lemma A.1, what a kink can cost; 0 for LEM and DFM. For LLE, where the lemma is wrong, the least
        number that will do for these data.
    skew : float
        Correlation of the second column of Z with the third and later coordinates (section 5.4); 0 if there
        are none.
    theorem : tuple of float
        Left and right of eq. 12, for LEM and DFM of the sharper one after it: where the left is less,
        Phi(Y) > Phi(Z).
    corollary : tuple of float
        Left of Corollary 5.2, and sigma / tau.
    corollary_applies : bool
        Whether what it assumes of e1, kappa, rho and the number of dimensions is the case.

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
    needed: int
    costs: tuple[float, ...]
    uncertainty: float
    phi_y: float
    phi_z: float
    e1: float
    e2: float
    sigma: float
    tau: float
    kappa: float
    rho: float
    split: float
    r_max: float
    c_a: float
    skew: float
    theorem: tuple[float, float]
    corollary: tuple[float, float]
    corollary_applies: bool

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        shape = f"(the data are {_ratio(self.sigma, self.tau)} times as long as wide)"
        if self.outcome == "holds":
            return (
                f"{self.algorithm} should keep all dimensions {shape}: what could take the place of the last "
                f"one costs {_times(self.costs[-1], self.costs[-2])} as much."
            )
        if self.outcome == "would collapse":
            return (
                f"{self.algorithm} would collapse {shape}: {self.needed - 1} functions are cheaper than the "
                "dimension it would lose."
            )
        return f"{self.algorithm} is close to the point where it collapses {shape}."

    @property
    def by_theorem(self) -> bool:
        """Whether Theorem 5.1 proves that a curve is cheaper than the coordinates."""
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
    forecasts : dict of str to ndarray of shape (n, d)
        By algorithm, the cheapest functions of the coordinates: what its output should look like.

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
    forecasts: dict[str, Array] = field(repr=False)

    def __getitem__(self, algorithm: str) -> Verdict:
        """Return the verdict on one algorithm."""
        return self.verdicts[algorithm]

    def __str__(self) -> str:
        """Return a table, then what it says."""
        some = next(iter(self.verdicts.values()))
        head = f"{len(self.y):,} points, sigma / tau = {_ratio(some.sigma, some.tau)}"
        lines = [head, "", f"  {'':<5}{'Phi(Y)':>10}{'Phi(Z)':>10}{'e1 / e2':>9}{'needed':>8}  outcome"]
        for one in self.verdicts.values():
            costs = f"{one.phi_y:>10.3g}{one.phi_z:>10.3g}{_ratio(one.e1, one.e2):>9}"
            lines.append(f"  {one.algorithm:<5}{costs}{one.needed:>8}  {one.outcome}")
        return "\n".join([*lines, "", *(one.sentence for one in self.verdicts.values())])

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return all numbers, by algorithm."""
        extra = ("sentence", "by_theorem", "by_corollary")
        return {
            name: asdict(one) | {key: getattr(one, key) for key in extra}
            for name, one in self.verdicts.items()
        }

    def to_json(self) -> str:
        """Return all numbers as JSON; what is not finite is null."""
        return json.dumps(finite(self.to_dict()), allow_nan=False)

    def plot(self, algorithm: str | None = None, *, axes: Any = None) -> Any:
        """Draw Y and Z (as Fig. 2), and what an algorithm should make of the data; needs matplotlib.

        Points are coloured by the first coordinate. Of more than two dimensions the first two are drawn.

        Parameters
        ----------
        algorithm : str, optional
            Whose forecast to draw beside them; by default that of the first that would collapse, if any.
        axes : sequence of matplotlib Axes, optional
            Where to draw, three of them if there is a forecast; a new figure by default.

        Returns
        -------
        matplotlib Figure
        """
        from matplotlib import pyplot

        name = next((k for k, v in self.verdicts.items() if v.outcome == "would collapse"), None)
        name = name if algorithm is None else _check(algorithm)[0]
        panels = {"Y: the coordinates, normalised": self.y, "Z: a curve of the same covariance": self.z}
        if name is not None:
            panels[f"what {name} should give: {self.verdicts[name].outcome}"] = self.forecasts[name]
        if axes is None:
            count = len(panels)
            _, axes = pyplot.subplots(1, count, figsize=(3.6 * count, 3.6), layout="constrained")
        for ax, (title, points) in zip(axes, panels.items(), strict=True):
            ax.scatter(points[:, 0], points[:, 1], c=self.y[:, 0], s=4, linewidths=0)
            ax.set_title(title, fontsize=10)
            ax.set_aspect("equal", adjustable="datalim")
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

    All are taken with the default parameters of their classes. What the verdict means, and what fools it, is
    said in docs/normalization.md. Besides the weights of each algorithm it costs O(n k m + n m^2) for m = 46
    functions of two coordinates.

    Parameters
    ----------
    X : array-like of shape (n, q)
        The data.
    coordinates : array-like of shape (n, d), optional
        What is believed of them: the truth, or an embedding that keeps lengths. By default
        :class:`ProcrustesAlignment` finds them, and a warning is given if it could not.
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
    from threadpoolctl import threadpool_limits

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
    if not np.isfinite(theta).all():
        row = int(np.argmin(np.isfinite(theta).all(axis=1)))
        raise ValueError(f"coordinates has a value that is not finite in row {row}")
    plain = _Axes.of(theta, None)
    with threadpool_limits(1, user_api="blas"):  # matrices of few columns: more threads wait for each other
        judged = {name: _judge(name, x, theta, plain, graph, n_jobs) for name in names}
    verdicts = {name: verdict for name, (verdict, _) in judged.items()}
    forecasts = {name: forecast for name, (_, forecast) in judged.items()}
    return Price(verdicts, plain.y, plain.with_curve(plain.kink(), 1), forecasts)


def _check(algorithms: Any) -> list[str]:
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    unknown = [name for name in names if name not in ALGORITHMS]
    if unknown or not names:
        what = f"algorithm {unknown[0]!r} is unknown" if unknown else "no algorithm is named"
        raise ValueError(f"{what}: there are {', '.join(map(repr, ALGORITHMS))}")
    return names


def _found(x: Matrix, n_components: int, n_jobs: int | None) -> Array:
    from ..estimators.align import ProcrustesAlignment
    from ..estimators.embed import NotFlatWarning
    from ..judge.verdict import gather, read
    from ..metrics import nieqa_local

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotFlatWarning)  # what it says is said below
        model = ProcrustesAlignment(n_components=n_components, cut=False, n_jobs=n_jobs).fit(x)
    m_l = nieqa_local(x, model.embedding_, neighborhoods=model.neighborhoods_, n_jobs=n_jobs)
    reading = read(gather(model.faithfulness_, float(m_l)))
    if reading.kind in UNTRUE:
        message = "the coordinates that were found are doubtful, and so is the verdict"
        warnings.warn(f"{message}: {reading.sentence}", UserWarning, stacklevel=3)
    return model.embedding_


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
        return self._deviation(self.bent())

    def kink(self) -> Array:
        """Return the second coordinate of eq. 10: both sides of 0 turned up."""
        return self._normalised(self.bent())

    def with_curve(self, column: Array, axis: int) -> Array:
        """Put `column` in the place of an axis; what follows is made uncorrelated to it (section 5.4).

        The paper's Z of four and more dimensions is not of unit covariance: there the columns that follow are
        made uncorrelated to the second one only.
        """
        rest = [j for j in range(self.x.shape[1]) if j not in (0, axis)]
        columns = np.column_stack([self.y[:, 0], column, self.y[:, rest]])
        root = np.sqrt(self.weights)[:, None]
        q, r = np.linalg.qr(root * columns)
        return q * np.sign(np.diag(r)) / root

    def skew(self, axis: int) -> float:
        """Return the length of the vector of all sigma_2j (section 5.4)."""
        rest = [j for j in range(self.x.shape[1]) if j not in (0, axis)]
        return float(np.linalg.norm((self.weights * self.kink()) @ self.y[:, rest]))

    def bent(self) -> Array:
        """Return what eq. 10 makes of the first coordinate, but for its mean and scale."""
        first = self.x[:, 0]
        return np.where(first < 0, -first, self.kappa * first)

    def _deviation(self, column: Array) -> float:
        return math.sqrt(self.weights @ (column - self.weights @ column) ** 2)

    def _normalised(self, column: Array) -> Array:
        centred = column - self.weights @ column
        deviation = self._deviation(column)
        return centred / deviation if deviation > 0 else centred


def _kappa(first: Array, weights: Array) -> float:
    """Eq. 11 without its square roots: with them, the columns of Z are correlated."""
    squares = weights * first**2
    below, above = squares[first < 0].sum(), squares[first >= 0].sum()
    return float(below / above) if above > 0 else math.inf


# The verdict --------------------------------------------------------------------------------------------


def _judge(
    name: str, x: Matrix, theta: Array, plain: _Axes, graph: Neighborhoods, n_jobs: int | None
) -> tuple[Verdict, Array]:
    """Return the verdict, and what the output should look like."""
    jobs, d = thread_count(n_jobs), theta.shape[1]
    weights = _weights(name, x, graph, d, jobs)
    axes = _Axes.of(theta, weights.degrees(graph._graph, True)) if name in WEIGHTED else plain
    cost = _Cost(weights, graph)
    columns = cheapest(cost.matrix(), axes.y, axes.weights)
    outcome = _outcome(columns, cost, d)
    return Verdict(name, **outcome, **_terms(name, axes, cost)), columns.values[:, :d]


@dataclass(frozen=True)
class _Cost:
    """Phi of one algorithm."""

    weights: _core.LocalWeights
    graph: Neighborhoods

    def of(self, columns: Array) -> Array:
        """Return |W_i Y_i|^2 of every neighbourhood."""
        y = np.ascontiguousarray(columns.reshape(len(columns), -1))
        return self.weights.phi(self.graph._graph, y)

    def matrix(self) -> Any:
        from scipy.sparse import csr_array

        indptr, indices, data = self.weights.matrix(self.graph._graph)
        return csr_array((data, indices, indptr), shape=(len(indptr) - 1,) * 2)


def _outcome(columns: Columns, cost: _Cost, d: int) -> dict[str, Any]:
    """Return the verdict and what it goes by."""
    needed = columns.needed(KEPT)
    shown = min(max(needed, d + 1), columns.values.shape[1])
    each = [cost.of(columns.values[:, j]) for j in range(shown)]
    costs = tuple(float(one.sum()) for one in each)
    uncertainty = math.sqrt(len(each[0])) * float((each[-1] - each[d - 1]).std())
    outcome: Outcome = "holds" if needed == d else "would collapse"
    nothing = ROUNDING * len(each[0])
    if costs[-1] - costs[d - 1] <= max(SURE * uncertainty, CLEAR * costs[-1], nothing):
        outcome = "too close to tell"
    return {"outcome": outcome, "needed": needed, "costs": costs, "uncertainty": uncertainty}


def _terms(name: str, axes: _Axes, cost: _Cost) -> dict[str, Any]:
    """Return the terms of Theorem 5.1 and of Corollary 5.2."""
    d = axes.x.shape[1]
    mean = [float(cost.of(axes.x[:, j]).mean()) for j in range(d)]
    relative = [e / float(spread) ** 2 for e, spread in zip(mean, axes.spread, strict=True)]
    lost = max(range(1, d), key=lambda j: (relative[j] if relative[j] > ROUNDING else 0.0, j))
    sigma, tau, e1, e2 = float(axes.spread[0]), float(axes.spread[lost]), mean[0], mean[lost]
    kappa, rho, skew = axes.kappa, axes.rho, axes.skew(lost)
    both, r_max = _split(axes.x, cost.graph)
    split, c_a = len(both) / len(axes.x), _constant(name, axes, cost, both, r_max)
    kinks = split * c_a * r_max**2
    bound = kappa**2 / rho**2 * (e1 + kinks) if rho > 0 else math.inf
    others = sum(relative) - relative[0] - relative[lost]
    left = (bound + skew * others) / (1 - skew) if skew < 1 else math.inf
    return {
        "phi_y": float(cost.of(axes.y).sum()),
        "phi_z": float(cost.of(axes.with_curve(axes.kink(), lost)).sum()),
        "e1": e1,
        "e2": e2,
        "sigma": sigma,
        "tau": tau,
        "kappa": kappa,
        "rho": rho,
        "split": split,
        "r_max": r_max,
        "c_a": c_a,
        "skew": skew,
        "theorem": (left, relative[lost]),
        "corollary": (4 * (1 + kinks / (math.sqrt(2) * e2)) if e2 > 0 else math.inf, sigma / tau),
        "corollary_applies": (
            d == 2 and e1 < math.sqrt(2) * e2 and kappa < 2**0.25 and rho**2 > sigma**2 / 8
        ),
    }


def _weights(name: str, x: Matrix, graph: Neighborhoods, d: int, n_jobs: int) -> _core.LocalWeights:
    """Return the W_i, with the default parameters of the estimators."""
    data = (x, graph._graph)
    match name:
        case "LLE":
            return _core.LocalWeights.lle(*data, "tikhonov", 1e-3, d, n_jobs)
        case "LTSA":
            return _core.LocalWeights.ltsa(*data, d, True, n_jobs)
        case "HLLE":
            return _core.LocalWeights.hlle(*data, d, True, n_jobs)
        case "LEM":
            return _core.LocalWeights.lem(*data, "window", None, n_jobs)
        case _:
            return _core.LocalWeights.dfm(*data, 1.0, "heat", None, n_jobs)


def _constant(name: str, axes: _Axes, cost: _Cost, both: npt.NDArray[np.intp], r_max: float) -> float:
    """Return c_a of Lemma A.1: what a kink costs, as a share of the squared diameter.

    For LLE its proof takes the weights for the best ones of Z_i, and the square of a mean for a K-th of the
    mean of squares: W_i Z_i can be as long as the neighbourhood is wide, and longer if weights are negative.
    """
    if name in WEIGHTED or len(both) == 0:
        return 0.0
    k, d = int(cost.graph.sizes.max()), axes.x.shape[1]
    if name == "LLE":
        return float(cost.of(axes.bent())[both].max()) / (axes.kappa * r_max) ** 2
    return float(k**2 if name == "LTSA" else d * (d + 1) / 2 * (k + 1))


def _split(x: Array, graph: Neighborhoods) -> tuple[npt.NDArray[np.intp], float]:
    """Return the neighbourhoods on both sides of the kink (N_0), and the diameter of the largest."""
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
    return both, largest


def _times(a: float, b: float) -> str:
    """Return a / b for a sentence."""
    return f"{a / b:.3g} times" if a < 1000 * b else "more than 1000 times"


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.3g}" if b > 0 else "inf"
