"""Ctrl-C at random moments of every public computation: none may be lost, and none may come late.

Seconds are those of processor time that the process itself uses after the signal, divided among the processors,
so a busy machine changes nothing. Calls run in the main thread, in a pool of threads for which the main thread
waits, in a process that was forked from one that has computed already, and by joblib.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

SOON, SOON_SHARE, LATEST = 0.2, 0.99, 1.0
"""Seconds within which this share of all interrupts comes, and those within which all do."""

SHARES = {"main thread": 12, "pool of threads": 3, "fork": 4, "joblib": 1}
"""How calls run, and how often of twenty times."""

ROUND, TOGETHER = 8, 6
"""Interrupts of one call in one process, and calls in one process."""

FAILURES = ("lost", "wrong exception", "crash")

HERE = Path(__file__).parent


def calls() -> dict[str, Callable[[], Any]]:
    """Return calls of the public interface, each of some tenths of a second."""
    import numpy as np
    import unbend as ub

    warnings_off()
    x, y = ub.datasets.swiss_roll(1500, random_state=0)
    few, flat = x[:400], y[:400]
    many = ub.datasets.swiss_roll(8000, random_state=0)[0]
    large, its = ub.datasets.swiss_roll(100_000, random_state=0)
    apart = np.sqrt(((few[:, None] - few) ** 2).sum(axis=2))
    wide = np.random.default_rng(0).normal(size=(2500, 40))
    graph, large_graph = ub.neighborhoods(x, 10), ub.neighborhoods(large, 10)
    fitted = ub.GreedyProcrustes(n_init=1, random_state=0).fit(x)
    fits = {
        "ProcrustesAlignment": (ub.ProcrustesAlignment(random_state=0), x),
        "GreedyProcrustes": (ub.GreedyProcrustes(random_state=0), x),
        "GreedyProcrustes, cut": (ub.GreedyProcrustes(cut=True, random_state=0), x),
        "Isomap": (ub.Isomap(), x[:900]),
        "Isomap, landmarks": (ub.Isomap(n_landmarks=100), x),
        **{name: (getattr(ub, name)(), many) for name in ("LocallyLinearEmbedding", "ModifiedLLE", "LTSA")},
        **{
            name: (getattr(ub, name)(), many)
            for name in ("HessianLLE", "LaplacianEigenmaps", "DiffusionMaps")
        },
        "PCA": (ub.PCA(), np.random.default_rng(0).normal(size=(3000, 200))),
        "ClassicalScaling": (ub.ClassicalScaling(), x),
        "RandomProjection": (ub.RandomProjection(n_components=200), np.tile(wide, (4, 10))),
        "SplitScaling": (ub.SplitScaling(), apart),
        "SuccessiveEigenmaps": (ub.SuccessiveEigenmaps(), few),
        "RiemannianLearning": (ub.RiemannianLearning(), x),
    }
    squares = np.stack(np.meshgrid(np.arange(24.0), np.arange(24.0)), axis=2).reshape(-1, 2)
    vertices = np.column_stack([squares, np.sin(squares[:, 0])])
    corner = (np.arange(23)[:, None] * 24 + np.arange(23)).reshape(-1)
    faces = np.concatenate([np.stack(t, axis=1) for t in ((corner, corner + 1, corner + 25),)])
    faces = np.concatenate([faces, np.stack((corner, corner + 25, corner + 24), axis=1)])
    maps = {name: its[:4000] @ turned(angle) for name, angle in (("a", 0.0), ("b", 1.0), ("c", 2.0))}
    found: dict[str, Callable[[], Any]] = {
        f"{name}.fit": partial(_fit, model, data) for name, (model, data) in fits.items()
    }
    found |= {
        "GreedyProcrustes.transform": lambda: fitted.transform(large),
        "GreedyProcrustes.inverse_transform": lambda: fitted.inverse_transform(its),
        "GreedyProcrustes.save and load": lambda: _saved(fitted),
        "neighborhoods": lambda: ub.neighborhoods(large, 12),
        "neighborhoods of wide data": lambda: ub.neighborhoods(wide, 12),
        "neighborhoods, approximate": lambda: ub.neighborhoods(wide, 12, method="approximate"),
        "neighborhoods, radius": lambda: ub.neighborhoods(large, radius=0.8),
        "charts": lambda: ub.charts(large, 2, neighborhoods=large_graph),
        "clean": lambda: ub.clean(x, 2),
        "faithfulness": lambda: ub.faithfulness(large, its),
        "refine": lambda: ub.refine(x, y + 0.3 * np.sin(3 * y), neighborhoods=graph),
        "rectify": lambda: ub.rectify(large, its * [1.0, 3.0], neighborhoods=large_graph),
        "quality": lambda: ub.quality(few, flat),
        "compare": lambda: ub.compare(few, {"a": flat, "b": few[:, :2]}),
        "report": lambda: _reported(few, flat),
        "dimension": lambda: ub.dimension(many),
        "price_of_normalization": lambda: ub.price_of_normalization(x),
        "select": lambda: ub.select(few, [8], [2], ["gp"]),
        "uncertainty": lambda: ub.uncertainty(
            ub.GreedyProcrustes(n_init=1, random_state=0).fit(few), n_replicates=3
        ),
        "align": lambda: ub.align(maps),
        "flatten": lambda: ub.flatten(vertices, faces),
        "metrics.ranks": lambda: ub.metrics.ranks(many, many[:, :2], 12),
        "metrics.geodesic": lambda: ub.metrics.geodesic(x, y, neighborhoods=graph),
        "metrics.shepard": lambda: ub.metrics.shepard(large, its, n_pairs=500_000),
        "metrics.lower_bound": lambda: ub.metrics.lower_bound(large, 2, neighborhoods=large_graph),
        "metrics.nieqa_local": lambda: ub.metrics.nieqa_local(large, its),
        "partition.embed": lambda: ub.partition.embed(x, points_per_cell=500, method="gp"),
        "partition.faithfulness": lambda: ub.partition.faithfulness(x, y, points_per_cell=500),
        "datasets.swiss_roll": lambda: ub.datasets.swiss_roll(400_000, random_state=0),
    }
    return found


def warnings_off() -> None:
    import warnings

    warnings.simplefilter("ignore")


def turned(angle: float) -> Any:
    import numpy as np

    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _fit(model: Any, data: Any) -> Any:
    from sklearn.base import clone

    return clone(model).fit(data)


def _saved(model: Any) -> Any:
    import unbend as ub

    with tempfile.TemporaryDirectory() as folder:
        return ub.load(model.save(Path(folder, "model")))


def _reported(x: Any, y: Any) -> Any:
    import unbend as ub

    with tempfile.TemporaryDirectory() as folder:
        return ub.report(x, {"a": y}, Path(folder, "page.html"))


# The process that is interrupted -----------------------------------------------------------------------------

TABLE: dict[str, Callable[[], Any]] = {}
"""The calls, which forks of the process share."""


def work(seed: int, mode: str, names: list[str]) -> None:
    """Interrupt calls at random moments, and write a line for each interrupt."""
    sys.path.insert(0, str(HERE.parent / "python"))
    TABLE.update(calls())
    rng, strike = random.Random(f"{seed} {mode} {names}"), STRUCK[mode]
    for name in names:
        begin = time.process_time()
        TABLE[name]()
        took = time.process_time() - begin
        for _ in range(ROUND):
            place = rng.random()
            print(json.dumps({"name": name, "took": took, **strike(name, place * took)}), flush=True)


def _struck(call: Callable[[], Any], seconds: float) -> dict[str, Any]:
    """Call, with Ctrl-C after some seconds of processor time."""
    from interrupting import Strike

    strike, result = Strike(seconds), None
    try:
        strike.start()
        result = call()
        late = 0.0 if strike.sent is None else strike.late
        strike.over()
    except KeyboardInterrupt:
        return {"kind": "obeyed" if strike.under_way else "after the end", "late": strike.late}
    except Exception as error:
        return {"kind": "wrong exception", "late": 0.0, "detail": f"{type(error).__name__}: {error}"}
    if getattr(result, "ending", None) == "interrupted":  # `select` returns what it has
        return {"kind": "obeyed", "late": late}
    return {"kind": "not sent" if strike.sent is None else "lost", "late": late}


def in_main_thread(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt the call."""
    return _struck(TABLE[name], seconds)


def in_pool(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt the main thread, while it waits for two other threads, which nothing may disturb."""
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(TABLE[name]) for _ in range(2)]
        found = _struck(lambda: [future.result() for future in futures], 2 * seconds)
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        return {"kind": "wrong exception", "late": 0.0, "detail": f"in a thread: {errors[0]!r}"}
    return found


def in_fork(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt the call in a fork of this process, which has none of its threads."""
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(target, json.dumps(_struck(TABLE[name], seconds)).encode())
        finally:
            os._exit(0)
    os.close(target)
    with os.fdopen(source) as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    found: dict[str, Any] = json.loads(said) if said else {"kind": "crash", "late": 0.0}
    return found


def by_joblib(name: str, seconds: float) -> dict[str, Any]:
    """Interrupt joblib, while two forks compute."""
    from joblib import Parallel, delayed

    def both() -> None:
        Parallel(n_jobs=2, backend="multiprocessing")(delayed(_carried_out)(name) for _ in range(2))

    return _struck(both, 0.01 * min(1.0, seconds))  # the parent hardly uses any time of its own


def _carried_out(name: str) -> None:
    TABLE[name]()


STRUCK = {
    "main thread": in_main_thread,
    "pool of threads": in_pool,
    "fork": in_fork,
    "joblib": by_joblib,
}


# The process that counts -------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The interrupts of one call, or in one mode."""

    kinds: Counter[str] = field(default_factory=Counter)
    late: list[float] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Number of interrupts that were sent."""
        return self.kinds.total() - self.kinds["not sent"]


def report(cases: int, seed: int, minutes: float) -> int:
    """Interrupt calls so often, print what came of it, and return the number of failures."""
    rng, failures = random.Random(seed), 0
    modes = [mode for mode, share in SHARES.items() for _ in range(share)]
    by_call: dict[str, Tally] = defaultdict(Tally)
    by_mode: dict[str, Tally] = defaultdict(Tally)
    total, waiting, names_of_all = Tally(), [], listed()
    end = time.monotonic() + 60 * minutes
    while total.sent < cases and time.monotonic() < end:
        if len(waiting) < TOGETHER:
            waiting += rng.sample(names_of_all, len(names_of_all))
        names, waiting, mode = waiting[:TOGETHER], waiting[TOGETHER:], rng.choice(modes)
        for found in answers(rng.randrange(2**31), mode, names):
            for tally in (by_call[found["name"]], by_mode[mode], total):
                tally.kinds[found["kind"]] += 1
                if found["kind"] == "obeyed":
                    tally.late.append(found["late"])
            if found["kind"] in FAILURES or found["late"] > LATEST:
                failures += 1
                print(f"{mode}: {found}", flush=True)
    _print("interrupts, by call", by_call)
    _print("interrupts, by where the call runs", by_mode | {"all": total})
    soon = sum(late <= SOON for late in total.late) / max(1, len(total.late))
    print(
        f"\n{soon:.2%} of those that were obeyed came within {SOON} s, the last after {max(total.late):.2f} s"
    )
    return failures + int(soon < SOON_SHARE)


def listed() -> list[str]:
    """Return the names of all calls, from a process of its own."""
    told = subprocess.run(
        [sys.executable, str(HERE / "interrupts.py")], capture_output=True, text=True, check=True
    )
    return list(json.loads(told.stdout))


def answers(seed: int, mode: str, names: list[str]) -> list[dict[str, Any]]:
    """Return what a process says about the interrupts of some calls."""
    command = [sys.executable, str(HERE / "interrupts.py"), str(seed), mode, *names]
    told = subprocess.run(command, capture_output=True, text=True)
    found = [json.loads(line) for line in told.stdout.splitlines()]
    if told.returncode != 0:
        detail = f"{names}: exit code {told.returncode}: {told.stderr[-600:]}"
        found.append({"name": names[0], "kind": "crash", "late": 0.0, "detail": detail})
    return found


def _print(title: str, tallies: dict[str, Tally]) -> None:
    print(
        f"\n{title:<36}{'sent':>6}{'obeyed':>8}{'after':>7}{'lost':>6}{'wrong':>7}{'median s':>10}{'last s':>8}"
    )
    for name, tally in tallies.items():
        late = sorted(tally.late) or [0.0]
        wrong = tally.kinds["wrong exception"] + tally.kinds["crash"]
        obeyed, after, lost = (tally.kinds[kind] for kind in ("obeyed", "after the end", "lost"))
        counts = f"{tally.sent:>6}{obeyed:>8}{after:>7}{lost:>6}{wrong:>7}"
        print(f"  {name:<34}{counts}{late[len(late) // 2]:>10.3f}{late[-1]:>8.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
    else:
        print(json.dumps(list(calls())))
