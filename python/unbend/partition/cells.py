"""Tasks of one cell: embed it with its halo, and compare it with its neighbors.

A task reads what it needs from checkpoints and leaves its result there: the same bits in any process and order.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.progress import Progress
from ..fit.problem import Problem, neighbor_count
from ..fit.procrustes.alignment import AlignmentSettings
from ..fit.procrustes.greedy import GreedySettings
from ..fit.run import flatten
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, search
from .checkpoint import Arrays, checkpointed
from .scatter import Job, Members, members

__all__ = ["Cell", "embed", "neighbors_of", "overlaps", "proved", "rim_of", "tangent_scale", "weight"]

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell, and where its points are in the checkpoints."""

    number: int
    sizes: npt.NDArray[np.int64]  # Number of its points in each block.
    segments: npt.NDArray[np.int64]  # Their place in the file of each block.
    neighbors: tuple[int, ...]  # Cells that share points with it, in order.
    width: float  # Width of its halo.
    reach: float  # Gap up to which all points of the halo are known.

    def members(self, job: Job) -> Members:
        """Return its points."""
        return members(job, self.sizes, self.segments)


# Embedded alone -------------------------------------------------------------------------------------------


@checkpointed("scale")
def tangent_scale(job: Job, cell: Cell) -> Arrays:
    """Return the number of neighbors from which tangents should be found; 0 for those of the graph."""
    held = cell.members(job)
    if len(held.x) <= job.n_neighbors:
        return {"scale": np.array(-1)}
    scale = _problem(job, held.x, neighbors_of(job, held.x)).core.tangent_scale(0)
    return {"scale": np.array(0 if scale is None else scale)}


def embed(job: Job, cell: Cell, tangent_neighbors: int | None) -> Arrays:
    """Embed a cell with its halo; return a summary, and leave all else in checkpoints."""
    name, rim = f"cell-{cell.number}", f"rim-{cell.number}-0"
    said = job.checkpoints.find(f"said-{cell.number}")
    if said is None or not (job.checkpoints.has(name) and job.checkpoints.has(rim)):
        said, kept = _embed(job, cell, tangent_neighbors)
        job.checkpoints.save(name, kept)
        job.checkpoints.save(rim, rim_of(kept, kept["y"], cell.width))
        job.checkpoints.save(f"said-{cell.number}", said)
    return said


def _embed(job: Job, cell: Cell, tangent_neighbors: int | None) -> tuple[Arrays, Arrays]:
    held = cell.members(job)
    said: Arrays = {"core": np.array(int(held.core.sum()))}
    try:
        graph = neighbors_of(job, held.x)
        said["proved"] = np.array(proved(held, graph, cell.reach))
        places = np.flatnonzero(_joined(held, graph, cell.reach))
        held = held.some(places)
        del graph  # another search follows, among the points that remain
        embedding, graph, n_iter = _laid_flat(job, held, tangent_neighbors)
    except (ValueError, MemoryError, ArithmeticError) as error:
        reason = " ".join(str(error).split()) if said["core"] else ""  # a cell without points cannot fail
        return said | {"failed": np.array(reason), "pieces": np.zeros(0, np.int64)}, _nowhere(job, held)
    pieces = graph.component_labels.astype(np.int32)
    counts = np.bincount(pieces[held.core], minlength=int(pieces.max()) + 1)
    # Pieces without a point of the cell itself belong to other cells.
    pieces[counts[pieces] == 0] = -1
    indices = graph.indices.reshape(len(held.ids), -1)
    said |= {"failed": np.array(""), "pieces": counts, "n_iter": np.array(n_iter)}
    return said, _where(held) | {"places": places, "y": embedding, "piece": pieces, "indices": indices}


def _where(held: Members) -> Arrays:
    return {"ids": held.ids, "gaps": held.gaps, "second": held.second}


def _nowhere(job: Job, held: Members) -> Arrays:
    """Return the checkpoint of a cell that could not be embedded."""
    n = len(held.ids)
    return _where(held) | {
        "places": np.arange(n),
        "y": np.full((n, job.n_components), np.nan),
        "piece": np.full(n, -1, dtype=np.int32),
        "indices": np.empty((0, 0), np.uint32),
    }


def _joined(held: Members, graph: Neighborhoods, reach: float) -> Booleans:
    """Return the points that belong with the cell: its own, and those in neighborhoods known to be whole.

    At its end a halo may hold scraps of other parts of the surface. Points there lack their neighbors, and would
    be joined to the next sheet.
    """
    lists = graph.indices.reshape(len(held.ids), -1)
    whole = held.core | (2 * _farthest(graph) + held.gaps <= reach)
    joined: Booleans = whole.copy()
    joined[lists[whole].ravel()] = True
    return joined


def _laid_flat(job: Job, held: Members, tangent_neighbors: int | None) -> tuple[Array, Neighborhoods, int]:
    """Embed the points of a cell as all data would be embedded, after the search for neighbors."""
    graph = neighbors_of(job, held.x)
    wide = None if tangent_neighbors is None else min(tangent_neighbors, len(held.x) - 1)
    kind: Any = {"psa": AlignmentSettings, "gp": GreedySettings}[job.method]
    settings = kind.of(job.parameters | {"tangent_neighbors": wide, "cut": False})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about a part of the data
        found: Any = flatten(settings, _problem(job, held.x, graph), Progress())
    return np.ascontiguousarray(found.embedding), graph, int(found.n_iter)


def _problem(job: Job, x: Any, graph: Neighborhoods) -> Problem:
    objective = job.parameters.get("objective", "R_N")
    return Problem(_core.Points(x), graph, job.n_components, objective, job.n_jobs or None)


def neighbors_of(job: Job, x: Any) -> Neighborhoods:
    """Return the neighborhoods of points among themselves."""
    k = neighbor_count(job.n_neighbors, len(x))
    method = job.parameters.get("neighbors_method", "auto")
    recall = job.parameters.get("neighbors_recall", DEFAULT_RECALL)
    return search(x, k, method, recall, 0, job.n_jobs or None)


def proved(held: Members, graph: Neighborhoods, reach: float) -> int:
    """Return the number of points of the cell that certainly have all their neighbors: see `plan`."""
    core = held.core
    return int((2 * _farthest(graph)[core] <= reach + np.minimum(held.second[core], reach)).sum())


def _farthest(graph: Neighborhoods) -> Array:
    """Return the distance of each point to its farthest neighbor."""
    assert graph.distances is not None
    return graph.distances.reshape(len(graph), -1)[:, -1]


# Compared with its neighbors ------------------------------------------------------------------------------


def rim_of(kept: Arrays, y: Array, width: float) -> Arrays:
    """Return the points that other cells hold too: the halo, and those in the halos of others."""
    shared = (kept["gaps"] >= 0) | (kept["second"] <= width)
    rim = {name: kept[name][shared] for name in ("ids", "gaps", "piece")}
    return rim | {"y": y[shared]}


def weight(gaps: Any, width: float) -> Array:
    """Return the weight of a cell for its points: 1 for its own, less toward the end of its halo."""
    share = np.maximum(gaps, 0.0) / width if width > 0 else np.zeros(len(gaps))
    return np.asarray(np.maximum(1.0 - share, 1e-3) ** 2, dtype=np.float64)


@checkpointed("overlap")
def overlaps(job: Job, cell: Cell) -> Arrays:
    """Compare a cell with those after it, piece by piece, by the points that both hold.

    An edge is (own piece, other cell, other piece), and of both pieces' coordinates of the points that they
    share: total weight, count, means, Y_i'HY_j, |HY_i|^2 and |HY_j|^2.
    """
    own = job.checkpoints.load(f"rim-{cell.number}-0")
    edges, numbers = [], []
    for other in (other for other in cell.neighbors if other > cell.number):
        for pair, sums in _compared(
            own, job.checkpoints.load(f"rim-{other}-0"), cell.width, job.n_components
        ):
            edges.append((pair[0], other, pair[1]))
            numbers.append(sums)
    d = job.n_components
    return {
        "edges": np.array(edges, dtype=np.int64).reshape(-1, 3),
        "sums": np.array(numbers, dtype=np.float64).reshape(-1, 2 + 2 * d + d * d + 2),
    }


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
            continue  # too few points to determine a rotation
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
