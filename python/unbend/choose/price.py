"""Forecasts of collapse by normalization (Goldberg, Zakai, Kushnir & Ritov, *The price of normalization*).

LLE, LTSA, Hessian LLE, Laplacian eigenmaps and diffusion maps minimize the same cost, Phi(Y) (eq. 2), among all
Y of unit covariance. If a curve Z has a lower cost than the truth, they prefer it (section 5).

A cheaper curve proves failure, but one curve that costs more does not prove success. The verdict therefore
comes from the cheapest smooth functions of the coordinates (`rayleigh_ritz`): do they keep all dimensions?
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_points, thread_count
from ..core.caller import warn
from ..core.jsonable import finite
from ..core.parameters import documented
from ..core.shared_parameters import FUNCTIONS
from ..graph.neighbors import Neighborhoods, resolve
from ..judge.verdict import gather, read
from ..metrics import nieqa_local
from .rayleigh_ritz import Columns, cheapest

__all__ = ["Price", "Verdict", "price_of_normalization"]

Array = npt.NDArray[np.float64]
Outcome = Literal["holds", "would collapse", "too close to tell"]

# W_i of each algorithm with the default parameters of its estimator: from data, graph, d and threads.
ALGORITHMS: dict[str, Callable[[Matrix, _core.Graph, int, int], _core.LocalWeights]] = {
    "LLE": lambda x, graph, d, jobs: _core.LocalWeights.lle(x, graph, "tikhonov", 1e-3, d, jobs),
    "LTSA": lambda x, graph, d, jobs: _core.LocalWeights.ltsa(x, graph, d, True, jobs),
    "HLLE": lambda x, graph, d, jobs: _core.LocalWeights.hlle(x, graph, d, True, jobs),
    "LEM": lambda x, graph, d, jobs: _core.LocalWeights.lem(x, graph, "window", None, jobs),
    "DFM": lambda x, graph, d, jobs: _core.LocalWeights.dfm(x, graph, 1.0, "heat", None, jobs),
}
WEIGHTED = ("LEM", "DFM")  # The constraints of these are weighted by the degrees (eq. 3).
DEFAULT_NEIGHBORS = 8  # Number of neighbors if none is given, as in the paper.
UNTRUE = (
    "folded",
    "torn",
    "collapsed",
    "unrelated",
    "distorted",
)  # Kinds of embeddings that a verdict cannot rely on.
MIN_EXTENT = 1e-7  # Coordinates have no extent along an axis below this share of the longest one.
ROUNDING_COST = 1e-20  # Coordinates of unit variance that cost less cost nothing.
MIN_KEPT_SHARE = 0.5  # A dimension is kept if the output explains this share of its variance linearly.
# Two costs differ if they are apart by this number of standard errors of their difference, and by this share.
MIN_STANDARD_ERRORS, MIN_DIFFERENCE = 2.0, 0.01


@dataclass(frozen=True)
class Verdict:
    """Forecast of what one algorithm does, and the numbers behind it.

    With more than two dimensions "second" is the axis whose loss would save most (section 5.4).

    Attributes
    ----------
    algorithm : str
        "LLE", "LTSA", "HLLE", "LEM" or "DFM".
    outcome : {"holds", "would collapse", "too close to tell"}
        "holds" if the d cheapest functions of the coordinates keep all d dimensions.
    needed : int
        Number of the cheapest functions that keep all dimensions: d if the algorithm holds. Otherwise an
        embedding of this dimension shows what was lost.
    costs : tuple of float
        Phi of the cheapest functions of unit variance: as many as are needed, at least d + 1.
    uncertainty : float
        Standard error of the difference of the two costs that decide: of function d, and of the last one in
        `costs`.
    phi_y, phi_z : float
        Phi of the normalized coordinates (eq. 9), and of the curve that the paper compares with them (eq. 10,
        13). For LEM and DFM both have constraints weighted by degrees (section 5.2).
    e1, e2, sigma, tau : float
        Mean cost of the first and the second coordinate, not normalized, and their standard deviations.
    kappa, rho : float
        Terms of eq. 10 and 11; kappa is without the square roots, so that the columns of Z are uncorrelated.
    split, r_max : float
        Share of neighborhoods with points on both sides of the kink, ``|N_0| / N``, and their largest diameter.
    c_a : float
        Cost of a kink in Lemma A.1; 0 for LEM and DFM. For LLE, where the lemma is wrong, the smallest number
        that is right for these data.
    skew : float
        Correlation of the second column of Z with the third and later coordinates (section 5.4).
    theorem, corollary : tuple of float
        Left and right side of eq. 12, for LEM and DFM of the sharper one after it, and of Corollary 5.2. If
        the left is smaller, Phi(Y) > Phi(Z).
    corollary_applies : bool
        True if e1, kappa, rho and the number of dimensions satisfy its assumptions.

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
            more = f"costs {_times(self.costs[-1], self.costs[-2])} as much as the last of them"
            return f"{self.algorithm} should keep all dimensions {shape}: the cheapest other function {more}."
        if self.outcome == "would collapse":
            cheaper = f"{self.needed - 1} functions are cheaper than the dimension it would lose"
            return f"{self.algorithm} would collapse {shape}: {cheaper}."
        return f"{self.algorithm} is close to the point where it collapses {shape}."

    @property
    def by_theorem(self) -> bool:
        """True if Theorem 5.1 proves that a curve is cheaper than the coordinates."""
        return self.theorem[0] < self.theorem[1]

    @property
    def by_corollary(self) -> bool:
        """True if Corollary 5.2 proves that a curve is cheaper than the coordinates."""
        return self.corollary_applies and self.corollary[0] < self.corollary[1]


@dataclass(frozen=True)
class Price:
    """Verdict on every algorithm; see :func:`price_of_normalization`.

    Attributes
    ----------
    verdicts : dict of str to Verdict
        Verdicts by algorithm.
    y, z : ndarray of shape (n, d)
        Normalized coordinates, and the curve of eq. 10 that has the same covariance.
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
        """Return a table, then the verdicts in words."""
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
        """Return all numbers as JSON; numbers that are not finite become null."""
        return json.dumps(finite(self.to_dict()), allow_nan=False)

    def plot(self, algorithm: str | None = None, *, axes: Any = None) -> Any:
        """Draw Y and Z (as in Fig. 2) and the forecast of an algorithm; needs matplotlib.

        Points are colored by the first coordinate. The first two of more dimensions are drawn.

        Parameters
        ----------
        algorithm : str, optional
            Algorithm whose forecast to draw; by default the first that would collapse, if any.
        axes : sequence of matplotlib Axes, optional
            Axes to draw on, three if there is a forecast; a new figure by default.

        Returns
        -------
        matplotlib Figure
        """
        name = next((k for k, v in self.verdicts.items() if v.outcome == "would collapse"), None)
        name = name if algorithm is None else _checked(algorithm)[0]
        panels = {"Y: the coordinates, normalized": self.y, "Z: a curve of the same covariance": self.z}
        if name is not None:
            panels[f"what {name} should give: {self.verdicts[name].outcome}"] = self.forecasts[name]
        if axes is None:
            from matplotlib import pyplot

            count = len(panels)
            _, axes = pyplot.subplots(1, count, figsize=(3.6 * count, 3.6), layout="constrained")
        for ax, (title, points) in zip(axes, panels.items(), strict=True):
            ax.scatter(points[:, 0], points[:, 1], c=self.y[:, 0], s=4, linewidths=0)
            ax.set_title(title, fontsize=10)
            ax.set_aspect("equal", adjustable="datalim")
        return axes[0].figure


@documented(FUNCTIONS)
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
    """Predict whether algorithms that normalize their output collapse these data, without running them.

    All have the default parameters of their classes. docs/normalization.md explains the verdict and what it
    cannot see. The cost is that of the weights of each algorithm, and O(n k m + n m^2) for m = 46 functions of
    two coordinates.

    Parameters
    ----------
    coordinates : array-like of shape (n, d), optional
        True coordinates, or an embedding that keeps lengths. By default :class:`ProcrustesAlignment` finds
        them, and warns if they are doubtful.
    n_neighbors : int, default 8
        Number of nearest neighbors per point, not counting the point itself.
    algorithms : sequence of str
        Some of "LLE", "LTSA", "HLLE", "LEM" and "DFM".
    n_components : int, default 2
        Dimension of the coordinates, if they are not given.

    Returns
    -------
    Price
        A :class:`Verdict` for each algorithm. It prints as a table.

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

    x, names = as_points(X, "X"), _checked(algorithms)
    given = None if coordinates is None else as_points(coordinates, "coordinates")
    if given is not None and len(given) != len(x):
        raise ValueError(f"X has {len(x)} rows, but coordinates has {len(given)}")
    if n_neighbors is None and radius is None and neighborhoods is None:
        n_neighbors = DEFAULT_NEIGHBORS
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    count = graph.n_connected_components
    if count > 1:
        raise ValueError(
            f"the neighborhood graph has {count} pieces: judge each by itself, or use more neighbors"
        )
    theta = _aligned(x, n_components, n_jobs) if given is None else np.asarray(given, np.float64)
    if theta.shape[1] < 2:
        raise ValueError("coordinates of one dimension cannot collapse: at least 2 are needed")
    if not np.isfinite(theta).all():
        row = int(np.argmin(np.isfinite(theta).all(axis=1)))
        raise ValueError(f"coordinates has a value that is not finite in row {row}")
    plain, judged = _Axes.of(theta, None), {}
    with threadpool_limits(1, user_api="blas"):  # On matrices of few columns, more threads are slower.
        for name in names:
            weights = ALGORITHMS[name](x, graph.core, theta.shape[1], thread_count(n_jobs))
            axes = _Axes.of(theta, weights.degrees(True)) if name in WEIGHTED else plain
            judged[name] = _Case(name, weights, axes, graph).judged()
    verdicts = {name: verdict for name, (verdict, _) in judged.items()}
    forecasts = {name: forecast for name, (_, forecast) in judged.items()}
    return Price(verdicts, plain.y, plain.with_curve(1), forecasts)


def _checked(algorithms: Any) -> list[str]:
    """Return the names of algorithms as a list."""
    is_list = isinstance(algorithms, Iterable) and not isinstance(algorithms, str | bytes)
    names = list(algorithms) if is_list else [algorithms]
    unknown = [name for name in names if not (isinstance(name, str) and name in ALGORITHMS)]
    if unknown or not names:
        what = f"algorithm {unknown[0]!r} is unknown" if unknown else "no algorithm is named"
        raise ValueError(f"{what}: there are {', '.join(map(repr, ALGORITHMS))}")
    return names


def _aligned(x: Matrix, n_components: int, n_jobs: int | None) -> Array:
    """Return coordinates by Procrustes alignment; warn if they are doubtful."""
    from ..estimators.procrustes import ProcrustesAlignment
    from ..fit.procrustes import NotFlatWarning
    from ..fit.trust.verdict import UntrustedWarning

    with warnings.catch_warnings():
        for covered in (NotFlatWarning, UntrustedWarning):  # The warning below covers them.
            warnings.simplefilter("ignore", covered)
        model = ProcrustesAlignment(n_components=n_components, cut=False, n_jobs=n_jobs).fit(x)
    m_l = nieqa_local(x, model.embedding_, neighborhoods=model.neighborhoods_, n_jobs=n_jobs)
    statement = read(gather(model.faithfulness_, float(m_l)))
    if statement.kind in UNTRUE:
        message = "the coordinates that were found are doubtful, and so is the verdict"
        warn(f"{message}: {statement.sentence}", UserWarning)
    embedding: Array = model.embedding_
    return embedding


@dataclass(frozen=True, eq=False)
class _Axes:
    """Coordinates about their mean, along their principal axes, the longest first (before eq. 9).

    Means and variances are weighted, by the degrees for LEM and DFM (section 5.2). Weights add up to 1. Lengths
    are in units of a power of two near the longest, so that no square of a coordinate vanishes or overflows.
    """

    x: Array
    spread: Array
    weights: Array
    unit: float

    @classmethod
    def of(cls, theta: Array, degrees: Array | None) -> _Axes:
        n, d = theta.shape
        weights = np.full(n, 1 / n) if degrees is None else degrees / degrees.sum()
        centered = theta - weights @ theta
        unit = math.ldexp(1.0, math.frexp(float(np.abs(centered).max(initial=0.0)))[1])
        centered = centered / unit
        variances, axes = np.linalg.eigh(centered.T @ (weights[:, None] * centered))
        variances = np.maximum(variances[::-1], 0.0)
        # Variances are rounded to the largest; singular values are not, so they show what is rounding.
        sizes = np.linalg.svd(np.sqrt(weights)[:, None] * centered, compute_uv=False)
        flat = d - int((sizes > MIN_EXTENT * max(sizes[0], 1e-300)).sum())
        if flat:
            raise ValueError(f"the coordinates have no extent in {flat} of {d} dimensions")
        x = centered @ axes[:, ::-1]
        x[:, 0] *= 1.0 if _kappa(x[:, 0], weights) >= 1 else -1.0  # kappa >= 1, without loss of generality
        return cls(x, np.sqrt(variances), weights, unit)

    @property
    def y(self) -> Array:
        """Coordinates of unit covariance, eq. 9."""
        return self.x / self.spread

    @cached_property
    def kappa(self) -> float:
        return _kappa(self.x[:, 0], self.weights)

    @cached_property
    def bent(self) -> Array:
        """Second coordinate of eq. 10, before it is centered and scaled: the first one with both sides up."""
        first = self.x[:, 0]
        return np.where(first < 0, -first, self.kappa * first)

    @cached_property
    def rho(self) -> float:
        return math.sqrt(self.weights @ (self.bent - self.weights @ self.bent) ** 2)

    @cached_property
    def kink(self) -> Array:
        """Second coordinate of eq. 10."""
        centered = self.bent - self.weights @ self.bent
        return centered / self.rho if self.rho > 0 else centered

    def with_curve(self, axis: int) -> Array:
        """Return the curve Z, with its kink in the place of an axis (section 5.4).

        The columns after it are made uncorrelated to all before. The paper makes them uncorrelated to the
        second column only, so that its Z of four and more dimensions is not of unit covariance.
        """
        columns = np.column_stack([self.y[:, 0], self.kink, self._others(axis)])
        root = np.sqrt(self.weights)[:, None]
        q, r = np.linalg.qr(root * columns)
        return q * np.sign(np.diag(r)) / root

    def skew(self, axis: int) -> float:
        """Return the length of the vector of all sigma_2j (section 5.4)."""
        return float(np.linalg.norm((self.weights * self.kink) @ self._others(axis)))

    def _others(self, axis: int) -> Array:
        """Return the normalized coordinates other than the first and this one."""
        return np.delete(self.y, [0, axis], axis=1)


def _kappa(first: Array, weights: Array) -> float:
    """Return kappa of eq. 11 without its square roots: with them, the columns of Z are correlated."""
    squares = weights * first**2
    below, above = squares[first < 0].sum(), squares[first >= 0].sum()
    return float(below / above) if above > 0 else math.inf


@dataclass(frozen=True, eq=False)
class _Case:
    """One algorithm on these data: its cost Phi, and the coordinates along their axes."""

    name: str
    weights: _core.LocalWeights
    axes: _Axes
    graph: Neighborhoods

    def costs(self, columns: Array) -> Array:
        """Return |W_i Y_i|^2 of every neighborhood."""
        return self.weights.phi(np.ascontiguousarray(columns.reshape(len(columns), -1)))

    def judged(self) -> tuple[Verdict, Array]:
        """Return the verdict, and the expected output of the algorithm."""
        from scipy.sparse import csr_array

        indptr, indices, data = self.weights.matrix()
        matrix = csr_array((data, indices.view(np.int32), indptr), shape=(len(self.graph),) * 2)
        columns = cheapest(matrix, self.axes.y, self.axes.weights)
        forecast = columns.values[:, : self.axes.x.shape[1]]
        return Verdict(self.name, **self._outcome(columns), **self._terms()), forecast

    def _outcome(self, columns: Columns) -> dict[str, Any]:
        """Return the outcome and the numbers that decide it."""
        d = self.axes.x.shape[1]
        needed = columns.needed(MIN_KEPT_SHARE)
        shown = min(max(needed, d + 1), columns.values.shape[1])
        each = [self.costs(columns.values[:, j]) for j in range(shown)]
        costs = tuple(float(one.sum()) for one in each)
        uncertainty = math.sqrt(len(each[0])) * float((each[-1] - each[d - 1]).std())
        outcome: Outcome = "holds" if needed == d else "would collapse"
        rounding = ROUNDING_COST * len(each[0])
        if costs[-1] - costs[d - 1] <= max(
            MIN_STANDARD_ERRORS * uncertainty, MIN_DIFFERENCE * costs[-1], rounding
        ):
            outcome = "too close to tell"
        return {"outcome": outcome, "needed": needed, "costs": costs, "uncertainty": uncertainty}

    def _terms(self) -> dict[str, Any]:
        """Return the terms of Theorem 5.1 and of Corollary 5.2."""
        axes, d = self.axes, self.axes.x.shape[1]
        mean = [float(self.costs(axes.x[:, j]).mean()) for j in range(d)]
        relative = [e / float(spread) ** 2 for e, spread in zip(mean, axes.spread, strict=True)]
        lost = max(range(1, d), key=lambda j: (relative[j] if relative[j] > ROUNDING_COST else 0.0, j))
        sigma, tau, e1, e2 = float(axes.spread[0]), float(axes.spread[lost]), mean[0], mean[lost]
        kappa, rho, skew = axes.kappa, axes.rho, axes.skew(lost)
        both, r_max = _split(axes.x, self.graph)
        split, c_a = len(both) / len(axes.x), self._constant(both, r_max)
        kinks = split * c_a * r_max**2
        bound = kappa**2 / rho**2 * (e1 + kinks) if rho > 0 else math.inf
        others = sum(relative) - relative[0] - relative[lost]
        left = (bound + skew * others) / (1 - skew) if skew < 1 else math.inf
        applies = d == 2 and e1 < math.sqrt(2) * e2 and kappa < 2**0.25 and rho**2 > sigma**2 / 8
        return {
            "phi_y": float(self.costs(axes.y).sum()),
            "phi_z": float(self.costs(axes.with_curve(lost)).sum()),
            **{"e1": e1 * axes.unit**2, "e2": e2 * axes.unit**2, "kappa": kappa, "c_a": c_a},
            **{"sigma": sigma * axes.unit, "tau": tau * axes.unit, "rho": rho * axes.unit},
            **{"split": split, "r_max": r_max * axes.unit, "skew": skew},
            "theorem": (left, relative[lost]),
            "corollary": (4 * (1 + kinks / (math.sqrt(2) * e2)) if e2 > 0 else math.inf, sigma / tau),
            "corollary_applies": applies,
        }

    def _constant(self, both: npt.NDArray[np.intp], r_max: float) -> float:
        """Return c_a of Lemma A.1: the cost of a kink, as a share of the squared diameter.

        For LLE its proof takes the weights for the best ones of Z_i, and the square of a mean for a K-th of
        the mean of squares: W_i Z_i can be as long as the neighborhood is wide, and longer if weights are
        negative.
        """
        if self.name in WEIGHTED or r_max == 0:
            return 0.0
        k, d = int(self.graph.sizes.max()), self.axes.x.shape[1]
        if self.name == "LLE":
            return float(self.costs(self.axes.bent)[both].max()) / (self.axes.kappa * r_max) ** 2
        return float(k**2 if self.name == "LTSA" else d * (d + 1) / 2 * (k + 1))


def _split(x: Array, graph: Neighborhoods) -> tuple[npt.NDArray[np.intp], float]:
    """Return the neighborhoods on both sides of the kink (N_0), and the diameter of the largest."""
    from scipy.spatial.distance import pdist

    above = x[:, 0] >= 0
    owners = np.repeat(np.arange(len(graph)), graph.sizes)
    count = above + np.bincount(owners, above[graph.indices], minlength=len(graph))
    both = np.flatnonzero((count > 0) & (count < graph.sizes + 1))
    diameters = (float(pdist(x[[i, *graph[int(i)]]]).max()) for i in both)
    return both, max(diameters, default=0.0)


def _times(a: float, b: float) -> str:
    """Return a / b for a sentence."""
    return f"{a / b:.3g} times" if a < 1000 * b else "more than 1000 times"


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.3g}" if b > 0 else "inf"
