"""What is done with one cell: embedded alone, laid over its neighbours, settled between them, measured.

Every function is given a job and the number of a cell, reads what it needs from the shelf, and leaves its
result there: the same bits whoever runs it, in whatever order. What is kept already is not made again.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..neighbors import DEFAULT_RECALL, Neighborhoods, search
from ..progress import Watch
from .plan import CORE
from .scatter import Job, Members, members
from .shelf import Arrays

__all__ = ["Cell", "embed", "extents", "gather", "measure", "overlaps", "settle", "tangent_scale"]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

FREE = 0.5
"""Points with a gap of at most this share of the width move while a cell is settled; those beyond are
held."""

STEPS, REDUCTION = 8, 1e-2
"""How many steps of conjugate gradients are taken for given frames, and by how much the residual shall
fall."""

INNER, MUCH = 6, 1e-2
"""A cell finds frames anew at most so often, and while that lowers R by more than this share."""

FIELDS = ("r", "r_n", "r_c", "r_pca", "bound")
"""What the core measures of each neighbourhood, in its order."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell, and where its points are on the shelf.

    Attributes
    ----------
    number : int
        Which.
    sizes, segments : ndarray
        How many of its points each block has, and where.
    neighbors : tuple of int
        Cells it shares points with, in order.
    width : float
        Of its halo.
    reach : float
        Up to which gap all points of the halo are known.
    """

    number: int
    sizes: npt.NDArray[np.int64]
    segments: npt.NDArray[np.int64]
    neighbors: tuple[int, ...]
    width: float
    reach: float

    def members(self, job: Job) -> Members:
        """Read its points."""
        return members(job, self.sizes, self.segments)


# Embedded alone -------------------------------------------------------------------------------------------


def tangent_scale(job: Job, cell: Cell) -> Arrays:
    """Return from how many neighbours tangents should be found; 0 if from those of the graph."""

    def make() -> Arrays:
        held = cell.members(job)
        if len(held.x) <= job.n_neighbors:
            return {"scale": np.array(-1)}
        graph = _graph(job, held.x)
        scale = _core.tangent_scale(held.x, graph._graph, job.n_components, 0, job.n_jobs)
        return {"scale": np.array(0 if scale is None else scale)}

    return job.shelf.made(f"scale-{cell.number}", make)


def embed(job: Job, cell: Cell, tangent_neighbors: int | None) -> Arrays:
    """Embed a cell with its halo; return what there is to say of it, for all else is on the shelf."""
    name = f"cell-{cell.number}"
    said = job.shelf.find(f"said-{cell.number}")
    if said is None or not job.shelf.place(f"{name}.npz").exists():
        said, kept = _embed(job, cell, tangent_neighbors)
        job.shelf.keep(name, kept)
        job.shelf.keep(f"rim-{cell.number}-0", _rim(kept, kept["y"], cell.width))
        job.shelf.keep(f"said-{cell.number}", said)
    return said


def _embed(job: Job, cell: Cell, tangent_neighbors: int | None) -> tuple[Arrays, Arrays]:
    held = cell.members(job)
    said: Arrays = {"core": np.array(int(held.core.sum()))}
    try:
        graph = _graph(job, held.x)
        said["proved"] = np.array(_proved(held, graph, cell.reach))
        places = np.flatnonzero(_joined(held, graph, cell.reach))
        held = held.some(places)
        embedding, graph, n_iter = _laid_flat(job, held, tangent_neighbors)
    except (ValueError, MemoryError, ArithmeticError) as error:
        reason = " ".join(str(error).split()) if said["core"] else ""  # no harm is done where nothing is
        return said | {"failed": np.array(reason), "pieces": np.zeros(0, np.int64)}, _nowhere(job, held)
    pieces = graph.component_labels.astype(np.int32)
    counts = np.bincount(pieces[held.core], minlength=int(pieces.max()) + 1)
    # What has no point of the cell itself is another cell's concern.
    pieces[counts[pieces] == 0] = -1
    indices = graph._graph["indices"].reshape(len(held.ids), -1)
    said |= {"failed": np.array(""), "pieces": counts, "n_iter": np.array(n_iter)}
    return said, _where(held) | {"places": places, "y": embedding, "piece": pieces, "indices": indices}


def _where(held: Members) -> Arrays:
    return {"ids": held.ids, "gaps": held.gaps, "second": held.second}


def _nowhere(job: Job, held: Members) -> Arrays:
    """Return what is kept of a cell that could not be embedded."""
    n = len(held.ids)
    return _where(held) | {
        "places": np.arange(n),
        "y": np.full((n, job.n_components), np.nan),
        "piece": np.full(n, -1, dtype=np.int32),
        "indices": np.empty((0, 0), np.uint32),
    }


def _joined(held: Members, graph: Neighborhoods, reach: float) -> Booleans:
    """Return which points belong with the cell: its own, and those in neighbourhoods known to be whole.

    At its end a halo may hold scraps of other parts of the surface. Points there lack neighbours, and would
    be joined to whatever is near: to the next sheet.
    """
    lists = graph._graph["indices"].reshape(len(held.ids), -1)
    whole = held.core | (2 * _farthest(graph) + held.gaps <= reach)
    joined: Booleans = whole.copy()
    joined[lists[whole].ravel()] = True
    return joined


def _laid_flat(job: Job, held: Members, tangent_neighbors: int | None) -> tuple[Array, Neighborhoods, int]:
    """Embed by the estimator that would embed all: its stages after the search for neighbours."""
    graph = _graph(job, held.x)
    estimator = _estimator(job, tangent_neighbors, len(held.x))
    estimator.neighborhoods_, estimator.component_labels_ = graph, graph.component_labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts of the data, where the whole is asked about
        embedding, _ = estimator._lay_flat(held.x, job.n_neighbors, Watch())
    return np.ascontiguousarray(embedding), graph, int(estimator.n_iter_)


def _estimator(job: Job, tangent_neighbors: int | None, n: int) -> Any:
    from ..align import ProcrustesAlignment
    from ..embed import GreedyProcrustes

    kind: Any = {"psa": ProcrustesAlignment, "gp": GreedyProcrustes}[job.method]
    if tangent_neighbors is not None:
        tangent_neighbors = min(tangent_neighbors, n - 1)
    return kind(
        n_components=job.n_components,
        n_neighbors=job.n_neighbors,
        tangent_neighbors=tangent_neighbors,
        cut=False,
        n_jobs=job.n_jobs or None,
        **job.parameters,
    )


def _graph(job: Job, x: Any) -> Neighborhoods:
    if len(x) <= job.n_neighbors:
        raise ValueError(
            f"n_neighbors = {job.n_neighbors} needs at least {job.n_neighbors + 1} points, got {len(x)}"
        )
    method = job.parameters.get("neighbors_method", "auto")
    recall = job.parameters.get("neighbors_recall", DEFAULT_RECALL)
    return search(x, job.n_neighbors, method, recall, 0, job.n_jobs or None)


def _proved(held: Members, graph: Neighborhoods, reach: float) -> int:
    """Return how many points of the cell certainly have all their neighbours: see `plan`."""
    core = held.core
    return int((2 * _farthest(graph)[core] <= reach + np.minimum(held.second[core], reach)).sum())


def _farthest(graph: Neighborhoods) -> Array:
    """Return how far the farthest neighbour of each point is."""
    assert graph.distances is not None
    return graph.distances.reshape(len(graph), -1)[:, -1]


# Laid over its neighbours ---------------------------------------------------------------------------------


def _rim(kept: Arrays, y: Array, width: float) -> Arrays:
    """Return what other cells hold too: the halo, and what lies in the halos of others."""
    shared = (kept["gaps"] >= 0) | (kept["second"] <= width)
    rim = {name: kept[name][shared] for name in ("ids", "gaps", "piece")}
    return rim | {"y": y[shared]}


def weight(gaps: Any, width: float) -> Array:
    """Return how much the word of a cell counts: all for its own points, less towards the end of its halo."""
    share = np.maximum(gaps, 0.0) / width if width > 0 else np.zeros(len(gaps))
    return np.asarray(np.maximum(1.0 - share, 1e-3) ** 2, dtype=np.float64)


def overlaps(job: Job, cell: Cell) -> Arrays:
    """Compare a cell with those after it, piece by piece, by the points that both hold.

    An edge is (own piece, other cell, other piece), and of both pieces' coordinates of the points that they
    share: total weight, count, means, Y_i'HY_j, |HY_i|^2 and |HY_j|^2.
    """

    def make() -> Arrays:
        own = job.shelf.take(f"rim-{cell.number}-0")
        edges, numbers = [], []
        for other in (other for other in cell.neighbors if other > cell.number):
            for pair, sums in _compared(own, job.shelf.take(f"rim-{other}-0"), cell.width, job.n_components):
                edges.append((pair[0], other, pair[1]))
                numbers.append(sums)
        d = job.n_components
        return {
            "edges": np.array(edges, dtype=np.int64).reshape(-1, 3),
            "sums": np.array(numbers, dtype=np.float64).reshape(-1, 2 + 2 * d + d * d + 2),
        }

    return job.shelf.made(f"overlap-{cell.number}", make)


def _compared(one: Arrays, two: Arrays, width: float, d: int) -> list[tuple[tuple[int, int], Array]]:
    _, at, there = np.intersect1d(one["ids"], two["ids"], assume_unique=True, return_indices=True)
    both = (one["piece"][at] >= 0) & (two["piece"][there] >= 0)
    at, there = at[both], there[both]
    weights = weight(one["gaps"][at], width) * weight(two["gaps"][there], width)
    keys = one["piece"][at].astype(np.int64) * 2**32 + two["piece"][there]
    found = []
    for key in np.unique(keys):
        of = keys == key
        if of.sum() <= d:
            continue  # a turn is not decided by so few
        sums = _moments(one["y"][at[of]], two["y"][there[of]], weights[of])
        found.append(((int(key >> 32), int(key & (2**32 - 1))), sums))
    return found


def _moments(a: Array, b: Array, w: Array) -> Array:
    total = w.sum()
    mean_a, mean_b = w @ a / total, w @ b / total
    a, b = a - mean_a, b - mean_b
    cross = (w[:, None] * a).T @ b
    sizes = [w @ (a * a).sum(axis=1), w @ (b * b).sum(axis=1)]
    return np.concatenate([[total, len(w)], mean_a, mean_b, cross.ravel(), sizes])


# Settled between them -------------------------------------------------------------------------------------


def _agreed(job: Job, cell: Cell, kept: Arrays, y: Array, stage: int, motions: Any) -> tuple[Array, Any]:
    """Return where all cells together see the points of this one, and in which component they are.

    Cells are added in the order of their numbers, so that all who hold a point find the same bits. A point
    belongs to the component of its own cell; what lies in another has no place relative to it.
    """
    ids, d = kept["ids"], job.n_components
    seen = []
    for number in sorted({cell.number, *cell.neighbors}):
        rim = kept | {"y": y} if number == cell.number else job.shelf.take(f"rim-{number}-{stage}")
        at = np.searchsorted(ids, rim["ids"])
        at[at == len(ids)] = 0
        here = (ids[at] == rim["ids"]) & (rim["piece"] >= 0)
        if not here.any():
            continue
        turns, shifts, components = motions[number]
        piece = rim["piece"][here]
        moved = np.einsum("ij,ijk->ik", rim["y"][here], turns[piece]) + shifts[piece]
        seen.append((at[here], rim["gaps"][here], components[piece], moved))
    component = np.full(len(ids), -1, dtype=np.int64)
    for at, _, of, _ in seen:
        unknown = component[at] < 0
        component[at[unknown]] = of[unknown]
    for at, gaps, of, _ in seen:
        component[at[gaps == CORE]] = of[gaps == CORE]
    total, sums = np.zeros(len(ids)), np.zeros((len(ids), d))
    for at, gaps, of, moved in seen:
        same = component[at] == of
        w = weight(gaps[same], cell.width)
        total[at[same]] += w
        sums[at[same]] += w[:, None] * moved[same]
    with np.errstate(invalid="ignore"):
        return sums / total[:, None], component


def settle(job: Job, cell: Cell, stage: int, motions: Any, renewed: bool) -> Arrays:
    """Move the points of a cell to where its neighbourhoods want them; the others hold its outer halo.

    `motions` are those of this cell and of its neighbours: turns, shifts and components of their pieces.
    """
    name = f"state-{cell.number}-{stage + 1}"

    def make() -> Arrays:
        kept = job.shelf.take(f"cell-{cell.number}")
        y = kept["y"] if stage == 0 else job.shelf.take(f"state-{cell.number}-{stage}")["y"]
        agreed, _ = _agreed(job, cell, kept, y, stage, motions)
        values = np.zeros(2)
        if kept["indices"].size:
            agreed, values = _settled(job, cell, kept, agreed, motions[cell.number], renewed)
        job.shelf.keep(f"rim-{cell.number}-{stage + 1}", _rim(kept, agreed, cell.width))
        return {"y": agreed, "values": values}

    return {"values": job.shelf.made(name, make)["values"]}


def _settled(
    job: Job, cell: Cell, kept: Arrays, agreed: Array, motions: Any, renewed: bool
) -> tuple[Array, Array]:
    """Return where the points go, and R before and after, of all neighbourhoods that were looked at."""
    held, alone = cell.members(job).some(kept["places"]), _moved(kept, motions)
    known = np.asarray(np.isfinite(agreed).all(axis=1))
    start = np.where(known[:, None], agreed, alone)
    system = _Held(job, held.x, kept, (kept["gaps"] <= FREE * cell.width) & (kept["piece"] >= 0))
    moved, values = system.renewed(start) if renewed else system.fixed(start, alone)
    return np.where(known[:, None], moved, agreed), np.array(values) * len(agreed)


class _Held:
    """Eq. 11 where some points are held."""

    def __init__(self, job: Job, x: Any, kept: Arrays, free: Booleans) -> None:
        self._x, self._graph = x, _known_graph(kept["indices"])
        self._d, self._free = job.n_components, np.repeat(free, job.n_components)
        self._core = _core.Refiner(
            x, self._graph, self._d, job.parameters.get("objective", "R_N"), job.n_jobs
        )
        diagonal = np.repeat(self._core.diagonal(self._graph), self._d)
        fine = self._free & (diagonal > 0)
        self._scale = np.where(fine, 1.0 / np.where(fine, diagonal, 1.0), 0.0)
        self._multigrid: _core.Multigrid | None = None

    def fixed(self, start: Array, alone: Array) -> tuple[Array, list[float]]:
        """Keep the frames of the embedding that the cell was given alone: for them it solves eq. 11."""
        moved = self._step(start, self._core.apply(self._graph, alone.ravel()), plain=True)
        return moved, [0.0, 0.0]

    def renewed(self, start: Array) -> tuple[Array, list[float]]:
        """Find frames anew, and the embedding for them, in turn, while that gains much."""
        sides, value = self._core.frames(self._x, self._graph, start)
        y, values = start, [value]
        for step in range(INNER):
            moved = self._step(y, sides, plain=step == 0)
            sides, reached = self._core.frames(self._x, self._graph, moved)
            if not reached < value:
                break
            y = moved
            values.append(reached)
            if value - reached <= MUCH * value:
                break
            value = reached
        return y, [values[0], values[-1]]

    def _step(self, y: Array, sides: Array, plain: bool) -> Array:
        from scipy.sparse.linalg import LinearOperator, cg

        square = (y.size, y.size)
        change, _ = cg(
            LinearOperator(square, matvec=lambda v: self._where_free(self._apply(self._where_free(v)))),
            self._where_free(sides - self._apply(y.ravel())),
            M=LinearOperator(square, matvec=(lambda v: self._scale * v) if plain else self._cycle),
            rtol=REDUCTION,
            maxiter=STEPS,
        )
        return np.asarray(y + change.reshape(y.shape))

    def _apply(self, v: Array) -> Array:
        return self._core.apply(self._graph, v)

    def _where_free(self, v: Array) -> Array:
        return np.where(self._free, v, 0.0)

    def _cycle(self, v: Array) -> Array:
        if self._multigrid is None:
            self._multigrid = self._core.multigrid(self._graph)
        return self._where_free(self._multigrid.cycle(self._where_free(v), self._d))


def _known_graph(indices: Any) -> Any:
    """Return neighbours that were found here as the core takes them."""
    return Neighborhoods.from_knn(indices)._graph | {"found_here": True}


def _moved(kept: Arrays, motions: Any) -> Array:
    """Return the embedding that the cell was given alone, moved."""
    turns, shifts, _ = motions
    if len(turns) == 0:
        return np.nan_to_num(kept["y"])
    piece = np.maximum(kept["piece"], 0)
    return np.asarray(np.einsum("ij,ijk->ik", kept["y"], turns[piece]) + shifts[piece])


# Measured ---------------------------------------------------------------------------------------------


def measure(job: Job, cell: Cell, stage: int, motions: Any) -> Arrays:
    """Write where the points of a cell lie, and measure their neighbourhoods."""

    def make() -> Arrays:
        kept = job.shelf.take(f"cell-{cell.number}")
        y = kept["y"] if stage == 0 else job.shelf.take(f"state-{cell.number}-{stage}")["y"]
        agreed, component = _agreed(job, cell, kept, y, stage, motions)
        own = kept["gaps"] < 0
        parts = _by_block(job, kept["ids"][own], agreed[own], component[own])
        sums = np.array(job.shelf.keep_parts(f"done-{cell.number}", parts), dtype=np.int64)
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        segments = np.stack([np.cumsum(sizes) - sizes, sizes, sums], axis=1)
        found: Arrays = {"segments": segments, "moments": _spread(agreed[own], component[own])}
        if kept["indices"].size:
            x = cell.members(job).some(kept["places"]).x
            start = np.where(np.isfinite(agreed), agreed, kept["y"])
            found["sums"] = faithful_sums(x, start, kept["indices"], own, job.n_jobs)
        else:
            found["sums"] = np.zeros(len(SUMS))
        return found

    return job.shelf.made(f"done-{cell.number}", make)


SUMS = (*FIELDS, "a", "b", "measured", "degenerate")
"""Sums over neighbourhoods: the fields, |HY|^2 / |HX|^2, sum(s) / |HX|^2, how many, and how many were left
out."""


def faithful_sums(x: Any, y: Any, indices: Any, own: Booleans, n_jobs: int) -> Array:
    """Return the sums of which the measures of all neighbourhoods are made, each rounded once."""
    centers = np.flatnonzero(own).astype(np.uint32)
    graph = _known_graph(indices)
    fields = np.empty((8, len(centers)))
    if len(centers) == 0:
        return np.zeros(len(SUMS))
    means = _core.faithfulness(x, np.ascontiguousarray(y), graph, True, centers, fields, n_jobs)
    counted = np.isfinite(fields[1])
    sums = [math.fsum(fields[0]), *(math.fsum(fields[at][counted]) for at in (1, 2))]
    sums += [math.fsum(fields[3]), math.fsum(fields[4][counted])]
    many = int(counted.sum())
    # The best scale is b / a, and R_N with it 1 - b^2 / a.
    scale = means["scale"]
    b = many * (1.0 - means["r_n_scaled"]) / scale if many and scale > 0 else 0.0
    a = b / scale if scale > 0 else 0.0
    return np.array([*sums, a, b, len(centers), len(centers) - many])


def _by_block(job: Job, ids: Any, y: Array, component: Any) -> list[bytes]:
    rows = np.concatenate([y, component[:, None].astype(np.float64)], axis=1)
    bounds = np.searchsorted(ids, np.arange(job.n_blocks + 1) * job.rows)
    return [rows[a:b].tobytes() for a, b in pairwise(bounds)]


def _spread(y: Array, component: Any) -> Array:
    """Return for each component its number, how many points it has here, their mean and their scatter."""
    found = []
    for number in np.unique(component[component >= 0]):
        own = y[component == number]
        mean = own.mean(axis=0)
        apart = own - mean
        found.append(np.concatenate([[number, len(own)], mean, (apart.T @ apart).ravel()]))
    d = y.shape[1]
    return np.array(found).reshape(-1, 2 + d + d * d)


# And back ---------------------------------------------------------------------------------------------------


def extents(job: Job, cell: Cell, segments: Any, means: Array, axes: Array) -> Arrays:
    """Return how far each component reaches in this cell, along its axes."""

    def make() -> Arrays:
        rows = np.concatenate([_done(job, cell.number, segment) for segment in segments])
        low, high = np.full(means.shape, np.inf), np.full(means.shape, -np.inf)
        placed = rows[rows[:, -1] >= 0]
        of = placed[:, -1].astype(np.intp)
        along = np.einsum("ij,ijk->ik", placed[:, :-1] - means[of], axes[of])
        np.minimum.at(low, of, along)
        np.maximum.at(high, of, along)
        return {"low": low, "high": high}

    return job.shelf.made(f"extent-{cell.number}", make)


def _done(job: Job, cell: int, segment: Any) -> Array:
    return np.frombuffer(job.shelf.part(f"done-{cell}", segment), np.float64).reshape(
        -1, job.n_components + 1
    )


def gather(job: Job, block: int, segments: Any, means: Array, axes: Array, shifts: Array, out: str) -> Arrays:
    """Write the rows of a block to where they belong; `segments` are those of the block, of every cell."""
    name = f"out-{block}"

    def make() -> Arrays:
        own = job.shelf.take(f"block-{block}")["own"]
        order = np.argsort(own, kind="stable")
        rows = np.full((len(own), job.n_components + 1), np.nan)
        placed = [_done(job, cell, segment) for cell, segment in enumerate(segments) if segment[1] > 0]
        if placed:
            found = np.concatenate(placed)
            rows[order[: len(found)]] = found
        of = np.where(np.isnan(rows[:, -1]), -1, rows[:, -1]).astype(np.intp)
        y = np.full((len(own), job.n_components), np.nan)
        known = of >= 0
        y[known] = (
            np.einsum("ij,ijk->ik", rows[known, :-1] - means[of[known]], axes[of[known]]) + shifts[of[known]]
        )
        target = np.load(out, mmap_mode="r+")
        start, stop = job.span(block)
        target[start:stop] = y
        target.flush()
        return {"lost": np.array(int((~np.isfinite(y)).any(axis=1).sum()))}

    return job.shelf.made(name, make)


def measure_given(job: Job, cell: Cell) -> Arrays:
    """Measure the neighbourhoods of a cell in an embedding that was given."""

    def make() -> Arrays:
        held = cell.members(job)
        assert held.y is not None
        try:
            graph = _graph(job, held.x)
        except ValueError as error:
            return {"failed": np.array(str(error)), "sums": np.zeros(len(SUMS)), "proved": np.array(0)}
        indices = graph._graph["indices"].reshape(len(held.x), -1)
        sums = faithful_sums(held.x, held.y, indices, held.core, job.n_jobs)
        proved = np.array(_proved(held, graph, cell.reach))
        return {"failed": np.array(""), "sums": sums, "proved": proved}

    return job.shelf.made(f"measured-{cell.number}", make)
