"""The smallest eigenvectors of LTSA's alignment matrix, beside the solver that scikit-learn takes.

    python benches/python/bench_bottom.py [n]

scikit-learn: ARPACK about 0 with SuperLU (`eigen_solver="arpack"`).
"""

import sys
import time

import timing

timing.use_threads(2)

import numpy as np  # noqa: E402
import unbend as ub  # noqa: E402
from scipy.sparse.linalg import eigsh  # noqa: E402
from unbend.bottom import bottom  # noqa: E402

sys.path.insert(0, "tests/python")
from test_bottom import ltsa  # noqa: E402


def seconds(work):
    """How long it takes, and what it gives."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main():
    """Compare at one size."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    matrix = ltsa(x, 12, 2)
    ours, found = seconds(lambda: bottom(matrix, 2))
    start = np.random.default_rng(0).uniform(-1, 1, n)
    theirs, _ = seconds(lambda: eigsh(matrix.tocsc(), 3, sigma=0.0, tol=1e-6, maxiter=100, v0=start))
    print(f"n = {n}: unbend {ours:.2f} s, eigsh {theirs:.2f} s, ratio {theirs / ours:.1f}")
    print(f"residuals {found.residuals}, factor {found.factor_entries / n:.0f} numbers a point")


if __name__ == "__main__":
    main()
