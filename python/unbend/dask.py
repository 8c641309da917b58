"""Embedding and measuring in cells on a Dask cluster.

The same tasks as in :mod:`unbend.partition`, run by `dask.distributed`: the driver sends each worker the
number of a cell and where its rows are, and gets back a few numbers. Rows go from their files to a folder
that all workers see, and from there to the workers. What is finished stays in the folder, so that a lost
worker costs the cells it was at, and a run that was killed continues.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from .core.arrays import Matrix
from .core.progress import Progress
from .partition import CellwiseFaithfulness, Partition
from .partition.checkpoint import Arrays, CheckpointDir
from .partition.embed import PASSES, Method
from .partition.run import carried_out
from .partition.scatter import Job
from .partition.sources import Source, block_rows, source_of
from .partition.task import Task

try:
    import dask
    import dask.array
    from distributed import Client, as_completed, get_client
except ImportError as error:  # pragma: no cover
    raise ImportError("unbend.dask needs dask and distributed: pip install 'unbend[dask]'") from error

__all__ = ["embed", "faithfulness"]

FINISHED, RESULT = "finished", "embedding.npy"


@dataclass(frozen=True)
class _Chunks:
    """The rows of a dask array: blocks are given to tasks by the cluster, never by the driver."""

    shape: tuple[int, int]
    stored: str
    name: str
    rows_each: int

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.stored)

    def read(self, start: int, stop: int) -> Matrix:
        raise RuntimeError("rows of a dask array are read by the cluster")

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        raise RuntimeError("rows of a dask array are read by the cluster")

    def mark(self) -> dict[str, Any]:
        return {"shape": list(self.shape), "dtype": self.stored, "name": self.name}


@dataclass(frozen=True, eq=False)
class _Given(_Chunks):
    """One of these blocks, in the worker."""

    block: Any = None

    def read(self, start: int, stop: int) -> Matrix:
        return np.ascontiguousarray(self.block, dtype=self.dtype)


@dataclass(frozen=True, eq=False)
class _Drawn(_Chunks):
    """For the driver: rows are drawn by the cluster."""

    array: Any = None

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        return np.ascontiguousarray(self.array[indices].compute(), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Chunks, (self.shape, self.stored, self.name, self.rows_each)


class _Cluster:
    """Runs tasks by the workers of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def map(
        self, stage: str, task: Callable[..., Arrays], calls: list[tuple[Any, ...]], watch: Progress
    ) -> list[Arrays]:
        """Return the results of all calls, in their order."""
        with watch.stage(stage, len(calls)):
            futures = [self._submitted(stage, task, call, number) for number, call in enumerate(calls)]
            try:
                for done, _ in enumerate(as_completed(futures)):
                    if watch.report(stage, done, len(calls)):
                        raise _core.Stopped
                return [future.result() for future in futures]
            finally:
                self._client.cancel(futures)

    def _submitted(self, stage: str, task: Callable[..., Arrays], call: tuple[Any, ...], number: int) -> Any:
        job = call[0]
        key = f"unbend-{stage}-{dask.base.tokenize(job.folder, stage, call[1:], number)}"
        given = {}
        if stage in ("probe", "scatter"):
            given = {
                which: _block(source, call[1])
                for which, source in (("source", job.source), ("image", job.image))
                if isinstance(source, _Drawn)
            }
        if not given:
            return self._client.submit(carried_out, task, *call, key=key, pure=False)
        made = dask.delayed(_with_blocks, pure=False)(task, call, given, dask_key_name=key)
        return self._client.compute(made)


def _block(source: _Drawn, block: int) -> Any:
    return source.array.blocks[block].to_delayed().ravel()[0]


def _with_blocks(task: Callable[..., Arrays], call: tuple[Any, ...], given: dict[str, Any]) -> Arrays:
    """Run a task with the rows that the cluster hands it."""
    job: Job = call[0]
    held: dict[str, Any] = {}
    for which, rows in given.items():
        source = getattr(job, which)
        held[which] = _Given(source.shape, source.stored, source.name, source.rows_each, rows)
    return carried_out(task, replace(job, **held), *call[1:])


def _source(X: Any, name: str = "X", rows: int | None = None) -> Source:
    if isinstance(X, str | os.PathLike):
        return source_of(X, name)
    if not isinstance(X, dask.array.Array):
        raise TypeError(
            f"{name} is of type {type(X).__name__}: pass a dask array, or the path of an .npy or .zarr file"
        )
    if X.ndim != 2 or 0 in X.shape or any(np.isnan(size) for size in X.shape):
        raise ValueError(f"{name} has shape {X.shape}: it must have two known dimensions, one point a row")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
    shape = (int(X.shape[0]), int(X.shape[1]))
    rows = block_rows(shape, X.dtype.itemsize) if rows is None else rows
    X = X.rechunk({0: rows, 1: -1})
    return _Drawn(shape, str(X.dtype), X.name, rows, X)


def embed(
    X: Any,
    directory: str | os.PathLike[str],
    *,
    client: Any = None,
    n_components: int = 2,
    n_neighbors: int | None = None,
    method: Method = "psa",
    points_per_cell: int | Literal["auto"] = "auto",
    tangent_neighbors: int | None = None,
    refine: Literal["auto"] | None = "auto",
    objective: Literal["R_N", "R"] = "R_N",
    passes: int = PASSES,
    parameters: dict[str, Any] | None = None,
    max_memory: float | None = None,
    errors: Literal["warn", "raise"] = "warn",
    n_jobs: int = 1,
    verbose: int = 0,
    return_partition: bool = False,
) -> Any:
    """Embed data of any size in cells, on the workers of a Dask cluster.

    The result does not depend on how many workers there are, nor on what they finish first: it is that of
    :func:`unbend.partition.embed` to the last bit.

    Parameters
    ----------
    X : str, path-like or dask array of shape (n, q)
        An .npy file or a Zarr array that all workers can read, or a dask array.
    directory : str or path-like
        Where workers leave what is finished; all must see it by this name. It keeps the embedding in the end,
        and until then what is needed to continue a run that was killed: call it again with the same
        arguments.
    client : distributed.Client, optional
        The cluster; by default the present one.
    n_components, n_neighbors, method, points_per_cell, tangent_neighbors, refine, objective, passes,
    parameters
        As for :func:`unbend.partition.embed`.
    max_memory : float, optional
        The bytes that a worker may hold for its task; by default what this machine has available.
    errors : {"warn", "raise"}
        What happens when a cell cannot be embedded, or points are not finite.
    n_jobs : int, default 1
        Threads of a task.
    verbose : int, default 0
        Whether to show progress here; the dashboard shows it as well, one kind of task for each stage.
    return_partition : bool, default False
        Whether to return all there is to say, with the dask array as its `embedding`.

    Returns
    -------
    dask array of shape (n, d), or Partition

    Examples
    --------
    >>> import tempfile
    >>> import dask.array, unbend as ub, unbend.dask
    >>> from distributed import Client
    >>> X, _ = ub.datasets.swiss_roll(4000, random_state=0)
    >>> X = dask.array.from_array(X, chunks=1000)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0"):
    ...     Y = unbend.dask.embed(X, folder.name, points_per_cell=2000)
    ...     Y.shape, bool(abs(Y.mean().compute()) < 1e-9)
    ((4000, 2), True)
    >>> folder.cleanup()
    """
    settings = {
        "n_components": n_components,
        "n_neighbors": n_neighbors,
        "method": method,
        "tangent_neighbors": tangent_neighbors,
        "refine": refine,
        "objective": objective,
        "passes": passes,
        "parameters": parameters,
    }
    task = Task.embedding(_source(X), settings, points_per_cell, max_memory, n_jobs)
    folder = _folder(directory)
    task.claim(CheckpointDir(str(folder)))
    known = _known(folder)
    if known is None:
        run = task.begun(folder, _Cluster(client or get_client()), Progress(verbose), errors)
        made = task.embedded(run)
        known = task.result(run, np.empty((0, n_components)))
        os.replace(made, folder / RESULT)
        _note(folder, known)
    rows = block_rows(task.source.shape, task.source.dtype.itemsize)
    embedding = _opened(folder / RESULT, task.source.shape[0], n_components, rows)
    return replace(known, embedding=embedding) if return_partition else embedding


def faithfulness(
    X: Any,
    Y: Any,
    directory: str | os.PathLike[str],
    n_neighbors: int | None = None,
    *,
    client: Any = None,
    points_per_cell: int | Literal["auto"] = "auto",
    max_memory: float | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> CellwiseFaithfulness:
    """Measure an embedding of data of any size, on the workers of a Dask cluster.

    Parameters
    ----------
    X : str, path-like or dask array of shape (n, q)
        The data, as for :func:`embed`.
    Y : str, path-like or dask array of shape (n, d)
        Their embedding.
    directory : str or path-like
        Where workers leave what is finished; emptied in the end.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds.
    client, points_per_cell, max_memory, n_jobs, verbose
        As for :func:`embed`.

    Returns
    -------
    CellwiseFaithfulness

    Examples
    --------
    >>> import tempfile
    >>> import dask.array, unbend as ub, unbend.dask
    >>> from distributed import Client
    >>> X, coordinates = (dask.array.from_array(a) for a in ub.datasets.swiss_roll(4000, random_state=0))
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0"):
    ...     m = unbend.dask.faithfulness(X, coordinates, folder.name, points_per_cell=2000)
    >>> m.r_n < 1.02 * m.lower_bound
    True
    >>> folder.cleanup()
    """
    source = _source(X)
    rows = block_rows(source.shape, source.dtype.itemsize)
    task = Task.measuring(source, _source(Y, "Y", rows), n_neighbors, points_per_cell, max_memory, n_jobs)
    folder = _folder(directory)
    measured = task.measured(task.begun(folder, _Cluster(client or get_client()), Progress(verbose), "warn"))
    _clear(folder)
    return measured


def _folder(directory: str | os.PathLike[str]) -> Path:
    folder = Path(os.path.abspath(directory))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def _note(folder: Path, partition: Partition) -> None:
    """Keep the embedding, what it is of, and what there is to say of it."""
    said = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(partition).items()
        if name not in ("embedding", "faithfulness")
    }
    CheckpointDir(str(folder)).note(FINISHED, said | {"faithfulness": asdict(partition.faithfulness)})
    for path in folder.iterdir():
        if path.name not in (RESULT, f"{FINISHED}.json", "partition.json"):
            path.unlink()


def _known(folder: Path) -> Partition | None:
    said = CheckpointDir(str(folder)).noted(FINISHED)
    if said is None or not (folder / RESULT).exists():
        return None
    arrays: dict[str, Any] = {
        name: np.array(said.pop(name)) for name in ("cell_sizes", "held_sizes", "overlap_error", "trust")
    }
    failed = {int(cell): reason for cell, reason in said.pop("failed").items()}
    measured = CellwiseFaithfulness(**said.pop("faithfulness"))
    return Partition(embedding=np.empty((0, 0)), faithfulness=measured, failed=failed, **arrays, **said)


def _opened(path: Path, n: int, d: int, rows: int) -> Any:
    """Return the rows of a file as a dask array: they are read where they are needed."""
    read = dask.delayed(_rows, pure=True)
    blocks = [
        dask.array.from_delayed(
            read(str(path), start, min(start + rows, n)), (min(start + rows, n) - start, d), np.float64
        )
        for start in range(0, n, rows)
    ]
    return dask.array.concatenate(blocks)


def _rows(path: str, start: int, stop: int) -> Any:
    return np.array(np.load(path, mmap_mode="r")[start:stop])
