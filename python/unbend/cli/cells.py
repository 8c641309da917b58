"""`unbend embed --max-memory`: lay flat in cells what does not fit into memory."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..judge.measures import finite
from .arguments import UsageError
from .words import sized, warnings_in_one_line, wrapped

if TYPE_CHECKING:
    from ..partition import Partition

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from .. import partition

    _check(options)
    with warnings_in_one_line():
        result = partition.embed(
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
            verbose=int(not options.quiet and sys.stderr.isatty()),
            begin=None if options.quiet or options.json else _say_beforehand,
        )
    if options.json:
        print(json.dumps(finite(_record(result, options)), allow_nan=False))
    elif not options.quiet:
        print("\n".join(_table(result, options)))


def _check(options: argparse.Namespace) -> None:
    if Path(options.output).suffix.lower() != ".npy":
        raise UsageError(f"in cells an .npy file is written, not {options.output}")
    if options.save is not None:
        raise UsageError("--save keeps all data in memory: leave it out with cells")
    if options.cut == "yes":
        raise UsageError("--cut yes cannot be done in cells")
    if options.refine == "pointwise":
        raise UsageError("--refine pointwise cannot be done in cells")


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    own = {"n_init": options.init} if options.method == "gp" else {"alignment": options.alignment}
    return own | {"random_state": options.seed}


def _say_beforehand(n_cells: int, points: int, needed: int) -> None:
    from ..core.memory import readable

    cells = f"{n_cells:,} cell{'s' * (n_cells != 1)} of about {points:,} points"
    print(f"in cells   {cells}, at most {readable(needed)} of memory", file=sys.stderr, flush=True)


def _record(result: Partition, options: argparse.Namespace) -> dict[str, Any]:
    """Return what --json prints."""
    from .. import __version__

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
        "version": __version__,
    }


def _table(result: Partition, options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines that a person reads."""
    m, n = result.faithfulness, len(result.embedding)
    yield f"embedding  {sized(options.output, result.embedding.shape)}"
    cells = (
        f"{len(result.cell_sizes):,}, of {result.cell_sizes.min():,} to {result.cell_sizes.max():,} points"
    )
    yield f"cells      {cells}; with halos {result.held_sizes.sum() / n:.2f} times all points"
    if result.n_lost:
        yield from wrapped(f"lost       {result.n_lost:,} points have no image", 11)
    yield ""
    for stage, seconds in result.timings.items():
        yield f"  {stage:<12}  {seconds:>9.2f} s"
    yield f"  {'together':<12}  {sum(result.timings.values()):>9.2f} s"
    yield ""
    for name, value, meaning in (
        ("R_N", m.r_n, "error relative to size; 0 is perfect"),
        ("lower bound", m.lower_bound, f"the least R_N possible in {result.embedding.shape[1]} dimensions"),
        ("R_C", m.r_c, "error in shape alone; 0 is perfect"),
    ):
        yield f"  {name:<12}  {value:>9.4g}  {meaning}"
    share = m.n_proved / max(m.n_measured, 1)
    yield f"  {'whole':<12}  {share:>9.2%}  neighbourhoods that their cells surely hold"
