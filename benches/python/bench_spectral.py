"""What the local weights and the alignment matrix of the normalized family cost, compared with scikit-learn.

    python benches/python/bench_spectral.py             # --quick: small data, seconds

The data are a 3-D swiss roll. scikit-learn is stopped where it would look for eigenvectors, so its time is
that of its neighbor search, weights and matrix; ours here includes the neighbor search, too. Both make
the same matrix (HLLE: scikit-learn takes a full QR, and so makes another).
"""

import argparse

import unbend as ub
from sklearn.manifold import SpectralEmbedding, _locally_linear
from timing import interleaved, machine, row, spread, use_threads
from unbend._core import LocalWeights

K = 12
METHODS = {"LLE": "standard", "MLLE": "modified", "LTSA": "ltsa", "HLLE": "hessian"}


def make(name, x, graph, threads):
    """W_i of every neighborhood."""
    return {
        "LLE": lambda: LocalWeights.lle(x, graph, "tikhonov", 1e-3, None, threads),
        "LDR-LLE": lambda: LocalWeights.lle(x, graph, "ldr", 0.0, 2, threads),
        "convex LLE": lambda: LocalWeights.lle(x, graph, "convex", 1e-3, None, threads),
        "MLLE": lambda: LocalWeights.mlle(x, graph, 2, 1e-3, threads),
        "LTSA": lambda: LocalWeights.ltsa(x, graph, 2, False, threads),
        "HLLE": lambda: LocalWeights.hlle(x, graph, 2, False, threads),
        "LEM": lambda: LocalWeights.lem(x, graph, "window", None, threads),
        "DFM": lambda: LocalWeights.dfm(x, graph, 1.0, "heat", None, threads),
    }[name]()


def ours(name, x, threads):
    return make(name, x, ub.neighborhoods(x, K, n_jobs=threads).core, threads).matrix()


def theirs(name, x):
    if name == "LEM":
        return SpectralEmbedding(affinity="nearest_neighbors", n_neighbors=K + 1)._get_affinity_matrix(x)
    kept = _locally_linear.null_space
    _locally_linear.null_space = lambda m, *_, **__: (m, None)
    try:
        return _locally_linear._locally_linear_embedding(
            x, n_neighbors=K, n_components=2, method=METHODS[name], eigen_solver="arpack"
        )
    finally:
        _locally_linear.null_space = kept


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn")))
    few, many = (500, 5_000) if options.quick else (3_000, 100_000)
    alone(many, options)
    beside(few, options)


def alone(n, options):
    print(f"### Weights and matrix: swiss roll, n = {n:,}, k = {K}, best of {options.repeats}\n")
    row("algorithm", "weights, s", "matrix, s", "phi, s", "entries a row")
    row(":--", *["--:"] * 4)
    x, coordinates = ub.datasets.swiss_roll(n, random_state=0)
    graph = ub.neighborhoods(x, K, n_jobs=options.threads).core
    for name in ("LLE", "LDR-LLE", "convex LLE", "MLLE", "LTSA", "HLLE", "LEM", "DFM"):
        weights = make(name, x, graph, options.threads)
        seconds = interleaved(
            {
                "weights": lambda name=name: make(name, x, graph, options.threads),
                "matrix": lambda weights=weights: weights.matrix(),
                "phi": lambda weights=weights: weights.phi(coordinates),
            },
            options.repeats,
        )
        entries = len(weights.matrix()[1]) / n
        row(name, *(f"{times.min():.3f}" for times in seconds.values()), f"{entries:.1f}")


def beside(n, options):
    print(f"\n### Neighbors, weights and matrix beside scikit-learn: n = {n:,}\n")
    row("algorithm", "ours, s", "theirs, s", "ours / theirs (lowest to highest)")
    row(":--", *["--:"] * 3)
    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    for name in (*METHODS, "LEM"):
        works = {
            "ours": lambda name=name: ours(name, x, options.threads),
            "theirs": lambda name=name: theirs(name, x),
        }
        seconds = interleaved(works, options.repeats)
        ratio = spread(seconds["ours"], seconds["theirs"])
        row(name, *(f"{times.min():.4f}" for times in seconds.values()), ratio)


if __name__ == "__main__":
    main()
