"""Pictures of the guides: a fit, verdicts, maps brought together, ellipses and cells.

python -m experiments.pictures.guides docs/figures
"""

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import unbend as ub
from matplotlib import pyplot
from unbend.partition.plan import halve

GRAY, BLUE, ORANGE = "0.8", "tab:blue", "tab:orange"


def framed(ax, title):
    """Leave of axes only a frame with equal aspect, and a title."""
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_color(GRAY)
    ax.set_title(title, fontsize=10)


def in_space(ax, x, color, title):
    ax.scatter(*x.T, c=color, s=2, linewidths=0)
    ax.view_init(8, -75)
    ax.set_box_aspect(x.max(axis=0) - x.min(axis=0), zoom=1.4)
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)


def start():
    x, truth = ub.datasets.swiss_roll(3000, random_state=0)
    psa = ub.ProcrustesAlignment().fit(x)
    figure = pyplot.figure(figsize=(9, 2.2), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[1, 2.6])
    in_space(figure.add_subplot(grid[0], projection="3d"), x, truth[:, 0], "the table: three columns")
    ax = figure.add_subplot(grid[1])
    ax.scatter(*psa.embedding_.T, c=truth[:, 0], s=3, linewidths=0)
    m = psa.faithfulness_
    framed(ax, f"the map: two columns, $R_N$ = {m.r_n:.5f}, at least {m.lower_bound:.5f}")
    return figure


def judging():
    x, truth = ub.datasets.swiss_roll(2000, random_state=0)
    length, height = truth.T
    middle = np.median(length)
    maps = {
        "moved": truth @ [[0.8, 0.6], [-0.6, 0.8]],
        "one axis rescaled": truth * [0.25, 1],
        "folded": np.c_[np.abs(length - middle), height],
        "cut apart": np.c_[length + 40 * (length > middle) * (height > 10), height],
        "a dimension lost": np.c_[length, np.cos(length / 12) + 1e-3 * height],
    }
    figure, axes = pyplot.subplots(1, len(maps), figsize=(9.5, 2.2), layout="constrained")
    for ax, (name, y) in zip(axes, maps.items(), strict=True):
        kind = ub.quality(x, y, ["procrustes", "nieqa", "geodesic"], random_state=0).kind
        ax.scatter(*y.T, c=length, s=2, linewidths=0)
        framed(ax, f"{name}:\n{kind}")
        ax.set_aspect("equal" if kind != "collapsed" else "auto")
    return figure


def aligning():
    x, _ = ub.datasets.swiss_roll(3000, noise=0.1, random_state=0)
    rows = np.arange(0, 1800), np.arange(1200, 3000)
    maps = [
        ub.ProcrustesAlignment(random_state=0).fit(x[rows[0]]).embedding_,
        ub.Isomap(n_components=2).fit(x[rows[1]]).embedding_ @ [[0.5, -0.87], [0.87, 0.5]] + [20, 25],
    ]
    found = ub.align(maps, points=rows)
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
    for ax, pair, title in zip(axes, (maps, found.maps), ("two maps", "after align"), strict=True):
        for y, color, name in zip(pair, (BLUE, ORANGE), ("March", "April"), strict=True):
            ax.scatter(*y.T, c=color, s=3, linewidths=0, alpha=0.6, label=name)
        framed(ax, title)
    axes[0].legend(markerscale=3, fontsize=9)
    return figure


def uncertainty():
    x, truth = ub.datasets.swiss_roll(2000, noise=0.3, random_state=0)
    sure = ub.uncertainty(ub.ProcrustesAlignment(random_state=0).fit(x), random_state=0)
    figure, ax = pyplot.subplots(figsize=(9, 3), layout="constrained")
    ub.plot.uncertainty(sure, truth[:, 0], label="arc length", ax=ax)
    return figure


def scale():
    x, _ = ub.datasets.swiss_roll(4000, random_state=0)
    psa = ub.ProcrustesAlignment().fit(x)
    colors = pyplot.get_cmap("tab10")(halve(x, 8))
    figure = pyplot.figure(figsize=(9, 2.2), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[1, 2.6])
    in_space(figure.add_subplot(grid[0], projection="3d"), x, colors, "eight cells of a roll")
    ax = figure.add_subplot(grid[1])
    ax.scatter(*psa.embedding_.T, c=colors, s=3, linewidths=0)
    framed(ax, "the same cells on the map")
    return figure


PICTURES = {
    "start": start,
    "judging": judging,
    "aligning": aligning,
    "uncertainty": uncertainty,
    "scale": scale,
}


def main():
    folder = Path(sys.argv[1])
    for name, draw in PICTURES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure = draw()
        figure.savefig(folder / f"guide-{name}.png", dpi=100, pil_kwargs={"optimize": True})
        pyplot.close(figure)


if __name__ == "__main__":
    main()
