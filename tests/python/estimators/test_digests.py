"""Fits give what they gave: the numbers of the record on any machine, and its bits on the machine it is from."""

import importlib.util
import json
from pathlib import Path

import pytest

FITS = Path(__file__).parents[2] / "data" / "fits"
LARGE = ("renumbered", "cells", "anneal")

spec = importlib.util.spec_from_file_location("fits", FITS / "make.py")
fits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fits)
RECORD = json.loads((FITS / "digests.json").read_text(encoding="utf-8"))


def test_every_case_is_recorded():
    assert list(RECORD["fits"]) == list(fits.CASES)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if any(word in name for word in LARGE) else ())
        for name in fits.CASES
    ],
)
def test_a_fit_gives_what_it_gave(name):
    found, known = fits.made([name])[name], RECORD["fits"][name]
    if RECORD["machine"] == fits.machine():
        assert found == known
    numbers = {key: value for key, value in known.items() if key in ("r_n", "lower_bound", "overlap")}
    assert {key: found[key] for key in numbers} == pytest.approx(numbers, rel=1e-4, abs=1e-6)
    assert found.get("surface") == known.get("surface")
