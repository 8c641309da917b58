"""Embedding and measuring in cells, on one machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from ..core.parameters import documented
from ..core.progress import Callback, Progress
from ..core.shared_parameters import FUNCTIONS
from ..files import check_target, write_atomically
from ..fit.problem import Problem
from ..fit.procrustes.alignment import AlignedEmbedding
from .gather import CellwiseFaithfulness, Partition
from .run import Serial
from .sources import source_of
from .task import Task, folder_for

__all__ = ["embed", "faithfulness", "within"]

Method = Literal["psa", "gp"]

PASSES = 10
"""Maximum number of passes that remove the seams between cells."""

IN_CELLS = ("alignment", "annealing", "overlap_penalty", "solve_tol", "neighbors_method", "neighbors_recall")
"""The parameters that each cell is embedded with as all data would be."""


@documented(FUNCTIONS)
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

    A sample of the points defines the cells. Each cell, with a halo of points of its neighbors, is embedded by
    itself. Cells are rotated and shifted until they agree on the points that they share. Then passes
    remove the seams: each cell is fitted again, while the outer points of its halo are held. Only one cell is in
    memory at a time. The same data and parameters give the same bits, for any number of threads.

    Parameters
    ----------
    X : str, path-like or array-like of shape (n, q)
        Input data: an .npy file or a Zarr array, read block by block, or an array.
    out : str or path-like, optional
        The .npy file to write; it appears when it is whole.
    n_components : int, default 2
        Dimension d of the embedding.
    method : {"psa", "gp"}
        Method that embeds a cell: :class:`unbend.ProcrustesAlignment` or :class:`unbend.GreedyProcrustes`,
        without a cut.
    points_per_cell : int or "auto", default "auto"
        Number of points per cell, about; "auto" is as many as memory allows, up to 200,000.
    tangent_neighbors : int, optional
        Number of neighbors from which tangents are found; by default as many as the noise requires.
    refine : {"auto", None}
        "auto" finds frames again in the passes that remove seams, unless tangents are from more points than
        neighborhoods hold.
    objective : {"R_N", "R"}
        Measure that refinement minimizes.
    passes : int, default 10
        Maximum number of passes that remove the seams between cells.
    parameters : dict, optional
        More parameters of the estimator that embeds a cell.
    max_memory : float, optional
        Maximum memory of this process in bytes; by default the available memory of the machine.
    directory : str or path-like, optional
        Folder of checkpoints: a run that was killed continues when it is called again with the same data and
        parameters, `max_memory` included if it decides about `points_per_cell`. Removed in the end. By default
        a temporary folder, next to `out` if given.
    force : bool, default False
        If True, replace `out`.
    errors : {"warn", "raise"}
        Policy for cells that cannot be embedded, and points that are not finite.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` between tasks; the fit stops when it returns True.
    begin : callable, optional
        Called as ``begin(n_cells, points_per_cell, bytes)`` before any work, with the planned maximum of memory.

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
    >>> X, coordinates = ub.datasets.swiss_roll(4000, random_state=0)
    >>> result = ub.partition.embed(X, points_per_cell=1000)
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
            write_atomically(out, lambda temporary: shutil.move(file, temporary), force=force)
            embedding = np.load(out, mmap_mode="r")
    return task.result(run, embedding)


def within(
    problem: Problem, points_per_cell: int, progress: Progress, parameters: Mapping[str, Any]
) -> AlignedEmbedding:
    """Embed a problem in cells, as a part of a fit with the parameters of `ProcrustesAlignment`."""
    settings = {
        "method": "psa",
        "passes": PASSES,
        "n_components": problem.n_components,
        "n_neighbors": problem.neighborhoods.typical_size,
        "tangent_neighbors": parameters["tangent_neighbors"],
        "refine": None if parameters["refine"] is None else "auto",
        "objective": problem.objective,
        "parameters": {name: parameters[name] for name in IN_CELLS},
    }
    task = Task.embedding(source_of(problem.points), settings, points_per_cell, None, problem.n_jobs)
    with folder_for(None, None) as folder:
        run = task.begun(folder, Serial(), progress, "raise")
        found = task.result(run, np.load(task.embedded(run)))
    trace = {
        "cells": len(found.cell_sizes),
        "overlap_error": float(found.overlap_error.max(initial=0.0)),
        "history": found.history,
    }
    # The kind of surface is unknown: only the whole surface shows it.
    none = np.empty((0, 2), dtype=np.uint32)
    embedding = AlignedEmbedding(
        found.embedding,
        trace={parameters["alignment"]: trace},
        tangent_neighbors=found.tangent_neighbors,
        refinement=None,
        n_iter=len(found.history),
        cut_pairs=none,
        cut=np.zeros(len(problem), dtype=bool),
        seams=[],
        orientable=None,
        alignment=parameters["alignment"],
        loops=none,
    )
    return embedding.laid_out(problem).measured(problem, progress)


@documented(FUNCTIONS)
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
    points_per_cell, max_memory, directory
        As for :func:`embed`.

    Returns
    -------
    CellwiseFaithfulness

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(4000, random_state=0)
    >>> in_cells = ub.partition.faithfulness(X, coordinates, points_per_cell=1000)
    >>> abs(in_cells.r_n / ub.faithfulness(X, coordinates).r_n - 1) < 1e-12
    True
    """
    source, image = source_of(X), source_of(Y, "Y")
    task = Task.measuring(source, image, n_neighbors, points_per_cell, max_memory, n_jobs)
    with folder_for(directory, None) as folder:
        return task.measured(task.begun(folder, Serial(), Progress(verbose), "warn"))
