"""`unbend embed --max-memory`: embed in cells what does not fit into memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import unbend as ub

from ...core.memory import readable
from ..options import UsageError
from ..words import entry, number_lines, show, shows_progress, sized, timing_lines

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    _check(options)
    result = ub.partition.embed(
        options.X,
        options.output,
        n_components=2 if options.dimensions is None else options.dimensions,
        n_neighbors=options.neighbors,
        method=options.method,
        points_per_cell="auto" if options.points_per_cell is None else options.points_per_cell,
        tangent_neighbors=options.tangent_neighbors,
        refine=None if options.refine == "none" else "auto",
        parameters=_parameters(options),
        max_memory=options.max_memory,
        directory=f"{options.output}.parts",
        force=options.force,
        n_jobs=options.jobs,
        verbose=shows_progress(options),
        begin=None if options.quiet or options.json else _announce,
    )
    show(options, _record(result, options), _lines(result, options))


def _check(options: argparse.Namespace) -> None:
    if Path(options.output).suffix.lower() != ".npy":
        raise UsageError(f"in cells the output must be an .npy file, not {options.output}")
    if options.save is not None:
        raise UsageError("--save keeps all data in memory: leave it out with cells")
    if options.cut_pairs is not None:
        raise UsageError("--cut-pairs has no pairs to write: data in cells are not cut, leave it out")
    if options.cut == "yes":
        raise UsageError("--cut yes cannot be done in cells")
    if options.refine == "pointwise":
        raise UsageError("--refine pointwise cannot be done in cells")


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    if options.method == "gp":
        own: dict[str, Any] = {"n_init": 4 if options.init is None else options.init}
    else:
        own = {"alignment": options.alignment or "tree"}
    return own | {"random_state": options.seed}


def _announce(n_cells: int, points: int, needed: int) -> None:
    """Print the plan before the work begins."""
    cells = f"{n_cells:,} cell{'s' * (n_cells != 1)} of about {points:,} points"
    print(f"in cells   {cells}, at most {readable(needed)} of memory", file=sys.stderr, flush=True)


def _record(result: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the object that --json prints."""
    return {
        **asdict(result.faithfulness),
        "x": options.X,
        "y": options.output,
        "method": options.method,
        "n_components": result.embedding.shape[1],
        "n_cells": len(result.cell_sizes),
        "n_connected_components": result.n_connected_components,
        "n_lost": result.n_lost,
        "failed_cells": {str(cell): reason for cell, reason in result.failed.items()},
        "tangent_neighbors": result.tangent_neighbors,
        "memory": result.memory,
        "seconds": result.timings,
        "seed": options.seed,
        "version": ub.__version__,
    }


def _lines(result: Any, options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines for people."""
    m, sizes = result.faithfulness, result.cell_sizes
    yield f"embedding  {sized(options.output, result.embedding.shape)}"
    halos = f"halos included, {result.held_sizes.sum() / len(result.embedding):.2f} times the points"
    yield f"cells      {len(sizes):,}, of {sizes.min():,} to {sizes.max():,} points; {halos}"
    if result.n_lost:
        yield from entry("lost", f"{result.n_lost:,} points are not embedded: their rows are NaN")
    yield ""
    yield from timing_lines(result.timings)
    yield ""
    yield from number_lines(m, result.embedding.shape[1], ("r_n", "lower_bound", "r_c"), heads=False)
    share = m.n_proved / max(m.n_measured, 1)
    yield f"  {'complete':<12}  {share:>9.2%}  neighborhoods that are certainly within their cell"
