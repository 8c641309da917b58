"""Sensors in a C-shaped hall, each with its distances to those in range: our embeddings compared with others.

    python benches/python/bench_graph_scaling.py            # 1,000 and 10,000 sensors; --quick: seconds
    python benches/python/bench_graph_scaling.py --large    # also 100,000
    python benches/python/bench_graph_scaling.py --noise    # other noise and other degrees, 2,000 sensors
    python benches/python/bench_graph_scaling.py --steps    # acceleration, compared with SMACOF
    python benches/python/bench_graph_scaling.py --picture docs/images/graph_scaling.png

Sensors lie evenly in a hall of 3 x 3 without its middle right third. The range is such that a sensor has 12 others
within it on average, and distances have an error of 5 %. All methods get the same graph. The error is the median
distance of a sensor of the largest component from its true position, after the rigid motion that fits best.

Landmark Isomap scales shortest paths from 200 landmarks. scikit-learn's MDS knows no missing distances, so it gets
all shortest paths. "from the truth" is the minimum of the stress that is nearest to the true positions: no method
that minimizes the stress can be expected to be much better.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
import unbend as ub
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree
from timing import machine, peak_memory, row, use_threads

AREA, SIDE = 7.0, 3.0
LANDMARKS = 200


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few sensors: does everything run?")
    parser.add_argument("--large", action="store_true", help="also 100,000 sensors: minutes")
    parser.add_argument("--noise", action="store_true", help="other noise and degrees")
    parser.add_argument("--steps", action="store_true", help="acceleration, compared with SMACOF")
    parser.add_argument("--picture", metavar="FILE", help="draw the hall instead")
    parser.add_argument("--child", nargs=3, metavar=("METHOD", "N", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.child:
        print(*measured(options.child[0], int(options.child[1]), int(options.child[2])))
        return
    use_threads(options.threads)
    if options.picture:
        picture(options.picture)
        return
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    if options.noise:
        noise(500 if options.quick else 2000, options.seeds)
    elif options.steps:
        steps(500 if options.quick else 10_000)
    else:
        sizes = (500,) if options.quick else (1_000, 10_000)
        table(sizes + ((100_000,) if options.large else ()), options.seeds)


def hall(n, seed, degree=12.0, noise=0.05):
    """Sensors, pairs in range, and measured distances."""
    rng = np.random.default_rng(seed)
    points = SIDE * rng.random((2 * n, 2))
    outside = (points[:, 0] > 1) & (points[:, 1] > 1) & (points[:, 1] < 2)
    points = points[~outside][:n]
    radius = np.sqrt(degree * AREA / (np.pi * n))
    for _ in range(4):  # sensors at the walls have fewer
        pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
        radius *= np.sqrt(degree * n / (2 * len(pairs)))
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return points, pairs, lengths * (1 + noise * rng.normal(size=len(pairs)))


def error(points, embedding):
    """Median distance from the true positions."""
    a, b = points - points.mean(axis=0), embedding - embedding.mean(axis=0)
    left, _, right = np.linalg.svd(b.T @ a)
    return np.median(np.linalg.norm(b @ left @ right - a, axis=1))


def largest(n, pairs):
    joined = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n))
    labels = connected_components(joined, directed=False)[1]
    return labels == np.bincount(labels).argmax()


def scaling(points, pairs, lengths, **options):
    model = ub.GraphScaling(random_state=0, **options)
    return model.fit(pairs, distances=lengths, n_points=len(points)).embedding_


def alignment(points, pairs, lengths):
    n = len(points)
    matrix = coo_array((lengths, tuple(pairs.T)), shape=(n, n)).tocsr()
    return ub.ProcrustesAlignment(metric="precomputed", random_state=0).fit(matrix).embedding_


def from_truth(points, pairs, lengths):
    model = ub.GraphScaling(random_state=0)
    return model.fit(pairs, distances=lengths, n_points=len(points), init=points).embedding_


def isomap(points, pairs, lengths):
    """Landmark Isomap, as de Silva & Tenenbaum (2004) have it."""
    n = len(points)
    graph = coo_array((lengths, tuple(pairs.T)), shape=(n, n)).tocsr()
    part = np.flatnonzero(largest(n, pairs))
    landmarks = np.random.default_rng(0).choice(part, min(LANDMARKS, len(part)), replace=False)
    squares = dijkstra(graph, directed=False, indices=landmarks)[:, part] ** 2
    own = squares[:, np.searchsorted(part, landmarks)]
    centering = np.eye(len(landmarks)) - 1 / len(landmarks)
    values, vectors = np.linalg.eigh(-centering @ own @ centering / 2)
    axes = vectors[:, :-3:-1] / (2 * np.sqrt(values[:-3:-1]))
    embedding = np.zeros((n, 2))
    embedding[part] = (own.mean(axis=0)[:, None] - squares).T @ axes
    return embedding


def mds(points, pairs, lengths):
    from sklearn.manifold import MDS

    n = len(points)
    part = np.flatnonzero(largest(n, pairs))
    graph = coo_array((lengths, tuple(pairs.T)), shape=(n, n)).tocsr()[part][:, part]
    paths = dijkstra(graph, directed=False)
    embedding = np.zeros((n, 2))
    model = MDS(dissimilarity="precomputed", n_init=1, random_state=0)
    embedding[part] = model.fit_transform((paths + paths.T) / 2)
    return embedding


METHODS = {
    "GraphScaling": scaling,
    "ProcrustesAlignment": alignment,
    "from the truth": from_truth,
    "landmark Isomap": isomap,
    "MDS of paths (scikit-learn)": mds,
}
MOST = {"MDS of paths (scikit-learn)": 1_000}


def measured(method, n, seed):
    """Seconds, seconds of the processors, error and memory of one method, in a process of its own."""
    data = hall(n, seed)
    METHODS[method](*hall(200, seed))  # imports
    before = peak_memory()
    start, begin = time.perf_counter(), time.process_time()
    embedding = METHODS[method](*data)
    seconds, processor = time.perf_counter() - start, time.process_time() - begin
    peak = (peak_memory() - before) / 1e6
    part = largest(n, data[1])
    return seconds, processor, error(data[0][part], embedding[part]), peak


def table(sizes, seeds):
    print("### Sensors in a C-shaped hall: mean degree 12, 5 % noise\n")
    row("sensors", "method", "s", "CPU s", "median error", "worst of the seeds", "of landmark Isomap's", "MB")
    row("--:", ":--", *["--:"] * 6)
    for n in sizes:
        found = {}
        for method in METHODS:
            if n > MOST.get(method, n):
                continue
            command = [sys.executable, __file__, "--child", method, str(n)]
            runs = [
                subprocess.run([*command, str(s)], check=True, capture_output=True, text=True).stdout
                for s in range(seeds if n < 100_000 else 1)
            ]
            found[method] = np.array([run.split() for run in runs], dtype=float)
        for method, (seconds, processor, errors, peaks) in ((m, values.T) for m, values in found.items()):
            share = np.median(errors / found["landmark Isomap"][:, 2])
            row(
                f"{n:,}",
                method,
                f"{seconds.min():.1f}",
                f"{processor.min():.1f}",
                f"{np.median(errors):.4f}",
                f"{errors.max():.4f}",
                f"{share:.3f}",
                f"{peaks.max():.0f}",
            )
    print()


def noise(n, seeds):
    print(f"### Other noise, other degrees: {n:,} sensors, medians of {seeds} seeds\n")
    row("degree", "noise", "GraphScaling", "from the truth", "landmark Isomap", "trusted", "points fixed")
    row(*["--:"] * 7)
    for degree in (8, 10, 12, 16):
        for share in (0.0, 0.05, 0.1, 0.2):
            errors, trusted, fixed = [], 0, []
            for seed in range(seeds):
                data = hall(n, seed, degree, share)
                part = largest(n, data[1])
                model = ub.GraphScaling(random_state=0).fit(data[1], distances=data[2], n_points=n)
                others = [from_truth(*data), isomap(*data)]
                errors.append([error(data[0][part], y[part]) for y in (model.embedding_, *others)])
                trusted += model.verdict_.trusted
                open_ = model.ambiguity_
                fixed.append(1 - sum(map(len, (open_.loose, open_.movable, open_.reflectable))) / n)
            cells = [f"{value:.4f}" for value in np.median(errors, axis=0)]
            row(degree, f"{share:.0%}", *cells, f"{trusted} of {seeds}", f"{np.median(fixed):.1%}")
    print()


def steps(n):
    print(f"### Steps from landmark Isomap, {n:,} sensors\n")
    row("way", "steps", "stress after 100", "stress at the end", "s")
    row(":--", *["--:"] * 4)
    points, pairs, lengths = hall(n, 0)
    part = np.flatnonzero(largest(n, pairs))
    number = np.full(n, -1)
    number[part] = np.arange(len(part))
    inside = (number[pairs] >= 0).all(axis=1)
    start = isomap(points, pairs, lengths)[part]
    for name, accelerate in (("L-BFGS", True), ("SMACOF", False)):
        model = ub.GraphScaling(accelerate=accelerate, max_iter=2000)
        begin = time.perf_counter()
        model.fit(number[pairs[inside]], distances=lengths[inside], init=start)
        history = model.trace_["history"][0]
        seconds = time.perf_counter() - begin
        row(
            name,
            len(history) - 1,
            f"{history[min(100, len(history) - 1)]:.4f}",
            f"{history[-1]:.4f}",
            f"{seconds:.1f}",
        )
    print()


def picture(path):
    """Draw the hall, landmark Isomap and GraphScaling, turned to lie on the hall."""
    from matplotlib import pyplot as plt

    points, pairs, lengths = hall(2000, 0)
    part = largest(2000, pairs)
    panels = {"the hall": points, "landmark Isomap": isomap(points, pairs, lengths)}
    panels["GraphScaling"] = scaling(points, pairs, lengths)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained", sharex=True, sharey=True)
    middle = points[part].mean(axis=0)
    for axis, (name, embedding) in zip(axes, panels.items(), strict=True):
        moved = embedding[part] - embedding[part].mean(axis=0)
        left, _, right = np.linalg.svd(moved.T @ (points[part] - middle))
        shown = moved @ left @ right + middle
        axis.scatter(*shown.T, c=points[part, 1], s=4, cmap="viridis", linewidths=0)
        off = np.median(np.linalg.norm(shown - points[part], axis=1))
        axis.set_title("the hall\n" if name == "the hall" else f"{name}\nmedian error {off:.3f}", fontsize=10)
        axis.set_aspect("equal")
        axis.set_axis_off()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
