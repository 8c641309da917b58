"""What a fit needs in memory, and what the machine has."""

import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from unbend.core import machine, memory
from unbend.core.memory import Sizes, peak

SIZES = Sizes(n=100_000, q=3, d=2, k=12, starts=4, threads=2)


@pytest.mark.parametrize("algorithm", ["greedy", "alignment"])
@pytest.mark.parametrize(
    "change",
    [{"n": 200_000}, {"q": 100}, {"d": 3}, {"k": 30}, {"cut": True}, {"cut": True, "threads": 8}],
)
def test_larger_sizes_need_more(algorithm, change):
    assert peak(algorithm, replace(SIZES, **change)) > peak(algorithm, SIZES)


@pytest.mark.parametrize("change", [{"refined": False}, {"searched": False}, {"starts": 1}, {"itemsize": 4}])
def test_less_work_never_needs_more(change):
    for algorithm in ("greedy", "alignment"):
        assert peak(algorithm, replace(SIZES, **change)) <= peak(algorithm, SIZES)


@pytest.mark.parametrize("algorithm", memory.COEFFICIENTS)
def test_every_term_of_a_formula_exists(algorithm):
    assert set(memory.COEFFICIENTS[algorithm]) <= set(memory.terms(SIZES))
    assert peak(algorithm, SIZES) > 0


def test_isomap_without_landmarks_needs_all_distances():
    assert peak("isomap", replace(SIZES, n=1_000_000)) > 2 * 10**12
    assert peak("isomap", replace(SIZES, n=1_000_000, landmarks=200)) < 4 * 10**9
    assert peak("isomap", SIZES) == peak("isomap", replace(SIZES, landmarks=SIZES.n))


def test_small_integers_of_numpy_do_not_overflow():
    small = Sizes(n=np.int32(100_000), q=np.int8(100), d=np.int8(3), k=np.int8(100), starts=np.uint8(200))
    assert peak("greedy", small) == peak("greedy", Sizes(n=100_000, q=100, d=3, k=100, starts=200))
    assert peak("alignment", small) > 10**9


# The limit


def test_within_the_limit():
    memory.check(1000, max_memory=1000)
    memory.check(10**18, max_memory=float("inf"))


@pytest.mark.parametrize("limit", [0, -1, float("nan"), True, "1 GB"])
def test_limits_that_make_no_sense(limit):
    with pytest.raises(ValueError, match=r"max_memory = .* is not a number of bytes"):
        memory.check(1, max_memory=limit)


def test_a_machine_that_does_not_tell(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: None)
    memory.check(10**30)


def test_a_machine_too_small(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 8 * 10**9)
    memory.check(8 * 10**9)
    with pytest.raises(
        MemoryError, match=r"The fit needs about 12.3 GB, but 8.0 GB are available\. Set max_memory"
    ):
        memory.check(12_345_678_901)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_951, "1.0 MB"),
        (25_000_000_000, "25.0 GB"),
        (3 * 10**18, "3.0 EB"),
    ],
)
def test_readable(size, text):
    assert memory.readable(size) == text


# The machine


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_this_machine():
    psutil = pytest.importorskip("psutil")
    assert 0 < machine.available() <= psutil.virtual_memory().available * 1.1


def test_a_system_without_proc(tmp_path, monkeypatch):
    psutil = pytest.importorskip("psutil")
    assert machine.available(tmp_path) == pytest.approx(psutil.virtual_memory().total, rel=0.01)
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert machine.available(tmp_path) is None


def membership(root, text):
    """Write which control groups the process belongs to; return the folder of all groups."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(text)
    return root / "sys" / "fs" / "cgroup"


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_control_groups_of_today(tmp_path):
    groups = membership(tmp_path, "0::/user/job\n")
    group(groups / "user", memory__max=5000, memory__current=1000)
    group(groups / "user" / "job", memory__max="max", memory__current=900)
    assert machine.available(tmp_path) == 4000
    group(groups / "user" / "job", memory__max=2000, memory__current=1900)
    group(groups / "user" / "job", memory__stat="anon 5\ninactive_file 600")
    assert machine.available(tmp_path) == 700


def test_control_groups_of_old(tmp_path):
    groups = membership(tmp_path, "9:cpu:/\n4:hugetlb,memory:/box\n0::/\n")
    old = groups / "memory" / "box"
    group(old, **{"memory__limit_in_bytes": 3000, "memory__usage_in_bytes": 2500})
    group(groups / "memory", **{"memory__limit_in_bytes": 2**63 - 4096, "memory__usage_in_bytes": 10})
    assert machine.available(tmp_path) == 500
    group(old, **{"memory__usage_in_bytes": 9999})
    assert machine.available(tmp_path) == 0


@pytest.mark.parametrize(("free", "least"), [(1, 1024), (5, 4000)])
def test_the_least_counts(tmp_path, free, least):
    groups = membership(tmp_path, "0::/\n")
    (tmp_path / "proc" / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {free} kB\n")
    group(groups, memory__max=5000, memory__current=1000)
    assert machine.available(tmp_path) == least


# Against what is measured

MEASURE = """
import pathlib, sys
import numpy as np, scipy.sparse.linalg, unbend as ub
from unbend.core.memory import give_back

def resident(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

n, q, kind, parameters = {n}, {q}, ub.{kind}, {parameters}
x, _ = ub.datasets.{surface}(n, noise={noise}, random_state=0)
if q > 3:
    x = x @ np.linalg.qr(np.random.default_rng(0).normal(size=(q, q)))[0][:3]
kind().fit(np.ascontiguousarray(x[:500]))
model = kind(n_neighbors=12, **parameters)
give_back()
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts again at the present size
before = resident("VmRSS")
model.fit(x)
print(model.memory_estimate(n, q) / (resident("VmHWM") - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("kind", "n", "q", "parameters"),
    [
        ("ProcrustesAlignment", 300_000, 3, {}),
        ("ProcrustesAlignment", 300_000, 3, {"refine": None}),
        ("ProcrustesAlignment", 300_000, 3, {"tangent_neighbors": 200}),
        ("ProcrustesAlignment", 1_000_000, 3, {}),
        ("ProcrustesAlignment", 60_000, 40, {}),
        ("ProcrustesAlignment", 100_000, 8, {"n_components": 3}),
        ("GreedyProcrustes", 300_000, 3, {"n_init": 1, "refine": None}),
        ("GreedyProcrustes", 300_000, 3, {"n_init": 1}),
        ("GreedyProcrustes", 300_000, 3, {}),
        ("GreedyProcrustes", 300_000, 3, {"tangent_neighbors": 60}),
        ("GreedyProcrustes", 1_000_000, 3, {"n_init": 1, "refine": None}),
        ("GreedyProcrustes", 1_000_000, 3, {}),
        ("GreedyProcrustes", 60_000, 40, {"n_init": 1, "refine": None}),
        ("GreedyProcrustes", 60_000, 40, {}),
        ("GreedyProcrustes", 300_000, 8, {}),
        ("Isomap", 10_000, 3, {}),
        ("Isomap", 20_000, 3, {}),
        ("Isomap", 300_000, 3, {"n_landmarks": 100}),
        ("Isomap", 300_000, 3, {"n_landmarks": 20}),
        ("LTSA", 100_000, 3, {}),
        ("LaplacianEigenmaps", 100_000, 3, {}),
    ],
)
def test_the_estimate_is_near_the_peak(kind, n, q, parameters):
    assert 0.7 < ratio(kind, n, q, parameters) < 1.3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["ProcrustesAlignment", "GreedyProcrustes"])
@pytest.mark.parametrize("n", [100_000, 1_000_000])
@pytest.mark.parametrize(
    ("surface", "noise", "parameters"),
    [
        ("swiss_roll", 0.0, {}),
        ("swiss_roll", 0.3, {"tangent_neighbors": 200}),
        ("cylinder", 0.0, {"cut": True}),
    ],
)
def test_the_estimate_is_near_the_peak_of_cuts_and_of_noisy_data(kind, n, surface, noise, parameters):
    assert 0.7 < ratio(kind, n, 3, parameters, surface, noise) < 1.3


def ratio(kind, n, q, parameters, surface="swiss_roll", noise=0.0):
    code = MEASURE.format(kind=kind, n=n, q=q, parameters=parameters, surface=surface, noise=noise)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


MEASURE_GIVEN = """
import gc, pathlib, sys, warnings
import numpy as np, scipy.sparse as sp, unbend as ub
from scipy.spatial import cKDTree
from unbend.core import memory

def resident(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def case(n):
    if {degree}:
        points = np.random.default_rng(0).random((n, 2))
        radius = 9.0 if {degree} >= n else ({degree} / (n * np.pi)) ** 0.5
        ends = cKDTree(points).query_pairs(radius, output_type="ndarray")
        lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
        matrix = sp.csr_array((lengths, tuple(ends.T)), shape=(n, n))
        whole = matrix.toarray() + matrix.toarray().T if {degree} >= n else matrix
        return ub.{kind}(metric="precomputed"), whole, {{}}
    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    tied = np.arange(0, n // 2, 10)
    if "{given}" == "ties":
        given = {{"groups": np.arange(n) < n // 2, "ties": np.stack([tied, tied + n // 2], axis=1)}}
    else:
        given = {{"fixed": (tied, x[tied, :2], 1.0)}}
    return ub.{kind}(), x, given

warnings.simplefilter("ignore")
model, x, given = case(700)
model.fit(x, **given)
model, x, given = case({n})
gc.collect()
memory.give_back()
pathlib.Path("/proc/self/clear_refs").write_text("5")
before, needed, check = resident("VmRSS"), [], memory.check
memory.check = lambda size, limit=None: needed.append(size) or check(size, limit)
model.fit(x, **given)
print(needed[0] / (resident("VmHWM") - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("kind", "n", "degree", "given"),
    [
        ("ProcrustesAlignment", 2000, 2000, ""),
        ("ProcrustesAlignment", 10_000, 12, ""),
        ("ProcrustesAlignment", 10_000, 200, ""),
        ("GreedyProcrustes", 2000, 2000, ""),
        ("ProcrustesAlignment", 300_000, 0, "ties"),
        ("ProcrustesAlignment", 300_000, 0, "fixed"),
    ],
)
def test_the_estimate_is_above_the_peak_of_distances_and_of_tied_points(kind, n, degree, given):
    code = MEASURE_GIVEN.format(kind=kind, n=n, degree=degree, given=given)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.95 < float(done.stdout) < 1.6


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_limited_address_space_counts():
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30,) * 2); "
    code += "from unbend.core import machine; print(machine.available())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 2**30 < int(ran.stdout) < 3 * 2**30


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("call", ["neighborhoods(x, radius=9.0)", "faithfulness(x, x, radius=9.0)"])
def test_a_graph_of_all_points_is_refused_before_it_is_searched(call):
    """It is said at once, and not when the memory is full."""
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30,) * 2)
import numpy as np, unbend as ub
x = np.random.default_rng(0).random((30_000, 2))
try:
    ub.{call}
except MemoryError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "radius = 9 joins about 899,970,000 pairs of points: the graph needs about 25.2 GB" in ran.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_more_pairs_than_the_estimate_expects_are_no_crash():
    """A few points that are very dense are in no random sample: the search finds that there is no room."""
    code = """
import resource
import numpy as np, unbend as ub
x = np.random.default_rng(1).random((20_000, 2)) * 1e6
ub.neighborhoods(x, radius=1.0)  # all threads are there
sampled = np.random.default_rng(0).integers(len(x), size=64)
dense = np.setdiff1d(np.arange(len(x)), sampled)[:8_000]
x[dense] = np.random.default_rng(2).random((8_000, 2))
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 400 * 2**20,) * 2)
try:
    ub.neighborhoods(x, radius=2.0)
except MemoryError as error:
    print("MemoryError:", error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"MemoryError: \d+ bytes for the result are more than there is memory\n", ran.stdout)
