"""The fuzzer itself: it finds what is planted, and survives processes that die or hang."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"


def module(name):
    spec = importlib.util.spec_from_file_location(f"fuzz_{name.strip('_')}", FUZZ / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


judge, main = module("judge"), module("__main__")


def divide():
    return 1 // 0


def broadcast():
    return np.zeros(3) + np.zeros(4)


def refuse():
    raise ValueError("x = 3 is too many: at most 2 are allowed")


def warn():
    return np.log(np.zeros(1))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (divide, "wrong exception"),
        (broadcast, "wrong exception"),
        (lambda: len(3), "wrong exception"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "wrong exception"),
        (warn, "warning of NumPy"),
        (refuse, "refused"),
        (lambda: 3, "ok"),
    ],
)
def test_calls_are_judged(call, kind):
    assert judge.tried(call).kind == kind


def test_nan_is_found_wherever_it_is():
    result = {"a": [1.0, {"b": np.array([1.0, np.nan])}], "two_nn": np.nan, "c": np.inf}
    assert list(judge.nan_paths(result)) == ["result.a.1.b"]


def test_results_are_compared_to_the_last_bit():
    assert judge.difference({"a": [np.nan, 1.0]}, {"a": [np.nan, 1.0]}) == ""
    assert judge.difference({"a": [1.0]}, {"a": [np.nextafter(1.0, 2.0)]}) == "result.a.0"
    assert judge.difference({"a": np.zeros(2)}, {"a": -np.zeros(2)}) == "result.a"
    assert judge.difference({"seconds": 1.0}, {"seconds": 2.0}) == ""


def test_changed_inputs_are_noticed():
    x = {"a": [np.zeros(3)]}
    before = judge.snapshot(x)
    assert judge.snapshot(x) == before
    x["a"][0][1] = 1e-300
    assert judge.snapshot(x) != before


def followed(code, capsys):
    """Return what the watching process counts for a worker that runs this code."""
    watch = main.Watch(seconds=1.0, seed=5)
    begin = 'import json, os, time; print(json.dumps({"case": "7:3", "name": "quality"}), flush=True); '
    watch.follow([sys.executable, "-c", begin + code])
    printed = capsys.readouterr().out
    assert watch.seed == 8
    return dict(watch.counts["quality"]), printed


def test_a_process_that_dies_is_a_crash(capsys):
    counts, printed = followed("os.abort()", capsys)
    assert counts == {"crash": 1}
    assert "--replay 7:3" in printed


def test_a_process_that_hangs_is_killed(monkeypatch, capsys):
    monkeypatch.setattr(main, "CPU_SECONDS", 0.5)
    busy = "import faulthandler, signal; faulthandler.register(signal.SIGUSR1)\nwhile True: pass"
    counts, printed = followed(busy, capsys)
    assert counts == {"hang": 1}
    assert "--replay 7:3" in printed


def test_a_process_that_ends_well_is_counted(capsys):
    counts, _ = followed("""print('{"kind": "ok", "detail": ""}', flush=True)""", capsys)
    assert counts == {"ok": 1}


@pytest.mark.parametrize("seed", [3, 7, 9])
def test_cases_of_each_family_are_drawn_again(seed):
    """The same seed draws the same cases."""
    command = [sys.executable, str(FUZZ), "--replay", f"{seed}:4"]
    first, second = (subprocess.run(command, capture_output=True, text=True) for _ in range(2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout.startswith("Damaged(" if main.family_of(seed) == "files" else "Case(")
    assert second.stdout == first.stdout
