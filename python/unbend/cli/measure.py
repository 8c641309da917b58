"""`unbend measure`: judge an embedding from any tool."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import unbend as ub

from ..core.progress import Progress
from ..files import read_pairs, read_points
from ..judge.quality import Quality
from ..metrics.sampling import pair
from . import words
from .options import SAMPLING, Command, UsageError
from .words import entry

__all__ = ["COMMAND"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    x = read_points(options.X)
    source = words.read_embedding(x, options.Y, options)
    _check_pair(x, getattr(source, "embedding_", source), options)
    cut = None if options.cut_pairs is None else read_pairs(options.cut_pairs, len(x))
    if options.all and options.without_self:
        raise UsageError("--all has no --without-self")
    if options.coordinates is not None and not options.all:
        raise UsageError("--coordinates is for --all")
    progress, sizes = Progress(words.shows_progress(options)), {"radius": options.radius}
    if options.all:
        truth = words.coordinates(x, options)
        with progress.stage("measures"):
            found = ub.quality(
                x,
                source,
                n_neighbors=options.neighbors,
                coordinates=truth,
                cut=cut,
                **sizes,
                **words.sampling(options),
            )
        words.show(options, found.to_dict(), [found])
        return
    k = options.neighbors
    if k is None and options.radius is None:
        k = getattr(source, "n_neighbors_", None)
    with progress.stage("neighbors"):
        graph = ub.neighborhoods(x, k, **sizes, n_jobs=options.jobs)
    if graph.sizes.max() == 0:
        raise ValueError(f"no point has a neighbor within radius = {options.radius}")
    with progress.stage("measures"):
        found, m = words.judged(x, source, graph, options, cut)
        if options.without_self:
            m = _without_self(x, source, graph, options, cut)
    words.show(options, _record(m, options, graph, found), _lines(m, options, graph, x, found))


def _without_self(
    x: Any, source: Any, graph: ub.Neighborhoods, options: argparse.Namespace, cut: Any
) -> ub.Faithfulness:
    sizes = words.sampling(options)
    return ub.faithfulness(x, source, neighborhoods=graph, include_self=False, cut=cut, **sizes)


def _check_pair(x: Any, y: Any, options: argparse.Namespace) -> None:
    pair(x, y, (options.X, options.Y), narrower=False)
    if y.shape[1] > x.shape[1]:
        raise ValueError(
            f"{options.Y} has {y.shape[1]} columns, more than the {x.shape[1]} of {options.X}: "
            "give the data first, then the embedding"
        )


def _record(
    m: ub.Faithfulness, options: argparse.Namespace, graph: ub.Neighborhoods, found: Quality
) -> dict[str, Any]:
    """Return the object that --json prints."""
    return {
        **m.to_dict(),
        "interval": {name: m.interval(name) for name in m.standard_error},
        "worst": words.worst(m),
        "x": options.X,
        "y": options.Y,
        **words.statements_in_record(found),
        "n_neighbors": graph.n_neighbors,
        "radius": options.radius,
        "n_alone": int((graph.sizes == 0).sum()),
        "include_self": not options.without_self,
        "seed": options.seed,
        "version": ub.__version__,
    }


def _lines(
    m: ub.Faithfulness, options: argparse.Namespace, graph: ub.Neighborhoods, x: Any, found: Quality
) -> Iterator[str]:
    """Yield the lines for people."""
    d = found.shape[1]
    yield f"data       {words.sized(options.X, x.shape)}"
    yield f"embedding  {words.sized(options.Y, (len(x), d))}"
    yield from entry("measured", _neighborhoods_in_words(m, options, graph))
    if found.cut_sentence:
        yield from entry("left out" if found.is_cleaned else "cut", found.cut_sentence)
    yield ""
    yield from words.number_lines(m, d)
    yield ""
    if m.n_degenerate:
        text = f"{m.n_degenerate:,} neighborhoods whose points coincide while their images do not"
        yield from entry("  left out", text)
    alone = int((graph.sizes == 0).sum())
    if alone:
        yield from entry("  alone", f"{alone:,} points without neighbors, which count as perfect")
    yield from words.statement_lines(m, found)


def _neighborhoods_in_words(m: ub.Faithfulness, options: argparse.Namespace, graph: ub.Neighborhoods) -> str:
    which = f"{m.n_centers:,} neighborhoods"
    if m.n_centers < m.n_points:
        which = f"random sample of {which}, of {m.n_points:,} (seed {options.seed})"
    own = "without the point itself" if options.without_self else "and the point itself"
    if options.radius is None:
        return f"{which}, {graph.n_neighbors} neighbors each {own}"
    sizes = graph.sizes
    return f"{which}, radius {options.radius:g} ({sizes.min():,} to {sizes.max():,} neighbors) {own}"


COMMAND = Command(
    run,
    "judge an embedding from any tool",
    """\
Measure how faithfully the embedding Y shows the neighborhoods of the data X.

Row i of Y is the image of row i of X. Both can be .npy, .npz, .csv, .tsv,
.parquet, .h5ad or .zarr files. An .npz is read from its array X, from its only
array, or from the one you name: file.npz:NAME; an .h5ad from cells.h5ad:NAME.
For a table you can name the columns to read, data.csv:height,width, or the
columns to leave out, data.csv:-name,-kind, or give their numbers,
data.csv:3-10. Y can also be a model that unbend embed --save wrote. If Y was
cut, the pairs of neighbors that the cut parts do not count as neighbors; a
model knows its cut, or its short circuits.
""",
    f"""\
X  data, one point per row
Y  embedding, rows in the same order
--all  all measures, as in unbend.quality
--coordinates U  true coordinates: with --all, adds the measure M_t
--cut-pairs FILE  pairs of neighbors that the cut of Y parts
--without-self  neighborhoods without their own point
{SAMPLING}""",
    """\
examples:
  unbend measure roll.npy umap.npy
  unbend measure run.npz:X run.npz:umap -k 20 --json
  unbend measure big.npy tsne.npy --centers 10000 --seed 7
  unbend measure roll.npy umap.npy --all
  unbend measure tube.npy flat.npy --cut-pairs pairs.npy

--json prints one object: the means and counts of unbend.faithfulness under
their names there, with the 95 % intervals of the means, the worst 1 % of the
points, n_alone, the number of points without neighbors, and the statements as
"findings". "whole" holds the same numbers with the pairs that are left out.
Numbers that are not finite are null. With --all it is the result of
unbend.quality.
""",
)
