"""Cutting what cannot lie flat: lay it down from a root, find what is torn, fit the sheet, and look again.

The loops over points are in the core, `embed/cut`; here is what ties them together. A round finds the best
frames of the sheet, solves eq. 11 on it, and judges from the picture which neighbours are torn, those that
were torn before included: so a cut heals where it is not needed and grows where the sheet is strained.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.arrays import Matrix, as_points
from ..graph.neighbors import Neighborhoods
from .assembly import solve

__all__ = ["Seam"]

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pairs = npt.NDArray[np.uint32]

LAID_APART, HELD_APART = 2.5, 2.0
"""A pair is torn if it is so many times as far apart in the picture as in the data, or as neighbours usually
are: first where points were laid down, then where the sheet was fitted."""

FEWEST = 8
"""So many torn points or pairs make a cut or a seam; fewer are a gap between points, unless they are farther
apart than `GAP` times what is torn."""
GAP = 4.0

ROUNDS, SETTLED, GAINED = 20, 0.01, 0.02
"""Rounds end after so many, or when fewer than this share of what is torn changed, and the objective fell by
a lesser share."""

RELAYOUTS = 4
"""How often what lies on other parts of the picture is taken up and laid down anew."""

CLOSING = 5
"""Rounds in which a cut that may not be needed is drawn together."""

SOLVE_STEPS, SOLVE_REDUCTION = 30, 1e-2
"""How far eq. 11 is solved in each round."""

SEEN = 24
"""Among how many nearest neighbours seams are looked for: those farther off tell nothing more, and many torn
pairs near each other take long."""

NAMES = {
    (True, True, 2): "a sphere",
    (True, True, 0): "a torus",
    (True, True, -2): "a torus with two holes",
    (True, False, 1): "a projective plane",
    (True, False, 0): "a Klein bottle",
    (False, True, 1): "a disc",
    (False, True, 0): "a cylinder or a ring",
    (False, False, 0): "a Moebius strip",
}
"""Closed, orientable, Euler characteristic."""


@dataclass(frozen=True, eq=False)
class Seam:
    """Two arcs of a cut that are one curve of the data.

    Attributes
    ----------
    points, partners : ndarray of int
        The points along one arc, in order, and those along the other in the same order: what lies beside each
        other in the data.
    reversed : bool
        Whether the surface comes through reflected: a walk that leaves through one arc comes back through the
        other mirrored.
    ends : bool
        Whether the cut ends within the sheet, so that one can go round its end.
    n_pairs : int
        How many neighbours it parts.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.cylinder(2000, random_state=0)
    >>> psa = ub.ProcrustesAlignment().fit(X)
    >>> len(psa.seams_), psa.seams_[0].reversed
    (1, False)
    """

    points: npt.NDArray[np.uint32] = field(repr=False)
    partners: npt.NDArray[np.uint32] = field(repr=False)
    reversed: bool
    ends: bool
    n_pairs: int


@dataclass(frozen=True)
class Surface:
    """What kind of surface the data lie on, as far as it can be told.

    Attributes
    ----------
    d : int
        Its dimension.
    closed, orientable : bool or None
        Whether it has no rim, and whether it has two sides.
    euler : int or None
        Its Euler characteristic.

    Examples
    --------
    >>> Surface(2, True, False, 0).sentence()
    'closed, non-orientable, Euler characteristic 0: looks like a Klein bottle'
    """

    d: int
    closed: bool | None
    orientable: bool | None
    euler: int | None

    @classmethod
    def told(cls, d: int, orientable: bool | None, shape: tuple[int, int] | None) -> Surface:
        """Tell a surface by its sides, and by the loops and voids of the data, if they are known."""
        if shape is None or d > 2:
            return cls(d, None, orientable, None)
        loops, voids = shape
        if d == 1:
            return cls(d, loops > 0, orientable, None)
        closed, euler = voids > 0, 1 - loops + voids
        possible = voids <= 1 and (euler % 2 == 0 if closed and orientable else orientable or loops > 0)
        return cls(d, closed, orientable, euler if possible and orientable is not None else None)

    def sentence(self) -> str:
        """Say it in a few words."""
        if self.d == 1 and self.closed is not None:
            return "closed: looks like a circle" if self.closed else "open: looks like a line"
        sides = None if self.orientable is None else f"{'' if self.orientable else 'non-'}orientable"
        ends = None if self.closed is None else "closed" if self.closed else "open"
        words = ", ".join(word for word in (ends, sides) if word) or "of unknown shape"
        if self.euler is None:
            return words
        words += f", Euler characteristic {self.euler}"
        name = NAMES.get((bool(self.closed), bool(self.orientable), self.euler))
        return words if name is None else f"{words}: looks like {name}"


@dataclass(frozen=True)
class Opened:
    """Data that were cut and laid flat.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        The picture.
    torn : ndarray of bool
        For every neighbour of every point whether the cut parts them.
    """

    embedding: Array = field(repr=False)
    torn: Flags = field(repr=False)


@dataclass(frozen=True)
class Sheets:
    """What data can be laid flat to, cut where they must be.

    Attributes
    ----------
    x : ndarray of shape (n, q)
        The data.
    graph : dict
        Their neighbourhoods.
    tangents : _core.Alignment
        Made of both.
    d : int
        Dimension of the embedding.
    objective : {"R_N", "R"}
        What the rounds make small.
    n_jobs : int
        Number of threads, 0 for all.
    report : callable
        Is told which round it is, of how many; ends the computation by raising.
    """

    x: Matrix = field(repr=False)
    graph: Any = field(repr=False)
    tangents: _core.Alignment = field(repr=False)
    d: int
    objective: str
    n_jobs: int
    report: Callable[[int, int], None] = field(repr=False)

    @cached_property
    def spacing(self) -> float:
        """The median distance to the farthest neighbour."""
        return _core.spacing(self.x, self.graph, self.n_jobs)

    def unrolled(self) -> Opened:
        """Lay the data down along shortest paths, and let the sheet settle."""
        flat, _, _ = _core.unroll(self.tangents, self.x, self.graph, LAID_APART)
        return self.settled(flat.reshape(-1, self.d))

    def settled(self, y: Array) -> Opened:
        """Fit the sheet and judge what is torn in turn, until both stay."""
        torn, last = self._judged(y, LAID_APART), math.inf
        for step in range(ROUNDS):
            if not torn.any():
                break
            self.report(step, ROUNDS)
            y, value = self._fitted(sheet(self.graph, torn), y)
            before, torn = torn, self._judged(y, HELD_APART)
            changed = np.count_nonzero(before != torn)
            if changed <= SETTLED * np.count_nonzero(torn) and value > (1 - GAINED) * last:
                break
            last = value
        return Opened(y, torn)

    def closed(self, y: Array) -> Array:
        """Return a picture drawn together again: that of all neighbourhoods, beginning with a cut one."""
        for step in range(CLOSING):
            self.report(step, CLOSING)
            y, _ = self._fitted(self.graph, y)
        return y

    def relaid(self, opened: Opened) -> tuple[Array, int]:
        """Return the picture with what lies on other parts laid down anew, and how many points did."""
        flat = opened.embedding.ravel()
        laid, taken = _core.relayout(self.tangents, self.x, self.graph, flat, self._turns(opened))
        return laid.reshape(-1, self.d), taken

    def seams(self, opened: Opened) -> list[Seam]:
        """Return the seams of a cut, the longest first."""
        flat, least = opened.embedding.ravel(), 1 if self.d == 1 else FEWEST
        graph, torn = _nearer(self.graph, opened.torn)
        found = _core.seams(self.tangents, self.x, graph, torn, flat, self._turns(opened), least)
        return [Seam(**seam) for seam in found]

    def _judged(self, y: Array, tau: float) -> Flags:
        """Return what a picture tears."""
        torn = _core.torn(self.x, y, self.graph, self.spacing, tau, self.n_jobs)
        return _core.mend(y, self.graph, torn, 1 if self.d == 1 else FEWEST, GAP * tau * self.spacing)

    def _turns(self, opened: Opened) -> Array:
        """Return the best frames of the picture on its sheet."""
        kept = sheet(self.graph, opened.torn)
        return self.tangents.frames_of(self.x, kept, opened.embedding.ravel())

    def _fitted(self, graph: Any, y: Array) -> tuple[Array, float]:
        """Return the embedding that fits the best frames of `y`, and the objective at `y`."""
        core = _core.Refiner(self.x, graph, self.d, self.objective, self.n_jobs)
        sides, value = core.frames(self.x, graph, y)
        multigrid = core.multigrid(graph)
        solution = solve(
            core,
            graph,
            sides,
            y.ravel(),
            d=self.d,
            tol=1e-8,
            reduction=SOLVE_REDUCTION,
            max_iter=SOLVE_STEPS,
            preconditioner=lambda v: multigrid.cycle(v, self.d),
        )
        return solution.embedding.reshape(-1, self.d), value


def sheet(graph: Any, torn: Flags) -> Any:
    """Return the neighbourhoods without their torn members."""
    indptr, indices = _core.restricted(graph, torn)
    return {"found_here": True, "n_neighbors": None, "indptr": indptr, "indices": indices}


def _nearer(graph: Any, torn: Flags) -> tuple[Any, Flags]:
    """Return the nearest of all neighbours, and which of them are torn."""
    k = graph["n_neighbors"]
    if k is None or k <= SEEN:
        return graph, torn
    nearest = np.ascontiguousarray(graph["indices"].reshape(-1, k)[:, :SEEN]).ravel()
    return {**graph, "n_neighbors": SEEN, "indices": nearest}, torn.reshape(-1, k)[:, :SEEN].ravel()


def pairs_of(neighborhoods: Neighborhoods, torn: Flags) -> Pairs:
    """Return the torn pairs, each once, the lower index first."""
    places = np.flatnonzero(torn)
    ends = np.stack([_owners(neighborhoods, places), neighborhoods.indices.ravel()[places]], axis=1)
    return np.unique(np.sort(ends, axis=1), axis=0).astype(np.uint32)


def _owners(neighborhoods: Neighborhoods, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return whose neighbours are at these places."""
    k = neighborhoods.n_neighbors
    if k is not None:
        return places // k
    begins = np.asarray(neighborhoods.indptr)
    return np.asarray(np.searchsorted(begins, places, side="right") - 1, dtype=np.intp)


def as_pairs(cut: Any, n: int) -> Pairs:
    """Return the pairs that a caller gives as a cut, checked."""
    pairs = np.asarray(cut)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"cut must be pairs of points, got an array of shape {pairs.shape} and {pairs.dtype}"
        )
    if pairs.size and not 0 <= int(pairs.min()) <= int(pairs.max()) < n:
        raise ValueError(f"cut holds points from {pairs.min()} to {pairs.max()}, but there are {n}")
    return np.ascontiguousarray(pairs, dtype=np.uint32)


def without(neighborhoods: Neighborhoods, pairs: Pairs) -> tuple[Neighborhoods, Flags]:
    """Return the neighbourhoods on the sheet that these pairs leave, and what is torn."""
    torn = _core.marked(neighborhoods._graph, pairs.ravel())
    indptr, indices = _core.restricted(neighborhoods._graph, torn)
    return Neighborhoods(indices, indptr=indptr, _found_here=True), torn


def share_of(neighborhoods: Neighborhoods, torn: Flags) -> float:
    """Return the share of neighbourhoods that lost a member."""
    owners = _owners(neighborhoods, np.flatnonzero(torn))
    return len(np.unique(owners)) / len(neighborhoods)


def length_of(neighborhoods: Neighborhoods, torn: Flags, d: int) -> float:
    """Return the length of the cut (area, for a body), in units of the (d - 1)-dimensional size of the data.

    By Crofton's formula: of segments of mean length l that lie anywhere in a volume V, the share that
    crosses a cut of size S is c l S / V, where c is the mean of the cosine between a segment and a normal.
    Neighbourhoods are taken for balls of k points in a volume of n, and l for the mean distance in them.
    """
    n, k = len(neighborhoods), len(torn) / len(neighborhoods)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    cosine = math.gamma(d / 2) / (math.sqrt(math.pi) * math.gamma((d + 1) / 2))
    share = np.count_nonzero(torn) / max(1, len(torn))
    return float(share * (n * ball / k) ** (1 / d) * (d + 1) / (d * cosine))


def same_side(source: Matrix, target: Matrix, lists: npt.NDArray[np.uint32], spacing: float) -> Flags:
    """Return which of the listed points of `source` have images near that of the first: no cut is between."""
    apart = [
        np.linalg.norm(points[lists] - points[lists[:, :1]], axis=2)
        for points in map(as_points, (source, target))
    ]
    return np.asarray(apart[1] <= LAID_APART * np.maximum(apart[0], spacing))
