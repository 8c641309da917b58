"""How the pictures of the gallery look: two columns, large letters, colors that say where a point is from."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import unbend as ub
from PIL import Image

DPI = 100
COLUMN, ROW, FONT = 3.7, 3.3, 12
CORNERS = np.array([[0.18, 0.25, 0.75], [0.95, 0.35, 0.2], [0.1, 0.65, 0.5], [0.98, 0.8, 0.2]])


def panels(n_rows, n_columns=2, height=ROW):
    figure, places = plt.subplots(
        n_rows, n_columns, figsize=(COLUMN * n_columns, height * n_rows), layout="constrained"
    )
    return figure, np.ravel(places)


def position_colors(truth):
    """One color for each place of a plane, mixed of four at its corners."""
    low, high = np.percentile(truth, [2, 98], axis=0)
    u, v = np.clip((truth[:, :2] - low[:2]) / (high[:2] - low[:2]), 0, 1).T[:, :, None]
    below, above = CORNERS[0] * (1 - u) + CORNERS[1] * u, CORNERS[2] * (1 - u) + CORNERS[3] * u
    return below * (1 - v) + above * v


def ring_colors(angles):
    """Colors of one lightness around a circle."""
    return 0.5 + 0.42 * np.cos(np.asarray(angles)[:, None] - np.array([0, 2, 4]) * np.pi / 3)


def onto(truth, points):
    """Turn, reflect and scale a map so that it lies nearest to the truth."""
    return ub.align([truth, points[:, : truth.shape[1]]], scale=True, robust=False)[1]


def turned(points):
    """The principal directions of a map as its axes."""
    points = points - points.mean(axis=0)
    return points @ np.linalg.svd(points, full_matrices=False)[2].T


def dots(ax, points, colors, title, size=5, **keywords):
    order = np.random.default_rng(0).permutation(len(points))  # no group lies on top of all others
    colors = np.asarray(colors)[order]
    ax.scatter(*points[order, :2].T, s=size, c=colors, linewidths=0, **keywords)
    frame(ax, title)


def frame(ax, title):
    ax.set_title(title, fontsize=FONT)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_color("0.8")


def in_space(figure, place, points, colors, title, size=4, pale=True):
    """Draw points in space, distant ones pale; `place` is rows, columns and number, as of add_subplot."""
    ax = figure.add_subplot(*place, projection="3d")
    ax.scatter(*points.T, c=colors, s=size, linewidths=0, depthshade=pale)
    ax.set_box_aspect(np.ptp(points, axis=0), zoom=1.35)
    ax.view_init(20, -60)
    ax.set_axis_off()
    ax.set_title(title, fontsize=FONT)


def space(n_rows, n_columns=2, height=ROW):
    return plt.figure(figsize=(COLUMN * n_columns, height * n_rows), layout="constrained")


def sheet(paths):
    """All pictures on one, small."""
    figure, places = plt.subplots(-(-len(paths) // 3), 3, figsize=(7.5, 9.2), layout="constrained")
    for ax, path in zip(places.ravel(), paths, strict=False):
        ax.imshow(plt.imread(path))
        ax.set_title(path.stem, fontsize=FONT)
    for ax in places.ravel():
        ax.set_axis_off()
    return figure


def save(figure, path):
    figure.savefig(path, dpi=DPI)
    plt.close("all")
    with Image.open(path) as image:
        # An octree keeps the colors of small groups, which a median cut would mix.
        few = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
