"""Refinement: never worse, never rising, the paper's system to the last digits, and stopped without loss."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import unbend as ub
from interrupting import IMPORT, LIMIT, signals
from scipy.spatial import procrustes
from unbend import _core
from unbend.fit.assembly import solve
from unbend.fit.bonds import Pins
from unbend.fit.bonds.system import HeldSystem
from unbend.fit.problem import Problem
from unbend.fit.refine import RefinementInterrupted, refine
from unbend.fit.trust.weighted import GeodesicStress

N, K = 1200, 10
X, TRUTH = ub.datasets.swiss_roll(N, noise=0.05, random_state=0)
NB = ub.neighborhoods(X, K)
RNG = np.random.default_rng(0)
SHAKEN = TRUTH + RNG.normal(scale=0.3, size=TRUTH.shape)
METHODS, OBJECTIVES = ("global", "pointwise", "paper"), ("R_N", "R")


def value(y, objective="R_N", x=X, nb=NB, include_self=True):
    m = ub.faithfulness(x, y, neighborhoods=nb, include_self=include_self)
    return m.r_n if objective == "R_N" else m.r


def holdings(nb, include_self=True):
    """The neighborhoods, each with its own point or without it, as index lists."""
    return [[i, *nb[i]] if include_self else list(nb[i]) for i in range(len(nb))]


def textbook_step(x, y, nb, objective, include_self=True):
    """Frames by SVD, then eq. 11 with a dense pseudo-inverse."""
    n = len(x)
    matrix, sides = np.zeros((n, n)), np.zeros(y.shape)
    for members in holdings(nb, include_self):
        center = np.eye(len(members)) - 1 / max(1, len(members))
        hx = center @ x[members]
        size = (hx**2).sum()
        if size == 0:
            continue  # a point alone
        weight = 1 / size if objective == "R_N" else 1.0
        u, _, vt = np.linalg.svd(hx.T @ y[members], full_matrices=False)
        matrix[np.ix_(members, members)] += weight * center
        sides[members] += weight * hx @ (u @ vt)
    return matrix, sides, np.linalg.pinv(matrix, hermitian=True) @ sides


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("ragged", [False, True])
def test_the_system_is_that_of_the_paper(objective, ragged, include_self):
    x, y = X[:150], SHAKEN[:150]
    nb = ub.neighborhoods(x, radius=5.0) if ragged else ub.neighborhoods(x, 6)
    matrix, sides, _ = textbook_step(x, y, nb, objective, include_self)
    problem = _core.Problem(_core.Points(x), nb.core, 2, objective, 0, include_self)
    found, reached = problem.frames(y)
    scale = np.abs(sides).max()
    np.testing.assert_allclose(found.reshape(y.shape), sides, atol=1e-10 * scale)
    np.testing.assert_allclose(reached, value(y, objective, x, nb, include_self), rtol=1e-10)
    applied = problem.apply(y.ravel()).reshape(y.shape)
    np.testing.assert_allclose(applied, matrix @ y, atol=1e-10 * scale)
    np.testing.assert_allclose(problem.diagonal(), np.diag(matrix), rtol=1e-10)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_step_approaches_the_exact_solution(objective):
    """The exact alternation is the best one step can do for these frames; ten inner steps come close."""
    _, _, exact = textbook_step(X, SHAKEN, NB, objective)
    one = refine(X, SHAKEN, neighborhoods=NB, objective=objective, max_iter=1, tol=0)
    assert value(exact, objective) <= one.history[0]
    assert one.history[1] <= 1.15 * value(exact, objective)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_objective_never_rises_and_is_what_it_says(method, objective):
    n_steps = 50 if method == "paper" else 25
    found = refine(X, SHAKEN, neighborhoods=NB, method=method, objective=objective, max_iter=n_steps, tol=0)
    assert all(after <= before for before, after in zip(found.history, found.history[1:], strict=False))
    np.testing.assert_allclose(found.history[0], value(SHAKEN, objective), rtol=1e-9)
    np.testing.assert_allclose(found.history[-1], value(found.embedding, objective), rtol=1e-9)
    assert found.n_iter == len(found.history) - 1
    assert found.objective == objective
    assert found.history[-1] < 0.5 * found.history[0]


@pytest.mark.parametrize("wide", [False, True])
def test_neighborhoods_without_the_point_itself_are_refined(wide):
    """R_N of other neighborhoods falls further where these are what is refined."""
    x = np.hstack([X, np.zeros((N, 12))]) @ np.linalg.qr(np.eye(15) + 0.1)[0] if wide else X
    found, other = (
        refine(x, SHAKEN, neighborhoods=NB, include_self=own, max_iter=25, tol=0) for own in (False, True)
    )
    np.testing.assert_allclose(found.history[0], value(SHAKEN, x=x, include_self=False), rtol=1e-9)
    np.testing.assert_allclose(found.history[-1], value(found.embedding, x=x, include_self=False), rtol=1e-9)
    assert found.history[-1] < value(other.embedding, x=x, include_self=False)
    assert value(other.embedding, x=x) < value(found.embedding, x=x)


def test_a_point_that_is_no_neighbor_follows_its_neighbors():
    far = np.vstack([X, X[:1] + 1.0])
    nb = ub.neighborhoods(far, K)
    lists = nb.indices.reshape(N + 1, K)
    lists = np.where(lists == N, nb[N][:1], lists)[:N]  # nobody lists the last point
    lists = [list(dict.fromkeys(row[row != i])) for i, row in enumerate(lists)] + [list(nb[N])]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])])
    graph = sp.csr_array((np.ones(indptr[-1]), np.concatenate(lists), indptr), shape=(N + 1, N + 1))
    nb = ub.Neighborhoods.from_graph(graph, weights="none")
    start = np.vstack([SHAKEN, SHAKEN[:1]])
    with pytest.warns(ub.GapWarning, match=f"1 point is in no neighborhood .the first is {N}."):
        found = refine(far, start, neighborhoods=nb, include_self=False, max_iter=3)
    assert np.isfinite(found.embedding).all()
    assert found.history[-1] < found.history[0]


def test_noise_in_the_embedding_is_taken_out():
    found = refine(X, SHAKEN, neighborhoods=NB)
    assert value(found.embedding) < 1.05 * value(TRUTH)
    assert procrustes(TRUTH, found.embedding)[2] < 0.2 * procrustes(TRUTH, SHAKEN)[2]


def fishbowl_even_in_the_plane(n, rim=0.7):
    """Points even in a disk, on the sphere by the inverse of the stereographic projection: a conformal map."""
    rng = np.random.default_rng(1)
    radius, angle = np.sqrt((1 + rim) / (1 - rim) * rng.random(n)), 2 * np.pi * rng.random(n)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    squares = (plane**2).sum(axis=1)
    return np.column_stack([2 * plane, squares - 1]) / (1 + squares)[:, None], plane


def test_the_conformal_system_has_the_scales_of_eq_7():
    x, y = X[:150], SHAKEN[:150]
    nb = ub.neighborhoods(x, 6)
    matrix, sides, value = np.zeros((150, 150)), np.zeros(y.shape), []
    for members in holdings(nb):
        center = np.eye(len(members)) - 1 / len(members)
        hx, hy = center @ x[members], center @ y[members]
        u, s, vt = np.linalg.svd(hx.T @ hy, full_matrices=False)
        frame, c = u @ vt, s.sum() / (hy**2).sum()
        weight = c**2 / (hx**2).sum()
        matrix[np.ix_(members, members)] += weight * center
        sides[members] += weight * hx @ frame / c
        value.append(((hx - c * hy @ frame.T) ** 2).sum() / (hx**2).sum())
    problem = _core.Problem(_core.Points(x), nb.core, 2, "R_C", 0).conformal(y)
    found, reached = problem.frames(y)
    np.testing.assert_allclose(found.reshape(y.shape), sides, atol=1e-10 * np.abs(sides).max())
    np.testing.assert_allclose(problem.apply(y.ravel()).reshape(y.shape), matrix @ y, atol=1e-10)
    np.testing.assert_allclose(reached, np.mean(value), rtol=1e-10)
    np.testing.assert_allclose(reached, ub.faithfulness(x, y, neighborhoods=nb).r_c, rtol=1e-10)
    again = problem.conformal(y)  # of other scales, the same scales follow
    np.testing.assert_allclose(again.frames(y)[0], found, rtol=1e-10)


def test_a_conformal_map_is_refined_with_scales():
    x, plane = fishbowl_even_in_the_plane(1500)
    nb = ub.neighborhoods(x, 10)
    start = ub.Isomap(conformal=True, neighbors_method="exact").fit(x, neighborhoods=nb).embedding_
    found = refine(x, start, neighborhoods=nb, objective="R_C", max_iter=10)
    truth, before, after = (
        ub.faithfulness(x, y, neighborhoods=nb).r_c for y in (plane, start, found.embedding)
    )
    np.testing.assert_allclose(found.history[-1], after, rtol=1e-9)
    assert after < 1.2 * truth < 0.5 * before
    assert procrustes(plane, found.embedding)[2] < 0.5 * procrustes(plane, start)[2]


def test_points_in_one_place_have_no_scale():
    x = np.repeat(X[:40], 5, axis=0)
    nb = ub.neighborhoods(x, 4)
    found = refine(x, np.zeros((200, 2)), neighborhoods=nb, objective="R_C")
    assert np.isfinite(found.embedding).all()


PINNED = np.array([3, 250, 700, 1100])


def test_fixed_points_stay_and_the_others_solve_the_dense_system():
    x, y, nb = X[:150], SHAKEN[:150], ub.neighborhoods(X[:150], 6)
    pins = np.array([2, 40, 99])
    matrix, sides, _ = textbook_step(x, y, nb, "R_N")
    free = np.setdiff1d(np.arange(150), pins)
    known = sides[free] - matrix[np.ix_(free, pins)] @ y[pins]
    expected = y.copy()
    expected[free] = np.linalg.solve(matrix[np.ix_(free, free)], known)
    problem = _core.Problem(_core.Points(x), nb.core, 2, "R_N", 0)
    held = HeldSystem(problem, Pins.of((pins, y[pins]), 150, 2).flags(150))
    found = solve(held, problem.frames(y)[0], y.ravel(), tol=1e-12).embedding.reshape(y.shape)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(y).max())
    np.testing.assert_array_equal(found[pins], y[pins])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("objective", ["R_N", "R", "R_C"])
def test_fixed_points_do_not_move(method, objective):
    places = TRUTH[PINNED] + [[0.5, 0], [0, 0.5], [-0.5, 0], [0, 0]]
    options = {"neighborhoods": NB, "method": method, "objective": objective, "fixed": (PINNED, places)}
    found = refine(X, SHAKEN, max_iter=15, **options)
    np.testing.assert_array_equal(found.embedding[PINNED], places)
    assert found.history[-1] < 0.5 * found.history[0]


def test_a_map_is_moved_to_what_is_fixed():
    """Rotated and reflected, not stretched: a map in meters keeps its lengths."""
    turned = TRUTH @ np.array([[0.6, 0.8], [0.8, -0.6]]) + [30, -7]
    found = refine(X, turned, neighborhoods=NB, fixed=(PINNED, TRUTH[PINNED]))
    assert np.sqrt(((found.embedding - TRUTH) ** 2).sum(axis=1).mean()) < 0.2
    alone = refine(X, turned, neighborhoods=NB, fixed=([5], [[1.0, 2.0]]), max_iter=0).embedding
    np.testing.assert_allclose(
        alone - alone[0], turned - turned[0], atol=1e-12
    )  # one pin says nothing of the rest


def test_each_component_is_moved_by_its_own_pins():
    x = np.concatenate([X[:300], X[:300] + np.array([1000, 0, 0])])
    nb = ub.neighborhoods(x, 8)
    y = np.concatenate([SHAKEN[:300], SHAKEN[:300]])
    begun = refine(x, y, neighborhoods=nb, fixed=([2, 50], y[[2, 50]] + 5), max_iter=0).embedding
    np.testing.assert_allclose(begun[:300], y[:300] + 5, atol=1e-9)
    np.testing.assert_array_equal(begun[300:], y[300:])


def test_a_map_takes_new_points_and_keeps_the_old():
    model = ub.ProcrustesAlignment(n_neighbors=K).fit(X[:1100])
    with_new = np.concatenate([model.embedding_, model.transform(X[1100:])])
    found = refine(X, with_new, neighborhoods=NB, fixed=(np.arange(1100), model.embedding_))
    np.testing.assert_array_equal(found.embedding[:1100], model.embedding_)
    assert procrustes(TRUTH, found.embedding)[2] < 1.1 * procrustes(TRUTH, with_new)[2]


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        (3, "fixed must be two arrays"),
        (([], np.zeros((0, 2))), "fixed holds no points: leave it out"),
        ((np.zeros(0, int), np.zeros((0, 2))), "fixed holds no points"),
        (([0.5], [[0, 0]]), "indices of fixed have shape .* and type float64"),
        (([N], [[0, 0]]), f"fixed holds point {N}, but points are numbered from 0 to {N - 1}"),
        (([-1], [[0, 0]]), "fixed holds point -1"),
        (([4, 4], [[0, 0], [1, 1]]), "fixed holds point 4 2 times"),
        (([4], [[0, 0, 0]]), r"coordinates of fixed have shape \(1, 3\): \(1, 2\) is needed"),
        (([4], [[0, np.nan]]), "coordinates of fixed.* NaN"),
    ],
)
def test_what_cannot_be_fixed(fixed, message):
    with pytest.raises(ValueError, match=message):
        refine(X, SHAKEN, neighborhoods=NB, fixed=fixed)


def textbook_means(x, y, nb, include_self):
    """Eq. 12, then eq. 13: each point moves to the mean of where its neighborhoods place it."""
    sums, counts = np.zeros(y.shape), np.zeros(len(y))
    for members in holdings(nb, include_self):
        hx = x[members] - x[members].mean(axis=0)
        u, _, vt = np.linalg.svd(hx.T @ (y[members] - y[members].mean(axis=0)), full_matrices=False)
        frame = u @ vt
        b = (x[members] - y[members] @ frame.T).mean(axis=0)
        sums[members] += (x[members] - b) @ frame
        counts[members] += 1
    return sums / counts[:, None]


@pytest.mark.parametrize("include_self", [True, False])
def test_steps_of_the_paper_are_those_of_the_textbook(include_self):
    x, y = X[:150], SHAKEN[:150]
    nb = ub.neighborhoods(x, 7)  # each point is the neighbor of another
    limits = {"guard": False, "max_iter": 4, "tol": 0, "include_self": include_self}
    found = refine(x, y, neighborhoods=nb, method="paper", objective="R", **limits)
    for _ in range(4):
        y = textbook_means(x, y, nb, include_self)
    np.testing.assert_allclose(found.embedding, y, atol=1e-10 * np.abs(y).max())


def test_momentum_gets_further_than_steps_of_the_paper():
    far = TRUTH * [1.0, 1.2]
    with_momentum, alone = (
        refine(X, far, neighborhoods=NB, method=method, max_iter=20, tol=0)
        for method in ("pointwise", "paper")
    )
    assert with_momentum.history[-1] < 0.9 * alone.history[-1]


def test_global_gets_further_than_pointwise_in_as_many_steps():
    far = TRUTH * [1.0, 1.2]
    few = {method: refine(X, far, neighborhoods=NB, method=method, max_iter=10, tol=0) for method in METHODS}
    assert few["global"].history[-1] < few["pointwise"].history[-1]


@pytest.mark.parametrize("method", METHODS)
def test_a_perfect_embedding_stays(method):
    plane = RNG.normal(size=(400, 2))
    frame = np.linalg.qr(RNG.normal(size=(5, 5)))[0][:, :2]
    found = refine(plane @ frame.T, plane, 8, method=method)
    assert found.status == "converged"
    assert found.history[-1] < 1e-25
    np.testing.assert_allclose(found.embedding, plane, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_never_worse_than_its_input(method):
    for y in (TRUTH, SHAKEN, np.zeros_like(TRUTH), RNG.normal(size=TRUTH.shape)):
        found = refine(X, y, neighborhoods=NB, method=method, max_iter=5)
        assert found.history[-1] <= found.history[0]
        assert np.isfinite(found.embedding).all()


@pytest.mark.parametrize("wide", [False, True])
def test_no_step_is_taken_that_could_gain_nothing(wide):
    x, truth = ub.datasets.swiss_roll(4000, random_state=0)
    if wide:  # there the bound costs more than it saves
        x = x @ np.linalg.qr(np.random.default_rng(0).normal(size=(20, 3)))[0].T
    nb = ub.neighborhoods(x, 12)
    near = ub.refine(x, truth, neighborhoods=nb, tol=1e-6).embedding
    m = ub.faithfulness(x, near, neighborhoods=nb)
    left = 1 - m.lower_bound / m.r_n
    assert ub.refine(x, near, neighborhoods=nb, tol=1.1 * left).n_iter == int(wide)
    assert ub.refine(x, near, neighborhoods=nb, tol=0.9 * left).n_iter >= 1


def test_the_input_is_not_written():
    y = SHAKEN.copy()
    y.flags.writeable = False
    refine(X, y, neighborhoods=NB, max_iter=2)
    assert (y == SHAKEN).all()


def test_rescaling_first():
    small = TRUTH / 50
    plain = refine(X, small, neighborhoods=NB, max_iter=3)
    scaled = refine(X, small, neighborhoods=NB, max_iter=3, rescale=True)
    assert scaled.history[0] < 0.1 * plain.history[0]
    assert value(scaled.embedding) < 1.05 * value(TRUTH)


def test_isomap_output_is_improved():
    from sklearn.manifold import Isomap

    y = Isomap(n_neighbors=K).fit_transform(X)
    found = ub.refine(X, y, neighborhoods=NB)
    assert value(found.embedding) < 0.5 * value(y)
    assert value(found.embedding) < 1.1 * value(TRUTH)


def test_normalized_output_is_improved():
    from sklearn.manifold import LocallyLinearEmbedding

    x, _ = ub.datasets.gaussian_bump(800, random_state=0)
    y = LocallyLinearEmbedding(n_neighbors=K, method="ltsa", eigen_solver="dense").fit_transform(x)
    found = ub.refine(x, y, K, rescale=True)
    assert found.history[0] < 0.2 < value(y, x=x, nb=ub.neighborhoods(x, K))
    assert found.history[-1] < 0.5 * found.history[0]


def test_wide_data_are_refined_as_if_they_were_narrow():
    frame = np.linalg.qr(RNG.normal(size=(60, 60)))[0][:, :3]
    narrow = refine(X, SHAKEN, neighborhoods=NB, max_iter=4)
    wide = refine(X @ frame.T, SHAKEN, neighborhoods=NB, max_iter=4)
    np.testing.assert_allclose(wide.history, narrow.history, rtol=1e-8)
    np.testing.assert_allclose(wide.embedding, narrow.embedding, atol=1e-7)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_dimensions(d):
    y = RNG.normal(size=(N, d))
    found = refine(X, y, neighborhoods=NB, max_iter=3)
    assert found.embedding.shape == (N, d)
    assert found.history[-1] <= found.history[0]


def test_components_stay_where_they_are():
    x = np.concatenate([X, X + 1000.0])
    y = np.concatenate([SHAKEN, SHAKEN + np.array([300.0, 0.0])])
    found = refine(x, y, K).embedding
    for piece in (slice(0, N), slice(N, 2 * N)):
        np.testing.assert_allclose(found[piece].mean(axis=0), y[piece].mean(axis=0), atol=0.05)


def test_neighborhoods_of_any_size_and_points_alone():
    graph = sp.lil_array((30, 30))
    for i in range(20):
        for step in range(1, 2 + i % 4):
            graph[i, (i + step) % 20] = 1.0
    nb = ub.Neighborhoods.from_graph(graph.tocsr())
    x, y = RNG.normal(size=(30, 3)), RNG.normal(size=(30, 2))
    found = refine(x, y, neighborhoods=nb)
    assert np.isfinite(found.embedding).all()
    np.testing.assert_array_equal(found.embedding[20:], y[20:])


def test_copies_of_one_point():
    x = np.repeat(RNG.normal(size=(40, 3)), 8, axis=0)
    for objective in OBJECTIVES:
        found = refine(x, RNG.normal(size=(320, 2)), 5, objective=objective, max_iter=5)
        assert np.isfinite(found.embedding).all()
        assert found.history[-1] <= found.history[0]


def test_single_precision():
    found = refine(X.astype(np.float32), SHAKEN.astype(np.float32), neighborhoods=NB, max_iter=3)
    expected = refine(X, SHAKEN, neighborhoods=NB, max_iter=3)
    assert found.embedding.dtype == np.float64
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-4)


def test_the_same_for_any_number_of_threads():
    ones = [refine(X, SHAKEN, neighborhoods=NB, n_jobs=jobs, max_iter=4).embedding for jobs in (1, 2, 8)]
    assert (ones[0] == ones[1]).all()
    assert (ones[0] == ones[2]).all()


# Stopping


def test_reasons_to_end():
    assert refine(X, SHAKEN, neighborhoods=NB, max_iter=0).status == "max_iter"
    assert refine(X, SHAKEN, neighborhoods=NB, max_iter=2, tol=0).status == "max_iter"
    assert refine(X, SHAKEN, neighborhoods=NB, tol=0.5).status == "converged"
    late = refine(X, SHAKEN, neighborhoods=NB, tol=0, max_iter=10**6, max_time=0.2)
    assert late.status in ("max_time", "converged")
    assert late.history[-1] <= late.history[0]


def test_the_callback_hears_the_objective_and_can_stop():
    heard = []

    def stop_after_two(stage, done, total, best):
        heard.append((stage, done, total, best))
        return done >= 2

    found = refine(X, SHAKEN, neighborhoods=NB, tol=0, max_iter=9, callback=stop_after_two)
    assert (found.status, found.n_iter) == ("stopped", 2)
    assert {entry[0] for entry in heard} == {"refine"}
    values = [entry[3] for entry in heard if entry[3] is not None]
    assert values == sorted(values, reverse=True)
    assert found.history[-1] == pytest.approx(value(found.embedding), rel=1e-9)


def test_an_interrupt_keeps_the_best():
    def interrupt_at_two(stage, done, total, best):
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(RefinementInterrupted) as caught:
        refine(X, SHAKEN, neighborhoods=NB, tol=0, callback=interrupt_at_two)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert len(caught.value.history) == 3
    assert value(caught.value.embedding) == pytest.approx(caught.value.history[-1], rel=1e-9)


CTRL_C = IMPORT + textwrap.dedent("""
    import numpy as np, unbend as ub
    n = {n}
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    nb = ub.neighborhoods(x, 12)
    y = truth + np.random.default_rng(0).normal(scale=0.01, size=truth.shape)
    ub.refine(x[:500], y[:500], 12, max_iter=1)
    strike = Strike({after})
    try:
        strike.start()
        ub.refine(x, y, neighborhoods=nb, tol=0, max_iter=10**6)
    except ub.RefinementInterrupted as interrupt:
        history = interrupt.history
        print(strike.late, history[-1] <= history[0], len(history))
""")


def late_and_better(n, after):
    code = CTRL_C.format(n=n, after=after)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    seconds, better, steps = done.stdout.split()
    return float(seconds), better == "True", int(steps)


@signals
def test_ctrl_c():
    seconds, better, steps = late_and_better(60_000, 1.0)
    assert seconds < LIMIT
    assert better
    assert steps >= 1


@pytest.mark.slow
def test_ctrl_c_among_millions():
    seconds, better, _ = late_and_better(2_000_000, 6.0)
    assert seconds < 0.4
    assert better


def test_two_refinements_at_once():
    expected = refine(X, SHAKEN, neighborhoods=NB, max_iter=4).embedding
    found = [None] * 4

    def work(i):
        found[i] = refine(X, SHAKEN, neighborhoods=NB, max_iter=4).embedding

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all((y == expected).all() for y in found)


# Errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Y": SHAKEN[:-1]}, "X has 1200 rows, but Y has 1199"),
        ({"Y": np.zeros((N, 4))}, "Y has 4 columns, more than the 3 of X"),
        ({"Y": np.full((N, 2), np.nan)}, "Y holds NaN at row 0, column 0"),
        ({"method": "both"}, "method = 'both' is unknown"),
        ({"objective": "R_PCA"}, "objective = 'R_PCA' is unknown"),
        ({"objective": "stress", "method": "paper"}, "method = 'paper' does not lower objective = 'stress'"),
        ({"tol": -1}, "tol = -1 is out of range"),
        ({"tol": np.nan}, "tol = nan is out of range"),
        ({"max_time": 0}, "max_time = 0 is out of range"),
        ({"max_iter": -1}, "max_iter = -1 is too few"),
        ({"n_neighbors": 5}, "not several of them"),
        ({"callback": 3}, "callback = 3 cannot be called"),
    ],
)
def test_errors(change, message):
    arguments = {"X": X, "Y": SHAKEN, "neighborhoods": NB} | change
    with pytest.raises(ValueError, match=message):
        refine(**arguments)


# ---------------------------------------------------------------------------- the guard


def clusters(n=480, seed=0):
    """Clusters of eight dimensions, set side by side in the plane as tools for clusters do."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 6
    x = rng.normal(size=(n, 8)) + 12 * np.eye(8)[label]
    inside = (x - 12 * np.eye(8)[label])[:, 6:]
    return x, 0.3 * inside + 4 * np.column_stack([np.cos(label), np.sin(label)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [0.2, 0.5, 1.0])
def test_the_guard_keeps_what_lies_near(method, unit):
    x, y = clusters()
    y = unit * y
    free, found = (ub.refine(x, y, 10, method=method, guard=guard) for guard in (False, True))
    start, ruined, kept = (ub.metrics.trustworthiness(x, z, 10) for z in (y, free.embedding, found.embedding))
    assert ruined < start - 0.05
    assert kept >= start - 0.005
    assert ub.metrics.overlap(x, found.embedding, 10) <= ub.metrics.overlap(x, y, 10) + 0.005
    assert found.history[-1] < found.history[0]
    assert found.status == "guarded"
    assert "trustworthiness from" in found.refused
    assert free.refused == ""


def test_the_guard_changes_nothing_where_no_harm_is_done():
    free, found = (refine(X, SHAKEN, neighborhoods=NB, guard=guard) for guard in (False, True))
    assert np.array_equal(free.embedding, found.embedding)
    assert (found.status, found.refused) == (free.status, "")


# ---------------------------------------------------------------------------- the stress of geodesic distances


def textbook_stress(x, y, nb, landmarks):
    """Stress, and the Guttman transform by a dense pseudo-inverse, of pairs with at least one landmark."""
    graph = sp.csr_array(nb.to_graph())
    paths = sp.csgraph.shortest_path(graph, directed=False)
    n, longest = len(x), graph.data.max()
    matrix, sides, missed, total = np.zeros((n, n)), np.zeros(y.shape), 0.0, 0.0
    for i in range(n):
        for j in range(i):
            if not (landmarks[i] or landmarks[j]) or np.isinf(paths[i, j]):
                continue
            weight = 1 / max(paths[i, j], 1e-3 * longest)
            apart = y[i] - y[j]
            shown = np.linalg.norm(apart)
            missed += weight * (shown - paths[i, j]) ** 2
            total += weight * paths[i, j] ** 2
            step = np.eye(n)[i] - np.eye(n)[j]
            matrix += weight * np.outer(step, step)
            sides += weight * paths[i, j] / shown * np.outer(step, apart)
    return missed / total, matrix, sides


@pytest.mark.parametrize("held", [[], [2, 3, 31, 59]])
@pytest.mark.parametrize("whole", [True, False])
def test_steps_of_stress_are_those_of_the_textbook(whole, held, monkeypatch):
    x, y = X[:60], SHAKEN[:60] - SHAKEN[:60].mean(axis=0)
    nb = ub.neighborhoods(x, 8)
    assert nb.n_connected_components == 1
    if not whole:
        monkeypatch.setattr("unbend.fit.trust.weighted.MAX_WHOLE_POINTS", 10)
        monkeypatch.setattr("unbend.fit.trust.weighted.LANDMARKS", 7)
    problem = Problem(_core.Points(x), nb, 2)
    pins = Pins.of((held, y[held]), 60, 2) if held else None
    target = GeodesicStress(problem, pins)
    landmarks = np.isin(np.arange(60), target.landmarks)
    assert landmarks.sum() == (60 if whole else 7)
    value, matrix, sides = textbook_stress(x, y, nb, landmarks)
    moved, free = y.copy(), np.setdiff1d(np.arange(60), held)
    inner = matrix[np.ix_(free, free)]
    moved[free] += np.linalg.pinv(inner, hermitian=True) @ (sides - matrix @ y)[free]
    system, reached = target.at(y.ravel())
    np.testing.assert_allclose(reached, value, rtol=1e-5)  # paths have single precision
    found = target.moved(system, y.ravel(), lambda: None).reshape(y.shape)
    np.testing.assert_allclose(found, moved, atol=1e-5 * np.abs(moved).max())


def test_stress_is_least_where_scikit_learn_finds_it():
    """Their SMACOF has equal weights, so a graph whose paths all have one length is compared."""
    x = np.eye(12) * 3.0
    nb = ub.neighborhoods(x, 11)
    start = RNG.normal(size=(12, 2))
    found = refine(x, start, neighborhoods=nb, objective="stress", guard=False, max_iter=3000, tol=1e-9)
    from sklearn.manifold import smacof

    paths = 3 * np.sqrt(2) * (1 - np.eye(12))
    _, least = smacof(
        paths, n_components=2, init=start, n_init=1, max_iter=3000, eps=1e-12, normalized_stress=False
    )
    ours = found.history[-1] * (paths**2).sum() / 2
    np.testing.assert_allclose(ours, least, rtol=0.05)


def test_stress_straightens_what_isomap_bends():
    truth = RNG.random((900, 2)) * [6.0, 2.0]
    truth = truth[np.abs(truth - [3.0, 1.0]).max(axis=1) > 0.6]
    x = np.column_stack([truth, np.zeros(len(truth))]) + RNG.normal(scale=0.03, size=(len(truth), 3))
    start = ub.Isomap(n_neighbors=10).fit_transform(x)
    found = refine(x, start, n_neighbors=10, objective="stress")
    assert all(after <= before for before, after in zip(found.history, found.history[1:], strict=False))
    assert found.history[-1] < 0.7 * found.history[0]
    assert procrustes(truth, found.embedding)[2] < 0.7 * procrustes(truth, start)[2]
    assert (found.objective, found.n_iter) == ("stress", len(found.history) - 1)


def test_stress_from_landmarks_is_nearly_that_of_all_points(monkeypatch):
    start = ub.Isomap(n_neighbors=K).fit_transform(X)
    whole = refine(X, start, neighborhoods=NB, objective="stress").embedding
    monkeypatch.setattr("unbend.fit.trust.weighted.MAX_WHOLE_POINTS", 100)
    fewer = refine(X, start, neighborhoods=NB, objective="stress").embedding
    assert procrustes(whole, fewer)[2] < 1e-4


@pytest.mark.parametrize("most", [10, 5000])
def test_components_and_copies_have_a_stress(most, monkeypatch):
    monkeypatch.setattr("unbend.fit.trust.weighted.MAX_WHOLE_POINTS", most)
    x = np.concatenate([X[:300], X[:3], X[:200] + 500.0, [[1e4, 0.0, 0.0]]])
    nb = ub.neighborhoods(x[:-1], 8)
    nb = ub.Neighborhoods(nb.indices, indptr=np.append(nb.indptr, nb.indptr[-1]))
    y = np.concatenate([SHAKEN[:300], SHAKEN[:3], SHAKEN[:200] + 90.0, [[7.0, 7.0]]])
    found = refine(x, y, neighborhoods=nb, objective="stress")
    assert np.isfinite(found.embedding).all()
    assert found.history[-1] < 0.5 * found.history[0]
    for label in range(nb.n_connected_components):
        rows = nb.component_labels == label
        np.testing.assert_allclose(found.embedding[rows].mean(axis=0), y[rows].mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(found.embedding[-1], [7.0, 7.0])


@pytest.mark.parametrize("most", [10, 5000])
def test_fixed_points_stay_while_stress_falls(most, monkeypatch):
    monkeypatch.setattr("unbend.fit.trust.weighted.MAX_WHOLE_POINTS", most)
    rows = np.arange(0, N, 37)
    fixed = rows, TRUTH[rows]
    found = refine(X, SHAKEN, neighborhoods=NB, objective="stress", fixed=fixed)
    assert np.array_equal(found.embedding[rows], TRUTH[rows])
    assert found.history[-1] < 0.5 * found.history[0]


def test_stress_is_the_same_for_any_number_of_threads():
    one, two = (refine(X, SHAKEN, neighborhoods=NB, objective="stress", n_jobs=j).embedding for j in (1, 2))
    assert np.array_equal(one, two)


def test_stress_that_is_stopped_keeps_the_best():
    found = refine(X, SHAKEN, neighborhoods=NB, objective="stress", callback=lambda *_: True)
    assert (found.status, found.n_iter, found.history) == ("stopped", 0, [])
    assert np.array_equal(found.embedding, SHAKEN)
    last = []

    def callback(stage, done, total, best):
        last.append(best)
        return stage == "refine" and done == 2

    found = refine(X, SHAKEN, neighborhoods=NB, objective="stress", tol=0, callback=callback)
    assert (found.status, found.n_iter) == ("stopped", 2)
    assert found.history[-1] == last[-1]


def folded(coordinates, at):
    """A sheet whose end lies on the rest of it."""
    y = coordinates + RNG.normal(scale=1e-3, size=coordinates.shape)
    over = y[:, 0] > at
    y[over, 0] = 2 * at - y[over, 0]
    return y


@pytest.mark.parametrize("at", [2.6, 2.2])
def test_the_overlap_of_a_folded_sheet_falls(at):
    coordinates = RNG.random((800, 2)) * [3.0, 1.0]
    x, start = np.column_stack([coordinates, np.sin(coordinates[:, 0])]), folded(coordinates, at)
    found = refine(x, start, 10, objective="stress")
    before, after = (ub.metrics.overlap(x, y, 10) for y in (start, found.embedding))
    assert before > 0.005
    assert after < 0.1 * before
    by_frames = refine(x, start, 10)
    assert ub.metrics.overlap(x, by_frames.embedding, 10) > 0.5 * before
    assert procrustes(coordinates, found.embedding)[2] < 0.05


def test_the_guard_watches_stress():
    x, y = clusters()
    found = ub.refine(x, y, 10, objective="stress")
    assert ub.metrics.trustworthiness(x, found.embedding, 10) >= ub.metrics.trustworthiness(x, y, 10) - 0.005
