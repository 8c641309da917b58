"""The tasks of a partition, embedding and measuring: checked, planned, and run on any engine."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core import memory
from ..core.arrays import as_count, thread_count
from ..core.kinds import choice
from ..core.kinds import settings as configuration
from ..core.progress import Progress
from ..core.random import seed_from
from ..files import FileError
from ..fit.problem import neighbor_count
from ..fit.procrustes.kinds import KINDS
from .checkpoint import MARK, CheckpointDir
from .gather import SUMS, CellwiseFaithfulness, Partition, measure_given
from .run import Engine, Run, added, cell_bytes, held_bytes, points_that_fit
from .scatter import Job
from .sources import Source, block_rows

__all__ = ["Task", "folder_for"]

Array = npt.NDArray[np.float64]

VERSION = 2
"""Version of the checkpoints; raised when older ones would be misread."""

BLOCK_COPIES = 5
"""Number of copies of a block of rows that are held while it is sorted by cell, halos included."""

OWN = (
    "n_components",
    "n_neighbors",
    "tangent_neighbors",
    "refine",
    "objective",
    "cut",
    "n_jobs",
    "verbose",
    "callback",
    "max_memory",
)
"""Parameters of estimators that a partition sets itself."""


@dataclass(frozen=True)
class Task:
    """An embedding in cells, or the measurement of one."""

    # source, image: The input data, and the embedding that is measured.
    source: Source
    image: Source | None
    settings: dict[str, Any]  # All else that the result depends on.
    points: int  # Number of points per cell, about.
    bytes: int  # Maximum number of bytes that a process holds.
    n_jobs: int  # Number of threads of a process; 0 means all.
    allowed: int | None = None  # The limit of memory in bytes, if one was given.

    @classmethod
    def embedding(
        cls,
        source: Source,
        settings: dict[str, Any],
        points_per_cell: int | str = "auto",
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> Task:
        """Check and plan an embedding."""
        settings = _checked(settings, source.shape)
        return cls._planned(source, None, settings, points_per_cell, max_memory, n_jobs)

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
        """Check and plan a measurement."""
        (n, q), (m, d) = source.shape, image.shape
        if n != m:
            raise ValueError(f"X has {n} rows, but Y has {m}")
        if d > q:
            raise ValueError(f"Y has {d} columns, more than the {q} of X")
        settings = {"n_components": d, "n_neighbors": neighbor_count(n_neighbors, n)}
        return cls._planned(source, image, settings, points_per_cell, max_memory, n_jobs)

    @classmethod
    def _planned(
        cls,
        source: Source,
        image: Source | None,
        settings: dict[str, Any],
        points_per_cell: int | str,
        max_memory: float | None,
        n_jobs: int | None,
    ) -> Task:
        (n, q), size = source.shape, source.dtype.itemsize
        block = BLOCK_COPIES * block_rows(source.shape, size) * q * size

        def needed(points: int) -> int:
            return max(block, cell_bytes(points, *_sizes(source, settings)))

        if points_per_cell == "auto":
            points = points_that_fit(memory.allowed(max_memory), needed)
        else:
            points = as_count(points_per_cell, "points_per_cell", least=settings["n_neighbors"] + 1)
        points, threads = min(points, n), thread_count(n_jobs)
        limit = None if max_memory is None else memory.allowed(max_memory)
        return cls(source, image, settings, points, memory.IMPORTED + needed(points), threads, limit)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return -(-self.source.shape[0] // self.points)

    def begun(self, folder: Path, engine: Engine, watch: Progress, errors: Literal["warn", "raise"]) -> Run:
        """Begin, or continue with the folder's checkpoints; return the run with all points sorted by cell."""
        choice("warn", "raise").test(errors, "errors")
        CheckpointDir(str(folder)).claim(self.mark())
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
        rows = run.found["not_finite"]
        if len(rows):
            first = ", ".join(map(str, rows[:3])) + (", ..." if len(rows) > 3 else "")
            beyond = f"or hold entries beyond {_core.MAX_MAGNITUDE:g}"
            run.complain(f"{len(rows):,} points are not finite (rows {first}) {beyond}: left out")
        return run

    def _check_halos(self, run: Run) -> None:
        """Refuse cells that are too large for the memory: wide data have large halos."""
        largest = int(run.found["held"].max())
        size = held_bytes(largest, *_sizes(self.source, self.settings))
        if self.allowed is not None and memory.IMPORTED + size > self.allowed:
            needed, has = memory.readable(memory.IMPORTED + size), memory.readable(self.allowed)
            raise MemoryError(
                f"the largest cell has {largest:,} points with its halo, which need about {needed}, "
                f"but max_memory allows {has}: set points_per_cell below {self.points:,}"
            )

    def mark(self) -> dict[str, Any]:
        """Return a record that identifies this task, for JSON."""
        mark = {
            "version": VERSION,
            "data": self.source.fingerprint(),
            "image": None if self.image is None else self.image.fingerprint(),
            "settings": self.settings,
            "points_per_cell": self.points,
        }
        return dict(json.loads(json.dumps(mark)))

    def _check_unchanged(self, run: Run) -> None:
        """Refuse a result of data that changed while they were read."""
        before, after = run.job.checkpoints.load_record(MARK), self.mark()
        if before != after:
            different = [name for name in after if before is None or after[name] != before.get(name)]
            raise FileError(
                f"the {' and '.join(different)} changed during the run: remove {run.job.folder}, run again"
            )

    def embedded(self, run: Run) -> Path:
        """Embed; return the file, which is in the folder of checkpoints."""
        s = self.settings
        run.embed(s["tangent_neighbors"])
        run.align()
        plain = run.found["tangent_neighbors"] == s["n_neighbors"]
        stage = run.settle(s["passes"], s["refine"] == "auto" and plain)
        run.found["sums"] = run.measure(stage)
        self._check_unchanged(run)
        return run.gather()

    def measured(self, run: Run) -> CellwiseFaithfulness:
        """Measure."""
        found = run.map("faithfulness", measure_given)
        run.check_failed(found)
        self._check_unchanged(run)
        return self._faithfulness(run, added([one["sums"] for one in found]))

    def result(self, run: Run, embedding: Array) -> Partition:
        """Return the result of a run."""
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

        def mean(name: str, count: float, of_none: float = 0.0) -> float:
            return s[name] / count if count else of_none

        a, b = mean("a", counted), mean("b", counted)
        scale = b / a if a > 0 else 0.0
        perfect = mean("coinciding", counted)
        return CellwiseFaithfulness(
            r=mean("r", s["measured"]),
            r_n=mean("r_n", counted, math.inf),  # infinite, not perfect, if none was measured
            r_c=mean("r_c", counted, math.inf),
            r_pca=mean("r_pca", s["measured"]),
            lower_bound=mean("bound", counted),
            scale=scale,
            r_n_scaled=max(0.0, 1.0 - perfect - b * scale) if counted else math.inf,
            n_points=self.source.shape[0],
            n_measured=int(s["measured"]),
            n_degenerate=int(s["degenerate"]),
            n_proved=run.found["proved"],
        )


def _sizes(source: Source, settings: dict[str, Any]) -> tuple[Any, ...]:
    """Return the sizes that, with the points of a cell, decide about its memory."""
    own = settings["n_components"], settings["n_neighbors"], source.dtype.itemsize
    return source.shape[1], *own, settings.get("method", "gp"), settings.get("tangent_neighbors")


def _checked(settings: dict[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    n, q = shape
    d = as_count(settings["n_components"], "n_components")
    if d > q:
        raise ValueError(f"n_components = {d} exceeds the {q} dimensions of the data")
    k = neighbor_count(settings["n_neighbors"], n)
    choice("psa", "gp").test(settings["method"], "method")
    choice("auto", None).test(settings["refine"], "refine")
    choice("R_N", "R").test(settings["objective"], "objective")
    passes, tangents = as_count(settings["passes"], "passes", least=0), settings["tangent_neighbors"]
    return settings | {
        "n_components": d,
        "n_neighbors": k,
        "tangent_neighbors": None if tangents is None else as_count(tangents, "tangent_neighbors"),
        "passes": passes,
        "parameters": _checked_parameters(settings["parameters"]),
    }


def _checked_parameters(parameters: Any) -> dict[str, Any]:
    """Return the parameters of the estimator that embeds a cell, as a record of JSON can hold them."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise ValueError(f"parameters = {parameters!r} is not a dict: its keys are names of parameters")
    for name in parameters:
        if name in OWN:
            raise ValueError(f"parameters has {name!r}, which the partition sets itself")
    known = {name: kind for name, kind in KINDS.items() if name not in OWN}
    configuration(**known).test(parameters, "parameters")
    seed = parameters.get("random_state")
    others = {name: _plain(value) for name, value in parameters.items() if name != "random_state"}
    return others if seed is None else others | {"random_state": seed_from(seed)}


def _plain(value: Any) -> Any:
    """Return a value without numbers of NumPy, which JSON cannot hold."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def folder_for(
    directory: str | os.PathLike[str] | None, beside: str | os.PathLike[str] | None
) -> Iterator[Path]:
    """Yield a folder to work in: one that stays if the work is not finished, or a temporary one."""
    if directory is None:
        where = None if beside is None else Path(os.path.realpath(beside)).parent
        with tempfile.TemporaryDirectory(prefix=".unbend-", dir=where) as folder:
            yield Path(folder)
        return
    folder_path = Path(os.path.abspath(directory))
    is_new, checkpoints = not folder_path.exists(), CheckpointDir(str(folder_path))
    with checkpoints.locked():
        try:
            yield folder_path
        except MemoryError:
            if is_new:  # it is to be called again with other parameters
                _remove(checkpoints)
            raise
        _remove(checkpoints)


def _remove(checkpoints: CheckpointDir) -> None:
    checkpoints.clear()
    Path(checkpoints.folder).rmdir()
