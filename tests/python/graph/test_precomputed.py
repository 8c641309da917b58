"""Procrustes embeddings of distances: those of points where the points are known, and sensors in a hall."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import unbend as ub
from interrupting import IMPORT, LIMIT, signals
from scipy.sparse import coo_array, csr_array, save_npz
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree, procrustes
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

KINDS = (ub.ProcrustesAlignment, ub.GreedyProcrustes)
both = pytest.mark.parametrize("kind", KINDS)
pytestmark = pytest.mark.filterwarnings(
    "ignore::unbend.UntrustedWarning", "ignore::unbend.DisconnectedWarning", "ignore::unbend.NotFlatWarning"
)


def plane(n=300, seed=0):
    return np.random.default_rng([seed, n]).random((n, 2))


def fitted(kind, X, **options):
    return kind(2, metric="precomputed", random_state=0, **options).fit(X)


def measured(points, radius, noise=0.0, seed=0):
    """The sparse matrix of the distances within a radius, each once, with an error that is a share of each."""
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    lengths *= 1 + noise * np.random.default_rng(seed).normal(size=len(pairs))
    return coo_array((lengths, tuple(pairs.T)), shape=(len(points),) * 2).tocsr()


def hall(n, seed=0):
    """A C-shaped hall of 3 x 3, and its measured distances: mean degree 12, 5 % noise."""
    points = 3 * np.random.default_rng(seed).random((2 * n, 2))
    inside = (points[:, 0] > 1) & (points[:, 1] > 1) & (points[:, 1] < 2)
    points = points[~inside][:n]
    return points, measured(points, 1.06 * np.sqrt(12 * 7 / (np.pi * n)), 0.05, seed)


def error_of(points, embedding):
    """Median distance from the true positions, after the rigid motion that fits best."""
    a, b = points - points.mean(axis=0), embedding - embedding.mean(axis=0)
    left, _, right = np.linalg.svd(b.T @ a)
    return np.median(np.linalg.norm(b @ left @ right - a, axis=1))


def isomap(graph):
    """Classical scaling of all shortest paths."""
    squares = dijkstra(graph, directed=False) ** 2
    centering = np.eye(len(squares)) - 1 / len(squares)
    values, vectors = np.linalg.eigh(-centering @ squares @ centering / 2)
    return vectors[:, -2:] * np.sqrt(values[-2:])


# From distances as from points ----------------------------------------------------------------------------


@both
@pytest.mark.parametrize("k", [8, 15])
def test_flat_points_come_back(kind, k):
    X = plane()
    found = fitted(kind, cdist(X, X), n_neighbors=k)
    assert error_of(X, found.embedding_) < 1e-8
    assert found.verdict_.trusted
    assert found.faithfulness_.r_n < 1e-15


@both
def test_curved_points_as_from_points(kind):
    """Complete distances give the neighborhoods of the points up to motions, so all measures agree."""
    X, _ = ub.datasets.swiss_roll(700, random_state=0)
    found = fitted(kind, cdist(X, X), n_neighbors=12)
    of_points = ub.faithfulness(X, found.embedding_, n_neighbors=12)
    for name in ("r", "r_n", "r_c", "r_pca", "lower_bound"):
        assert getattr(found.faithfulness_, name) == pytest.approx(getattr(of_points, name), rel=1e-8)


def test_refinement_has_the_minimum_of_points():
    X, _ = ub.datasets.swiss_roll(700, random_state=0)
    options = {"n_neighbors": 12, "refine_tol": 0.0, "refine_max_iter": 200}
    found = fitted(ub.ProcrustesAlignment, cdist(X, X), **options)
    assert found.alignment_ == "tree"
    direct = ub.ProcrustesAlignment(2, cut=False, candidates=False, **options).fit(X)
    assert found.faithfulness_.r_n == pytest.approx(direct.faithfulness_.r_n, rel=1e-6)
    assert procrustes(found.embedding_, direct.embedding_)[2] < 1e-6


def test_lists_of_neighbors_from_another_tool():
    X = plane()
    distances, indices = cKDTree(X).query(X, 40)
    lists = ub.Neighborhoods.from_knn(indices, distances)
    found = fitted(ub.ProcrustesAlignment, lists.to_graph(), n_neighbors=10)
    assert error_of(X, found.embedding_) < 0.01
    assert found.neighborhoods_.indices.tolist() == ub.neighborhoods(X, n_neighbors=10).indices.tolist()


# Sensors --------------------------------------------------------------------------------------------------


def test_sensors_in_a_hall_that_is_not_convex():
    points, ranges = hall(1500)
    found = fitted(ub.ProcrustesAlignment, ranges)
    assert found.alignment_ == "guess"
    part = found.component_labels_ == np.bincount(found.component_labels_).argmax()
    joined = ranges[part][:, part]
    assert error_of(points[part], found.embedding_[part]) < error_of(points[part], isomap(joined)) / 10
    assert found.verdict_.trusted


def test_one_direction_of_each_pair_suffices_and_both_are_averaged():
    _, ranges = hall(400)
    once = fitted(ub.ProcrustesAlignment, ranges)
    twice = fitted(ub.ProcrustesAlignment, csr_array(1.1 * ranges + 0.9 * ranges.T))
    np.testing.assert_allclose(once.X_fit_.toarray(), twice.X_fit_.toarray(), rtol=1e-12)
    assert procrustes(once.embedding_, twice.embedding_)[2] < 1e-6


def test_components_and_single_points():
    X = plane(120)
    X[:50] += 9
    distances = cdist(X, X)
    distances[distances > 0.5] = np.nan
    full = np.full((121, 121), np.nan)
    full[:120, :120] = distances
    found = fitted(ub.ProcrustesAlignment, full, n_neighbors=10)
    assert np.bincount(found.component_labels_).tolist() == [50, 70, 1]
    assert np.isfinite(found.embedding_).all()
    for label in (0, 1):
        own = found.component_labels_ == label
        assert error_of(X[own[:120]], found.embedding_[own]) < 0.01
    with pytest.raises(ValueError, match="3 components"):
        fitted(ub.ProcrustesAlignment, full, disconnected="error")


@both
def test_copies_and_few_points(kind):
    X = np.repeat(plane(40), 2, axis=0)
    found = fitted(kind, cdist(X, X), n_neighbors=12)
    assert np.isfinite(found.embedding_).all()
    assert error_of(X, found.embedding_) < 1e-6
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    assert error_of(square, fitted(kind, cdist(square, square)).embedding_) < 1e-10


# New points -----------------------------------------------------------------------------------------------


def test_new_points_by_their_distances():
    X, new = plane(), plane(20, seed=1)
    found = fitted(ub.ProcrustesAlignment, cdist(X, X), n_neighbors=10)
    placed, errors = found.transform(cdist(new, X), return_error=True)
    assert error_of(np.concatenate([X, new]), np.concatenate([found.embedding_, placed])) < 1e-7
    assert errors.max() < 1e-7
    few = np.full((1, 300), np.nan)
    few[0, :2] = 0.1
    with pytest.raises(ValueError, match="point 0 has 2 distances to fitted points: at least 3 are needed"):
        found.transform(few)


def test_fitted_points_come_out_where_they_are():
    _, ranges = hall(400)
    found = fitted(ub.ProcrustesAlignment, ranges)
    np.testing.assert_array_equal(found.transform(found.X_fit_), found.embedding_)


# Refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (ub.ProcrustesAlignment, {"cut": True}, "cut = True needs points"),
        (ub.ProcrustesAlignment, {"candidates": True}, "candidates = True needs points"),
        (ub.ProcrustesAlignment, {"tangent_neighbors": 20}, "tangent_neighbors = 20 needs points"),
        (ub.ProcrustesAlignment, {"alignment": "projection"}, "alignment = 'projection' needs points"),
        (ub.ProcrustesAlignment, {"alignment": "auto"}, "alignment = 'auto' needs points"),
        (ub.ProcrustesAlignment, {"partition": 50}, "partition = 50 needs points"),
        (ub.GreedyProcrustes, {"tangent": "overlap"}, "tangent = 'overlap' needs points"),
        (ub.ProcrustesAlignment, {"n_neighbors": 400}, "n_neighbors = 400 needs at least 401 points"),
        (ub.ProcrustesAlignment, {"metric": "cosine"}, "metric = 'cosine'"),
    ],
)
def test_refused_parameters(kind, options, message):
    X = plane()
    with pytest.raises(ValueError, match=message):
        kind(2, **({"metric": "precomputed"} | options)).fit(cdist(X, X))


def test_refused_distances():
    X = plane(30)
    distances = cdist(X, X)
    for wrong, message in (
        (distances[:10], "square"),
        (-distances, "Negative values"),
        (distances + np.triu(distances), "not symmetric"),
        (distances + np.eye(30), "to itself is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(ub.ProcrustesAlignment, wrong)
    with pytest.raises(ValueError, match="at least one distance"):
        fitted(ub.ProcrustesAlignment, csr_array((30, 30)))
    with pytest.raises(ValueError, match="pass no neighborhoods"):
        ub.ProcrustesAlignment(metric="precomputed").fit(distances, neighborhoods=ub.neighborhoods(X, 5))
    with pytest.raises(ValueError, match="n_components = 30 needs at least 31 points"):
        ub.ProcrustesAlignment(30, metric="precomputed").fit(distances)


def test_what_needs_points_is_refused():
    X = plane(60)
    found = fitted(ub.ProcrustesAlignment, cdist(X, X))
    assert not hasattr(found, "score")
    assert hasattr(ub.ProcrustesAlignment(), "score")
    with pytest.raises(ValueError, match="needs points"):
        found.inverse_transform(X)
    with pytest.raises(ValueError, match="needs points"):
        ub.uncertainty(found)


# What all estimators do -----------------------------------------------------------------------------------


@parametrize_with_checks([kind(metric="precomputed") for kind in KINDS])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@both
def test_files_pickles_and_clones(kind, tmp_path):
    _, ranges = hall(300)
    found = fitted(kind, ranges)
    for other in (ub.load(found.save(tmp_path / "model.unbend")), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(other.embedding_, found.embedding_)
        np.testing.assert_array_equal(other.transform(ranges[:5]), found.transform(ranges[:5]))
        assert other.get_params() == found.get_params()
    assert clone(found).metric == "precomputed"


@both
def test_same_bits_on_any_number_of_threads(kind):
    _, ranges = hall(600)
    one, two = (fitted(kind, ranges, n_jobs=n).embedding_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_many_points_are_renumbered_and_come_back_in_order(monkeypatch):
    _, ranges = hall(700)
    direct = fitted(ub.ProcrustesAlignment, ranges, solve_tol=1e-9, refine=None)
    monkeypatch.setattr("unbend.fit.problem.MIN_RENUMBERED_POINTS", 100)
    renumbered = fitted(ub.ProcrustesAlignment, ranges, solve_tol=1e-9, refine=None)
    assert procrustes(direct.embedding_, renumbered.embedding_)[2] < 1e-6
    per_point = [model.faithfulness_.per_point["r_n"] for model in (direct, renumbered)]
    np.testing.assert_allclose(*per_point, rtol=1e-3, atol=1e-6)


@both
def test_the_callback_stops_it_and_nothing_changes(kind):
    _, ranges = hall(300)
    found = fitted(kind, ranges)
    before, found.callback = found.embedding_, lambda stage, *_: stage == "charts"
    with pytest.raises(ub.Stopped):
        found.fit(ranges)
    assert found.embedding_ is before


@signals
def test_control_c_stops_it_soon(tmp_path):
    save_npz(tmp_path / "ranges.npz", hall(30_000)[1])
    code = """
import unbend as ub
from scipy.sparse import load_npz
ranges, model = load_npz(sys.argv[1]), ub.ProcrustesAlignment(metric="precomputed")
for seconds in 0.1, 1.0:
    strike = Strike(seconds)
    try:
        strike.start()
        model.fit(ranges)
    except KeyboardInterrupt:
        print(strike.late, [name for name in vars(model) if name.endswith("_")])
"""
    command = [sys.executable, "-c", IMPORT + code, str(tmp_path / "ranges.npz")]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=600).stdout
    late, left = zip(*map(str.split, printed.splitlines()), strict=True)
    assert left == ("[]", "[]")
    assert max(map(float, late)) < LIMIT


def test_memory_is_checked_before_the_fit():
    _, ranges = hall(300)
    with pytest.raises(MemoryError, match=r"max_memory is 1\.0 MB"):
        fitted(ub.ProcrustesAlignment, ranges, max_memory=1e6)
    model = ub.ProcrustesAlignment(metric="precomputed")
    assert model.memory_estimate(100_000, 100_000) < 2e9


def test_inputs_are_not_written_to():
    _, ranges = hall(300)
    before = ranges.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(ub.ProcrustesAlignment, ranges)
    assert (before != ranges).nnz == 0
