"""Ranks of the branches of a tree of shortest paths (Meng et al. 2011), after its description in NIEQA, II-B.

The original is not at hand: the root, and the lengths that are compared, are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import Matrix
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import Array, pair
from .table import scoring

LEAST_LENGTH = 1e-12
"""Lengths of 0 are replaced by this share of the longest: scipy reads 0 as no edge."""


@scoring(1.0, 0.261)
def branch_correlation(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    n_jobs: int | None = None,
) -> float:
    """Return the rank correlation of the branches of a tree of shortest paths with their extents in an embedding.

    In [-1, 1], 1 is perfect. The tree joins all points to a root, in the middle of a longest path on the
    neighborhood graph, by shortest paths. A branch is the path from the root to a leaf. Its length in the data is
    compared with the distance of its ends in the embedding, by Spearman's correlation. Of several connected
    components, the largest is measured. With fewer than two different lengths, the result is 0. Invariant under
    rotation, reflection, translation and scaling of X and of Y.

    It sees the order of distances from one point alone, so a fold through the root is perfect.

    Cost: O(n log n) for the tree. d may exceed q.
    """
    from scipy.stats import rankdata

    x, y = pair(X, Y, narrower=False)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)
    if len(graph) != len(x):
        raise ValueError(f"X has {len(x)} rows, but neighborhoods are of {len(graph)} points")
    root, leaves, lengths = branches(x, graph)
    extents = np.linalg.norm(y[leaves].astype(np.float64) - y[root], axis=1)
    one, two = (rankdata(values) - (len(leaves) + 1) / 2 for values in (lengths, extents))
    spread = float(np.sqrt((one @ one) * (two @ two)))
    return float(one @ two) / spread if spread > 0 else 0.0


def branches(x: Matrix, graph: Neighborhoods) -> tuple[int, npt.NDArray[np.intp], Array]:
    """Return the root of a tree of shortest paths, its leaves, and their distances from the root."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    tails = np.repeat(np.arange(len(graph)), graph.sizes)
    edges = np.linalg.norm(x[tails].astype(np.float64) - x[graph.indices], axis=1)
    edges = np.maximum(edges, LEAST_LENGTH * edges.max(initial=1.0))
    joined = csr_array((edges, graph.indices.astype(np.int32), graph.indptr), shape=(len(graph),) * 2)

    def tree(root: int) -> tuple[Array, npt.NDArray[np.int32]]:
        found: tuple[Array, npt.NDArray[np.int32]] = dijkstra(
            joined, directed=False, indices=root, return_predecessors=True
        )
        return found

    inside = graph.component_labels == np.bincount(graph.component_labels).argmax()
    first = _farthest(tree(int(inside.argmax()))[0])
    lengths, before = tree(first)
    last = point = _farthest(lengths)
    while lengths[point] > lengths[last] / 2:
        point = int(before[point])
    lengths, before = tree(point)
    leaves = np.setdiff1d(np.flatnonzero(inside), before[inside])
    return point, leaves, lengths[leaves]


def _farthest(lengths: Array) -> int:
    return int(np.where(np.isfinite(lengths), lengths, -1.0).argmax())
