"""`unbend compare` and `unbend report`: several embeddings of the same data, in numbers and on a page."""

from __future__ import annotations

import argparse
from typing import Any

import unbend as ub

from ..files import check_target, read_labels, read_pairs, read_points, read_values, split_key
from ..report import SUFFIXES
from .options import COMPARED, SAMPLING, Command, UsageError
from .words import coordinates, read_embedding, sampling, show, shows_progress

__all__ = ["COMPARE", "REPORT"]

EMBEDDINGS: dict[str, dict[str, Any]] = {
    "Y": {"nargs": "+"},
    "by": {"default": None},
    "cut_pairs": {"action": "append", "default": []},
}


def compare(options: argparse.Namespace) -> None:
    """Run `unbend compare`."""
    x = read_points(options.X)
    found = ub.compare(x, **_shared(x, options), coordinates=coordinates(x, options))
    show(options, found.to_dict(), [found])


def report(options: argparse.Namespace) -> None:
    """Run `unbend report`."""
    check_target(options.output, force=options.force, suffixes=SUFFIXES)
    x = read_points(options.X)
    try:
        page = ub.report(
            x,
            path=options.output,
            **_shared(x, options),
            labels=None if options.labels is None else read_labels(options.labels, len(x)),
            values=_values(len(x), options),
            images=None if options.image_shape is None else _images(x, options),
            title=options.title,
            force=options.force,
        )
    except ImportError as error:
        raise UsageError(str(error)) from error
    show(options, page.comparison.to_dict() | {"path": str(page.path)}, [page])


def _values(n: int, options: argparse.Namespace) -> dict[str, Any]:
    """Read the numbers to color by. If files share a name, the file is added to it."""
    found: dict[str, Any] = {}
    for file in options.values or ():
        for name, values in read_values(file, n).items():
            found[f"{name} ({file})" if name in found else name] = values
    return found


def _shared(x: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that both commands share."""
    names = "all" if options.measures is None else [name.strip() for name in options.measures.split(",")]
    named = _named(options.Y)
    return {
        "embeddings": {name: read_embedding(x, file, options) for name, file in named.items()},
        "cuts": _cuts(x, list(named), options),
        "measures": names,
        "n_neighbors": options.neighbors,
        "by": options.by,
        "radius": options.radius,
        "verbose": shows_progress(options),
        **sampling(options),
    }


def _cuts(x: Any, names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return the pairs of each --cut-pairs by its embedding; a single embedding need not be named."""
    cuts: dict[str, Any] = {}
    for text in options.cut_pairs:
        single = names[0] if len(names) == 1 else None
        name = next((name for name in names if text.startswith(f"{name}=")), single)
        if name is None:
            known = ", ".join(names)
            raise UsageError(f"--cut-pairs {text} is not of the form NAME=FILE, where NAME is one of {known}")
        if name in cuts:
            raise UsageError(f"--cut-pairs is given twice for {name}: give one file")
        cuts[name] = read_pairs(text.removeprefix(f"{name}="), len(x))
    return cuts


def _named(files: list[str]) -> dict[str, str]:
    """Return the files by their names: short ones if these differ."""
    for file in files:
        if files.count(file) > 1:
            raise UsageError(f"{file} is given twice: give each embedding once")
    short = [split_key(file, "arrays")[1] or split_key(file)[0].stem for file in files]
    return dict(zip(short if len(set(short)) == len(short) else files, files, strict=True))


def _images(x: Any, options: argparse.Namespace) -> Any:
    height, width = options.image_shape
    if height * width != x.shape[1]:
        raise UsageError(
            f"--image-shape {height},{width} makes {height * width} numbers, "
            f"but {options.X} has {x.shape[1]} columns"
        )
    return x.reshape(len(x), height, width)


COMPARE = Command(
    compare,
    "rank several embeddings of the same data",
    """\
Measure several embeddings of the data X in every way, and rank them.

Row i of each embedding is the image of row i of X. All embeddings are measured
at the same points. An embedding is named after its file, without folder and
suffix, or after its array in an .npz: file.npz:NAME. It can also be a model
that unbend embed --save wrote. Pairs of neighbors that the cut of an embedding
parts do not count as neighbors in its numbers, but embeddings are ranked with
them.
""",
    f"""\
{COMPARED}--coordinates U  true coordinates: adds the measure M_t
{SAMPLING}""",
    """\
examples:
  unbend compare roll.npy umap.npy psa.npy
  unbend compare run.npz:X run.npz:umap run.npz:tsne --by trustworthiness
  unbend compare big.npy a.npy b.npy --centers auto --measures procrustes,ranks

Measures have the names of unbend.quality, or those of their families:
procrustes, nieqa, ranks, geodesic, distances. --json prints one object: all
numbers with their 95 % intervals, and the ranks by each measure.
""",
    EMBEDDINGS,
)

REPORT = Command(
    report,
    "show embeddings side by side on an HTML page",
    """\
Write an HTML page that shows several embeddings of the data X. It is one file
and works without a network.

The page has a verdict in words, a table of measures with 95 % intervals, and a
plot of each embedding, colored by the error of each point, to pan, zoom and
select in. Row i of each embedding is the image of row i of X. For a model that
unbend embed --save wrote, both sides of a cut are shown in one color. Needs
pip install 'unbend[report]'.
""",
    f"""\
{COMPARED}-o, --output HTML  page to write
--force  replace an existing file
--labels FILE  a label for each point, as cells.csv:kind
--values FILE  numbers to color by, as cells.csv:size,age; can be repeated
--image-shape H,W  rows of X are images of this shape
--title TEXT  title of the page
--quiet  print only errors, no warnings and no progress
{SAMPLING}""",
    """\
examples:
  unbend report roll.npy umap.npy psa.npy -o report.html
  unbend report run.npz run.npz:umap run.npz:tsne -o r.html --labels names.txt
  unbend report cells.h5ad cells.h5ad:X_umap -o c.html --values cells.h5ad:CD3
  unbend report faces.npz flat.npy -o faces.html --image-shape 28,20
  unbend report scan.npy scan.unbend umap.npy -o scan.html

Labels are an array in an .npy or .npz, a column of a table as cells.csv:kind,
a column of obs as cells.h5ad:celltype, or a text file with one on each line.
Values are numbers from the same files; from a table without names of columns,
all that hold numbers; from an .h5ad also a gene. --json prints the same object
as compare, with the path of the page.
""",
    {**EMBEDDINGS, "values": {"action": "append"}},
)
