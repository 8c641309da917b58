"""Weights of neighborhoods, compared with dense weighted systems and plain weighted means."""

import numpy as np
import pytest
import unbend as ub
from unbend import _core
from unbend.fit.bonds import Bonds, Pins
from unbend.fit.problem import Problem

N = 150
RNG = np.random.default_rng(0)
X, TRUTH = ub.datasets.swiss_roll(N, random_state=0)
NB = ub.neighborhoods(X, 8)
SHAKEN = TRUTH + RNG.normal(scale=0.5, size=TRUTH.shape)
WEIGHTS = RNG.random(N) + 0.05
MEAN_ONE = WEIGHTS / WEIGHTS.mean()


def dense(x, y, nb, weights):
    """The matrix and right-hand side of eq. 11 for the frames of `y`, with a weight for each neighborhood."""
    matrix, sides = np.zeros((len(x), len(x))), np.zeros(y.shape)
    for i, weight in enumerate(weights):
        members = np.append(i, nb[i]).astype(int)
        center = np.eye(len(members)) - 1 / len(members)
        hx, hy = center @ x[members], center @ y[members]
        u, _, vt = np.linalg.svd(hx.T @ hy, full_matrices=False)
        share = weight / (hx**2).sum()
        matrix[np.ix_(members, members)] += share * center
        sides[members] += share * hx @ (u @ vt)
    return matrix, sides


def test_the_weighted_system_is_that_of_the_textbook():
    matrix, sides = dense(X, SHAKEN, NB, MEAN_ONE)
    problem = _core.Problem(_core.Points(X), NB.core, 2, "R_N", 0, weights=MEAN_ONE)
    found, value = problem.frames(SHAKEN)
    np.testing.assert_allclose(found.reshape(N, 2), sides, atol=1e-11 * np.abs(sides).max())
    np.testing.assert_allclose(problem.apply(SHAKEN.ravel()).reshape(N, 2), matrix @ SHAKEN, atol=1e-10)
    np.testing.assert_allclose(problem.diagonal(), np.diag(matrix), rtol=1e-10)
    r_n = ub.faithfulness(X, SHAKEN, neighborhoods=NB).per_point["r_n"]
    np.testing.assert_allclose(value, np.average(r_n, weights=WEIGHTS), rtol=1e-10)


def test_a_refined_map_solves_the_weighted_system():
    options = {"neighborhoods": NB, "max_iter": 400, "tol": 0.0, "guard": False}
    found = ub.refine(X, TRUTH, sample_weight=WEIGHTS, **options).embedding

    def residual(weights):
        matrix, sides = dense(X, found, NB, weights)
        return np.linalg.norm(sides - matrix @ found) / np.linalg.norm(sides)

    assert residual(MEAN_ONE) < 1e-6
    assert residual(np.ones(N)) > 1e-4


@pytest.mark.parametrize("equal", [1.0, 0.3, np.full(N, 7), [0.1] * N])
def test_equal_weights_change_no_bit(equal):
    psa = ub.ProcrustesAlignment(random_state=0).fit(X, neighborhoods=NB)
    weighted = ub.ProcrustesAlignment(random_state=0).fit(X, neighborhoods=NB, sample_weight=equal)
    np.testing.assert_array_equal(weighted.embedding_, psa.embedding_)
    assert weighted.faithfulness_ == psa.faithfulness_
    refined, same = (
        ub.refine(X, SHAKEN, neighborhoods=NB, max_iter=3, **given)
        for given in ({}, {"sample_weight": equal})
    )
    np.testing.assert_array_equal(refined.embedding, same.embedding)
    measured = ub.faithfulness(X, SHAKEN, neighborhoods=NB, sample_weight=equal)
    assert measured == ub.faithfulness(X, SHAKEN, neighborhoods=NB)


def test_a_fit_fits_best_where_the_weight_is():
    x, truth = ub.datasets.swiss_roll(1500, noise=0.03, random_state=1)
    heavy = truth[:, 0] > np.median(truth[:, 0])
    fits = [ub.ProcrustesAlignment(refine="global").fit(x, sample_weight=w) for w in (None, 1 + 99 * heavy)]
    plain, weighted = (fit.faithfulness_.per_point["r_n"][heavy].mean() for fit in fits)
    assert weighted < plain
    m = ub.faithfulness(x, fits[1].embedding_, sample_weight=1 + 99 * heavy)
    np.testing.assert_allclose(fits[1].faithfulness_.r_n, m.r_n, rtol=1e-12)


def test_means_are_weighted():
    m, plain = (ub.faithfulness(X, 0.7 * SHAKEN, neighborhoods=NB, sample_weight=w) for w in (WEIGHTS, None))
    for name, row in {"r": "r", "r_n": "r_n", "r_c": "r_c", "r_pca": "r_pca", "lower_bound": "bound"}.items():
        expected = np.average(plain.per_point[row], weights=WEIGHTS)
        np.testing.assert_allclose(getattr(m, name), expected, rtol=1e-12)
        np.testing.assert_array_equal(m.per_point[row], plain.per_point[row])
    np.testing.assert_allclose(m.overlap, np.average(plain.per_point["overlap"], weights=WEIGHTS), rtol=1e-12)
    at = [
        ub.faithfulness(X, 0.7 * m.scale * c * SHAKEN, neighborhoods=NB, sample_weight=WEIGHTS).r_n
        for c in (1.0, 0.999, 1.001)
    ]
    assert at[0] < min(at[1:])
    np.testing.assert_allclose(at[0], m.r_n_scaled, rtol=1e-9)


def test_quality_is_weighted_like_its_parts():
    q = ub.quality(X, SHAKEN, neighborhoods=NB, sample_weight=WEIGHTS)
    m = ub.faithfulness(X, SHAKEN, neighborhoods=NB, sample_weight=WEIGHTS)
    for name in ("r_n", "r_c", "lower_bound", "scale", "r_n_scaled", "overlap"):
        assert q[name].value == getattr(m, name)
    for name in ("m_l", "trustworthiness", "q_nx"):
        np.testing.assert_allclose(q[name].value, np.average(q.per_point[name], weights=WEIGHTS), rtol=1e-12)


def test_errors_of_weighted_samples_are_as_large_as_the_spread_of_samples():
    x, truth = ub.datasets.swiss_roll(3000, noise=0.1, random_state=2)
    nb, weights = ub.neighborhoods(x, 10), np.random.default_rng(3).random(3000) ** 2 + 0.01
    drawn = [
        ub.faithfulness(x, truth, neighborhoods=nb, sample_weight=weights, n_centers=300, random_state=seed)
        for seed in range(60)
    ]
    spread = np.std([m.r_n for m in drawn], ddof=1)
    assert 0.75 < np.mean([m.standard_error["r_n"] for m in drawn]) / spread < 1.33


def test_weights_follow_renumbered_points(monkeypatch):
    monkeypatch.setattr("unbend.fit.problem.MIN_RENUMBERED_POINTS", 10)
    bonds = Bonds(Pins.of(([4, 9], TRUTH[[4, 9]]), N, 2))
    problem = Problem(_core.Points(X), NB, 2, weights=MEAN_ONE, bonds=bonds)
    near = problem.renumbered
    np.testing.assert_array_equal(near.restored(near.weights), MEAN_ONE)
    np.testing.assert_allclose(near.restored(near.core.weights()), problem.core.weights(), rtol=1e-12)
    np.testing.assert_array_equal(near.order[near.bonds.pins.rows], [4, 9])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(N - 1), r"sample_weight has shape \(149,\): \(150,\) is needed"),
        (np.r_[0.0, np.ones(N - 1)], "sample_weight of point 0 is 0: it must be above 0"),
        (np.r_[1.0, -np.ones(N - 1)], "sample_weight of point 1 is -1"),
        (np.r_[1.0, np.nan, np.ones(N - 2)], "sample_weight of point 1 is nan"),
        (["a"] * N, "sample_weight must hold one number for each point"),
    ],
)
def test_weights_that_make_no_sense(weights, message):
    for call in (
        lambda: ub.ProcrustesAlignment().fit(X, sample_weight=weights),
        lambda: ub.refine(X, SHAKEN, neighborhoods=NB, sample_weight=weights),
        lambda: ub.faithfulness(X, SHAKEN, neighborhoods=NB, sample_weight=weights),
        lambda: ub.quality(X, SHAKEN, neighborhoods=NB, sample_weight=weights),
    ):
        with pytest.raises(ValueError, match=message):
            call()
