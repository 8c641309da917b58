"""Solving eq. 11 by conjugate gradients: with multigrid, with pyamg, with the diagonal.

    python benches/python/bench_assembly.py                 # --quick: small data, seconds

The frames are those of the tree alignment of 3-D swiss rolls. Every solution begins where the alignment
places the points and ends at a residual of 1e-8. pyamg works on the Laplacian of the undirected graph, column
after column.
"""

import argparse
import time

import numpy as np
import unbend as ub
from timing import machine, row, use_threads
from unbend import _core
from unbend.fit import assembly

K, D = 12, 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small data: does everything run?")
    options = parser.parse_args()
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy", "pyamg")))
    few, many = (2_000, 20_000) if options.quick else (100_000, 1_000_000)
    row("n", "solver", "set-up, s", "solution, s", "steps")
    row("--:", "---", "--:", "--:", "--:")
    for n in (few, many):
        system = System(n, options.threads)
        solvers = {"ours": system.multigrid, "pyamg, smoothed aggregation": system.pyamg}
        if n == few:
            solvers["diagonal"] = system.diagonal
        for name, make in solvers.items():
            cells = best(options.repeats, system, make)
            row(n, name, *(cells or ["not installed"] * 3))


class System:
    """Everything that eq. 11 is made of."""

    def __init__(self, n, threads):
        x, _ = ub.datasets.swiss_roll(n, random_state=0)
        self.nb = ub.neighborhoods(x, K, n_jobs=threads)
        self.points, self.threads = _core.Points(x), threads
        self.problem = self.made()
        tangents = self.problem.tangents(None, 0)
        self.equation = tangents.equation(tangents.tree()["rotations"])[:2]

    def made(self):
        return _core.Problem(self.points, self.nb.core, D, "R_N", self.threads)

    def solve(self, preconditioner):
        return assembly.solve(self.problem, *self.equation, max_iter=5000, preconditioner=preconditioner)

    def multigrid(self):
        problem = self.made()
        problem.precondition(np.zeros(len(self.nb) * D))  # sets it up
        return problem.precondition

    def diagonal(self):
        diagonal = np.repeat(self.problem.diagonal(), D)
        return lambda v: v / diagonal

    def pyamg(self):
        import pyamg
        from scipy.sparse import csr_array, diags_array

        n = len(self.nb)
        indices, indptr = self.nb.indices.astype(np.int32), np.arange(0, n * K + 1, K, dtype=np.int32)
        lists = csr_array((np.ones(n * K), indices, indptr), shape=(n, n))
        weights = (lists + lists.T).tocsr()
        laplacian = (diags_array(weights.sum(axis=1)) - weights).tocsr()
        hierarchy = pyamg.smoothed_aggregation_solver(laplacian)
        cycle = hierarchy.aspreconditioner(cycle="V")
        return lambda v: np.column_stack([cycle @ column for column in v.reshape(-1, D).T]).ravel()


def best(repeats, system, make):
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        try:
            preconditioner = make()
        except ImportError:
            return None
        ready = time.perf_counter()
        solution = system.solve(preconditioner)
        runs.append((ready - start, time.perf_counter() - ready, solution.n_iter))
    set_up, solved, steps = min(runs, key=lambda run: run[0] + run[1])
    return f"{set_up:.3f}", f"{solved:.3f}", steps


if __name__ == "__main__":
    main()
