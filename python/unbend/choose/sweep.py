"""Sweep: many embeddings of the same data, with neighbors searched once and scores at the same points."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, thread_count
from ..core.jsonable import finite
from ..core.progress import Stopped
from ..core.random import stream
from ..graph.neighbors import Neighborhoods
from ..judge.measures import Measure, Value
from ..judge.quality import quality
from ..metrics.faithful import screes
from .methods import SWEPT
from .reference import Reference, combined

__all__ = ["Candidate", "Grid", "Sweep"]

Array = npt.NDArray[np.float64]
Key = tuple[str, int, int]

INTERRUPTIONS = (KeyboardInterrupt, Stopped, _core.Stopped)  # These end a sweep and keep its embeddings.
N_SOURCES = 512  # Number of points whose neighbors are tested for short circuits.
N_BOUNDS = 256  # Number of points of which bounds are computed for every size.
DETOUR = 4.0  # Neighbors this many times farther apart along the graph are a short circuit.
MIN_DENSE = 8  # With fewer neighbors, paths along a graph are long because it has holes.
MAX_SHORT_CIRCUITS = 0.001  # A number of neighbors is too large if this share of them are short circuits.

DISAGREEMENT, OVERLAP, TORN, CLOSEST, SCORE = (
    Measure(name, name, "selection", "lower", 0, math.inf, meaning)
    for name, meaning in (
        ("disagreement", "squared error of distances within balls, as a share of shortest paths"),
        ("overlap", "nearest embedded points that are far apart on the graph"),
        ("torn", "places with the worst distances that are torn"),
        ("closest", "error and overlap on the cleaned graph that agrees most"),
        ("score", "error and overlap on three cleaned graphs"),
    )
)


@dataclass(frozen=True, eq=False)
class Grid:
    """Properties of the neighborhoods of one size.

    Attributes
    ----------
    n_neighbors : int
        Size of the neighborhoods.
    n_pieces : int
        Number of connected components of the graph.
    outside : float
        Share of points outside the largest component.
    short_circuits : float
        Share of the tested neighbors that are far apart along the graph of 8 neighbors (or of the fewest that
        join all pieces, if these are more).
    bound : ndarray
        Smallest possible R_N in d = 1, 2, ... dimensions.
    fragmented : bool
        True if the graph has more pieces than that of the largest neighborhoods: k is too small.
    short_circuited : bool
        True if the graph joins distant points: k is too large.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(600, random_state=0)
    >>> found = ub.select(X, [8, 30], 2, methods=["gp"], random_state=0)
    >>> found.grids[8].short_circuited, found.grids[30].short_circuited
    (False, True)
    """

    n_neighbors: int
    n_pieces: int
    outside: float
    short_circuits: float
    bound: Array = field(repr=False)
    fragmented: bool
    short_circuited: bool

    def to_dict(self) -> dict[str, Any]:
        """Return all, ready for JSON."""
        return {**self.__dict__, "bound": self.bound.tolist()}


@dataclass(frozen=True, eq=False)
class Candidate(Mapping[str, Value]):
    """One embedding of a sweep: its numbers by name.

    "r_n", "r_c", "m_l" and "lower_bound" are measured on its own neighborhoods, as in the papers; they rise
    with `n_neighbors` for any embedding. The others compare it with three cleaned graphs that are the same for
    all embeddings in a dimension: "score" is the geometric mean of the three sums of disagreement, overlap and
    a tenth of the torn places; "disagreement", "overlap", "torn" and their sum "closest" are those of the graph
    with which it agrees most.

    Attributes
    ----------
    method : str
        Name of the method.
    n_neighbors, n_components : int
        k and d.
    embedding : ndarray of shape (n, d) or None
        The embedding of the points of the sweep; None if the fit failed: then `error` says why.
    seconds : float
        Time of the fit.
    warnings : tuple of str
        Warnings of the fit.
    error : str or None
        Message of the error, if the fit failed.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(600, random_state=0)
    >>> one = ub.select(X, [8], 2, methods=["gp"], random_state=0).candidates[0]
    >>> one.method, one.n_neighbors, one["r_n"].value < 0.01
    ('gp', 8, True)
    """

    method: str
    n_neighbors: int
    n_components: int
    numbers: Mapping[str, Value] = field(repr=False, default_factory=dict)
    embedding: Array | None = field(repr=False, default=None)
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    error: str | None = None

    def __getitem__(self, name: str) -> Value:
        """Return one number."""
        return self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names."""
        return iter(self.numbers)

    def __len__(self) -> int:
        """Return the number of numbers."""
        return len(self.numbers)

    @property
    def key(self) -> Key:
        """Method, k and d."""
        return self.method, self.n_neighbors, self.n_components

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, ready for JSON: numbers that are not finite are None."""
        values = dict(zip(("method", "n_neighbors", "n_components"), self.key, strict=True))
        values |= {name: value.to_dict() for name, value in self.items()}
        values |= {"seconds": self.seconds, "warnings": list(self.warnings), "error": self.error}
        return {name: finite(value) for name, value in values.items()}


@dataclass(eq=False)
class Sweep:
    """Data, neighborhoods and settings that all embeddings of a sweep share."""

    x: Matrix
    widest: Neighborhoods
    """The largest neighborhoods, with distances."""
    sizes: tuple[int, ...]
    """Numbers of neighbors, in ascending order."""
    n_centers: int
    seed: int
    n_jobs: int | None
    seconds: dict[str, float] = field(default_factory=lambda: {"embeddings": 0.0, "measures": 0.0})
    """Time of the fits, and of the measures."""
    references: dict[int, Reference] = field(default_factory=dict, repr=False)
    """The graphs for the scores in each dimension."""

    @cached_property
    def centers(self) -> npt.NDArray[np.uint32]:
        """Points at which all is measured; `quality` draws the same."""
        n = len(self.x)
        if self.n_centers >= n:
            return np.arange(n, dtype=np.uint32)
        drawn = np.random.default_rng(self.seed).choice(n, size=self.n_centers, replace=False, shuffle=False)
        return np.sort(drawn).astype(np.uint32)

    @cached_property
    def grids(self) -> dict[int, Grid]:
        """Properties of the neighborhoods of each size."""
        pieces, shares = self._pieces, self._short_circuits
        fewest = pieces[self.sizes[-1]][0]
        some = np.ascontiguousarray(self.centers[:: -(-len(self.centers) // N_BOUNDS)])
        bounds = screes(self.x, self.widest, list(self.sizes), some, thread_count(self.n_jobs)).mean(axis=1)
        return {
            k: Grid(k, *pieces[k], shares[k], bound, pieces[k][0] > fewest, shares[k] > MAX_SHORT_CIRCUITS)
            for k, bound in zip(self.sizes, bounds, strict=True)
        }

    @cached_property
    def digest(self) -> str:
        """Digest that distinguishes these data and settings from others."""
        settings = f"{self.x.shape} {self.sizes} {self.n_centers} {self.seed}".encode()
        return hashlib.blake2b(settings + np.ascontiguousarray(self.x[self.centers]).tobytes()).hexdigest()

    @cached_property
    def _pieces(self) -> dict[int, tuple[int, float]]:
        """Number of pieces for each size, and the share of points outside the largest.

        More neighbors join pieces and never split them: sizes between two with equal numbers have the same.
        """
        ends = (0, len(self.sizes) - 1)
        known = {at: _pieces(self.widest.nearest(self.sizes[at])) for at in ends}
        spans = [ends]
        while spans:
            low, high = spans.pop()
            middle = (low + high) // 2
            if known[low][0] == known[high][0]:
                known |= dict.fromkeys(range(low, high), known[low])
            elif low < middle:
                known[middle] = _pieces(self.widest.nearest(self.sizes[middle]))
                spans += [(low, middle), (middle, high)]
        return {k: known[at] for at, k in enumerate(self.sizes)}

    @cached_property
    def _short_circuits(self) -> dict[int, float]:
        """Share of neighbors that are far apart along the smallest dense graph, for each size."""
        n, most = len(self.x), int(self.widest.n_neighbors or 0)
        fewest = self._pieces[self.sizes[-1]][0]
        whole = next(k for k in self.sizes if self._pieces[k][0] == fewest)
        base = max(whole, min(MIN_DENSE, most))
        drawn = stream(self.seed, "short circuits").choice(n, min(n, N_SOURCES), replace=False, shuffle=False)
        sources = np.sort(drawn).astype(np.uint32)
        lists = self.widest.indices.reshape(n, most)[sources]
        straight = np.asarray(self.widest.distances).reshape(n, most)
        reach = np.maximum(straight[sources], np.median(straight[:, base - 1]))
        allowed = DETOUR * np.maximum(reach, np.finfo(np.float32).tiny)
        graph = self.widest.nearest(base)
        paths = _core.Paths(self.x, graph.core, None, thread_count(self.n_jobs))
        along = paths.to_listed(sources, lists.ravel(), allowed.max(axis=1)).reshape(lists.shape)
        labels = graph.component_labels
        far = (labels[lists] == labels[sources][:, None]) & (along > allowed)
        return {k: float(far[:, :k].mean()) for k in (*self.sizes, most)}

    def prepared(self, model: Any, k: int, d: int, ask: Callable[..., bool]) -> Any:
        """Return an unfitted copy of an estimator with parameters of the sweep."""
        from sklearn.base import clone

        settings = {"n_neighbors": k, "n_components": d, "n_jobs": self.n_jobs, "callback": ask}
        if getattr(model, "random_state", 0) is None:
            settings["random_state"] = self.seed
        return clone(model).set_params(**settings)

    def embed(self, name: str, model: Any, k: int, d: int, ask: Callable[..., bool]) -> tuple[Any, Candidate]:
        """Fit one model and measure it."""
        began = time.perf_counter()
        graph = self.widest.nearest(k)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model = self.prepared(model, k, d, ask).fit(self.x, neighborhoods=graph)
            except (ValueError, MemoryError) as error:
                return None, Candidate(name, k, d, error=str(error), seconds=time.perf_counter() - began)
        seconds = time.perf_counter() - began
        texts = tuple(dict.fromkeys(str(warning.message) for warning in caught))
        values = self._values(model.embedding_, graph)
        self.seconds["embeddings"] += seconds
        self.seconds["measures"] += time.perf_counter() - began - seconds
        model.set_params(callback=None)
        return model, Candidate(name, k, d, values, model.embedding_, seconds, texts)

    def _values(self, y: Array, own: Neighborhoods) -> dict[str, Value]:
        """Return the numbers of an embedding, on its own neighborhoods and on those of all."""
        if y.shape[1] > self.x.shape[1]:
            raise ValueError(f"{y.shape[1]} dimensions are more than the {self.x.shape[1]} of the data")
        options: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.n_jobs}
        options["n_centers"] = self.n_centers if self.n_centers < len(self.x) else None
        names = ["r_n", "r_c", "m_l", "lower_bound"]
        q = quality(self.x, y, names, neighborhoods=own, **options)
        if y.shape[1] not in self.references:
            self.references[y.shape[1]] = Reference.of(self.x, y.shape[1], self.n_jobs)
        seen = self.references[y.shape[1]].evidence(y)
        near = min(seen, key=lambda e: e.score)
        return {name: q[name] for name in names} | {
            "disagreement": Value(DISAGREEMENT, near.disagreement),
            "overlap": Value(OVERLAP, near.overlap),
            "torn": Value(TORN, near.torn),
            "closest": Value(CLOSEST, near.score),
            "score": Value(SCORE, combined(seen)),
        }


def prototypes(methods: Any) -> dict[str, Any]:
    """Return the unfitted estimators that `methods` names, by name."""
    import unbend

    if isinstance(methods, str):
        methods = [methods]
    named = dict(methods) if isinstance(methods, Mapping) else {name: name for name in methods}
    if not named:
        raise ValueError("methods is empty: at least 1 is needed")
    found = {}
    for name, method in named.items():
        if isinstance(method, str):
            if method not in SWEPT:
                raise ValueError(f"{method!r} is no method: use one of {', '.join(SWEPT)}")
            method = getattr(unbend, SWEPT[method])()
            if "rectify" in method.get_params():
                method.set_params(rectify=True)
        elif not {"n_neighbors", "n_components"} <= set(getattr(method, "get_params", dict)()):
            raise ValueError(
                f"{name!r} has no n_neighbors and n_components to select: {type(method).__name__}"
            )
        found[str(name)] = method
    return found


def described(models: Mapping[str, Any]) -> dict[str, str]:
    """Return the class and the parameters of each estimator, by name."""
    parameters = {name: sorted(model.get_params().items()) for name, model in models.items()}
    return {
        name: f"{type(models[name]).__name__}({', '.join(f'{key}={value!r}' for key, value in pairs)})"
        for name, pairs in parameters.items()
    }


def _pieces(graph: Neighborhoods) -> tuple[int, float]:
    """Return the number of pieces of a graph, and the share of points outside the largest."""
    return graph.n_connected_components, graph.share_apart
