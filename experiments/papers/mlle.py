"""Figures 1 to 6 of Zhang & Wang (2006), *MLLE: Modified Locally Linear Embedding Using Multiple Weights*.

    python -m experiments.papers.mlle                                 # Figs. 1 to 4
    python -m experiments.papers.mlle --data FOLDER                   # also digits and faces
    python -m experiments.papers.mlle --data FOLDER --figures docs/figures

The FOLDER of --data holds usps_9298.npz and isomap_faces_32.npz. What differs from the paper: its 1,100 digits of
each class are not at hand, so the 716 of each that USPS has are taken; it does not say k for them, 20 is ours; its
20 points are not printed, so random ones are taken; the faces are 32 x 32 pixels, not 64 x 64. The paper prints no
numbers, so each figure has one of ours: the affine error (what no affine map of the embedding explains of the
truth), how often the nearest point has the same class, and how much of pose and light the coordinates explain.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import unbend as ub
from matplotlib.figure import Figure
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from benches.python.timing import row
from experiments.papers.local_procrustes_figures import save

SAMPLES, LOST = 200, 0.1
GAMMAS = np.logspace(-16, 0, 65)
INK = {"s": 3, "linewidths": 0}
FAMILY = {
    "Isomap": ub.Isomap,
    "LLE": ub.LocallyLinearEmbedding,
    "LTSA": ub.LTSA,
    "MLLE": ub.ModifiedLLE,
}


def main():
    options = arguments()
    warnings.simplefilter("ignore")
    pictures = {1: figure_1(), 2: figure_2(), 3: figure_3(), 4: figure_4()}
    if options.data:
        pictures |= {5: figure_5(options.data), 6: figure_6(options.data)}
    for number, picture in pictures.items():
        if options.figures and picture:
            save(picture, options.figures / f"mlle-fig{number}.png")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where the digits and the faces are")
    parser.add_argument("--figures", metavar="FOLDER", type=Path, help="draw them there")
    return parser.parse_args()


# Fig. 1: the regularized weights tend to u first, and to the optimal weights at last ---------------------------


def figure_1():
    """Neighborhoods of four neighbors in three dimensions, with a null space of one dimension."""
    print("\n### Fig. 1: weights w(gamma) between u and w*, swiss roll, k = 4\n")
    x, _ = ub.datasets.swiss_roll(1000, random_state=0)
    gs = [(x[near] - x[i]).T for i, near in enumerate(ub.neighborhoods(x, 4).indices.reshape(-1, 4))]
    sizes = np.array([np.linalg.norm(null_part(g)) for g in gs])
    chosen = [int(np.abs(sizes - size).argmin()) for size in (1e-3, 3e-2, 1.0)]
    row("norm of y_0", "nearest to u at gamma", "error to u there", "error to w* below 0.1 from gamma")
    row("--:", "--:", "--:", "--:")
    figure, axes = panels(1, 3, "Fig. 1: regularized weights, swiss roll, k = 4")
    for ax, i in zip(axes, chosen, strict=True):
        to_optimal, to_u = errors_of_weights(gs[i])
        near = np.flatnonzero(to_optimal < 0.1 * np.linalg.norm(optimal(gs[i])))
        reached = f"{GAMMAS[near.max()]:.0e}" if len(near) else "never"
        row(f"{sizes[i]:.1e}", f"{GAMMAS[to_u.argmin()]:.0e}", f"{to_u.min():.1e}", reached)
        ax.loglog(GAMMAS, to_optimal, "-", GAMMAS, to_u, ":", color="tab:blue")
        ax.set_title(f"$\\|y_0\\|$ = {sizes[i]:.1e}", fontsize=10)
        ax.set_xlabel("$\\gamma$")
    axes[0].legend(["$\\|w(\\gamma) - w^*\\|$", "$\\|w(\\gamma) - u\\|$"], frameon=False)
    return figure


def null_part(g):
    """y_0, the projection of ones on the null space."""
    null = np.linalg.svd(g)[2][g.shape[0] :]
    return null.T @ null.sum(axis=1)


def optimal(g):
    y = null_part(g)
    return y / y.sum()


def errors_of_weights(g):
    """The distances of w(gamma) from w* and from u = y_1 / 1'y_1."""
    inner = g.T @ g
    y = np.linalg.pinv(inner, rcond=1e-12).sum(axis=1)
    values, vectors = np.linalg.eigh(inner)
    sums = vectors.sum(axis=0)
    ys = (sums / (np.maximum(values, 0) + GAMMAS[:, None] * np.trace(inner))) @ vectors.T
    weights = ys / ys.sum(axis=1)[:, None]
    return [np.linalg.norm(weights - w, axis=1) for w in (optimal(g), y / y.sum())]


# Fig. 2: LLE fails with exact weights ------------------------------------------------------------------------


def figure_2():
    """The first of the samples that exact weights lose, and how many of them each kind of weights loses."""
    print(f"\n### Fig. 2: {SAMPLES} samples of 20 points in the plane, k = 4, by LLE\n")
    runs = [small_sample(seed) for seed in range(SAMPLES)]
    errors = {name: [affine_residual(x, found[name])[0] for x, found in runs] for name in runs[0][1]}
    shown = int(np.argmax(np.array(errors["exact weights, three neighbors"]) > LOST))
    row("weights", f"lost: error above {LOST}", "median error", f"error of sample {shown}")
    row("---", "--:", "--:", "--:")
    figure, axes = panels(1, 4, "Fig. 2: 20 points (circles) and their embeddings after the best affine map")
    x, found = runs[shown]
    for ax, (name, y) in zip(axes, found.items(), strict=True):
        values = np.array(errors[name])
        row(name, f"{(values > LOST).mean():.0%}", f"{np.median(values):.1e}", f"{values[shown]:.1e}")
        ax.plot(*x.T, "o", mfc="none", color="tab:blue")
        ax.plot(*affine_residual(x, y)[1].T, ".", color="tab:red")
        ax.set_title(name, fontsize=9)
        ax.set_aspect("equal")
    return figure


def small_sample(seed):
    """20 points, and their embeddings with two choices of exact weights, regularized ones, and several."""
    x = np.random.default_rng(seed).uniform(size=(20, 2))
    near = ub.neighborhoods(x, 4).indices.reshape(-1, 4).astype(int)
    return x, {
        "exact weights, least norm": by_weights(x, near, optimal),
        "exact weights, three neighbors": by_weights(x, near, lambda g: np.append(optimal(g[:, :3]), 0.0)),
        "regularized, gamma = 1e-3": ub.LocallyLinearEmbedding(n_neighbors=4).fit(x).embedding_,
        "MLLE": ub.ModifiedLLE(n_neighbors=4).fit(x).embedding_,
    }


def affine_residual(x, y):
    """The norm of X - Y after the best affine map of Y, and what Y is mapped to."""
    design = np.c_[y, np.ones(len(y))]
    mapped = design @ np.linalg.lstsq(design, x, rcond=None)[0]
    return np.linalg.norm(x - mapped), mapped


def by_weights(x, near, weights_of):
    """The embedding of LLE by dense linear algebra."""
    n = len(x)
    matrix = np.eye(n)
    for i in range(n):
        matrix[i, near[i]] -= weights_of((x[near[i]] - x[i]).T)
    return np.linalg.eigh(matrix.T @ matrix)[1][:, 1:3]


# Figs. 3 and 4: surfaces ---------------------------------------------------------------------------------------


def figure_3():
    x, truth = ub.datasets.swiss_roll(2000, hole=True, random_state=0)
    return surface("Fig. 3: swiss roll with a hole, n = 2,000, k = 10", x, truth, FAMILY, 10)


def figure_4():
    x, truth = ub.datasets.three_peaks(1225, random_state=0)
    some = {name: FAMILY[name] for name in ("LTSA", "MLLE")}
    return surface("Fig. 4: three peaks, N = 1,225, k = 12", x, truth, some, 12)


def surface(title, x, truth, methods, k):
    print(f"\n### {title}\n")
    row("", *methods)
    row("---", *["--:"] * len(methods))
    found = {name: kind(n_neighbors=k).fit(x).embedding_ for name, kind in methods.items()}
    row("affine error", *(f"{ub.metrics.affine_error(truth, y):.4f}" for y in found.values()))
    figure, axes = panels(1, 1 + len(methods), title)
    for ax, (name, y) in zip(axes, {"truth": truth, **found}.items(), strict=True):
        ax.scatter(*y.T, c=truth[:, 0], **INK)
        ax.set_title(name, fontsize=10)
    return figure


# Figs. 5 and 6: digits and faces -------------------------------------------------------------------------------


def figure_5(folder):
    arrays = read(folder / "usps_9298.npz")
    if arrays is None:
        return None
    digits = (2, 3, 4, 5)
    each = min(int((arrays["labels"] == digit).sum()) for digit in digits)
    rows = np.concatenate([np.flatnonzero(arrays["labels"] == digit)[:each] for digit in digits])
    x, labels = arrays["X"][rows].astype(float), arrays["labels"][rows]
    print(f"\n### Fig. 5: {len(x):,} digits 2 to 5, {each} each, k = 20\n")
    row("", "nearest point has the same class")
    row("---", "--:")
    figure, axes = panels(1, 2, f"Fig. 5: digits 2 to 5, N = {len(x):,}, k = 20")
    for ax, name in zip(axes, ("LLE", "MLLE"), strict=True):
        y = FAMILY[name](n_neighbors=20).fit(x).embedding_
        row(name, f"{same_class(y, labels):.1%}")
        for digit in digits:
            ax.scatter(*y[labels == digit].T, label=str(digit), **INK)
        ax.set_title(name, fontsize=10)
    axes[0].legend(frameon=False, markerscale=3)
    return figure


def same_class(y, labels):
    """How often the nearest other point has the same label."""
    nearest = KNeighborsClassifier(1).fit(y, labels).kneighbors(return_distance=False)[:, 0]
    return np.mean(labels[nearest] == labels)


def figure_6(folder):
    arrays = read(folder / "isomap_faces_32.npz")
    if arrays is None:
        return None
    x, truth = arrays["X"].astype(float), arrays["params"]
    print(f"\n### Fig. 6: {len(x)} faces, d = 3, k = 14\n")
    row("", "light", "pan", "tilt")
    row("---", "--:", "--:", "--:")
    figure, axes = panels(1, 2, f"Fig. 6: {len(x)} faces, first two of three coordinates, color: pan")
    for ax, name in zip(axes, ("LLE", "MLLE"), strict=True):
        y = FAMILY[name](3, 14).fit(x).embedding_
        row(name, *(f"{value:.2f}" for value in explained(y, truth)))
        ax.scatter(*y[:, :2].T, c=truth[:, 1], s=8, linewidths=0)
        ax.set_title(name, fontsize=10)
    return figure


def explained(y, truth):
    """R^2 of each parameter by the five nearest other points of the embedding."""
    y = y / y.std(axis=0)
    near = KNeighborsRegressor(5).fit(y, truth).kneighbors(return_distance=False)
    left = truth - truth[near].mean(axis=1)
    return 1 - (left**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


def read(path):
    if not path.exists():
        print(f"\n{path.name} is skipped: there is none in {path.parent}")
        return None
    return np.load(path)


def panels(rows, columns, title):
    figure = Figure(figsize=(3.2 * columns, 3.4 * rows), dpi=80, facecolor="white", layout="constrained")
    figure.suptitle(title, fontsize=11)
    return figure, figure.subplots(rows, columns, squeeze=False).ravel()


if __name__ == "__main__":
    main()
