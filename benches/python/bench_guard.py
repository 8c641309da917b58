"""Refinement with and without its guard: maps of clusters, and a shaken roll where the guard has nothing to do.

python benches/python/bench_guard.py                  # digits by t-SNE, and by UMAP if it is installed
python benches/python/bench_guard.py --data FOLDER    # also pbmc3k_pca50.npz, with its published UMAP
"""

import argparse
import time
from pathlib import Path

import numpy as np
import unbend as ub
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from timing import machine, row, use_threads

N_VOTERS = 10


def maps(folder):
    digits = load_digits()
    yield "digits, t-SNE", digits.data, TSNE(random_state=0).fit_transform(digits.data), digits.target
    try:
        from umap import UMAP
    except ImportError:
        print("Skipped UMAP: umap-learn is not installed.")
    else:
        yield "digits, UMAP", digits.data, UMAP(random_state=0).fit_transform(digits.data), digits.target
    file = None if folder is None else folder / "pbmc3k_pca50.npz"
    if file is not None and file.exists():
        held = np.load(file)
        yield "PBMC, its UMAP", held["X"].astype(float), held["umap"], held["labels"]
    x, truth = ub.datasets.swiss_roll(100_000, random_state=0)
    yield "roll, shaken", x, truth + np.random.default_rng(0).normal(scale=0.2, size=truth.shape), None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scikit-learn", "umap-learn")))
    row("map", "refined", "R_N", "trustworthiness", "overlap", "accuracy of labels", "seconds", "status")
    row("---", "---", *["--:"] * 5, "---")
    for name, x, y, labels in maps(options.data):
        y = y.astype(float)
        show(name, "no", x, y, labels, "", "")
        for guard in (False, True):
            start = time.perf_counter()
            found = ub.refine(x, y, guard=guard)
            seconds = f"{time.perf_counter() - start:.1f}"
            show(
                name, "with guard" if guard else "without", x, found.embedding, labels, seconds, found.status
            )


def show(name, how, x, y, labels, seconds, status):
    m = ub.faithfulness(x, y, n_centers=min(len(x), 5000), random_state=0)
    trust = ub.metrics.trustworthiness(x, y, n_centers=min(len(x), 2000), random_state=0)
    voters = KNeighborsClassifier(N_VOTERS)
    accuracy = "" if labels is None else f"{cross_val_score(voters, y, labels, cv=5).mean():.3f}"
    row(name, how, f"{m.r_n:.4f}", f"{trust:.4f}", f"{m.overlap:.4f}", accuracy, seconds, status)


if __name__ == "__main__":
    main()
