"""Many embeddings of the same data: their neighbourhoods found once, all scored at the same points."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from ..metrics import faithfulness
from ..metrics.sampling import standard_error
from .dimension import screes
from .methods import SWEPT

__all__ = ["Candidate", "Grid", "Sweep"]

Array = npt.NDArray[np.float64]
Key = tuple[str, int, int]

SOURCES = 512
"""Points whose neighbours are looked at for short circuits."""

FEW = 256
"""Points of which bounds are taken for every size."""

DETOUR = 4.0
"""Neighbours so many times farther apart along the graph are a short circuit."""

DENSE = 8
"""With fewer neighbours ways along a graph are long because it has holes."""

JOINED = 0.001
"""A number of neighbours is too large if this share of them are short circuits."""

WIDER = 2
"""Embeddings are scored on neighbourhoods so many times as large as the largest: none was fitted to these."""

TORN = 2.5
"""Neighbours whose images are so many times farther apart, and than neighbourhoods reach, are torn."""

SCORE = Measure(
    "score", "score", "selection", "lower", 0, math.inf, "error and overlap, on common neighbourhoods"
)
_LEAST = Measure("least", "least", "selection", "lower", 0, 1, "the least score that there can be")
_TORN = Measure("torn", "torn", "selection", "lower", 0, 1, "neighbours whose images are far apart")


@dataclass(frozen=True, eq=False)
class Grid:
    """What the neighbourhoods of one size are like.

    Attributes
    ----------
    n_neighbors : int
        Their size.
    n_pieces : int
        Into how many pieces the graph falls.
    outside : float
        The share of points outside the largest piece.
    short_circuits : float
        The share of neighbours, of those looked at, that are far apart along the graph of 8 neighbours (or
        of the fewest that join all pieces, if these are more).
    bound : ndarray
        The least R_N in d = 1, 2, ... dimensions.
    fragmented : bool
        Whether it falls into more pieces than the largest neighbourhoods do: k is too small.
    short_circuited : bool
        Whether it joins what is far apart: k is too large.

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

    "r_n", "r_c", "m_l" and "lower_bound" are measured on its own neighbourhoods, as in the papers; they rise
    with `n_neighbors` whatever the embedding. "score", "overlap" and "torn" are measured on neighbourhoods
    that are the same for all, and can be compared; "least" is what no score in so many dimensions can be
    below, the lower bound on these neighbourhoods.

    Attributes
    ----------
    method : str
        Its name.
    n_neighbors, n_components : int
        k and d.
    embedding : ndarray of shape (n, d) or None
        None if there is none: then `error` says why.
    seconds : float
        What it took.
    warnings : tuple of str
        What the fit warned of.
    error : str or None
        Why it failed.

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
        """Go through the names."""
        return iter(self.numbers)

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return len(self.numbers)

    @property
    def key(self) -> Key:
        """What sets it apart from the others."""
        return self.method, self.n_neighbors, self.n_components

    def to_dict(self) -> dict[str, Any]:
        """Return all but the arrays, ready for JSON: what is not finite is None."""
        held: dict[str, Any] = {"method": self.method, "n_neighbors": self.n_neighbors}
        held |= {"n_components": self.n_components}
        held |= {name: value.to_dict() for name, value in self.items()}
        held |= {"seconds": self.seconds, "warnings": list(self.warnings), "error": self.error}
        return {name: finite(value) for name, value in held.items()}


@dataclass(eq=False)
class Sweep:
    """What all embeddings of a sweep share."""

    x: Matrix
    widest: Neighborhoods
    """Neighbourhoods `WIDER` times as large as the largest, with distances."""
    sizes: tuple[int, ...]
    """In rising order."""
    by: str
    n_centers: int
    seed: int
    n_jobs: int | None
    seconds: dict[str, float] = field(default_factory=lambda: {"embeddings": 0.0, "measures": 0.0})
    """What it took to make embeddings, and to measure them."""

    def prepare(self) -> None:
        """Find now what all embeddings need."""
        _ = self.grids, self.common

    @cached_property
    def centers(self) -> npt.NDArray[np.uint32]:
        """The points at which all is measured, as `quality` draws them."""
        n = len(self.x)
        if self.n_centers >= n:
            return np.arange(n, dtype=np.uint32)
        drawn = np.random.default_rng(self.seed).choice(n, size=self.n_centers, replace=False, shuffle=False)
        return np.sort(drawn).astype(np.uint32)

    @cached_property
    def grids(self) -> dict[int, Grid]:
        """What the neighbourhoods of each size are like."""
        pieces, joined = self._pieces, self._short_circuits
        fewest = pieces[self.sizes[-1]][0]
        bounds = screes(self.x, self.widest, list(self.sizes), self._few, thread_count(self.n_jobs)).mean(
            axis=1
        )
        return {
            k: Grid(k, *pieces[k], joined[k], bound, pieces[k][0] > fewest, joined[k] > JOINED)
            for k, bound in zip(self.sizes, bounds, strict=True)
        }

    @cached_property
    def common(self) -> Neighborhoods:
        """The neighbourhoods on which all are scored: the largest without short circuits."""
        sound = [k for k, joined in self._short_circuits.items() if joined <= JOINED]
        return self.graph(max(sound, default=self.sizes[0]))

    @cached_property
    def digest(self) -> str:
        """What tells these data and settings from others."""
        held = f"{self.x.shape} {self.sizes} {self.by} {self.n_centers} {self.seed}".encode()
        return hashlib.blake2b(held + np.ascontiguousarray(self.x[self.centers]).tobytes()).hexdigest()

    def graph(self, k: int) -> Neighborhoods:
        """Return the neighbourhoods of the `k` nearest."""
        return self.widest.nearest(k)

    @property
    def _few(self) -> npt.NDArray[np.uint32]:
        """Some of the centres: bounds of wide data are slow."""
        return np.ascontiguousarray(self.centers[:: -(-len(self.centers) // FEW)])

    @cached_property
    def _pieces(self) -> dict[int, tuple[int, float]]:
        """Return for each size how many pieces there are, and the share of points outside the largest.

        More neighbours join pieces and part none: sizes between two that have as many have the same.
        """
        ends = (0, len(self.sizes) - 1)
        known = {at: _pieces(self.graph(self.sizes[at])) for at in ends}
        spans = [ends]
        while spans:
            low, high = spans.pop()
            middle = (low + high) // 2
            if known[low][0] == known[high][0]:
                known |= dict.fromkeys(range(low, high), known[low])
            elif low < middle:
                known[middle] = _pieces(self.graph(self.sizes[middle]))
                spans += [(low, middle), (middle, high)]
        return {k: known[at] for at, k in enumerate(self.sizes)}

    @cached_property
    def _short_circuits(self) -> dict[int, float]:
        """Return for each size the share of neighbours that are far apart along the smallest dense graph."""
        n, most = len(self.x), int(self.widest.n_neighbors or 0)
        fewest = self._pieces[self.sizes[-1]][0]
        whole = next(k for k in self.sizes if self._pieces[k][0] == fewest)
        base = max(whole, min(DENSE, most))
        drawn = stream(self.seed, "short circuits").choice(n, min(n, SOURCES), replace=False, shuffle=False)
        sources = np.sort(drawn).astype(np.uint32)
        lists = self.widest.indices.reshape(n, most)[sources]
        straight = np.asarray(self.widest.distances).reshape(n, most)
        reach = np.maximum(straight[sources], np.median(straight[:, base - 1]))
        allowed = DETOUR * np.maximum(reach, np.finfo(np.float32).tiny)
        graph = self.graph(base)
        paths = _core.Paths(self.x, graph._graph, None, thread_count(self.n_jobs))
        along = paths.to_listed(sources, lists.ravel(), allowed.max(axis=1)).reshape(lists.shape)
        labels = graph.component_labels
        joined = labels[lists] == labels[sources][:, None]
        far = joined & (along > allowed)
        return {k: float(far[:, :k].mean()) for k in (*self.sizes, most)}

    def embed(self, name: str, model: Any, k: int, d: int, ask: Callable[..., bool]) -> tuple[Any, Candidate]:
        """Fit one model and measure it."""
        began = time.perf_counter()
        graph = self.graph(k)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model = self._prepared(model, k, d, ask).fit(self.x, neighborhoods=graph)
            except (ValueError, MemoryError) as error:
                return None, Candidate(name, k, d, error=str(error), seconds=time.perf_counter() - began)
        seconds = time.perf_counter() - began
        said = tuple(dict.fromkeys(str(warning.message) for warning in caught))
        values = self._values(model.embedding_, graph)
        self.seconds["embeddings"] += seconds
        self.seconds["measures"] += time.perf_counter() - began - seconds
        model.set_params(callback=None)
        return model, Candidate(name, k, d, values, model.embedding_, seconds, said)

    def _prepared(self, model: Any, k: int, d: int, ask: Callable[..., bool]) -> Any:
        from sklearn.base import clone

        wanted = {"n_neighbors": k, "n_components": d, "n_jobs": self.n_jobs, "callback": ask}
        if getattr(model, "random_state", 0) is None:
            wanted["random_state"] = self.seed
        return clone(model).set_params(**wanted)

    def _values(self, y: Array, own: Neighborhoods) -> dict[str, Value]:
        """Return the numbers of an embedding, on its own neighbourhoods and on those of all."""
        options: dict[str, Any] = {"random_state": self.seed, "n_jobs": self.n_jobs}
        options["n_centers"] = self.n_centers if self.n_centers < len(self.x) else None
        names = ["r_n", "r_c", "m_l", "lower_bound"]
        if y.shape[1] > self.x.shape[1]:
            raise ValueError(f"{y.shape[1]} dimensions are more than the {self.x.shape[1]} of the data")
        q = quality(self.x, y, names, neighborhoods=own, **options)
        by = "r_c" if self.by == "r_c" else "r_n"
        scaled = y if self.by != "r_n_scaled" else self._at_best_scale(y)
        shared = quality(self.x, scaled, [by, "overlap", "lower_bound"], neighborhoods=self.common, **options)
        values = {name: q[name] for name in names} | {"overlap": shared["overlap"]}
        values |= {"torn": self._torn(y), "least": replace(shared["lower_bound"], measure=_LEAST)}
        return values | {"score": _summed(shared[by], shared["overlap"])}

    def _at_best_scale(self, y: Array) -> Array:
        m = faithfulness(self.x, y, neighborhoods=self.common, n_jobs=self.n_jobs)
        return y * m.scale

    def _torn(self, y: Array) -> Value:
        """Return the share of neighbours whose images are far apart, in the unit of most of them."""
        k = int(self.common.n_neighbors or 0)
        lists = self.common.indices.reshape(-1, k)[self.centers]
        straight = np.asarray(self.common.distances).reshape(-1, k)
        reach = np.maximum(straight[self.centers], np.median(straight[:, -1]))
        apart = np.linalg.norm(y[lists] - y[self.centers][:, None], axis=2)
        near = straight[self.centers]
        unit = float(np.median(apart[near > 0] / near[near > 0])) if (near > 0).any() else 0.0
        units = (apart > TORN * reach * (unit or 1.0)).mean(axis=1)
        share = len(units) / len(self.x)
        return Value(_TORN, float(units.mean()), standard_error(units, share), None, units, share)


def prototypes(methods: Any) -> dict[str, Any]:
    """Return the unfitted estimators that `methods` stand for, by name."""
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
    """Return what sets each estimator apart from others, by name."""
    told = {}
    for name, model in models.items():
        given = ", ".join(f"{key}={value!r}" for key, value in sorted(model.get_params().items()))
        told[name] = f"{type(model).__name__}({given})"
    return told


def _pieces(graph: Neighborhoods) -> tuple[int, float]:
    """Return into how many pieces a graph falls, and the share of points outside the largest."""
    counts = np.bincount(graph.component_labels)
    return len(counts), float(1 - counts.max() / len(graph))


def _summed(error: Value, overlap: Value) -> Value:
    """Return error plus overlap in the mean over points; an error counts 1 at most, as if nothing were shown.

    Where the common neighbourhoods have a short circuit left, the error of the truth is many times that.
    """
    units = np.minimum(np.asarray(error.units), 1.0) + np.asarray(overlap.units)
    value, sure = float(units.mean()), standard_error(units, error.share)
    return Value(SCORE, value, sure, None, units, error.share)


INTERRUPTIONS = (KeyboardInterrupt, Stopped, _core.Stopped)
"""What ends a sweep and leaves what was found so far."""
