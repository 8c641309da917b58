"""Figures 1 to 8 of Zhang, Ren & Zhang (NIEQA), drawn from the runs of nieqa.py.

Embeddings are those of the first draw, curves are medians and the middle half of all draws. Figs. 5 and 7 need
the faces, and show points only: color is the order along the first coordinate of PSA. A figure takes about a
second and is kept as a PNG of 128 colors.
"""

import numpy as np
from matplotlib.figure import Figure

from experiments.papers.local_procrustes_figures import save
from experiments.papers.nieqa import FACES, SIZES, normalized

FIGURES = {"Swissroll": 2, "Swisshole": 3, "Gaussian": 4}
VIEWS = {"Swissroll": (12, -72), "Swisshole": (12, -72), "Gaussian": (30, -60)}
INK = {"s": 7, "linewidths": 0}
CURVES = {
    "M_t": ("tab:green", "$M_t$"),
    "M_L": ("tab:blue", "$M_L$"),
    "M_G k": ("tab:orange", "$M_G$, $k_l$ = 10"),
    "M_G": ("tab:red", "$M_G$, $k_l$ = 100"),
}


def draw_all(outcomes, chosen, folder):
    folder.mkdir(parents=True, exist_ok=True)
    if "Swissroll" in outcomes:
        save(figure_1(), folder / "nieqa-fig1.png")
        for name, number in FIGURES.items():
            save(embeddings(name, outcomes[name]), folder / f"nieqa-fig{number}.png")
        save(by_size(chosen["Swissroll"], "the swiss roll"), folder / "nieqa-fig6.png")
        save(curves(chosen), folder / "nieqa-fig8.png")
    if "Faces" in outcomes:
        hue = np.argsort(np.argsort(outcomes["Faces"].embeddings["PSA"][:, 0]))
        save(faces(outcomes["Faces"], hue), folder / "nieqa-fig5.png")
        save(by_size(chosen["Faces"], "faces", hue), folder / "nieqa-fig7.png")


def panelled(rows, columns, title, size, top):
    figure = Figure(figsize=size, dpi=90, facecolor="white")
    figure.suptitle(title, fontsize=14, y=0.98)
    grid = figure.add_gridspec(
        rows, columns, left=0.015, right=0.985, top=top, bottom=0.02, wspace=0.06, hspace=0.2
    )
    return figure, list(grid)


def panel(axes, y, hue, title, margin=0.06, colors="viridis"):
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color("0.85")
    axes.scatter(*y.T, c=hue, cmap=colors, **INK)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(margin)


# Fig. 1 --------------------------------------------------------------------------------------------------


def figure_1():
    """The points, their normalized coordinates, and in both the ten nearest to the origin."""
    x, y, numbers = normalized(0)
    near, there = (np.argsort(np.linalg.norm(points, axis=1))[:10] for points in (x, y))
    said = f"as one neighborhood $R_N$ {numbers['M_P']:.3f}, ASIM {numbers['ASIM']:.0e}"
    figure, places = panelled(1, 2, f"100 points, and the same normalized: {said}", (10.5, 4.6), 0.82)
    titles = (
        "x: circles are the 10 nearest to the origin",
        "y: squares are the 10 nearest to the origin here",
    )
    for place, points, title in zip(places, (x, y), titles, strict=True):
        axes = figure.add_subplot(place)
        panel(axes, points, np.zeros(len(points)), title, 0.1, "Greys_r")
        ring(axes, points[near], "o", "tab:blue", 80)
        if points is y:
            ring(axes, points[there], "s", "tab:red", 150)
        axes.plot(0, 0, "k+", ms=9)
    return figure


def ring(axes, points, marker, color, size):
    axes.scatter(*points.T, marker=marker, s=size, facecolors="none", edgecolors=color, linewidths=1.4)


# Figs. 2 to 4 and 6 --------------------------------------------------------------------------------------


def embeddings(name, outcome):
    """The data, the truth and the embeddings."""
    sample, values = outcome.sample, outcome.values[0]
    title = f"{name}, n = {len(sample.x):,}, k = {sample.k}"
    figure, places = panelled(2, 5, title, (15.7, 6.8), 0.87)
    data(figure.add_subplot(places[0], projection="3d"), name, sample)
    panel(figure.add_subplot(places[1]), sample.u, sample.u[:, 0], "truth $(u^1, u^2)$")
    for place, (method, y) in zip(places[2:9], outcome.embeddings.items(), strict=True):
        said = f"$M_t$ {values['M_t'][method]:.4f}  $M_L$ {values['M_L'][method]:.4f}"
        title = f"{method}:  {said}  $R_N$ {values['M_P'][method]:.3f}"
        panel(figure.add_subplot(place), y, sample.u[:, 0], title)
    return figure


def data(axes, name, sample):
    axes.scatter(*sample.x.T, c=sample.u[:, 0], cmap="viridis", depthshade=False, **INK)
    axes.view_init(*VIEWS[name])
    extent = np.ptp(sample.x, axis=0)
    axes.set_box_aspect(extent if name != "Gaussian" else [1, 1, 0.5], zoom=1.35)
    axes.set_axis_off()
    axes.set_title("data" if name != "Gaussian" else "data (heights exaggerated)", fontsize=10)


def faces(outcome, hue):
    """Fig. 5: what each method makes of the faces."""
    sample, values = outcome.sample, outcome.values[0]
    title = f"Faces, n = {len(sample.x):,}, k = {sample.k}"
    figure, places = panelled(2, 4, title, (12.6, 6.8), 0.87)
    for place, (method, y) in zip(places, outcome.embeddings.items(), strict=False):
        said = f"$M_L$ {values['M_L'][method]:.3f}  $M_{{LC}}$ {1 - values['1 - M_LC'][method]:.3f}"
        panel(figure.add_subplot(place), y, hue, f"{method}:  {said}")
    return figure


def by_size(selection, name, hue=None):
    """What LTSA makes of the data for each k."""
    hue = selection.sample.u[:, 0] if hue is None else hue
    title = f"LTSA of {name}, n = {len(selection.sample.x):,}, by k"
    figure, places = panelled(4, 5, title, (12.6, 10.4), 0.92)
    for j, (place, y, k) in enumerate(zip(places, selection.embeddings, SIZES, strict=True)):
        known = f"$M_t$ {selection.curves['M_t'][0, j]:.3f}  " if "M_t" in selection.curves else ""
        said = f"{known}$M_L$ {selection.curves['M_L'][0, j]:.3f}"
        panel(figure.add_subplot(place), y, hue, f"k = {k}:  {said}")
    return figure


# Fig. 8 --------------------------------------------------------------------------------------------------


def curves(chosen):
    """The measures of LTSA over k: the roll, and compared with it the faces if they were measured."""
    faces = chosen.get("Faces")
    figure = Figure(figsize=(10.5 if faces else 6.2, 4.4), dpi=100, facecolor="white", layout="constrained")
    panels = figure.subplots(1, 2 if faces else 1, squeeze=False)[0]
    panels[0].set_title("(a) LTSA of the swiss roll", fontsize=12)
    for name, (color, label) in CURVES.items():
        band(panels[0], chosen["Swissroll"].curves[name], color, label)
    panels[0].set(yscale="log", ylabel="smaller is better")
    if faces:
        panels[1].set_title(f"(b) LTSA of {FACES:,} faces", fontsize=12)
        band(panels[1], faces.curves["M_L"], "tab:blue", "$M_L$ at k = 15")
        band(panels[1], faces.curves["M_L own k"], "tab:purple", "$M_L$ at the k of LTSA")
    for axes in panels:
        axes.set_xlabel("k of LTSA")
        axes.set_xticks(SIZES[::2])
        axes.grid(color="0.92")
        axes.legend(frameon=False, fontsize=9)
    return figure


def band(axes, values, color, label):
    """The median over draws, and the middle half of them."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    axes.fill_between(SIZES, low, high, color=color, alpha=0.15, lw=0)
    axes.plot(SIZES, middle, "o-", color=color, ms=3.5, lw=1.4, label=label)
