"""Neighbors that are nearly all found, other metrics, and data that are read in blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st
from unbend.core.arrays import as_points

K = 12


def curved(n, d, q, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    return np.cos(0.5 * rng.normal(size=(n, d)) @ rng.normal(size=(d, q))) + noise * rng.normal(size=(n, q))


def true_recall(x, nb):
    truth = ub.neighborhoods(x, K, method="exact").distances.reshape(-1, K)
    return (nb.distances.reshape(-1, K) <= truth[:, -1:]).mean()


@pytest.mark.parametrize(("d", "q", "dtype"), [(4, 60, float), (10, 50, np.float32), (6, 300, np.float32)])
def test_the_recall_told_is_the_recall_reached(d, q, dtype):
    x = curved(20_000, d, q).astype(dtype)
    nb = ub.neighborhoods(x, K, method="approximate")
    reached = true_recall(x, nb)
    assert abs(nb.recall_ - reached) < 0.01
    assert reached > 0.97
    assert (nb.method, nb.n_neighbors, len(nb)) == ("approximate", K, 20_000)
    assert nb.seconds > 0


def test_distances_are_those_of_the_points_listed():
    x = curved(3_000, 3, 40)
    nb = ub.neighborhoods(x, 7, method="approximate")
    indices = nb.indices.reshape(-1, 7)
    apart = np.linalg.norm(x[:, None] - x[indices], axis=2)
    np.testing.assert_allclose(nb.distances.reshape(-1, 7), apart, rtol=1e-12)
    assert (np.diff(nb.distances.reshape(-1, 7), axis=1) >= 0).all()
    assert (indices != np.arange(3_000)[:, None]).all()
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()


def test_seed_and_threads():
    x = curved(6_000, 6, 30)

    def found(seed=0, n_jobs=None):
        nb = ub.neighborhoods(x, K, method="approximate", recall=0.9, random_state=seed, n_jobs=n_jobs)
        return nb.indices.tolist(), nb.distances.tolist(), nb.recall_

    assert found() == found(n_jobs=1) == found(n_jobs=3)
    assert found(1) == found(1)


def test_small_and_narrow_data_stay_exact():
    wide, narrow = curved(2_000, 4, 60), ub.datasets.swiss_roll(20_000, random_state=0)[0]
    for x in (wide, narrow):
        nb, exact = ub.neighborhoods(x, K), ub.neighborhoods(x, K, method="exact")
        assert (nb.method, nb.recall_, exact.method) == ("exact", 1.0, "exact")
        np.testing.assert_array_equal(nb.indices, exact.indices)
        np.testing.assert_array_equal(nb.distances, exact.distances)
    assert ub.Neighborhoods.from_knn([[1], [0]]).method is None


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 60), st.integers(1, 40), st.integers(1, 5), st.integers(0, 3), st.integers(0, 2**32))
def test_few_points_are_all_compared(n, q, k, rounded, seed):
    x = np.random.default_rng(seed).normal(size=(n, q)).round(rounded)
    k = min(k, n - 1)
    nb = ub.neighborhoods(x, k, method="approximate")
    exact = ub.neighborhoods(x, k, method="exact")
    assert nb.recall_ == 1.0
    np.testing.assert_allclose(nb.distances, exact.distances, rtol=1e-12)


@pytest.mark.parametrize("copies", ["all equal", "a hundred of each"])
def test_copies(copies):
    base = np.ones((1, 30)) if copies == "all equal" else curved(40, 3, 30)
    x = np.tile(base, (4_000 // len(base), 1))
    nb = ub.neighborhoods(x, K, method="approximate")
    assert nb.recall_ == 1.0
    assert (nb.distances == 0).all()


def test_one_far_outlier():
    x = curved(4_000, 4, 40)
    x[7] = 1e9
    nb = ub.neighborhoods(x, K, method="approximate")
    assert true_recall(x, nb) > 0.97


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "fast"}, "method = 'fast' is unknown"),
        ({"recall": 0}, "recall = 0 is out of range: it must be above 0 and at most 1"),
        ({"recall": 1.5}, "recall = 1.5 is out of range"),
        ({"recall": np.nan}, "recall = nan is out of range"),
        ({"recall": "much"}, "recall = 'much' is not a number"),
        ({"metric": "manhattan"}, "metric = 'manhattan' is unknown"),
        ({"algorithm": "blocked", "method": "approximate"}, "algorithm = 'blocked' is exact"),
        ({"random_state": -1}, "random_state = -1 is too few"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ub.neighborhoods(curved(50, 2, 20), 3, **arguments)


# Metrics


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cosine_is_that_of_scikit_learn(method, dtype):
    from sklearn.neighbors import NearestNeighbors

    x = (np.random.default_rng(0).normal(size=(300, 25)) + 0.3).astype(dtype)
    x *= np.random.default_rng(1).uniform(0.1, 10, size=(300, 1)).astype(dtype)
    nb = ub.neighborhoods(x, 5, metric="cosine", method=method)
    distances, indices = NearestNeighbors(n_neighbors=5, metric="cosine").fit(x.astype(float)).kneighbors()
    np.testing.assert_array_equal(nb.indices.reshape(-1, 5), indices)
    np.testing.assert_allclose(nb.distances.reshape(-1, 5), distances, rtol=1e-5, atol=1e-7)


def test_cosine_within_a_radius():
    x = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 3.0], [1e200 * 1e-100, 1e-100]])
    nb = ub.neighborhoods(x, radius=0.5, metric="cosine")
    assert nb[0].tolist() == [1, 4, 2]
    np.testing.assert_allclose(nb.distances[nb.indptr[0] : nb.indptr[1]], [0, 0, 1 - 0.5**0.5], atol=1e-15)


def test_a_point_without_direction_is_refused():
    x = curved(50, 2, 20)
    x[31] = 0
    with pytest.raises(ValueError, match="point 31 is zero: it has no direction"):
        ub.neighborhoods(x, 3, metric="cosine")


def test_precomputed_distances():
    x = curved(100, 3, 20)
    distances = np.linalg.norm(x[:, None] - x[None], axis=2)
    nb, expected = ub.neighborhoods(distances, 5, metric="precomputed"), ub.neighborhoods(x, 5)
    np.testing.assert_array_equal(nb.indices, expected.indices)
    ball, truth = (
        ub.neighborhoods(distances, radius=2.0, metric="precomputed"),
        ub.neighborhoods(x, radius=2.0),
    )
    np.testing.assert_array_equal(ball.indptr, truth.indptr)
    np.testing.assert_array_equal(ball.indices, truth.indices)
    with pytest.raises(ValueError, match="n_neighbors = 100 needs at least 101 points, got 100"):
        ub.neighborhoods(distances, 100, metric="precomputed")
    with pytest.raises(ValueError, match="are a square matrix"):
        ub.neighborhoods(distances[:50], 5, metric="precomputed")
    with pytest.raises(ValueError, match="is not a length"):
        ub.neighborhoods(-distances - 1, 5, metric="precomputed")


def test_a_precomputed_graph():
    nb = ub.neighborhoods(curved(100, 3, 20), 5)
    again = ub.neighborhoods(nb.to_graph(), 3, metric="precomputed")
    np.testing.assert_array_equal(again.indices.reshape(-1, 3), nb.indices.reshape(-1, 5)[:, :3])
    ball = ub.neighborhoods(nb.to_graph(), radius=float(np.median(nb.distances)), metric="precomputed")
    assert 0 < len(ball.indices) < len(nb.indices)
    lonely = sp.csr_array(np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0.0]]))
    with pytest.raises(ValueError, match="point 1 has 1 neighbors in the graph: n_neighbors = 2"):
        ub.neighborhoods(lonely, 2, metric="precomputed")


# Data in blocks


class Chunked:
    """What Zarr and HDF5 give: slices are read, and the whole only by whoever asks for it."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.chunks, self.most = (100, values.shape[1]), 0

    def __getitem__(self, key):
        block = self.values[key]
        self.most = max(self.most, len(block))
        return block

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("read at once")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
def test_chunked_data_are_read_in_blocks(dtype, monkeypatch):
    monkeypatch.setattr("unbend.core.arrays.BLOCK_BYTES", 1 << 14)
    values = (20 * curved(1_000, 3, 20)).astype(dtype)
    for limit in (1 << 40, 0):
        monkeypatch.setattr("unbend.core.arrays.IN_MEMORY", limit)
        chunked = Chunked(values)
        nb, expected = ub.neighborhoods(chunked, 5), ub.neighborhoods(values, 5)
        np.testing.assert_array_equal(nb.indices, expected.indices)
        assert 0 < chunked.most < 500
        points = as_points(Chunked(values))
        assert points.dtype == (np.float64 if dtype == np.float64 else np.float32)
        np.testing.assert_array_equal(points, values)
        assert isinstance(points, np.memmap) == (limit == 0)


def test_large_arrays_of_small_numbers_are_converted_in_a_file(monkeypatch):
    monkeypatch.setattr("unbend.core.arrays.IN_MEMORY", 1 << 10)
    values = np.random.default_rng(0).integers(0, 255, size=(500, 20), dtype=np.uint8)
    points = as_points(values)
    assert isinstance(points.base, np.memmap)
    np.testing.assert_array_equal(points, values)
    np.testing.assert_array_equal(
        ub.neighborhoods(values, 5).indices, ub.neighborhoods(values.astype(float), 5).indices
    )


def test_memory_mapped_files_are_used_where_they_lie(tmp_path):
    x = curved(2_000, 3, 30).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert as_points(mapped).base is not None
    assert np.shares_memory(as_points(mapped), mapped)
    nb = ub.neighborhoods(mapped, K, method="approximate")
    np.testing.assert_array_equal(nb.indices, ub.neighborhoods(x, K, method="approximate").indices)


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    x = curved(1_000, 3, 20).astype(np.float32)
    stored = zarr.create_array(tmp_path / "x.zarr", shape=x.shape, chunks=(128, 20), dtype=x.dtype)
    stored[:] = x
    np.testing.assert_array_equal(ub.neighborhoods(stored, 5).indices, ub.neighborhoods(x, 5).indices)


# Estimators


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.float16])
def test_estimators_read_in_blocks_and_in_a_file(monkeypatch, dtype):
    monkeypatch.setattr("unbend.core.arrays.IN_MEMORY", 1 << 10)
    monkeypatch.setattr("unbend.core.arrays.BLOCK_BYTES", 1 << 14)
    x = (100 * (1.5 + curved(600, 2, 20))).clip(0, 255).astype(dtype)
    expected = ub.GreedyProcrustes(2, K, random_state=0).fit(x.astype(np.float64))
    for data in (Chunked(x), x):
        model = ub.GreedyProcrustes(2, K, random_state=0).fit(data)
        np.testing.assert_array_equal(model.neighborhoods_.indices, expected.neighborhoods_.indices)
        np.testing.assert_allclose(model.embedding_, expected.embedding_, rtol=1e-9, atol=1e-9 * np.ptp(x))
        assert model.n_features_in_ == 20
    np.testing.assert_array_equal(model.transform(Chunked(x)), model.transform(x))


@pytest.mark.parametrize("kind", [ub.GreedyProcrustes, ub.ProcrustesAlignment, ub.LTSA, ub.Isomap])
def test_estimators_pass_it_on(kind):
    x = curved(1_500, 2, 20, noise=0)
    settings = {"random_state": 0} if hasattr(kind(), "random_state") else {}
    model = kind(neighbors_method="approximate", neighbors_recall=0.9, **settings).fit(x)
    assert model.neighborhoods_.method == "approximate"
    assert kind(**settings).fit(x).neighborhoods_.method == "exact"
    with pytest.raises(ValueError, match="neighbors_method = 'fast' is unknown"):
        kind(neighbors_method="fast").fit(x)
    with pytest.raises(ValueError, match="neighbors_recall = 2 is out of range"):
        kind(neighbors_recall=2).fit(x)


def test_files_keep_how_neighbors_were_found(tmp_path):
    x = curved(1_500, 2, 20, noise=0)
    model = ub.GreedyProcrustes(neighbors_method="approximate", random_state=0).fit(x)
    again = ub.load(model.save(tmp_path / "m.unbend")).neighborhoods_
    assert (again.method, again.recall_) == ("approximate", model.neighborhoods_.recall_)
