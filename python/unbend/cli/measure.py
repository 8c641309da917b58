"""`unbend measure`: judge an embedding from any tool."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import unbend as ub

from ..core.progress import Progress
from ..files import read_pairs, read_points
from ..judge.cut import cut_sentence
from ..metrics.sampling import pair
from ..metrics.subject import Subject
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
    subject, k = Subject.of(x, source, cut, options.Y), options.neighbors
    if k is None and options.radius is None:
        k = subject.n_neighbors
    with progress.stage("neighbors"):
        graph = ub.neighborhoods(x, k, **sizes, n_jobs=options.jobs)
    if graph.sizes.max() == 0:
        raise ValueError(f"no point has a neighbor within radius = {options.radius}")
    with progress.stage("measures"):
        m = ub.faithfulness(
            x,
            subject.y,
            neighborhoods=graph,
            include_self=not options.without_self,
            cut=subject.cut,
            **words.sampling(options),
        )
    words.show(options, _record(m, options, graph, subject), _lines(m, options, graph, x, subject))


def _check_pair(x: Any, y: Any, options: argparse.Namespace) -> None:
    pair(x, y, (options.X, options.Y), narrower=False)
    if y.shape[1] > x.shape[1]:
        raise ValueError(
            f"{options.Y} has {y.shape[1]} columns, more than the {x.shape[1]} of {options.X}: "
            "give the data first, then the embedding"
        )


def _record(
    m: ub.Faithfulness, options: argparse.Namespace, graph: ub.Neighborhoods, subject: Subject
) -> dict[str, Any]:
    """Return the object that --json prints."""
    return {
        **m.to_dict(),
        "interval": {name: m.interval(name) for name in m.standard_error},
        "worst": words.worst(m),
        "x": options.X,
        "y": options.Y,
        "fit_sentence": subject.fit_sentence,
        "n_neighbors": graph.n_neighbors,
        "radius": options.radius,
        "n_alone": int((graph.sizes == 0).sum()),
        "include_self": not options.without_self,
        "seed": options.seed,
        "version": ub.__version__,
    }


def _lines(
    m: ub.Faithfulness, options: argparse.Namespace, graph: ub.Neighborhoods, x: Any, subject: Subject
) -> Iterator[str]:
    """Yield the lines for people."""
    y = subject.y
    yield f"data       {words.sized(options.X, x.shape)}"
    yield f"embedding  {words.sized(options.Y, y.shape)}"
    yield from entry("measured", _neighborhoods_in_words(m, options, graph))
    if m.n_cut_pairs:
        yield from entry("cut", cut_sentence(m.n_cut_pairs, m))
    yield ""
    yield from words.number_lines(m, y.shape[1])
    yield ""
    if m.n_degenerate:
        text = f"{m.n_degenerate:,} neighborhoods whose points coincide while their images do not"
        yield from entry("  left out", text)
    alone = int((graph.sizes == 0).sum())
    if alone:
        yield from entry("  alone", f"{alone:,} points without neighbors, which count as perfect")
    own = not options.without_self
    yield from words.verdict_lines(m, x, graph, subject, include_self=own, n_jobs=options.jobs)


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
model knows its cut.
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
points, and n_alone, the number of points without neighbors. "whole" holds the
same numbers with the pairs that a cut parts. Numbers that are not finite are
null. With --all it is the result of unbend.quality.
""",
)
