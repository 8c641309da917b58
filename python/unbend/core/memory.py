"""Estimates of the memory that a fit needs, and the check that it is allowed.

The estimate of an algorithm is a sum of terms, such as the number of neighbor entries, times bytes per unit.
`benches/python/fit_memory.py` measures the peaks of real fits and prints these coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from .. import _core
from .machine import UNLIMITED, available, give_back

__all__ = [
    "COEFFICIENTS",
    "IMPORTED",
    "MAX_PRUNED_POINTS",
    "POINTS_IN_GEODESICS",
    "Sizes",
    "allowed",
    "available",
    "cell_peak",
    "check",
    "give_back",
    "peak",
    "readable",
    "shortage",
    "terms",
    "with_halo",
]

# fmt: off
COEFFICIENTS: dict[str, dict[str, float]] = {
    "greedy": {"searched neighbor": 15.0, "refined coordinate": 220.0, "tangent entry": 8.0,
        "shape entry": 8.7, "pruned point": 770.0, "tangent neighbor": 7.0, "start": 12.0, "cut axis": 550.0,
        "cut coordinate": 120.0, "pair of sampled points": 33.0, "bound neighbor": 30.0,
        "grouped entry": 16.0, "term": 300.0, "measured distance": 100.0},
    "alignment": {"point": 540.0, "pruned point": 320.0, "tangent entry": 11.0, "shape entry": 13.0,
        "pair of axes": 6.9, "tangent neighbor": 1.0, "scaled distance": 195.0, "cut axis": 660.0,
        "cut coordinate": 28.0, "pair of sampled points": 33.0, "bound neighbor": 30.0, "grouped entry": 16.0,
        "term": 300.0, "measured distance": 100.0},
    "isomap": {"neighbor": 41.0, "pair of points": 2.7, "landmark distance": 4.3, "pair of landmarks": 5.7,
        "distance in a block": 26.0},
    "normalized": {"factor entry": 13.0},
    "laplacian": {"neighbor": 84.0, "factor entry": 3.8},
    "linear": {"coordinate": 8.9, "entry in a block": 21.0, "axis entry": 27.0, "pair of axis entries": 31.0},
    "projection": {"coordinate": 9.6, "entry in a block": 38.0, "map entry": 6.2},
    "graph scaling": {"point": 5100.0, "neighbor": 190.0, "point in patches": 12000.0,
        "measured distance": 100.0},
    "scaling": {"point": 82.0, "entry in a block": 22.0, "pair of landmarks": 6.5},
}
# fmt: on
"""Bytes per unit of each term of an algorithm's formula, as `benches/python/fit_memory.py` prints them."""

IMPORTED = 350 * 10**6
"""Bytes that Python takes with all imports of unbend and one block of rows in progress (measured)."""

SMALLEST_PEAK = 2**14
"""Bytes that every fit is estimated to need, however few its points are."""

PLANNED_LISTED_NEIGHBORS = 2**22
"""Neighbors listed for tangents are planned up to this number while the size of their neighborhoods is unknown."""

ENTRIES_PER_BLOCK, DISTANCES_PER_BLOCK = 2**21, 2**23
"""Linear estimators read this many entries of the input data at a time; Isomap, distances to landmarks."""

POINTS_IN_PATCHES = 6_500
"""Patches of this number of points are embedded at a time, about."""

MAX_PRUNED_POINTS = 20_000
"""Up to this number of points an embedding is compared with a graph without short circuits as well."""

POINTS_IN_GEODESICS = 2_000
"""Geodesic distances of all pairs are embedded up to this number of points, where other candidates fail; of more,
those of a sample."""

CELL_OVERHEAD = 1.25
"""A fit in cells holds this many times the memory of one cell, besides its graph and embedding (measured)."""

LARGE_CELL_SHARE, HALO_WIDTH = 1.35, 10
"""A large cell with its halo holds this many times its own points; a small one's halo is this many wide."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of a fit that determine its memory."""

    n: int  # Number of points.
    q: int  # Dimension of the points.
    d: int  # Dimension of the embedding.
    k: int = 0  # Number of neighbors per point; 0 without a graph.
    itemsize: int = 8  # Bytes per entry of the input data.
    tangents: int | None = None  # Neighbors that tangents come from; None if the fit chooses their number.
    starts: int = 1  # Number of embeddings that the greedy algorithm makes.
    threads: int = 1
    refined: bool = True
    searched: bool = True  # True if neighbors are searched for.
    cut: bool = False
    candidates: bool = False  # True if other embeddings are tried as well.
    include_self: bool = True  # True if a point belongs to its own neighborhood.
    landmarks: int | None = None  # None if all points are.
    points_per_cell: int | None = None  # Without the halo; None for no cells.
    bound: bool = False  # True if there are ties or fixed points.
    grouped: bool = False  # True if the points are copied, to set groups apart.
    conformal: bool = False  # True if the distances of neighborhoods are divided by scales.
    measured: int = 0  # Number of measured distances, in both directions, of fits from distances.
    terms: int = 0  # Number of terms of ties and of fixed points that may give way.

    def __post_init__(self) -> None:
        # Products of small NumPy integers such as np.int8 overflow; those of int do not.
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not isinstance(value, bool):
                object.__setattr__(self, field.name, int(value))


def peak(algorithm: str, sizes: Sizes) -> int:
    """Estimate the most bytes that a fit holds at a time, besides its input data.

    The algorithm is a key of `COEFFICIENTS`.

    Examples
    --------
    >>> sizes = Sizes(n=1_000_000, q=3, d=2, k=12)
    >>> 0.8e9 < peak("alignment", sizes) < 1e9
    True
    >>> peak("alignment", replace(sizes, points_per_cell=50_000)) < 0.5 * peak("alignment", sizes)
    True
    """
    if sizes.points_per_cell is not None:
        graph_and_embedding = sizes.n * (12 * sizes.k + 8 * sizes.d + 4)
        cell = cell_peak(algorithm, sizes, with_halo(sizes.points_per_cell))
        return graph_and_embedding + int(CELL_OVERHEAD * cell)
    counts = terms(sizes)
    return SMALLEST_PEAK + int(sum(size * counts[name] for name, size in COEFFICIENTS[algorithm].items()))


def terms(sizes: Sizes) -> dict[str, float]:
    """Return the number of units of every term that a formula can have."""
    s, n, q, d, k = sizes, sizes.n, sizes.q, sizes.d, sizes.k
    # Pruning, and neighborhoods without their own point, need bases of wide data as well.
    has_bases = d <= _core.MAX_DIM_WITH_BASES or n * q * d <= _core.MAX_BASES_ENTRIES
    has_bases = has_bases or s.candidates or not s.include_self
    tangents = n * d * (q if has_bases else min(q, k + 1))
    # Wide neighborhoods are stored in coordinates of their own.
    shapes = n * (k + 1) ** 2 if q > k + 1 else 0
    # Tangents of noisy data need more than k neighbors. If their number is not known, some are planned for.
    most = _core.MAX_LISTED_NEIGHBORS if s.tangents else PLANNED_LISTED_NEIGHBORS
    listed = min(n * min(s.tangents or 32, _core.FULL_NET_NEIGHBORS), most) * (s.tangents != k)
    # A running start holds four times as much as a finished one; refinement holds more than the running ones.
    running = 0 if s.refined else 4 * min(s.starts, s.threads)
    landmarks = 0 if s.landmarks is None or s.landmarks >= n else s.landmarks
    return {
        "point": n,
        "pruned point": n * (n <= MAX_PRUNED_POINTS),
        "point in patches": min(n, POINTS_IN_PATCHES),
        "neighbor": n * k,
        "searched neighbor": n * k * s.searched,
        "tangent neighbor": listed,
        "tangent entry": tangents,
        "shape entry": shapes,
        "pair of axes": n * k * d**2,
        "start": n * d * (s.starts + running),
        "coordinate": n * d,
        "refined coordinate": n * d * s.refined,
        "bound neighbor": n * k * s.bound,
        "grouped entry": n * q * s.grouped,
        "term": s.terms,
        "measured distance": s.measured,
        # In d dimensions, this many pairs share a neighborhood (measured for d = 2 and 3).
        "scaled distance": n * k * (d + 1) * s.conformal,
        "cut axis": n**0.8 * k * d * s.cut,  # The measured share of a cut falls with n.
        "cut coordinate": n * d * min(s.threads, _core.MAX_ROOTS) * s.cut,
        # A fit that cuts also tries other embeddings, the last of them of the geodesic distances of a sample.
        "pair of sampled points": min(n, POINTS_IN_GEODESICS) ** 2 * (s.cut or s.candidates),
        "factor entry": n * k * d * math.log2(n + 1),
        "pair of points": 0 if landmarks else n**2,
        "pair of landmarks": landmarks**2,
        "landmark distance": n * landmarks,
        "distance in a block": min(n * landmarks, DISTANCES_PER_BLOCK),
        "entry in a block": min(n * q, ENTRIES_PER_BLOCK),
        "map entry": q * d,
        "axis entry": q * min(n, q),
        "pair of axis entries": min(n, q) ** 2,
    }


def cell_peak(algorithm: str, sizes: Sizes, points: int) -> int:
    """Estimate the most bytes that the fit of one cell holds, which has this many points with its halo."""
    cell = replace(sizes, n=points, points_per_cell=None)
    per_point = 3 * sizes.q * sizes.itemsize + 32 * sizes.d + 4 * (sizes.k + 6)
    return peak(algorithm, cell) + cell.n * per_point


def with_halo(points: int) -> int:
    """Return the number of points that a cell is expected to hold with its halo.

    Examples
    --------
    >>> with_halo(200_000), with_halo(2_000)
    (270000, 3443)
    """
    return int(points * max(LARGE_CELL_SHARE, 1.15 * (1 + HALO_WIDTH / points**0.5) ** 2))


def check(needed: int, max_memory: float | None = None) -> None:
    """Refuse a fit that needs more bytes than allowed.

    Examples
    --------
    >>> check(3 * 10**9, max_memory=1.1e9)
    Traceback (most recent call last):
    MemoryError: The fit needs about 3.0 GB, but max_memory is 1.1 GB. Raise max_memory or fit fewer points.
    """
    if reason := shortage(needed, max_memory):
        verb = "Set" if max_memory is None else "Raise"
        raise MemoryError(f"The fit {reason}. {verb} max_memory or fit fewer points.")


def shortage(needed: int, max_memory: float | None = None) -> str:
    """Return the end of a sentence that says that memory is short, or "" if it is not."""
    limit = allowed(max_memory)
    if limit is None or needed <= limit:
        return ""
    found = f"{readable(limit)} are available" if max_memory is None else f"max_memory is {readable(limit)}"
    return f"needs about {readable(needed)}, but {found}"


def allowed(max_memory: float | None = None) -> int | None:
    """Return the bytes that a fit may hold: `max_memory`, or the available memory, or None if it is unknown."""
    if max_memory is None:
        return available()
    if isinstance(max_memory, bool | str) or not max_memory > 0:
        raise ValueError(f"max_memory = {max_memory!r} is not a number of bytes above 0")
    return UNLIMITED if max_memory > UNLIMITED else int(max_memory)


def readable(size: float) -> str:
    """Write a number of bytes in a unit that suits it.

    Examples
    --------
    >>> readable(1_530_000_000), readable(800)
    ('1.5 GB', '800 bytes')
    """
    if size < 1000:
        return f"{size} bytes"
    value, units = float(size), iter(("kB", "MB", "GB", "TB", "PB", "EB"))
    unit = ""
    while value >= 999.95:
        value, unit = value / 1000, next(units)
    return f"{value:.1f} {unit}"
