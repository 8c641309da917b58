"""Fits of points that are renumbered on the way: nobody can tell but by the clock."""

import warnings

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes
from unbend.core import memory
from unbend.graph.renumbering import Renumbered


@pytest.fixture
def always(monkeypatch):
    """Renumber few points as well."""
    monkeypatch.setattr(memory, "MANY", 1)


def pairs_of(graph):
    owners = np.repeat(np.arange(len(graph)), graph.sizes)
    return {tuple(pair) for pair in np.sort(np.column_stack([owners, graph.indices.ravel()]), axis=1)}


@pytest.mark.parametrize("how", [{"n_neighbors": 7}, {"radius": 0.2}])
def test_the_graph_is_the_same(how):
    x = np.random.default_rng(0).random((300, 2))
    graph = ub.neighborhoods(x, **how)
    near = Renumbered(graph, None)
    assert sorted(near.order) == list(range(300))
    for place, point in enumerate(near.order):
        assert near.order[near.graph[place]].tolist() == graph[point].tolist()
        assert near.place(point) == place
    assert np.array_equal(near.back(near.rows(x)), x)


def test_neighbours_stand_near_each_other():
    x, _ = ub.datasets.swiss_roll(20_000, random_state=0)
    graph = ub.neighborhoods(x)
    near = Renumbered(graph, None)

    def apart(graph):
        return np.median(np.abs(graph.indices.reshape(len(x), -1) - np.arange(len(x))[:, None].astype(float)))

    assert apart(near.graph) < 0.1 * apart(graph)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alignment", ["tree", "spectral", "anneal"])
def test_alignment_is_the_same(monkeypatch, alignment, dtype):
    x, _ = ub.datasets.swiss_roll(900, random_state=0)
    model = ub.ProcrustesAlignment(alignment=alignment, annealing={"start": "tree"}, random_state=0)
    before = model.fit_transform(x.astype(dtype))
    monkeypatch.setattr(memory, "MANY", 1)
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
        monkeypatch.setattr(memory, "MANY", 1)
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
    whole, seen = refining._Task.solve_globally, []

    def interrupted(self, *arguments):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return whole(self, *arguments)

    monkeypatch.setattr(refining._Task, "solve_globally", interrupted)
    with pytest.raises(ub.RefinementInterrupted) as interrupt:
        ub.GreedyProcrustes(refine_tol=0, random_state=0).fit(x)
    assert procrustes(truth, interrupt.value.embedding)[2] < 1e-3


def test_what_is_planned_for():
    few, many = (memory.Plan(n=n, q=3, d=2, k=12).stages()["refine"] for n in (49_999, 50_000))
    assert "points in another order" not in few
    assert many["points in another order"] == 50_000 * 3 * 8
    assert "points in another order" not in memory.Plan(n=50_000, q=50, d=2, k=12).stages()["refine"]
