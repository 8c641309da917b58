"""A partition from beginning to end: its stages, and the earlier results that their tasks need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core import memory
from ..core.arrays import Matrix
from ..core.caller import warn
from ..core.progress import Progress
from . import cells, scatter
from . import gather as gathering
from .align import Overlaps, align
from .borders import settle
from .cells import Cell
from .checkpoint import Arrays
from .plan import Plan, halve, sample_size, width_of
from .scatter import Job

__all__ = [
    "Engine",
    "PartWarning",
    "Run",
    "Serial",
    "added",
    "carried_out",
    "cell_bytes",
    "held_bytes",
    "points_that_fit",
]

Array = npt.NDArray[np.float64]
Task = Callable[..., Arrays]

PROBES = 256
"""Number of points whose farthest neighbor is found before there are cells."""

MIN_EXTENT, MAX_EXTENT = 1e-30, 1e30
"""Data in cells extend at least and at most over this length."""

SETTLED_GAIN = 1e-4
"""Cells are settled until a pass lowers R by less than this share."""

SCALE_CELLS = 5
"""Number of cells that decide from how many neighbors tangents are found."""

USUAL_POINTS, FEWEST_POINTS = 200_000, 2_000
"""Maximum and minimum number of points of a cell, if memory decides."""


class Engine(Protocol):
    """Runs tasks."""

    def map(self, stage: str, task: Task, calls: list[tuple[Any, ...]], watch: Progress) -> list[Arrays]:
        """Return the results of ``task(*call)`` for all calls, in their order."""


class Serial:
    """One task after the other, in this process."""

    def map(self, stage: str, task: Task, calls: list[tuple[Any, ...]], watch: Progress) -> list[Arrays]:
        """Return the results of all calls, in their order."""
        found = []
        with watch.stage(stage, len(calls)):
            for done, call in enumerate(calls):
                if watch.report(stage, done, len(calls)):
                    raise _core.Stopped
                found.append(carried_out(task, *call))
        return found


def carried_out(task: Task, *call: Any) -> Arrays:
    """Run a task with one thread of BLAS, whose sums depend on the number of threads; return free memory."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1, user_api="blas"):
            return task(*call)
    finally:
        memory.give_back()


def cell_bytes(points: int, q: int, d: int, k: int, itemsize: int, method: str, tangents: int | None) -> int:
    """Return the bytes that a task holds at most, besides Python itself, for this many points per cell.

    Examples
    --------
    >>> 50e6 < cell_bytes(50_000, 3, 2, 12, 8, "psa", None) < 200e6
    True
    """
    return held_bytes(memory.with_halo(points), q, d, k, itemsize, method, tangents)


def held_bytes(held: int, q: int, d: int, k: int, itemsize: int, method: str, tangents: int | None) -> int:
    """Return the same for this many points per cell, halo included."""
    sizes = memory.Sizes(held, q, d, k, itemsize, tangents=tangents)
    return memory.cell_peak("alignment" if method == "psa" else "greedy", sizes, held)


def points_that_fit(allowed: int | None, size: Callable[[int], int], most: int = USUAL_POINTS) -> int:
    """Return the number of points of a cell: as many as usual, or fewer if memory allows no more.

    Examples
    --------
    >>> points_that_fit(400 * 10**6, lambda points: 1000 * points)
    50000
    """
    points = most
    while allowed is not None and memory.IMPORTED + size(points) > allowed:
        if points <= FEWEST_POINTS:
            needed, has = memory.readable(memory.IMPORTED + size(points)), memory.readable(allowed)
            raise MemoryError(
                f"cells of {points:,} points need about {needed}, but max_memory allows {has}: raise it"
            )
        points = max(FEWEST_POINTS, points - 2_000)
    return points


@dataclass
class Run:
    """A partition in progress; `found` collects the results of its stages."""

    job: Job
    n_cells: int
    engine: Engine
    watch: Progress
    errors: Literal["warn", "raise"] = "warn"
    cells: list[Cell] = field(default_factory=list)
    blocks: list[Arrays] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)

    def map(self, stage: str, task: Task, *call: Any) -> list[Arrays]:
        """Run a task for every cell, with further arguments that all cells share."""
        return self.engine.map(stage, task, [(self.job, cell, *call) for cell in self.cells], self.watch)

    def map_blocks(self, stage: str, task: Task, *call: Any) -> list[Arrays]:
        """Run a task for every block of rows."""
        calls = [(self.job, block, *call) for block in range(self.job.n_blocks)]
        return self.engine.map(stage, task, calls, self.watch)

    def complain(self, text: str) -> None:
        """Warn, or raise a ValueError if `errors` is "raise"."""
        if self.errors == "raise":
            raise ValueError(text)
        warn(text, PartWarning)

    def scatter(self) -> None:
        """Choose the cells, and sort all points by them."""
        job, checkpoints = self.job, self.job.checkpoints
        if checkpoints.find("plan") is None:
            checkpoints.save("plan", self._plan().to_arrays())
        blocks = self.map_blocks("scatter", scatter.scatter)
        plan = job.plan()
        counts = np.stack([table["counts"] for table in blocks])
        segments = np.stack([table["segments"] for table in blocks])
        reach = min(float(table["reach"]) for table in blocks)
        neighbors: list[set[int]] = [set() for _ in range(plan.n_cells)]
        for one, two in np.concatenate([table["pairs"] for table in blocks]).tolist():
            neighbors[one].add(two)
            neighbors[two].add(one)
        self.cells = [
            Cell(c, counts[:, c, 0], segments[:, c], tuple(sorted(neighbors[c] - {c})), plan.width, reach)
            for c in range(plan.n_cells)
        ]
        not_finite = [table["not_finite"] + block * job.rows for block, table in enumerate(blocks)]
        self.found["held"], self.found["core"] = counts.sum(axis=0).T
        self.found["not_finite"] = np.concatenate(not_finite)

    def _plan(self) -> Plan:
        job, n = self.job, self.job.source.shape[0]
        with self.watch.stage("plan"):
            sample, others = self._sample(n)
        near = self.map_blocks("probe", scatter.probe, sample[:: max(1, len(sample) // PROBES)])
        distances = np.sort(np.concatenate([found["distances"] for found in near], axis=1), axis=1)
        if distances.shape[1] <= job.n_neighbors:
            raise ValueError(
                f"n_neighbors = {job.n_neighbors} needs at least {job.n_neighbors + 1} points without NaN, "
                f"got {distances.shape[1]}"
            )
        with self.watch.stage("plan"):
            plan = Plan(sample, halve(sample, self.n_cells, job.n_jobs), self.n_cells, 0.0)
            width = width_of(plan, others, distances[:, job.n_neighbors], job.n_jobs)
        return replace(plan, width=width)

    def _sample(self, n: int) -> tuple[Matrix, Matrix]:
        """Return the points that define the cells, and as many others that show how far halos reach."""
        size = sample_size(n, self.n_cells)
        drawn = np.random.default_rng(0).choice(n, min(n, 2 * size), replace=False)
        drawn = drawn if n > 2 * size else np.concatenate([drawn, drawn])[: 2 * size]
        found = []
        for part in (drawn[:size], drawn[size:]):
            rows = self.job.source.rows(np.sort(part))
            found.append(rows[scatter.finite_rows(rows)])
        if len(found[0]) < self.n_cells:
            raise ValueError(
                f"of a random sample of {size:,} points, only {len(found[0]):,} hold nothing but finite entries "
                f"up to {_core.MAX_MAGNITUDE:g}, but {self.n_cells:,} cells need at least as many: remove the "
                "others, or rescale the data"
            )
        _check_extent(found[0])
        return found[0], found[1] if len(found[1]) else found[0]

    def embed(self, tangent_neighbors: int | None) -> None:
        """Embed every cell alone."""
        job = self.job
        if tangent_neighbors is None:
            some = [(job, cell) for cell in self.cells[:: max(1, len(self.cells) // SCALE_CELLS)]]
            scales = self.engine.map("tangents", cells.tangent_scale, some, self.watch)
            known = sorted(int(found["scale"]) for found in scales if found["scale"] >= 0)
            middle = known[len(known) // 2] if known else 0
            tangent_neighbors = job.n_neighbors if middle == 0 else middle
        summaries = self.map("cells", cells.embed, tangent_neighbors)
        self.found["tangent_neighbors"] = tangent_neighbors
        self.found["pieces"] = [one["pieces"] for one in summaries]
        self.check_failed(summaries)

    def check_failed(self, results: list[Arrays]) -> None:
        """Report the cells that failed; raise a ValueError if all did."""
        failed = {cell: str(one["failed"]) for cell, one in enumerate(results) if str(one["failed"])}
        self.found["failed"] = failed
        self.found["proved"] = sum(int(one.get("proved", 0)) for one in results)
        if len(failed) == len(self.cells):
            raise ValueError(f"no cell could be embedded; the first: {failed[0]}")
        if failed:
            points = int(sum(self.found["core"][cell] for cell in failed))
            some = "; ".join(f"cell {cell}: {reason}" for cell, reason in list(failed.items())[:3])
            which = f"{len(failed)} of {len(self.cells)} cells, with {points:,} points,"
            self.complain(f"{which} could not be embedded ({some})")

    def align(self) -> None:
        """Rotate and shift the pieces of all cells until their overlaps agree."""
        compared, d = self.map("overlaps", cells.overlaps), self.job.n_components
        pieces = self.found["pieces"]
        first = np.concatenate([[0], np.cumsum([len(counts) for counts in pieces])])
        edges = [np.insert(one["edges"], 0, cell, axis=1) for cell, one in enumerate(compared)]
        cell, piece, other, its_piece = np.concatenate(edges).T
        ends = np.stack([first[cell] + piece, first[other] + its_piece], axis=1)
        sums = np.concatenate([one["sums"] for one in compared])
        with self.watch.stage("alignment"):
            aligned = align(Overlaps.from_sums(ends, sums, d), int(first[-1]), d)
        own = [slice(first[cell], first[cell + 1]) for cell in range(len(self.cells))]
        self.found |= {
            "n_components": len(np.unique(aligned.components[np.concatenate(pieces) > 0])),
            "motions": [(aligned.turns[p], aligned.shifts[p], aligned.components[p]) for p in own],
            "overlap_error": aligned.error,
            "trust": aligned.trust,
        }

    def settle(self, passes: int, renewed: bool) -> int:
        """Settle every cell between its neighbors, until that gains little; return the number of passes."""
        self.found["history"] = []
        for stage in range(passes):
            calls = [(self.job, cell, stage, self._motions(cell, stage), renewed) for cell in self.cells]
            moved = self.engine.map("seams", settle, calls, self.watch)
            before, after = added([one["values"] for one in moved]) / self.found["held"].sum()
            self.found["history"].append(float(before))
            if before - after <= SETTLED_GAIN * before:
                return stage + 1
        return passes

    def _motions(self, cell: Cell, stage: int) -> dict[int, Any]:
        """Return the motions of a cell and its neighbors; once they are settled, only their components."""
        motions = {number: self.found["motions"][number] for number in (cell.number, *cell.neighbors)}
        if stage == 0:
            return motions
        identity = np.eye(self.job.n_components)
        return {
            number: (np.broadcast_to(identity, turns.shape), np.zeros_like(shifts), components)
            for number, (turns, shifts, components) in motions.items()
        }

    def measure(self, stage: int) -> Array:
        """Measure all cells; return the sums over all neighborhoods."""
        calls = [(self.job, cell, stage, self._motions(cell, stage)) for cell in self.cells]
        self.found["done"] = self.engine.map("faithfulness", gathering.measure, calls, self.watch)
        return added([one["sums"] for one in self.found["done"]])

    def gather(self) -> Path:
        """Write the embedding in the order of the data; return the file."""
        job, done = self.job, self.found["done"]
        means, axes = self._axes([one["moments"] for one in done])
        shifts = np.zeros_like(means)
        if len(means) > 1:
            calls = [(job, cell, done[cell.number]["segments"], means, axes) for cell in self.cells]
            reach = self.engine.map("layout", gathering.extents, calls, self.watch)
            low = np.min([one["low"] for one in reach], axis=0)
            high = np.max([one["high"] for one in reach], axis=0)
            shifts = beside(low, high, self.found["component_sizes"])
        target = job.checkpoints.path("out.npy")
        if not target.exists():
            for block in range(job.n_blocks):  # first: what they say is of another file
                job.checkpoints.remove(f"out-{block}")
            job.checkpoints.write(target.name, gathering.empty((job.source.shape[0], job.n_components)))
        blocks = [
            (job, block, np.stack([one["segments"][block] for one in done]), means, axes, shifts, str(target))
            for block in range(job.n_blocks)
        ]
        written = self.engine.map("output", gathering.gather, blocks, self.watch)
        self.found["n_lost"] = sum(int(one["lost"]) for one in written)
        return target

    def _axes(self, moments: list[Array]) -> tuple[Array, Array]:
        """Return for each component its mean and its principal axes, longest first."""
        d, rows = self.job.n_components, np.concatenate(moments)
        most = int(rows[:, 0].max()) + 1 if len(rows) else 0
        means, axes, sizes = np.zeros((most, d)), np.tile(np.eye(d), (most, 1, 1)), np.zeros(most)
        for number in np.unique(rows[:, 0]).astype(int):
            own = rows[rows[:, 0] == number]
            sizes[number] = own[:, 1].sum()
            means[number] = own[:, 1] @ own[:, 2 : 2 + d] / sizes[number]
            apart = own[:, 2 : 2 + d] - means[number]
            spread = own[:, 2 + d :].sum(axis=0).reshape(d, d) + (own[:, 1, None] * apart).T @ apart
            vectors = np.linalg.eigh(spread)[1][:, ::-1]
            peaks = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
            axes[number] = vectors * np.where(peaks < 0, -1.0, 1.0)
        self.found["component_sizes"] = sizes
        return means, axes


def _check_extent(sample: Matrix) -> None:
    """Refuse data in units in which gaps between cells, in single precision, overflow or vanish."""
    extent = float(np.ptp(sample.astype(np.float64), axis=0).max())
    if extent > 0 and not MIN_EXTENT <= extent <= MAX_EXTENT:
        raise ValueError(
            f"the points of a random sample are {extent:.3g} apart, but cells need data that extend over "
            f"{MIN_EXTENT:g} to {MAX_EXTENT:g}: rescale them by a power of two, which changes no bit of the result"
        )


def added(parts: list[Array]) -> Array:
    """Return the sum of arrays, each entry rounded once."""
    return np.array([math.fsum(column) for column in np.stack(parts).T])


def beside(low: Array, high: Array, sizes: Array) -> Array:
    """Return the shifts that set components side by side in rows, the largest first; as the core does."""
    sides = np.where(np.isfinite(low), high - low, 0.0)
    longest, d = sides.max(), sides.shape[1]
    gap = 0.05 * longest if longest > 0 else 1.0
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    first, second = sides[:, 0], sides[:, 1] if d > 1 else np.zeros(len(sides))
    width = np.inf if d == 1 else max(np.sqrt(((first + gap) * (second + gap)).sum()), first.max())
    shifts = np.zeros_like(sides)
    x = y = height = 0.0
    for number in order[sizes[order] > 0]:
        if x > 0 and x + first[number] > width:
            x, y, height = 0.0, y + height + gap, 0.0
        shifts[number, :2] = (x, y)[:d] - low[number, :2]
        x, height = x + first[number] + gap, max(height, second[number])
    return shifts


class PartWarning(UserWarning):
    """Some cells of a partition, or some points, could not be embedded; all others were.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(3000, random_state=0)
    >>> X[7] = np.nan
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     result = ub.partition.embed(X, points_per_cell=1000)
    >>> found[0].category is ub.partition.PartWarning, np.isnan(result.embedding).any(axis=1).sum()
    (True, np.int64(1))
    """
