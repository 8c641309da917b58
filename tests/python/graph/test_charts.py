"""Charts as Python sees them, against NumPy's singular value decomposition."""

import numpy as np
import pytest
import scipy.sparse as sp
import textbook
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st


def cloud(n=100, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def members(nb, i, include_self):
    return np.r_[[i] if include_self else [], nb[i]].astype(int)


def is_svd(x, d, charts, nb, include_self=True, rtol=1e-9):
    """Every chart against the decomposition of its neighborhood; directions only where well defined."""
    n, q = x.shape
    assert charts.bases.shape == (n, q, d)
    assert charts.singular_values.shape == (n, d)
    assert charts.residual_fraction.shape == (n,)
    assert len(charts) == n
    compared = 0
    for i in range(n):
        local = textbook.center(x[members(nb, i, include_self)])
        _, s, vt = np.linalg.svd(local, full_matrices=False)
        s = np.pad(s, (0, max(0, d - len(s))))
        top, total = max(s[0], 1e-300), max(np.sum(s**2), 1e-300)
        np.testing.assert_allclose(charts.singular_values[i], s[:d], rtol=rtol, atol=1e-13 * top)
        assert charts.residual_fraction[i] == pytest.approx(np.sum(s[d:] ** 2) / total, rel=rtol, abs=1e-13)
        basis = charts.bases[i]
        np.testing.assert_allclose(basis.T @ basis, np.eye(d), atol=1e-12)
        assert (basis[np.abs(basis).argmax(axis=0), np.arange(d)] > 0).all()
        np.testing.assert_allclose(charts[i], local @ basis, atol=1e-12 * top)
        assert charts[i].shape == (len(local), d)
        gaps = -np.diff(np.append(s, 0))[:d] / top
        for a in range(min(d, len(vt))):
            if gaps[a] > 1e-2 and (a == 0 or gaps[a - 1] > 1e-2):
                assert abs(vt[a] @ basis[:, a]) == pytest.approx(1, abs=1e-10)
                compared += 1
    return compared


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("q", "d", "k"),
    [(1, 1, 4), (2, 1, 5), (2, 2, 6), (3, 2, 12), (5, 3, 7), (9, 9, 12), (8, 5, 3), (40, 2, 6), (300, 3, 5)],
)
def test_charts_are_the_decomposition(q, d, k, dtype, include_self):
    x = (cloud(80, q) * np.linspace(3, 1, q)).astype(dtype)
    nb = ub.neighborhoods(x, k)
    charts = ub.charts(x, d, k, include_self=include_self)
    assert is_svd(x.astype(float), d, charts, nb, include_self) > 0


def test_wide_data_far_from_the_origin():
    x = 1e4 + cloud(40, 500)
    assert is_svd(x, 4, ub.charts(x, 4, 6), ub.neighborhoods(x, 6), rtol=1e-7) > 0


def test_more_components_than_points_have_directions():
    x = cloud(30, 10)
    charts = ub.charts(x, 8, 3)
    is_svd(x, 8, charts, ub.neighborhoods(x, 3))
    assert (charts.residual_fraction < 1e-20).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), q=st.integers(1, 20), d=st.integers(1, 20), k=st.integers(1, 14))
def test_any_shape(seed, q, d, k):
    d, x = min(d, q), cloud(20, q, seed)
    is_svd(x, d, ub.charts(x, d, k), ub.neighborhoods(x, k))


def test_a_plane_is_flat():
    x = cloud(100, 2) @ np.linalg.qr(cloud(6, 6))[0][:2]
    charts = ub.charts(x, 2, 8)
    assert (charts.residual_fraction < 1e-25).all()
    for i in range(100):  # distances within a chart are those of the data
        rows = np.r_[i, ub.neighborhoods(x, 8)[i]]
        np.testing.assert_allclose(
            np.linalg.norm(charts[i] - charts[i][0], axis=1),
            np.linalg.norm(x[rows] - x[i], axis=1),
            atol=1e-12,
        )


def test_points_that_coincide():
    x = np.concatenate([np.full((10, 3), 0.1), cloud(20) + 9])
    charts = ub.charts(x, 2, 5)
    is_svd(x, 2, charts, ub.neighborhoods(x, 5))
    assert (charts.singular_values[:10] == 0).all()
    assert (charts.residual_fraction[:10] == 0).all()
    assert (charts[0] == 0).all()


@pytest.mark.parametrize(("q", "d"), [(3, 1), (3, 2), (3, 3), (30, 1), (30, 4)])
def test_only_points_that_coincide(q, d):
    charts = ub.charts(np.full((6, q), 0.1), d, 1)
    np.testing.assert_array_equal(charts.coordinates, np.zeros((12, d)))
    np.testing.assert_array_equal(charts.singular_values, np.zeros((6, d)))
    is_svd(np.full((6, q), 0.1), d, charts, ub.neighborhoods(np.zeros((6, q)), 1))


def test_a_lonely_point_has_a_chart():
    charts = ub.charts([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]], 2, radius=1.0)
    np.testing.assert_array_equal(charts.coordinates, np.zeros((2, 2)))


def test_neighborhoods_of_any_size():
    x = cloud()
    nb = ub.neighborhoods(x, radius=0.7)
    assert nb.sizes.min() == 0 < nb.sizes.max()
    charts = ub.charts(x, 2, radius=0.7)
    is_svd(x, 2, charts, nb)
    np.testing.assert_array_equal(np.diff(charts.indptr), nb.sizes + 1)
    shared = ub.charts(x, 2, neighborhoods=nb)
    for name in ("bases", "singular_values", "residual_fraction", "indptr", "coordinates"):
        np.testing.assert_array_equal(getattr(shared, name), getattr(charts, name))


@pytest.mark.parametrize("q", [3, 30])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_neighborhoods_without_points(q, d):
    charts = ub.charts(cloud(20, q), d, radius=0.0, include_self=False)
    assert charts.bases.shape == (20, q, d)
    assert (charts.singular_values == 0).all()
    assert (charts.residual_fraction == 0).all()
    assert charts[0].shape == (0, d)
    np.testing.assert_allclose(
        np.einsum("nqa,nqb->nab", charts.bases, charts.bases),
        np.broadcast_to(np.eye(d), (20, d, d)),
        atol=1e-12,
    )


@pytest.mark.parametrize("q", [3, 30])
def test_some_neighborhoods_without_points(q):
    graph = sp.csr_array(np.triu(np.ones((6, 6)), 1))  # the last lists nobody, the one before one point
    charts = ub.charts(cloud(6, q), 2, neighborhoods=ub.Neighborhoods.from_graph(graph), include_self=False)
    assert [len(charts[i]) for i in range(6)] == [5, 4, 3, 2, 1, 0]
    assert np.isfinite(charts.bases).all()


def test_charts_agree_with_the_bound():
    x = cloud(100, 6)
    np.testing.assert_allclose(
        ub.charts(x, 2, 8).residual_fraction, ub.metrics.lower_bound(x, 2, 8, per_point=True), rtol=1e-10
    )


def test_layouts():
    x = cloud(60, 5)
    expected = ub.charts(x, 2, 6).coordinates
    for same in (np.asfortranarray(x), x[::-1, ::-1].copy()[::-1, ::-1], x.astype(">f8"), x.tolist()):
        np.testing.assert_array_equal(ub.charts(same, 2, 6).coordinates, expected)


def test_items():
    charts = ub.charts(cloud(), 2, 6)
    assert charts[np.int64(99)].shape == (7, 2)
    with pytest.raises(IndexError, match=r"100 .* 100 points"):
        charts[100]
    assert len(list(charts)) == 100


def test_items_count_from_the_end_as_those_of_neighborhoods_do():
    charts = ub.charts(cloud(), 2, 6)
    np.testing.assert_array_equal(charts[-1], charts[99])
    with pytest.raises(IndexError, match=r"-101 .* 100 points"):
        charts[-101]


def test_twelve_neighbors_by_default():
    assert ub.charts(cloud(), 2)[0].shape == (13, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 4}, "n_components = 4 exceeds the 3 dimensions"),
        ({"n_components": 0}, "n_components = 0"),
        ({"n_components": 1.5}, "n_components = 1.5"),
        ({"n_neighbors": 100}, "n_neighbors = 100 needs at least 101 points, got 100"),
        ({"n_neighbors": 5, "radius": 1.0}, "n_neighbors = 5 .* radius = 1"),
        ({"radius": -1}, "radius = -1"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"neighborhoods": ub.neighborhoods(cloud(90), 5)}, "100 .* 90"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        ub.charts(cloud(), **{"n_components": 2, **options})


def test_only_neighborhoods_are_neighborhoods():
    with pytest.raises(TypeError, match="ndarray"):
        ub.charts(cloud(), 2, neighborhoods=np.zeros((100, 3), int))
