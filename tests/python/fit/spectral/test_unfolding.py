"""Maximum variance unfolding: against a general optimizer, closed forms, and its own constraints."""

import sys

import numpy as np
import pytest
import unbend as ub
from scipy.optimize import minimize
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform


@pytest.fixture
def unfolding():
    pytest.importorskip("clarabel")
    return ub.MaximumVarianceUnfolding


def pairs_within(nb):
    lists = [np.r_[i, nb[i]].astype(int) for i in range(len(nb))]
    return sorted({(min(a, b), max(a, b)) for rows in lists for a in rows for b in rows if a != b})


def by_sequential_programs(x, nb, rank):
    """The largest variance of points of high rank, which has no local maxima, by quadratic programs."""
    pairs, n = np.array(pairs_within(nb)), len(x)
    squares = ((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2).sum(axis=1)

    def differences(flat):
        y = flat.reshape(n, rank)
        return y[pairs[:, 0]] - y[pairs[:, 1]]

    def slopes(flat):
        found = np.zeros((len(pairs), n, rank))
        found[np.arange(len(pairs)), pairs[:, 0]] = -2 * differences(flat)
        found[np.arange(len(pairs)), pairs[:, 1]] = 2 * differences(flat)
        return found.reshape(len(pairs), -1)

    def centered(flat):
        y = flat.reshape(n, rank)
        return y - y.mean(axis=0)

    start = 0.5 * np.c_[x, np.zeros((n, rank - x.shape[1]))]
    start = start + 0.01 * np.random.default_rng(0).normal(size=start.shape)
    limits = {"type": "ineq", "fun": lambda v: squares - (differences(v) ** 2).sum(axis=1), "jac": slopes}
    found = minimize(
        lambda v: -(centered(v) ** 2).sum(),
        start.ravel(),
        jac=lambda v: -2 * centered(v).ravel(),
        constraints=[limits],
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-9},
    )
    assert (limits["fun"](found.x) > -1e-6).all()
    return -found.fun


@pytest.mark.parametrize("seed", range(3))
def test_no_points_of_high_rank_have_a_larger_variance(unfolding, seed):
    x = np.random.default_rng(seed).normal(size=(12, 3))
    nb = ub.neighborhoods(x, 4)
    if nb.n_connected_components > 1:
        nb = ub.neighborhoods(x, 6)
    model = unfolding(3).fit(x, neighborhoods=nb)
    assert model.eigenvalues_.sum() == pytest.approx(by_sequential_programs(x, nb, 6), rel=1e-4)


def test_a_ring_and_a_plane_are_as_wide_as_they_can_be(unfolding):
    angles = 2 * np.pi * np.arange(14) / 14
    ring = np.c_[np.cos(angles), np.sin(angles)]
    lists = [[(i - 1) % 14, (i + 1) % 14] for i in range(14)]
    nb = ub.Neighborhoods(np.array(lists, dtype=np.uint32).ravel(), indptr=np.arange(0, 29, 2))
    model = unfolding().fit(ring, neighborhoods=nb)
    np.testing.assert_allclose(model.eigenvalues_[:2], 7, rtol=1e-3)
    np.testing.assert_allclose(model.eigenvalues_[2:], 0, atol=7e-3)
    plane = np.random.default_rng(0).uniform(size=(20, 2)) * [2, 1]
    found = unfolding(n_neighbors=6).fit(plane)
    np.testing.assert_allclose(pdist(found.embedding_), pdist(plane), atol=2e-3)


def test_a_bent_strip_becomes_flat(unfolding):
    """Two points of a neighborhood are never farther apart than in the data, up to the tolerance."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(size=(200, 2)) * [4.0, 1.0]
    x = np.c_[2 * np.cos(truth[:, 0]), 2 * np.sin(truth[:, 0]), truth[:, 1]]
    model = unfolding(n_neighbors=6, n_landmarks=12, random_state=0).fit(x)
    assert procrustes(truth, ub.PCA(2).fit_transform(x))[2] > 0.1
    assert procrustes(truth, model.embedding_)[2] < 0.03
    pairs = np.array(pairs_within(model.neighborhoods_))
    before, after = (squareform(pdist(points))[tuple(pairs.T)] ** 2 for points in (x, model.embedding_))
    assert (after - before).max() < 0.003 * before.mean()
    assert model.eigenvalues_[2:].sum() < 0.02 * model.eigenvalues_.sum()
    assert len(model.landmarks_) == 12


def test_components_are_unfolded_each(unfolding):
    strip = np.random.default_rng(0).uniform(size=(30, 2))
    x = np.r_[strip, strip[:20] + 90, [[900.0, 0.0]]]
    nb = ub.neighborhoods(x, radius=0.6)
    with pytest.warns(ub.DisconnectedWarning):
        model = unfolding(n_landmarks=8, random_state=0).fit(x, neighborhoods=nb)
    for component in range(2):
        rows = model.component_labels_ == component
        assert procrustes(x[rows], model.embedding_[rows])[2] < 0.05
    assert len(model.trace_["components"]) == 3


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
def test_equal_points_stay_together(unfolding):
    assert (unfolding().fit(np.ones((20, 3))).embedding_ == 0).all()


def test_a_saved_model_places_new_points(unfolding, tmp_path):
    x = np.random.default_rng(0).uniform(size=(60, 2))
    model = unfolding(n_neighbors=6, n_landmarks=10, random_state=0).fit(x)
    again = ub.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.transform(x + 0.001), model.transform(x + 0.001))


def test_a_stop_is_obeyed(unfolding):
    x = np.random.default_rng(0).uniform(size=(300, 3))
    stop = unfolding(n_landmarks=8, callback=lambda stage, done, total, best: stage == "unfolding")
    with pytest.raises(ub.Stopped):
        stop.fit(x)


def test_too_many_points_are_refused_before_the_search():
    with pytest.raises(ValueError, match=r"n_samples = 2,001 is too many .*: fit at most 2,000 points"):
        ub.MaximumVarianceUnfolding().fit(np.zeros((2001, 3)))


def test_without_the_solver_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"needs the conic solver Clarabel, .* `pip install unbend\[mvu\]`"):
        ub.MaximumVarianceUnfolding().fit(np.random.default_rng(0).normal(size=(30, 3)))
