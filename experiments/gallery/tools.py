"""Maps by other tools, and the tables that compare them.

UMAP takes part if umap-learn is installed; it is not among the packages that the project needs.
"""

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import unbend as ub
from scipy.spatial import procrustes
from sklearn.decomposition import PCA
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benches.python.difficult_real import r_squared

HAS_UMAP = find_spec("umap") is not None
SEED = 0


@dataclass(frozen=True)
class Map:
    """An embedding, the tool that made it, and whether that tool says it can be trusted."""

    tool: str
    points: np.ndarray
    trust: str = "does not say"


def by_unbend(model, name="unbend"):
    return Map(name, model.embedding_, "trusted" if model.verdict_.trusted else "not trusted")


def by_umap(x, d=2, k=15):
    from umap import UMAP

    return Map("UMAP", UMAP(k, d, random_state=SEED, n_jobs=1).fit_transform(x))


def by_others(x, d=2, k=12):
    """Return the maps of Isomap, PCA and, if it is installed, UMAP."""
    maps = [
        Map("Isomap", Isomap(n_neighbors=k, n_components=d).fit_transform(x)),
        Map("PCA", PCA(d).fit_transform(x)),
    ]
    return [*maps, by_umap(x, d)] if HAS_UMAP else maps


def table(*rows):
    """Return a Markdown table; the first row is its head, and all columns but the first are numbers."""
    head, *body = rows
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))


def disparity(truth, points):
    return procrustes(truth, points[:, : truth.shape[1]])[2]


def truth_table(x, truth, maps):
    """Disparity and R^2 to the truth of all maps, and R^2 of the data."""
    rows = [
        (m.tool, f"{disparity(truth, m.points):.3f}", f"{r_squared(truth, m.points):.3f}", m.trust)
        for m in maps
    ]
    return table(
        ("map", "disparity", "R²", "verdict"), *rows, ("the data", "", f"{r_squared(truth, x):.3f}", "")
    )


def angle_errors(angles, points):
    """Errors in degrees of the angles of a map of a ring, turned and scaled to fit all true ones best."""
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    placed = ub.align([circle, points], scale=True)[1]
    off = np.arctan2(placed[:, 1], placed[:, 0]) - angles
    return np.degrees(np.abs(np.angle(np.exp(1j * off))))


def ring_table(x, angles, maps):
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    rows = [
        (
            m.tool,
            f"{disparity(circle, m.points):.3f}",
            f"{r_squared(circle, m.points):.3f}",
            f"{np.median(angle_errors(angles, m.points)):.1f}",
            m.trust,
        )
        for m in maps
    ]
    head = ("map", "disparity", "R²", "median error of the angle, degrees", "verdict")
    return table(head, *rows, ("the data", "", f"{r_squared(circle, x):.3f}", "", ""))


def accuracy(points, labels):
    """How often the five nearest points have the same label, in cross-validation."""
    return cross_val_score(KNeighborsClassifier(5), points, labels, cv=5).mean()


def label_table(x, labels, maps):
    """Accuracy, trustworthiness and rank correlation of distances, of all maps."""
    graph = ub.neighborhoods(x, 12)
    rows = []
    for m in maps:
        trustworthiness = ub.metrics.trustworthiness(x, m.points, neighborhoods=graph)
        order = ub.metrics.spearman(x, m.points, random_state=SEED)
        rows.append(
            (m.tool, f"{accuracy(m.points, labels):.3f}", f"{trustworthiness:.3f}", f"{order:.3f}", m.trust)
        )
    head = ("map", "accuracy of labels", "trustworthiness", "rank correlation of distances", "verdict")
    return table(head, *rows, ("the data", f"{accuracy(x, labels):.3f}", "", "", ""))
