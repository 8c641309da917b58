"""Blood cells on a map by UMAP, and what its distances say."""

from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from experiments.gallery.drawing import FONT, frame, panels
from experiments.gallery.tools import Map, by_others, by_unbend, label_table


def centers(points, labels):
    return np.array([points[labels == label].mean(axis=0) for label in np.unique(labels)])


def between(points, labels):
    """Distances between the centers of all pairs of groups."""
    middle = centers(points, labels)
    return np.array([np.linalg.norm(middle[a] - middle[b]) for a, b in combinations(range(len(middle)), 2)])


def show(page):
    x, labels, its = page["X"], page["labels"], page["its_map"]
    maps = [Map("UMAP of the file", its), by_unbend(page["psa"]), *by_others(x)[:2]]
    figure, (left, right) = panels(1, height=4.6)
    names, codes = np.unique(labels, return_inverse=True)
    for code, name in enumerate(names):
        left.scatter(*its[codes == code].T, s=5, color=f"C{code}", linewidths=0, label=name)
    frame(left, "UMAP, colored by type of cell")
    left.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, fontsize=9, frameon=False, markerscale=3
    )
    far, drawn = between(x, labels), between(its, labels)
    right.scatter(far, drawn, s=22, c="#2f5fa8")
    right.set_title(f"pairs of types: rank correlation {spearmanr(far, drawn)[0]:.2f}", fontsize=FONT)
    right.set_xlabel("distance of centers in the data")
    right.set_ylabel("distance of centers in the map")
    return label_table(x, labels, maps), figure
