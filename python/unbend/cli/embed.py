"""`unbend embed`: lay data flat."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..measures import finite
from .arguments import UsageError
from .words import reading, rows, sized, warnings_in_one_line, worst, worst_lines, wrapped

if TYPE_CHECKING:
    from ..align import ProcrustesAlignment
    from ..embed import GreedyProcrustes, _Embedding

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..files import check_target, read_points, write_points

    check_target(options.output, force=options.force)
    if options.save is not None:
        _check_apart(options)
        check_target(options.save, force=options.force, suffixes=())
    x = read_points(options.X)
    with warnings_in_one_line():
        model = _METHODS[options.method](options).fit(x)
    write_points(options.output, model.embedding_, force=options.force)
    if options.save is not None:
        model.save(options.save)
    if options.json:
        print(json.dumps(finite(_record(model, options)), allow_nan=False))
    elif not options.quiet:
        print("\n".join(_table(model, options)))


def _check_apart(options: argparse.Namespace) -> None:
    if os.path.realpath(options.output) == os.path.realpath(options.save):
        raise UsageError(f"--output and --save are both {options.save}: give them different names")


def _greedy_procrustes(options: argparse.Namespace) -> GreedyProcrustes:
    from ..embed import GreedyProcrustes

    return GreedyProcrustes(n_init=options.init, **_shared(options))


def _procrustes_alignment(options: argparse.Namespace) -> ProcrustesAlignment:
    from ..align import ProcrustesAlignment

    return ProcrustesAlignment(alignment=options.alignment, **_shared(options))


def _shared(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that all methods have."""
    return {
        "n_components": options.dimensions,
        "n_neighbors": options.neighbors,
        "tangent_neighbors": options.tangent_neighbors,
        "refine": None if options.refine == "none" else options.refine,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "verbose": int(not options.quiet and sys.stderr.isatty()),
    }


def _record(model: _Embedding, options: argparse.Namespace) -> dict[str, Any]:
    """Return what --json prints."""
    from .. import __version__

    m, refinement = model.faithfulness_, model.refinement_
    count, mean, points = worst(m)
    return {
        **m.to_dict(),
        "worst": {"n_points": count, "r_n": mean, "points": points},
        "x": options.X,
        "y": options.output,
        "model": options.save,
        "method": options.method,
        "n_components": model.n_components,
        "n_neighbors": model.n_neighbors_,
        "tangent_neighbors": model.tangent_neighbors_,
        "n_connected_components": int(model.component_labels_.max()) + 1,
        "refine": model.refine,
        "refine_status": refinement and refinement.status,
        "n_iter": model.n_iter_,
        **model._record(),
        "seconds": model.timings_,
        "seed": options.seed,
        "version": __version__,
    }


def _table(model: _Embedding, options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines that a person reads."""
    m = model.faithfulness_
    yield f"data       {sized(options.X, model.X_fit_.shape)}"
    yield from wrapped(f"method     {_method_in_words(model)}", 11)
    yield f"embedding  {sized(options.output, model.embedding_.shape)}"
    if options.save is not None:
        yield f"model      {options.save}"
    yield ""
    for stage, seconds in model.timings_.items():
        yield f"  {stage:<12}  {seconds:>9.2f} s"
    yield f"  {'together':<12}  {sum(model.timings_.values()):>9.2f} s"
    yield ""
    yield from rows(m, model.n_components, only=("r_n", "lower_bound", "r_c", "overlap"))
    yield ""
    yield from worst_lines(m)
    in_words = reading(
        m, model.X_fit_, model.embedding_, model.neighborhoods_, include_self=True, jobs=options.jobs
    )
    yield from wrapped(f"  reading    {in_words}", 13)


def _method_in_words(model: _Embedding) -> str:
    words = f"{model._in_words()}, {model.n_neighbors_} neighbours each"
    if model.tangent_neighbors_ != model.n_neighbors_:
        words += f", tangents from {model.tangent_neighbors_:,}"
    if model.refinement_ is None:
        return words
    steps = f"{model.n_iter_:,} step{'s' * (model.n_iter_ != 1)}"
    ended = {"converged": "", "max_iter": ", not yet converged"}.get(model.refinement_.status, ", stopped")
    kind = "pointwise" if model.refine == "pointwise" else "global"
    return f"{words}; {kind} refinement, {steps}{ended}"


_METHODS = {"gp": _greedy_procrustes, "psa": _procrustes_alignment}
