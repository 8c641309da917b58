"""`unbend diagnose`: predict whether algorithms with normalized axes would collapse the data."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import unbend as ub

from ..files import check_target, read_points, write_atomically
from .options import JSON, Command, UsageError
from .words import coordinates, show, sized, wrapped

__all__ = ["COMMAND"]

PLOT_SUFFIXES = (".png", ".pdf", ".svg")


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    if options.plot is not None:
        check_target(options.plot, force=options.force, suffixes=PLOT_SUFFIXES)
    if options.coordinates is not None and options.dimensions is not None:
        raise UsageError("--coordinates have their own dimensions: leave -d out")
    x = read_points(options.X)
    price = ub.price_of_normalization(
        x,
        coordinates(x, options),
        options.neighbors,
        radius=options.radius,
        n_components=2 if options.dimensions is None else options.dimensions,
        n_jobs=options.jobs,
    )
    show(options, price.to_dict(), _lines(price, x, options))
    if options.plot is not None:
        try:
            figure = price.plot()
        except ImportError:
            raise UsageError("--plot needs matplotlib: pip install 'unbend[plot]'") from None
        write_atomically(options.plot, lambda path: figure.savefig(path, dpi=120), force=options.force)


def _lines(price: ub.Price, x: Any, options: argparse.Namespace) -> Iterator[str]:
    head, *table = str(price).split("\n")
    yield f"data         {sized(options.X, x.shape)}"
    yield f"coordinates  {options.coordinates or 'found by Procrustes alignment'}, {head.partition(', ')[2]}"
    yield from table[: 2 + len(price.verdicts)]
    yield ""
    for verdict in price.verdicts.values():
        yield from wrapped(f"  {verdict.sentence}", 2)


COMMAND = Command(
    run,
    "predict if LLE, LTSA, Laplacian eigenmaps would collapse the data",
    """\
Predict whether algorithms with normalized axes would collapse the data X:
LLE, LTSA, Hessian LLE, Laplacian eigenmaps (LEM) and diffusion maps (DFM).

None of them is run. If data are longer than wide, these algorithms prefer a
curve to the true surface. By how much depends on the neighbors and the noise.
""",
    f"""\
X  data, one point per row
--coordinates U  true coordinates (found by psa)
-d, --dimensions D  number of coordinates to find (2)
-k, --neighbors K  neighbors per point, itself excluded (8)
or --radius R  use all points within this distance instead
--plot FILE  plot coordinates, curve and prediction
--force  replace an existing file
{JSON}""",
    """\
examples:
  unbend diagnose roll.npy
  unbend diagnose run.npz:X --coordinates run.npz:true -k 12 --json
  unbend diagnose roll.npy --plot price.png

Without --coordinates they are found by Procrustes alignment, and the verdict is
only as good as they are. --json prints one object: everything that
unbend.price_of_normalization returns, for each algorithm.
""",
)
