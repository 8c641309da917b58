"""Embedding and measuring in cells on a Dask cluster.

`dask.distributed` runs the same tasks as :mod:`unbend.partition`: the driver sends each worker the number of a
cell and the place of its rows, and receives a few numbers. Rows go from their files to a folder that all workers
share, and from there to the workers. Results stay in the folder, so that a lost worker costs only the cells that
it was working on, and a run that was killed can continue.

Examples
--------
>>> import tempfile, dask.array, unbend.dask
>>> from distributed import Client
>>> X = dask.array.from_array(unbend.datasets.swiss_roll(2000, random_state=0)[0])
>>> with tempfile.TemporaryDirectory() as folder:
...     with Client(processes=False, n_workers=1, dashboard_address=":0"):
...         unbend.dask.embed(X, folder, points_per_cell=1000).shape
(2000, 2)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from .core.arrays import Matrix
from .core.progress import Progress
from .partition import CellwiseFaithfulness, Partition
from .partition.checkpoint import MARK, Arrays, CheckpointDir
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

FINISHED, RESULT = "finished", "embedding.npy"  # Names of the record of a run, and of its embedding.


class _Chunks:
    """Rows of a dask array. The driver has the array, a task has one of its blocks, and a pickle has neither.

    It is no dataclass: dask would search its fields, and send the whole array to every task.
    """

    def __init__(self, shape: tuple[int, int], dtype: Any, name: str, array: Any = None, block: Any = None):
        self.shape, self.dtype, self.name = shape, np.dtype(dtype), name
        self.array, self.block = array, block

    def read(self, start: int, stop: int) -> Matrix:
        """Return the block that the cluster gave to this task."""
        return np.ascontiguousarray(self._available(self.block), dtype=self.dtype)

    def rows(self, indices: npt.NDArray[np.int64]) -> Matrix:
        """Return rows that the cluster collects for the driver."""
        parts = self._available(self.array)[indices].to_delayed(optimize_graph=False).ravel()
        return np.concatenate(dask.compute(*parts), dtype=self.dtype)

    @staticmethod
    def _available(rows: Any) -> Any:
        if rows is None:
            raise RuntimeError("rows of a dask array are read by the cluster")
        return rows

    def fingerprint(self) -> dict[str, Any]:
        """Return a record that differs between data sets."""
        return {"shape": list(self.shape), "dtype": str(self.dtype), "name": self.name}

    def __reduce__(self) -> tuple[Any, ...]:
        return _Chunks, (self.shape, str(self.dtype), self.name)


class _Cluster:
    """Engine that runs tasks on the workers of a client."""

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
        job: Job = call[0]
        key = f"unbend-{stage}-{dask.base.tokenize(job.folder, stage, call[1:], number)}"
        blocks = {}
        if stage in ("probe", "scatter"):
            sources = {"source": job.source, "image": job.image}
            blocks = {
                name: source.array.blocks[call[1]].to_delayed(optimize_graph=False).ravel()[0]
                for name, source in sources.items()
                if isinstance(source, _Chunks)
            }
        if not blocks:
            return self._client.submit(carried_out, task, *call, key=key, pure=False)
        return self._client.compute(
            dask.delayed(_with_blocks, pure=False)(task, call, blocks, dask_key_name=key)
        )


def _with_blocks(task: Callable[..., Arrays], call: tuple[Any, ...], blocks: dict[str, Any]) -> Arrays:
    """Run a task with the rows that the cluster gives it."""
    job: Job = call[0]
    sources: dict[str, Any] = {}
    for name, rows in blocks.items():
        chunks = getattr(job, name)
        sources[name] = _Chunks(chunks.shape, chunks.dtype, chunks.name, block=rows)
    return carried_out(task, replace(job, **sources), *call[1:])


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
    return _Chunks(shape, X.dtype, X.name, array=X)


def _optimized(*sources: Source) -> list[Source]:
    """Return sources whose dask arrays were optimized together.

    Parts of them are then taken without further optimization. If each were optimized by itself, their graphs
    could have tasks of the same name with different content, of which the scheduler warns.
    """
    chunks = [source for source in sources if isinstance(source, _Chunks)]
    arrays = iter(dask.optimize(*(source.array for source in chunks)))
    return [
        _Chunks(source.shape, source.dtype, source.name, array=next(arrays))
        if isinstance(source, _Chunks)
        else source
        for source in sources
    ]


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

    The result does not depend on the number of workers, nor on the order in which they finish: it is that of
    :func:`unbend.partition.embed`, bit for bit.

    Parameters
    ----------
    X : str, path-like or dask array of shape (n, q)
        An .npy file or a Zarr array that all workers can read, or a dask array.
    directory : str or path-like
        Folder of checkpoints, which all workers must see under this name. It keeps the embedding in the end.
        To continue a run that was killed, call again with the same arguments.
    client : distributed.Client, optional
        Client of the cluster; by default the current one.
    n_components, n_neighbors, method, points_per_cell, tangent_neighbors, refine, objective, passes,
    parameters
        As for :func:`unbend.partition.embed`.
    max_memory : float, optional
        Bytes that a worker may use for a task; by default the available memory of this machine.
    errors : {"warn", "raise"}
        Policy for cells that cannot be embedded, and points that are not finite.
    n_jobs : int, default 1
        Number of threads of a task.
    verbose : int, default 0
        1 shows progress here; the dashboard shows it too, with one kind of task for each stage.
    return_partition : bool, default False
        If True, return a Partition, whose `embedding` is the dask array.

    Returns
    -------
    dask array of shape (n, d), or Partition

    Examples
    --------
    >>> import tempfile
    >>> import dask.array, unbend as ub, unbend.dask
    >>> from distributed import Client
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> X = dask.array.from_array(X, chunks=1000)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0"):
    ...     Y = unbend.dask.embed(X, folder.name, points_per_cell=1000)
    ...     Y.shape, bool(abs(Y.mean().compute()) < 1e-9)
    ((2000, 2), True)
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
    task = Task.embedding(_optimized(_source(X))[0], settings, points_per_cell, max_memory, n_jobs)
    folder = Path(os.path.abspath(directory))
    checkpoints = CheckpointDir(str(folder))
    with checkpoints.locked():
        checkpoints.claim(task.mark())
        partition = _loaded(folder)
        if partition is None:
            run = task.begun(folder, _Cluster(client or get_client()), Progress(verbose), errors)
            file = task.embedded(run)
            partition = task.result(run, np.empty((0, n_components)))
            os.replace(file, folder / RESULT)
            _save(folder, partition)
    n, rows = task.source.shape[0], block_rows(task.source.shape, task.source.dtype.itemsize)
    sizes = tuple(min(rows, n - start) for start in range(0, n, rows))
    embedding = dask.array.map_blocks(
        _rows, str(folder / RESULT), chunks=(sizes, (n_components,)), meta=np.empty((0, 0))
    )
    return replace(partition, embedding=embedding) if return_partition else embedding


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
        Input data, as for :func:`embed`.
    Y : str, path-like or dask array of shape (n, d)
        Embedding of X.
    directory : str or path-like
        Folder of checkpoints; it is empty in the end.
    n_neighbors : int, default 12
        Number of nearest neighbors per point, not counting the point itself.
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
    >>> X, coordinates = (dask.array.from_array(a) for a in ub.datasets.swiss_roll(2000, random_state=0))
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0"):
    ...     m = unbend.dask.faithfulness(X, coordinates, folder.name, points_per_cell=1000)
    >>> m.r_n < 1.02 * m.lower_bound
    True
    >>> folder.cleanup()
    """
    source = _source(X)
    rows = block_rows(source.shape, source.dtype.itemsize)
    x, y = _optimized(source, _source(Y, "Y", rows))
    task = Task.measuring(x, y, n_neighbors, points_per_cell, max_memory, n_jobs)
    folder = Path(os.path.abspath(directory))
    checkpoints = CheckpointDir(str(folder))
    with checkpoints.locked():
        run = task.begun(folder, _Cluster(client or get_client()), Progress(verbose), "warn")
        measured = task.measured(run)
        checkpoints.clear()
    return measured


def _save(folder: Path, partition: Partition) -> None:
    """Save all but the embedding, and remove the checkpoints."""
    record: dict[str, Any] = vars(partition) | {"faithfulness": asdict(partition.faithfulness)}
    del record["embedding"]
    record = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in record.items()}
    CheckpointDir(str(folder)).save_record(FINISHED, record)
    for path in folder.iterdir():
        if path.name not in (RESULT, f"{FINISHED}.json", f"{MARK}.json"):
            path.unlink()


def _loaded(folder: Path) -> Partition | None:
    """Return the result of a finished run, without its embedding."""
    record = CheckpointDir(str(folder)).load_record(FINISHED)
    if record is None or not (folder / RESULT).exists():
        return None
    for name in ("cell_sizes", "held_sizes", "overlap_error", "trust"):
        record[name] = np.array(record[name])
    record["failed"] = {int(cell): reason for cell, reason in record["failed"].items()}
    record["faithfulness"] = CellwiseFaithfulness(**record["faithfulness"])
    return Partition(embedding=np.empty((0, 0)), **record)


def _rows(path: str, block_info: Any = None) -> Any:
    """Return the rows of one block of the embedding, read when they are needed."""
    start, stop = block_info[None]["array-location"][0]
    return np.array(np.load(path, mmap_mode="r")[start:stop])
