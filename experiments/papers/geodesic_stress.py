"""Refinement by the stress of geodesic distances, compared with R_N: from Isomap's embeddings of noisy data.

    python -m experiments.papers.geodesic_stress                    # made data
    python -m experiments.papers.geodesic_stress --real FOLDER      # and those of bench_hard.py that are there
    python -m experiments.papers.geodesic_stress --folds            # sheets that lie on themselves
    python -m experiments.papers.geodesic_stress --large            # time of 100,000 points
    python -m experiments.papers.geodesic_stress --quick            # one set

R^2 is that of the truth predicted from five neighbors in the embedding, in cross-validation. It needs no lengths,
which real data do not have. 12 neighbors.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import unbend as ub
from scipy.spatial import procrustes

from benches.python import difficult
from benches.python.difficult_real import REAL, r_squared, read_real
from benches.python.timing import machine, row

K = 12
N = 1500
OBJECTIVES = ("R_N", "stress")
MADE = {
    "roll, noise 0.5": difficult.noisy(0.5),
    "roll with a hole": difficult.hole,
    "cap": difficult.cap,
    "growing noise": difficult.growing_noise,
    "noisy columns": difficult.noisy_columns,
    "imputed": difficult.imputed,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--real", metavar="FOLDER", type=Path, help="where the real sets are")
    parser.add_argument("--folds", action="store_true", help="unfold sheets")
    parser.add_argument("--large", action="store_true", help="time 100,000 points")
    parser.add_argument("--quick", action="store_true", help="one set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine(2, ("unbend", "numpy", "scipy", "scikit-learn")))
    if options.folds:
        folds()
        return
    if options.large:
        large(100_000)
        return
    row("data", "n", "R^2, Isomap", *(f"R^2, {name}" for name in OBJECTIVES), "stress", "after", "status")
    row("---", *["--:"] * 6, "---")
    gains = [compared(name, *data) for name, data in sets(options)]
    means = np.mean(gains, axis=0)
    row("mean", "", *(f"{mean:.3f}" for mean in means), "", "", "")


def sets(options):
    for name, make in MADE.items():
        if not options.quick or name == "roll, noise 0.5":
            yield name, make(N, np.random.default_rng(0))
    for name, source in REAL.items() if options.real else ():
        pair = read_real(options.real, source)
        if pair is None:
            print(f"{name} is skipped: there is no {source.file}.npz in {options.real}")
        else:
            yield name, pair


def compared(name, x, truth, *_):
    """Print R^2 before and after, and return it."""
    d = truth.shape[1]
    start = ub.Isomap(d, n_neighbors=K).fit_transform(x)
    found = {each: ub.refine(x, start, n_neighbors=K, objective=each) for each in OBJECTIVES}
    shares = [r_squared(truth, y) for y in (start, *(one.embedding for one in found.values()))]
    stress = found["stress"].history
    cells = (f"{share:.3f}" for share in shares)
    row(name, len(x), *cells, f"{stress[0]:.4f}", f"{stress[-1]:.4f}", found["stress"].status)
    return shares


def folds():
    """Overlap and R_N of a sheet, 3 x 1, whose end is folded over; by R_N, by stress, and by R_N after stress."""
    rng = np.random.default_rng(0)
    truth = rng.random((1000, 2)) * [3.0, 1.0]
    x = np.column_stack([truth, 0.2 * np.sin(2 * truth[:, 0])])
    row("folded over", "start", "R_N", "stress", "stress, then R_N")
    row("---", *["--:"] * 4)
    for length in (0.2, 0.5, 0.8, 1.5):
        start = truth + rng.normal(scale=1e-3, size=truth.shape)
        over = start[:, 0] > 3 - length
        start[over, 0] = 2 * (3 - length) - start[over, 0]
        found = [
            start,
            *(ub.refine(x, start, n_neighbors=K, objective=each).embedding for each in OBJECTIVES),
        ]
        found.append(ub.refine(x, found[-1], n_neighbors=K).embedding)
        measured = [(ub.metrics.overlap(x, y, K), ub.faithfulness(x, y, K).r_n) for y in found]
        row(length, *(f"{overlap:.3f}, {r_n:.4f}" for overlap, r_n in measured))


def large(n):
    x, truth = ub.datasets.swiss_roll(n, noise=0.3, random_state=0)
    nb = ub.neighborhoods(x, K)
    start = ub.Isomap(2, n_landmarks="auto", random_state=0).fit(x, neighborhoods=nb).embedding_
    begin = time.perf_counter()
    found = ub.refine(x, start, neighborhoods=nb, objective="stress")
    seconds = time.perf_counter() - begin
    before, after = (procrustes(truth, y)[2] for y in (start, found.embedding))
    print(
        f"{n:,} points: {found.n_iter} steps in {seconds:.0f} s, {found.status}; stress {found.history[0]:.2e} ",
        end="",
    )
    print(f"to {found.history[-1]:.2e}, disparity {before:.1e} to {after:.1e}")


if __name__ == "__main__":
    main()
