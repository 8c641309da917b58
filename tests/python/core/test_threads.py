"""The same bits on any number of threads, other threads that go on, and Ctrl-C."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest
import unbend as ub
from interrupting import IMPORT, LIMIT, signals

# ---------------------------------------------------------------------------- the same bits


def digest(*arrays):
    found = hashlib.sha256()
    for array in arrays:
        found.update(str((array.dtype, array.shape)).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def everything(n_jobs=None):
    """One digest for each result of the package."""
    found = {}
    for name, make in [(name, getattr(ub.datasets, name)) for name in ub.datasets.__all__]:
        arguments = (30, 40) if name == "grid" else (2_000,)
        options = {} if name == "grid" else {"random_state": 5}
        found[name] = digest(*make(*arguments, **options))
    roll, coordinates = ub.datasets.swiss_roll(20_000, noise=0.1, random_state=0)
    wide = np.random.default_rng(0).normal(size=(600, 50))
    shadow = wide[:, :3].astype(np.float32)
    for name, x, y in [("narrow", roll, coordinates), ("wide", wide, shadow)]:
        nobody_alone = float(ub.neighborhoods(x, 1, n_jobs=n_jobs).distances.max())
        for how, options in [("k", {"n_neighbors": 9}), ("radius", {"radius": nobody_alone})]:
            nb = ub.neighborhoods(x, **options, n_jobs=n_jobs)
            found[f"neighborhoods {name} {how}"] = digest(nb.indices, nb.indptr, nb.distances)
            found[f"graph {name} {how}"] = digest(
                nb.symmetrized().indices, nb.reversed().indices, nb.reversed().indptr, nb.component_labels
            )
            m = ub.faithfulness(x, y, neighborhoods=nb, n_jobs=n_jobs)
            found[f"faithfulness {name} {how}"] = digest(
                np.array([m.r, m.r_n, m.r_c, m.r_pca, m.lower_bound, m.scale, m.r_n_scaled]),
                *m.per_point.values(),
            )
            bounds = ub.metrics.lower_bound(x, 2, neighborhoods=nb, per_point=True, n_jobs=n_jobs)
            found[f"lower_bound {name} {how}"] = digest(bounds)
            charts = ub.charts(x, 2, neighborhoods=nb, n_jobs=n_jobs)
            found[f"charts {name} {how}"] = digest(
                charts.bases, charts.coordinates, charts.singular_values, charts.residual_fraction
            )
    return found


@pytest.fixture(scope="module")
def reference():
    return everything()


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
def test_same_bits_on_any_number_of_threads(n_jobs, reference):
    assert everything(n_jobs) == reference


@pytest.mark.parametrize("threads", [1, 3])
def test_same_bits_in_another_process(threads, reference):
    here = os.path.dirname(__file__)
    code = (
        f"import sys, json; sys.path[:0] = [{here!r}, {os.path.dirname(here)!r}]; "
        "import test_threads; print(json.dumps(test_threads.everything()))"
    )
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(told.stdout) == reference


@pytest.fixture(scope="module")
def fits():
    return embeddings()


def embeddings():
    """One digest for each of our embeddings, long enough that libraries of linear algebra use threads."""
    roll, _ = ub.datasets.swiss_roll(20_000, noise=0.2, random_state=0)
    tube, _ = ub.datasets.cylinder(12_000, random_state=0)
    models = {"gp": ub.GreedyProcrustes(random_state=0), "psa": ub.ProcrustesAlignment()}
    found = {name: digest(model.fit(roll).embedding_) for name, model in models.items()}
    return found | {"cut": digest(ub.ProcrustesAlignment().fit(tube).embedding_)}


@pytest.mark.parametrize("threads", [1, 3])
def test_same_bits_whatever_threads_linear_algebra_has(threads, fits):
    here = os.path.dirname(__file__)
    code = f"import sys, json; sys.path[:0] = [{here!r}, {os.path.dirname(here)!r}]; "
    code += "import test_threads; print(json.dumps(test_threads.embeddings()))"
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(told.stdout) == fits


def test_same_bits_when_several_python_threads_ask_at_once(reference):
    results = [None] * 4

    def ask(place):
        results[place] = everything(n_jobs=(None, 1, 2, 3)[place])

    askers = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert all(result == reference for result in results)


def test_very_many_threads_are_asked_for():
    """No number of threads may hang or crash the process; on a small machine it need not get them."""
    code = (
        "import numpy as np, unbend as ub; "
        "print(ub.neighborhoods(np.arange(60.0).reshape(-1, 3), 2, n_jobs=5000)[0].tolist())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert told.stdout.strip() == "[1, 2]"


# ---------------------------------------------------------------------------- other threads go on


def big(n=1_000_000):
    return ub.datasets.swiss_roll(n, random_state=0)


CALLS = {
    "neighborhoods": lambda x, y, nb: ub.neighborhoods(x, 12),
    "faithfulness": lambda x, y, nb: ub.faithfulness(x, y, neighborhoods=nb),
    "charts": lambda x, y, nb: ub.charts(x, 2, neighborhoods=nb),
    "datasets": lambda x, y, nb: ub.datasets.swiss_roll(5_000_000, random_state=1),
}


@pytest.fixture(scope="module")
def sample():
    x, y = big()
    return x, y, ub.neighborhoods(x, 12)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_other_threads_go_on(call, sample):
    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    time.sleep(0.05)
    begin = time.perf_counter()
    call(*sample)
    end = time.perf_counter()
    done.set()
    counter.join()
    took = end - begin
    assert took > 0.05, f"{took:.3f} s is too short to tell"
    # A thread that waits for the interpreter would tick at both ends only, however busy the machine is.
    inside = [tick for tick in ticks if begin + 0.1 * took < tick < end - 0.4 * took]
    assert inside, f"no tick in the middle {0.5 * took:.3f} s"


# ---------------------------------------------------------------------------- Ctrl-C


# Runs a call several times, each time with a signal after another share of the processor time that it takes, and
# prints for each how much of it the exception took and whether the call was still under way when the signal came.
INTERRUPTED = """
import json, sys, time
import unbend as ub

what, n, shares = sys.argv[1], int(sys.argv[2]), [float(share) for share in sys.argv[3].split(",")]

def roll(n):
    return ub.datasets.swiss_roll(n, random_state=0)

if what == "datasets":
    call = lambda: roll(n)
else:
    x, y = roll(n)
    if what == "neighborhoods":
        call = lambda: ub.neighborhoods(x, 12)
    elif what == "blocked":
        x = __import__("numpy").random.default_rng(0).normal(size=(n, 64))
        call = lambda: ub.neighborhoods(x, 12)
    elif what == "radius":
        call = lambda: ub.neighborhoods(x, radius=(25 / n) ** 0.5 * 24)
    else:
        nb = ub.neighborhoods(x, 12)
        if what == "faithfulness":
            call = lambda: ub.faithfulness(x, y, neighborhoods=nb)
        elif what == "charts":
            call = lambda: ub.charts(x, 2, neighborhoods=nb)
        elif what == "lower_bound":
            call = lambda: ub.metrics.lower_bound(x, 2, neighborhoods=nb)
        elif what == "ranks":
            call = lambda: ub.metrics.ranks(x, x[:, :2], 20)
        elif what == "wide ranks":
            x = __import__("numpy").random.default_rng(0).normal(size=(n, 64))
            call = lambda: ub.metrics.ranks(x, y, 20)
        elif what == "geodesic":
            call = lambda: ub.metrics.geodesic(x, y, neighborhoods=nb)
        elif what == "shepard":
            call = lambda: ub.metrics.shepard(x, y, n_pairs=2_000_000)
        elif what == "landmarks":
            call = lambda: ub.metrics.nieqa_global(x, y)

begin = time.process_time()
result = call()
took = time.process_time() - begin
del result

latencies = []
for share in shares:
    strike = Strike(share * took)
    try:
        strike.start()
        result = call()
        strike.over()
    except KeyboardInterrupt:
        latencies.append([share, strike.late, strike.under_way])
    else:
        # Either the call was over before, or the signal was lost.
        latencies.append([share, 0.0 if strike.sent is None else float("inf"), False])
    result = None
print(json.dumps({"took": took, "latencies": latencies}))
"""


def interrupt(what, n, shares):
    code = [sys.executable, "-c", IMPORT + INTERRUPTED, what, str(n), ",".join(map(str, shares))]
    told = subprocess.run(code, capture_output=True, text=True, timeout=600)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    lines = [
        f"{what}, {n} points, {found['took']:.2f} s: "
        + ", ".join(
            f"{share:.0%} {1000 * late:.0f} ms{'' if under_way else ' (after the end)'}"
            for share, late, under_way in found["latencies"]
        )
    ]
    print("\n".join(lines))
    assert sum(under_way for _, _, under_way in found["latencies"]) >= len(shares) // 2, lines
    assert max(late for _, late, _ in found["latencies"]) < LIMIT, lines


@signals
@pytest.mark.parametrize(
    ("what", "n"),
    [
        ("neighborhoods", 500_000),
        ("faithfulness", 500_000),
        ("charts", 200_000),
        ("datasets", 2_000_000),
        ("blocked", 15_000),
        ("radius", 200_000),
        ("ranks", 20_000),
        ("wide ranks", 8_000),
        ("geodesic", 8_000),
        ("shepard", 20_000),
        ("landmarks", 4_000),
    ],
)
def test_ctrl_c(what, n):
    interrupt(what, n, [0.03, 0.3, 0.6, 0.9])


@signals
@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "n"),
    [
        ("neighborhoods", 10_000_000),
        ("faithfulness", 4_000_000),
        ("charts", 4_000_000),
        ("lower_bound", 4_000_000),
        ("datasets", 50_000_000),
        ("blocked", 100_000),
        ("radius", 4_000_000),
        ("ranks", 2_000_000),
        ("wide ranks", 30_000),
        ("geodesic", 200_000),
    ],
)
def test_ctrl_c_among_millions_of_points(what, n):
    interrupt(what, n, [0.001, 0.02, 0.06, 0.12, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98])


@signals
def test_the_package_works_after_ctrl_c():
    code = """
import unbend as ub
x, _ = ub.datasets.swiss_roll(1_000_000, random_state=0)
strike = Strike(0.1)
try:
    strike.start()
    ub.neighborhoods(x)
    strike.over()
except KeyboardInterrupt:
    print(ub.neighborhoods(x[:1000]))
"""
    told = subprocess.run([sys.executable, "-c", IMPORT + code], capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip() == "<Neighborhoods: 1000 points, 12 neighbors each>"
    assert told.stderr == ""


@signals
def test_an_exception_of_the_callers_own_handler_gets_through():
    code = """
import os, signal, threading
import unbend as ub
class Enough(Exception): pass
def stop(*_): raise Enough
signal.signal(signal.SIGTERM, stop)
x, _ = ub.datasets.swiss_roll(1_000_000, random_state=0)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
try:
    while True:
        ub.neighborhoods(x)
except Enough:
    print("enough")
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert told.stdout.strip() == "enough", told.stderr


# ---------------------------------------------------------------------------- forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_a_fork_of_a_process_that_has_computed_computes(n_jobs):
    """A fork has none of the threads of its parent: one that waits for them waits forever."""
    code = f"""
import os
import numpy as np
import unbend as ub

x, _ = ub.datasets.swiss_roll(2000, random_state=0)
expected = ub.ProcrustesAlignment(random_state=0).fit(x).embedding_
pid = os.fork()
if pid == 0:
    same = np.array_equal(ub.ProcrustesAlignment(random_state=0, n_jobs={n_jobs}).fit(x).embedding_, expected)
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (told.returncode, told.stdout) == (0, "0\n"), told.stderr


# ---------------------------------------------------------------------------- without the lock


def test_free_threaded():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a global interpreter lock: nothing to switch on again")
    assert not sys._is_gil_enabled()
