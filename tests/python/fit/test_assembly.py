"""Eq. 11 solved with multigrid: the dense solution, a residual that is true, and means that stay."""

import numpy as np
import pytest
import unbend as ub
from unbend import _core
from unbend.fit.assembly import solve

RNG = np.random.default_rng(0)
WHOLE = RNG.normal(size=(160, 5))
APART = np.concatenate([WHOLE[:70], WHOLE[70:120] + 100, WHOLE[120:123] + 300, WHOLE[123:] - 100])


def dense(problem):
    """Return S by its columns, without the coupling of columns that there is none of."""
    n, d = len(problem.graph), problem.n_components
    return np.column_stack([problem.apply(np.repeat(row, d)).reshape(n, d)[:, 0] for row in np.eye(n)])


def without_means(y, labels):
    out = y.copy()
    for label in np.unique(labels):
        out[labels == label] -= out[labels == label].mean(axis=0)
    return out


def system(x, d, objective="R_N", k=6, radius=None):
    nb = ub.neighborhoods(x, radius=radius) if radius else ub.neighborhoods(x, k)
    problem = _core.Problem(_core.Points(x), nb.core, d, objective, 0)
    start = RNG.normal(size=(len(x), d))
    sides, _ = problem.frames(start)
    return problem, sides, start


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("objective", ["R", "R_N"])
@pytest.mark.parametrize(
    ("x", "sizes"),
    [(WHOLE, {"k": 6}), (APART, {"k": 2}), (WHOLE, {"radius": 1.5})],
    ids=["one", "apart", "radius"],
)
def test_the_solution_is_the_dense_one(x, sizes, d, objective):
    problem, sides, start = system(x, d, objective, **sizes)
    labels = problem.graph.components()
    found = solve(problem, sides, start.ravel(), tol=1e-12)
    expected = np.linalg.lstsq(dense(problem), sides.reshape(-1, d), rcond=1e-12)[0]
    y = found.embedding.reshape(-1, d)
    assert found.converged
    expected = without_means(expected, labels)
    assert np.abs(without_means(y, labels) - expected).max() < 1e-8 * np.abs(expected).max()
    for label in np.unique(labels):
        here = labels == label
        np.testing.assert_allclose(y[here].mean(axis=0), start[here].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("q", [3, 5, 20])
def test_tangents_and_eq_11_without_the_point_itself(q):
    """A_i = P_i polar(P_i' (H X_i)' H Y_i), with P_i and H_i of neighborhoods that do not hold their own point."""
    x, y, d = RNG.normal(size=(90, q)), RNG.normal(size=(90, 2)), 2
    nb = ub.neighborhoods(x, 6)
    problem = _core.Problem(_core.Points(x), nb.core, d, "R", 0, False)
    tangents = problem.tangents(6, 0)
    found, _ = tangents.equation(tangents.frames_of(y.ravel()))
    expected = np.zeros_like(y)
    for i in range(90):
        members, whole = nb[i], np.append(i, nb[i])
        hx = x[members] - x[members].mean(axis=0)
        basis = np.linalg.svd(hx, full_matrices=False)[2][:d].T
        around = x[whole] - x[whole].mean(axis=0)
        u, _, vt = np.linalg.svd(basis.T @ around.T @ y[whole])
        expected[members] += hx @ basis @ u @ vt
    np.testing.assert_allclose(found.reshape(y.shape), expected, atol=1e-9)


def true_residual(problem, sides, y):
    return np.linalg.norm(sides - problem.apply(y)) / np.linalg.norm(sides)


def test_the_residual_is_true_and_failure_is_said():
    x, _ = ub.datasets.swiss_roll(3000, random_state=0)
    problem, sides, start = system(x, 2, k=10)
    found = solve(problem, sides, start.ravel())
    assert found.converged
    assert found.n_iter <= 30
    assert found.residual <= 1.01e-8
    assert found.residual == pytest.approx(true_residual(problem, sides, found.embedding), rel=1e-9)
    short = solve(problem, sides, start.ravel(), max_iter=3)
    assert not short.converged
    assert short.n_iter == 3
    assert short.residual > 1e-8
    assert short.residual == pytest.approx(true_residual(problem, sides, short.embedding), rel=1e-9)
    again = solve(problem, sides, found.embedding)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.embedding, found.embedding)


def test_nothing_to_solve():
    problem, _, start = system(WHOLE, 2)
    zero = np.zeros(start.size)
    found = solve(problem, zero, zero)
    assert found.converged
    assert found.n_iter == 0
    assert not found.embedding.any()
    found = solve(problem, zero, start.ravel(), tol=1e-10)
    assert found.converged
    assert np.ptp(found.embedding.reshape(-1, 2), axis=0).max() < 1e-8


@pytest.mark.parametrize("d", [1, 2])
def test_two_points(d):
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    problem, sides, start = system(x, d, "R", k=1)
    found = solve(problem, sides, start.ravel())
    assert found.converged
    assert np.linalg.norm(np.diff(found.embedding.reshape(-1, d), axis=0)) == pytest.approx(5)


def test_points_alone_stay():
    x = np.concatenate([WHOLE, [[1e3] * 5], [[-1e3] * 5]])
    problem, sides, start = system(x, 2, radius=2.0)
    found = solve(problem, sides, start.ravel())
    assert found.converged
    np.testing.assert_allclose(found.embedding.reshape(-1, 2)[-2:], start[-2:], atol=1e-14)


def test_threads_do_not_matter():
    x, _ = ub.datasets.swiss_roll(5000, random_state=0)
    nb = ub.neighborhoods(x, 8)
    v = RNG.normal(size=10_000)
    points = _core.Points(x)
    found = [_core.Problem(points, nb.core, 2, "R_N", jobs).precondition(v) for jobs in (0, 1, 2, 3)]
    assert all((other == found[0]).all() for other in found)


def test_it_can_be_asked_to_stop_and_given_another_inverse():
    problem, sides, start = system(WHOLE, 2)
    asked = []

    def ask():
        asked.append(1)
        if len(asked) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(problem, sides, start.ravel(), ask=ask)
    diagonal = np.repeat(problem.diagonal(), 2)
    found = solve(problem, sides, start.ravel(), preconditioner=lambda v: v / diagonal)
    assert found.converged


def test_wrong_shapes_are_refused():
    problem, sides, start = system(WHOLE, 2)
    with pytest.raises(ValueError, match=r"300.*320|320.*300"):
        solve(problem, sides, start.ravel()[:300])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_data_of_very_different_scales_overflow_without_a_word_of_numpy():
    x = np.ldexp(np.random.default_rng(1).normal(size=(25, 20))[np.arange(25) % 7], -300)
    x[12, -1] = 1e9
    assert np.isfinite(ub.HessianLLE(rectify=True).fit(x).embedding_).all()
