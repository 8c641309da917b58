"""Cells on a Dask cluster of real processes: the same bits as alone, whoever is lost on the way."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import unbend as ub
from unbend import partition

pytest.importorskip("distributed")

import dask.array
import unbend.dask
from distributed import Client, LocalCluster

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(8000, random_state=1)


@pytest.fixture(scope="module")
def reference(roll):
    return partition.embed(roll[0], points_per_cell=2000)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def file(roll, tmp_path):
    np.save(tmp_path / "x.npy", roll[0])
    return tmp_path / "x.npy"


def test_workers_find_the_same_bits(client, file, reference, tmp_path):
    found = unbend.dask.embed(file, tmp_path / "work", points_per_cell=2000, return_partition=True)
    assert isinstance(found.embedding, dask.array.Array)
    assert np.array_equal(found.embedding.compute(), reference.embedding)
    assert found.faithfulness == reference.faithfulness
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [
        "embedding.npy",
        "finished.json",
        "partition.json",
    ]


def test_what_is_finished_is_not_done_again(client, file, tmp_path, monkeypatch):
    first = unbend.dask.embed(file, tmp_path / "work", points_per_cell=2000, return_partition=True)
    monkeypatch.setattr(unbend.dask._Cluster, "map", lambda *_: pytest.fail("done again"))
    again = unbend.dask.embed(file, tmp_path / "work", points_per_cell=2000, return_partition=True)
    assert np.array_equal(again.embedding.compute(), first.embedding.compute())
    assert again.faithfulness == first.faithfulness
    with pytest.raises(ValueError, match="other settings"):
        unbend.dask.embed(file, tmp_path / "work", points_per_cell=2000, n_neighbors=9)


@pytest.mark.parametrize("chunks", [1111, (8000, 2)])
def test_dask_arrays_are_read_by_the_workers(client, roll, reference, tmp_path, chunks):
    x = dask.array.from_array(roll[0], chunks=chunks)
    y = unbend.dask.embed(x, tmp_path / "work", points_per_cell=2000)
    assert np.array_equal(y.compute(), reference.embedding)


def test_the_driver_holds_no_rows(client, roll, tmp_path, monkeypatch):
    x = dask.array.from_array(roll[0], chunks=1000)
    drawn = []
    compute = dask.compute

    def counted(*parts, **options):
        found = compute(*parts, **options)
        drawn.append(sum(map(len, found)))
        return found

    monkeypatch.setattr(dask, "compute", counted)
    unbend.dask.embed(x, tmp_path / "work", points_per_cell=2000)
    assert drawn == [2000, 2000]  # the sample, and as many to see what it means


def test_a_task_takes_its_own_block_only(client, roll, tmp_path, monkeypatch):
    for module in ("unbend.dask", "unbend.partition.task"):
        monkeypatch.setattr(f"{module}.block_rows", lambda *_: 1000)
    tasks, compute = [], Client.compute

    def counted(self, made, **options):
        tasks.append(len(dict(made.__dask_graph__())))
        return compute(self, made, **options)

    monkeypatch.setattr(Client, "compute", counted)
    unbend.dask.embed(dask.array.from_array(roll[0], chunks=1000), tmp_path / "work", points_per_cell=4000)
    assert len(tasks) == 16  # 8 blocks are probed and scattered
    assert max(tasks) < 8


def test_measures_of_dask_arrays(client, roll, file, tmp_path):
    x, truth = roll
    found = unbend.dask.faithfulness(
        dask.array.from_array(x, chunks=3000),
        dask.array.from_array(truth, chunks=999),
        tmp_path / "work",
        10,
        points_per_cell=2000,
    )
    assert found == partition.faithfulness(x, truth, 10, points_per_cell=2000)
    assert found.r_n == pytest.approx(ub.faithfulness(x, truth, 10).r_n, rel=1e-11)
    assert not list((tmp_path / "work").iterdir())


def test_rows_that_are_not_finite(client, roll, tmp_path):
    x = roll[0].copy()
    x[3] = np.nan
    with pytest.warns(partition.PartWarning, match=r"1 points are not finite \(rows 3\)"):
        y = unbend.dask.embed(dask.array.from_array(x, chunks=3000), tmp_path / "work", points_per_cell=2000)
    assert np.flatnonzero(np.isnan(y.compute()).any(axis=1)).tolist() == [3]


def test_what_is_refused(client, roll, tmp_path):
    with pytest.raises(TypeError, match="pass a dask array, or the path"):
        unbend.dask.embed(roll[0], tmp_path / "work")
    unknown = dask.array.from_array(roll[0])[dask.array.from_array(roll[0][:, 0] > 0)]
    with pytest.raises(ValueError, match="two known dimensions"):
        unbend.dask.embed(unknown, tmp_path / "work")


def test_a_lost_worker_costs_its_cells_only(file, reference, tmp_path):
    work = tmp_path / "work"
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with cluster, Client(cluster) as client:
        pids = client.run(os.getpid)
        victim, killed = next(iter(pids.values())), []

        def kill():
            deadline = time.monotonic() + 60
            while not list(work.glob("said-*.npz")) and time.monotonic() < deadline:
                time.sleep(0.002)
            os.kill(victim, signal.SIGKILL)
            killed.append(len(list(work.glob("out-*.npz"))))

        thread = threading.Thread(target=kill)
        thread.start()
        found = unbend.dask.embed(file, work, points_per_cell=1000, client=client)
        thread.join()
        assert killed == [0]  # before the end
        alone = partition.embed(file, points_per_cell=1000)
        assert np.array_equal(found.compute(), alone.embedding)


@pytest.mark.slow
def test_a_killed_driver_goes_on(file, reference, tmp_path):
    code = textwrap.dedent(
        """
        import unbend.dask
        from distributed import Client, LocalCluster

        if __name__ == "__main__":
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
            with cluster, Client(cluster):
                unbend.dask.embed("x.npy", "work", points_per_cell=2000)
        """
    )
    (tmp_path / "run.py").write_text(code)
    first = subprocess.Popen([sys.executable, "run.py"], cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "work").glob("said-*.npz")) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.killpg(first.pid, signal.SIGKILL)  # the driver and its workers
    first.wait()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").glob("block-*.npz")}
    assert kept
    assert not (tmp_path / "work" / "embedding.npy").exists()
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path, check=True)
    assert np.array_equal(np.load(tmp_path / "work" / "embedding.npy"), reference.embedding)


def test_the_scheduler_has_nothing_to_warn_of(roll, tmp_path, monkeypatch):
    """Blocks that share tasks, such as a mean, agree on them, so that the scheduler finds no two versions."""
    for module in ("unbend.dask", "unbend.partition.task"):
        monkeypatch.setattr(f"{module}.block_rows", lambda *_: 1000)
    logged = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    x = dask.array.from_array(roll[0], chunks=3000)
    x = x - x.mean(axis=0)
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster:
        logger = logging.getLogger("distributed.scheduler")
        logger.addHandler(handler)
        try:
            with Client(cluster):
                y = unbend.dask.embed(x, tmp_path / "embed", points_per_cell=4000)
                m = unbend.dask.faithfulness(x, y, tmp_path / "measure", points_per_cell=4000)
        finally:
            logger.removeHandler(handler)
    assert m.n_measured == len(roll[0])
    assert [message for message in logged if "run_spec" in message] == []
