"""The time from an array of points to the neighbours and distances of all, beside other packages in one run.

    pip install -r benches/python/requirements.txt
    python benches/python/bench_neighbors.py            # --quick: small data, seconds

Each package is given the same array, asked for one neighbour more if it lists the point itself, and runs on
the same number of threads. Ratios below 1 mean that unbend is faster. kd-trees are compared in 3 dimensions,
exhaustive searches in 50, 256 and 784. Wide data are float32, which is all that faiss takes, so that nobody
converts; the last column shows how many lists have the members that unbend, exact in double precision, finds.
"""

import argparse

import numpy as np
import unbend as ub
from timing import interleaved, machine, row, spread, use_threads

K = 12
PACKAGES = ("unbend", "numpy", "scipy", "scikit-learn", "pykdtree", "faiss-cpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, PACKAGES))
    narrow, wide = peers([PyKDTree, SciPyTree]), peers([ScikitLearnBrute, FaissFlat])
    row("data", "n", "q", "package", "best, s", "unbend / package", "in one round", "lists that agree")
    row("---", "--:", "--:", "---", "--:", "--:", "---", "--:")
    for n in (2_000, 10_000) if options.quick else (100_000, 1_000_000):
        x, _ = ub.datasets.swiss_roll(n, random_state=0)
        compare("swiss roll", x, narrow, options)
    for q in (50, 256, 784):
        n = 1_000 if options.quick else 10_000
        compare("uniform", uniform(n, q), wide, options)
        compare("surface", surface(n, q), wide, options)


class PyKDTree:
    """pykdtree reads the number of threads from OMP_NUM_THREADS."""

    name = "pykdtree"

    def __init__(self):
        from pykdtree.kdtree import KDTree

        self.tree = KDTree

    def __call__(self, x, k, threads):
        return self.tree(x).query(x, k + 1)[::-1]


class SciPyTree:
    name = "scipy cKDTree"

    def __init__(self):
        from scipy.spatial import cKDTree

        self.tree = cKDTree

    def __call__(self, x, k, threads):
        return self.tree(x).query(x, k + 1, workers=threads)[::-1]


class ScikitLearnBrute:
    """Asked without points to look up, scikit-learn leaves out the point itself."""

    name = "scikit-learn brute"

    def __init__(self):
        from sklearn.neighbors import NearestNeighbors

        self.search = NearestNeighbors

    def __call__(self, x, k, threads):
        search = self.search(n_neighbors=k, algorithm="brute", n_jobs=threads)
        return search.fit(x).kneighbors()[::-1]


class FaissFlat:
    name = "faiss IndexFlatL2"

    def __init__(self):
        import faiss

        self.faiss = faiss

    def __call__(self, x, k, threads):
        self.faiss.omp_set_num_threads(threads)
        index = self.faiss.IndexFlatL2(x.shape[1])
        index.add(x)
        return index.search(x, k + 1)[::-1]


def peers(kinds):
    """Those that are installed."""
    return [peer for peer in map(attempt, kinds) if peer is not None]


def attempt(kind):
    try:
        return kind()
    except ImportError as error:
        print(f"{kind.name}: skipped, {error}\n")
        return None


def compare(name, x, others, options):
    n, q = x.shape
    expected = ub.neighborhoods(x, K).indices.reshape(n, K)
    works = {"unbend": lambda: ub.neighborhoods(x, K, n_jobs=options.threads)}
    for peer in others:
        works[peer.name] = lambda peer=peer: peer(x, K, options.threads)
    seconds = interleaved(works, options.repeats)
    ours = seconds["unbend"]
    row(name, n, q, "unbend", f"{ours.min():.4f}", "1", "", "")
    for peer in others:
        agreeing = agreement(expected, peer(x, K, options.threads)[0])
        theirs = seconds[peer.name]
        row("", "", "", peer.name, f"{theirs.min():.4f}", spread(ours, theirs), f"{agreeing:.2%}")


def agreement(expected, found):
    """The share of lists with the same members, the point itself set aside."""
    n, k = expected.shape
    found = np.asarray(found, dtype=np.int64)
    if found.shape[1] > k:
        own = found == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True
        found = found[~own].reshape(n, k)
    return (np.sort(found, axis=1) == np.sort(expected, axis=1)).all(axis=1).mean()


def uniform(n, q):
    return np.random.default_rng(0).random((n, q), dtype=np.float32)


def surface(n, q):
    """A curved surface that fills q dimensions: two parameters through random waves."""
    rng = np.random.default_rng(1)
    parameters, waves = rng.random((n, 2)), rng.normal(size=(2, q))
    return np.cos(np.pi * parameters @ waves + rng.uniform(0, 2 * np.pi, q)).astype(np.float32)


if __name__ == "__main__":
    main()
