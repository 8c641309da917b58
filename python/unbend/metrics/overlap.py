"""Parts of an embedding that lie on each other: the overlap of Goldberg & Ritov (2009), section 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from .. import _core
from ..core.arrays import as_count, thread_count
from ..graph.neighbors import Neighborhoods, resolve
from .sampling import HALF_WIDTH, Array, Centers, NCenters, Sampling, checked, pair, standard_error
from .table import scoring

# Default number of steps up to which points count as near. With fewer, noise across a surface separates near
# points: on a roll of 20,000 points with noise 0.6 and 12 neighbors the true coordinates score 0.09 with 3
# steps and 0.01 with 4. With more, layers are missed where a surface is only some steps wide.
OVERLAP_STEPS = 4

# Overlap above which an embedding is said to lie on itself. With 12 neighbors the true coordinates of a roll
# stay far below it, even with noise 0.6; two layers on a tenth of the data reach it.
OVERLAPPING = 0.05

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class LazyOverlap:
    """Overlap of an embedding, computed at the first access: it takes longer than all other measures."""

    y: Any
    neighborhoods: Neighborhoods
    steps: int
    centers: Centers
    n_jobs: int | None

    @property
    def computed(self) -> bool:
        """True if the overlap was computed already."""
        return "shares" in self.__dict__

    @cached_property
    def shares(self) -> Array:
        """Overlap of each measured point."""
        threads = thread_count(self.n_jobs)
        return _core.overlap(self.y, self.neighborhoods.core, self.steps, self.centers, threads)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; 0, without computing it, if all points are measured."""
        share = 1.0 if self.centers is None else len(self.centers) / len(self.y)
        return 0.0 if share == 1 else standard_error(self.shares, share)


class WithOverlap(Mapping[str, Value], Generic[Value]):
    """Values by name, and "overlap", which is computed at the first access."""

    def __init__(self, known: Mapping[str, Value], overlap: LazyOverlap, attribute: str) -> None:
        self.known: dict[str, Value] = dict(known.known if isinstance(known, WithOverlap) else known)
        self._overlap, self._attribute = overlap, attribute

    def __getitem__(self, name: str) -> Value:
        if name == "overlap":
            value: Value = getattr(self._overlap, self._attribute)
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
        overlap = repr(self["overlap"]) if self._overlap.computed else "<computed when you read it>"
        entries = [f"{name!r}: {value!r}" for name, value in self.known.items()]
        return "{" + ", ".join([*entries, f"'overlap': {overlap}"]) + "}"


@scoring(0.0, 0.455)
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
    """Return the share of nearest points in an embedding that are far apart in the data (section 6).

    For each point, the share of its nearest points in Y that are more than `steps` steps away on the
    undirected neighborhood graph, or in another component: in [0, 1]. 0 is perfect, and two layers on each
    other score 1/2. The number of nearest points is that of neighbors in the graph (the rounded mean if sizes
    differ), or that of other points in the component. Invariant under rotation, translation and scaling of X
    and Y.

    Cost: little more than the neighbors in Y if Y is faithful, about 12 times as much if it is random.
    Memory: O(n k).

    Parameters
    ----------
    X : array-like of shape (n, q) or None
        Input data; None if `neighborhoods` are given.
    steps : int, default 4
        Number of steps up to which points count as near. Noise needs 3 or 4; with many steps thin layers are
        missed.
    """
    if X is None and neighborhoods is None:
        raise ValueError("give X, or the neighborhoods of its points as neighborhoods=")
    sampling = Sampling(n_centers, half_width, random_state=random_state, n_jobs=n_jobs)
    far = as_count(steps, "steps")
    x, y = (None, checked(Y, "Y")) if X is None else pair(X, Y, narrower=False)
    graph = resolve(x, neighborhoods, n_neighbors, radius, n_jobs).core
    return sampling.over_points(
        len(y), lambda centers: _core.overlap(y, graph, far, centers, sampling.threads), per_point
    )
