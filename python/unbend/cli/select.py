"""`unbend select`: choose neighbors, dimension and method by the results."""

from __future__ import annotations

import argparse

import unbend as ub

from ..files import check_target, read_points, write_points
from .options import JSON, Command, UsageError
from .words import show

__all__ = ["COMMAND", "sizes"]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    if options.output is not None:
        check_target(options.output, force=options.force)
    selection = ub.select(
        read_points(options.X),
        sizes(options.neighbors, "--neighbors"),
        sizes(options.dimensions, "--dimensions"),
        [name.strip() for name in options.methods.split(",")],
        exhaustive=options.exhaustive,
        max_dim=options.max_dim,
        max_time=options.max_time,
        max_points=options.max_points or None,
        n_centers=options.centers,
        random_state=options.seed,
        n_jobs=options.jobs,
        verbose=not options.quiet,
    )
    interrupted = selection.ending == "interrupted"
    if options.output is not None and not (interrupted and selection.rows is not None):
        write_points(options.output, selection.embedding, force=options.force)
    show(options, selection.to_dict(), [selection])
    if not options.json and not options.quiet and options.output is None:
        best = selection.best
        print(
            f"\nunbend embed {options.X} -o Y.npy --method {best.method} -k {best.n_neighbors} "
            f"-d {best.n_components} --seed {options.seed}"
        )
    if interrupted:
        raise KeyboardInterrupt  # the exit code says that results are incomplete


def sizes(text: str | None, name: str) -> list[int] | None:
    """Return the numbers of a list: 6:24:2 (both ends included), 6,8,12 or 6."""
    if text is None:
        return None
    try:
        return [number for part in text.split(",") for number in _span(part)]
    except ValueError:
        raise UsageError(f"{name} {text} is no list of numbers: give 6:24:2, 6,8,12 or 6") from None


def _span(part: str) -> range:
    first, *rest = map(int, part.split(":"))
    last, step = [*rest, first][0], rest[1] if len(rest) > 1 else 1
    if len(rest) > 2 or step < 1 or last < first:
        raise ValueError(part)
    return range(first, last + 1, step)


COMMAND = Command(
    run,
    "choose neighbors, dimension and method",
    """\
Choose the number of neighbors, the dimension and the method for the data X.

Candidates are embedded and compared with shortest paths on the same cleaned
graphs. The result also states the dimension of the data and whether it is a
guess, which numbers of neighbors are too small (the graph falls apart) and
which are large (short circuits). Of many points, a random sample is embedded
for the choice, and all points are embedded with it. Progress goes to standard
error.
""",
    f"""\
X  data, one point per row
-k, --neighbors K  numbers of neighbors (6:24:2)
-d, --dimensions D  dimensions (1 to --max-dim)
--max-dim D  largest dimension, if --dimensions is not given (3)
--max-time SECONDS  make no more candidates after this time (120)
--max-points N  compare at most N random points, 0 for all (1500)
--methods NAMES  methods, separated by commas (psa,gp)
--exhaustive  embed every candidate
--centers N  measure R_N, R_C and M_L at N random points (2000)
-o, --output Y  file for the chosen embedding
--force  replace an existing file
--quiet  print only errors
--seed S  seed of random samples (0)
{JSON}""",
    """\
examples:
  unbend select roll.npy
  unbend select cells.csv -k 6:30:2 -d 1:4 --methods gp,psa -o flat.csv
  unbend select cells.csv --max-dim 5 --max-time 120
  unbend select roll.npy -k 8,12,16 --json

6:30:2 means 6, 8, ..., 30, both ends included. Methods are gp, psa, isomap, and
lle, mlle, ltsa, hlle, lem, dfm, which are rectified. Ctrl-C ends the search and
prints the results so far, with exit code 130. --json prints one object: all
embeddings with their numbers, the neighborhoods, the dimension, the rule and
its choice.
""",
    {
        "neighbors": {"type": str},
        "dimensions": {"type": str},
        "methods": {"default": "psa,gp"},
        "max_dim": {"type": int, "default": 3},
        "max_time": {"type": float, "default": 120.0},
        "max_points": {"type": int, "default": 1500},
        "centers": {"type": int, "default": 2000},
        "output": {"required": False},
    },
)
