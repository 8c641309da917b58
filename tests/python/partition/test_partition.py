"""Embedding in cells: as good as at once, whatever is killed, damaged or missing on the way."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes
from unbend import datasets, partition
from unbend.cli import main
from unbend.core.progress import Progress
from unbend.files import FileError
from unbend.partition import cells
from unbend.partition.align import Overlaps, align
from unbend.partition.checkpoint import CheckpointDir, DamagedError
from unbend.partition.plan import CORE, Plan, halve, width_of
from unbend.partition.run import Serial, beside, points_that_fit
from unbend.partition.sources import source_of
from unbend.partition.task import Task

SETTINGS = {
    "n_components": 2,
    "n_neighbors": 10,
    "method": "psa",
    "tangent_neighbors": None,
    "refine": "auto",
    "objective": "R_N",
    "passes": 3,
    "parameters": None,
}


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(12_000, random_state=1)


@pytest.fixture(scope="module")
def reference(roll):
    """What comes out when nothing goes wrong."""
    return partition.embed(roll[0], points_per_cell=3000)


def begun(x, folder, points, **changes):
    task = Task.embedding(source_of(x), SETTINGS | changes, points)
    return task.begun(folder, Serial(), Progress(), "warn")


# Cells -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cells", [1, 2, 3, 7, 16])
def test_cells_are_balanced(roll, n_cells):
    counts = np.bincount(halve(roll[0][:1600], n_cells))
    assert len(counts) == n_cells
    assert counts.max() - counts.min() <= 2 + counts.max() // 100


def test_cells_follow_the_data(roll):
    # Four cells of a roll that is four times as long as wide: pieces of its length, none of which holds two
    # sheets.
    x, truth = roll
    labels = halve(x[:2000], 4)
    spans = [np.ptp(truth[:2000][labels == cell, 0]) for cell in range(4)]
    assert max(spans) < 0.5 * np.ptp(truth[:, 0])


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_gaps_are_their_definition(seed, n_cells, q):
    rng = np.random.default_rng(seed)
    sample, x = rng.normal(size=(20, q)), rng.normal(size=(40, q))
    labels = rng.integers(n_cells, size=20).astype(np.uint32)
    plan = Plan(sample, labels, n_cells, width=float(rng.uniform(0, 2)))
    found = plan.assign(x)
    apart = np.linalg.norm(x[:, None] - sample, axis=2)
    for i in range(len(x)):
        to_cells = {c: apart[i, labels == c].min() - apart[i].min() for c in np.unique(labels)}
        held = {c: gap for c, gap in to_cells.items() if gap <= plan.width or c == found.own[i]}
        of = found.rows == i
        assert sorted(found.cells[of].tolist()) == sorted(held)
        assert to_cells[found.own[i]] == 0
        for cell, gap in zip(found.cells[of], found.gaps[of], strict=True):
            assert (gap == CORE) if cell == found.own[i] else gap == pytest.approx(held[cell], abs=1e-6)
        second = min((gap for c, gap in to_cells.items() if c != found.own[i]), default=np.inf)
        assert found.second[i] == pytest.approx(second, abs=1e-6)
    assert found.reach == plan.width


def test_more_of_the_sample_is_looked_at_where_it_is_crowded():
    rng = np.random.default_rng(0)
    sample = np.concatenate([rng.normal(size=(60, 2)) * 1e-3, rng.normal(size=(20, 2)) + 1])
    labels = np.repeat(np.array([0, 1], dtype=np.uint32), [60, 20])
    plan = Plan(sample, labels, 2, width=1.0)
    x = rng.normal(size=(50, 2))
    other = np.array([np.linalg.norm(x - s, axis=1) for s in sample])
    gap = np.abs(other[:60].min(axis=0) - other[60:].min(axis=0))
    assert np.bincount(plan.assign(x).rows, minlength=50).tolist() == (1 + (gap <= 1.0)).tolist()


def test_every_neighborhood_is_whole(roll, tmp_path):
    x = roll[0]
    run = begun(x, tmp_path, 2000)
    graph = ub.neighborhoods(x, 10)
    seen = 0
    for cell in run.cells:
        held = cell.members(run.job)
        assert np.array_equal(held.x, x[held.ids])
        own = ub.neighborhoods(held.x, 10)
        for i in np.flatnonzero(held.core):
            assert np.array_equal(held.ids[own[i]], graph[held.ids[i]])
        seen += held.core.sum()
    assert seen == len(x)
    run.embed(None)
    assert run.found["proved"] == len(x)


def test_what_is_not_whole_is_not_called_so(roll, tmp_path):
    # A halo that is too narrow: neighbors are missing, and no point that lacks one is counted as proved.
    x = roll[0]
    run = begun(x, tmp_path / "wide", 2000) if (tmp_path / "wide").mkdir() is None else None
    plan = run.job.plan()
    (tmp_path / "narrow").mkdir()
    checkpoints = CheckpointDir(str(tmp_path / "narrow"))
    checkpoints.save("plan", Plan(plan.sample, plan.labels, plan.n_cells, 0.1 * plan.width).to_arrays())
    checkpoints.save_record("partition", json.loads((tmp_path / "wide" / "partition.json").read_text()))
    narrow = begun(x, tmp_path / "narrow", 2000)
    graph, lacking, proved = ub.neighborhoods(x, 10), 0, 0
    for cell in narrow.cells:
        held = cell.members(narrow.job)
        own = ub.neighborhoods(held.x, 10)
        lacking += sum(
            not np.array_equal(held.ids[own[i]], graph[held.ids[i]]) for i in np.flatnonzero(held.core)
        )
        proved += cells.proved(held, own, cell.reach)
    assert lacking > 0
    assert proved <= len(x) - lacking


def test_width_is_limited_where_everything_is_near_everything():
    x = np.random.default_rng(0).normal(size=(400, 50))
    plan = Plan(x[:200], halve(x[:200], 4), 4, 0.0)
    width = width_of(plan, x[200:], np.array([100.0]))
    held = np.bincount(Plan(plan.sample, plan.labels, 4, width).assign(x[200:]).rows)
    assert 1.9 < held.mean() <= 2.1


def test_two_cells_do_not_hold_each_other(tmp_path):
    x, _ = ub.datasets.swiss_roll(40_000, random_state=0)
    held = begun(x, tmp_path, 20_000).found["held"]
    assert held.max() < 25_000


# Alignment of cells ----------------------------------------------------------------------------------------


def moments(one, two):
    """What `cells.overlaps` finds of two pieces of the same points, all of weight 1."""
    (a, b), n = (y - y.mean(axis=0) for y in (one, two)), len(one)
    sizes = [(a * a).sum(), (b * b).sum()]
    return np.concatenate([[n, n], one.mean(axis=0), two.mean(axis=0), (a.T @ b).ravel(), sizes])


def pieces(seed, n_pieces, d, bad=()):
    """Overlaps of pieces of one cloud that were turned and moved at random, and the motions that undo it."""
    rng = np.random.default_rng(seed)
    turns = np.array([np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n_pieces)])
    shifts = rng.normal(size=(n_pieces, d))
    pairs = [(i, j) for i in range(n_pieces) for j in range(i + 1, min(n_pieces, i + 4))]
    sums = []
    for place, (i, j) in enumerate(pairs):
        shared = rng.normal(size=(30, d)) + 3 * i
        one, two = ((shared - shifts[p]) @ turns[p].T for p in (i, j))
        if place in bad:
            two = two @ np.linalg.qr(rng.normal(size=(d, d)))[0] + 5
        sums.append(moments(one, two))
    return Overlaps.from_sums(np.array(pairs), np.array(sums), d), turns, shifts


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_pieces_of_one_cloud_come_together(seed, n_pieces, d):
    overlaps, _, _ = pieces(seed, n_pieces, d)
    found = align(overlaps, n_pieces, d)
    assert found.error.max() < 1e-6
    assert (found.components == 0).all()
    assert np.allclose(found.turns @ np.swapaxes(found.turns, 1, 2), np.eye(d))


@pytest.mark.parametrize("bad", [(2,), (9,), (4, 14), (2, 12, 22)])
@pytest.mark.parametrize("seed", range(5))
def test_a_bad_overlap_does_no_harm(seed, bad):
    overlaps, _, _ = pieces(seed, 12, 2, bad)
    found = align(overlaps, 12, 2)
    good = np.ones(len(found.error), dtype=bool)
    good[list(bad)] = False
    assert found.error[good].max() < 1e-3 < 1 < found.error[~good].min()
    assert found.trust[~good].max() < 1e-3 < 0.5 < np.median(found.trust[good])


def test_pieces_without_an_overlap_stay_apart():
    found = align(Overlaps.from_sums(np.empty((0, 2), dtype=np.int64), np.empty((0, 12)), 2), 3, 2)
    assert found.components.tolist() == [0, 1, 2]
    assert np.array_equal(found.turns, np.tile(np.eye(2), (3, 1, 1)))


# As good as at once ----------------------------------------------------------------------------------------


def test_a_roll_comes_out_as_at_once(roll, reference):
    x, truth = roll
    m = reference.faithfulness
    assert m.r_n < 1.005 * m.lower_bound
    whole = ub.ProcrustesAlignment(cut=False).fit(x)
    assert procrustes(truth, reference.embedding)[2] < 1.2 * procrustes(truth, whole.embedding_)[2]
    assert len(reference.cell_sizes) == 4
    assert reference.cell_sizes.sum() == len(x)
    assert m.n_proved == m.n_measured == len(x)
    assert (reference.n_lost, reference.n_connected_components, reference.failed) == (0, 1, {})


def test_it_is_laid_out_as_by_estimators(reference):
    y = reference.embedding
    assert np.abs(y.mean(axis=0)).max() < 1e-9
    scatter = y.T @ y
    assert abs(scatter[0, 1]) < 1e-9 * scatter[0, 0]
    assert scatter[0, 0] > scatter[1, 1]


def test_borders_are_as_good_as_the_inside(roll, reference, tmp_path):
    x, truth = roll
    plan = begun(x, tmp_path, 3000, n_neighbors=12).job.plan()
    border = plan.assign(x).second <= plan.width
    assert 0.05 < border.mean() < 0.8
    m = ub.faithfulness(x, reference.embedding)
    middle = truth - truth.mean(axis=0)
    u, _, v = np.linalg.svd(reference.embedding.T @ middle)
    off = np.linalg.norm(reference.embedding @ u @ v - middle, axis=1)
    for error in (m.per_point["r_n"] / m.per_point["bound"], off):
        for share in (0.5, 0.9, 0.99):
            assert np.quantile(error[border], share) < 1.1 * np.quantile(error[~border], share)


def test_greedy_cells_too(roll):
    found = partition.embed(roll[0], points_per_cell=3000, method="gp")
    assert found.faithfulness.r_n < 1.01 * found.faithfulness.lower_bound
    assert procrustes(roll[1], found.embedding)[2] < 1e-6


def test_three_dimensions():
    rng = np.random.default_rng(0)
    flat = rng.uniform(size=(4000, 3)) * [4, 2, 1]
    x = np.c_[np.cos(flat[:, 0]), np.sin(flat[:, 0]), flat[:, 1:]]
    found = partition.embed(x, points_per_cell=1000, n_components=3)
    assert procrustes(flat, found.embedding)[2] < 1e-3


def test_components_lie_side_by_side():
    x, _ = ub.datasets.swiss_roll(6000, random_state=0)
    x = np.concatenate([x[:2000], x[2000:] + np.array([0, 200, 0])])
    found = partition.embed(x, points_per_cell=1000)
    assert found.n_connected_components == 2
    a, b = found.embedding[:2000], found.embedding[2000:]
    apart = (a.min(axis=0) > b.max(axis=0)) | (b.min(axis=0) > a.max(axis=0))
    assert apart.any()
    assert found.faithfulness.r_n < 1.1 * found.faithfulness.lower_bound


def test_rows_of_components_are_those_of_the_core():
    rng = np.random.default_rng(0)
    sizes = np.array([50, 200, 120, 80])
    labels = np.repeat(np.arange(4), sizes).astype(np.uint32)
    y = rng.normal(size=(450, 2)) * np.repeat([[1, 0.5], [5, 2], [2, 1.9], [9, 0.1]], sizes, axis=0)
    laid = ub._core.lay_out(np.ascontiguousarray(y), labels).reshape(-1, 2)
    low, high = (np.array([f(laid[labels == c], axis=0) for c in range(4)]) for f in (np.min, np.max))
    # What is packed already is packed again to the same place.
    assert np.allclose(low + beside(low, high, sizes.astype(float)), low)


@pytest.mark.slow
def test_under_noise_as_at_once():
    x, truth = ub.datasets.swiss_roll(100_000, noise=0.3, random_state=0)
    found = partition.embed(x, points_per_cell=20_000)
    whole = ub.ProcrustesAlignment(cut=False).fit(x)
    assert found.tangent_neighbors > 100
    assert procrustes(truth, found.embedding)[2] < 1.1 * procrustes(truth, whole.embedding_)[2]


# The same bits ---------------------------------------------------------------------------------------------


def test_threads_and_files_do_not_matter(roll, reference, tmp_path):
    x = roll[0]
    np.save(tmp_path / "x.npy", x)
    found = partition.embed(
        tmp_path / "x.npy", tmp_path / "y.npy", points_per_cell=3000, n_jobs=1, directory=tmp_path / "work"
    )
    assert np.array_equal(found.embedding, reference.embedding)
    assert isinstance(found.embedding, np.memmap)
    assert np.array_equal(np.load(tmp_path / "y.npy"), reference.embedding)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "y.npy"]
    assert found.faithfulness == reference.faithfulness


def test_zarr_and_single_precision(tmp_path):
    zarr = pytest.importorskip("zarr")
    x, _ = ub.datasets.swiss_roll(4000, random_state=0)
    x = x.astype(np.float32)
    array = zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=x.shape, chunks=(700, 2), dtype="f4")
    array[:] = x
    found = partition.embed(tmp_path / "x.zarr", points_per_cell=1500)
    assert np.array_equal(found.embedding, partition.embed(x, points_per_cell=1500).embedding)


# Measured in cells -----------------------------------------------------------------------------------------


def test_measures_add_up(roll):
    x, truth = roll
    y = truth + 0.05 * np.sin(5 * truth[:, ::-1])
    found, whole = partition.faithfulness(x, y, points_per_cell=2000), ub.faithfulness(x, y)
    for name in ("r", "r_n", "r_c", "r_pca", "lower_bound", "scale", "r_n_scaled"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-11), name
    assert (found.n_measured, found.n_degenerate) == (len(x), whole.n_degenerate)
    assert found.n_proved == len(x)


def test_every_neighborhood_has_the_bits_it_has_at_once(roll, tmp_path):
    x, truth = roll
    task = Task.measuring(source_of(x), source_of(truth), 10, 2000)
    run = task.begun(tmp_path, Serial(), Progress(), "warn")
    whole = ub.faithfulness(x, truth, 10)
    for cell in run.cells:
        held = cell.members(run.job)
        own = ub.faithfulness(held.x, held.y, 10)
        ids = held.ids[held.core]
        for name in ("r", "r_n", "r_c", "r_pca", "bound"):
            assert np.array_equal(own.per_point[name][held.core], whole.per_point[name][ids])


def test_degenerate_neighborhoods_are_counted():
    x = np.random.default_rng(0).normal(size=(3000, 3))
    x[:200] = x[0]
    y = np.random.default_rng(1).normal(size=(3000, 2))
    found, whole = partition.faithfulness(x, y, 5, points_per_cell=1000), ub.faithfulness(x, y, 5)
    assert whole.n_degenerate > 100
    assert found.n_degenerate == whole.n_degenerate
    assert found.r_n == pytest.approx(whole.r_n, rel=1e-11)


# What goes wrong -------------------------------------------------------------------------------------------


class _Killed(BaseException):
    pass


@pytest.mark.parametrize("stage", ["scatter", "cells", "seams", "output"])
def test_a_run_that_was_stopped_goes_on(roll, reference, tmp_path, stage):
    def stop(name, done, total, best):
        if name == stage and (done > 0 or total == 1):
            raise _Killed

    work = tmp_path / "work"
    with pytest.raises(_Killed):
        partition.embed(roll[0], points_per_cell=3000, directory=work, callback=stop)
    kept = {path: path.stat().st_mtime_ns for path in work.glob("cell-*.npz")}
    found = partition.embed(roll[0], points_per_cell=3000, directory=work)
    assert np.array_equal(found.embedding, reference.embedding)
    assert not work.exists()
    assert kept or stage in ("scatter", "cells")


def test_finished_cells_are_not_made_again(roll, tmp_path, monkeypatch):
    run = begun(roll[0], tmp_path, 3000)
    run.embed(None)
    monkeypatch.setattr(cells, "flatten", lambda *_: pytest.fail("made again"))
    again = begun(roll[0], tmp_path, 3000)
    again.embed(None)
    assert again.found["proved"] == run.found["proved"]


def test_a_killed_process_goes_on(roll, reference, tmp_path):
    np.save(tmp_path / "x.npy", roll[0])
    command = [sys.executable, "-m", "unbend", "embed", "x.npy", "-o", "y.npy", "--method", "psa"]
    command += ["--points-per-cell", "3000", "--quiet"]
    first = subprocess.Popen(command, cwd=tmp_path)
    parts = tmp_path / "y.npy.parts"
    while not list(parts.glob("cell-*.npz")) and first.poll() is None:
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert not (tmp_path / "y.npy").exists()
    kept = {path: path.stat().st_mtime_ns for path in parts.glob("block-*")}
    assert kept
    subprocess.run(command, cwd=tmp_path, check=True)
    assert np.array_equal(np.load(tmp_path / "y.npy"), reference.embedding)
    assert not parts.exists()


def test_a_folder_is_for_one_run_at_a_time(roll, reference, tmp_path):
    def second(name, done, total, best):
        if name == "cells":
            with pytest.raises(FileError, match=r"work is used by another run: wait until it ends"):
                partition.embed(roll[0], points_per_cell=3000, directory=tmp_path / "work")

    found = partition.embed(roll[0], points_per_cell=3000, directory=tmp_path / "work", callback=second)
    assert np.array_equal(found.embedding, reference.embedding)


@pytest.mark.parametrize("left", ["finished", "empty", "claiming"])
def test_a_run_that_was_killed_at_its_very_end_or_beginning_leaves_a_folder_that_serves(roll, tmp_path, left):
    work = tmp_path / "work"
    work.mkdir()
    if left == "finished":
        CheckpointDir(str(work)).save_record("partition", {"finished": True})
        (work / "cell-0.npz").write_bytes(b"of another run")
    if left == "claiming":
        (work / ".partition.json.17.0123abcd").write_text("{")
    x, again = roll[0][:4000], {"points_per_cell": 2000}
    found = partition.embed(x, directory=work, **again)
    assert np.array_equal(found.embedding, partition.embed(x, **again).embedding)
    assert not work.exists()


def test_what_stands_in_the_way_is_not_removed(roll, tmp_path):
    (tmp_path / ".partition.json.mine").write_text("mine")
    with pytest.raises(FileError, match="is not empty, and holds no partition"):
        partition.embed(roll[0], points_per_cell=3000, directory=tmp_path)
    assert (tmp_path / ".partition.json.mine").read_text() == "mine"


def test_blocks_of_an_output_that_is_gone_are_written_again(roll, reference, tmp_path):
    """A process can be killed after it has moved the output to its place, and before the folder is removed."""

    def stop(name, done, total, best):
        if name == "output" and done == total:
            raise _Killed

    work = tmp_path / "work"
    with pytest.raises(_Killed):
        partition.embed(roll[0], points_per_cell=3000, directory=work, callback=stop)
    assert list(work.glob("out-*.npz"))
    (work / "out.npy").unlink()
    found = partition.embed(roll[0], points_per_cell=3000, directory=work)
    assert np.array_equal(found.embedding, reference.embedding)


def test_a_folder_elsewhere_moves_its_output_as_a_whole(roll, tmp_path, monkeypatch):
    """Between file systems, files are copied: what is not whole must not have the name of the result."""
    out = tmp_path / "y.npy"

    def elsewhere(*paths, **_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    def full(source, target, **_):
        Path(target).write_bytes(Path(source).read_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    out.write_bytes(b"old")
    settings = {"points_per_cell": 2000, "directory": tmp_path / "work", "force": True}
    monkeypatch.setattr(os, "rename", elsewhere)
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(FileError, match=r"y\.npy: No space left on device"):
        partition.embed(roll[0][:4000], out, **settings)
    assert out.read_bytes() == b"old"
    monkeypatch.undo()
    found = partition.embed(roll[0][:4000], out, **settings)
    assert np.isfinite(found.embedding).all()
    assert sorted(os.listdir(tmp_path)) == ["y.npy"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_full_disk_is_said_and_the_run_goes_on_later(tmp_path):
    """The output was mapped into memory once: then a full disk ended the process."""
    np.save(tmp_path / "x.npy", datasets.swiss_roll(2000, random_state=0)[0])
    command = ["embed", "x.npy", "-o", "y.npy", "--points-per-cell", "700", "--quiet"]
    # Everything is imported before files are limited.
    code = "import resource, sys, unbend as ub; from unbend.cli import main; ub.PCA; ub.partition.embed; "
    limited = "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY)); "
    run = "sys.exit(main(sys.argv[1:]))"
    first = subprocess.run(
        [sys.executable, "-c", code + limited + run, *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert first.returncode == 2
    assert re.fullmatch(r"unbend: error: cannot write \S+: File too large\n", first.stderr), first.stderr
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy.parts"]
    subprocess.run([sys.executable, "-c", code + run, *command], cwd=tmp_path, check=True)
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_a_damaged_cell_is_made_again(roll, reference, tmp_path):
    work = tmp_path / "work"
    with pytest.raises(_Killed):
        partition.embed(roll[0], points_per_cell=3000, directory=work, callback=_at_overlaps)
    for path in work.glob("said-*.npz"):
        path.write_bytes(path.read_bytes()[:-40])
    for path in work.glob("rim-*.npz"):
        held = bytearray(path.read_bytes())
        held[len(held) // 2] ^= 1
        path.write_bytes(held)
    found = partition.embed(roll[0], points_per_cell=3000, directory=work)
    assert np.array_equal(found.embedding, reference.embedding)


@pytest.mark.parametrize("which", ["cell-2", "rim-1-0", "rim-3-1", "state-0-1"])
def test_whatever_is_damaged_is_made_again(roll, reference, tmp_path, which):
    def stop(name, done, total, best):
        if name == "output":
            raise _Killed

    work = tmp_path / "work"
    with pytest.raises(_Killed):
        partition.embed(roll[0], points_per_cell=3000, directory=work, callback=stop)
    held = bytearray((work / f"{which}.npz").read_bytes())
    held[len(held) // 2] ^= 1
    (work / f"{which}.npz").write_bytes(held)
    for path in [*work.glob("done-*.npz"), *work.glob("state-*-[2-9].npz")]:
        path.unlink()  # so that what is damaged is read
    with suppress(DamagedError):
        partition.embed(roll[0], points_per_cell=3000, directory=work)
    found = partition.embed(roll[0], points_per_cell=3000, directory=work)
    assert np.array_equal(found.embedding, reference.embedding)


def _at_overlaps(name, done, total, best):
    if name == "overlaps":
        raise _Killed


def test_damaged_rows_are_named(roll, tmp_path):
    run = begun(roll[0], tmp_path, 3000)
    path = tmp_path / "block-0.rows"
    held = bytearray(path.read_bytes())
    held[100] ^= 1
    path.write_bytes(held)
    with pytest.raises(DamagedError, match=r"block-0\.rows is damaged at byte 0"):
        run.cells[0].members(run.job)


def test_checksums_find_a_flipped_bit(tmp_path):
    checkpoints = CheckpointDir(str(tmp_path))
    checkpoints.save("a", {"x": np.arange(1000)})
    held = bytearray((tmp_path / "a.npz").read_bytes())
    held[len(held) // 2] ^= 1
    (tmp_path / "a.npz").write_bytes(held)
    assert checkpoints.find("a") is None
    with pytest.raises(DamagedError, match=r"a\.npz is missing or damaged"):
        checkpoints.load("a")


def test_a_poisoned_cell_is_named_and_costs_no_other(roll, reference, monkeypatch):
    flatten = cells.flatten

    def poisoned(settings, problem, progress):
        if (problem.points == x[bad]).all(axis=1).any():
            raise ValueError("it is poisoned")
        return flatten(settings, problem, progress)

    x = roll[0]
    bad = roll[1][:, 0].argmin()  # at an end, so that the others stay in one piece
    monkeypatch.setattr(cells, "flatten", poisoned)
    with pytest.warns(partition.PartWarning, match=r"1 of 4 cells, .* \(cell \d: it is poisoned\)"):
        found = partition.embed(x, points_per_cell=3000)
    lost = np.isnan(found.embedding).any(axis=1)
    (cell,) = found.failed
    assert 0 < lost.sum() == found.n_lost <= found.cell_sizes[cell]
    # Its points that lie in the halos of others have a place.
    assert found.n_lost < found.cell_sizes[cell]
    assert procrustes(roll[1][~lost], found.embedding[~lost])[2] < 1e-4
    with pytest.raises(ValueError, match="could not be embedded"):
        partition.embed(x, points_per_cell=3000, errors="raise")


def test_points_that_are_not_finite_are_left_out(roll):
    x = roll[0].copy()
    x[5, 1], x[77, 0] = np.nan, np.inf
    with pytest.warns(partition.PartWarning, match=r"2 points are not finite \(rows 5, 77\)"):
        found = partition.embed(x, points_per_cell=3000)
    assert np.flatnonzero(np.isnan(found.embedding).any(axis=1)).tolist() == [5, 77]
    assert found.n_lost == 2
    with pytest.raises(ValueError, match="2 points are not finite"):
        partition.embed(x, points_per_cell=3000, errors="raise")


def test_no_cell_can_be_embedded():
    x = np.ones((500, 3))
    found = partition.embed(x, points_per_cell=100)  # copies: one cell has them all
    assert np.isfinite(found.embedding).all()


def test_a_folder_of_something_else_is_refused(roll, tmp_path):
    begun(roll[0], tmp_path, 3000)
    with pytest.raises(ValueError, match=r"other settings: use another folder"):
        begun(roll[0], tmp_path, 3000, n_neighbors=11)
    with pytest.raises(ValueError, match=r"other data"):
        begun(roll[0][:-1], tmp_path, 3000)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="not empty"):
        begun(roll[0], tmp_path / "full", 3000)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 4}, "n_components = 4 exceeds the 3 dimensions"),
        ({"n_neighbors": 50_000}, "n_neighbors = 50000 needs at least 50001 points"),
        ({"method": "umap"}, "method = 'umap'"),
        ({"points_per_cell": 5}, "points_per_cell = 5 is too few: at least 13"),
        ({"passes": -1}, "passes = -1 is too few"),
        ({"parameters": {"cut": True}}, "parameters has 'cut'"),
        ({"errors": "ignore"}, "errors = 'ignore'"),
    ],
)
def test_parameters_are_checked(roll, parameters, message):
    with pytest.raises(ValueError, match=message):
        partition.embed(roll[0], **parameters)


# Memory ----------------------------------------------------------------------------------------------------


def test_cells_become_smaller_with_less_memory():
    sizes = [points_that_fit(limit, lambda points: 2000 * points) for limit in (5.5e8, 4.5e8, 3.7e8)]
    assert sizes == [100_000, 50_000, 10_000]
    with pytest.raises(MemoryError, match="cells of 2,000 points need about"):
        points_that_fit(350_000_001, lambda points: 2000 * points)


def test_a_fit_in_cells_is_planned_for_less(roll):
    whole, inside = ub.ProcrustesAlignment(), ub.ProcrustesAlignment(partition=50_000)
    assert inside.memory_estimate(10**6, 3) < whole.memory_estimate(10**6, 3) / 3


def test_memory_stays_below_what_was_planned(tmp_path):
    x, _ = ub.datasets.swiss_roll(120_000, random_state=0)
    np.save(tmp_path / "x.npy", x)
    code = (
        "import resource\n"
        "from unbend import partition\n"
        "found = partition.embed('x.npy', 'y.npy', points_per_cell=30_000, n_jobs=2)\n"
        "line = [l for l in open('/proc/self/status') if l.startswith('VmHWM')][0]\n"
        "print(found.memory, int(line.split()[1]) * 1024)\n"
    )
    if not os.path.exists("/proc/self/status"):
        pytest.skip("the system does not tell the peak")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    planned, peak = map(int, done.stdout.split())
    assert 0.4 * planned < peak < planned


def test_memory_that_is_too_little_is_refused_before_any_work(roll, tmp_path):
    with pytest.raises(MemoryError, match=r"cells of 2,000 points need about .* max_memory allows 200.0 MB"):
        partition.embed(roll[0], max_memory=2e8, directory=tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_halos_that_are_too_large_are_refused():
    x = np.random.default_rng(0).normal(size=(20_000, 20))  # everything is near everything
    limit = Task.embedding(source_of(x), SETTINGS, 5000).bytes
    with pytest.raises(
        MemoryError, match=r"points with its halo, which need about .* set points_per_cell below 5,000"
    ):
        partition.embed(x, points_per_cell=5000, max_memory=limit)


# By the estimator and by the command -----------------------------------------------------------------------


def test_the_estimator_in_cells(roll, tmp_path):
    x, truth = roll
    psa = ub.ProcrustesAlignment(partition=3000).fit(x)
    assert psa.faithfulness_.r_n < 1.005 * psa.faithfulness_.lower_bound
    assert procrustes(truth, psa.embedding_)[2] < 1e-6
    assert psa.trace_["tree"]["cells"] == 4
    assert np.array_equal(psa.transform(x), psa.embedding_)
    again = ub.load(psa.save(tmp_path / "roll.unbend"))
    assert np.array_equal(again.embedding_, psa.embedding_)
    assert np.array_equal(psa.embedding_, ub.ProcrustesAlignment(partition=3000, n_jobs=1).fit(x).embedding_)


def test_partition_auto_is_for_what_does_not_fit(roll):
    x = roll[0]
    whole = ub.ProcrustesAlignment(partition="auto").fit(x)
    assert "cells" not in whole.trace_["tree"]
    tight = ub.ProcrustesAlignment().memory_estimate(10**6, 3) - 1
    psa = ub.ProcrustesAlignment(partition="auto", max_memory=tight)
    assert psa.memory_estimate(10**6, 3) < tight


def test_what_the_estimator_refuses(roll):
    x = roll[0][:100]
    with pytest.raises(ValueError, match="cut = True is not possible in cells"):
        ub.ProcrustesAlignment(partition=50, cut=True).fit(x)
    with pytest.raises(ValueError, match="pass no neighborhoods"):
        ub.ProcrustesAlignment(partition=50).fit(x, neighborhoods=ub.neighborhoods(x, 12))
    with pytest.raises(ValueError, match="partition = 'some' is not a whole number"):
        ub.ProcrustesAlignment(partition="some").fit(x)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the command in a folder; return its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        code = main(["embed", *map(str, arguments)])
        return code, *capsys.readouterr()

    return command


def test_the_command_in_cells(command, roll, reference, tmp_path):
    np.save(tmp_path / "x.npy", roll[0])
    _, out, _ = command("x.npy", "-o", "y.npy", "--method", "psa", "--points-per-cell", 3000, "--json")
    record = json.loads(out)
    assert record["n_cells"] == 4
    assert record["r_n"] == reference.faithfulness.r_n
    assert np.array_equal(np.load(tmp_path / "y.npy"), reference.embedding)


def test_the_command_takes_cells_where_memory_is_short(command, tmp_path):
    np.save(tmp_path / "x.npy", ub.datasets.swiss_roll(40_000, random_state=0)[0])
    code, out, err = command("x.npy", "-o", "y.npy", "--max-memory", "380M")
    assert (code, "in cells   3 cells of about" in err, "cells      3, of" in out) == (0, True, True)
    code, out, err = command("x.npy", "-o", "z.npy", "--max-memory", "2G")
    assert (code, "in cells" in err, "cells      " in out) == (0, False, False)
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["x.npy", "y.npy", "z.npy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "y.csv", "--points-per-cell", "100"), "in cells the output must be an .npy file"),
        (("-o", "y.npy", "--points-per-cell", "100", "--save", "m"), "--save keeps all data in memory"),
        (("-o", "y.npy", "--points-per-cell", "100", "--cut", "yes"), "--cut yes cannot be done in cells"),
        (("-o", "y.npy", "--max-memory", "much"), "'much' is no size"),
        (("-o", "y.npy", "--max-memory", "1G", "--method", "pca"), "goes with --method gp, psa only"),
    ],
)
def test_what_the_command_refuses(command, tmp_path, arguments, message):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(500, 3)))
    code, _, err = command("x.npy", *arguments)
    assert code == 2
    assert message in err
