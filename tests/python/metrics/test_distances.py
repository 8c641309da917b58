"""Residual variance, stretch, stress and rank correlation: against scipy, and how sure samples are."""

import numpy as np
import pytest
import scipy.sparse.csgraph
import scipy.spatial.distance
import scipy.stats
import unbend as ub
from unbend.metrics.agreement import worst_mean

metrics = ub.metrics


def cloud(n=300, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def along(x, near):
    """Graph distances by scipy, edges as long as their ends are apart in x."""
    rows, columns = np.repeat(np.arange(len(near)), near.sizes), near.indices.astype(int)
    lengths = np.linalg.norm(x[rows] - x[columns], axis=1)
    shape = (len(near), len(near))
    graph = scipy.sparse.csr_array((lengths, (rows, columns)), shape=shape)
    return scipy.sparse.csgraph.dijkstra(graph, directed=False)


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


@pytest.mark.parametrize(("q", "d"), [(3, 2), (2, 5), (4, 1)])
def test_geodesic_is_the_textbook(q, d):
    x, y = cloud(q=q), cloud(q=d, seed=1)
    near = ub.neighborhoods(x, 7)
    m = metrics.geodesic(x, y, neighborhoods=near)
    g, e = off_diagonal(along(x, near)), off_diagonal(scipy.spatial.distance.cdist(y, y))
    kept = np.isfinite(g)
    assert m.unreachable == pytest.approx(1 - kept.mean())
    g, e = g[kept], e[kept]
    assert m.residual_variance == pytest.approx(1 - scipy.stats.pearsonr(g, e)[0] ** 2, rel=1e-10)
    assert m.stress == pytest.approx(np.sqrt(((g - e) ** 2).sum() / (g**2).sum()), rel=1e-10)
    best = (g @ e) / (e @ e)
    assert m.scale == pytest.approx(best, rel=1e-10)
    assert m.stress_scaled == pytest.approx(np.sqrt(((g - best * e) ** 2).sum() / (g**2).sum()), rel=1e-10)


def test_stretch_is_the_textbook():
    x, y = cloud(), cloud(q=2, seed=1)
    near = ub.neighborhoods(x, 9)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = scipy.spatial.distance.cdist(y, y) / along(x, near)
    ratios[np.eye(len(x), dtype=bool)] = np.nan
    expected = np.nanmax(ratios, axis=1) / np.nanmin(ratios, axis=1)
    m = metrics.geodesic(x, y, neighborhoods=near)
    np.testing.assert_allclose(m.per_point["stretch"], expected, rtol=1e-9)
    assert (m.stretch, m.stretch_mean) == pytest.approx((np.median(expected), expected.mean()))
    stretch = metrics.geodesic_stretch(x, y, neighborhoods=near, per_point=True)
    np.testing.assert_array_equal(stretch, m.per_point["stretch"])
    assert metrics.geodesic_stretch(x, y, neighborhoods=near) == m.stretch
    assert metrics.residual_variance(x, y, neighborhoods=near) == m.residual_variance


@pytest.mark.parametrize(("q", "d"), [(3, 2), (2, 5), (4, 1)])
def test_shepard_is_the_textbook(q, d):
    x, y = cloud(q=q).round(1), cloud(q=d, seed=1).round(1)  # ties
    m = metrics.shepard(x, y)
    a, b = scipy.spatial.distance.pdist(x), scipy.spatial.distance.pdist(y)
    assert m.n_pairs == len(a)
    assert m.pearson == pytest.approx(scipy.stats.pearsonr(a, b)[0], rel=1e-10)
    assert m.stress == pytest.approx(np.sqrt(((a - b) ** 2).sum() / (a**2).sum()), rel=1e-10)
    # not the distances of scipy: ties must be broken by the same rounding
    exact = [np.sqrt(((z[:, None] - z) ** 2).cumsum(axis=2)[:, :, -1]) for z in (x, y)]
    upper = np.triu_indices(len(x), 1)
    assert m.spearman == pytest.approx(scipy.stats.spearmanr(exact[0][upper], exact[1][upper])[0], rel=1e-10)
    assert metrics.spearman(x, y) == m.spearman
    assert metrics.stress(x, y) == m.stress
    assert metrics.stress(x, y, scaled=True) == m.stress_scaled


def test_samples_by_default_where_there_is_much():
    x = cloud(2500, 2)
    m = metrics.shepard(x, x, random_state=0)
    assert m.n_pairs == 1_000_000
    assert metrics.shepard(x[:2000], x[:2000]).n_pairs == 1999 * 1000
    x = cloud(5000, 2)
    sampled = metrics.geodesic(x, x, 6, random_state=0)
    assert (sampled.n_sources, sampled.n_points) == (4000, 5000)
    assert sampled.standard_error["residual_variance"] > 0
    assert (np.diff(sampled.sources.astype(int)) > 0).all()


def test_a_sample_holds_the_stretch_of_the_whole():
    x, y = cloud(), cloud(q=2, seed=1)
    whole = metrics.geodesic(x, y, 9)
    part = metrics.geodesic(x, y, 9, n_sources=40, random_state=3)
    np.testing.assert_array_equal(part.per_point["stretch"], whole.per_point["stretch"][part.sources])
    low, high = part.interval("residual_variance")
    assert 0 <= low < part.residual_variance < high <= 1
    assert whole.interval("stress") == (whole.stress, whole.stress)
    assert set(part.standard_error) == {"residual_variance", "stress", "stress_scaled", "scale", "stretch"}


def test_the_same_on_any_number_of_threads_and_for_the_same_seed():
    x, y = cloud(3000), cloud(3000, 2, seed=1)
    for measure, options in [(metrics.geodesic, {"n_sources": 70}), (metrics.shepard, {"n_pairs": 9000})]:
        one = measure(x, y, random_state=5, n_jobs=1, **options)
        two = measure(x, y, random_state=5, n_jobs=2, **options)
        assert repr(one) == repr(two)
        assert repr(one) != repr(measure(x, y, random_state=6, **options))


def test_parts_and_copies():
    x = np.r_[cloud(30), cloud(30) + 100]
    assert metrics.geodesic(x, x, 5).unreachable == pytest.approx(30 / 59)
    assert np.isinf(metrics.geodesic_stretch(x, np.zeros((60, 2)), 5))
    same = np.zeros((20, 2))
    assert metrics.geodesic(same, same, 3).stretch == 1
    assert metrics.residual_variance(same, same, 3) == 0


def test_refusals():
    x = cloud()
    with pytest.raises(ValueError, match="300 rows, but Y has 10"):
        metrics.geodesic(x, cloud(10))
    with pytest.raises(ValueError, match="n_pairs = 5 is too few: a sample needs at least 1024"):
        metrics.shepard(x, x, n_pairs=5)
    with pytest.raises(ValueError, match="n_sources = 0"):
        metrics.geodesic(x, x, n_sources=0)
    with pytest.raises(ValueError, match="'n_pairs' has no interval: use one of spearman"):
        metrics.shepard(x, x).interval("n_pairs")


@pytest.mark.slow
def test_intervals_hold_the_whole_as_often_as_they_say():
    x, truth = ub.datasets.swiss_roll(1500, noise=0.3, random_state=0)
    y = truth * [1, 2] + np.random.default_rng(0).normal(size=truth.shape)
    near = ub.neighborhoods(x, 8)
    rounds = 200

    def coverage(measure, names, whole):
        samples = [measure(random_state=seed) for seed in range(rounds)]
        for name in names:
            intervals = np.array([sample.interval(name) for sample in samples])
            inside = (intervals[:, 0] <= getattr(whole, name)) & (getattr(whole, name) <= intervals[:, 1])
            yield name, inside.mean()

    def paths(**options):
        return metrics.geodesic(x, y, neighborhoods=near, n_sources=50, **options)

    def pairs(**options):
        return metrics.shepard(x, y, n_pairs=20_000, **options)

    means = ("residual_variance", "stress", "stress_scaled", "scale", "stretch")
    found = dict(coverage(paths, means, metrics.geodesic(x, y, neighborhoods=near)))
    straight = ("spearman", "pearson", "stress", "stress_scaled", "scale")
    also = dict(coverage(pairs, straight, metrics.shepard(x, y)))
    # 95 % asked for; 200 rounds have a standard error of 1.5 %
    assert all(0.90 <= share <= 0.995 for share in found.values()), found
    assert all(0.90 <= share <= 0.995 for share in also.values()), also


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_errors_may_sum_up_to_infinity():
    """An embedding in a unit far off has errors near the largest number."""
    labels = np.zeros(3, dtype=np.uint32)
    assert worst_mean(np.full(3, 1e308), labels, labels) == np.inf
