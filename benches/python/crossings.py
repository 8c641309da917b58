"""How often a call crosses from Python into the core.

    python benches/python/crossings.py          # PSA and GP of 100,000 points, quality of 5,000

Each crossing checks and converts its arguments, and waits for threads. A fit should cross once for each stage, and
twice for each step of conjugate gradients: one product and one preconditioner.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from typing import Any

import unbend as ub
from unbend import _core

CLASSES = ("Graph", "Paths", "Points", "Problem", "RankTables")
"""The classes of the core that Python makes objects of."""

MOST = {"ProcrustesAlignment": 40, "GreedyProcrustes": 45, "quality": 16}


class Counting(type):
    """Stands for a class of the core while its constructor is counted, which is no call that a profile sees."""

    calls: Counter[str]
    kind: type

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        cls.calls[f"{cls.__name__}()"] += 1
        return cls.kind(*arguments, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kind)


@contextmanager
def counted() -> Any:
    """Count calls of functions, methods and constructors of the core."""
    calls: Counter[str] = Counter()
    originals = {name: getattr(_core, name) for name in CLASSES}

    def called(_: Any, event: str, function: Any) -> None:
        if event != "c_call":
            return
        owner = getattr(function, "__self__", None)
        if owner is _core or getattr(function, "__module__", None) == _core.__name__:
            calls[function.__name__] += 1
        elif hasattr(_core, type(owner).__name__):
            calls[f"{type(owner).__name__}.{function.__name__}"] += 1

    for name, kind in originals.items():
        setattr(_core, name, Counting(name, (), {"calls": calls, "kind": kind}))
    sys.setprofile(called)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        for name, kind in originals.items():
            setattr(_core, name, kind)


def main() -> int:
    warnings.simplefilter("ignore")
    x, _ = ub.datasets.swiss_roll(100_000, random_state=0)
    few, coordinates = ub.datasets.swiss_roll(5_000, random_state=0)
    jobs = {
        "ProcrustesAlignment": lambda: ub.ProcrustesAlignment().fit(x),
        "GreedyProcrustes": lambda: ub.GreedyProcrustes(random_state=0).fit(x),
        "quality": lambda: ub.quality(few, coordinates),
    }
    failed = False
    for name, job in jobs.items():
        with counted() as calls:
            job()
        total = sum(calls.values())
        failed |= total > MOST[name]
        print(f"{name}: {total} crossings (at most {MOST[name]})")
        print("   " + ", ".join(f"{call} {count}" for call, count in calls.most_common()))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
