"""Arrays that change while they are used: mapped files that become shorter, and arrays that are written to."""

import os

import numpy as np
import pytest
import unbend as ub
from unbend.core.arrays import mapped_file
from unbend.files import FileError

ROLL = ub.datasets.swiss_roll(400, random_state=0)[0]
SHORTENED = (
    r"X is mapped from .*roll\.npy, which has 5,000 bytes but needs 9,728: another program shortened it"
)


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "roll.npy", ROLL)
    return tmp_path / "roll.npy"


def mapped(file):
    return np.load(file, mmap_mode="r")


def test_arrays_know_their_file(file):
    whole = mapped(file)
    raw = np.memmap(file, np.float64, "r", offset=8192, shape=(24, 8))
    for array in (whole, whole[10:], whole.T, np.asarray(whole)[::3], whole.view(np.int64)):
        assert mapped_file(array).needed == file.stat().st_size
    assert mapped_file(raw).needed == 8192 + 24 * 8 * 8
    for array in (ROLL, whole.copy(), np.array(whole), whole + 1, [[1.0]], None):
        assert mapped_file(array) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ub.neighborhoods(x, 5),
        lambda x: ub.faithfulness(x, ROLL[:, :2]),
        lambda x: ub.quality(x, ROLL[:, :2]),
        lambda x: ub.PCA().fit(x),
        lambda x: ub.ProcrustesAlignment().fit(x),
        lambda x: ub.partition.embed(x, points_per_cell=200),
    ],
)
def test_a_file_that_became_shorter_is_not_read(file, call):
    """Reading it would end the process with SIGBUS."""
    x = mapped(file)
    os.truncate(file, 5000)
    with pytest.raises(ValueError, match=SHORTENED):
        call(x)


@pytest.mark.parametrize("kind", [ub.ProcrustesAlignment, ub.GreedyProcrustes, ub.LTSA, ub.Isomap])
def test_a_file_that_becomes_shorter_ends_the_fit(file, kind):
    def shorten(stage, done, total, best):
        if done == 0:
            os.truncate(file, 5000)

    model = kind(callback=shorten)
    with pytest.raises(ValueError, match=SHORTENED):
        model.fit(mapped(file))
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize("stage", ["tangents", "alignment", "refine"])
@pytest.mark.filterwarnings("ignore")
def test_an_array_that_another_thread_writes_to_gives_no_result(stage):
    """The callback stands for the other thread: it runs in the midst of the fit."""
    x = ROLL.copy()

    def spoil(name, done, total, best):
        if name == stage:
            x[:] = np.nan

    model = ub.ProcrustesAlignment(callback=spoil)
    with pytest.raises(ValueError, match=r"another thread wrote to X|holds NaN"):
        model.fit(x)
    assert not hasattr(model, "embedding_")


def test_a_panic_of_the_core_is_explained_by_what_was_written(monkeypatch):
    """Where the core finds that a rule of its own is broken, the data are looked at again."""
    x, model = ROLL.copy(), ub.ProcrustesAlignment()

    def fit(*args, **known):
        x[3, 1] = np.inf
        raise RuntimeError("the core broke one of its own rules")

    monkeypatch.setattr(model, "_fit", fit)
    with pytest.raises(
        ValueError, match="another thread wrote to X while it was fitted, and now X holds inf"
    ):
        model.fit(x)
    monkeypatch.undo()
    assert model.fit(ROLL).embedding_.shape == (400, 2)


def test_a_file_that_is_replaced_during_a_run_in_cells_gives_no_result(file, tmp_path):
    def replaced(array):
        def replace(stage, done, total, best):
            if stage == "cells":
                np.save(file, array)
                os.utime(file, ns=(0, 0))

        return replace

    for array in (ROLL + 1.0, ROLL[:300]):
        np.save(file, ROLL)
        with pytest.raises(FileError, match="changed"):
            ub.partition.embed(file, tmp_path / "flat.npy", points_per_cell=200, callback=replaced(array))
        assert not (tmp_path / "flat.npy").exists()
