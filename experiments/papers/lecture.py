"""Figures and theorems of Aamari's lecture, *From multidimensional scaling to dimension reduction*.

    python -m experiments.papers.lecture                                  # what needs no files
    python -m experiments.papers.lecture --data FOLDER                    # also faces and digits
    python -m experiments.papers.lecture --data FOLDER --figures docs/figures

The FOLDER of --data holds isomap_faces_32.npz and usps_9298.npz. What differs from the lecture: the faces are
32 x 32 pixels, not 64 x 64; the digits are the 929 twos of USPS, where Tenenbaum et al. show 2,000 of MNIST; Figs.
4 to 6 show a spiral of our own. Fig. 1 compares many methods on data sets of others, and is not repeated. The
picture of the digits shows images, which are not ours to pass on: it is drawn, and not kept.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import unbend as ub
from matplotlib.figure import Figure
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree, procrustes
from scipy.stats import spearmanr
from sklearn.datasets import load_iris

from benches.python.timing import row
from experiments.papers.local_procrustes_figures import save
from experiments.papers.mlle import explained, panels, read

INK = {"s": 5, "linewidths": 0}


def main():
    options = arguments()
    warnings.simplefilter("ignore")
    pictures = {"fig3": figure_3(), "iris": iris(), "figs4-6": figures_4_to_6(), "holes": holes()}
    geodesics()
    error_of_isomap()
    projections()
    linear_projector()
    if options.data:
        pictures |= {"faces": faces(options.data), "digits": digits(options.data)}
    for name, picture in pictures.items():
        if options.figures and picture:
            save(picture, options.figures / f"lecture-{name}.png")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where the faces and the digits are")
    parser.add_argument("--figures", metavar="FOLDER", type=Path, help="draw them there")
    return parser.parse_args()


# Linear methods --------------------------------------------------------------------------------------------


def figure_3():
    """The principal axis makes distances to the line least, regression those along the vertical axis."""
    print("\n### Figs. 2 and 3: principal components and linear regression\n")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) @ [[2.0, 1.0], [0.0, 0.8]]
    x -= x.mean(axis=0)
    slopes = {"PCA": np.divide(*ub.PCA(1).fit(x).components_[0, ::-1]), "regression": np.polyfit(*x.T, 1)[0]}
    row("line", "slope", "mean square distance", "mean square along the vertical")
    row("---", "--:", "--:", "--:")
    figure, (ax,) = panels(1, 1, "Fig. 3: 200 points")
    ax.scatter(*x.T, color="0.7", **INK)
    for name, slope in slopes.items():
        along = np.mean((x[:, 1] - slope * x[:, 0]) ** 2)
        row(name, f"{slope:.3f}", f"{along / (1 + slope**2):.3f}", f"{along:.3f}")
        ends = np.array([-5.0, 5.0])
        ax.plot(ends, slope * ends, label=name)
    ax.legend(frameon=False)
    return figure


def iris():
    flowers = load_iris()
    pca = ub.PCA(2).fit(flowers.data)
    print("\n### Iris\n")
    row("variable", "correlation with component 1", "with component 2", "shown by both")
    row("---", "--:", "--:", "--:")
    for name, pair in zip(flowers.feature_names, pca.correlations_, strict=True):
        row(name, f"{pair[0]:.2f}", f"{pair[1]:.2f}", f"{(pair**2).sum():.0%}")
    print(f"\nThe components have {pca.explained_variance_ratio_[0]:.1%} and", end=" ")
    print(f"{pca.explained_variance_ratio_[1]:.1%} of the variance.")
    figure = Figure(figsize=(11, 5), dpi=80, facecolor="white", layout="constrained")
    figure.suptitle("Iris: principal components and correlation circle", fontsize=11)
    axes = figure.subplots(1, 2)
    for species, name in enumerate(flowers.target_names):
        axes[0].scatter(*pca.embedding_[flowers.target == species].T, label=name, s=12, linewidths=0)
    axes[0].legend(frameon=False)
    ub.plot.correlation_circle(pca, ax=axes[1], names=flowers.feature_names)
    return figure


# Unrolling ---------------------------------------------------------------------------------------------------


def figures_4_to_6():
    """A plane spiral of one dimension: what a line through it loses, and what geodesics keep."""
    print("\n### Figs. 4 to 6: a spiral of one dimension, 500 points, k = 10\n")
    angles = np.linspace(np.pi, 5 * np.pi, 10_001)
    lengths = (angles * np.hypot(1, angles) + np.arcsinh(angles)) / 2
    arc = np.random.default_rng(0).uniform(lengths[0], lengths[-1], 500)
    t = np.interp(arc, lengths, angles)
    x = np.c_[t * np.cos(t), t * np.sin(t)]
    methods = {
        "PCA": ub.PCA(1),
        "Isomap": ub.Isomap(1, 10),
        "PSA": ub.ProcrustesAlignment(1, 10),
    }
    row("method", "rank correlation with arc length", "disparity to arc length")
    row("---", "--:", "--:")
    figure, axes = panels(
        1, 1 + len(methods), "Figs. 4 to 6: a spiral, and one coordinate against arc length"
    )
    axes[0].scatter(*x.T, c=arc, **INK)
    axes[0].set_title("data", fontsize=10)
    for ax, (name, model) in zip(axes[1:], methods.items(), strict=True):
        y = model.fit(x).embedding_
        row(name, f"{abs(spearmanr(arc, y[:, 0])[0]):.3f}", f"{procrustes(arc[:, None], y)[2]:.1e}")
        ax.scatter(arc, y[:, 0], c=arc, **INK)
        ax.set_title(name, fontsize=10)
    return figure


def holes():
    """Where the domain is not convex, geodesics go around the hole; LLE needs no geodesics, but has faults."""
    print("\n### Isomap and LLE with and without a hole, 2,000 points, k = 10: disparity to the truth\n")
    methods = {
        "Isomap": ub.Isomap(n_neighbors=10),
        "LLE": ub.LocallyLinearEmbedding(n_neighbors=10, rectify="linear"),
        "LTSA": ub.LTSA(n_neighbors=10, rectify="linear"),
    }
    row("data", *methods)
    row("---", *["--:"] * len(methods))
    figure, axes = panels(2, len(methods), "A swiss roll without and with a hole")
    for line, hole in enumerate((False, True)):
        x, truth = ub.datasets.swiss_roll(2000, hole=hole, random_state=0)
        found = {name: model.fit(x).embedding_ for name, model in methods.items()}
        said = [f"{procrustes(truth, y)[2]:.4f}" for y in found.values()]
        row("swiss roll with a hole" if hole else "swiss roll", *said)
        for ax, (name, y) in zip(axes[3 * line :], found.items(), strict=False):
            ax.scatter(*y.T, c=truth[:, 0], **INK)
            ax.set_title(name, fontsize=10)
    return figure


# Theorems ----------------------------------------------------------------------------------------------------


def geodesics():
    """Theorem of Arias-Castro and Le Gouic: (1 + C r^2)^-1 d <= graph distance <= (1 + 4 eps / r) d."""
    print("\n### Distances of the r-neighborhood graph, divided by geodesic distances: a half cylinder\n")
    row("n", "r", "eps", "least", "most", "1 + 4 eps / r", "C that the least needs")
    row(*["--:"] * 7)
    for n, r in ((1000, 0.6), (4000, 0.6), (4000, 0.3), (16000, 0.3), (16000, 0.15)):
        x, truth, eps = half_cylinder(n)
        rng = np.random.default_rng(1)
        sources = rng.choice(n, size=20, replace=False)
        stretch = ratios(x, truth, r, sources)
        row(
            *(f"{n:,}", r, f"{eps:.3f}", f"{stretch.min():.4f}", f"{stretch.max():.4f}"),
            *(f"{1 + 4 * eps / r:.2f}" + (" (eps > r / 4)" if eps > r / 4 else ""),),
            f"{(1 / stretch.min() - 1) / r**2:.3f}",
        )


def half_cylinder(n):
    """Points, arc length and height, and how far a point of the surface can be from the nearest of them."""
    truth = np.random.default_rng(0).uniform(size=(n, 2)) * [np.pi, 2.0]
    x = np.c_[np.cos(truth[:, 0]), np.sin(truth[:, 0]), truth[:, 1]]
    grid = np.stack(np.meshgrid(np.linspace(0, np.pi, 315), np.linspace(0, 2, 201)), axis=-1).reshape(-1, 2)
    surface = np.c_[np.cos(grid[:, 0]), np.sin(grid[:, 0]), grid[:, 1]]
    return x, truth, cKDTree(x).query(surface)[0].max()


def ratios(x, truth, r, sources):
    graph = ub.neighborhoods(x, radius=r).to_graph()
    paths = dijkstra(graph, indices=sources)
    straight = np.linalg.norm(truth[sources][:, None] - truth, axis=2)
    apart = straight > 0
    return paths[apart] / straight[apart]


def error_of_isomap():
    """Theorem of Arias-Castro, Javanmard and Pelletier: the order of the error is r^2 or (eps / r)^2."""
    print("\n### Error of Isomap by r, a half cylinder (reach 1)\n")
    row("n", "r", "eps", "root mean square error", "max(r^2, (eps / r)^2)", "ratio")
    row(*["--:"] * 6)
    for n, sizes in ((500, (0.5, 0.8)), (1000, (0.3, 0.5, 0.8)), (2000, (0.2, 0.3, 0.5, 0.8))):
        x, truth, eps = half_cylinder(n)
        for r in sizes:
            y = ub.Isomap(2, radius=r).fit(x).embedding_
            error = motion_error(truth, y)
            order = max(r**2, (eps / r) ** 2)
            row(f"{n:,}", r, f"{eps:.3f}", f"{error:.4f}", f"{order:.3f}", f"{error / order:.3f}")


def motion_error(truth, y):
    """The root mean square distance after the best rotation, reflection and translation."""
    a, b = truth - truth.mean(axis=0), y - y.mean(axis=0)
    left, _, right = np.linalg.svd(b.T @ a)
    return np.sqrt(np.mean(((b @ left @ right - a) ** 2).sum(axis=1)))


def projections():
    """Theorem of Johnson and Lindenstrauss: what each kind of matrix does to distances."""
    print("\n### Random projections of 300 points of 4,096 dimensions to 1,000: worst factor on a distance\n")
    x = np.random.default_rng(0).normal(size=(300, 4096)) * (
        np.random.default_rng(1).uniform(size=4096) < 0.02
    )
    spikes = np.eye(4096)[:300]
    row("kind", "sparse points", "unit vectors")
    row("---", "--:", "--:")
    for kind in ("gaussian", "sparse", "kane-nelson", "hadamard"):
        made = [ub.RandomProjection(1000, kind=kind, random_state=0).fit(points) for points in (x, spikes)]
        row(kind, *(f"{model.distortion_:.3f}" for model in made))


def linear_projector():
    """Does LLE tend to a linear projection for large n? R^2 of its output by the data, and by the truth."""
    print("\n### LLE of the swiss roll, k = 12: R^2 by a linear map of the data, and by one of the truth\n")
    weights = (1e-3, 1e-6, 1e-9)
    row("n", *(f"reg = {reg:g}" for reg in weights))
    row("--:", *["--:"] * len(weights))
    for n in (500, 1000, 2000, 4000):
        x, truth = ub.datasets.swiss_roll(n, random_state=0)
        made = [ub.LocallyLinearEmbedding(2, 12, reg=reg).fit_transform(x) for reg in weights]
        row(n, *(f"{linear_share(x, y):.3f}, {linear_share(truth, y):.3f}" for y in made))


def linear_share(x, y):
    """The share of the variance of an embedding that an affine map of other coordinates explains."""
    wide = np.column_stack([x, np.ones(len(x))])
    return 1 - (y - wide @ np.linalg.lstsq(wide, y, rcond=None)[0]).var() / y.var()


# Images ----------------------------------------------------------------------------------------------------


def faces(folder):
    """Fig. 7: Isomap of faces with k = 6, and Fig. 8: images along a straight line of the embedding."""
    arrays = read(folder / "isomap_faces_32.npz")
    if arrays is None:
        return None
    x, truth = arrays["X"].astype(float), arrays["params"]
    print(f"\n### Fig. 7: {len(x)} faces by Isomap, k = 6\n")
    row("d", "residual variance", "light", "pan", "tilt")
    row(*["--:"] * 5)
    for d in range(1, 5):
        isomap = ub.Isomap(d, 6).fit(x)
        said = [f"{value:.2f}" for value in explained(isomap.embedding_, truth)]
        row(d, f"{isomap.residual_variance_:.3f}", *said)
    isomap = ub.Isomap(3, 6).fit(x)
    straight_lines(x, truth, isomap)
    figure, axes = panels(1, 2, "Fig. 7: 698 faces by Isomap, k = 6, three coordinates")
    for ax, column, name in zip(axes, (1, 2), ("pan", "tilt"), strict=True):
        ax.scatter(*isomap.embedding_[:, :2].T, c=truth[:, column], s=8, linewidths=0)
        ax.set_title(f"color: {name}", fontsize=10)
    return figure


def straight_lines(x, truth, isomap):
    """How far pose and light are from those half way between two faces: along lines of Y, and of X."""
    print("\n### Fig. 8: the middle between 500 pairs of faces\n")
    rng = np.random.default_rng(0)
    pairs = rng.choice(len(x), size=(500, 2))
    wanted = truth[pairs].mean(axis=1)
    row("the nearest face to the middle of", "root mean square error of the parameters")
    row("---", "--:")
    for name, points in (("the images", x), ("the embedding", isomap.embedding_)):
        middle = points[pairs].mean(axis=1)
        others = np.linalg.norm(middle[:, None] - points, axis=2)
        others[np.arange(500)[:, None], pairs] = np.inf
        nearest = others.argmin(axis=1)
        row(name, f"{np.sqrt(np.mean((truth[nearest] - wanted) ** 2)):.3f}")


def digits(folder):
    arrays = read(folder / "usps_9298.npz")
    if arrays is None:
        return None
    x = arrays["X"][arrays["labels"] == 2].astype(float)
    print(f"\n### Fig. 7: {len(x)} twos by Isomap, k = 6\n")
    row("d", "residual variance")
    row("--:", "--:")
    for d in (1, 2, 3, 5, 10):
        row(d, f"{ub.Isomap(d, 6).fit(x).residual_variance_:.3f}")
    figure, (ax,) = panels(1, 1, f"Fig. 7: {len(x)} twos by Isomap, k = 6")
    y = ub.Isomap(2, 6).fit(x).embedding_
    ax.scatter(*y.T, color="0.85", **INK)
    show_some(ax, x.reshape(-1, 16, 16), y)
    return figure


def show_some(ax, images, y, cells=9):
    """Show the image nearest to the middle of every cell that holds points."""
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    low, size = y.min(axis=0), np.ptp(y, axis=0) / cells
    where = np.minimum((y - low) // size, cells - 1).astype(int)
    for cell in np.unique(where, axis=0):
        inside = np.flatnonzero((where == cell).all(axis=1))
        middle = low + (cell + 0.5) * size
        best = inside[np.linalg.norm((y[inside] - middle) / size, axis=1).argmin()]
        picture = OffsetImage(images[best], cmap="gray_r", zoom=0.9)
        ax.add_artist(AnnotationBbox(picture, y[best], frameon=False, pad=0))


if __name__ == "__main__":
    main()
