"""M_G and M_t: the steps of the paper with scipy, and what they forgive and charge."""

import numpy as np
import pytest
import scipy.sparse.csgraph
import unbend as ub

nieqa_global, nieqa_truth = ub.metrics.nieqa_global, ub.metrics.nieqa_truth


def cloud(n=200, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def turned(y, angle=0.7):
    return y @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def textbook(x, y, k):
    """Section IV-B, every path walked back to its source."""
    n, d = y.shape
    while True:
        near = ub.neighborhoods(x, k)
        if near.n_connected_components == 1:
            break
        k += 1
    graph = near.to_graph()
    lengths, before = scipy.sparse.csgraph.dijkstra(graph, directed=False, return_predecessors=True)
    through = np.zeros(n, dtype=int)
    for source in range(n):
        for end in range(n):
            at = before[source, end]
            while at >= 0 and at != source:
                through[at] += 1
                at = before[source, at]
    landmarks = np.lexsort((np.arange(n), -through))[: max(d + 1, -(-n // 10))]
    squared = lengths[np.ix_(landmarks, landmarks)] ** 2
    h = np.eye(len(landmarks)) - 1 / len(landmarks)
    values, vectors = np.linalg.eigh(-h @ squared @ h / 2)
    laid_out = vectors[:, -d:] * np.sqrt(np.maximum(values[-d:], 0))
    return ub.metrics.asim(laid_out, y[landmarks])


@pytest.mark.parametrize(("q", "d", "k"), [(3, 2, 8), (2, 2, 4), (4, 3, 6), (3, 1, 1)])
def test_is_the_textbook(q, d, k):
    x, y = cloud(120, q), cloud(120, d, seed=1)
    assert nieqa_global(x, y, landmark_neighbors=k) == pytest.approx(textbook(x, y, k), rel=1e-9)


def test_true_coordinates_of_a_roll_are_near_perfect_however_their_axes_are_scaled():
    x, truth = ub.datasets.swiss_roll(1500, random_state=0)
    for scales in ([1, 1], [1, 50], [-3, 1e-4]):
        assert nieqa_global(x, truth * scales + 9) < 0.005
    middle = np.median(truth[:, 0])
    folded = np.c_[np.abs(truth[:, 0] - middle), truth[:, 1]]
    assert nieqa_global(x, folded) > 0.3
    assert nieqa_global(x, np.random.default_rng(0).permutation(truth)) > 0.8


def test_a_tenth_of_the_points_joins_the_layers_of_a_roll():
    x, truth = ub.datasets.swiss_roll(1000, random_state=0)
    assert nieqa_global(x, truth) < 0.01 < 0.5 < nieqa_global(x, truth, landmark_neighbors="paper")


def test_the_smallest_number_that_connects():
    x = np.r_[cloud(40, 2), cloud(40, 2, seed=1) + 30]
    assert ub.neighborhoods(x, 39).n_connected_components == 2  # each its own others
    found = nieqa_global(x, x)
    assert found == nieqa_global(x, x, landmark_neighbors=40)
    near = ub.neighborhoods(x, 40)
    assert near.n_connected_components == 1
    assert found == nieqa_global(x, x, neighborhoods=near)
    with pytest.raises(ValueError, match="in 2 pieces"):
        nieqa_global(x, x, neighborhoods=ub.neighborhoods(x, 8))


def test_pieces_too_far_apart_are_refused(monkeypatch):
    monkeypatch.setattr("unbend.metrics.nieqa._MOST_ENTRIES", 80 * 20)
    x = np.r_[cloud(40, 2), cloud(40, 2, seed=1) + 30]
    with pytest.raises(ValueError, match="with 16 neighbors the graph is in 2 pieces"):
        nieqa_global(x, x)


def test_landmarks_and_sources_may_be_few():
    x, truth = ub.datasets.swiss_roll(2000, random_state=0)
    assert nieqa_global(x, truth, n_landmarks=60, n_sources=50, random_state=0) < 0.01
    with pytest.raises(ValueError, match="n_landmarks = 2001"):
        nieqa_global(x, truth, n_landmarks=2001)
    with pytest.raises(ValueError, match="not both"):
        nieqa_global(x, truth, landmark_neighbors=8, neighborhoods=ub.neighborhoods(x, 8))
    with pytest.raises(ValueError, match="Y has 4 columns, more than the 3 of X"):
        nieqa_global(x, cloud(2000, 4))


def test_few_points_and_no_extent():
    assert nieqa_global(cloud(3, 2), cloud(3, 2)) < 1e-12
    line = np.c_[np.linspace(0, 1, 50), np.zeros(50)]
    assert nieqa_global(line, line) < 1e-12  # no second positive eigenvalue
    same = np.zeros((30, 3))
    assert nieqa_global(same, same) == 0
    assert np.isinf(nieqa_global(same, cloud(30, 2)))


def test_truth_allows_its_own_axes_to_be_scaled_and_the_embedding_to_be_turned():
    u = np.random.default_rng(0).uniform(size=(400, 2)) * [5, 1]
    normalized = turned(u / u.std(axis=0))
    assert nieqa_truth(normalized, u) < 1e-20
    assert nieqa_truth(u, normalized) > 0.01  # the other order cannot take it back
    assert nieqa_truth(normalized**3, u) > 0.01
    assert nieqa_truth(cloud(400, 3), u) == pytest.approx(ub.metrics.asim(cloud(400, 3), u))
    with pytest.raises(ValueError, match="Y has 3 rows, but coordinates has 400"):
        nieqa_truth(u[:3], u)


def test_no_unit_is_too_large():
    x = np.outer(np.linspace(-1, 1, 300), np.ones(3)) + cloud(300) / 1000
    x /= abs(x).max()
    large = 2.0**498  # less than 1e150, and the diagonal is more
    found = [nieqa_global(unit * x, x[:, :2], n_landmarks=300) for unit in (1.0, large)]
    assert found[0] == found[1]


def test_bad_input_is_called_what_it_is():
    u = cloud(30, 2)
    bad = np.where(np.arange(60).reshape(30, 2) == 7, np.nan, u)
    with pytest.raises(ValueError, match="coordinates holds NaN at row 3, column 1"):
        nieqa_truth(u, bad)
    with pytest.raises(ValueError, match="Y holds NaN at row 3, column 1"):
        nieqa_truth(bad, u)
    with pytest.raises(ValueError, match="coordinates has 3 columns, more than the 2 of Y"):
        nieqa_truth(u, cloud(30, 3))
    with pytest.raises(ValueError, match="Yi holds NaN at row 3, column 1"):
        ub.metrics.asim(u, bad)
    with pytest.raises(ValueError, match="Xi is empty"):
        ub.metrics.asim(u[:0], u[:0])
