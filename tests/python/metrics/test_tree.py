"""Branches of a tree of shortest paths, as in the textbook, and what their ranks are invariant under."""

import numpy as np
import pytest
import unbend as ub
from scipy.stats import spearmanr
from unbend.metrics.tree import branches

U = np.random.default_rng(3).random((150, 2)) * [4.0, 1.0]
X = np.column_stack([U, np.sin(2 * U[:, 0])])
NB = ub.neighborhoods(X, 7)


def textbook_paths(x, nb):
    """All distances and steps by Floyd and Warshall."""
    n = len(x)
    far, step = np.full((n, n), np.inf), np.full((n, n), -1)
    for i in range(n):
        far[i, i] = 0.0
        for j in nb[i]:
            far[i, j] = far[j, i] = np.linalg.norm(x[i] - x[j])
            step[i, j], step[j, i] = i, j
    for via in range(n):
        shorter = far[:, [via]] + far[[via]] < far
        far = np.where(shorter, far[:, [via]] + far[[via]], far)
        step = np.where(shorter, step[[via]], step)
    return far, step


def test_branches_are_those_of_the_textbook():
    root, leaves, lengths = branches(X, NB)
    far, step = textbook_paths(X, NB)
    inner = set(step[root]) - {-1}
    assert sorted(set(range(150)) - inner - {root}) == leaves.tolist()
    np.testing.assert_allclose(lengths, far[root, leaves], rtol=1e-12)
    assert far[root].max() < 0.65 * far.max()  # in the middle
    value = ub.metrics.branch_correlation(X, X[:, :2], neighborhoods=NB)
    extents = np.linalg.norm(X[leaves, :2] - X[root, :2], axis=1)
    np.testing.assert_allclose(value, spearmanr(lengths, extents).statistic, rtol=1e-12)


def test_motions_and_units_do_not_matter():
    y = U + 0.3 * np.random.default_rng(0).normal(size=U.shape)
    value = ub.metrics.branch_correlation(X, y, neighborhoods=NB)
    turned = 7 * y @ np.linalg.qr(np.random.default_rng(1).normal(size=(2, 2)))[0] + 5
    np.testing.assert_allclose(ub.metrics.branch_correlation(3 * X, turned, 7), value, rtol=1e-12)
    assert 0.5 < value < ub.metrics.branch_correlation(X, U, neighborhoods=NB)


def test_the_largest_component_is_measured():
    x, y = np.concatenate([X, X[:20] + 900]), np.concatenate([U, U[:20] * 0])
    found = ub.metrics.branch_correlation(x, y, 7)
    assert found == ub.metrics.branch_correlation(X, U, 7)


@pytest.mark.parametrize("y", [np.zeros((150, 2)), np.ones((150, 1))])
def test_an_embedding_in_one_point_says_nothing(y):
    assert ub.metrics.branch_correlation(X, y, neighborhoods=NB) == 0.0
    assert ub.metrics.branch_correlation(X * 0, U, neighborhoods=NB) == pytest.approx(0.0, abs=1.0)


def test_neighborhoods_of_other_points_are_refused():
    with pytest.raises(ValueError, match="X has 150 rows, but neighborhoods are of 100 points"):
        ub.metrics.branch_correlation(X, U, neighborhoods=ub.neighborhoods(X[:100], 7))
