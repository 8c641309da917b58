"""What Procrustes subspaces alignment costs and reaches, stage by stage, under noise, and compared with peers.

    python benches/python/bench_align.py                # --quick: small data, seconds
    python benches/python/bench_align.py --peers        # also LTSA, UMAP and Isomap: minutes
    python benches/python/bench_align.py --anneal       # also simulated annealing: a minute

The data are 3-D swiss rolls. "one PSA" is a whole fit with default parameters: neighbors, tangents,
alignment, eq. 11, refinement and measures. Ratios are of times in one run; every peer runs once. Disparity is
that of scipy.spatial.procrustes to the true coordinates; "in-plane" is that of the noise within the surface,
which no method can know.
"""

import argparse
import subprocess
import sys

import unbend as ub
from bench_embed import beside, disparity, timed
from bench_measure import MEGABYTE, peak_memory
from scipy.spatial import procrustes
from timing import machine, row, use_threads
from unbend.fit import problem as problems

K = 12
NOISES = (0.1, 0.3, 0.6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    parser.add_argument("--peers", action="store_true", help="also LTSA, UMAP and Isomap")
    parser.add_argument("--anneal", action="store_true", help="also simulated annealing")
    parser.add_argument("--child", nargs=3, metavar=("WHO", "N", "NOISE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        who, n, noise = options.child
        return child(who, int(n), float(noise), options.threads)
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "scikit-learn", "umap-learn")))
    few, many = (2_000, 20_000) if options.quick else (100_000, 1_000_000)
    stages(few, many, options)
    tolerances((few, many), options)
    in_either_order(many, options)
    memory((few, many), options)
    under_noise((few // 5, few), options)
    if options.anneal:
        annealing(500 if options.quick else 2_000)
    if options.peers:
        beside(few, "one PSA", lambda x: one_psa(x, options.threads), {}, options)
    return None


def one_psa(x, threads, **parameters):
    return ub.ProcrustesAlignment(2, K, **{"n_jobs": threads, "random_state": 0, **parameters}).fit(x)


def stages(few, many, options):
    print(f"### Time: swiss roll, 3-D to 2-D, k = {K}, best of {options.repeats}\n")
    names = ("neighbors", "tangents", "alignment", "assembly", "refine", "evidence", "faithfulness")
    row("n", *names, "one PSA, s", "of the search", "R_N / bound", "disparity")
    row("--:", *["--:"] * (len(names) + 4))
    took = []
    for n in (few, many):
        x, truth = ub.datasets.swiss_roll(n, random_state=0)
        runs = [timed(lambda x=x: one_psa(x, options.threads)) for _ in range(options.repeats)]
        seconds, model = min(runs, key=lambda run: run[0])
        search = min(timed(lambda x=x: ub.neighborhoods(x, K, n_jobs=options.threads))[0] for _ in runs)
        cells = [f"{model.timings_.get(name, 0):.3f}" for name in names]
        row(
            n,
            *cells,
            f"{seconds:.3f}",
            f"{seconds / search:.1f}",
            f"{model.faithfulness_.r_n / model.faithfulness_.lower_bound:.5f}",
            end(truth, model),
        )
        took.append(seconds)
    print(f"\nFrom {few} to {many} points one PSA takes {took[1] / took[0]:.1f} times as long.\n")


def tolerances(sizes, options):
    """How exactly eq. 11 needs to be solved."""
    print("### Residual of eq. 11\n")
    row("n", "solve_tol", "steps", "R_N / bound", "disparity")
    row("--:", "--:", "--:", "--:", "--:")
    for n in sizes:
        x, truth = ub.datasets.swiss_roll(n, random_state=0)
        for tol in (1e-4, 2e-5, 1e-6, 1e-8):
            model = one_psa(x, options.threads, solve_tol=tol)
            ratio = model.faithfulness_.r_n / model.faithfulness_.lower_bound
            row(n, f"{tol:g}", model.trace_["tree"]["n_solve"], f"{ratio:.7f}", end(truth, model))
    print()


def end(truth, model):
    return disparity(truth, model.embedding_)


def memory(sizes, options):
    print("### Peak memory above the input, each fit in a process of its own\n")
    row("n", "estimated, MB", "peak, MB", "estimated / peak")
    row("--:", "--:", "--:", "--:")
    for n in sizes:
        estimated, peak, _ = run_child("psa", n, 0.0, options)
        row(n, f"{estimated / MEGABYTE:.0f}", f"{peak / MEGABYTE:.0f}", f"{estimated / peak:.2f}")
    print()


def run_child(who, n, noise, options):
    arguments = ["--threads", str(options.threads), "--child", who, str(n), str(noise)]
    finished = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True
    )
    return map(float, finished.stdout.split())


def in_either_order(n, options):
    """Many points as they came, and renumbered so that neighbors lie near each other in memory."""
    print(f"### The order of points: {n} of a roll, embedded as they came, or renumbered first\n")
    row("algorithm", "as they came, s", "renumbered, s", "ratio")
    row("---", "--:", "--:", "--:")
    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    nb = ub.neighborhoods(x, K, n_jobs=options.threads)
    models = (ub.ProcrustesAlignment(), ub.GreedyProcrustes(random_state=0))
    usual = problems.MIN_RENUMBERED_POINTS
    for model in models:
        model.set_params(n_neighbors=K, n_jobs=options.threads)
        taken = []
        for problems.MIN_RENUMBERED_POINTS in (n + 1, 1):
            taken.append(min(timed(lambda model=model: model.fit(x, neighborhoods=nb))[0] for _ in range(2)))
        problems.MIN_RENUMBERED_POINTS = usual
        row(type(model).__name__, *(f"{s:.2f}" for s in taken), f"{taken[1] / taken[0]:.2f}")
    print()


def child(who, n, noise, threads):
    """Print the estimated and the measured peak, and the disparity."""
    import scipy.sparse.linalg  # noqa: F401  what is imported now is not counted
    import sklearn.manifold

    x, truth = ub.datasets.swiss_roll(n, noise=noise, random_state=0)
    before = peak_memory()
    if who == "isomap":
        estimated, y = 0, sklearn.manifold.Isomap(n_neighbors=K, n_jobs=threads).fit_transform(x)
    else:
        model = one_psa(x, threads)
        estimated, y = model.memory_estimate(n, 3), model.embedding_
    print(estimated, peak_memory() - before, procrustes(truth, y)[2])


def under_noise(sizes, options):
    print("### Disparity to the truth under noise, default parameters; in multiples of what is in-plane\n")
    row("n", "noise", "tangent neighbors", "in-plane", "PSA", "multiple", "GP", "multiple", "PSA, s")
    row("--:", *["--:"] * 8)
    for n in sizes:
        for deviation in NOISES:
            x, truth = ub.datasets.swiss_roll(n, noise=deviation, random_state=0)
            least = 2 * deviation**2 / truth.var(axis=0).sum()
            seconds, psa = timed(lambda x=x: one_psa(x, options.threads))
            gp = ub.GreedyProcrustes(2, K, random_state=0, n_jobs=options.threads).fit(x)
            found = [procrustes(truth, model.embedding_)[2] for model in (psa, gp)]
            cells = [cell for value in found for cell in (f"{value:.2e}", f"{value / least:.2f}")]
            row(n, deviation, psa.tangent_neighbors_, f"{least:.2e}", *cells, f"{seconds:.2f}")
    print()
    if options.peers:
        against_isomap(2_000 if options.quick else 10_000, options)


def against_isomap(n, options):
    print(f"### Noise and memory beside Isomap, n = {n}, each in a process of its own\n")
    row("noise", "Isomap", "PSA", "Isomap, peak MB", "PSA, peak MB", "ratio")
    row("--:", *["--:"] * 5)
    for deviation in NOISES:
        _, theirs, isomap = run_child("isomap", n, deviation, options)
        _, ours, psa = run_child("psa", n, deviation, options)
        cells = f"{isomap:.2e}", f"{psa:.2e}", f"{theirs / MEGABYTE:.0f}", f"{ours / MEGABYTE:.0f}"
        row(deviation, *cells, f"1/{theirs / ours:.0f}")
    print()


def annealing(n):
    print(f"### Simulated annealing from random frames, n = {n}\n")
    row("data", "seconds", "f / f of the tree", "aligned", "R_N, annealed", "R_N, tree")
    row("---", *["--:"] * 5)
    for make in (ub.datasets.swiss_roll, ub.datasets.hemisphere):
        x, _ = make(n, random_state=0)
        tree = one_psa(x, 2)
        seconds, found = timed(lambda x=x: one_psa(x, 2, alignment="anneal"))
        trace = found.trace_["anneal"]
        values = [found.faithfulness_.r_n, tree.faithfulness_.r_n]
        cells = [
            f"{value:.4g}" for value in (trace["f"] / tree.trace_["tree"]["f"], trace["aligned"], *values)
        ]
        row(make.__name__, f"{seconds:.1f}", *cells)
    print()


if __name__ == "__main__":
    main()
