"""Fits of points that are renumbered on the way: nobody can tell but by the clock."""

import warnings

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes
from unbend import _core
from unbend.fit import problem as problems
from unbend.fit.problem import Problem


@pytest.fixture
def always(monkeypatch):
    """Renumber few points as well."""
    monkeypatch.setattr(problems, "MIN_RENUMBERED_POINTS", 1)


def pairs_of(graph):
    owners = np.repeat(np.arange(len(graph)), graph.sizes)
    return {tuple(pair) for pair in np.sort(np.column_stack([owners, graph.indices.ravel()]), axis=1)}


def problem_of(x, **how):
    return Problem(_core.Points(x), ub.neighborhoods(x, **how), x.shape[1])


@pytest.mark.parametrize("how", [{"n_neighbors": 7}, {"radius": 0.2}])
def test_the_graph_is_the_same(always, how):
    x = np.random.default_rng(0).random((300, 2))
    problem = problem_of(x, **how)
    near = problem.renumbered
    assert sorted(near.order) == list(range(300))
    for place, point in enumerate(near.order):
        assert near.order[near.neighborhoods[place]].tolist() == problem.neighborhoods[point].tolist()
        assert near.place(point) == place
    assert np.array_equal(near.points, x[near.order])
    assert np.array_equal(near.restored(near.points), x)


@pytest.mark.parametrize(("n", "q", "moved"), [(49_999, 3, False), (50_000, 3, True), (50_000, 17, False)])
def test_only_many_narrow_points_are_renumbered(n, q, moved):
    x = np.random.default_rng(0).random((n, q)).astype(np.float32)
    ring = ub.Neighborhoods.from_knn((np.arange(n)[:, None] + [1, n - 1]) % n)
    problem = Problem(_core.Points(x), ring, 2)
    near = problem.renumbered
    assert (near is not problem) == moved == (near.order is not None)
    assert problem.restored(x) is x


def test_neighbors_stand_near_each_other(always):
    x, _ = ub.datasets.swiss_roll(20_000, random_state=0)
    problem = problem_of(x)

    def apart(graph):
        return np.median(np.abs(graph.indices.reshape(len(x), -1) - np.arange(len(x))[:, None].astype(float)))

    assert apart(problem.renumbered.neighborhoods) < 0.1 * apart(problem.neighborhoods)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alignment", ["tree", "spectral", "anneal"])
def test_alignment_is_the_same(monkeypatch, alignment, dtype):
    x, _ = ub.datasets.swiss_roll(900, random_state=0)
    annealing = {"start": "tree", "rounds": 2, "tried": 3}
    model = ub.ProcrustesAlignment(alignment=alignment, annealing=annealing, random_state=0)
    before = model.fit_transform(x.astype(dtype))
    monkeypatch.setattr(problems, "MIN_RENUMBERED_POINTS", 1)
    after = model.fit_transform(x.astype(dtype))
    assert procrustes(before, after)[2] < 1e-7
    assert not np.array_equal(before, after)  # it was done
    assert model.faithfulness_.r_n < 1.01 * model.faithfulness_.lower_bound


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("start", [None, 17])
def test_greedy_steps_are_the_same_to_the_bit(monkeypatch, start, pieces):
    """An order that favours one side of the surface would lay it down more unevenly."""
    x, _ = ub.datasets.swiss_roll(2000, noise=0.02, random_state=0)
    x[:, 1] += 100 * (np.arange(2000) % 7 % pieces)
    model = ub.GreedyProcrustes(start=start, refine=None, tangent_neighbors=12, cut=False, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.DisconnectedWarning)
        before = model.fit_transform(x)
        monkeypatch.setattr(problems, "MIN_RENUMBERED_POINTS", 1)
        assert np.array_equal(model.fit_transform(x), before)


@pytest.mark.parametrize("start", [None, 17])
def test_greedy_is_as_good(always, start):
    x, truth = ub.datasets.s_curve(1500, random_state=0)
    model = ub.GreedyProcrustes(start=start, random_state=0).fit(x)
    assert procrustes(truth, model.embedding_)[2] < 1e-4
    assert np.array_equal(model.refinement_.embedding, model.embedding_)
    assert np.array_equal(model.transform(x[:9]), model.embedding_[:9])
    one = ub.GreedyProcrustes(start=start, random_state=0, n_jobs=1).fit(x)
    assert np.array_equal(one.embedding_, model.embedding_)


def test_components_stay_apart(always):
    x = np.random.default_rng(0).random((500, 2))
    x[::3] += 7
    with pytest.warns(ub.DisconnectedWarning):
        model = ub.ProcrustesAlignment(alignment="spectral").fit(x)
    assert np.array_equal(model.component_labels_, ub.neighborhoods(x).component_labels)
    assert model.faithfulness_.r_n < 1e-12


@pytest.mark.parametrize("method", [ub.GreedyProcrustes, ub.ProcrustesAlignment])
def test_a_cut_is_said_of_points(always, method):
    x, _ = ub.datasets.cylinder(2500, random_state=0)
    model = method(random_state=0).fit(x)
    y, graph = model.embedding_, ub.neighborhoods(x)
    parted = model.cut_pairs_
    assert {tuple(pair) for pair in parted} <= pairs_of(graph)
    assert (parted[:, 0] < parted[:, 1]).all()
    assert np.array_equal(np.unique(parted), np.flatnonzero(model.cut_))
    apart = np.linalg.norm(y[parted[:, 0]] - y[parted[:, 1]], axis=1)
    assert apart.min() > 5  # round the tube
    (seam,) = model.seams_
    assert model.cut_[seam.points].all()
    gaps = np.linalg.norm(x[seam.points][:, None] - x[seam.partners][None], axis=2).min(axis=1)
    assert gaps.max() < 0.3
    assert 0 < model.faithfulness_.cut_share < 0.2


def test_loops_are_said_of_points(always):
    t, s = np.random.default_rng(0).uniform(-1, 1, size=(2, 2000))
    r = 1 + s / 3 * np.cos(t * np.pi / 2)
    moebius = np.c_[r * np.cos(t * np.pi), r * np.sin(t * np.pi), s / 3 * np.sin(t * np.pi / 2)]
    with pytest.warns(ub.NotFlatWarning):
        model = ub.ProcrustesAlignment(cut=False).fit(moebius)
    assert len(model.loops_) > 10
    assert {tuple(pair) for pair in model.loops_} <= pairs_of(ub.neighborhoods(moebius))


def test_what_an_interruption_keeps_is_in_the_order_of_points(always, monkeypatch):
    import sys

    refining = sys.modules["unbend.fit.refine"]  # the package has a function of that name
    x, truth = ub.datasets.swiss_roll(2000, random_state=0)
    whole, seen = refining.solve, []

    def interrupted(*arguments, **options):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    monkeypatch.setattr(refining, "solve", interrupted)
    with pytest.raises(ub.RefinementInterrupted) as interrupt:
        ub.GreedyProcrustes(refine_tol=0, random_state=0).fit(x)
    assert procrustes(truth, interrupt.value.embedding)[2] < 1e-3
