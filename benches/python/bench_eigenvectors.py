"""The smallest eigenvectors of LTSA's alignment matrix, compared with other ways to find them.

    python benches/python/bench_eigenvectors.py               # --quick: small data, seconds
    python benches/python/bench_eigenvectors.py --noise 0.6

- SuperLU: ARPACK about 0 on scipy's factor, as scikit-learn does it.
- multigrid: LOBPCG preconditioned by pyamg's smoothed aggregation, with the constant vector kept out.
- deflated CG: eight vectors, each multiplied by the inverse with 300 steps of conjugate gradients
  (preconditioned by the diagonal, the constant vector kept out) and orthogonalised, at most 20 times.

Each stops by itself or after its steps. What is compared is the time, and the largest residual
|M y - lambda y| as a share of |M|, the largest sum of absolute entries in a row; "angle" is that to the
space found by unbend.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from timing import machine, row, use_threads

K = 12
# Beyond this it takes many minutes.
MOST_FOR_CG = 20_000


def superlu(matrix, start):
    from scipy.sparse.linalg import eigsh

    values, vectors = eigsh(matrix.tocsc(), 3, sigma=0.0, tol=1e-6, maxiter=100, v0=start[:, 0])
    return vectors[:, values.argsort()[1:3]]


def multigrid(matrix, start):
    from pyamg import smoothed_aggregation_solver
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import lobpcg

    constants = np.ones((len(start), 1))
    shifted = (matrix + diags_array(np.full(len(start), 1e-10 * norm(matrix)))).tocsr()
    preconditioner = smoothed_aggregation_solver(shifted, B=constants).aspreconditioner()
    values, vectors = lobpcg(
        matrix, start[:, 1:5], M=preconditioner, Y=constants, largest=False, maxiter=200, tol=1e-9
    )
    return vectors[:, values.argsort()[:2]]


def deflated_cg(matrix, start):
    from scipy.sparse.linalg import LinearOperator, cg

    inverse = 1 / matrix.diagonal()
    diagonal = LinearOperator(matrix.shape, lambda x: inverse * x, dtype=float)
    space = centered(start)
    for _ in range(20):
        solved = [cg(matrix, side, rtol=1e-10, maxiter=300, M=diagonal)[0] for side in space.T]
        space = np.linalg.qr(centered(np.column_stack(solved)))[0]
        _, turn = np.linalg.eigh(space.T @ (matrix @ space))
        space = space @ turn
        if residual(matrix, space[:, :2]) < 1e-9:
            break
    return space[:, :2]


def centered(block):
    return block - block.mean(axis=0)


def norm(matrix):
    return abs(matrix).sum(axis=1).max()


def residual(matrix, vectors):
    unit = vectors / np.linalg.norm(vectors, axis=0)
    images = matrix @ unit
    values = (unit * images).sum(axis=0)
    return np.linalg.norm(images - values * unit, axis=0).max() / norm(matrix)


def compare(n, noise):
    x, _ = ub.datasets.swiss_roll(n, noise=noise, random_state=0)
    matrix = ltsa(x, K, 2)
    start = np.random.default_rng(0).normal(size=(n, 8))
    works = {
        "unbend": lambda: smallest_eigenvectors(matrix, 2).vectors,
        "SuperLU": lambda: superlu(matrix, start),
        "multigrid": lambda: multigrid(matrix, start),
        "deflated CG": lambda: deflated_cg(matrix, start),
    }
    if n > MOST_FOR_CG:
        del works["deflated CG"]
    ours, first = None, None
    for name, work in works.items():
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                vectors = work()
        except (ImportError, RuntimeError) as error:
            row(f"{n:,}", name, str(error)[:50], "", "", "")
            continue
        seconds = time.perf_counter() - began
        if ours is None:
            ours, first = vectors, seconds
        angle = subspace_angles(ours, vectors).max()
        row(
            f"{n:,}",
            name,
            f"{seconds:.2f}",
            f"{seconds / first:.1f}",
            f"{residual(matrix, vectors):.0e}",
            f"{angle:.0e}",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    options = parser.parse_args()
    print(machine(options.threads, ("unbend", "numpy", "scipy", "pyamg")))
    print(f"LTSA, swiss roll with noise {options.noise}, k = {K}, one run each\n")
    row("n", "how", "seconds", "of ours", "residual", "angle")
    row("--:", ":--", *["--:"] * 4)
    for n in (2_000,) if options.quick else (20_000, 100_000):
        compare(n, options.noise)


if __name__ == "__main__":
    use_threads(2)
    import numpy as np
    import unbend as ub
    from scipy.linalg import subspace_angles
    from unbend.fit.spectral.eigenvectors import smallest_eigenvectors

    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python" / "fit"))
    from test_eigenvectors import ltsa

    main()
