"""`unbend embed`: lay data flat."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..choose.methods import NORMALIZED
from ..judge.measures import finite
from .arguments import UsageError
from .words import reading, rows, sized, worst, worst_lines, wrapped

if TYPE_CHECKING:
    from ..estimators.align import ProcrustesAlignment
    from ..estimators.base import _Estimator
    from ..estimators.embed import GreedyProcrustes
    from ..estimators.isomap import Isomap
    from ..estimators.linear import PCA, RandomProjection
    from ..estimators.scaling import ClassicalScaling
    from ..graph.neighbors import Neighborhoods
    from ..metrics import Faithfulness

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..files.tables import check_target, read_points, write_points

    check_target(options.output, force=options.force)
    if options.save is not None:
        _check_apart(options)
        check_target(options.save, force=options.force, suffixes=())
    if _wants_cells(options):
        from .cells import run as run_in_cells

        return run_in_cells(options)
    x = read_points(options.X)
    if options.rectify and options.method not in NORMALIZED:
        raise UsageError(f"--rectify goes with --method {', '.join(NORMALIZED)} only, not {options.method}")
    model = _METHODS[options.method](options).fit(x)
    write_points(
        options.output,
        model.embedding_,
        force=options.force,
        name=f"X_{options.method}",
        source=options.X,
    )
    if options.save is not None:
        model.save(options.save)
    if options.json:
        m, _ = _measured(model, x, options)
        print(json.dumps(finite(_record(model, m, options)), allow_nan=False))
    elif not options.quiet:
        print("\n".join(_table(model, x, options)))


def _wants_cells(options: argparse.Namespace) -> bool:
    """Return whether to embed in cells: because that is asked for, or nothing else would fit."""
    if options.max_memory is None and options.points_per_cell is None:
        return False
    if options.method not in ("gp", "psa"):
        raise UsageError(
            f"--max-memory and --points-per-cell go with --method gp, psa only, not {options.method}"
        )
    if options.points_per_cell is not None:
        return True
    from ..core.memory import IMPORTED
    from ..files.tables import read_points, split_key

    file = split_key(options.X)[0]
    if file.suffix.lower() in (".npy", ".zarr"):
        from ..partition.sources import source_of

        (n, q), size = source_of(options.X).shape, source_of(options.X).dtype.itemsize
    else:
        (n, q), size = read_points(options.X).shape, 8
    needed: int = _METHODS[options.method](options).memory_estimate(n, q)
    return bool(IMPORTED + n * q * size + needed > options.max_memory)


def _measured(model: _Estimator, x: Any, options: argparse.Namespace) -> tuple[Faithfulness, Neighborhoods]:
    """Return how faithful the embedding is, and to which neighbourhoods."""
    if hasattr(model, "faithfulness_"):
        return model.faithfulness_, model.neighborhoods_
    from ..graph.neighbors import DEFAULT_NEIGHBORS, neighborhoods
    from ..metrics import faithfulness

    k = min(DEFAULT_NEIGHBORS, len(x) - 1) if options.neighbors is None else options.neighbors
    graph = neighborhoods(x, k, n_jobs=options.jobs)
    return faithfulness(x, model.embedding_, neighborhoods=graph, n_jobs=options.jobs), graph


def _check_apart(options: argparse.Namespace) -> None:
    if os.path.realpath(options.output) == os.path.realpath(options.save):
        raise UsageError(f"--output and --save are both {options.save}: give them different names")


def _greedy_procrustes(options: argparse.Namespace) -> GreedyProcrustes:
    from ..estimators.embed import GreedyProcrustes

    return GreedyProcrustes(n_init=options.init, **_refined(options))


def _procrustes_alignment(options: argparse.Namespace) -> ProcrustesAlignment:
    from ..estimators.align import ProcrustesAlignment

    return ProcrustesAlignment(alignment=options.alignment, **_refined(options))


def _isomap(options: argparse.Namespace) -> Isomap:
    from ..estimators.isomap import Isomap

    return Isomap(n_landmarks=options.landmarks, **_on_graph(options))


def _classical_scaling(options: argparse.Namespace) -> ClassicalScaling:
    from ..estimators.scaling import ClassicalScaling

    if options.landmarks == "auto":
        raise UsageError("--landmarks auto goes with --method isomap only: give a number")
    return ClassicalScaling(n_landmarks=options.landmarks, random_state=options.seed, **_shared(options))


def _pca(options: argparse.Namespace) -> PCA:
    from ..estimators.linear import PCA

    return PCA(**_shared(options))


def _random_projection(options: argparse.Namespace) -> RandomProjection:
    from ..estimators.linear import RandomProjection

    dimensions = "auto" if options.dimensions is None else options.dimensions
    return RandomProjection(**_shared(options) | {"n_components": dimensions, "random_state": options.seed})


def _normalized(options: argparse.Namespace) -> Any:
    from ..estimators import spectral

    parameters = _on_graph(options) | {"rectify": options.rectify}
    del parameters["random_state"]  # nothing is drawn
    return getattr(spectral, NORMALIZED[options.method])(**parameters)


def _shared(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that all methods have."""
    return {
        "n_components": 2 if options.dimensions is None else options.dimensions,
        "verbose": int(not options.quiet and sys.stderr.isatty()),
    }


def _on_graph(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of methods that need neighbours."""
    return _shared(options) | {
        "n_neighbors": options.neighbors,
        "random_state": options.seed,
        "n_jobs": options.jobs,
    }


def _refined(options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of methods that find tangents and refine."""
    return _on_graph(options) | {
        "tangent_neighbors": options.tangent_neighbors,
        "refine": None if options.refine == "none" else options.refine,
        "cut": {"auto": "auto", "yes": True, "no": False}[options.cut],
    }


def _record(model: _Estimator, m: Faithfulness, options: argparse.Namespace) -> dict[str, Any]:
    """Return what --json prints."""
    from .. import __version__

    count, mean, points = worst(m)
    return {
        **m.to_dict(),
        "worst": {"n_points": count, "r_n": mean, "points": points},
        "x": options.X,
        "y": options.output,
        "model": options.save,
        "method": options.method,
        "n_components": model.embedding_.shape[1],
        **_graph_record(model),
        **model._record(),
        "seconds": model.timings_,
        "seed": options.seed,
        "version": __version__,
    }


def _graph_record(model: Any) -> dict[str, Any]:
    """Return what there is to say of neighbours, tangents and refinement, if the method has them."""
    found: dict[str, Any] = {}
    if hasattr(model, "n_neighbors_"):
        found["n_neighbors"] = model.n_neighbors_
    if hasattr(model, "tangent_neighbors_"):
        found["tangent_neighbors"] = model.tangent_neighbors_
    if hasattr(model, "component_labels_"):
        found["n_connected_components"] = int(model.component_labels_.max()) + 1
    if hasattr(model, "refinement_"):
        found["refine"] = model.refine
        found["refine_status"] = model.refinement_ and model.refinement_.status
        found["n_iter"] = model.n_iter_
    if hasattr(model, "surface_"):
        found["n_cut_pairs"] = len(model.cut_pairs_)
        found["n_seams"] = len(model.seams_)
        found["orientable"], found["closed"] = model.orientable_, model.closed_
        found["euler_characteristic"] = model.euler_characteristic_
        found["surface"] = model.surface_
    return found


def _table(model: _Estimator, x: Any, options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines that a person reads."""
    m, graph = _measured(model, x, options)
    yield f"data       {sized(options.X, x.shape)}"
    yield from wrapped(f"method     {_method_in_words(model)}", 11)
    yield f"embedding  {sized(options.output, model.embedding_.shape)}"
    if options.save is not None:
        yield f"model      {options.save}"
    yield from _surface_lines(model)
    yield ""
    for stage, seconds in model.timings_.items():
        yield f"  {stage:<12}  {seconds:>9.2f} s"
    yield f"  {'together':<12}  {sum(model.timings_.values()):>9.2f} s"
    yield ""
    yield from rows(m, model.embedding_.shape[1], only=("r_n", "lower_bound", "r_c", "overlap"))
    yield ""
    yield from worst_lines(m)
    in_words = reading(m, x, model.embedding_, graph, include_self=True, jobs=options.jobs)
    yield from wrapped(f"  reading    {in_words}", 13)


def _surface_lines(model: Any) -> Iterator[str]:
    """Yield what there is to say of a cut."""
    if len(getattr(model, "cut_pairs_", ())) == 0:
        return
    m, seams = model.faithfulness_, len(model.seams_)
    words = (
        f"{model.surface_}; {seams} seam{'s' * (seams != 1)}, through {m.cut_share:.1%} of all neighbourhoods"
    )
    yield from wrapped(f"cut        {words}", 11)


def _method_in_words(model: Any) -> str:
    if not hasattr(model, "n_neighbors_"):
        return str(model._in_words())
    words = f"{model._in_words()}, {model.n_neighbors_} neighbours each"
    if not hasattr(model, "refinement_"):
        return words
    if model.tangent_neighbors_ != model.n_neighbors_:
        words += f", tangents from {model.tangent_neighbors_:,}"
    if model.refinement_ is None:
        return words
    steps = f"{model.n_iter_:,} step{'s' * (model.n_iter_ != 1)}"
    ended = {"converged": "", "max_iter": ", not yet converged"}.get(model.refinement_.status, ", stopped")
    kind = "pointwise" if model.refine == "pointwise" else "global"
    return f"{words}; {kind} refinement, {steps}{ended}"


_METHODS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "gp": _greedy_procrustes,
    "psa": _procrustes_alignment,
    "isomap": _isomap,
    "classical": _classical_scaling,
    "pca": _pca,
    "random": _random_projection,
    **dict.fromkeys(NORMALIZED, _normalized),
}
