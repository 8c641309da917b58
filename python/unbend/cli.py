"""The command `unbend`. What is slow to import is imported by the command that needs it."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from .align import ProcrustesAlignment
    from .embed import GreedyProcrustes, _Embedding
    from .metrics import Faithfulness
    from .neighbors import Neighborhoods

__all__ = ["main"]

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

WIDTH = 79

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

X can be an .npy, .npz, .csv, .tsv or .parquet file; from an .npz the array X is
taken, or the only one, or the one you name: file.npz:NAME. The suffix of the
output says what is written, of the same kinds.
"""

_EMBED_EPILOG = f"""\
methods:
  gp   greedy Procrustes (Goldberg & Ritov 2009): fastest
  psa  Procrustes subspaces alignment, of the same paper: all neighbourhoods at
       once; the better choice under noise

examples:
  unbend embed roll.npy -o flat.npy
  unbend embed cells.csv -o flat.csv -d 3 -k 20 --tangent-neighbors 60
  unbend embed scan.npz:points -o flat.npy --method psa
  unbend embed roll.npy -o flat.npy --save roll.unbend --json

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

{_EXIT_CODES}"""

_MEASURE = """\
Measure how faithfully the embedding Y shows the neighbourhoods of the data X.

Row i of Y is the image of row i of X. Both can be .npy, .npz, .csv, .tsv or
.parquet files; from an .npz the array X is taken, or the only one, or the one
you name: file.npz:NAME.
"""

_MEASURE_EPILOG = f"""\
examples:
  unbend measure roll.npy umap.npy
  unbend measure run.npz:X run.npz:umap -k 20 --json
  unbend measure big.npy tsne.npy --centers 10000 --seed 7

--json prints one object: the means and counts that unbend.faithfulness returns,
under the same names, with the 95 % intervals of the means, the worst 1 % of the
points, and n_alone, the number of points without any neighbour. A number that
is not finite is null.

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


class _UsageError(Exception):
    """The command line makes no sense."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises what is wrong, so that one place prints it."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")


def main(argv: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    argv : list of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        The exit code: 0 done, 1 unexpected failure, 2 bad usage or bad input, 130 interrupted.

    Examples
    --------
    >>> from unbend.cli import main
    >>> main(["measure", "--help"])  # doctest: +ELLIPSIS
    usage: unbend measure ...
    0
    """
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough. The interpreter must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (_UsageError, ValueError) as error:
        return _complain(f"error: {error}", BAD_INPUT)
    except MemoryError as error:
        return _complain(f"error: {error}" if str(error) else "error: out of memory", FAILED)
    except Exception as error:
        return _complain(f"error: {type(error).__name__}: {error}", FAILED)


def _run(argv: list[str] | None) -> int:
    try:
        options = _parser().parse_args(argv)
    except SystemExit as done:
        # After --help and --version.
        return int(done.code or OK)
    run = _COMMANDS.get(options.command)
    if run is None:
        raise _UsageError(f"give a command: {', '.join(_COMMANDS)} (see unbend --help)")
    run(options)
    return OK


def _complain(message: str, code: int) -> int:
    if code == FAILED and os.environ.get("UNBEND_DEBUG"):
        import traceback

        traceback.print_exc()
    print("unbend:", " ".join(message.split()), file=sys.stderr)
    return code


# The command line ----------------------------------------------------------------------------------------


def _parser() -> _Parser:
    from . import __version__

    parser = _Parser(
        prog="unbend",
        description="Flatten manifolds without stretching them,\nand measure how faithful any embedding is.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"unbend {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_embed(commands)
    _add_transform(commands)
    _add_measure(commands)
    _add_demo(commands)
    return parser


def _add_embed(commands: Any) -> None:
    parser = commands.add_parser(
        "embed", help="lay data flat without stretching them", description=_EMBED, epilog=_EMBED_EPILOG
    )
    parser.add_argument("X", help="the data, one point a row")
    _add_output(parser)
    parser.add_argument("-d", "--dimensions", type=int, default=2, metavar="D", help="of the embedding (2)")
    parser.add_argument(
        "-k", "--neighbors", type=int, metavar="K", help="other points per neighbourhood (12)"
    )
    parser.add_argument("--method", choices=list(_METHODS), default="gp", help="the algorithm (gp)")
    parser.add_argument(
        "--refine", choices=["auto", "global", "pointwise", "none"], default="auto", help="afterwards (auto)"
    )
    parser.add_argument(
        "--tangent-neighbors", type=int, metavar="N", help="find tangents from N neighbours (by the noise)"
    )
    parser.add_argument("--init", type=int, default=4, metavar="N", help="gp: starts; the best is kept (4)")
    parser.add_argument(
        "--alignment",
        choices=["tree", "spectral", "projection", "anneal", "auto"],
        default="tree",
        help="psa: how tangents are aligned (tree)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="where starts are drawn from (0)")
    parser.add_argument("--save", metavar="MODEL", help="save the model for unbend transform")
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
    size = parser.add_mutually_exclusive_group()
    size.add_argument("-k", "--neighbors", type=int, metavar="K", help="other points per neighbourhood (12)")
    size.add_argument("--radius", type=float, metavar="R", help="instead: all others within this distance")
    parser.add_argument(
        "--without-self", action="store_true", help="leave each point out of its own neighbourhood"
    )
    parser.add_argument("--centers", type=int, metavar="N", help="measure N neighbourhoods drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which ones are drawn (0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="number of threads (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo", help="a swiss roll, flattened and measured", description=_DEMO, epilog=_DEMO_EPILOG
    )
    parser.add_argument("--n", type=int, default=100_000, metavar="N", help="number of points (100000)")
    parser.add_argument("-o", "--output", default="demo", metavar="DIR", help="folder of the picture (demo)")


# embed ---------------------------------------------------------------------------------------------------


def _embed(options: argparse.Namespace) -> None:
    from .files import check_target, read_points, write_points

    check_target(options.output, force=options.force)
    if options.save is not None:
        _check_apart(options)
        check_target(options.save, force=options.force, suffixes=())
    x = read_points(options.X)
    with _warnings_in_one_line():
        model = _METHODS[options.method](options).fit(x)
    write_points(options.output, model.embedding_, force=options.force)
    if options.save is not None:
        model.save(options.save)
    if options.json:
        print(json.dumps(_finite(_embed_record(model, options)), allow_nan=False))
    elif not options.quiet:
        print("\n".join(_embed_table(model, options)))


def _check_apart(options: argparse.Namespace) -> None:
    if os.path.realpath(options.output) == os.path.realpath(options.save):
        raise _UsageError(f"--output and --save are both {options.save}: give them different names")


def _greedy_procrustes(options: argparse.Namespace) -> GreedyProcrustes:
    from .embed import GreedyProcrustes

    return GreedyProcrustes(n_init=options.init, **_shared(options))


def _procrustes_alignment(options: argparse.Namespace) -> ProcrustesAlignment:
    from .align import ProcrustesAlignment

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


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print what the library warns of as the command prints errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(
            "unbend: warning:", " ".join(str(message).split()), file=sys.stderr
        )
        yield


def _embed_record(model: _Embedding, options: argparse.Namespace) -> dict[str, Any]:
    """Return what --json prints."""
    from . import __version__

    m, refinement = model.faithfulness_, model.refinement_
    count, mean, worst = _worst(m)
    return {
        **m.to_dict(),
        "worst": {"n_points": count, "r_n": mean, "points": worst},
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


def _embed_table(model: _Embedding, options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines that a person reads."""
    m = model.faithfulness_
    yield f"data       {_sized(options.X, model.X_fit_.shape)}"
    yield from _wrapped(f"method     {_method_in_words(model)}", 11)
    yield f"embedding  {_sized(options.output, model.embedding_.shape)}"
    if options.save is not None:
        yield f"model      {options.save}"
    yield ""
    for stage, seconds in model.timings_.items():
        yield f"  {stage:<12}  {seconds:>9.2f} s"
    yield f"  {'together':<12}  {sum(model.timings_.values()):>9.2f} s"
    yield ""
    yield from _rows(m, model.n_components, only=("r_n", "lower_bound", "r_c", "overlap"))
    yield ""
    yield from _worst_lines(m)
    yield from _wrapped(f"  reading    {_reading(m)}", 13)


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


# transform -----------------------------------------------------------------------------------------------


def _transform(options: argparse.Namespace) -> None:
    from .files import check_target, read_points, write_points
    from .models import load

    check_target(options.output, force=options.force)
    model, x = load(options.model), read_points(options.X)
    _check_columns(model, x, options)
    place = model.inverse_transform if options.inverse else model.transform
    placed, errors = place(x, return_error=True)
    write_points(options.output, placed, force=options.force)
    if not options.quiet:
        print("\n".join(_transform_lines(model, x, placed, errors, options)))


def _check_columns(model: _Embedding, x: Any, options: argparse.Namespace) -> None:
    """Say in the words of the command line what does not belong together."""
    q, d = model.X_fit_.shape[1], model.embedding_.shape[1]
    expected, what = (d, "an embedding") if options.inverse else (q, "data")
    if x.shape[1] != expected:
        raise ValueError(
            f"{options.X} has {x.shape[1]} columns, but {options.model} has {what} of {expected} dimensions"
        )
    model.n_jobs = options.jobs


def _transform_lines(
    model: _Embedding, x: Any, placed: Any, errors: Any, options: argparse.Namespace
) -> Iterator[str]:
    yield f"model      {_sized(options.model, model.X_fit_.shape)}, embedded in {model.n_components}"
    yield f"points     {_sized(options.X, x.shape)}"
    yield f"placed     {_sized(options.output, placed.shape)}"
    yield ""
    yield f"  {'mean error':<12}  {errors.mean():>9.4g}  of the neighbours of a point, in units of the data"
    yield f"  {'worst error':<12}  {errors.max():>9.4g}  point {int(errors.argmax())}"


# measure -------------------------------------------------------------------------------------------------


def _measure(options: argparse.Namespace) -> None:
    from .files import read_points
    from .metrics import faithfulness
    from .neighbors import neighborhoods

    x, y = read_points(options.X), read_points(options.Y)
    _check_pair(x, y, options)
    graph = neighborhoods(x, options.neighbors, radius=options.radius, n_jobs=options.jobs)
    if graph.sizes.max() == 0:
        raise ValueError(f"no point has a neighbour within radius = {options.radius}")
    m = faithfulness(
        x,
        y,
        neighborhoods=graph,
        include_self=not options.without_self,
        n_centers=options.centers,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    if options.json:
        print(json.dumps(_finite(_record(m, options, graph)), allow_nan=False))
    else:
        print("\n".join(_table(m, options, graph, x.shape, y.shape)))


def _check_pair(x: Any, y: Any, options: argparse.Namespace) -> None:
    """Say in the words of the command line what cannot be compared."""
    if len(x) != len(y):
        raise ValueError(f"{options.X} has {len(x)} points, but {options.Y} has {len(y)}")
    if y.shape[1] > x.shape[1]:
        raise ValueError(
            f"{options.Y} has {y.shape[1]} columns, more than the {x.shape[1]} of {options.X}: "
            "give the data first, then the embedding"
        )


def _record(m: Faithfulness, options: argparse.Namespace, graph: Neighborhoods) -> dict[str, Any]:
    """Return what --json prints."""
    from . import __version__

    count, mean, worst = _worst(m)
    return {
        **m.to_dict(),
        "interval": {name: m.interval(name) for name in m.standard_error},
        "worst": {"n_points": count, "r_n": mean, "points": worst},
        "x": options.X,
        "y": options.Y,
        "n_neighbors": graph.n_neighbors,
        "radius": options.radius,
        "n_alone": int((graph.sizes == 0).sum()),
        "include_self": not options.without_self,
        "seed": options.seed,
        "version": __version__,
    }


def _finite(value: Any) -> Any:
    """Put None in the place of every number that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _worst(m: Faithfulness, share: float = 0.01, listed: int = 5) -> tuple[int, float, list[int]]:
    """Return how many points the worst 1 % are, their mean R_N, and the first few of them."""
    import numpy as np

    r_n = m.per_point["r_n"]
    measured = np.flatnonzero(np.isfinite(r_n))
    if len(measured) == 0:
        return 0, math.nan, []
    order = measured[np.argsort(-r_n[measured], kind="stable")][: math.ceil(share * len(measured))]
    return len(order), float(r_n[order].mean()), [int(point) for point in m.centers[order[:listed]]]


def _table(
    m: Faithfulness,
    options: argparse.Namespace,
    graph: Neighborhoods,
    x_shape: tuple[int, int],
    y_shape: tuple[int, int],
) -> Iterator[str]:
    """Yield the lines that a person reads."""
    yield f"data       {_sized(options.X, x_shape)}"
    yield f"embedding  {_sized(options.Y, y_shape)}"
    yield from _wrapped(f"measured   {_neighborhoods_in_words(m, options, graph)}", 11)
    yield ""
    yield from _rows(m, y_shape[1])
    yield ""
    if m.n_degenerate:
        yield from _wrapped(
            f"  left out   {m.n_degenerate:,} neighbourhoods: their points coincide, their images do not", 13
        )
    alone = int((graph.sizes == 0).sum())
    if alone:
        yield from _wrapped(
            f"  alone      {alone:,} points without any neighbour, which count as perfect", 13
        )
    yield from _worst_lines(m)
    yield from _wrapped(f"  reading    {_reading(m)}", 13)


def _sized(name: str, shape: tuple[int, int]) -> str:
    return f"{name}: {shape[0]:,} points in {shape[1]:,} dimension{'s' * (shape[1] != 1)}"


def _neighborhoods_in_words(m: Faithfulness, options: argparse.Namespace, graph: Neighborhoods) -> str:
    which = f"{m.n_centers:,} neighbourhoods"
    if m.n_centers < m.n_points:
        which += f" drawn from {m.n_points:,} (seed {options.seed})"
    own = "without the point itself" if options.without_self else "and the point itself"
    if options.radius is None:
        return f"{which}, {graph.n_neighbors} neighbours each {own}"
    sizes = graph.sizes
    return f"{which}, all within {options.radius:g} ({sizes.min():,} to {sizes.max():,} neighbours) {own}"


def _rows(m: Faithfulness, d: int, only: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield one line for each number, or some: its name, value, interval if there is one, and meaning."""
    sampled = m.n_centers < m.n_points
    yield f"  {'':<12}  {'value':>9}" + (f"  {'+- (95 %)':>9}" if sampled else "") + "  meaning"
    for name, field, meaning in (
        ("R_N", "r_n", "error relative to size; 0 is perfect"),
        ("lower bound", "lower_bound", f"the least R_N possible in {d} dimension{'s' * (d != 1)}"),
        ("R_N rescaled", "r_n_scaled", "R_N after the best scale; 0 is perfect"),
        ("best scale", "scale", "of the whole embedding; 1 is perfect"),
        ("R_C", "r_c", "error in shape alone; 0 is perfect"),
        ("R", "r", "squared error in units of X; 0 is perfect"),
        ("R_PCA", "r_pca", "R against local PCA; 0 is perfect"),
        ("overlap", "overlap", "distant points side by side; 0 is perfect"),
    ):
        if only and field not in only:
            continue
        yield f"  {name:<12}  {getattr(m, field):>9.4g}{_margin(m, field) if sampled else ''}  {meaning}"


def _margin(m: Faithfulness, field: str) -> str:
    """Return half the width of the 95 % interval in its column."""
    if field not in m.standard_error:
        return f"  {'':>9}"
    return f"  {m.interval(field)[1] - getattr(m, field):>9.2g}"


def _worst_lines(m: Faithfulness) -> Iterator[str]:
    count, mean, points = _worst(m)
    if count == 0:
        return
    first = ", ".join(map(str, points))
    many = f"{count:,} points, mean R_N {mean:.3g}; worst {first}"
    one = f"point {first}, R_N {mean:.3g}"
    yield from _wrapped(f"  worst 1 %  {one if count == 1 else many}", 13)


def _reading(m: Faithfulness) -> str:
    """Say in one phrase what the numbers together mean."""
    if m.n_degenerate == m.n_centers:
        return "nothing to compare: each neighbourhood of X is a single spot"
    from .metrics.folds import OVERLAPPING

    if m.lower_bound <= 0.25 and m.r_c <= 0.75 and m.overlap > OVERLAPPING:
        return f"distant points are laid on each other: overlap is above {100 * OVERLAPPING:g} %"
    if m.r_n_scaled <= 1.1 * m.lower_bound + 1e-9 and 0.9 < m.scale < 1.1:
        return "as faithful as an embedding of this dimension can be"
    count, mean, _ = _worst(m)
    if count * mean > 0.5 * m.r_n * (m.n_centers - m.n_degenerate):
        return "a few points make up most of R_N: look at the worst 1 %"
    if m.r_n_scaled < min(0.5 * m.r_n, 0.75):
        return f"the scale is off by x{m.scale:.3g}: multiply Y by that, and R_N is {m.r_n_scaled:.3g}"
    return _reading_of_shape(m)


def _reading_of_shape(m: Faithfulness) -> str:
    """Say what is wrong where the scale is right."""
    if m.lower_bound > 0.25:
        return "X is not flat enough for this dimension: see the lower bound"
    if m.r_c > 0.75:
        return "the embedding shows almost nothing of the neighbourhoods"
    if m.r_c < 0.5 * m.r_n_scaled:
        return "shapes are kept better than sizes: R_C is far below R_N"
    if m.r_n_scaled < 0.05:
        return "faithful to within a few per cent"
    return "both shapes and sizes of neighbourhoods are distorted"


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


# demo ----------------------------------------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> None:
    from .demo import run

    with _warnings_in_one_line():
        run(options.n, options.output)


_METHODS = {"gp": _greedy_procrustes, "psa": _procrustes_alignment}

_COMMANDS = {"embed": _embed, "transform": _transform, "measure": _measure, "demo": _demo}
