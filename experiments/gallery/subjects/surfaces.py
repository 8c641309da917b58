"""A folded cloth and a cortex, laid flat as meshes and as points."""

import numpy as np
import unbend as ub

from experiments.gallery.drawing import FONT, frame, onto, position_colors, space
from experiments.gallery.tools import by_others, by_unbend, disparity, table

FEW = 1500


def few(x, truth):
    rows = np.sort(np.random.default_rng(0).permutation(len(x))[:FEW])
    return x[rows], truth[rows]


def shaded(figure, place, x, faces, colors, title, view):
    ax = figure.add_subplot(*place, projection="3d")
    drawn = ax.plot_trisurf(*x.T, triangles=faces, linewidth=0, antialiased=False)
    light = np.clip(np.abs(normals(x, faces) @ np.array([0.4, -0.5, 0.77])), 0.25, 1)[:, None]
    drawn.set_facecolor(np.clip(colors[faces].mean(axis=1) * (0.35 + 0.65 * light), 0, 1))
    ax.set_box_aspect(np.ptp(x, axis=0), zoom=1.3)
    ax.view_init(*view)
    ax.set_axis_off()
    ax.set_title(title, fontsize=FONT)


def normals(x, faces):
    a, b, c = x[faces].transpose(1, 0, 2)
    n = np.cross(b - a, c - a)
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-12)


def flat(figure, place, uv, colors, title):
    ax = figure.add_subplot(*place)
    ax.scatter(*uv.T, c=colors, s=2, linewidths=0)
    frame(ax, title)


def show(page):
    figure, rows = space(2), []
    for k, (name, view) in enumerate({"cloth": (25, -60), "cortex": (10, 180)}.items()):
        x, faces, truth, uv = page["surfaces"][name]
        colors = position_colors(truth)
        shaded(figure, (2, 2, 2 * k + 1), x, faces, colors, f"{name}, in space", view)
        flat(figure, (2, 2, 2 * k + 2), onto(truth, uv), colors, "flat, by unbend.flatten")
        whole = ub.ProcrustesAlignment().fit(x)
        sample, places = few(x, truth)
        rows.append((name, "flatten, the mesh", f"{len(x):,}", f"{disparity(truth, uv):.4f}", "no flips"))
        rows += [
            (name, f"{found.tool}, points alone", f"{len(found.points):,}", f"{error:.4f}", found.trust)
            for found, error in (
                (m, disparity(truth if len(m.points) == len(x) else places, m.points))
                for m in (
                    by_unbend(whole),
                    by_unbend(ub.ProcrustesAlignment().fit(sample)),
                    *by_others(sample)[:2],
                )
            )
        ]
    return table(("surface", "map", "points", "disparity", "verdict"), *rows), figure
