"""The rest of The price of normalization: Figs. 1 E to G, 3 and 6, the other K, and the other kernels.

Run by `normalization.py --more`. The width sigma of the kernel is that of exp(-d^2 / (2 sigma^2)):
the paper does not print the kernel.
"""

import numpy as np
import unbend as ub
from matplotlib.figure import Figure

from benches.python.timing import row
from experiments.papers.local_procrustes_figures import save
from experiments.papers.normalization import JUDGED

FLAT_SIZES, CURVED_SIZES, SIGMAS = (4, 8, 16, 64), (8, 12, 16), (1.0, 2.0, 4.0, 8.0)
LOST = 0.5
"""An affine error above this means that most of a dimension was lost."""


def run_more(figures, folder):
    other_sizes(figures)
    other_kernels(figures)
    pictures = {"1-neighbors": closeups(figures[1]), "3": inner_point(), "6": data(figures)}
    for name, picture in pictures.items():
        if folder:
            save(picture, folder / f"price-fig{name}.png")


# Tables ------------------------------------------------------------------------------------------------------


def other_sizes(figures):
    print("\n### Affine errors for other K\n")
    row("figure", "data", "K", *JUDGED)
    row("---", "---", "--:", *["--:"] * len(JUDGED))
    for figure, samples in figures.items():
        sizes = {4: FLAT_SIZES, 5: FLAT_SIZES, 7: CURVED_SIZES, 8: CURVED_SIZES, 9: CURVED_SIZES}.get(
            figure, ()
        )
        for sample in samples:
            for k in sizes:
                row(figure, sample.name, k, *(said(kind(n_neighbors=k), sample) for kind in JUDGED.values()))


def other_kernels(figures):
    print("\n### Affine errors of diffusion maps by the width of the kernel, K = 8 and 64\n")
    row("figure", "data", "K", *(f"sigma = {sigma:g}" for sigma in SIGMAS))
    row("---", "---", "--:", *["--:"] * len(SIGMAS))
    for figure in (4, 5):
        for sample in figures[figure]:
            for k in (8, 64):
                models = (ub.DiffusionMaps(n_neighbors=k, eps=2 * sigma**2) for sigma in SIGMAS)
                row(figure, sample.name, k, *(said(model, sample) for model in models))


def said(model, sample):
    """The affine error of a fit, or that there is none."""
    try:
        error = ub.metrics.affine_error(sample.truth, model.fit(sample.x).embedding_)
    except (ValueError, np.linalg.LinAlgError, MemoryError):
        return "fails"
    return f"**{error:.2f}**" if error > LOST else f"{error:.2f}"


# Pictures ----------------------------------------------------------------------------------------------------


def closeups(samples):
    """Fig. 1 E to G: the 8 neighbors of a point in the data, and in the output of LTSA without and with noise."""
    clean, noisy = samples
    center = int(np.linalg.norm(clean.truth - [3.0, 0.5], axis=1).argmin())
    near = ub.neighborhoods(clean.truth, 8)[center]
    outputs = [ub.LTSA(n_neighbors=8).fit(sample.x).embedding_ for sample in (clean, noisy)]
    figure = Figure(figsize=(11, 3.9), dpi=90, facecolor="white", layout="constrained")
    figure.suptitle(
        "Fig. 1 E to G: 8 neighbors in the strip (blue), and in the output of LTSA (red)", fontsize=11
    )
    print("\n### Fig. 1 E to G: neighbors of the middle point that remain neighbors in the output of LTSA\n")
    row("strip", "of 8")
    row("---", "--:")
    titles = ("E: strip", "F: output", "G: output under noise")
    points = [clean.truth, *outputs]
    for place, (ax, title, y) in enumerate(zip(figure.subplots(1, 3), titles, points, strict=True)):
        found = ub.neighborhoods(y, 8)[center]
        reach = 2.5 * np.abs(y[near] - y[center]).max()
        shown = (np.abs(y - y[center]) < reach).all(axis=1)
        ax.scatter(*y[shown].T, s=4, c="0.7")
        ax.plot(*y[near].T, "v", color="tab:blue", ms=7)
        if place:
            ax.plot(*y[found].T, "^", color="tab:red", ms=5)
            row(samples[place - 1].name, np.isin(found, near).sum())
        ax.plot(*y[center], "ko")
        ax.set_title(title, fontsize=10)
        ax.set_aspect("equal")
    return figure


def inner_point():
    """Fig. 3: an inner point of the normalized grid and of the curve, with its neighbors, and their costs."""
    m, q = 20, 6
    x, _ = ub.datasets.grid(2 * q + 1, 2 * m + 1)
    x = x[:, np.argsort(-np.ptp(x, axis=0))] - x.mean(axis=0)[np.argsort(-np.ptp(x, axis=0))]
    price = ub.price_of_normalization(x, x, 8, algorithms="LTSA")
    verdict = price["LTSA"]
    center = int(np.linalg.norm(x - [5, 0], axis=1).argmin())
    figure = Figure(figsize=(8.5, 4.2), dpi=90, facecolor="white", layout="constrained")
    print(f"\n### Fig. 3: an inner point of a grid of {2 * m + 1} x {2 * q + 1} points\n")
    row("K", "phi(Y)", "F(K) (1/sigma^2 + 1/tau^2)", "phi(Z)", "F(K) (1/sigma^2 + 4/rho^2)")
    row(*["--:"] * 5)
    rho = 2 * verdict.rho  # section 4 has twice the rho of section 5
    for k, factor in ((4, 2), (8, 6), (12, 14)):
        near = ub.neighborhoods(x, k)[center]
        costs = [((points[near] - points[center]) ** 2).sum() for points in (price.y, price.z)]
        forecasts = [1 / verdict.sigma**2 + 1 / verdict.tau**2, 1 / verdict.sigma**2 + 4 / rho**2]
        row(
            k,
            f"{costs[0]:.5f}",
            f"{factor * forecasts[0]:.5f}",
            f"{costs[1]:.5f}",
            f"{factor * forecasts[1]:.5f}",
        )
    near = ub.neighborhoods(x, 4)[center]
    for ax, points, title in zip(figure.subplots(1, 2), (price.y, price.z), ("Y", "Z"), strict=True):
        ax.plot(*points.T, ".", color="0.75", ms=4)
        ax.plot(*points[near].T, "o", color="tab:blue" if title == "Y" else "tab:red")
        ax.plot(*points[center], "ko", ms=4)
        ax.set_title(f"Fig. 3: {title}, a point and its four neighbors", fontsize=10)
        ax.set_aspect("equal")
    return figure


def data(figures):
    """Fig. 6: swiss rolls and fishbowls in space, and the first pictures of the ball."""
    figure = Figure(figsize=(14, 3.4), dpi=80, facecolor="white", layout="constrained")
    samples = [*figures[7], *figures[8]]
    for place, sample in enumerate(samples, 1):
        ax = figure.add_subplot(1, 5, place, projection="3d")
        ax.scatter(*sample.x.T, c=sample.truth[:, 0], s=2, linewidths=0)
        ax.set_box_aspect(np.ptp(sample.x, axis=0), zoom=1.3)
        ax.view_init(*((8, -80) if "roll" in sample.name else (20, -60)))
        ax.set_axis_off()
        ax.set_title(sample.name, fontsize=9)
    ax = figure.add_subplot(1, 5, 5)
    balls = figures[9][0].x
    side = int(np.sqrt(balls.shape[1]))
    tiles = balls[:16].reshape(4, 4, side, side).swapaxes(1, 2).reshape(4 * side, 4 * side)
    ax.imshow(tiles, cmap="gray")
    ax.set_axis_off()
    ax.set_title("16 of 900 pictures of a ball", fontsize=9)
    return figure
