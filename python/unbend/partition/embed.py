"""Embedding and measuring in cells, on one machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..core.progress import Callback, Progress
from ..files.tables import check_target
from .result import CellwiseFaithfulness, Partition
from .run import Serial
from .sources import source_of
from .task import Task, folder_for

__all__ = ["embed", "faithfulness", "within"]

Method = Literal["psa", "gp"]

PASSES = 10
"""How often seams are removed."""


def embed(
    X: Any,
    out: str | os.PathLike[str] | None = None,
    *,
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
    directory: str | os.PathLike[str] | None = None,
    force: bool = False,
    errors: Literal["warn", "raise"] = "warn",
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    begin: Callable[[int, int, int], object] | None = None,
) -> Partition:
    """Embed data of any size, cell by cell.

    A sample of the points says where cells are. Each cell, with a halo of points of its neighbours, is
    embedded by itself; cells are turned and moved until they agree on what they share, and seams are removed
    between them. Only one cell is in memory at a time. The same data and parameters give the same bits, for
    any number of threads.

    Parameters
    ----------
    X : str, path-like or array-like of shape (n, q)
        An .npy file or a Zarr array, read block by block, or an array.
    out : str or path-like, optional
        The .npy file to write; it appears when it is whole.
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds.
    method : {"psa", "gp"}
        How a cell is embedded: as by :class:`unbend.ProcrustesAlignment` or :class:`unbend.GreedyProcrustes`.
        Nothing is cut.
    points_per_cell : int or "auto", default "auto"
        About how many points a cell has; what memory allows, up to 200,000, by default.
    tangent_neighbors : int, optional
        Find tangents from so many neighbours; by default as many as the noise asks for.
    refine : {"auto", None}
        Whether frames are found anew while seams are removed; never where tangents are from more points than
        neighbourhoods hold.
    objective : {"R_N", "R"}
        What refinement makes small.
    passes : int, default 10
        How often seams are removed at most.
    parameters : dict, optional
        More parameters of the estimator that embeds a cell.
    max_memory : float, optional
        The bytes that this process may hold at most; by default what the machine has available.
    directory : str or path-like, optional
        Where finished cells are kept, so that a run that was killed continues when it is called again with
        the same data and parameters; where memory decides how many points a cell has, give `max_memory`.
        Removed in the end. By default a temporary folder, beside `out` if given.
    force : bool, default False
        Whether to replace `out`.
    errors : {"warn", "raise"}
        What happens when a cell cannot be embedded, or points are not finite.
    n_jobs : int, optional
        Number of threads; all by default.
    verbose : int, default 0
        Whether to show progress.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` between tasks; the fit stops when it returns True.
    begin : callable, optional
        Called as ``begin(n_cells, points_per_cell, bytes)`` before any work: what is planned, and what memory
        it takes at most.

    Returns
    -------
    Partition

    Raises
    ------
    ValueError
        If a parameter makes no sense, no cell can be embedded, or `directory` belongs to other data.
    MemoryError
        If not even small cells fit into `max_memory`.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(8000, random_state=0)
    >>> result = ub.partition.embed(X, points_per_cell=2000)
    >>> len(result.cell_sizes), result.faithfulness.r_n < 1.02 * result.faithfulness.lower_bound
    (4, True)
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
    source = source_of(X)
    task = Task.embedding(source, settings, points_per_cell, max_memory, n_jobs)
    if out is not None:
        check_target(out, force=force, suffixes=(".npy",))
    if begin is not None:
        begin(task.n_cells, task.points, task.bytes)
    with folder_for(directory, out) as folder:
        run = task.begun(folder, Serial(), Progress(verbose, callback), errors)
        file = task.embedded(run)
        if out is None:
            embedding = np.load(file)
        else:
            shutil.move(file, out)
            embedding = np.load(out, mmap_mode="r")
    return task.result(run, embedding)


def within(
    X: Any, watch: Progress, *, points_per_cell: int, n_jobs: int | None, **settings: Any
) -> Partition:
    """Embed an array, as a part of a fit that has a watch already."""
    settings = {"method": "psa", "passes": PASSES} | settings
    task = Task.embedding(source_of(X), settings, points_per_cell, None, n_jobs)
    with folder_for(None, None) as folder:
        run = task.begun(folder, Serial(), watch, "raise")
        return task.result(run, np.load(task.embedded(run)))


def faithfulness(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    points_per_cell: int | Literal["auto"] = "auto",
    max_memory: float | None = None,
    directory: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CellwiseFaithfulness:
    """Measure an embedding of data of any size, cell by cell.

    Parameters
    ----------
    X : str, path-like or array-like of shape (n, q)
        The data, as for :func:`embed`.
    Y : str, path-like or array-like of shape (n, d)
        Their embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds.
    points_per_cell, max_memory, directory, n_jobs, verbose
        As for :func:`embed`.

    Returns
    -------
    CellwiseFaithfulness

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(8000, random_state=0)
    >>> in_cells = ub.partition.faithfulness(X, coordinates, points_per_cell=2000)
    >>> abs(in_cells.r_n / ub.faithfulness(X, coordinates).r_n - 1) < 1e-12
    True
    """
    source, image = source_of(X), source_of(Y, "Y")
    task = Task.measuring(source, image, n_neighbors, points_per_cell, max_memory, n_jobs)
    with folder_for(directory, None) as folder:
        return task.measured(task.begun(folder, Serial(), Progress(verbose), "warn"))
