"""What a fit needs in memory, and what the machine has."""

import os
import subprocess
import sys

import pytest
from unbend.core import memory
from unbend.core.memory import Plan


def plan(**sizes):
    return Plan(**{"n": 100_000, "q": 3, "d": 2, "k": 12, **sizes})


@pytest.mark.parametrize(
    "change",
    [
        {"n": 200_000},
        {"q": 100},
        {"d": 3},
        {"k": 30},
        {"tangents": 60},
        {"starts": 9, "threads": 9},
        {"tangents": 60, "q": 50, "itemsize": 4},
        {"aligned": True},
    ],
)
def test_more_needs_more(change):
    assert plan(**change).peak() > plan().peak()


def test_less_needs_less():
    assert plan(searched=False).peak() < plan().peak()
    assert plan(refined=False).peak() <= plan().peak()
    assert "refine" not in plan(refined=False).stages()
    assert "neighbours" not in plan(searched=False).stages()


def test_the_peak_is_that_of_the_largest_stage():
    stages = plan(tangents=60).stages()
    largest = max(sum(parts.values()) for parts in stages.values())
    assert plan(tangents=60).peak() == int(memory.UNRETURNED * largest)
    assert all(size >= 0 for parts in stages.values() for size in parts.values())


def test_the_lists_of_neighbours_are_counted_exactly():
    assert plan().stages()["faithfulness"]["neighbours"] == 100_000 * 12 * (4 + 8)


def test_wide_tangents_take_a_net():
    few, many = plan(tangents=60).stages(), plan(tangents=600).stages()
    assert few["greedy"]["nearest of the net"] == many["greedy"]["nearest of the net"] == 100_000 * 8 * 4
    assert many["greedy"]["tangents of the net"] < 0.2 * few["greedy"]["tangents of the net"]


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
    with pytest.raises(MemoryError, match=r"needs about 12.3 GB, but the machine has 8.0 GB available"):
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
    assert memory._meminfo() == pytest.approx(psutil.virtual_memory().available, rel=0.1)
    assert 0 < memory.available() <= memory._meminfo() * 1.1
    assert memory._built_in() == pytest.approx(psutil.virtual_memory().total, rel=0.01)


def test_a_system_without_proc(tmp_path, monkeypatch):
    assert memory._meminfo(tmp_path / "none") is None
    assert memory._control_groups(tmp_path / "none", tmp_path / "none") == []
    monkeypatch.setattr(memory, "_meminfo", lambda: None)
    monkeypatch.setattr(memory, "_control_groups", lambda: [])
    assert memory.available() == memory._built_in()
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert memory.available() is None


def group(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_control_groups_of_today(tmp_path):
    (tmp_path / "cgroup").write_text("0::/user/job\n")
    group(tmp_path / "user", memory__max=5000, memory__current=1000)
    group(tmp_path / "user" / "job", memory__max="max", memory__current=900)
    assert memory._control_groups(tmp_path, tmp_path / "cgroup") == [4000]
    group(tmp_path / "user" / "job", memory__max=2000, memory__current=1900)
    group(tmp_path / "user" / "job", memory__stat="anon 5\ninactive_file 600")
    assert memory._control_groups(tmp_path, tmp_path / "cgroup") == [700, 4000]


def test_control_groups_of_old(tmp_path):
    (tmp_path / "cgroup").write_text("9:cpu:/\n4:hugetlb,memory:/box\n0::/\n")
    old = tmp_path / "memory" / "box"
    group(old, **{"memory__limit_in_bytes": 3000, "memory__usage_in_bytes": 2500})
    group(tmp_path / "memory", **{"memory__limit_in_bytes": 2**63 - 4096, "memory__usage_in_bytes": 10})
    assert memory._control_groups(tmp_path, tmp_path / "cgroup") == [500]
    group(old, **{"memory__usage_in_bytes": 9999})
    assert memory._control_groups(tmp_path, tmp_path / "cgroup") == [0]


def test_the_least_counts(monkeypatch):
    monkeypatch.setattr(memory, "_meminfo", lambda: 500)
    monkeypatch.setattr(memory, "_control_groups", lambda: [700, 300])
    assert memory.available() == 300


# Against what is measured

MEASURE = """
import sys, resource
import numpy as np, scipy.sparse.linalg, unbend as ub

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

n, q, kind, parameters = {n}, {q}, ub.{kind}, {parameters}
x, _ = ub.datasets.swiss_roll(n, random_state=0)
if q > 3:
    x = x @ np.linalg.qr(np.random.default_rng(0).normal(size=(q, q)))[0][:3]
kind().fit(np.ascontiguousarray(x[:500]))
model = kind(n_neighbors=12, random_state=0, **parameters)
before = peak()
model.fit(x)
print(model.memory_estimate(n, q) / (peak() - before))
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
    ],
)
def test_the_estimate_is_near_the_peak(kind, n, q, parameters):
    code = MEASURE.format(kind=kind, n=n, q=q, parameters=parameters)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.7 < float(done.stdout) < 1.3
