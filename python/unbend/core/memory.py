"""What a fit needs in memory, and what the machine has."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "CellsPlan",
    "LinearPlan",
    "PathsPlan",
    "Plan",
    "SpectralPlan",
    "Stages",
    "allowed",
    "available",
    "check",
]

REAL, INDEX, POINTER = 8, 4, 8
"""Bytes of a float64, a u32 and an i64."""

SEARCH_COPIES = 1
"""How many times the search for neighbours holds the points again."""

NARROW, WIDE = 4, 16
"""Up to the first dimension the search is always by tree, beyond the second never."""

MANY = 50_000
"""So many points are renumbered before they are embedded, if they are not wide."""

CANDIDATE, SPARE_CANDIDATES, TILES = 16, 18, 10**7
"""What the search by products holds: bytes of a candidate, how many more than asked for, its tiles."""

LONG, PROJECTED, DIRECTIONS = 1e12, 160, 128
"""Where n^2 (q + 64) is more than the first, the search may be approximate; beyond the second dimension it
then compares so many."""

START_BYTES = 28
"""What one greedy start keeps for each point besides its embedding and frames: its queue and its counts."""

FEW_DIRECTIONS, MOST_NUMBERS = 4, 2**27
"""While tangents have no more directions, or hold no more numbers, their directions are kept."""

EVERYWHERE, AVERAGED, NET_AT_ONCE = 64, 8, 2**24
"""Tangents from more neighbours are found at fewer points, some of them are averaged at every point, and so
many of their neighbours are listed at once."""

MUTUAL = 1.2
"""Neighbours of a point in the undirected graph, for each one listed: measured."""

EDGE_BYTES = 20
"""What sorting the edges of a tree takes for each, in both directions together."""

CUT_ROOTS, CELL_BYTES = 8, 120
"""From how many roots points are laid down, and what finding overlap takes for each: measured."""

MULTIGRID_BYTES = 165
"""What multigrid keeps for each point: measured for 12 neighbours."""

LANES = 4
"""Kept neighbourhoods are padded to a multiple of so many points."""

UNRETURNED = 1.15
"""What was freed and is not given back yet, on average: measured."""

SINGLE = 4
"""Bytes of a float32."""

PATH_EDGES = 0.65
"""Entries of the undirected graph for each neighbour listed, half of them: measured."""

LANCZOS_VECTORS, SCALED_AT_ONCE = 40, 2**23
"""What Lanczos' method keeps, and how many distances to landmarks are looked at together."""

REFINE_VECTORS = 12
"""Arrays of the embedding's shape that refinement holds: its start, its best, where the last step led, and
the solver's own."""

FAITHFULNESS_FIELDS = 8
"""Numbers of the measures for each point."""

HALO, RIM = 1.35, 10
"""Points that a cell holds, for each of its own, and for small cells how wide the halo is, in points: as
planned for."""

IMPORTED = 350 * 10**6
"""What Python takes with all that is imported, and a block of rows under way: measured."""

CGROUPS = Path("/sys/fs/cgroup")
UNLIMITED = 2**60


class Stages:
    """What a fit holds in memory, stage after stage."""

    def stages(self) -> dict[str, dict[str, int]]:
        """Return what each stage holds, in bytes by name, with what stays from those before."""
        raise NotImplementedError

    def peak(self) -> int:
        """Return the bytes that the fit holds at most, besides its input."""
        return int(UNRETURNED * max(sum(parts.values()) for parts in self.stages().values()))


@dataclass(frozen=True)
class Plan(Stages):
    """The sizes of a fit, from which its memory follows.

    Attributes
    ----------
    n, q, d, k : int
        Points, their dimension, that of the embedding, neighbours of each point.
    itemsize : int
        Bytes of an entry of the data.
    tangents : int or None
        From how many neighbours tangents are found, where it is known that they are not those of the graph.
    aligned : bool
        Whether tangents are aligned; if not, neighbourhoods are joined greedily.
    starts : int
        How many embeddings are made.
    threads : int
        How many of them at once.
    refined : bool
        Whether the embedding is refined.
    searched : bool
        Whether neighbours are searched for; False if they are given.
    cut : bool
        Whether data that cannot lie flat are cut.

    Examples
    --------
    >>> plan = Plan(n=1_000_000, q=3, d=2, k=12)
    >>> sorted(plan.stages())
    ['faithfulness', 'greedy', 'neighbours', 'refine']
    >>> plan.peak() >= max(sum(parts.values()) for parts in plan.stages().values())
    True
    """

    n: int
    q: int
    d: int
    k: int
    itemsize: int = REAL
    tangents: int | None = None
    aligned: bool = False
    starts: int = 1
    threads: int = 1
    refined: bool = True
    searched: bool = True
    cut: bool = False

    def stages(self) -> dict[str, dict[str, int]]:
        """Return what each stage holds, in bytes by name, with what stays from those before."""
        stages = {"neighbours": self._neighbours()} if self.searched else {}
        stages |= self._between()
        stages["faithfulness"] = self._graph() | self._embedding() | self._measures()
        return stages

    def _between(self) -> dict[str, dict[str, int]]:
        """Return the stages from the graph to the embedding."""
        return {name: held | self._renumbered() for name, held in self._embedded().items()}

    def _renumbered(self) -> dict[str, int]:
        if not is_renumbered(self.n, self.q):
            return {}
        copies = {"graph in another order": INDEX * self.n * (self.k + 1)}
        return copies | {"points in another order": self.n * self.q * self.itemsize}

    def _embedded(self) -> dict[str, dict[str, int]]:
        stages = {}
        if self.tangents is not None:
            stages["tangents"] = self._graph() | self._net() | self._search_for_net(self.tangents)
        if self.aligned:
            known = self._graph() | self._kept_net() | self._tangents() | self._connection()
            stages["alignment"] = known | self._tree()
            stages["assembly"] = known | self._embedding() | self._assembly()
        else:
            stages["greedy"] = self._graph() | self._kept_net() | self._tangents() | self._starts()
        if self.refined:
            stages["refine"] = self._graph() | self._embedding() | self._refine() | self._multigrid()
        if self.cut:
            laid = (
                self._graph() | self._kept_net() | self._tangents() | self._connection() | self._embedding()
            )
            stages["cut, points laid down"] = laid | self._laid()
            stages["cut, sheet fitted"] = laid | self._fitted()
        return stages

    def _lists(self, k: int) -> int:
        return (INDEX + REAL) * self.n * k

    def _graph(self) -> dict[str, int]:
        return {"neighbours": self._lists(self.k)} if self.searched else {}

    def _net(self) -> dict[str, int]:
        """Tangents at the points of the net, and for every point its nearest there."""
        points = min(self.n, self.n * EVERYWHERE // max(self.tangents or 1, 1) + AVERAGED)
        return {
            "tangents of the net": REAL * points * self.q * self.d,
            "nearest of the net": INDEX * self.n * AVERAGED,
        }

    def _kept_net(self) -> dict[str, int]:
        return {} if self.tangents is None else self._net()

    def _search_for_net(self, k: int) -> dict[str, int]:
        found = min(NET_AT_ONCE, self.n * min(k, EVERYWHERE))
        return {
            "neighbours of the net": (INDEX + REAL) * max(found, self.n * AVERAGED),
            "points in the tree": 0 if self.q > WIDE else SEARCH_COPIES * self.n * self.q * self.itemsize,
        }

    def _connection(self) -> dict[str, int]:
        edges = int(MUTUAL * self.n * self.k)
        return {
            "undirected graph": POINTER * self.n + INDEX * edges,
            "products of tangents": (REAL * self.d**2 + 1) * edges,
            "frames": 2 * REAL * self.n * self.d**2,
        }

    def _tree(self) -> dict[str, int]:
        return {"edges of the tree": EDGE_BYTES * int(MUTUAL * self.n * self.k) + REAL * self.n}

    def _laid(self) -> dict[str, int]:
        edges = int(MUTUAL * self.n * self.k)
        under_way = min(CUT_ROOTS, max(self.threads, 1))
        return {
            "steps along edges": REAL * (self.d + 1) * edges,
            "laid from each root": REAL * self.n * self.d * CUT_ROOTS,
            "under way": under_way * self.n * (REAL * (self.d**2 + 4) + CELL_BYTES),
        }

    def _fitted(self) -> dict[str, int]:
        sheet = {"sheet": (INDEX + 2) * self.n * self.k + POINTER * self.n}
        return sheet | self._assembly()

    def _assembly(self) -> dict[str, int]:
        refine = self._refine()
        # The targets are summed before the system is solved.
        most = max(refine.pop("targets of neighbourhoods"), refine.pop("vectors"))
        return refine | self._multigrid() | {"targets, then vectors": most}

    def _multigrid(self) -> dict[str, int]:
        return {"multigrid": MULTIGRID_BYTES * self.n}

    def _neighbours(self) -> dict[str, int]:
        k = self.k
        candidates = CANDIDATE * (k + SPARE_CANDIDATES) * self.n + TILES if self.q > NARROW else 0
        along = self.q > PROJECTED and self.n**2 * (self.q + 64) > LONG
        return {
            "candidates": candidates,
            "points along directions": SINGLE * self.n * DIRECTIONS if along else 0,
            "all neighbours": self._lists(k),
            "points in the tree": 0 if self.q > WIDE else SEARCH_COPIES * self.n * self.q * self.itemsize,
            "order in the tree": INDEX * self.n,
        }

    def _tangents(self) -> dict[str, int]:
        # The core keeps the directions while they are few, then the neighbourhoods along them.
        few = self.d <= FEW_DIRECTIONS or self.n * self.q * self.d <= MOST_NUMBERS
        kept = self.q if self.q <= self.k + 1 or few else self.k + 1
        return {"tangents": REAL * self.n * kept * self.d}

    def _starts(self) -> dict[str, int]:
        measures = FAITHFULNESS_FIELDS * REAL * self.n if self.starts > 1 else 0
        under_way = min(self.starts, self.threads)
        return {
            "reversed neighbours": POINTER * self.n + INDEX * self.n * self.k,
            "starts": self.starts * self.n * REAL * self.d,
            "starts under way": under_way * self.n * (REAL * self.d**2 + START_BYTES),
            "measures of a start": measures,
            "labels": INDEX * self.n,
        }

    def _embedding(self) -> dict[str, int]:
        return {"embedding": REAL * self.n * self.d, "labels": INDEX * self.n}

    def _refine(self) -> dict[str, int]:
        places = self.n * (self.k + 1)
        # Wide neighbourhoods are held in as few coordinates as their points span.
        padded = -(-(self.k + 1) // LANES) * LANES
        shapes = REAL * places * padded if self.q > self.k + 1 else 0
        return {
            "reversed neighbours": POINTER * self.n + INDEX * self.n * self.k,
            "places in neighbourhoods": INDEX * places,
            "targets of neighbourhoods": REAL * places * self.d,
            "weights": 2 * REAL * self.n,
            "shapes": shapes,
            "vectors": REFINE_VECTORS * REAL * self.n * self.d,
        }

    def _measures(self) -> dict[str, int]:
        return {
            "embedding before it was laid out": REAL * self.n * self.d,
            "measures": FAITHFULNESS_FIELDS * REAL * self.n,
            "centers": INDEX * self.n,
        }


def is_renumbered(n: int, q: int) -> bool:
    """Return whether points are embedded in another order than that they came in.

    Examples
    --------
    >>> is_renumbered(1_000_000, 3), is_renumbered(1_000_000, 784), is_renumbered(1000, 3)
    (True, False, False)
    """
    return n >= MANY and q <= WIDE


def with_halo(points: int) -> int:
    """Return how many points a cell is planned to hold.

    Examples
    --------
    >>> with_halo(200_000), with_halo(2_000)
    (270000, 3443)
    """
    return int(points * max(HALO, 1.15 * (1 + RIM / points**0.5) ** 2))


@dataclass(frozen=True)
class CellsPlan(Plan):
    """The sizes of a fit in cells: one of them at a time, and the neighbours of all points.

    Attributes
    ----------
    points : int
        Of a cell, without its halo.

    Examples
    --------
    >>> sizes = {"n": 1_000_000, "q": 3, "d": 2, "k": 12, "aligned": True}
    >>> CellsPlan(**sizes, points=50_000).peak() < 0.5 * Plan(**sizes).peak()
    True
    """

    points: int = 1

    def _between(self) -> dict[str, dict[str, int]]:
        return {"cells": self._graph() | self._embedding() | {"a cell": self.cell_bytes()}}

    def cell_bytes(self) -> int:
        """Return what is held while a cell is embedded with its halo."""
        held = with_halo(self.points)
        sizes = {name: value for name, value in vars(self).items() if name != "points"}
        stages = Plan(**(sizes | {"n": held, "searched": True})).stages().values()
        kept = 3 * self.q * self.itemsize + 4 * REAL * self.d + INDEX * (self.k + 6)
        return max(sum(parts.values()) for parts in stages) + held * kept


@dataclass(frozen=True)
class PathsPlan(Plan):
    """The sizes of a fit that goes along shortest paths.

    Attributes
    ----------
    landmarks : int or None
        From how many points paths are found and kept; from all, until they are scaled, if None.

    Examples
    --------
    >>> PathsPlan(n=10_000, q=3, d=2, k=12).peak() > 2 * 10_000**2
    True
    """

    landmarks: int | None = None

    def _between(self) -> dict[str, dict[str, int]]:
        known = self._graph() | self._edges()
        return {
            "paths": known | self._distances(),
            "scaling": known | self._distances() | self._embedding() | self._vectors(),
        }

    def _edges(self) -> dict[str, int]:
        entries = int(2 * PATH_EDGES * self.n * self.k)
        # Twice while it is made; then for each thread what is known of a path to each point.
        return {"edges with lengths": 2 * (INDEX + REAL) * entries, "paths under way": 200 * self.n}

    def _distances(self) -> dict[str, int]:
        if self.landmarks is None:
            return {"distances": SINGLE * self.n * (self.n - 1) // 2}
        return {"distances": SINGLE * self.n * self.landmarks}

    def _vectors(self) -> dict[str, int]:
        if self.landmarks is None:
            return {"vectors": LANCZOS_VECTORS * REAL * self.n}
        block = min(SCALED_AT_ONCE, self.n * self.landmarks) * (REAL + SINGLE)
        return {"distances between landmarks": 4 * REAL * self.landmarks**2, "block of distances": block}


@dataclass(frozen=True)
class SpectralPlan(Plan):
    """The sizes of a fit that ends with the eigenvectors of a sparse matrix.

    What the factor of the matrix takes is not known before: the solver looks for it, and does without if it
    does not fit.

    Examples
    --------
    >>> SpectralPlan(n=100_000, q=3, d=2, k=12).peak() > 50e6
    True
    """

    def _between(self) -> dict[str, dict[str, int]]:
        # Half of the points of neighbours' neighbourhoods are beyond one's own.
        entries = 3 * self.n * (self.k + 1)
        held = {"weights": REAL * self.d * self.n * (self.k + 1), "matrix": (REAL + INDEX) * entries}
        vectors = {"vectors": 8 * (self.d + 8) * REAL * self.n}
        return {
            "matrix": self._graph() | held,
            "eigenvectors": self._graph() | held | vectors,
        }


@dataclass(frozen=True)
class LinearPlan(Stages):
    """The sizes of a fit that needs no neighbours.

    Attributes
    ----------
    n, q, d : int
        Points, their dimension, that of the embedding.
    square : int
        Entries of the matrices that are decomposed.
    copied : int
        Entries of the data that are copied at once.

    Examples
    --------
    >>> LinearPlan(n=1_000_000, q=3, d=2, square=9, copied=100_000).peak() < 1e8
    True
    """

    n: int
    q: int
    d: int
    square: int
    copied: int

    def stages(self) -> dict[str, dict[str, int]]:
        """Return what each stage holds, in bytes by name."""
        block = {"block of data": 3 * REAL * self.copied, "map": REAL * self.q * self.d}
        return {
            "axes": block | {"decomposed": 4 * REAL * self.square},
            "projection": block | {"embedding": REAL * self.n * self.d},
        }


def check(needed: int, max_memory: float | None = None) -> None:
    """Refuse a fit that does not fit.

    Parameters
    ----------
    needed : int
        Bytes.
    max_memory : float, optional
        How many bytes may be used; by default what the machine has available, if it says so.

    Raises
    ------
    MemoryError
        If `needed` is more than that.

    Examples
    --------
    >>> check(3 * 10**9, max_memory=2**30)
    Traceback (most recent call last):
    MemoryError: the fit needs about 3.0 GB, but max_memory = 1073741824 allows 1.1 GB
    """
    if max_memory is not None:
        allowed, words = _as_bytes(max_memory), f"max_memory = {max_memory} allows"
    else:
        found = available()
        if found is None:
            return
        allowed, words = found, "the machine has"
    if needed > allowed:
        left = "" if max_memory is not None else " available (max_memory sets another limit)"
        raise MemoryError(f"the fit needs about {readable(needed)}, but {words} {readable(allowed)}{left}")


def allowed(max_memory: float | None = None) -> int | None:
    """Return how many bytes may be used: those given, else what the machine has; None if it does not tell.

    Examples
    --------
    >>> allowed(2e9)
    2000000000
    """
    return available() if max_memory is None else _as_bytes(max_memory)


def _as_bytes(max_memory: float) -> int:
    if isinstance(max_memory, bool | str) or not max_memory > 0:
        raise ValueError(f"max_memory = {max_memory!r} is not a number of bytes: it must be above 0")
    return UNLIMITED if max_memory > UNLIMITED else int(max_memory)


def give_back() -> None:
    """Give what is free back to the system, where the C library would keep it for later.

    Examples
    --------
    >>> give_back()
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def readable(size: int) -> str:
    """Write a number of bytes in the unit that suits it.

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


def available() -> int | None:
    """Return the bytes that a new computation can have, None if the machine does not tell.

    The least of what Linux calls available and what the control groups of the process leave; elsewhere
    the memory built in.

    Examples
    --------
    >>> available() is None or available() > 0
    True
    """
    known = [size for size in (_meminfo(), *_control_groups()) if size is not None]
    return min(known) if known else _built_in()


def _meminfo(path: Path = Path("/proc/meminfo")) -> int | None:
    for line in _lines(path):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _control_groups(root: Path = CGROUPS, membership: Path = Path("/proc/self/cgroup")) -> list[int]:
    """Return what each limit above the process leaves: its own group's and those of all groups around."""
    left = []
    for line in _lines(membership):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            base, names = root, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        inside = base / group.strip("/")
        for folder in (inside, *inside.parents):
            left += _room(folder, *names)
            if folder == base:
                break
    return left


def _room(folder: Path, limit: str, usage: str) -> list[int]:
    most, used = _number(folder / limit), _number(folder / usage)
    if most is None or used is None or most >= UNLIMITED:
        return []
    # Pages of files that nobody holds are given up when memory is needed.
    return [max(0, most - used + _inactive_files(folder / "memory.stat"))]


def _inactive_files(path: Path) -> int:
    stat = dict(line.split()[:2] for line in _lines(path))
    return int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _built_in() -> int | None:
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return None
