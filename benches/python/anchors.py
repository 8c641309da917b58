"""Positions in meters from Wi-Fi signals and four surveyed anchors.

    python benches/python/anchors.py FOLDER

FOLDER holds .npz files with signal strengths `X` and, in the first two columns of `params`, positions in
meters. They are not part of the project; files that are absent are skipped. Signals are embedded without
positions. Then the four measurements that were made nearest to the corners of the floor are anchors: `ub.align`
places the map by their positions alone. Printed is the median distance of all other measurements from where
they were made, compared with the map placed by all positions, which no choice of anchors can beat by much, and
with the position of the nearest anchor.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import unbend as ub
from timing import row

FLOORS = {
    "sod_hcxy_wifi": None,
    "sod_syl_wifi": None,
    "msindoor_site1_b1": None,
    "ujiindoorloc": (2, 1),  # building and floor
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    row("floor", "points", "extent, m", "by 4 anchors, m", "by all, m", "nearest anchor, m", "trusted")
    row(*["---"] * 7)
    for name, floor in FLOORS.items():
        path = options.folder / f"{name}.npz"
        if path.exists():
            placed(name, *read(path, floor))
        else:
            print(f"{path} is absent: skipped")


def read(path, floor):
    """Return signals, and positions in meters; one row for each place where signals were measured."""
    with np.load(path) as file:
        x, params = file["X"].astype(np.float64), file["params"]
    if floor is not None:
        rows = (params[:, 3] == floor[0]) & (params[:, 2] == floor[1])
        x, params = x[rows], params[rows]
    return x, params[:, :2].astype(np.float64)


def placed(name, x, positions):
    model = ub.ProcrustesAlignment(2, random_state=0).fit(x)
    points, anchors = np.arange(len(x)), corners(positions)
    surveyed = {"surveyed": positions[anchors], "map": model}
    # Four points cannot contradict each other enough to tell which of them is wrong.
    found = ub.align(surveyed, points=[anchors, points], scale=True, robust=False)
    best = ub.align([positions, model], scale=True)
    rest = np.setdiff1d(points, anchors)
    nearest = np.linalg.norm(positions[rest, None] - positions[anchors], axis=2).min(axis=1)
    errors = [np.linalg.norm(one[1] - positions, axis=1)[rest] for one in (found, best)]
    row(
        name,
        len(x),
        " x ".join(f"{extent:.0f}" for extent in np.ptp(positions, axis=0)),
        *(f"{np.median(error):.1f}" for error in (*errors, nearest)),
        "yes" if model.verdict_.trusted else "no",
    )


def corners(positions):
    """Return the points nearest to the corners of the rectangle that holds all."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    rectangle = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
    found = [int(np.linalg.norm(positions - corner, axis=1).argmin()) for corner in rectangle]
    return np.unique(found)


if __name__ == "__main__":
    main()
