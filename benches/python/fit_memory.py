"""Fit the coefficients of the memory formulas in `unbend.core.memory` to measured peaks.

    python benches/python/fit_memory.py                          # measure all fits (half an hour) and fit
    python benches/python/fit_memory.py --peaks peaks.jsonl      # read peaks from a file, add missing ones
    python benches/python/fit_memory.py --only isomap            # one algorithm
    python benches/python/fit_memory.py --against ../old/python  # also print estimates of another version

Every fit runs in a process of its own. Its peak is the highest resident size during the fit minus the
resident size before it, with all imports done and the input data in memory. The coefficients are
those that keep the worst ratio of estimate / peak near `TARGET`. The program prints this ratio for every fit,
and the lines of the table `COEFFICIENTS` for `memory.py`.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import textwrap
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import unbend as ub
from scipy.optimize import minimize, nnls
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from timing import machine, row, use_threads
from unbend.core import memory
from unbend.core.memory import Sizes

ESTIMATORS = {
    "greedy": "GreedyProcrustes",
    "alignment": "ProcrustesAlignment",
    "isomap": "Isomap",
    "normalized": "LTSA",
    "laplacian": "LaplacianEigenmaps",
    "linear": "PCA",
    "projection": "RandomProjection",
    "scaling": "ClassicalScaling",
    "graph scaling": "GraphScaling",
}

TARGET = 1.0
POWER = 10  # Of deviations, whose sum is least: the worst count most.


@dataclass(frozen=True)
class Case:
    """One fit: its sizes, and what the sizes do not say about the data and the estimator."""

    algorithm: str
    sizes: Sizes
    data: str = "roll"
    noise: float = 0.0
    estimator: str = ""
    parameters: dict = field(default_factory=dict)

    @property
    def kind(self):
        return self.estimator or ESTIMATORS[self.algorithm]

    def parameters_of_estimator(self):
        s, parameters = self.sizes, {"n_components": self.sizes.d}
        if s.k and self.algorithm != "graph scaling":
            parameters |= {"n_neighbors": s.k, "n_jobs": s.threads}
        if self.algorithm == "greedy":
            parameters["n_init"] = s.starts
        if self.algorithm in ("greedy", "alignment"):
            parameters |= {
                "tangent_neighbors": s.tangents,
                "refine": "auto" if s.refined else None,
                "cut": s.cut or "auto",
                "include_self": s.include_self,
            }
        if s.conformal:
            parameters["objective"] = "R_C"
        if s.points_per_cell:
            parameters["partition"] = s.points_per_cell
        if self.algorithm in ("isomap", "scaling"):
            parameters["n_landmarks"] = s.landmarks
        return parameters | self.parameters

    def model(self):
        return getattr(ub, self.kind)(**self.parameters_of_estimator())

    def key(self):
        return json.dumps(asdict(self), sort_keys=True)

    def __post_init__(self):
        if isinstance(self.sizes, dict):
            object.__setattr__(self, "sizes", Sizes(**self.sizes))

    def label(self):
        defaults = Sizes(n=0, q=0, d=0, k=0)
        s = {name: value for name, value in asdict(self.sizes).items() if value != getattr(defaults, name)}
        words = [f"{name} {value}" for name, value in s.items() if name not in ("n", "q", "d", "k")]
        words += [self.data] * (self.data != "roll") + [f"noise {self.noise}"] * (self.noise > 0)
        return (
            f"{self.kind}, {self.sizes.n:,} x {self.sizes.q}, d = {self.sizes.d}, k = {self.sizes.k}",
            ", ".join(words),
        )


def grid(algorithm, sizes, *changes, **common):
    """Yield a case for every number of points and every change of the other sizes."""
    for n in sizes:
        for change in changes or ({},):
            values = {"q": 3, "d": 2, "k": 12, "threads": 2, "starts": 1 + 3 * (algorithm == "greedy")}
            values |= common | change
            others = ("data", "noise", "estimator", "parameters")
            extra = {name: values.pop(name) for name in others if name in values}
            yield Case(algorithm, Sizes(n, **values), **extra)


def cases():
    """Yield all fits to measure."""
    for algorithm in ("alignment", "greedy"):
        yield from procrustes_cases(algorithm)
    yield from grid("greedy", [100_000, 300_000, 1_000_000], {}, {"tangents": 60}, refined=False, starts=1)
    yield from grid("greedy", [100_000], refined=False, starts=16)
    yield from grid("alignment", [100_000], points_per_cell=20_000)
    yield from grid("alignment", [300_000], {"points_per_cell": 50_000}, {"points_per_cell": 100_000})
    yield from grid("alignment", [20_000, 60_000], {}, {"q": 8, "d": 3}, conformal=True)
    yield from grid("alignment", [70_000], q=784, d=10)
    yield from grid("isomap", [2000, 4000, 6000, 8000])
    yield from grid("isomap", [8000], {"q": 40}, {"k": 30}, {"landmarks": 4000})
    yield from grid("isomap", [20_000, 100_000], landmarks=1000)
    yield from grid("isomap", [300_000], {"landmarks": 20}, {"landmarks": 200})
    changes = {"q": 40}, {"k": 30}, {"q": 8, "d": 3}, {"searched": False}
    yield from grid("isomap", [100_000], {}, *changes, landmarks=200)
    for estimator in ("LTSA", "LocallyLinearEmbedding", "HessianLLE", "ModifiedLLE"):
        yield from grid("normalized", [20_000, 50_000, 100_000], estimator=estimator)
    for estimator in ("LaplacianEigenmaps", "DiffusionMaps"):
        yield from grid("laplacian", [20_000, 50_000, 100_000], estimator=estimator)
    for algorithm in ("normalized", "laplacian"):
        changes = {"k": 24}, {"q": 40}, {"d": 1}, {"q": 8, "d": 3}, {"searched": False}
        yield from grid(algorithm, [50_000], *changes)
    yield from grid("normalized", [200_000])
    yield from grid("linear", [1_000_000], {}, k=0)
    for n, q in ((300_000, 100), (70_000, 784), (5000, 3000), (500, 10_000)):
        yield from grid("linear", [n], q=q, d=10, k=0)
    for n, q, d in ((1_000_000, 20, 10), (70_000, 784, 10), (5000, 10_000, 500)):
        yield from grid("projection", [n], q=q, d=d, k=0)
    changes = {}, {"landmarks": 500}, {"landmarks": 2000}
    for n in (4000, 8000):
        yield from grid("scaling", [n], *changes, q=n, k=0, parameters={"metric": "precomputed"})
    for n in (3000, 10_000, 30_000, 100_000):
        yield from grid("graph scaling", [n], q=n, k=12)
    yield from grid("graph scaling", [10_000], q=10_000, k=24)
    for n in (1000, 2000):
        yield from grid("graph scaling", [n], q=n, k=n - 1)


def procrustes_cases(algorithm):
    yield from grid(algorithm, [20_000, 40_000, 100_000, 300_000, 1_000_000], {}, {"refined": False})
    yield from grid(algorithm, [40_000, 100_000, 300_000, 1_000_000], cut=True, data="cylinder")
    yield from grid(algorithm, [100_000], {"threads": 8}, {"threads": 8, "cut": True, "data": "cylinder"})
    changes = {"k": 6}, {"k": 25}, {"k": 50}, {"tangents": 60}, {"searched": False}, {"d": 1}
    yield from grid(algorithm, [100_000], *changes)
    # Cubes in bent space need other candidates, as noise does.
    yield from grid(algorithm, [100_000], {}, {"d": 3, "candidates": True}, q=8)
    yield from grid(algorithm, [100_000], {"q": 16}, {"q": 100})
    yield from grid(algorithm, [60_000], {}, {"refined": False}, {"k": 30}, {"d": 5}, q=40)
    yield from grid(algorithm, [300_000], {"tangents": 200}, {"itemsize": 4})
    yield from grid(algorithm, [30_000], q=300)
    yield from grid(algorithm, [20_000], {"include_self": False}, {}, q=300, d=10, candidates=True)
    # These fits find the number of neighbors by themselves; the estimate is the same from 64 on.
    noisy = {"tangents": 64, "candidates": True, "parameters": {"tangent_neighbors": None}}
    yield from grid(algorithm, [100_000], {"noise": 0.3}, {"noise": 0.6}, **noisy)
    yield from grid(algorithm, [1_000_000], noise=0.3, **noisy)


def points(case):
    """Return the input data: a curve, a surface or a cube, mapped into q dimensions with little noise."""
    s, rng = case.sizes, np.random.default_rng(0)
    if case.data == "cylinder":
        x = ub.datasets.cylinder(s.n, noise=case.noise, random_state=0)[0]
    elif s.d == 1:
        t = rng.uniform(0, 3, s.n)
        x = np.stack([np.cos(t), np.sin(t), t], axis=1)
    elif s.d == 2 or not s.k:
        x = ub.datasets.swiss_roll(s.n, noise=case.noise, random_state=0)[0]
    else:
        x = rng.uniform(size=(s.n, s.d))
    if case.algorithm == "scaling":
        return cdist(x, x)
    if case.algorithm == "graph scaling":
        return pairs_in_range(rng.uniform(size=(s.n, s.d)), s.k)
    if s.q > x.shape[1]:
        axes = np.linalg.qr(rng.normal(size=(s.q, x.shape[1])))[0].T
        blocks = np.array_split(x, max(1, s.n * s.q // 2**22))
        bent = (10 * np.sin(block @ axes / 10) for block in blocks)
        x = np.concatenate([block + 1e-4 * rng.normal(size=block.shape) for block in bent])
    return np.ascontiguousarray(x, dtype=np.float32 if s.itemsize == 4 else np.float64)


def pairs_in_range(x, degree):
    """Return the distances of pairs in range, for a given mean number of others in range of a point."""
    n, d = x.shape
    if degree >= n - 1:
        return cdist(x, x)
    ball = {1: 2.0, 2: np.pi, 3: 4 * np.pi / 3}[d]
    ends = cKDTree(x).query_pairs((degree / (n * ball)) ** (1 / d), output_type="ndarray")
    lengths = np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1)
    noisy = lengths * (1 + 0.05 * np.random.default_rng(1).normal(size=len(ends)))
    return csr_array((noisy, tuple(ends.T)), shape=(n, n))


def child(case):
    """Print the measured peak of a fit."""
    model, s = case.model(), case.sizes
    warnings.simplefilter("ignore")
    x = points(case)
    few = 600 if case.algorithm in ("scaling", "graph scaling") else s.q
    small = Case(
        case.algorithm, Sizes(600, few, min(s.d, 3), s.k), estimator=case.kind, parameters=case.parameters
    )
    small.model().fit(x[:600, :few].copy())  # All imports are done here.
    graph = {} if s.searched else {"neighborhoods": ub.neighborhoods(x, s.k)}
    gc.collect()
    memory.give_back()
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts again at the present size.
    before = resident("VmRSS")
    model.fit(x, **graph)
    return print(resident("VmHWM") - before)


def resident(name):
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


ESTIMATE = """
import json, sys, unbend
kind, parameters, sizes = json.loads(sys.argv[1])
print(getattr(unbend, kind)(**parameters).memory_estimate(*sizes))
"""


def estimate_of(case, path):
    """Return the estimate of the version of the package in a folder."""
    sizes = [case.sizes.n, case.sizes.q, f"f{case.sizes.itemsize}"]
    arguments = json.dumps([case.kind, case.parameters_of_estimator(), sizes])
    return run("-c", ESTIMATE, arguments, env=os.environ | {"PYTHONPATH": path})


def run(*arguments, **options):
    command = [sys.executable, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout)


def measured(wanted, file):
    """Return the peak of every case, from the file if it is there, and add new ones to the file."""
    lines = file.read_text().splitlines() if file and file.exists() else []
    peaks = {Case(**r["case"]).key(): r["peak"] for r in map(json.loads, lines)}
    for one in wanted:
        if one.key() not in peaks:
            peaks[one.key()] = run(__file__, "--child", one.key())
            print(one.label(), f"{peaks[one.key()] / 1e6:.0f} MB", file=sys.stderr, flush=True)
            if file:
                with file.open("a") as out:
                    out.write(json.dumps({"case": json.loads(one.key()), "peak": peaks[one.key()]}) + "\n")
    return [peaks[one.key()] for one in wanted]


def fit(algorithm, wanted, peaks):
    """Return the coefficients, at least a byte per unit, that bring estimate / peak closest to `TARGET`.

    Terms that no fit has, such as those of ties, keep their coefficients.
    """
    counts = [memory.terms(one.sizes) for one in wanted]
    known = memory.COEFFICIENTS[algorithm]
    names = [name for name in known if any(count[name] for count in counts)]
    a = np.array([[count[name] / peak for name in names] for count, peak in zip(counts, peaks, strict=True)])
    scale = np.maximum(a.max(axis=0), 1e-300)
    found = least_power(a / scale, scale)
    fitted = {name: float(f"{value:.2g}") for name, value in zip(names, found / scale, strict=True)}
    return {name: fitted.get(name, value) for name, value in known.items()}


def least_power(a, least):
    """Return coefficients, not below the least, with the least sum of powers of the deviations from `TARGET`."""

    def deviation(c):
        off = 4 * (a @ c - TARGET)
        return (off**POWER).sum(), 4 * POWER * a.T @ off ** (POWER - 1)

    start = np.maximum(nnls(a, np.full(len(a), TARGET))[0], least)
    bounds = [(one, None) for one in least]
    return minimize(
        deviation, start, jac=True, bounds=bounds, options={"maxiter": 10_000, "maxfun": 100_000}
    ).x


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--peaks", type=Path, help="file of measured peaks, read and extended")
    parser.add_argument("--only", choices=list(ESTIMATORS), help="one algorithm")
    parser.add_argument(
        "--against", help="folder of another version of the package, whose estimates are printed too"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(Case(**json.loads(options.child)))
    use_threads(options.threads)
    print(machine(options.threads, ("unbend", "numpy", "scipy")))
    wanted = [one for one in cases() if options.only in (None, one.algorithm)]
    peaks = measured(wanted, options.peaks)
    table = {}
    for algorithm in dict.fromkeys(one.algorithm for one in wanted):
        pairs = [(one, peak) for one, peak in zip(wanted, peaks, strict=True) if one.algorithm == algorithm]
        whole = [(one, peak) for one, peak in pairs if not one.sizes.points_per_cell]
        table[algorithm] = memory.COEFFICIENTS[algorithm] = fit(algorithm, *zip(*whole, strict=True))
        report(algorithm, pairs, options.against)
    for algorithm, coefficients in table.items():
        line = f"{json.dumps(algorithm)}: {json.dumps(coefficients)},"
        print(wrapped(line))
    return None


def wrapped(line):
    """Return a line of the table in lines of at most 110 characters, broken after commas only."""
    words = line.replace(" ", "\xa0").replace(",\xa0", ", ")
    return textwrap.fill(words, 110, initial_indent=" " * 4, subsequent_indent=" " * 8).replace("\xa0", " ")


def report(algorithm, pairs, other):
    print(f"### {algorithm}: estimate / peak\n")
    row("fit", "sizes", "peak, MB", *["other version"] * bool(other), "formula")
    row("---", "---", "--:", *["--:"] * bool(other), "--:")
    ratios = []
    for one, peak in pairs:
        ratios.append(memory.peak(algorithm, one.sizes) / peak)
        before = [f"{estimate_of(one, other) / peak:.2f}"] if other else []
        row(*one.label(), f"{peak / 1e6:.0f}", *before, f"{ratios[-1]:.2f}")
    print(f"\nFormula / peak: {min(ratios):.2f} to {max(ratios):.2f}.\n")


if __name__ == "__main__":
    main()
