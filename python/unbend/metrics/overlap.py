"""What lies on what is far away: the overlap of Goldberg & Ritov (2009), section 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from .. import _core
from ..core.arrays import as_count, as_points, thread_count
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import HALF_WIDTH, Array, Centers, NCenters, sampled, standard_error

__all__ = ["OVERLAPPING", "OVERLAP_STEPS", "overlap"]

# With fewer, noise across a surface makes points distant that are near in the truth: on a roll of 20,000
# points with noise 0.6 and 12 neighbours the true coordinates score 0.09 with 3 steps and 0.01 with 4. With
# more, layers are overlooked where a surface is only some steps wide.
OVERLAP_STEPS = 4

# The overlap above which distant points are said to lie on each other. With 12 neighbours the true
# coordinates of a roll stay far below it, even with noise 0.6; two layers on a tenth of the data reach it.
OVERLAPPING = 0.05

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class _Overlap:
    """Finds how much lies on what is far away, when somebody looks: it takes longer than all the rest.

    A copy or a file holds what it is found from, which a fitted estimator holds as well.
    """

    y: Any
    neighborhoods: Neighborhoods
    steps: int
    centers: Centers
    n_jobs: int | None

    @cached_property
    def shares(self) -> Array:
        threads = thread_count(self.n_jobs)
        return _core.overlap(self.y, self.neighborhoods._graph, self.steps, self.centers, threads)

    @property
    def standard_error(self) -> float:
        # Without a sample the mean is exact, and nobody needs to look.
        share = 1.0 if self.centers is None else len(self.centers) / len(self.y)
        return 0.0 if share == 1 else standard_error(self.shares, share)


class _WithOverlap(Mapping[str, Value], Generic[Value]):
    """What is known, and "overlap", which is found at the first look at its value."""

    def __init__(self, known: Mapping[str, Value], found: _Overlap, name: str) -> None:
        self.known: dict[str, Value] = dict(known.known if isinstance(known, _WithOverlap) else known)
        self._found, self._name = found, name

    def __getitem__(self, name: str) -> Value:
        if name == "overlap":
            value: Value = getattr(self._found, self._name)
            return value
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.known
        yield "overlap"

    def __len__(self) -> int:
        return len(self.known) + 1

    def __contains__(self, name: object) -> bool:
        return name == "overlap" or name in self.known

    def __repr__(self) -> str:
        return repr({**self.known, "overlap": ...})


def overlap(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    radius: float | None = None,
    neighborhoods: Neighborhoods | None = None,
    steps: int = OVERLAP_STEPS,
    per_point: bool = False,
    n_centers: NCenters = None,
    half_width: float = HALF_WIDTH,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Return how much of an embedding lies on what is far away in the data (section 6).

    For each point, the share of its nearest points in Y that are more than `steps` steps away on the
    undirected neighbourhood graph, or in another component: in [0, 1], 0 is perfect, and 1/2 is what two
    layers on each other score. As many are looked at as the graph has neighbours (the rounded mean if sizes
    differ), or as the component has others. Invariant under rotation, translation and scaling of X and Y.

    Cost: where Y is faithful little more than that of the neighbours in Y, at random about 12 times as much.
    Memory: O(n k).

    Parameters
    ----------
    X : array-like of shape (n, q) or None
        The data; None if `neighborhoods` are given.
    Y : array-like of shape (n, d)
        Their embedding, from any tool.
    n_neighbors, radius, neighborhoods, n_centers, half_width, random_state, n_jobs
        As for :func:`faithfulness`.
    steps : int, default 4
        How many steps are not yet far. Noise needs 3 or 4, and many steps overlook thin layers.
    per_point : bool, default False
        Return the share of every point instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n,)

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> ub.metrics.overlap(X, coordinates)
    0.0
    >>> ub.metrics.overlap(X, X[:, :2]) > 0.4  # the roll seen from its side
    True
    """
    y, far = as_points(Y, "Y"), as_count(steps, "steps")
    if X is None and neighborhoods is None:
        raise ValueError("give X, or the neighbourhoods of its points as neighborhoods=")
    x = None if X is None else as_points(X, "X")
    if x is not None and len(x) != len(y):
        raise ValueError(f"X has {len(x)} rows, but Y has {len(y)}")
    graph, threads = resolve(x, neighborhoods, n_neighbors, radius, n_jobs)._graph, thread_count(n_jobs)

    def measure(centers: Centers) -> Array:
        return _core.overlap(y, graph, far, centers, threads)

    _, shares = sampled(len(y), n_centers, half_width, random_state, measure, lambda shares: [shares])
    return shares if per_point else float(shares.mean())
