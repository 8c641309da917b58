"""Figures 1 to 6 of Goldberg & Ritov (2009), section 5, drawn from the runs of local_procrustes.py.

Six panels each: the data, then the embeddings in the order of the paper, with k = 12 but in Fig. 5. PSA is
the one of alignment="auto". A figure takes about a second and is kept as a PNG of 128 colors, below 250 kB.
"""

import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from PIL import Image
from scipy.sparse.csgraph import shortest_path

SHOWN = 12
FIGURES = {"Swissroll": 1, "Hemisphere": 2, "Cylinder": 3, "Noisy swissroll": 6}
PANELS = {"GP": "GP", "PSA auto": "PSA", "PSA anneal": "PSA by annealing"}
PANELS |= {"PSA, to the letter": "PSA, to the letter", "LLE": "LLE", "Isomap": "Isomap", "LTSA": "LTSA"}
VIEWS = {"Swissroll": (12, -72), "Noisy swissroll": (0, -90), "Hemisphere": (28, -60), "Cylinder": (22, -60)}
NORMALISED = ("LLE", "LTSA")
COLORS, ROUND = "viridis", "twilight"
IMAGES = 9
"""Faces along each path of Fig. 4."""


def draw(samples, found, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for sample in samples:
        outcomes = {name.removesuffix(", default"): found[sample.name][name] for name in found[sample.name]}
        if sample.name in FIGURES:
            save(embeddings(sample, outcomes), folder / f"paper-fig{FIGURES[sample.name]}.png")
        if sample.name == "Cylinder" and "LLE" in outcomes:
            save(sizes(sample, outcomes["LLE"]), folder / "paper-fig5.png")
        if sample.name == "Faces":
            save(paths(sample, outcomes["PSA auto"][SHOWN]), folder / "paper-fig4.png")


def save(figure, path):
    """Few colors are enough for points, and keep the file small."""
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer)
    Image.open(buffer).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


# Six panels ----------------------------------------------------------------------------------------------


def embeddings(sample, outcomes):
    """The data and the embeddings for k = 12."""
    present = {name: outcomes[name][SHOWN] for name in PANELS if name in outcomes}
    columns = -(-(len(present) + 1) // 2)
    figure, places = two_rows(f"{sample.name}, n = {len(sample.x):,}, k = {SHOWN}", columns)
    data(figure.add_subplot(places[0], projection="3d"), sample)
    for place, (name, outcome) in zip(places[1:], present.items(), strict=False):
        panel(figure.add_subplot(place), sample, outcome, caption(name, outcome))
    return figure


def sizes(sample, outcomes):
    """What LLE makes of the cylinder for each k."""
    figure, places = two_rows(f"LLE of the cylinder, n = {len(sample.x):,}")
    data(figure.add_subplot(places[0], projection="3d"), sample)
    for place, (k, outcome) in zip(places[1:], outcomes.items(), strict=False):
        title = f"k = {k}:  failed" if outcome.m is None else f"k = {k}:  $R_C$ {outcome.m.r_c:.3f}"
        panel(figure.add_subplot(place), sample, outcome, title)
    return figure


def two_rows(title, columns=3):
    figure = Figure(figsize=(3.5 * columns, 7.2), dpi=100, facecolor="white")
    figure.suptitle(title, fontsize=15, y=0.975)
    grid = figure.add_gridspec(
        2, columns, left=0.02, right=0.98, top=0.87, bottom=0.03, wspace=0.08, hspace=0.2
    )
    return figure, list(grid)


def caption(name, outcome):
    if outcome.m is None:
        return f"{PANELS[name]}:  failed"
    text = f"{PANELS[name]}:  $R_N$ {outcome.m.r_n:.4f}"
    return f"{text}, rescaled {outcome.m.r_n_scaled:.4f}" if name in NORMALISED else text


def data(axes, sample):
    axes.scatter(*sample.x.T, **ink(sample), depthshade=False)
    axes.view_init(*VIEWS[sample.name])
    axes.set_box_aspect(np.ptp(sample.x, axis=0), zoom=1.1 if sample.name == "Cylinder" else 1.35)
    axes.set_axis_off()
    axes.set_title("data", fontsize=11)


def panel(axes, sample, outcome, title):
    axes.set_title(title, fontsize=11)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color("0.85")
    if outcome.y is None:
        axes.text(0.5, 0.5, "no embedding", transform=axes.transAxes, ha="center", color="0.5")
    else:
        axes.scatter(*upright(outcome.y).T, **ink(sample))
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.06)


def upright(y):
    """The longest axis to the right."""
    centered = y - y.mean(axis=0)
    return centered @ np.linalg.svd(centered, full_matrices=False)[2].T


def ink(sample):
    return {"c": sample.hue, "cmap": ROUND if sample.cyclic else COLORS, "s": 7, "linewidths": 0}


# Faces ---------------------------------------------------------------------------------------------------


def paths(sample, outcome):
    """The first two coordinates of the embedding, and the faces along two paths through it."""
    y = upright(outcome.y)
    figure = Figure(figsize=(10.5, 8), dpi=100, facecolor="white")
    title = f"Faces, n = {len(y):,}, k = {SHOWN}: the first two of three coordinates by PSA"
    figure.suptitle(f"{title}, $R_N$ {outcome.m.r_n:.3f}", fontsize=13, y=0.975)
    axes = figure.add_axes((0.03, 0.19, 0.94, 0.58))
    axes.scatter(*y[:, :2].T, s=5, c="0.75", linewidths=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    order = "above: blue, from left to right;  below: orange, from bottom to top"
    figure.text(0.5, 0.755, order, ha="center", fontsize=9, color="0.4")
    for axis, color, height in ((0, "tab:blue", 0.785), (1, "tab:orange", 0.03)):
        walk = along(y, axis)
        axes.plot(*y[walk, :2].T, "s-", color=color, ms=6, lw=1.3, mec="white")
        strip(figure, sample, walk, color, height)
    return figure


def along(y, axis):
    """Points from one end of an axis to the other, each near the next in the embedding."""
    import unbend as ub

    central = np.argsort(abs(y[:, 1 - axis] - np.median(y[:, 1 - axis])))[: len(y) // 3]
    low, high = ends(central[np.argsort(y[central, axis])])
    graph = ub.neighborhoods(y, SHOWN).to_graph()
    _, before = shortest_path(graph, directed=False, indices=low, return_predecessors=True)
    walk = [high]
    while walk[-1] != low:
        walk.append(int(before[walk[-1]]))
    chosen = np.linspace(0, len(walk) - 1, min(IMAGES, len(walk))).round().astype(int)
    return [walk[i] for i in chosen[::-1]]


def ends(ordered):
    """The first and the last but for the outermost hundredth."""
    return (int(ordered[round(share * (len(ordered) - 1))]) for share in (0.01, 0.99))


def strip(figure, sample, walk, color, height):
    """The faces of a walk in a row, in the color of its line."""
    axes = figure.add_axes((0.03, height, 0.94, 0.15))
    axes.set_axis_off()
    axes.set(xlim=(-0.6, len(walk) - 0.4), ylim=(-1, 1))
    for place, i in enumerate(walk):
        image = OffsetImage(sample.x[i].reshape(sample.shape), zoom=3, cmap="gray")
        frame = {"edgecolor": color, "linewidth": 2}
        axes.add_artist(AnnotationBbox(image, (place, 0), pad=0.1, bboxprops=frame))
