"""What the command line takes, and what it says of itself."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from ..choose.methods import NORMALIZED

__all__ = ["COMMANDS", "UsageError", "parser"]

_METHODS = ("gp", "psa", "isomap", "classical", "pca", "random")

_EXIT_CODES = """\
exit codes:
  0    done
  1    an unexpected failure (set UNBEND_DEBUG=1 to see where)
  2    bad usage or bad input; one line on standard error says what
  130  interrupted by Ctrl-C
"""

_EPILOG = f"""\
examples:
  unbend embed roll.npy -o flat.npy
  unbend measure roll.npy umap.npy

{_EXIT_CODES}"""

_EMBED = """\
Embed the data X: lay them flat without stretching them, as far as that goes.

X can be an .npy, .npz, .csv, .tsv, .parquet, .h5ad or .zarr file; from an .npz
the array X is taken, or the only one, or the one you name: file.npz:NAME. From
an .h5ad it is X_pca, or file.h5ad:NAME. The suffix of the output says what is
written, of the same kinds but .zarr; an .h5ad made from an .h5ad has all that
is in it, and the embedding as X_psa, after the method, or as file.h5ad:NAME.
"""

_EMBED_EPILOG = f"""\
methods:
  gp         greedy Procrustes (Goldberg & Ritov 2009): fastest
  psa        Procrustes subspaces alignment, of the same paper: all
             neighbourhoods at once; the better choice under noise
  isomap     distances along the graph (Tenenbaum et al. 2000); --landmarks auto
             beyond 20,000 points
  classical  classical scaling of Euclidean distances
  pca        principal components
  random     random projection (Johnson & Lindenstrauss 1984), to as many
             dimensions as keep all distances to 10 %
  lle, mlle, ltsa, hlle, lem, dfm
             with normalised axes, for comparison: locally linear embedding,
             modified LLE, local tangent space alignment, Hessian LLE, Laplacian
             eigenmaps, diffusion maps; --rectify gives them the proportions of
             the data where that can be done

examples:
  unbend embed roll.npy -o flat.npy
  unbend embed huge.npy -o flat.npy --method psa --max-memory 4G
  unbend embed cells.csv -o flat.csv -d 3 -k 20 --tangent-neighbors 60
  unbend embed scan.npz:points -o flat.npy --method psa --cut yes
  unbend embed roll.npy -o flat.npy --save roll.unbend --json
  unbend embed cells.h5ad:X_pca -o cells-flat.h5ad --method psa

--max-memory: where the data need more, they are embedded in cells, read from an
.npy or .zarr file and written to an .npy. What is finished is kept beside the
output, in OUTPUT.parts: the same command continues a run that was killed.

--json prints one object: what unbend.faithfulness returns, as measure does,
with the seconds of every stage ("seconds") and how the refinement ended.

{_EXIT_CODES}"""

_TRANSFORM = """\
Place new points X in an embedding that was saved by unbend embed --save.

Each point is carried by the motion that fits its neighbours among the embedded
points. With --inverse, X are points of the embedding, and their places in the
space of the data are found.
"""

_TRANSFORM_EPILOG = f"""\
examples:
  unbend transform roll.unbend new.npy -o placed.npy
  unbend transform roll.unbend placed.npy -o back.npy --inverse

--json prints one object: the mean and the worst error of all points.

{_EXIT_CODES}"""

_MEASURE = """\
Measure how faithfully the embedding Y shows the neighbourhoods of the data X.

Row i of Y is the image of row i of X. Both can be .npy, .npz, .csv, .tsv,
.parquet, .h5ad or .zarr files; from an .npz the array X is taken, or the only
one, or the one you name: file.npz:NAME, cells.h5ad:X_umap.
"""

_MEASURE_EPILOG = f"""\
examples:
  unbend measure roll.npy umap.npy
  unbend measure run.npz:X run.npz:umap -k 20 --json
  unbend measure big.npy tsne.npy --centers 10000 --seed 7
  unbend measure roll.npy umap.npy --all

--json prints one object: the means and counts that unbend.faithfulness returns,
under the same names, with the 95 % intervals of the means, the worst 1 % of the
points, and n_alone, the number of points without any neighbour. A number that
is not finite is null. With --all it is what unbend.quality returns.

{_EXIT_CODES}"""

_COMPARE = """\
Measure several embeddings of the data X in every way, and rank them.

Row i of each is the image of row i of X. All are measured at the same points.
An embedding is called by its file without folder and suffix, or by its name in
an .npz: file.npz:NAME. A model that unbend embed --save wrote will do as well.
"""

_COMPARE_EPILOG = f"""\
examples:
  unbend compare roll.npy umap.npy psa.npy
  unbend compare run.npz:X run.npz:umap run.npz:tsne --by trustworthiness
  unbend compare big.npy a.npy b.npy --centers auto --measures procrustes,ranks

measures are the names that unbend.quality uses, or their families: procrustes,
nieqa, ranks, geodesic, distances. --json prints one object: all numbers with
their 95 % intervals, and the ranks in each measure.

{_EXIT_CODES}"""

_DIAGNOSE = """\
Tell whether algorithms that normalise their output would collapse the data X:
LLE, LTSA, Hessian LLE, Laplacian eigenmaps (LEM) and diffusion maps (DFM).

None of them is run. On data that are longer than wide they prefer curves to
the truth, by how much depends on the neighbours and the noise.
"""

_DIAGNOSE_EPILOG = f"""\
examples:
  unbend diagnose roll.npy
  unbend diagnose run.npz:X --coordinates run.npz:true -k 12 --json
  unbend diagnose roll.npy --plot price.png

Coordinates are found by Procrustes alignment where none are given; the verdict
is as good as they are. --json prints one object: for each algorithm all that
unbend.price_of_normalization returns.

{_EXIT_CODES}"""

_REPORT = """\
Write a page that shows several embeddings of the data X: one HTML file that
works without a network.

In it: what the numbers say, a table of them with intervals, and a picture of
each embedding to pan, zoom and select in, coloured by the error of each point.
Row i of each is the image of row i of X. Of a model that unbend embed --save
wrote, the two sides of its cut are shown in one colour, if there is one. Needs
pip install 'unbend[report]'.
"""

_REPORT_EPILOG = f"""\
examples:
  unbend report roll.npy umap.npy psa.npy -o report.html
  unbend report run.npz run.npz:umap run.npz:tsne -o r.html --labels names.txt
  unbend report faces.npz flat.npy -o faces.html --image-shape 28,20
  unbend report scan.npy scan.unbend umap.npy -o scan.html

labels are an array in an .npy or .npz, a column of a table as cells.csv:kind,
or a text file with one on each line.
--json prints what compare does, and the path of the page.

{_EXIT_CODES}"""

_SELECT = """\
Choose the number of neighbours, the dimension and the method for the data X by
what comes out: what is faithful on the same neighbourhoods for all, and shows
nothing side by side that is far apart. Only what can still be chosen is
embedded, unless all is asked for. Also says what dimension the data have, which
numbers of neighbours are too small (the graph falls apart) and which too large
(it joins what is far apart).
"""

_SELECT_EPILOG = f"""\
examples:
  unbend select roll.npy
  unbend select cells.csv -k 6:30:2 -d 1:4 --methods gp,psa -o flat.csv
  unbend select roll.npy -k 8,12,16 --json

6:30:2 is 6, 8, ..., 30; both ends belong to it. methods: gp, psa, isomap, and
rectified lle, mlle, ltsa, hlle, lem, dfm. Ctrl-C ends the sweep and prints what
there is by then, with exit code 130. --json prints one object: all embeddings
with their numbers, the neighbourhoods, the dimension, the rule, what it chose.

{_EXIT_CODES}"""

_DEMO = """\
Flatten a swiss roll in several ways and measure each of them.

Prints the measures and the time of every stage, and draws a picture, which
needs matplotlib: pip install 'unbend[plot]'.
"""

_DEMO_EPILOG = f"""\
examples:
  unbend demo
  unbend demo --n 5000 -o pictures

{_EXIT_CODES}"""


class UsageError(Exception):
    """The command line makes no sense."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong, so that one place prints it."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def parser() -> _Parser:
    """Return the parser of the whole command line."""
    from .. import __version__

    parser = _Parser(
        prog="unbend",
        description="Flatten manifolds without stretching them,\nand measure how faithful any embedding is.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"unbend {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for add in COMMANDS.values():
        add(commands)
    return parser


def _add_embed(commands: Any) -> None:
    parser = commands.add_parser(
        "embed", help="lay data flat without stretching them", description=_EMBED, epilog=_EMBED_EPILOG
    )
    parser.add_argument("X", help="the data, one point a row")
    _add_output(parser)
    parser.add_argument("-d", "--dimensions", type=int, metavar="D", help="of the embedding (2)")
    parser.add_argument(
        "-k", "--neighbors", type=int, metavar="K", help="other points per neighbourhood (12)"
    )
    parser.add_argument(
        "--method",
        choices=[*_METHODS, *NORMALIZED],
        default="gp",
        metavar="METHOD",
        help="the algorithm, see below (gp)",
    )
    parser.add_argument(
        "--refine", choices=["auto", "global", "pointwise", "none"], default="auto", help="afterwards (auto)"
    )
    parser.add_argument(
        "--tangent-neighbors", type=int, metavar="N", help="find tangents from N neighbours (by the noise)"
    )
    parser.add_argument(
        "--cut",
        choices=["auto", "yes", "no"],
        default="auto",
        help="gp, psa: cut open what cannot lie flat (auto: where it would lie on itself)",
    )
    parser.add_argument("--init", type=int, default=4, metavar="N", help="gp: starts; the best is kept (4)")
    parser.add_argument(
        "--alignment",
        choices=["tree", "spectral", "projection", "anneal", "auto"],
        default="tree",
        help="psa: how tangents are aligned (tree)",
    )
    parser.add_argument(
        "--landmarks", type=_auto_or_count, metavar="N", help="isomap, classical: N points, or auto (all)"
    )
    parser.add_argument("--rectify", action="store_true", help="lle to dfm: undo that axes were normalised")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="where starts are drawn from (0)")
    parser.add_argument("--save", metavar="MODEL", help="save the model for unbend transform")
    parser.add_argument(
        "--max-memory",
        type=_bytes,
        metavar="SIZE",
        help="gp, psa: hold no more, as 4G; what does not fit is embedded in cells",
    )
    parser.add_argument("--points-per-cell", type=int, metavar="N", help="embed in cells of about N points")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_transform(commands: Any) -> None:
    parser = commands.add_parser(
        "transform",
        help="place new points in a saved embedding",
        description=_TRANSFORM,
        epilog=_TRANSFORM_EPILOG,
    )
    parser.add_argument("model", help="what unbend embed --save wrote")
    parser.add_argument("X", help="the points, one a row")
    _add_output(parser)
    parser.add_argument("--inverse", action="store_true", help="from the embedding to the space of the data")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_output(parser: _Parser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="Y", help="the file to write")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="number of threads (all)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _add_measure(commands: Any) -> None:
    parser = commands.add_parser(
        "measure",
        help="judge an embedding from any tool",
        description=_MEASURE,
        epilog=_MEASURE_EPILOG,
    )
    parser.add_argument("X", help="the data, one point a row")
    parser.add_argument("Y", help="its embedding, in the same order")
    parser.add_argument("--all", action="store_true", help="every measure there is, as unbend.quality")
    parser.add_argument("--coordinates", metavar="U", help="with --all, the true coordinates: adds M_t")
    parser.add_argument(
        "--without-self", action="store_true", help="leave each point out of its own neighbourhood"
    )
    _add_sampling(parser)


def _add_compare(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="rank several embeddings of the same data",
        description=_COMPARE,
        epilog=_COMPARE_EPILOG,
    )
    parser.add_argument("X", help="the data, one point a row")
    parser.add_argument("Y", nargs="+", help="its embeddings, in the same order")
    parser.add_argument("--by", default="r_c", metavar="NAME", help="the measure that ranks them (r_c)")
    parser.add_argument("--measures", metavar="NAMES", help="measures or families, with commas (all)")
    parser.add_argument("--coordinates", metavar="U", help="the true coordinates: adds M_t")
    _add_sampling(parser)


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="show embeddings side by side on a page",
        description=_REPORT,
        epilog=_REPORT_EPILOG,
    )
    parser.add_argument("X", help="the data, one point a row")
    parser.add_argument("Y", nargs="+", help="its embeddings, in the same order")
    parser.add_argument("-o", "--output", required=True, metavar="HTML", help="the page to write")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")
    parser.add_argument("--labels", metavar="FILE", help="what each point is called")
    parser.add_argument(
        "--image-shape", type=_shape, metavar="H,W", help="rows of X are pictures of this height and width"
    )
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    parser.add_argument("--by", default="r_c", metavar="NAME", help="the measure that ranks them (r_c)")
    parser.add_argument("--measures", metavar="NAMES", help="measures or families, with commas (all)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    _add_sampling(parser)


def _shape(text: str) -> tuple[int, ...]:
    try:
        height, width = map(int, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no height and width, as 28,20") from None
    return height, width


def _add_sampling(parser: _Parser) -> None:
    """Add what all that measure have: neighbourhoods, which of them, threads and JSON."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument("-k", "--neighbors", type=int, metavar="K", help="other points per neighbourhood (12)")
    size.add_argument("--radius", type=float, metavar="R", help="instead: all others within this distance")
    parser.add_argument(
        "--centers",
        type=_auto_or_count,
        metavar="N",
        help="measure N points drawn at random, or auto: as needed",
    )
    parser.add_argument(
        "--half-width",
        type=float,
        default=0.005,
        metavar="W",
        help="how near 95 %% intervals of --centers auto come (0.005)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which ones are drawn (0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="number of threads (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _bytes(text: str) -> int:
    """Return a number of bytes: 500M, 4G; units are powers of 1000."""
    units = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", text.strip().upper())
    if match is None or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, as 500M or 4G")
    return int(float(match[1]) * units[match[2]])


def _auto_or_count(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor auto") from None


def _add_diagnose(commands: Any) -> None:
    parser = commands.add_parser(
        "diagnose",
        help="would LLE, LTSA, Laplacian eigenmaps collapse the data?",
        description=_DIAGNOSE,
        epilog=_DIAGNOSE_EPILOG,
    )
    parser.add_argument("X", help="the data, one point a row")
    parser.add_argument("--coordinates", metavar="U", help="true or believed ones (found by psa)")
    parser.add_argument("-d", "--dimensions", type=int, metavar="D", help="of coordinates to be found (2)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("-k", "--neighbors", type=int, metavar="K", help="other points per neighbourhood (8)")
    size.add_argument("--radius", type=float, metavar="R", help="instead: all others within this distance")
    parser.add_argument("--plot", metavar="FILE", help="draw the coordinates, the curve and the forecast")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="number of threads (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_select(commands: Any) -> None:
    parser = commands.add_parser(
        "select",
        help="choose neighbours, dimension and method",
        description=_SELECT,
        epilog=_SELECT_EPILOG,
    )
    parser.add_argument("X", help="the data, one point a row")
    parser.add_argument("-k", "--neighbors", metavar="K", help="numbers of neighbours (6:24:2)")
    parser.add_argument("-d", "--dimensions", metavar="D", help="dimensions (that of the data)")
    parser.add_argument("--methods", default="gp,psa", metavar="NAMES", help="with commas (gp,psa)")
    parser.add_argument("--exhaustive", action="store_true", help="embed what cannot be chosen, too")
    parser.add_argument(
        "--by", choices=["r_n", "r_n_scaled", "r_c"], default="r_n", help="what the score is made of (r_n)"
    )
    parser.add_argument("--centers", type=int, default=2000, metavar="N", help="measure N points (2000)")
    parser.add_argument("-o", "--output", metavar="Y", help="write the embedding that is chosen")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="what is drawn (0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="number of threads (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo", help="a swiss roll, flattened and measured", description=_DEMO, epilog=_DEMO_EPILOG
    )
    parser.add_argument("--n", type=int, default=100_000, metavar="N", help="number of points (100000)")
    parser.add_argument("-o", "--output", default="demo", metavar="DIR", help="folder of the picture (demo)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, all else on stderr")


COMMANDS = {
    "embed": _add_embed,
    "transform": _add_transform,
    "measure": _add_measure,
    "compare": _add_compare,
    "report": _add_report,
    "diagnose": _add_diagnose,
    "select": _add_select,
    "demo": _add_demo,
}
