"""Data sets with a known truth, and their embeddings by many tools, for `judgement.py`.

A truth is either coordinates, which may belong to several pieces, or labels. Labeled sets come first, because they
are few, and their results can be read while the others are still computed.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import unbend as ub
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap

from benches.python.difficult import CASES
from benches.python.difficult_real import REAL, read_real

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from umap import UMAP
except ImportError:
    UMAP = None

SIZES = {"labels": 1500, "real": 1500, "synthetic": 1000, "whole": 2000}
"""Largest numbers of points of a data set; of larger sets a random sample is taken. "whole" is for bundled sets
and pbmc3k."""

SEED, N_NEIGHBORS = 0, 12

SAME = 1e-9
"""Two embeddings of the same data with a smaller disparity are the same."""


@dataclass(frozen=True, eq=False)
class Data:
    """A data set and what is known about it: `truth` (coordinates) or `labels`."""

    name: str
    family: str  # labels, real or synthetic
    x: np.ndarray
    truth: np.ndarray | None = None
    labels: np.ndarray | None = None
    pieces: np.ndarray | None = None  # As in `difficult.py`.
    published: np.ndarray | None = None  # An embedding that comes with the data.

    @property
    def d(self):
        """Dimension of the truth; 2 for labels."""
        return 2 if self.truth is None else self.truth.shape[1]


@dataclass(frozen=True, eq=False)
class Embedded:
    """An embedding of a data set."""

    tool: str
    y: np.ndarray
    same_as: str | None = None  # The tool whose embedding this one repeats.


# Data sets -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sources:
    """Where data sets are, and how many of them to read."""

    data: Path | None
    real: Path | None
    most_points: int  # Of any data set.
    quick: bool = False

    def sets(self) -> Iterator[Data]:
        """Yield the data sets; print which files are missing."""
        parts = (self._labeled(), self._files(), self._real(), self._synthetic())
        for part in parts:
            for place, data in enumerate(part):
                if self.quick and place == 2:
                    break
                yield data

    def _labeled(self):
        for name, load in BUNDLED.items():
            x, labels = load(return_X_y=True)
            if name != "digits":  # Their columns are in different units.
                x = (x - x.mean(axis=0)) / x.std(axis=0)
            yield sampled(Data(name, "labels", x, labels=labels), self._most("whole"))

    def _files(self):
        for name, (file, read, size) in FILES.items():
            path = None if self.data is None else self.data / f"{file}.npz"
            if path is None or not path.exists():
                print(f"Skipped {name}: {file}.npz is not in the folder that --data names.", flush=True)
                continue
            with np.load(path, allow_pickle=True) as arrays:
                yield sampled(read(name, arrays), self._most(size))

    def _real(self):
        if self.real is None:
            print("Skipped the real sets: --real names no folder.", flush=True)
            return
        for name, source in REAL.items():
            pair = read_real(self.real, source)
            if pair is None:
                print(
                    f"Skipped {name}: {source.file}.npz is not in the folder that --real names.", flush=True
                )
            else:
                yield sampled(Data(name, "real", pair[0], truth=pair[1]), self._most("real"))

    def _synthetic(self):
        sizes = {name: (case, min(n, self._most("synthetic"))) for name, (case, n) in CASES.items()}
        first = {size: name for name, size in reversed(sizes.items())}  # Smaller cases may be the same.
        for size, name in reversed(first.items()):
            case, n = size
            x, truth, pieces = case(n, np.random.default_rng(SEED))
            yield Data(name, "synthetic", x, truth=truth, pieces=pieces)

    def _most(self, size):
        return min(200 if self.quick else self.most_points, SIZES[size])


def labeled(name, arrays):
    published = arrays["umap"] if "umap" in arrays.files else None
    x, (_, codes) = arrays["X"], np.unique(arrays["labels"], return_inverse=True)
    return Data(name, "labels", x, labels=codes, published=published)


def with_parameters(name, arrays):
    return Data(name, "real", arrays["X"], truth=arrays["params"])


BUNDLED = {
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
}
FILES = {
    "pbmc3k": ("pbmc3k_pca50", labeled, "whole"),
    "usps": ("usps_9298", labeled, "labels"),
    "mnist": ("mnist_70k", labeled, "labels"),
    "coil20": ("coil20_32", labeled, "labels"),
    "faces": ("isomap_faces_32", with_parameters, "real"),
}


def sampled(data, most):
    """Return the data set with at most `most` points, in float64."""
    rows = np.sort(np.random.default_rng(SEED).permutation(len(data.x))[:most])
    arrays = (data.x, data.truth, data.labels, data.pieces, data.published)
    x, truth, labels, pieces, published = (None if array is None else array[rows] for array in arrays)
    x, truth, published = (None if a is None else np.asarray(a, dtype=float) for a in (x, truth, published))
    return Data(data.name, data.family, x, truth, labels, pieces, published)


# Embeddings ----------------------------------------------------------------------------------------------


def city_block(x, d):
    """Classical scaling of Euclidean distances is PCA, so other distances are scaled."""
    return ub.ClassicalScaling(d, metric="precomputed").fit_transform(cdist(x, x, "cityblock"))


def random_projection(x, d):
    return x @ np.random.default_rng(SEED).standard_normal((x.shape[1], d))


def pure_noise(x, d):
    return np.random.default_rng(SEED).standard_normal((len(x), d))


def estimator(make) -> Callable:
    return lambda x, d: make(d).fit_transform(x)


TOOLS: dict[str, Callable] = {
    "PCA": estimator(lambda d: PCA(d)),
    "Isomap": estimator(lambda d: Isomap(n_neighbors=N_NEIGHBORS, n_components=d)),
    "LTSA, rectified": estimator(lambda d: ub.LTSA(d, rectify=True)),
    "Laplacian eigenmaps": estimator(lambda d: ub.LaplacianEigenmaps(d)),
    "t-SNE": estimator(lambda d: TSNE(d, random_state=SEED)),
    "UMAP": estimator(lambda d: UMAP(n_components=d, random_state=SEED, n_jobs=1)),
    "MDS, city block": city_block,
    "PSA, candidates=False": estimator(lambda d: ub.ProcrustesAlignment(d, candidates=False)),
    "PSA": estimator(lambda d: ub.ProcrustesAlignment(d)),
    "GP, candidates=False": estimator(lambda d: ub.GreedyProcrustes(d, candidates=False, random_state=SEED)),
    "GP": estimator(lambda d: ub.GreedyProcrustes(d, random_state=SEED)),
    "random projection": random_projection,
    "noise": pure_noise,
}
WRONG_DIMENSION = ("PCA", "Laplacian eigenmaps", "PSA, candidates=False")
"""Tools that also embed in one dimension where the truth has two."""

ONLY_TWO = ("t-SNE",)
"""Tools that only embed in two dimensions, because others take too long."""


def embeddings(data) -> Iterator[Embedded]:
    """Yield the embeddings of a data set; print which fail."""
    found: list[Embedded] = []
    if data.published is not None:
        found.append(Embedded("published UMAP", data.published))
    for tool, d in wanted(data):
        y = attempt(data, tool, d)
        if y is not None:
            found.append(Embedded(named(tool, d, data), y, repeated(y, found)))
    yield from found


def wanted(data):
    """Return the tools and dimensions of the embeddings of a data set."""
    dimensions = sorted({2, data.d})
    pairs = [(tool, d) for d in dimensions for tool in TOOLS if d == 2 or tool not in ONLY_TWO]
    pairs += [(tool, 1) for tool in WRONG_DIMENSION if 1 not in dimensions]
    return [(tool, d) for tool, d in pairs if tool != "UMAP" or UMAP is not None]


def named(tool, d, data):
    return tool if d == data.d else f"{tool}, d = {d}"


def attempt(data, tool, d):
    """Return an embedding, or None if the tool fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = np.ascontiguousarray(TOOLS[tool](data.x, d), dtype=float)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            print(f"Skipped {tool} of {data.name}, d = {d}: {error}", flush=True)
            return None
    if not np.isfinite(y).all() or np.ptp(y) == 0:
        print(f"Skipped {tool} of {data.name}, d = {d}: it is not finite, or one point.", flush=True)
        return None
    return y


def repeated(y, found):
    """Return the tool that found the same embedding before, or None."""
    same = (f for f in found if f.y.shape == y.shape and procrustes(f.y, y)[2] < SAME)
    return next((f.tool for f in same), None)
