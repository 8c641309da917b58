"""Embeddings: what they reach, what they refuse, and that nothing is left behind."""

import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupting import IMPORT, LIMIT, signals
from scipy.spatial import cKDTree, procrustes
from unbend import _core
from unbend.core import memory
from unbend.fit import problem as problems
from unbend.fit.procrustes import greedy

N = 1500
STAGES = ["neighbors", "tangents", "greedy", "refine", "evidence", "faithfulness"]


def roll(n=N, seed=0, **options):
    return ub.datasets.swiss_roll(n, random_state=seed, **options)


def cloud(n=100, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def fit(x, neighborhoods=None, **options):
    return ub.GreedyProcrustes(**{"random_state": 0, **options}).fit(x, neighborhoods=neighborhoods)


def two_rolls(n=3000):
    x, _ = roll(n)
    return np.concatenate([x, roll(n // 2, seed=1)[0] + 200])


@pytest.fixture(scope="module")
def x():
    return roll()[0]


@pytest.fixture(scope="module")
def gp(x):
    return fit(x)


# What it reaches


@pytest.mark.parametrize("seed", range(3))
def test_a_roll_is_unrolled(seed):
    x, coordinates = roll(4000, seed)
    gp = fit(x, random_state=seed)
    assert gp.faithfulness_.r_n < 1.05 * gp.faithfulness_.lower_bound
    assert procrustes(coordinates, gp.embedding_)[2] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_points_from_any_seed(seed):
    x, coordinates = roll(10_000, seed)
    gp = fit(x, n_neighbors=12, random_state=seed)
    assert gp.faithfulness_.r_n < 1.05 * gp.faithfulness_.lower_bound
    assert procrustes(coordinates, gp.embedding_)[2] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("n", [1600, 100_000, 1_000_000])
def test_rolls_of_any_size(n):
    x, coordinates = roll(n)
    gp = fit(x, n_neighbors=12)
    assert gp.faithfulness_.r_n < 1.05 * gp.faithfulness_.lower_bound
    assert procrustes(coordinates, gp.embedding_)[2] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_few_neighbors_and_many_starts(seed):
    x, _ = roll(10_000, seed)
    assert fit(x, n_neighbors=8, n_init=8, random_state=seed).faithfulness_.r_n < 0.002


@pytest.mark.parametrize("seed", range(3))
def test_a_noisy_roll(seed):
    """0.0926 is what a plain prototype reached, where LTSA, LLE and Isomap fail or warp."""
    x, coordinates = roll(2500, seed, noise=0.5)
    gp = fit(x, n_neighbors=15, random_state=seed)
    assert gp.faithfulness_.r_n < 1.05 * 0.0926
    assert procrustes(coordinates, gp.embedding_)[2] < 5e-3


def test_long_chains_of_steps_under_noise_do_not_drift():
    x, coordinates = roll(20_000, noise=0.3)
    gp = fit(x, n_neighbors=12, tangent_neighbors=60)
    assert procrustes(coordinates, gp.embedding_)[2] <= 1e-3


def test_greedy_alone_is_near(x):
    gp = fit(x, refine=None)
    assert gp.faithfulness_.r_n < 3 * gp.faithfulness_.lower_bound
    assert gp.refinement_ is None
    assert gp.n_iter_ == 0


def test_refinement_lowers_the_objective(x, gp):
    alone = fit(x, refine=None).faithfulness_.r_n
    history = gp.refinement_.history
    assert history[0] == pytest.approx(alone, rel=1e-9)
    assert history[-1] == pytest.approx(gp.faithfulness_.r_n, rel=1e-9)
    assert (np.diff(history) <= 0).all()
    assert gp.n_iter_ == gp.refinement_.n_iter


@pytest.fixture
def assembling(monkeypatch):
    """Eq. 11 is solved for any clean data, not only for those of many points."""
    monkeypatch.setattr(greedy, "ASSEMBLED_RATIOS", (1.0, 2.0))


@pytest.mark.usefixtures("assembling")
@pytest.mark.parametrize("seed", range(3))
def test_clean_data_leave_nothing_to_refine(seed):
    """Eq. 11 for the frames of the greedy steps is nearer to the bound than the best of them."""
    clean, coordinates = roll(3000, seed=seed)
    gp = fit(clean, random_state=seed, refine_tol=0.02)
    m = gp.faithfulness_
    assert gp.refinement_.status == "converged"
    assert gp.n_iter_ == 0
    assert gp.refinement_.history == [m.r_n]
    assert m.r_n - m.lower_bound < 0.5 * (gp.trace_["r_n"].min() - m.lower_bound)
    assert procrustes(coordinates, gp.embedding_)[2] < 1e-4


@pytest.mark.usefixtures("assembling")
@pytest.mark.parametrize("options", [{}, {"refine": "pointwise"}, {"refine_max_iter": 0}, {"n_init": 1}])
def test_other_refinements_begin_with_the_greedy_steps(options):
    """Eq. 11 counts only if it reaches the tolerance, and only for steps of all points."""
    x, _ = roll(3000)
    alone = fit(x, refine=None, **{"n_init": options.get("n_init", 4)}).faithfulness_.r_n
    assert fit(x, **options).refinement_.history[0] == pytest.approx(alone, rel=1e-9)


@pytest.mark.usefixtures("assembling")
def test_the_objective_of_many_points_is_exact(monkeypatch):
    """Some neighborhoods decide that nothing is left to refine, but the record is that of all."""
    monkeypatch.setattr(problems, "MAX_ROUGH_POINTS", 500)
    gp = fit(roll(3000, seed=1)[0], refine_tol=0.05)
    assert gp.n_iter_ == 0
    assert gp.refinement_.history == [gp.faithfulness_.r_n]


@pytest.mark.parametrize("refine", ["global", "pointwise"])
@pytest.mark.parametrize("objective", ["R", "R_N"])
def test_refinements(x, refine, objective):
    gp = fit(x, refine=refine, objective=objective)
    field = {"R": "r", "R_N": "r_n"}[objective]
    alone = getattr(fit(x, refine=None).faithfulness_, field)
    assert getattr(gp.faithfulness_, field) <= alone * (1 + 1e-9)
    assert gp.refinement_.objective == objective


def test_how_long_to_refine(x):
    assert fit(x, refine_max_iter=1, refine_tol=0).n_iter_ == 1
    assert fit(x, refine_max_iter=0).n_iter_ == 0
    assert fit(x, refine_tol=0.9).n_iter_ < fit(x, refine_tol=1e-6).n_iter_


def test_a_plane_comes_back_as_it_was():
    flat = cloud(300, 2)
    x = flat @ np.linalg.qr(cloud(7, 7))[0][:2] + 5
    gp = fit(x)
    assert gp.faithfulness_.r_n < 1e-20
    assert procrustes(flat, gp.embedding_)[2] < 1e-20
    np.testing.assert_allclose(gp.embedding_.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(gp.inverse_transform(gp.transform(x + 0.0)), x, atol=1e-12)


@pytest.mark.parametrize("tangent_neighbors", [6, 12, 40])
def test_tangents_from_more_or_fewer_neighbors(tangent_neighbors):
    x, coordinates = roll(3000, noise=0.2)
    gp = fit(x, tangent_neighbors=tangent_neighbors)
    assert gp.neighborhoods_.n_neighbors == 12
    nb = ub.neighborhoods(x, 12)
    np.testing.assert_array_equal(gp.neighborhoods_.indices, nb.indices)
    np.testing.assert_array_equal(gp.neighborhoods_.distances, nb.distances)
    assert gp.embedding_.shape == coordinates.shape


def test_wide_tangents_help_under_noise():
    x, coordinates = roll(5000, noise=0.4)
    narrow, wide = (
        procrustes(coordinates, fit(x, refine=None, tangent_neighbors=t).embedding_)[2] for t in (None, 60)
    )
    assert wide < narrow


def test_tangents_as_many_as_neighbors_are_the_default(x, gp):
    np.testing.assert_array_equal(fit(x, tangent_neighbors=12).embedding_, gp.embedding_)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_dimensions(d):
    x = cloud(200, 3) * [4, 2, 1]
    gp = fit(x, n_components=d)
    assert gp.embedding_.shape == (200, d)
    assert gp.faithfulness_.r_n >= gp.faithfulness_.lower_bound * (1 - 1e-9)
    if d == 3:
        assert gp.faithfulness_.r_n < 1e-20


def test_wide_data():
    x = roll(600)[0] @ cloud(3, 90, seed=4)
    assert fit(x, n_components=2).embedding_.shape == (600, 2)


# What it learns


def test_what_is_learnt(x, gp):
    assert gp.embedding_.shape == (N, 2)
    assert gp.embedding_.dtype == np.float64
    assert gp.X_fit_ is x
    assert gp.n_features_in_ == 3
    assert gp.n_neighbors_ == 12
    assert (gp.component_labels_ == 0).all()
    np.testing.assert_array_equal(gp.neighborhoods_.indices, ub.neighborhoods(x).indices)
    again = ub.faithfulness(x, gp.embedding_)
    assert again.to_dict() == gp.faithfulness_.to_dict()
    assert gp.refinement_.embedding is gp.embedding_
    assert [stage for stage in gp.timings_ if stage != "charts"] == STAGES
    assert min(gp.timings_.values()) >= 0


def test_the_trace(gp):
    assert len(gp.trace_["r_n"]) == 4
    assert len(gp.trace_["traces"]) == 4
    assert gp.trace_["kept"].tolist() == [np.argmin(gp.trace_["r_n"])]
    assert all(trace["steps"] > 10 for trace in gp.trace_["traces"])


def test_principal_axes(gp):
    covariance = np.cov(gp.embedding_.T)
    assert covariance[0, 0] > covariance[1, 1]
    assert abs(covariance[0, 1]) < 1e-9 * covariance[0, 0]


def test_more_starts_are_never_worse():
    x, _ = roll(800)
    few, many = (fit(x, n_neighbors=8, n_init=s, refine=None).faithfulness_.r_n for s in (1, 6))
    assert many <= few


def test_a_start_can_be_chosen(x):
    one, other = (fit(x, start=s, n_init=1, refine=None).embedding_ for s in (7, 900))
    np.testing.assert_array_equal(one, fit(x, start=7, n_init=1, refine=None, random_state=5).embedding_)
    assert (one != other).any()


def test_given_neighborhoods_are_used(x, gp):
    nb = ub.neighborhoods(x, 12)
    again = fit(x, neighborhoods=nb)
    assert again.neighborhoods_ is nb
    assert "neighbors" not in again.timings_
    np.testing.assert_array_equal(again.embedding_, gp.embedding_)
    foreign = ub.Neighborhoods.from_knn(nb.indices.reshape(-1, 12))
    np.testing.assert_array_equal(fit(x, neighborhoods=foreign).embedding_, gp.embedding_)
    fit(x, neighborhoods=nb, tangent_neighbors=30)


def test_neighborhoods_of_any_size():
    x, _ = roll(2000)
    nb = ub.neighborhoods(x, radius=3.0)
    assert nb.n_connected_components == 1
    gp = fit(x, neighborhoods=nb)
    assert gp.faithfulness_.r_n < 0.05
    assert gp.n_neighbors_ == round(nb.sizes.mean())
    assert gp.transform(x[:3] + 0.01).shape == (3, 2)


# The same bits


def test_the_same_for_any_number_of_threads(x, gp):
    for n_jobs in (1, 2, 8):
        again = fit(x, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.embedding_, gp.embedding_)
        new = x[:50] + 0.1
        np.testing.assert_array_equal(again.transform(new), gp.transform(new))
        np.testing.assert_array_equal(again.inverse_transform(new[:, :2]), gp.inverse_transform(new[:, :2]))


def test_seeds(x):
    one, same, other = (fit(x, random_state=s, n_init=1, refine=None).embedding_ for s in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    for make in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(
            fit(x, random_state=make(3)).embedding_, fit(x, random_state=make(3)).embedding_
        )


def test_fitting_again_is_fitting(x, gp):
    again = fit(cloud(200, 5)).set_params(n_neighbors=12).fit(x)
    np.testing.assert_array_equal(again.embedding_, gp.embedding_)
    assert again.n_features_in_ == 3


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(">f8"),
        lambda x: x.tolist(),
    ],
)
def test_layouts(x, gp, layout):
    np.testing.assert_array_equal(fit(layout(x)).embedding_, gp.embedding_)
    np.testing.assert_array_equal(gp.transform(layout(x)), gp.embedding_)


def test_read_only_data_and_nothing_is_written(x):
    frozen = x.copy()
    frozen.flags.writeable = False
    gp = fit(frozen)
    assert gp.X_fit_ is frozen
    gp.transform(frozen[:3])
    np.testing.assert_array_equal(frozen, x)


def test_single_precision_stays_single(x):
    single = x.astype(np.float32)
    gp = fit(single)
    assert gp.X_fit_ is single
    np.testing.assert_array_equal(gp.transform(single), gp.embedding_)
    np.testing.assert_array_equal(gp.transform(single.astype(float)), gp.embedding_)
    np.testing.assert_array_equal(fit(single.astype(float)).embedding_, gp.embedding_)


# New points


def test_fitted_points_come_out_where_they_are(x, gp):
    np.testing.assert_array_equal(gp.transform(x), gp.embedding_)
    np.testing.assert_array_equal(gp.transform(x[100:200]), gp.embedding_[100:200])
    np.testing.assert_array_equal(gp.transform(x[[5]]), gp.embedding_[[5]])
    np.testing.assert_array_equal(gp.inverse_transform(gp.embedding_), x)
    np.testing.assert_array_equal(gp.inverse_transform(gp.embedding_[7:9]), x[7:9])
    placed, errors = gp.transform(x, return_error=True)
    np.testing.assert_array_equal(placed, gp.embedding_)
    assert (errors == 0).all()


def test_the_result_is_a_copy(x):
    gp = fit(x)
    before = gp.embedding_.copy()
    gp.transform(x)[:] = 0
    gp.inverse_transform(gp.embedding_)[:] = 0
    np.testing.assert_array_equal(gp.embedding_, before)
    np.testing.assert_array_equal(gp.X_fit_, roll()[0])


def test_copies_of_points_come_out_as_fitted():
    x = np.repeat(cloud(60), 3, axis=0)
    gp = fit(x)
    np.testing.assert_array_equal(gp.transform(x), gp.embedding_)


def residuals(gp, x):
    """What of each neighborhood lies outside its tangent: the length of the local PCA residual."""
    members = np.c_[np.arange(len(x)), gp.neighborhoods_.indices.reshape(len(x), -1)]
    size2 = ((x[members] - x[members].mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    return np.sqrt(ub.charts(x, 2, neighborhoods=gp.neighborhoods_).residual_fraction * size2)


def test_held_out_points():
    n = 20_000
    x, coordinates = roll(n + 1000)
    gp = fit(x[:n])
    placed, errors = gp.transform(x[n:], return_error=True)
    gap, nearest = cKDTree(x[:n]).query(x[n:])
    # Chords are shorter than arcs: the whole embedding is smaller than the truth by a hair.
    center = coordinates[:n].mean(axis=0)
    u, s, vt = np.linalg.svd(gp.embedding_.T @ (coordinates[:n] - center))
    turn = u @ vt * (s.sum() / np.sum(gp.embedding_**2))
    far = np.linalg.norm(placed @ turn + center - coordinates[n:], axis=1)
    assert far.mean() < 0.05 * gap.mean()
    steps = (placed - gp.embedding_[nearest]) @ turn - (coordinates[n:] - coordinates[nearest])
    assert np.linalg.norm(steps, axis=1).mean() < 0.005 * gap.mean()
    assert errors.shape == (1000,)
    assert (errors > 0).all()
    back = gp.inverse_transform(placed)
    assert np.linalg.norm(back - x[n:], axis=1).mean() < residuals(gp, x[:n])[nearest].mean()


def test_order_and_company_of_new_points_do_not_matter(x, gp):
    new = x[:40] + 0.05
    placed, errors = gp.transform(new, return_error=True)
    turned, turned_errors = gp.transform(new[::-1], return_error=True)
    np.testing.assert_array_equal(turned[::-1], placed)
    np.testing.assert_array_equal(turned_errors[::-1], errors)
    np.testing.assert_array_equal(gp.transform(new[3:4]), placed[3:4])


def test_new_points_go_with_the_component_of_their_nearest_point():
    left, right = cloud(200, 2), cloud(9, 2, seed=1) * 0.01 + [3.2, 0]
    x = np.concatenate([left, right])
    labels = np.r_[np.zeros(200, int), np.ones(9, int)]
    graph = sp.csr_array(
        sp.block_diag(
            [
                ub.neighborhoods(left, 12).to_graph(),
                ub.neighborhoods(right, 5).to_graph(),
            ]
        )
    )
    with pytest.warns(ub.DisconnectedWarning):
        gp = fit(x, neighborhoods=ub.Neighborhoods.from_graph(graph))
    np.testing.assert_array_equal(gp.component_labels_, labels)
    new = right[:3] + 0.001
    placed = gp.transform(new)
    own = gp.embedding_[200:]
    for point, image in zip(new, placed, strict=True):
        np.testing.assert_allclose(
            np.linalg.norm(own - image, axis=1), np.linalg.norm(right - point, axis=1), atol=1e-9
        )
    np.testing.assert_allclose(gp.inverse_transform(placed), new, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "points", "message"),
    [
        ("transform", np.zeros((3, 2)), "X has 2 features, but GreedyProcrustes is expecting 3"),
        ("transform", np.zeros(3), "two dimensions"),
        ("transform", np.full((2, 3), np.nan), "NaN"),
        ("transform", [[0.0, np.inf, 0.0]], "inf"),
        ("inverse_transform", np.zeros((3, 3)), "X has 3 columns, but the embedding has 2"),
        ("inverse_transform", np.zeros(3), "two dimensions"),
        ("inverse_transform", np.full((2, 2), np.nan), "NaN"),
        ("transform", np.zeros((0, 3)), "0 sample"),
    ],
)
def test_points_that_cannot_be_placed(gp, method, points, message):
    with pytest.raises(ValueError, match=message):
        getattr(gp, method)(points)


# Components


def test_two_rolls_lie_side_by_side():
    x = two_rolls()
    with pytest.warns(ub.DisconnectedWarning, match=r"2 components, of 3,000, 1,500 points: each"):
        gp = fit(x)
    assert gp.component_labels_.tolist() == [0] * 3000 + [1] * 1500
    first, second = gp.embedding_[:3000], gp.embedding_[3000:]
    assert first[:, 0].max() < second[:, 0].min() or first[:, 1].max() < second[:, 1].min()
    assert gp.faithfulness_.r_n < 1.2 * gp.faithfulness_.lower_bound
    np.testing.assert_array_equal(gp.transform(x), gp.embedding_)
    np.testing.assert_array_equal(gp.transform(x[2990:3010]), gp.embedding_[2990:3010])


def test_components_can_be_refused():
    with pytest.raises(ValueError, match=r"2 components, of 3,000, 1,500 points: raise n_neighbors"):
        fit(two_rolls(), disconnected="error")


def test_many_components_are_not_all_listed():
    x = np.concatenate([cloud(20) + 100 * i for i in range(9)])
    with pytest.warns(ub.DisconnectedWarning, match=r"9 components, of 20, 20, 20, 20, 20 and fewer points"):
        fit(x, n_neighbors=6)


def test_the_warning_points_to_the_caller():
    with pytest.warns(ub.DisconnectedWarning) as found:
        ub.GreedyProcrustes(n_neighbors=6).fit(two_rolls(200))
    assert found[0].filename == __file__


# Degenerate data


def finite(gp, x):
    assert np.isfinite(gp.embedding_).all()
    np.testing.assert_array_equal(gp.transform(x), gp.embedding_)
    assert np.isfinite(gp.transform(x + 0.5)).all()
    assert np.isfinite(gp.inverse_transform(gp.embedding_ + 0.5)).all()


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
@pytest.mark.parametrize("refine", ["global", "pointwise", None])
@pytest.mark.parametrize(
    "x",
    [
        cloud(13, 3),
        cloud(13, 2),
        np.zeros((30, 3)),
        np.outer(np.arange(60.0), [1, 2, 3]),
        np.outer(np.arange(60.0), [1, 0, 0]),
        np.repeat(cloud(5), 20, axis=0),
        np.concatenate([np.zeros((40, 3)), cloud(40)]),
        cloud(40) * 1e-200,
        cloud(40) * 1e140,
        cloud(40, 2) + 1e9,
        np.stack(np.meshgrid(np.arange(8.0), np.arange(9.0)), -1).reshape(-1, 2),
    ],
    ids=[
        "n = k + 1",
        "n = k + 1, d = q",
        "one spot",
        "a line",
        "an axis",
        "copies",
        "a spot in a cloud",
        "tiny",
        "huge",
        "far away",
        "a grid",
    ],
)
def test_degenerate(x, refine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.DisconnectedWarning)
        gp = fit(x, refine=refine)
    finite(gp, x)


def test_a_line_keeps_its_length():
    gp = fit(np.outer(np.arange(60.0), [2, 2, 1]), n_neighbors=4)
    assert np.ptp(gp.embedding_[:, 0]) == pytest.approx(3 * 59, rel=1e-6)
    assert np.ptp(gp.embedding_[:, 1]) < 1e-6


def test_a_star():
    hub = np.zeros((1, 3))
    rays = np.concatenate([np.outer(np.arange(1.0, 15), direction) for direction in cloud(7)])
    x = np.concatenate([hub, rays])
    graph = sp.lil_array((len(x), len(x)))
    graph[1:, 0] = graph[0, 1:] = 1
    finite(fit(x, neighborhoods=ub.Neighborhoods.from_graph(graph.tocsr(), weights="none")), x)


def test_points_that_nobody_lists():
    x = cloud(50, 2)
    graph = np.zeros((50, 50))
    graph[np.arange(1, 50), np.arange(49)] = graph[np.arange(2, 50), np.arange(48)] = 1
    graph[np.arange(3, 50), np.arange(47)] = 1
    finite(fit(x, neighborhoods=ub.Neighborhoods.from_graph(sp.csr_array(graph), weights="none")), x)


def test_points_alone():
    x = np.concatenate([cloud(40, 2), [[50.0, 50.0], [90.0, 90.0]]])
    nb = ub.neighborhoods(x, radius=3.0)
    with pytest.warns(ub.DisconnectedWarning, match="3 components, of 40, 1, 1 points"):
        gp = fit(x, neighborhoods=nb)
    finite(gp, x)


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 40),
    q=st.integers(1, 6),
    d=st.integers(1, 4),
    k=st.integers(1, 14),
    kind=st.sampled_from(["cloud", "lattice", "copies", "line"]),
    tangent=st.sampled_from(["neighborhood", "overlap", "paper"]),
    refine=st.sampled_from(["global", "pointwise", "paper", None]),
)
def test_anything_gives_something_finite(seed, n, q, d, k, kind, tangent, refine):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, q))
    if kind == "lattice":
        x = np.round(x)
    elif kind == "copies":
        x = x[rng.integers(0, max(1, n // 3), n)]
    elif kind == "line":
        x = np.outer(x[:, 0], x[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.DisconnectedWarning)
        gp = fit(
            x, n_components=min(d, q), n_neighbors=min(k, n - 1), tangent=tangent, refine=refine, n_init=2
        )
    finite(gp, x)


# What it refuses


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 4}, "n_components = 4 exceeds the 3 dimensions"),
        ({"n_components": 0}, "n_components = 0 is too few"),
        ({"n_components": 1.5}, "n_components = 1.5 is not a whole number"),
        ({"n_neighbors": 100}, "n_neighbors = 100 needs at least 101 points, got n_samples = 100"),
        ({"n_neighbors": 0}, "n_neighbors = 0 is too few"),
        ({"n_neighbors": "many"}, "n_neighbors = 'many'"),
        (
            {"tangent_neighbors": 100},
            "tangent_neighbors = 100 needs at least 101 points, got n_samples = 100",
        ),
        ({"tangent_neighbors": 0}, "tangent_neighbors = 0 is too few"),
        ({"tangent_neighbors": 20, "tangent": "overlap"}, "tangent_neighbors = 20 needs tangent"),
        ({"tangent": "plane"}, "tangent = 'plane' is unknown: use one of 'neighborhood', 'overlap', 'paper'"),
        (
            {"refine": "local"},
            "refine = 'local' is unknown: use one of 'auto', 'global', 'pointwise', 'paper', None",
        ),
        ({"objective": "R_C"}, "objective = 'R_C' is unknown"),
        ({"refine_max_iter": -1}, "refine_max_iter = -1 is too few"),
        ({"refine_tol": -0.5}, "refine_tol = -0.5 is out of range"),
        ({"disconnected": "ignore"}, "disconnected = 'ignore' is unknown"),
        ({"n_init": 0}, "n_init = 0 is too few"),
        ({"start": 100}, "start = 100 is out of range: there are 100 points"),
        ({"start": -1}, "start = -1"),
        ({"random_state": -1}, "random_state = -1"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"callback": 3}, "callback = 3 cannot be called"),
        ({"max_memory": 0}, "max_memory = 0"),
        ({"max_memory": "2 GB"}, "max_memory = '2 GB'"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        fit(cloud(), **options)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.full((20, 3), np.nan), "NaN"),
        (np.full((20, 3), np.inf), "inf"),
        (np.zeros((1, 3)), "1 sample"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros(20), "two dimensions"),
        (np.array([["a", "b"]] * 20), "X has text in columns 0, 1, such as 'a'"),
        (np.ones((20, 3), complex), "[Cc]omplex"),
    ],
)
def test_data_that_cannot_be_embedded(x, message):
    with pytest.raises(ValueError, match=message):
        fit(x)


def test_sparse_data_are_refused():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        fit(sp.csr_array(cloud()))


def test_neighborhoods_of_other_data():
    with pytest.raises(ValueError, match="n_samples = 100, but neighborhoods has 90"):
        fit(cloud(), neighborhoods=ub.neighborhoods(cloud(90)))
    with pytest.raises(TypeError, match="ndarray"):
        fit(cloud(), neighborhoods=np.zeros((100, 3)))


def test_too_little_memory_is_found_before_the_work(x, monkeypatch):
    monkeypatch.setattr(_core, "find_nearest", lambda *_, **__: pytest.fail("the work was begun"))
    needed = ub.GreedyProcrustes().memory_estimate(N, 3)
    with pytest.raises(MemoryError, match=r"The fit needs about .*B, but max_memory is 1.0 kB"):
        fit(x, max_memory=1000)
    with pytest.raises(MemoryError, match="max_memory"):
        fit(x, max_memory=needed - 1)
    monkeypatch.setattr(memory, "available", lambda: 2000)
    with pytest.raises(MemoryError, match=r"but 2.0 kB are available\. Set max_memory"):
        fit(x)


def test_enough_memory(x, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 2000)
    fit(x, max_memory=ub.GreedyProcrustes().memory_estimate(N, 3))
    monkeypatch.setattr(memory, "available", lambda: None)
    fit(x)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(x, gp):
    estimator = fit(x)
    before = dict(vars(estimator))
    for bad in (np.full((20, 5), np.nan), cloud(100, 1), cloud(1, 5)):
        with pytest.raises(ValueError, match=r"NaN|n_components|1 sample"):
            estimator.fit(bad)
        assert vars(estimator) == before
    new = ub.GreedyProcrustes()
    with pytest.raises(ValueError, match="NaN"):
        new.fit(np.full((20, 5), np.nan))
    assert vars(new) == vars(ub.GreedyProcrustes())


# Progress and stopping


def test_the_callback_hears_of_every_stage(x):
    heard = []
    fit(x, callback=lambda *report: heard.append(report))
    stages = list(dict.fromkeys(stage for stage, *_ in heard))
    assert [stage for stage in stages if stage != "charts"] == [
        "neighbors",
        "tangents",
        "greedy",
        "refine",
        "evidence",
        "faithfulness",
    ]
    for stage, done, total, best in heard:
        assert 0 <= done <= total, stage
        assert best is None or best > 0
    assert heard[0] == ("neighbors", 0, N, None)
    assert heard[-1][:3] == ("faithfulness", N, N)
    best = [report[3] for report in heard if report[3] is not None]
    assert (np.diff(best) <= 0).all()


def test_long_stages_are_reported_on_the_way():
    heard = []
    x, _ = roll(200_000)
    gp = fit(x, n_init=1, refine=None, callback=lambda *report: heard.append(report))
    assert list(gp.timings_) == ["neighbors", "tangents", "charts", "greedy", "evidence", "faithfulness"]
    for stage in ("neighbors", "greedy"):
        done = [report[1] for report in heard if report[0] == stage]
        assert len(done) > 2, stage
        assert (np.diff(done) >= 0).all(), stage


@pytest.mark.parametrize("stage", ["neighbors", "greedy"])
def test_a_stop_before_there_is_an_embedding(x, stage):
    estimator = ub.GreedyProcrustes(callback=lambda now, *_: now == stage)
    with pytest.raises(ub.Stopped, match=f"stopped the fit in its stage {stage}, at 0 of "):
        estimator.fit(x)
    assert [name for name in vars(estimator) if name.endswith("_")] == []


def test_a_stop_in_the_refinement_keeps_what_there_is(x):
    gp = fit(x, callback=lambda stage, *_: stage == "refine")
    assert gp.refinement_.status == "stopped"
    assert gp.n_iter_ <= 2
    assert gp.faithfulness_.r_n <= fit(x, refine=None).faithfulness_.r_n


def test_only_true_stops(x, gp):
    again = fit(x, callback=lambda stage, *_: "yes")
    np.testing.assert_array_equal(again.embedding_, gp.embedding_)


def test_what_a_callback_raises_gets_through(x):
    class Enough(Exception):
        pass

    def stop(stage, *_):
        raise Enough(stage)

    estimator = ub.GreedyProcrustes(callback=stop)
    with pytest.raises(Enough, match="neighbors"):
        estimator.fit(x)
    assert not hasattr(estimator, "n_features_in_")


def test_a_long_stage_is_stopped_within():
    x, _ = roll(400_000)
    asked = []

    def stop(stage, done, total, best):
        if stage == "greedy" and done > 0:
            asked.append(time.process_time())
            return True
        return None

    with pytest.raises(ub.Stopped, match="greedy"):
        fit(x, n_init=1, refine=None, callback=stop)
    # Of all threads of this process, so that a busy machine does not count.
    assert time.process_time() - asked[0] < 0.3 * (os.cpu_count() or 1)


@pytest.mark.parametrize("name", ["find_nearest", "Problem", "lay_out"])
def test_an_interrupted_fit_leaves_nothing_behind(x, monkeypatch, name):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    estimator = ub.GreedyProcrustes()
    monkeypatch.setattr(_core, name, interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(x)
    assert vars(estimator) == vars(ub.GreedyProcrustes())


@signals
def test_ctrl_c():
    code = """
import unbend as ub
x, _ = ub.datasets.swiss_roll(1_000_000, random_state=0)
ub.GreedyProcrustes
for seconds in 0.2, 1.0:
    gp = ub.GreedyProcrustes()
    strike = Strike(seconds)
    try:
        strike.start()
        gp.fit(x)
    except KeyboardInterrupt:
        print(strike.late, [name for name in vars(gp) if name.endswith("_")])
"""
    told = subprocess.run([sys.executable, "-c", IMPORT + code], capture_output=True, text=True, timeout=300)
    assert told.stderr == ""
    late, left = zip(*map(str.split, told.stdout.splitlines()), strict=True)
    assert left == ("[]", "[]")
    assert max(map(float, late)) < LIMIT


def test_verbose_says_what_it_does(x, capsys):
    fit(x, verbose=1)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [line.split()[0] for line in printed.err.splitlines()]
    assert [line for line in lines if line != "charts"] == STAGES
    fit(x)
    assert capsys.readouterr().err == ""


def test_fits_in_several_threads_do_not_meet(x, gp):
    found = [None] * 3

    def run(place):
        found[place] = fit(x).embedding_

    threads = [threading.Thread(target=run, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for embedding in found:
        np.testing.assert_array_equal(embedding, gp.embedding_)


# Memory


def test_the_estimate_grows_with_what_is_asked():
    estimate = ub.GreedyProcrustes().memory_estimate
    # A net of tangents, which noise may ask for, has a largest size: ten times the points take a little less.
    assert 8 * estimate(10**5, 3) < estimate(10**6, 3) <= 10 * estimate(10**5, 3)
    assert estimate(10**6, 3, np.float32) <= estimate(10**6, 3)
    assert estimate(10**6, 3) < estimate(10**6, 300)
    assert estimate(10**6, 3) < 1.5e9
    assert estimate(10**7, 3) < 12e9
    for larger in ({"n_neighbors": 40}, {"n_init": 30}, {"n_components": 3}):
        assert ub.GreedyProcrustes(**larger).memory_estimate(10**6, 3) > estimate(10**6, 3)
    tangents = ub.GreedyProcrustes(tangent_neighbors=150, refine=None, n_init=1)
    plain = ub.GreedyProcrustes(refine=None, n_init=1)
    assert tangents.memory_estimate(10**6, 3) > plain.memory_estimate(10**6, 3)


def test_the_estimate_needs_sizes():
    with pytest.raises(ValueError, match="n = 0"):
        ub.GreedyProcrustes().memory_estimate(0, 3)
    with pytest.raises(ValueError, match="q = 'x'"):
        ub.GreedyProcrustes().memory_estimate(10, "x")


# Imports


def test_scikit_learn_waits_until_it_is_needed():
    code = """
import sys, unbend
loaded = ["sklearn" in sys.modules]
dir(unbend), unbend.Stopped
loaded.append("sklearn" in sys.modules)
unbend.GreedyProcrustes
loaded.append("sklearn" in sys.modules)
print(*loaded)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "False", "True"]
    assert {"GreedyProcrustes", "DisconnectedWarning", "load", "Stopped"} <= set(dir(ub))
    with pytest.raises(AttributeError, match="no attribute 'PSA'"):
        ub.PSA  # noqa: B018
