"""`unbend embed`: lay data flat."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import unbend as ub

from ...choose.methods import NORMALIZED
from ...core.memory import IMPORTED
from ...files import PAIR_SUFFIXES, check_target, read_points, split_key, write_points
from ...graph.neighbors import DEFAULT_NEIGHBORS
from ...judge.quality import Quality
from ..methods import METHODS, estimator, in_words, record
from ..options import JSON, OUTPUT, Command, UsageError
from ..words import (
    candidate_lines,
    check_ids,
    entry,
    id_lines,
    ids_of,
    judged,
    number_lines,
    show,
    sized,
    statement_lines,
    statements_in_record,
    timing_lines,
    worst,
)
from . import cells

__all__ = ["COMMAND"]

ONLY_FOR = {
    "init": ("gp",),
    "alignment": ("psa",),
    "rectify": tuple(NORMALIZED),
    "cut_pairs": ("gp", "psa"),
    "max_memory": ("gp", "psa"),
    "points_per_cell": ("gp", "psa"),
}
"""Options that are refused with other methods."""


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    check_target(options.output, force=options.force)
    check_ids(options)
    if options.save is not None:
        if os.path.realpath(options.output) == os.path.realpath(options.save):
            raise UsageError(f"--output and --save are both {options.save}: give them different names")
        check_target(options.save, force=options.force, suffixes=())
    if options.cut_pairs is not None:
        _check_pairs_target(options)
    for name, methods in ONLY_FOR.items():
        if getattr(options, name) not in (None, False) and options.method not in methods:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} goes with --method {', '.join(methods)} only, not {options.method}")
    x = _points(options)
    if x is None:
        cells.run(options)
        return
    ids = ids_of(x, options)
    model = estimator(options).fit(x)
    array = f"X_{options.method}"
    write_points(options.output, model.embedding_, force=options.force, name=array, source=options.X, ids=ids)
    if options.save is not None:
        model.save(options.save)
    if options.cut_pairs is not None:
        write_points(options.cut_pairs, model.cut_pairs_, force=options.force)
    if options.json or not options.quiet:
        found, m = judged(x, model, _graph(model, x, options), options)
        show(options, _record(model, m, found, options), _lines(model, x, m, found, options))


def _check_pairs_target(options: argparse.Namespace) -> None:
    others = {"--output": split_key(options.output, "arrays")[0], "--save": options.save}
    for flag, other in others.items():
        if other is not None and os.path.realpath(other) == os.path.realpath(options.cut_pairs):
            raise UsageError(f"{flag} and --cut-pairs are both {other}: give them different names")
    check_target(options.cut_pairs, force=options.force, suffixes=PAIR_SUFFIXES)


def _points(options: argparse.Namespace) -> Any:
    """Return the data; None if they must be embedded in cells."""
    if options.points_per_cell is not None:
        return None
    if options.max_memory is None:
        return read_points(options.X, leave_out=options.id)
    if split_key(options.X)[0].suffix.lower() in (".npy", ".zarr"):
        from ...partition.sources import source_of

        source = source_of(options.X)
        return read_points(options.X) if _fits(source.shape, source.dtype.itemsize, options) else None
    x = read_points(options.X, leave_out=options.id)
    return x if _fits(x.shape, 8, options) else None


def _fits(shape: tuple[int, int], itemsize: int, options: argparse.Namespace) -> bool:
    n, q = shape
    fit: int = estimator(options).memory_estimate(n, q)
    return bool(IMPORTED + n * q * itemsize + fit <= options.max_memory)


def _graph(model: Any, x: Any, options: argparse.Namespace) -> ub.Neighborhoods:
    """Return the neighborhoods of the fit, or those on which an embedding without a graph is measured."""
    if hasattr(model, "neighborhoods_"):
        return model.neighborhoods_  # type: ignore[no-any-return]
    k = min(DEFAULT_NEIGHBORS, len(x) - 1) if options.neighbors is None else options.neighbors
    return ub.neighborhoods(x, k, n_jobs=options.jobs)


def _record(model: Any, m: ub.Faithfulness, found: Quality, options: argparse.Namespace) -> dict[str, Any]:
    """Return the object that --json prints."""
    return {
        **m.to_dict(),
        "worst": worst(m),
        "x": options.X,
        "y": options.output,
        "model": options.save,
        "cut_pairs": options.cut_pairs,
        "method": options.method,
        "n_components": model.embedding_.shape[1],
        **record(model),
        **_judged(model),
        **statements_in_record(found),
        "seconds": model.timings_,
        "seed": options.seed,
        "version": ub.__version__,
    }


def _judged(model: Any) -> dict[str, Any]:
    """Return the verdict and the candidates of a model that has them."""
    if getattr(model, "verdict_", None) is None:
        return {}
    return {"verdict": model.verdict_.to_dict(), "candidates": [asdict(c) for c in model.candidates_]}


def _lines(
    model: Any, x: Any, m: ub.Faithfulness, found: Quality, options: argparse.Namespace
) -> Iterator[str]:
    """Yield the lines for people."""
    y = model.embedding_
    yield f"data       {sized(options.X, x.shape)}"
    yield from entry("method", _method_in_words(model))
    yield from candidate_lines(model)
    yield f"embedding  {sized(options.output, y.shape)}"
    yield from id_lines(options)
    if options.save is not None:
        yield f"model      {options.save}"
    if len(getattr(model, "cut_pairs_", ())):
        seams = f"{len(model.seams_)} seam{'s' * (len(model.seams_) != 1)}"
        yield from entry("cut", f"{model.surface_}; {seams}; {found.cut_sentence}")
    elif found.cut_sentence:
        yield from entry("left out", found.cut_sentence)
    yield ""
    yield from timing_lines(model.timings_)
    yield ""
    yield from number_lines(m, y.shape[1], ("r_n", "lower_bound", "r_c", "overlap"))
    yield ""
    yield from statement_lines(m, found)


def _method_in_words(model: Any) -> str:
    if not hasattr(model, "n_neighbors_"):
        return in_words(model)
    words = f"{in_words(model)}, {model.n_neighbors_} neighbor{'s' * (model.n_neighbors_ != 1)} each"
    if not hasattr(model, "refinement_"):
        return words
    if model.tangent_neighbors_ != model.n_neighbors_:
        words += f", tangents from {model.tangent_neighbors_:,}"
    if model.refinement_ is None:
        return words
    steps = f"{model.n_iter_:,} step{'s' * (model.n_iter_ != 1)}"
    ending = {"converged": "", "max_iter": ", not yet converged"}.get(model.refinement_.status, ", stopped")
    kind = "pointwise" if model.refine == "pointwise" else "global"
    return f"{words}; {kind} refinement, {steps}{ending}"


COMMAND = Command(
    run,
    "lay data flat without stretching them",
    """\
Embed the data X: lay them flat and keep lengths as far as possible.

X is an .npy, .npz, .csv, .tsv, .parquet, .h5ad or .zarr file. An .npz is read
from its array X, from its only array, or from the one you name: file.npz:NAME.
An .h5ad is read from X_pca, or from file.h5ad:NAME. For a table you can name
the columns to read, data.csv:height,width, or the columns to leave out,
data.csv:-name,-kind, or give their numbers, data.csv:3-10. The suffix of the
output decides what is written: any of these but .zarr. If both files are
.h5ad, the output is a copy of the data with the embedding added as X_psa
(named after the method), or as file.h5ad:NAME.
""",
    f"""\
X  data, one point per row
{OUTPUT}-d, --dimensions D  dimension of the embedding (2)
-k, --neighbors K  neighbors per point, itself excluded (12)
--method METHOD  algorithm, see below (psa)
--cut {{auto,yes,no}}  psa, gp: cut closed surfaces open (auto: if the embedding would overlap)
--tangent-neighbors N  psa, gp: find tangents from N neighbors (chosen by the noise)
--refine {{auto,global,pointwise,none}}  psa, gp: refinement of the embedding (auto)
--alignment {{tree,spectral,projection,anneal,auto}}  psa: how tangents are aligned (tree)
--init N  gp: number of starts; the best is kept (4)
--landmarks N  isomap, classical: N landmarks, or auto (all)
--rectify  lle to dfm: undo the normalization of axes
--seed S  seed of random choices (0)
--id COLUMN  column of X that names the points: first column of the output
--save MODEL  save the model for unbend transform
--cut-pairs FILE  psa, gp: write the pairs of neighbors that a cut parts
--max-memory SIZE  psa, gp: memory limit, as 4G; see below
--points-per-cell N  psa, gp: embed in cells of about N points
{JSON}""",
    """\
methods:
  psa        Procrustes subspaces alignment (Goldberg & Ritov 2009): aligns all
             neighborhoods at once; more accurate than gp under strong noise
  gp         greedy Procrustes, of the same paper: adds one neighborhood after
             the other; needs less memory than psa
  isomap     geodesic distances (Tenenbaum et al. 2000); use --landmarks auto
             beyond 20,000 points
  classical  classical scaling of Euclidean distances
  pca        principal components
  random     random projection (Johnson & Lindenstrauss 1984), by default to as
             many dimensions as keep all distances within 10 %
  lle, mlle, ltsa, hlle, lem, dfm
             for comparison, with normalized axes: locally linear embedding,
             modified LLE, local tangent space alignment, Hessian LLE, Laplacian
             eigenmaps, diffusion maps; --rectify restores the proportions of
             the data where possible

examples:
  unbend embed roll.npy -o flat.npy
  unbend embed huge.npy -o flat.npy --max-memory 4G
  unbend embed cells.csv -o flat.csv -d 3 -k 20 --tangent-neighbors 60
  unbend embed cells.csv:-batch -o flat.csv --id cell
  unbend embed scan.npz:points -o flat.npy --cut yes --cut-pairs pairs.npy
  unbend embed roll.npy -o flat.npy --save roll.unbend --json
  unbend embed cells.h5ad:X_pca -o cells-flat.h5ad

--max-memory: data that need more are embedded in cells, which works from .npy
or .zarr files to an .npy. Finished cells are kept in OUTPUT.parts; run the same
command again to continue after a crash.

--json prints one object: the result of unbend.faithfulness and the statements
("findings"), as in measure, the seconds of each stage ("seconds"), and how the
refinement ended.
""",
    {
        "method": {"choices": METHODS, "default": "psa"},
        "cut": {"default": "auto"},
        "refine": {"default": "auto"},
    },
)
