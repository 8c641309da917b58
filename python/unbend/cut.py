"""Cutting what cannot lie flat: lay it down from a root, find what is torn, fit the sheet, and look again.

The loops over points are in the core, `embed/cut`; here is what ties them together. A round finds the best
frames of the sheet, solves eq. 11 on it, and judges from the picture which neighbours are torn, those that
were torn before included: so a cut heals where it is not needed and grows where the sheet is strained.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .assembly import solve
from .neighbors import Neighborhoods
from .points import Matrix, as_points

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

CLOSING = 5
"""Rounds in which a cut that may not be needed is drawn together."""

SOLVE_STEPS, SOLVE_REDUCTION = 30, 1e-2
"""How far eq. 11 is solved in each round."""

SEEN = 24
"""Among how many nearest neighbours seams are looked for: those farther off tell nothing more, and many torn
pairs near each other take long."""

REFLECTED = 0.05
"""A surface has one side if this share of its torn pairs, and a seam's worth of them, are reflected."""

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

    def sentence(self) -> str:
        """Say it in a few words."""
        if self.closed is None or self.orientable is None:
            return "of unknown shape"
        if self.d == 1:
            return "closed: looks like a circle" if self.closed else "open: looks like a line"
        words = f"{'closed' if self.closed else 'open'}, {'' if self.orientable else 'non-'}orientable"
        if self.d != 2 or self.euler is None:
            return words
        words += f", Euler characteristic {self.euler}"
        name = NAMES.get((self.closed, self.orientable, self.euler))
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
    spacing : float
        The median distance to the farthest neighbour.
    """

    embedding: Array = field(repr=False)
    torn: Flags = field(repr=False)
    spacing: float


def unroll(
    x: Matrix,
    graph: Any,
    tangents: _core.Alignment,
    *,
    d: int,
    objective: str,
    n_jobs: int,
    report: Callable[[int, int], None],
) -> Opened:
    """Lay data flat, cut where they must be.

    Parameters
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

    Returns
    -------
    Opened
    """
    spacing = _core.spacing(x, graph, n_jobs)
    flat, _, _ = _core.unroll(tangents, x, graph, LAID_APART)
    y = flat.reshape(len(x), d)

    def judged(y: Array, tau: float) -> Flags:
        torn = _core.torn(x, y, graph, spacing, tau, n_jobs)
        return _core.mend(y, graph, torn, 1 if d == 1 else FEWEST, GAP * tau * spacing)

    torn, last = judged(y, LAID_APART), math.inf
    for step in range(ROUNDS):
        if not torn.any():
            break
        report(step, ROUNDS)
        y, value = _fitted(x, sheet(graph, torn), y, d, objective, n_jobs)
        before, torn = torn, judged(y, HELD_APART)
        changed = np.count_nonzero(before != torn)
        if changed <= SETTLED * np.count_nonzero(torn) and value > (1 - GAINED) * last:
            break
        last = value
    return Opened(y, torn, spacing)


def close(
    x: Matrix, graph: Any, y: Array, *, objective: str, n_jobs: int, report: Callable[[int, int], None]
) -> Array:
    """Return an embedding drawn together again: that of all neighbourhoods, beginning with a cut picture."""
    for step in range(CLOSING):
        report(step, CLOSING)
        y, _ = _fitted(x, graph, y, y.shape[1], objective, n_jobs)
    return y


def sheet(graph: Any, torn: Flags) -> Any:
    """Return the neighbourhoods without their torn members."""
    indptr, indices = _core.restricted(graph, torn)
    return {"found_here": True, "n_neighbors": None, "indptr": indptr, "indices": indices}


def _fitted(x: Matrix, graph: Any, y: Array, d: int, objective: str, n_jobs: int) -> tuple[Array, float]:
    """Return the embedding that fits the best frames of `y`, and the objective at `y`."""
    core = _core.Refiner(x, graph, d, objective, n_jobs)
    sides, value = core.frames(x, graph, y)
    multigrid = core.multigrid(graph)
    solution = solve(
        core,
        graph,
        sides,
        y.ravel(),
        d=d,
        tol=1e-8,
        reduction=SOLVE_REDUCTION,
        max_iter=SOLVE_STEPS,
        preconditioner=lambda v: multigrid.cycle(v, d),
    )
    return solution.embedding.reshape(len(x), d), value


def seams_of(
    x: Matrix, graph: Any, tangents: _core.Alignment, opened: Opened
) -> tuple[list[Seam], Surface, int]:
    """Return the seams of a cut, the longest first, their surface, and how many loops cross them."""
    flat, d = opened.embedding.ravel(), opened.embedding.shape[1]
    turns = tangents.frames_of(x, sheet(graph, opened.torn), flat)
    found, rank = _core.seams(tangents, x, *_nearer(graph, opened.torn), flat, turns, 1 if d == 1 else FEWEST)
    seams = [Seam(**seam) for seam in found]
    reflected = sum(seam.n_pairs for seam in seams if seam.reversed and not seam.ends)
    orientable = reflected < max(FEWEST, REFLECTED * sum(seam.n_pairs for seam in seams)) or d == 1
    rim = _core.rim(tangents, x, graph)
    if rim is None:
        return seams, Surface(d, None, orientable, None), rank
    closed = not bool(rim.any())
    euler = None
    if d == 2:
        holes = _core.holes(opened.embedding, opened.spacing, rim)
        euler = None if holes is None else (2 - rank if closed else 1 - rank - holes)
        if closed and orientable and rank % 2:
            euler = None  # there is no such surface: some seam was mistaken
    return seams, Surface(d, closed, orientable, euler), rank


def _nearer(graph: Any, torn: Flags) -> tuple[Any, Flags]:
    """Return the nearest of all neighbours, and which of them are torn."""
    k = graph["n_neighbors"]
    if k is None or k <= SEEN:
        return graph, torn
    nearest = np.ascontiguousarray(graph["indices"].reshape(-1, k)[:, :SEEN]).ravel()
    return {**graph, "n_neighbors": SEEN, "indices": nearest}, torn.reshape(-1, k)[:, :SEEN].ravel()


def flat_surface(x: Matrix, embedding: Array, graph: Any, n_jobs: int) -> Surface:
    """Return the surface of data that lie flat without a cut: with a rim, and the holes of the picture."""
    n, d = embedding.shape
    if d != 2:
        return Surface(d, False, True, None)
    holes = _core.holes(embedding, _core.spacing(x, graph, n_jobs), np.ones(n, dtype=np.uint32))
    return Surface(d, False, True, None if holes is None else 1 - holes)


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
