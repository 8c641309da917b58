"""What greedy Procrustes and its refinement cost and reach, compared with the search for neighbors and peers.

    python benches/python/bench_embed.py                     # --quick: small data, seconds
    python benches/python/bench_embed.py --peers             # also LTSA and UMAP: minutes
    python benches/python/bench_embed.py --large             # also 10,000,000 points: needs some GB
    python benches/python/bench_embed.py --wide images.npz   # also the array X of a file, in 10 dimensions

The data are 3-D swiss rolls. "one GP" is everything: neighbors, charts, one start, R_N. Ratios are of times
in one run; every peer runs once. Disparity is that of scipy.spatial.procrustes to the true coordinates.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
import unbend as ub
from bench_measure import MEGABYTE, peak_memory
from scipy.spatial import procrustes
from timing import interleaved, machine, row, use_threads
from unbend.core.memory import readable

K = 12
LARGE = 10_000_000


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--peers", action="store_true", help="also LTSA and UMAP")
    parser.add_argument("--large", action="store_true", help=f"also {LARGE} points: needs some GB")
    parser.add_argument("--wide", metavar="FILE", help="also the array X of an .npz file")
    parser.add_argument("--child", nargs=2, metavar=("N", "PARAMETERS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(int(options.child[0]), options.child[1], options.threads)
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn", "umap-learn")))
    few, many = (2_000, 20_000) if options.quick else (100_000, 1_000_000)
    times(few, many, options)
    refinement(few, options)
    memory((few, many, *([LARGE] if options.large else [])), options.threads)
    if options.wide:
        wide(options)
    if options.peers:
        peers(few, options)
    return None


def one_gp(x, threads, **parameters):
    """Neighbors, charts, one start, R_N."""
    settings = {"n_init": 1, "refine": None, "random_state": 0, "n_jobs": threads} | parameters
    return ub.GreedyProcrustes(2, K, **settings).fit(x)


def reached(model):
    m = model.faithfulness_
    return f"{m.r_n / m.lower_bound:.4f}"


def disparity(truth, y):
    return f"{procrustes(truth, y)[2]:.1e}"


def times(few, many, options):
    print(f"### Time: swiss roll, 3-D to 2-D, k = {K}\n")
    row("n", "neighbors, s", "one GP, s", "one GP / neighbors", "R_N / bound", "disparity")
    row("--:", "--:", "--:", "--:", "--:", "--:")
    best = []
    for n in (few, many):
        x, truth = ub.datasets.swiss_roll(n, random_state=0)
        works = {
            "search": lambda x=x: ub.neighborhoods(x, K, n_jobs=options.threads),
            "gp": lambda x=x: one_gp(x, options.threads),
        }
        seconds = interleaved(works, options.repeats)
        search, gp = seconds["search"].min(), seconds["gp"].min()
        model = one_gp(x, options.threads)
        ratio = f"{gp / search:.2f}"
        row(n, f"{search:.4f}", f"{gp:.4f}", ratio, reached(model), disparity(truth, model.embedding_))
        best.append(gp)
    print(f"\nFrom {few} to {many} points one GP takes {best[1] / best[0]:.1f} times as long.\n")


def refinement(n, options):
    """How long it takes from GP to within 1 % of the bound."""
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    model = one_gp(x, options.threads)
    nb, bound = model.neighborhoods_, model.faithfulness_.lower_bound

    def until_near():
        return ub.refine(
            x,
            model.embedding_,
            neighborhoods=nb,
            tol=0,
            callback=lambda stage, done, total, best: best is not None and best <= 1.01 * bound,
            n_jobs=options.threads,
        )

    seconds = interleaved({"gp": lambda: one_gp(x, options.threads), "refine": until_near}, options.repeats)
    found = until_near()
    print(f"### Global refinement from GP, n = {n}\n")
    before, after = model.faithfulness_.r_n / bound, found.history[-1] / bound
    took = seconds["refine"].min()
    print(f"R_N / bound {before:.4f}, refined {after:.4f} after {found.n_iter} steps: {took:.3f} s,", end=" ")
    print(f"{took / seconds['gp'].min():.2f} of one GP; ", end="")
    print(f"disparity {disparity(truth, model.embedding_)}, refined {disparity(truth, found.embedding)}\n")


def memory(sizes, threads):
    print("### Peak memory above the input, each fit in a process of its own\n")
    row("n", "fit", "seconds", "estimated, MB", "peak, MB", "estimated / peak", "R_N / bound")
    row("--:", "---", "--:", "--:", "--:", "--:", "--:")
    fits = {"one GP": "one", "4 starts, refined": "default", "tangents from 60": "tangents"}
    for n in sizes:
        for name, parameters in fits.items():
            if n > LARGE // 10 and parameters != "one":
                continue
            command = [sys.executable, __file__, "--threads", str(threads), "--child", str(n), parameters]
            finished = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds, estimated, peak, ratio = map(float, finished.stdout.split())
            cells = f"{seconds:.2f}", f"{estimated / MEGABYTE:.0f}", f"{peak / MEGABYTE:.0f}"
            row(n, name, *cells, f"{estimated / peak:.2f}", f"{ratio:.4f}")
    print()


PARAMETERS = {
    "one": {"n_init": 1, "refine": None},
    "default": {},
    "tangents": {"n_init": 1, "refine": None, "tangent_neighbors": 60},
}


def child(n, parameters, threads):
    """Print seconds, the estimated and the measured peak, and R_N over its bound."""
    import scipy.sparse.linalg  # noqa: F401  what is imported now is not counted

    model = ub.GreedyProcrustes(2, K, random_state=0, n_jobs=threads, **PARAMETERS[parameters])
    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    before, start = peak_memory(), time.perf_counter()
    model.fit(x)
    seconds, m = time.perf_counter() - start, model.faithfulness_
    print(seconds, model.memory_estimate(n, 3), peak_memory() - before, m.r_n / m.lower_bound)


def wide(options):
    """Charts and GP compared with the exact search, on data of many dimensions."""
    x = np.load(options.wide)["X"].astype(np.float32)
    if options.quick:
        x = x[:2_000]
    start = time.perf_counter()
    nb = ub.neighborhoods(x, K, n_jobs=options.threads)
    search = time.perf_counter() - start
    model = ub.GreedyProcrustes(10, n_init=1, refine=None, random_state=0, n_jobs=options.threads)
    model.fit(x, neighborhoods=nb)
    seconds = sum(model.timings_[stage] for stage in ("charts", "greedy") if stage in model.timings_)
    print(f"### Wide data: {len(x)} x {x.shape[1]} to 10-D, k = {K}\n")
    print(f"neighbors {search:.2f} s; charts and GP {seconds:.2f} s, {seconds / search:.3f} of it; ", end="")
    print(f"R_N {model.faithfulness_.r_n:.3f}, bound {model.faithfulness_.lower_bound:.3f}\n")


def peers(n, options):
    more = {
        "GP, 4 starts, refined": lambda x: one_gp(x, options.threads, n_init=4, refine="global").embedding_
    }
    beside(n, "one GP", lambda x: one_gp(x, options.threads), more, options)


def beside(n, name, fit, more, options):
    """Compare a fit, the best of some runs, with one run of each peer."""
    print(f"### Peers: swiss roll, n = {n}, k = {K}, one run each\n")
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    nb = ub.neighborhoods(x, K)
    row("algorithm", "seconds", f"of them {name} is", "R_N", "after the best scale", "disparity")
    row("---", "--:", "--:", "--:", "--:", "--:")
    ours = min(timed(lambda: fit(x))[0] for _ in range(options.repeats))
    rivals = {name: lambda x: fit(x).embedding_, **more}
    rivals |= {
        "LTSA (scikit-learn)": lambda x: ltsa(x, options.threads),
        "UMAP": lambda x: umap(x, options.threads),
    }
    for rival, work in rivals.items():
        try:
            seconds, y = timed(lambda work=work: work(x))
        except ImportError:
            row(rival, *["not installed"] * 5)
            continue
        m = ub.faithfulness(x, y, neighborhoods=nb)
        part = f"1/{seconds / ours:.0f}"
        row(rival, f"{seconds:.2f}", part, f"{m.r_n:.3g}", f"{m.r_n_scaled:.3g}", disparity(truth, y))
    print(f"\nlower bound {m.lower_bound:.3g}; {name} {ours:.3f} s, peak so far {readable(peak_memory())}\n")


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def ltsa(x, threads):
    from sklearn.manifold import LocallyLinearEmbedding

    settings = {"method": "ltsa", "eigen_solver": "arpack", "random_state": 0, "n_jobs": threads}
    return LocallyLinearEmbedding(n_neighbors=K, n_components=2, **settings).fit_transform(x)


def umap(x, threads):
    from umap import UMAP

    return UMAP(n_neighbors=K, n_components=2, n_jobs=threads).fit_transform(x)


if __name__ == "__main__":
    main()
