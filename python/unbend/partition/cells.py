"""What is done with one cell alone: embedded with its halo, and laid over its neighbours.

Every function is given a job and the number of a cell, reads what it needs from the shelf, and leaves its
result there: the same bits whoever runs it, in whatever order. What is kept already is not made again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.progress import Progress
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, search
from .checkpoint import Arrays
from .scatter import Job, Members, members

__all__ = ["Cell", "embed", "neighbors_of", "overlaps", "proved", "rim_of", "tangent_scale", "weight"]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


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
        graph = neighbors_of(job, held.x)
        scale = _core.tangent_scale(held.x, graph._graph, job.n_components, 0, job.n_jobs)
        return {"scale": np.array(0 if scale is None else scale)}

    return job.shelf.made(f"scale-{cell.number}", make)


def embed(job: Job, cell: Cell, tangent_neighbors: int | None) -> Arrays:
    """Embed a cell with its halo; return what there is to say of it, for all else is on the shelf."""
    name, rim = f"cell-{cell.number}", f"rim-{cell.number}-0"
    said = job.shelf.find(f"said-{cell.number}")
    if said is None or not (job.shelf.has(name) and job.shelf.has(rim)):
        said, kept = _embed(job, cell, tangent_neighbors)
        job.shelf.keep(name, kept)
        job.shelf.keep(rim, rim_of(kept, kept["y"], cell.width))
        job.shelf.keep(f"said-{cell.number}", said)
    return said


def _embed(job: Job, cell: Cell, tangent_neighbors: int | None) -> tuple[Arrays, Arrays]:
    held = cell.members(job)
    said: Arrays = {"core": np.array(int(held.core.sum()))}
    try:
        graph = neighbors_of(job, held.x)
        said["proved"] = np.array(proved(held, graph, cell.reach))
        places = np.flatnonzero(_joined(held, graph, cell.reach))
        held = held.some(places)
        del graph  # it is searched for anew among those that are left
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
    graph = neighbors_of(job, held.x)
    estimator = _estimator(job, tangent_neighbors, len(held.x))
    estimator.neighborhoods_, estimator.component_labels_ = graph, graph.component_labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts of the data, where the whole is asked about
        embedding, _ = estimator._lay_flat(held.x, job.n_neighbors, Progress())
    return np.ascontiguousarray(embedding), graph, int(estimator.n_iter_)


def _estimator(job: Job, tangent_neighbors: int | None, n: int) -> Any:
    from ..estimators.align import ProcrustesAlignment
    from ..estimators.embed import GreedyProcrustes

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


def neighbors_of(job: Job, x: Any) -> Neighborhoods:
    """Return the neighbourhoods of points among themselves."""
    if len(x) <= job.n_neighbors:
        raise ValueError(
            f"n_neighbors = {job.n_neighbors} needs at least {job.n_neighbors + 1} points, got {len(x)}"
        )
    method = job.parameters.get("neighbors_method", "auto")
    recall = job.parameters.get("neighbors_recall", DEFAULT_RECALL)
    return search(x, job.n_neighbors, method, recall, 0, job.n_jobs or None)


def proved(held: Members, graph: Neighborhoods, reach: float) -> int:
    """Return how many points of the cell certainly have all their neighbours: see `plan`."""
    core = held.core
    return int((2 * _farthest(graph)[core] <= reach + np.minimum(held.second[core], reach)).sum())


def _farthest(graph: Neighborhoods) -> Array:
    """Return how far the farthest neighbour of each point is."""
    assert graph.distances is not None
    return graph.distances.reshape(len(graph), -1)[:, -1]


# Laid over its neighbours ---------------------------------------------------------------------------------


def rim_of(kept: Arrays, y: Array, width: float) -> Arrays:
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
