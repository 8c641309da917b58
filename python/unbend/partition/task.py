"""What is asked for: checked, planned for, and carried out on any engine."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..core import memory
from ..core.arrays import as_count, thread_count
from ..core.progress import Progress
from ..estimators.base import check_choice
from ..files.tables import FileError
from ..graph.neighbors import DEFAULT_NEIGHBORS
from .checkpoint import CheckpointDir
from .gather import SUMS, measure_given
from .result import CellwiseFaithfulness, Partition
from .run import Engine, PartWarning, Run, added, cell_bytes, held_bytes, points_that_fit
from .scatter import Job
from .sources import Source, block_rows

__all__ = ["Task", "folder_for"]

Array = npt.NDArray[np.float64]

VERSION = 1
"""Rises when what is on a shelf would be misread."""

BLOCK_COPIES = 5
"""How often the rows of a block are held while they are sorted by cell, those of halos among them."""

METHODS = ("psa", "gp")
OWN = (
    "n_components",
    "n_neighbors",
    "tangent_neighbors",
    "cut",
    "n_jobs",
    "verbose",
    "callback",
    "max_memory",
)
"""Parameters of estimators that a partition sets itself."""


@dataclass(frozen=True)
class Task:
    """An embedding, or a measurement, in cells.

    Attributes
    ----------
    source, image : Source
        The data, and the embedding that is measured.
    settings : dict
        What the result depends on besides.
    points : int
        About how many points a cell has.
    bytes : int
        What a process holds at most.
    n_jobs : int
        Threads of a process; 0 stands for all.
    allowed : int or None
        The bytes that were said to be the limit.
    """

    source: Source
    image: Source | None
    settings: dict[str, Any]
    points: int
    bytes: int
    n_jobs: int
    allowed: int | None = None

    @classmethod
    def embedding(
        cls,
        source: Source,
        settings: dict[str, Any],
        points_per_cell: int | str = "auto",
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> Task:
        """Check what an embedding needs."""
        settings = _checked(settings, source.shape)
        method, wide = settings["method"], settings["tangent_neighbors"]
        return cls._planned(source, None, settings, points_per_cell, max_memory, n_jobs, method, wide)

    @classmethod
    def measuring(
        cls,
        source: Source,
        image: Source,
        n_neighbors: int | None = None,
        points_per_cell: int | str = "auto",
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> Task:
        """Check what a measurement needs."""
        (n, q), (m, d) = source.shape, image.shape
        if n != m:
            raise ValueError(f"X has {n} rows, but Y has {m}")
        if d > q:
            raise ValueError(f"Y has {d} columns, more than the {q} of X")
        settings = {"n_components": d, "n_neighbors": _neighbors(n_neighbors, n)}
        return cls._planned(source, image, settings, points_per_cell, max_memory, n_jobs, "gp", None)

    @classmethod
    def _planned(
        cls,
        source: Source,
        image: Source | None,
        settings: dict[str, Any],
        points_per_cell: int | str,
        max_memory: float | None,
        n_jobs: int | None,
        method: str,
        wide: int | None,
    ) -> Task:
        n, q = source.shape
        d, k, size = settings["n_components"], settings["n_neighbors"], source.dtype.itemsize

        block = BLOCK_COPIES * block_rows(source.shape, size) * q * size

        def needed(points: int) -> int:
            return max(block, cell_bytes(points, q, d, k, size, method, wide))

        if points_per_cell == "auto":
            allowed = memory.allowed(max_memory)
            points = points_that_fit(allowed, needed)
        else:
            points = as_count(points_per_cell, "points_per_cell", least=k + 1)
        points, threads = min(points, n), thread_count(n_jobs)
        limit = None if max_memory is None else memory.allowed(max_memory)
        return cls(source, image, settings, points, memory.IMPORTED + needed(points), threads, limit)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return -(-self.source.shape[0] // self.points)

    def begun(self, folder: Path, engine: Engine, watch: Progress, errors: Literal["warn", "raise"]) -> Run:
        """Begin, or go on where the folder says; all points are sorted by cell."""
        check_choice(errors, "errors", ("warn", "raise"))
        self.claim(CheckpointDir(str(folder)))
        s = self.settings
        parameters: dict[str, Any] = {"random_state": 0, **(s.get("parameters") or {})}
        parameters |= {"refine": None, "objective": s.get("objective", "R_N")}
        job = Job(
            str(folder),
            self.source,
            self.image,
            block_rows(self.source.shape, self.source.dtype.itemsize),
            s["n_components"],
            s["n_neighbors"],
            s.get("method", "gp"),
            parameters,
            self.n_jobs,
        )
        run = Run(job, self.n_cells, engine, watch, errors)
        run.scatter()
        self._check_halos(run)
        self._say_not_finite(run)
        return run

    def _check_halos(self, run: Run) -> None:
        """Refuse cells that became too large for the memory: wide data have large halos."""
        (_, q), s = self.source.shape, self.settings
        largest = int(run.found["held"].max())
        method, wide = s.get("method", "gp"), s.get("tangent_neighbors")
        size = held_bytes(
            largest, q, s["n_components"], s["n_neighbors"], run.job.source.dtype.itemsize, method, wide
        )
        if self.allowed is not None and memory.IMPORTED + size > self.allowed:
            needed, has = memory.readable(memory.IMPORTED + size), memory.readable(self.allowed)
            raise MemoryError(
                f"the largest cell has {largest:,} points with its halo, which need about {needed}, "
                f"but max_memory allows {has}: set points_per_cell below {self.points:,}"
            )

    def claim(self, shelf: CheckpointDir) -> None:
        """Refuse a folder that belongs to other data or parameters."""
        mark = {
            "version": VERSION,
            "data": self.source.mark(),
            "image": None if self.image is None else self.image.mark(),
            "settings": self.settings,
            "points_per_cell": self.points,
        }
        mark = json.loads(json.dumps(mark))
        known = shelf.noted("partition")
        if known is None:
            if any(Path(shelf.folder).iterdir()):
                raise FileError(
                    f"{shelf.folder} is not empty, and holds no partition: use a folder of its own"
                )
            shelf.note("partition", mark)
        elif known != mark:
            different = [name for name in mark if mark[name] != known.get(name)]
            what = f"{shelf.folder} holds a partition of other {' and '.join(different)}"
            raise FileError(f"{what}: use another folder, or remove it")

    def _say_not_finite(self, run: Run) -> None:
        rows = run.found["not_finite"]
        if len(rows) == 0:
            return
        first = ", ".join(map(str, rows[:3]))
        text = (
            f"{len(rows):,} points are not finite (rows {first}{', ...' if len(rows) > 3 else ''}): left out"
        )
        if run.errors == "raise":
            raise ValueError(text)
        warnings.warn(text, PartWarning, stacklevel=4)

    def embedded(self, run: Run) -> Path:
        """Embed; return the file, which is on the shelf."""
        s = self.settings
        run.embed(s["tangent_neighbors"])
        run.align()
        plain = run.found["tangent_neighbors"] == s["n_neighbors"]
        stage = run.settle(s["passes"], s["refine"] == "auto" and plain)
        run.found["sums"] = run.measure(stage)
        return run.gather()

    def measured(self, run: Run) -> CellwiseFaithfulness:
        """Measure."""
        calls = [(run.job, cell) for cell in run.cells]
        found = run.engine.map("faithfulness", measure_given, calls, run.watch)
        run.found["failed"] = {
            cell: str(one["failed"]) for cell, one in enumerate(found) if str(one["failed"])
        }
        run.say_failed()
        run.found["proved"] = sum(int(one["proved"]) for one in found)
        return self._faithfulness(run, added([one["sums"] for one in found]))

    def result(self, run: Run, embedding: Array) -> Partition:
        """Put together what there is to say."""
        found = run.found
        return Partition(
            embedding=embedding,
            faithfulness=self._faithfulness(run, found["sums"]),
            cell_sizes=found["core"],
            held_sizes=found["held"],
            overlap_error=found["overlap_error"],
            trust=found["trust"],
            history=found["history"],
            failed=found["failed"],
            n_lost=found["n_lost"],
            n_connected_components=found["n_components"],
            tangent_neighbors=found["tangent_neighbors"],
            memory=self.bytes,
            timings=run.watch.timings,
        )

    def _faithfulness(self, run: Run, sums: Array) -> CellwiseFaithfulness:
        s = dict(zip(SUMS, sums.tolist(), strict=True))
        counted = s["measured"] - s["degenerate"]

        def mean(name: str, count: float) -> float:
            return s[name] / count if count else float("nan")

        a, b = mean("a", counted), mean("b", counted)
        scale = b / a if a > 0 else 1.0
        return CellwiseFaithfulness(
            r=mean("r", s["measured"]),
            r_n=mean("r_n", counted),
            r_c=mean("r_c", counted),
            r_pca=mean("r_pca", s["measured"]),
            lower_bound=mean("bound", counted),
            scale=scale,
            r_n_scaled=max(0.0, 1.0 - b * scale),
            n_points=self.source.shape[0],
            n_measured=int(s["measured"]),
            n_degenerate=int(s["degenerate"]),
            n_proved=run.found["proved"],
        )


def _checked(settings: dict[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    n, q = shape
    d = as_count(settings["n_components"], "n_components")
    if d > q:
        raise ValueError(f"n_components = {d} exceeds the {q} dimensions of the data")
    k = _neighbors(settings["n_neighbors"], n)
    check_choice(settings["method"], "method", METHODS)
    check_choice(settings["refine"], "refine", ("auto", None))
    check_choice(settings["objective"], "objective", ("R_N", "R"))
    as_count(settings["passes"], "passes", least=0)
    if settings["tangent_neighbors"] is not None:
        as_count(settings["tangent_neighbors"], "tangent_neighbors")
    for name in settings["parameters"] or {}:
        if name in OWN:
            raise ValueError(f"parameters has {name!r}, which the partition sets itself")
    return settings | {"n_neighbors": k}


def _neighbors(given: int | None, n: int) -> int:
    k = min(DEFAULT_NEIGHBORS, n - 1) if given is None else as_count(given, "n_neighbors")
    if k > n - 1:
        raise ValueError(f"n_neighbors = {k} needs at least {k + 1} points, got n_samples = {n}")
    return k


@contextmanager
def folder_for(
    directory: str | os.PathLike[str] | None, beside: str | os.PathLike[str] | None
) -> Iterator[Path]:
    """Give a folder to work in: one that stays if the work is not finished, or a temporary one."""
    if directory is None:
        where = None if beside is None else Path(os.path.realpath(beside)).parent
        with tempfile.TemporaryDirectory(prefix=".unbend-", dir=where) as folder:
            yield Path(folder)
        return
    folder_path = Path(os.path.abspath(directory))
    is_new = not folder_path.exists()
    folder_path.mkdir(parents=True, exist_ok=True)
    try:
        yield folder_path
    except MemoryError:
        if is_new:  # it is to be called again with other parameters
            shutil.rmtree(folder_path)
        raise
    shutil.rmtree(folder_path)
