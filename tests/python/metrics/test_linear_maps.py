"""Measures that allow linear maps: against least squares, and what is known of them."""

import numpy as np
import pytest
import textbook
import unbend as ub

affine_error, linear_residual = ub.metrics.affine_error, ub.metrics.linear_residual


def roll(n=300, noise=0.1):
    return ub.datasets.swiss_roll(n, noise=noise, random_state=0)


def ragged(n=60):
    rng = np.random.default_rng(3)
    lists = [rng.choice(np.delete(np.arange(n), i), size=1 + i % 7, replace=False) for i in range(n)]
    starts = np.cumsum([0, *map(len, lists)])
    return ub.Neighborhoods(np.concatenate(lists).astype(np.uint32), indptr=starts)


# ---------------------------------------------------------------------------- linear_residual


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("q", [2, 3, 20])
def test_is_the_textbook(q, own):
    rng = np.random.default_rng(q)
    x, y = rng.normal(size=(80, q)), rng.normal(size=(80, 2))
    nb = ub.neighborhoods(x, 8)
    found = linear_residual(x, y, neighborhoods=nb, include_self=own, per_point=True)
    members = [np.r_[[i] if own else [], nb[i]].astype(int) for i in range(80)]
    expected = [textbook.linear_residual(x[rows], y[rows]) for rows in members]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert linear_residual(x, y, neighborhoods=nb, include_self=own) == pytest.approx(np.mean(expected))


def test_neighborhoods_of_any_size():
    rng, nb = np.random.default_rng(1), ragged()
    x, y = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    found = linear_residual(x, y, neighborhoods=nb, per_point=True)
    expected = [textbook.linear_residual(x[rows], y[rows]) for rows in (np.r_[i, nb[i]] for i in range(60))]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_lies_between_the_bound_and_the_other_measures():
    x, truth = roll()
    for y in (truth, x[:, :2], np.random.default_rng(0).normal(size=(300, 2))):
        r_l = linear_residual(x, y, 12, per_point=True)
        m = ub.faithfulness(x, y, 12).per_point
        assert (r_l <= ub.metrics.nieqa_local(x, y, 12, per_point=True) + 1e-12).all()
        assert (r_l <= m["r_c"] + 1e-12).all()
        assert (r_l >= m["bound"] - 1e-12).all()


def test_linear_maps_change_nothing():
    x, truth = roll()
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    expected = linear_residual(x, truth, 12, per_point=True)
    moved = linear_residual(7 * x @ turned + 5, truth @ [[3.0, 1.0], [0.5, -0.1]] - 9, 12, per_point=True)
    np.testing.assert_allclose(moved, expected, rtol=1e-7)


def test_stretching_is_free_and_folding_is_not():
    x = np.random.default_rng(0).uniform(size=(500, 2))
    assert linear_residual(x, x * [1.0, 0.01], 10) < 1e-20
    folded = np.c_[np.abs(x[:, 0] - 0.5), x[:, 1]]
    shares = linear_residual(x, folded, 10, per_point=True)
    near = np.abs(x[:, 0] - 0.5) < 0.02
    assert shares[near].mean() > 0.3 > 1e-20 > np.median(shares)


def test_neighborhoods_without_extent():
    x = np.repeat(np.arange(6.0).reshape(3, 2), 5, axis=0)
    graph = ub.neighborhoods(x, 3)
    assert linear_residual(x, x, neighborhoods=graph) == 0
    assert linear_residual(x, np.arange(15.0)[:, None], neighborhoods=graph) == np.inf
    flat = linear_residual(np.random.default_rng(0).normal(size=(15, 2)), np.ones((15, 1)), 3, per_point=True)
    np.testing.assert_allclose(flat, 1.0)


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_units_do_not_matter(unit):
    x, truth = roll()
    expected = linear_residual(x, truth, 12)
    assert linear_residual(unit * x, truth / unit, 12) == pytest.approx(expected, rel=1e-9)


def test_a_sample_has_the_values_of_the_whole():
    x, truth = roll(1000)
    whole = linear_residual(x, truth, 12, per_point=True)
    part = linear_residual(x, truth, 12, n_centers=200, random_state=0, per_point=True)
    assert len(part) == 200
    assert np.isin(part, whole).all()


# ---------------------------------------------------------------------------- affine_error


def worst_direction(truth, y):
    """The largest share of variance left by least squares, over directions, as an eigenvalue problem."""
    design = np.c_[y, np.ones(len(y))]
    left = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return np.linalg.eigvals(np.linalg.solve(np.cov(truth.T), np.cov(left.T))).real.max()


def test_is_the_worst_direction_of_least_squares():
    rng = np.random.default_rng(0)
    for noise in (0.1, 1.0, 10.0):
        truth = rng.normal(size=(200, 3)) * [5.0, 1.0, 0.2]
        y = truth @ rng.normal(size=(3, 3)) + noise * rng.normal(size=(200, 3))
        assert affine_error(truth, y) == pytest.approx(worst_direction(truth, y), rel=1e-9)


def test_affine_maps_of_either_change_nothing():
    x, truth = roll()
    a, b = np.array([[3.0, 1.0], [0.5, -0.1]]), np.array([[0.2, 0.0], [5.0, 1.0]])
    expected = affine_error(truth, x[:, :2])
    assert affine_error(truth @ a - 4, x[:, :2] @ b + 1) == pytest.approx(expected, rel=1e-9)
    assert affine_error(truth, truth @ a + 3) < 1e-20


def test_a_lost_dimension_is_one():
    truth = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    assert affine_error(truth, np.c_[truth[:, 0], truth[:, 0] ** 2]) > 0.99
    assert affine_error(truth, np.c_[truth[:, 0], truth[:, 0]]) > 0.99
    assert affine_error(truth, np.ones((2000, 2))) == pytest.approx(1, abs=1e-12)


def test_coordinates_without_extent_are_left_out():
    truth = np.random.default_rng(0).normal(size=(50, 2))
    assert affine_error(np.c_[truth, np.ones(50)], truth) < 1e-20
    assert affine_error(np.ones((50, 2)), truth) == 0


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="coordinates has 5 rows, but Y has 6"):
        affine_error(np.zeros((5, 2)), np.zeros((6, 2)))
    with pytest.raises(ValueError, match="Y has 4 columns, more than the 3 of X"):
        linear_residual(np.eye(5, 3), np.eye(5, 4), 2)


def test_neighborhoods_of_other_points_are_refused():
    x = np.random.default_rng(0).normal(size=(30, 3))
    other = ub.neighborhoods(np.random.default_rng(1).normal(size=(40, 3)), 5)
    with pytest.raises(ValueError, match="X has 30 rows, but neighborhoods are of 40 points"):
        ub.metrics.linear_residual(x, x[:, :2], neighborhoods=other)
