"""The dimension of data: local spectra, the two nearest neighbors, the scree of the bound."""

import json

import numpy as np
import pytest
import unbend as ub


def radius(x):
    return float(np.median(ub.neighborhoods(x, 12).distances.reshape(len(x), -1)[:, -1]))


def noisy(x, share, seed=0):
    """The data with normal noise in every column, in shares of the neighborhood radius."""
    return x + share * radius(x) * np.random.default_rng(seed + 99).normal(size=x.shape)


def flat(n, d, q, seed):
    rng = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(rng.normal(size=(q, d)))
    return rng.random((n, d)) @ directions.T


# ---------------------------------------------------------------------------- the estimate


@pytest.mark.parametrize("share", [0, 0.25, 0.5])
@pytest.mark.parametrize("surface", ["swiss_roll", "s_curve", "hemisphere"])
def test_surfaces_have_two_dimensions_under_noise(surface, share):
    for seed in range(3):
        x, _ = getattr(ub.datasets, surface)(2500, random_state=seed)
        found = ub.dimension(noisy(x, share, seed), random_state=seed)
        assert found.value == 2, (seed, str(found))
        assert found.gap > 2
        assert not found.flat


@pytest.mark.parametrize("share", [0, 0.25, 0.5])
def test_flat_data_of_ten_dimensions(share):
    for seed in range(3):
        found = ub.dimension(noisy(flat(3000, 10, 20, seed), share, seed), random_state=seed)
        assert found.value == 10, (seed, str(found))


@pytest.mark.parametrize(
    ("x", "d"),
    [
        (np.random.default_rng(0).random((1500, 3)), 3),  # a filled cube
        (np.random.default_rng(1).random((1500, 2)) * [10, 1], 2),  # a filled strip
        (np.random.default_rng(2).random((1500, 1)), 1),
        (np.c_[np.cos(t := np.linspace(0, 6, 900)), np.sin(t), 0 * t], 1),  # a curve in a plane
        (np.c_[np.linspace(0, 1, 40), np.zeros((40, 4))], 1),
    ],
)
def test_other_shapes(x, d):
    found = ub.dimension(x, random_state=0)
    assert found.value == d
    assert np.median(found.per_point) == d


def test_each_point_has_its_own():
    rng = np.random.default_rng(0)
    sheet = np.c_[rng.random((1500, 2)), np.zeros(1500)]
    line = np.c_[2 + 3 * rng.random(1500), np.full(1500, 0.5), np.zeros(1500)]
    found = ub.dimension(np.r_[sheet, line], random_state=0)
    on_line = found.centers >= 1500
    assert np.mean(found.per_point[on_line] == 1) > 0.95
    assert np.mean(found.per_point[~on_line] == 2) > 0.8
    assert np.median(found.two_nn_per_point[on_line]) < 1.3 < np.median(found.two_nn_per_point[~on_line])


# ---------------------------------------------------------------------------- two nearest neighbors


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_two_nearest_of_uniform_data(d):
    x = np.random.default_rng(d).random((6000, d))
    found = ub.dimension(x, random_state=0)
    low, high = found.two_nn_interval
    assert abs(found.two_nn - d) < 0.06 * d
    assert low < found.two_nn < high
    assert np.isclose(high - low, 2 * 1.96 * found.two_nn / np.sqrt(6000), rtol=1e-3)


def test_the_two_nearest_as_the_paper_fits_them():
    x = np.random.default_rng(3).normal(size=(400, 3))
    gaps = np.sort(np.linalg.norm(x[:, None] - x[None], axis=2), axis=1)
    ratios = np.sort(gaps[:, 2] / gaps[:, 1])[:360]
    levels = -np.log(1 - np.arange(1, 361) / 401)
    slope = np.linalg.lstsq(np.log(ratios)[:, None], levels, rcond=None)[0][0]
    assert np.isclose(ub.dimension(x, random_state=0).two_nn, slope, rtol=1e-12)


def test_copies_have_no_ratio():
    x = np.repeat(np.random.default_rng(0).random((300, 2)), 2, axis=0)
    found = ub.dimension(x, random_state=0)
    assert np.isfinite(found.value)
    assert np.isnan(found.two_nn)


# ---------------------------------------------------------------------------- the scree


@pytest.mark.parametrize("q", [3, 30])
def test_the_scree_is_the_bound(q):
    x = np.random.default_rng(q).normal(size=(300, q))
    found = ub.dimension(x, 9, n_centers=300, random_state=0)
    expected = [ub.metrics.lower_bound(x, d, 9) for d in range(1, len(found.scree) + 1)]
    assert np.allclose(found.scree, expected, rtol=1e-9, atol=1e-14)


# ---------------------------------------------------------------------------- rules


def test_motions_and_scale_change_nothing():
    x, _ = ub.datasets.swiss_roll(1500, noise=0.2, random_state=0)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    first, moved = (ub.dimension(y, random_state=0) for y in (x, 5 * x @ turn + 3))
    assert first.value == moved.value
    assert np.array_equal(first.per_point, moved.per_point)
    assert np.allclose(first.spectra, moved.spectra, rtol=1e-8, atol=1e-12)
    assert np.isclose(first.two_nn, moved.two_nn, rtol=1e-8)


def test_the_same_for_any_number_of_threads():
    x, _ = ub.datasets.swiss_roll(1500, noise=0.2, random_state=0)
    one, four = (ub.dimension(x, random_state=0, n_jobs=jobs) for jobs in (1, 4))
    assert np.array_equal(one.spectra, four.spectra)
    assert one.to_dict() == four.to_dict()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_degenerate_data(dtype):
    assert ub.dimension(np.zeros((50, 3), dtype), random_state=0).value >= 1
    assert ub.dimension(np.eye(4, dtype=dtype), 2, random_state=0).value >= 1


def test_json():
    found = ub.dimension(np.random.default_rng(0).random((200, 2)), random_state=0)
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["value"] == found.value
    assert held["scree"] == found.scree.tolist()


@pytest.mark.parametrize("shape", [(0, 3), (9, 0), (0, 0), (1, 3)])
def test_data_without_a_dimension_are_refused(shape):
    with pytest.raises(ValueError, match=r"X is empty|needs at least 2"):
        ub.dimension(np.zeros(shape))


def test_copies_are_told_in_words():
    found = ub.dimension(np.zeros((50, 3)), random_state=0)
    assert "two nearest: unknown" in str(found)
    assert found.to_dict()["two_nn"] is None


def test_an_unclear_gap_is_a_guess():
    noise = ub.dimension(np.random.default_rng(0).normal(size=(500, 8)), random_state=0)
    assert noise.is_guess
    assert "a guess" in str(noise)
    surface = ub.dimension(ub.datasets.swiss_roll(1500, random_state=0)[0], random_state=0)
    assert not surface.is_guess
    assert "a guess" not in str(surface)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64])
def test_small_integers_are_numbers_of_neighbors(dtype):
    x = np.random.default_rng(0).random((300, 2))
    assert ub.dimension(x, dtype(120), n_centers=dtype(100), random_state=0).n_neighbors == 120


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighborhoods": ub.Neighborhoods.from_knn([[1], [0], [1]])}, "with their distances"),
        ({"n_centers": 0}, "n_centers"),
        ({"n_neighbors": 9}, "needs at least 10 points"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ub.dimension(np.random.default_rng(0).random((3, 2)), **options)
