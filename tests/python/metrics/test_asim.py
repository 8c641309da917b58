"""ASIM and M_L: against a general optimiser, the example of the paper, and what they must not depend on."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import unbend as ub

asim, nieqa_local = ub.metrics.asim, ub.metrics.nieqa_local


def cloud(n=200, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def normalized(y):
    """With unit covariance, as spectral methods give them."""
    centered = y - y.mean(axis=0)
    return np.linalg.svd(centered, full_matrices=False)[0]


def textbook(x, y, starts=12):
    """Eq. 7 by quasi-Newton steps over the entries of P, made orthonormal by its QR factor; eq. 13 for D."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    (q, d), rng = (x.shape[1], y.shape[1]), np.random.default_rng(1)

    def error(entries):
        p = np.linalg.qr(entries.reshape(q, d))[0]
        scales = np.array([(x @ p[:, j]) @ y[:, j] / (y[:, j] @ y[:, j]) for j in range(d)])
        return np.sum((x - (y * scales) @ p.T) ** 2) / np.sum(x**2)

    found = (scipy.optimize.minimize(error, rng.normal(size=q * d), tol=1e-13) for _ in range(starts))
    return min(result.fun for result in found)


@pytest.mark.parametrize(("q", "d"), [(1, 1), (3, 1), (2, 2), (4, 2), (3, 3), (5, 4)])
def test_is_the_textbook(q, d):
    for seed in range(3):
        x, y = cloud(9 + seed, q, seed), cloud(9 + seed, d, seed + 50)
        assert asim(x, y) == pytest.approx(textbook(x, y), abs=1e-8)


def best_of_starts(m, rng, starts=60):
    """The largest sum of (p_j . m_j)^2, for a stack of problems, by polar ascent from random frames."""
    p = np.linalg.qr(rng.normal(size=(len(m), starts, *m.shape[1:])))[0]
    sums, rising = np.zeros(p.shape[:2]), np.ones(p.shape[:2], dtype=bool)
    for _ in range(20_000):
        each = np.broadcast_to(m[:, None], p.shape)[rising]
        along = (p[rising] * each).sum(axis=-2)
        u, _, v = np.linalg.svd(each * along[..., None, :], full_matrices=False)
        gained = (along**2).sum(axis=-1) - sums[rising]
        p[rising], sums[rising] = u @ v, sums[rising] + gained
        rising[tuple(np.argwhere(rising)[gained <= 1e-15].T)] = False
        if not rising.any():
            return sums.max(axis=1)
    raise AssertionError("the ascent did not end")


@pytest.mark.slow
@pytest.mark.parametrize("d", range(1, 7))
def test_sixty_starts_find_nothing_else(d):
    rng, count, k, q = np.random.default_rng(d), 167, 12, d + 2
    x = rng.normal(size=(count, k, q)) * rng.uniform(0.1, 3, size=(count, 1, q))
    y = rng.normal(size=(count, k, d))
    y[::2] = x[::2] @ rng.normal(size=(84, q, d)) + 0.3 * y[::2]  # half of them know of x
    here, there = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    m = here.transpose(0, 2, 1) @ (there / np.linalg.norm(there, axis=1, keepdims=True))
    expected = 1 - best_of_starts(m, rng) / (here**2).sum(axis=(1, 2))
    found = [asim(one, other) for one, other in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if d == 2 else 1e-9)


def test_figure_1_of_zhang_ren_and_zhang():
    x = np.random.default_rng(0).uniform([-2, -1], [2, 1], size=(100, 2))
    y = normalized(x)
    assert asim(x, y) < 1e-28
    assert 0.79 < ub.metrics.procrustes(x, y, neighborhoods=ub.neighborhoods(x, 99)) < 0.82  # 0.8054 there
    near = ub.neighborhoods(x, 10)
    assert nieqa_local(x, y, neighborhoods=near) < 1e-26
    assert ub.metrics.procrustes(x, y, neighborhoods=near) > 0.5
    assert ub.metrics.procrustes(x, y, neighborhoods=near, kind="R_C") > 0.01
    assert asim(x, np.random.default_rng(1).permutation(y)) > 0.5


def test_normalizing_a_roll_costs_nothing():
    x, truth = ub.datasets.swiss_roll(1500, random_state=0)
    near = ub.neighborhoods(x, 10)
    ml = nieqa_local(x, truth, neighborhoods=near)
    bound = ub.metrics.lower_bound(x, 2, neighborhoods=near)
    assert bound <= ml <= ub.metrics.procrustes(x, truth, neighborhoods=near, kind="R_C") < 0.01
    per_axis = (truth - truth.mean(axis=0)) / truth.std(axis=0) * [1, -1]
    assert nieqa_local(x, per_axis, neighborhoods=near) == pytest.approx(ml, rel=1e-10)
    assert ub.metrics.procrustes(x, per_axis, neighborhoods=near) > 0.5
    # uneven stretching is free along the coordinates only
    turn = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    assert nieqa_local(x, truth @ turn * [1, 3], neighborhoods=near) < 2 * ml
    assert nieqa_local(x, truth * [1, 3] @ turn, neighborhoods=near) > 0.1
    # the roll seen from its side is mostly stretched along a coordinate or two: not bad, but worse
    assert nieqa_local(x, x[:, :2], neighborhoods=near) > 2 * ml


def test_invariances():
    x, y = cloud(300, 4), cloud(300, 3, 1)
    near = ub.neighborhoods(x, 8)
    expected = nieqa_local(x, y, neighborhoods=near, per_point=True)
    turned = 3 * x @ scipy.stats.ortho_group.rvs(4, random_state=0) + 7
    for other_x, other_y in [(turned, y), (x, y * [1e3, -1e-3, 2] + [1, 2, 3]), (x, y[:, [2, 0, 1]])]:
        found = nieqa_local(other_x, other_y, neighborhoods=near, per_point=True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_per_point_is_asim_of_each_neighborhood():
    x, y = cloud(60, 5), cloud(60, 2, 1)
    near = ub.neighborhoods(x, 6)
    for options in [{}, {"include_self": False}, {"normalization": "paper"}]:
        values = nieqa_local(x, y, neighborhoods=near, per_point=True, **options)
        how = {"normalization": options.get("normalization", "centered")}
        for i, value in enumerate(values):
            rows = [*([i] if options.get("include_self", True) else []), *near[i]]
            assert value == asim(x[rows], y[rows], **how)
        assert nieqa_local(x, y, 6, **options) == pytest.approx(values.mean())


def test_the_paper_divides_by_the_distance_to_the_origin():
    x, y = cloud(20, 3) + 5, cloud(20, 2, 1)
    share = np.sum((x - x.mean(axis=0)) ** 2) / np.sum(x**2)
    assert asim(x, y, normalization="paper") == pytest.approx(share * asim(x, y), rel=1e-12)
    assert asim(x + 9, y, normalization="paper") < asim(x, y, normalization="paper")


def test_samples_threads_and_precision():
    x, y = cloud(1200, 3), cloud(1200, 2, 1)
    near = ub.neighborhoods(x, 9)
    every = nieqa_local(x, y, neighborhoods=near, per_point=True)
    drawn = nieqa_local(x, y, neighborhoods=near, per_point=True, n_centers=100, random_state=0)
    assert len(drawn) == 100
    assert np.isin(drawn, every).all()
    for n_jobs in (1, 2, 5):
        found = nieqa_local(x, y, neighborhoods=near, per_point=True, n_jobs=n_jobs)
        np.testing.assert_array_equal(found, every)
    single = nieqa_local(x.astype(np.float32), y.astype(np.float32), neighborhoods=near)
    assert single == pytest.approx(every.mean(), abs=1e-5)


def test_points_that_coincide():
    spot, some = np.full((5, 3), 0.1), cloud(5, 3)
    assert asim(spot, spot) == 0
    assert asim(spot, some) == np.inf
    assert asim(some, spot) == 1
    # six points in one spot, drawn apart in Y: left out of the mean
    x, y = np.concatenate([np.zeros((6, 2)), cloud(30, 2) + 20]), cloud(36, 2, 1)
    values = nieqa_local(x, y, 4, per_point=True)
    assert np.isinf(values[:6]).all()
    assert np.isfinite(values[6:]).all()
    assert nieqa_local(x, y, 4) == pytest.approx(values[6:].mean())
    assert nieqa_local(np.zeros((6, 2)), y[:6], 4) == np.inf


def test_bad_input_is_named():
    x = cloud(30, 3)
    with pytest.raises(ValueError, match="Xi has 30 rows, but Yi has 29"):
        asim(x, x[1:])
    with pytest.raises(ValueError, match="X has 30 rows, but Y has 29"):
        nieqa_local(x, x[1:], 4)
    with pytest.raises(ValueError, match="Y has 3 columns, more than the 2 of X"):
        nieqa_local(x[:, :2], x, 4)
    for call in (lambda: asim(x, x, normalization="none"), lambda: nieqa_local(x, x, 4, normalization=None)):
        with pytest.raises(ValueError, match="use one of 'centered', 'paper'"):
            call()
    with pytest.raises(ValueError, match="not several"):
        nieqa_local(x, x, 4, neighborhoods=ub.neighborhoods(x, 4))
    with pytest.raises(ValueError, match="n_centers"):
        nieqa_local(x, x, 4, n_centers=0)
