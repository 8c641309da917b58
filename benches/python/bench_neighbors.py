"""The time from an array of points to the neighbors and distances of all, compared with other packages in one run.

    pip install -r benches/python/requirements.txt
    python benches/python/bench_neighbors.py            # --quick: small data, seconds
    python benches/python/bench_neighbors.py --approximate --mnist mnist_70k.npz

Each package is given the same array, asked for one neighbor more if it lists the point itself, and runs on
the same number of threads. Ratios below 1 mean that unbend is faster. kd-trees are compared in 3 dimensions,
exhaustive searches in 50, 256 and 784. Wide data are float32, which is all that faiss takes, so that no package
converts; the last column shows how many lists have the members that unbend, exact in double precision, finds.

With --approximate, searches that may miss some neighbors are compared instead: their recall is that of
1,000 points drawn at random, of which all true neighbors are known. pynndescent is compiled before;
hnswlib gets the first settings of a list, from quick to thorough, that reach the recall. The images of
MNIST (an .npz with 70,000 rows X) are read from a file; surfaces of ten dimensions, with noise, are made.
--surfaces chooses which, by the dimensions of their space, and --peers with which peers: with a million points
hnswlib takes minutes for every setting. --exact adds an exhaustive search compared with that of faiss. By
themselves, --fits compares what PSA and GP take and reach with the search alone, for MNIST and for a box of ten
dimensions whose truth is known, and --memory the peak with the size of the input, in a process of its own.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import unbend as ub
from scipy.spatial import procrustes
from timing import interleaved, machine, peak_memory, row, spread, use_threads

K = 12
PACKAGES = ("unbend", "numpy", "scipy", "scikit-learn", "pykdtree", "faiss-cpu", "pynndescent", "hnswlib")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--approximate", action="store_true", help="searches that may miss some neighbors")
    parser.add_argument("--mnist", type=Path, help="the images of MNIST, an .npz with X")
    parser.add_argument("--surfaces", type=int, nargs="*", default=(50, 16), help="their dimensions, or none")
    parser.add_argument("--peers", nargs="*", default=("pynndescent", "hnswlib"), help="names of the peers")
    parser.add_argument("--exact", action="store_true", help="and an exhaustive search of these")
    parser.add_argument("--fits", action="store_true", help="and fits of PSA and GP to these")
    parser.add_argument("--memory", action="store_true", help="the peak memory on 1,000,000 x 50")
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        return print(peak_of_one(options))
    use_threads(options.threads)
    print(machine(options.threads, PACKAGES))
    if options.approximate:
        approximate(options)
    if options.fits:
        fits(options)
    if options.memory:
        peaks(options)
    if options.approximate or options.fits or options.memory:
        return
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


class PyNNDescent:
    name = "pynndescent"
    settings = ({"n_neighbors": K + 1}, {"n_neighbors": 16}, {"n_neighbors": 20}, {"n_neighbors": 30})

    def __init__(self):
        from pynndescent import NNDescent

        self.descent = NNDescent
        # compiled once, for both ways through its code
        for n in (1_000, 10_000):
            self(uniform(n, 20), 2, n_neighbors=K + 1)

    def __call__(self, x, threads, **settings):
        return self.descent(x, n_jobs=threads, random_state=0, **settings).neighbor_graph[0]


class Hnswlib:
    name = "hnswlib"
    settings = tuple(
        {"M": m, "ef_construction": ef, "ef": ef}
        for m, ef in ((6, 30), (8, 30), (8, 40), (8, 50), (12, 60), (16, 100), (24, 200))
    )

    def __init__(self):
        import hnswlib

        self.library = hnswlib

    def __call__(self, x, threads, M, ef_construction, ef):
        index = self.library.Index("l2", x.shape[1])
        index.init_index(len(x), M=M, ef_construction=ef_construction)
        index.set_num_threads(threads)
        index.add_items(x)
        index.set_ef(ef)
        return index.knn_query(x, K + 1)[0]


def approximate(options):
    others = peers([kind for kind in (PyNNDescent, Hnswlib) if kind.name in options.peers])
    row("data", "n", "q", "package", "best, s", "unbend / package", "in one round", "recall", "settings")
    row("---", "--:", "--:", "---", "--:", "--:", "---", "--:", "---")
    if options.mnist is not None:
        approximations("MNIST", images(options), 0.98, others, options)
    for q in options.surfaces:
        n = 20_000 if options.quick else 1_000_000
        approximations("surface of 10 dimensions", noisy_surface(n, q), 0.95, others, options)


def images(options):
    if options.mnist is None:
        sys.exit("--fits needs --mnist FILE")
    x = np.load(options.mnist)["X"].reshape(-1, 784).astype(np.float32)
    return x[:3_000] if options.quick else x


def approximations(name, x, target, others, options):
    asked = np.random.default_rng(0).choice(len(x), min(1_000, len(x)), replace=False)
    truth = last_distances(x, asked)
    found = {}

    def ours():
        nb = found["unbend"] = ub.neighborhoods(
            x, K, method="approximate", recall=target, n_jobs=options.threads
        )
        return nb

    works, chosen = {"unbend": ours}, {}
    for peer in others:
        for settings in peer.settings:
            reached = recall_of(x, peer(x, options.threads, **settings), asked, truth)
            if reached >= target:
                break
        chosen[peer.name] = (settings, reached)
        works[peer.name] = lambda peer=peer, settings=settings: peer(x, options.threads, **settings)
    if options.exact:
        works["unbend, exact"] = lambda: ub.neighborhoods(x, K, method="exact", n_jobs=options.threads)
        flat = attempt(FaissFlat)
        if flat is not None:
            works[flat.name] = lambda: flat(x, K, options.threads)
    seconds = interleaved(works, options.repeats)
    nb = found["unbend"]
    reached = recall_of(x, nb.indices.reshape(len(x), K), asked, truth)
    label = f"recall = {target}, reported {nb.recall_:.4f}"
    row(name, *x.shape, "unbend", f"{seconds['unbend'].min():.3f}", "1", "", f"{reached:.4f}", label)
    for other in works:
        if other == "unbend":
            continue
        settings, reached = chosen.get(other, ("", 1.0))
        ours = seconds["unbend, exact" if other == "faiss IndexFlatL2" else "unbend"]
        cells = (f"{seconds[other].min():.3f}", spread(ours, seconds[other]), f"{reached:.4f}", settings)
        row("", "", "", other, *cells)


def last_distances(x, asked):
    """The squared distance of the last true neighbor of each point asked about."""
    norms, truth = np.einsum("ij,ij->i", x, x), []
    for some in np.array_split(asked, 25):
        for i, products in zip(some, x[some] @ x.T, strict=True):
            near = np.argpartition(norms - 2 * products, K + 50)[: K + 50]
            truth.append(np.sort(((x[near].astype(float) - x[i]) ** 2).sum(axis=1)[near != i])[K - 1])
    return np.array(truth)


def recall_of(x, found, asked, truth):
    """The share of neighbors found that are no farther than the last true one."""
    right = 0
    for i, last in zip(asked, truth, strict=True):
        others = found[i][found[i] != i][:K]
        right += (((x[others].astype(np.float64) - x[i]) ** 2).sum(axis=1) <= last * (1 + 1e-12)).sum()
    return right / (K * len(asked))


def fits(options):
    """What follows the search, and what an approximate one does to the result."""
    print()
    names = (
        "data",
        "algorithm",
        "search, s",
        "whole fit, s",
        "R_N",
        "R_C",
        "bound",
        "R_N / exact",
        "disparity",
    )
    row(*names)
    row("---", "---", *["--:"] * (len(names) - 2))
    for name, x, truth in (("MNIST", images(options), None), ("box in 100 columns", *box(options))):
        exact = ub.neighborhoods(x, K, method="exact", n_jobs=options.threads)
        for kind in (ub.ProcrustesAlignment, ub.GreedyProcrustes):
            fit(name, x, truth, exact, kind, options)


def fit(name, x, truth, exact, kind, options):
    """One row of the table, and the seconds of every stage."""

    def model(**settings):
        return kind(10, K, random_state=0, n_jobs=options.threads, **settings)

    start = time.perf_counter()
    fitted = model(neighbors_method="approximate").fit(x)
    whole = time.perf_counter() - start
    m, search = fitted.faithfulness_, fitted.timings_["neighbors"]
    ratio = m.r_n / model().fit(x, neighborhoods=exact).faithfulness_.r_n
    apart = "" if truth is None else f"{procrustes(truth, fitted.embedding_)[2]:.1e}"
    measures = (f"{m.r_n:.5g}", f"{m.r_c:.5g}", f"{m.lower_bound:.5g}", f"{ratio:.4f}", apart)
    row(name, kind.__name__, f"{search:.2f}", f"{whole:.2f}", *measures)
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in fitted.timings_.items())
    print(f"<!-- {stages} -->", flush=True)


def box(options):
    """Points in a box of ten dimensions, turned into 100 columns, and their true coordinates."""
    rng = np.random.default_rng(0)
    truth = rng.random((3_000 if options.quick else 20_000, 10))
    directions = np.linalg.qr(rng.normal(size=(100, 10)))[0]
    return (truth @ directions.T).astype(np.float32), truth


def peaks(options):
    command = [sys.executable, __file__, "--peak", "--threads", str(options.threads)]
    command += ["--quick"] if options.quick else []
    print("\npeak / input, the input itself counted:", subprocess.check_output(command, text=True).strip())


def peak_of_one(options):
    x = noisy_surface(20_000 if options.quick else 1_000_000, 50)
    before = peak_memory()
    ub.neighborhoods(x, K, method="approximate", recall=0.95, n_jobs=options.threads)
    return f"{(peak_memory() - before + x.nbytes) / x.nbytes:.2f}"


def noisy_surface(n, q):
    """A surface of ten dimensions, curved into q, with noise."""
    rng = np.random.default_rng(0)
    waves, phases = rng.normal(size=(10, q)).astype(np.float32), rng.uniform(0, 2 * np.pi, q)
    x = np.empty((n, q), dtype=np.float32)
    for start in range(0, n, 10_000):
        block = rng.random((min(10_000, n - start), 10), dtype=np.float32) @ waves
        x[start : start + 10_000] = np.cos(np.pi / 2 * block + phases)
        x[start : start + 10_000] += 0.05 * rng.standard_normal((len(block), q), dtype=np.float32)
    return x


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
