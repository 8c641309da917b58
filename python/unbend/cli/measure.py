"""`unbend measure`: judge an embedding from any tool."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..core.jsonable import finite
from .arguments import UsageError
from .words import belonging, reading, rows, sampling, show, sized, worst, worst_lines, wrapped

if TYPE_CHECKING:
    from ..graph.neighbors import Neighborhoods
    from ..judge.quality import Quality
    from ..metrics import Faithfulness

__all__ = ["run"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from ..core.progress import Progress
    from ..files.tables import read_points
    from ..graph.neighbors import neighborhoods
    from ..metrics import faithfulness

    x, y = read_points(options.X), read_points(options.Y)
    _check_pair(x, y, options)
    watch = Progress(sys.stderr.isatty())
    if options.all:
        if options.without_self:
            raise UsageError("--all has no --without-self")
        with watch.stage("measures"):
            found = _quality(x, y, options)
        show(found, options)
        return
    if options.coordinates is not None:
        raise UsageError("--coordinates is for --all")
    with watch.stage("neighbours"):
        graph = neighborhoods(x, options.neighbors, radius=options.radius, n_jobs=options.jobs)
    if graph.sizes.max() == 0:
        raise ValueError(f"no point has a neighbour within radius = {options.radius}")
    with watch.stage("measures"):
        m = faithfulness(
            x,
            y,
            neighborhoods=graph,
            include_self=not options.without_self,
            n_centers=options.centers,
            half_width=options.half_width,
            random_state=options.seed,
            n_jobs=options.jobs,
        )
    if options.json:
        print(json.dumps(finite(_record(m, options, graph)), allow_nan=False))
    else:
        print("\n".join(_table(m, options, graph, x, y)))


def _quality(x: Any, y: Any, options: argparse.Namespace) -> Quality:
    from ..judge.quality import quality

    coordinates = None if options.coordinates is None else belonging(x, options.coordinates, options)
    return quality(x, y, n_neighbors=options.neighbors, coordinates=coordinates, **sampling(options))


def _check_pair(x: Any, y: Any, options: argparse.Namespace) -> None:
    """Say in the words of the command line what cannot be compared."""
    from ..metrics.sampling import pair

    pair(x, y, (options.X, options.Y), narrower=False)
    if y.shape[1] > x.shape[1]:
        raise ValueError(
            f"{options.Y} has {y.shape[1]} columns, more than the {x.shape[1]} of {options.X}: "
            "give the data first, then the embedding"
        )


def _record(m: Faithfulness, options: argparse.Namespace, graph: Neighborhoods) -> dict[str, Any]:
    """Return what --json prints."""
    from .. import __version__

    count, mean, points = worst(m)
    return {
        **m.to_dict(),
        "interval": {name: m.interval(name) for name in m.standard_error},
        "worst": {"n_points": count, "r_n": mean, "points": points},
        "x": options.X,
        "y": options.Y,
        "n_neighbors": graph.n_neighbors,
        "radius": options.radius,
        "n_alone": int((graph.sizes == 0).sum()),
        "include_self": not options.without_self,
        "seed": options.seed,
        "version": __version__,
    }


def _table(
    m: Faithfulness,
    options: argparse.Namespace,
    graph: Neighborhoods,
    x: Any,
    y: Any,
) -> Iterator[str]:
    """Yield the lines that a person reads."""
    yield f"data       {sized(options.X, x.shape)}"
    yield f"embedding  {sized(options.Y, y.shape)}"
    yield from wrapped(f"measured   {_neighborhoods_in_words(m, options, graph)}", 11)
    yield ""
    yield from rows(m, y.shape[1])
    yield ""
    if m.n_degenerate:
        yield from wrapped(
            f"  left out   {m.n_degenerate:,} neighbourhoods: their points coincide, their images do not", 13
        )
    alone = int((graph.sizes == 0).sum())
    if alone:
        yield from wrapped(f"  alone      {alone:,} points without any neighbour, which count as perfect", 13)
    yield from worst_lines(m)
    in_words = reading(m, x, y, graph, include_self=not options.without_self, jobs=options.jobs)
    yield from wrapped(f"  reading    {in_words}", 13)


def _neighborhoods_in_words(m: Faithfulness, options: argparse.Namespace, graph: Neighborhoods) -> str:
    which = f"{m.n_centers:,} neighbourhoods"
    if m.n_centers < m.n_points:
        which += f" drawn from {m.n_points:,} (seed {options.seed})"
    own = "without the point itself" if options.without_self else "and the point itself"
    if options.radius is None:
        return f"{which}, {graph.n_neighbors} neighbours each {own}"
    sizes = graph.sizes
    return f"{which}, all within {options.radius:g} ({sizes.min():,} to {sizes.max():,} neighbours) {own}"
