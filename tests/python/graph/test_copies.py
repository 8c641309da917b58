"""Neighbors of data with more copies of a point than neighbors."""

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes
from unbend import _core
from unbend.graph.copies import search_distinct


def graph_of(x, k):
    return search_distinct(_core.Points(x), k, "exact", 1.0, None)


def test_lists_are_those_of_the_distinct_points():
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(60, 3))
    place = np.concatenate([np.arange(60), rng.integers(5, size=100)])
    x, k = distinct[place], 7
    graph = graph_of(x, k)
    among = ub.neighborhoods(distinct, k)
    for i in range(len(x)):
        assert place[graph[i]].tolist() == among[place[i]].tolist()
        assert (graph[i] < 60).all()
    lengths = np.linalg.norm(x[graph.indices.reshape(-1, k)] - x[:, None], axis=2)
    assert np.allclose(graph.distances.reshape(-1, k), lengths)


@pytest.mark.parametrize("n_copies", [1, 2, 6])
def test_few_copies_are_neighbors_like_all_others(n_copies):
    x = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), n_copies, axis=0)
    assert np.array_equal(graph_of(x, 6).indices, ub.neighborhoods(x, 6).indices)


def test_too_few_distinct_points_keep_their_copies():
    x = np.repeat([[0.0, 0.0], [1.0, 0.0]], 10, axis=0)
    assert np.array_equal(graph_of(x, 4).indices, ub.neighborhoods(x, 4).indices)


@pytest.mark.parametrize("method", [ub.ProcrustesAlignment, ub.GreedyProcrustes])
def test_copies_do_not_split_a_fit(method):
    x, truth = ub.datasets.swiss_roll(900, random_state=0)
    copied = np.concatenate([np.arange(900), np.random.default_rng(0).integers(20, size=600)])
    model = method(random_state=0).fit(x[copied])
    assert model.component_labels_.max() == 0
    assert model.verdict_.trusted
    assert procrustes(truth[copied], model.embedding_)[2] < 0.01
