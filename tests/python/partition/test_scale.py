"""The simulation of docs/scale.md: what it prints is what stands there, and it keeps to what must hold."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import simulate_scale as scale

ROOT = Path(__file__).parents[3]


def test_the_document_says_what_is_simulated():
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for line in (*scale.table(), *scale.what_breaks()):
        assert line in page, line


def test_the_document_names_the_costs():
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for name in ("probe", "scatter", "cells", "overlaps", "seams", "faithfulness", "output"):
        assert f"| {name} | {getattr(scale.Costs(), name):g} |" in page, name


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=200), st.integers(1, 50), st.floats(0, 0.1))
@settings(max_examples=60)
def test_no_schedule_beats_its_bounds(taken, workers, dispatch):
    end = scale.finish(np.array(taken), workers, dispatch, 5.0) - 5.0
    assert end >= max(sum(taken) / workers, max(taken), len(taken) * dispatch) - 1e-9
    # And none that is greedy takes more than all bounds together.
    assert end <= sum(taken) / workers + max(taken) + len(taken) * dispatch + 1e-9


def test_one_worker_does_everything():
    found = scale.simulate(scale.Sizes(10**7), scale.Cluster(1, slow_share=0.0))
    work = sum(count * seconds for _, count, seconds, _, _ in scale.stages(scale.Sizes(10**7), scale.Costs()))
    assert found["seconds"] > work
    assert found["idle"] < 0.02


def test_more_workers_take_no_longer_until_the_storage_is_full():
    times = [scale.simulate(scale.Sizes(10**9), scale.Cluster(w))["seconds"] for w in (8, 32, 128, 500)]
    assert times == sorted(times, reverse=True)
    wide = replace(scale.Cluster(1000), storage=1e12)
    assert scale.simulate(scale.Sizes(10**9), wide)["seconds"] < times[-1]


def test_driver_and_workers_stay_small():
    for n in (10**8, 10**9):
        found = scale.simulate(scale.Sizes(n), scale.Cluster(1000))
        assert found["worker_bytes"] < 1e9
        assert found["driver_bytes"] < 2e9
        assert found["driver_bytes"] < 0.02 * found["moved"]


def test_the_bytes_of_a_run_are_those_that_were_simulated(tmp_path):
    # The stages that can be looked at: what is scattered, and what is kept of every cell.
    import unbend as ub
    from unbend.core.progress import Progress
    from unbend.partition.run import Serial
    from unbend.partition.sources import source_of
    from unbend.partition.task import Task

    n, points = 200_000, 50_000
    x, _ = ub.datasets.swiss_roll(n, random_state=0)
    settings = {
        "n_components": 2,
        "n_neighbors": 12,
        "method": "gp",
        "tangent_neighbors": None,
        "refine": "auto",
        "objective": "R_N",
        "passes": 1,
        "parameters": {"n_init": 1},
    }
    run = Task.embedding(source_of(x), settings, points).begun(tmp_path, Serial(), Progress(), "warn")
    run.embed(12)
    held = scale.Costs().halo * n
    scattered = sum(path.stat().st_size for path in tmp_path.glob("block-*.rows"))
    kept = sum(path.stat().st_size for path in tmp_path.glob("cell-*.npz"))
    assert scattered == pytest.approx(held * (8 * 3 + 12), rel=0.15)
    assert kept == pytest.approx(held * (16 + 4 + 16 + 4 + 48 + 8), rel=0.15)
