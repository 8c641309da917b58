"""Scaling of incomplete graphs: SMACOF as the textbook has it, starts, invariances, and what is refused."""

import pickle

import numpy as np
import pytest
import unbend as ub
from scipy.sparse import coo_array, csr_array, csr_matrix, triu
from scipy.spatial import cKDTree, procrustes
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.manifold import smacof
from sklearn.utils.estimator_checks import parametrize_with_checks
from unbend.fit.scaling import stress as stress_module
from unbend.fit.scaling.pairs import pairs_of
from unbend.fit.scaling.stress import Laplacian, Stress, minimize

pytestmark = pytest.mark.filterwarnings(
    "ignore::unbend.UntrustedWarning", "ignore::unbend.DisconnectedWarning"
)


def plane(n=200, seed=0, d=2):
    return np.random.default_rng([seed, n]).random((n, d))


def in_range(points, radius, noise=0.0, seed=0):
    """The pairs within a radius, and their distances, with an error that is a share of each."""
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return pairs, lengths * (1 + noise * np.random.default_rng(seed).normal(size=len(pairs)))


def hall(n, seed=0):
    """A C-shaped hall, its sensors, and the pairs in range: mean degree 12, 5 % noise."""
    points = 3 * np.random.default_rng(seed).random((2 * n, 2))
    inside = (points[:, 0] > 1) & (points[:, 1] > 1) & (points[:, 1] < 2)
    points = points[~inside][:n]
    return points, *in_range(points, 1.06 * np.sqrt(12 * 7 / (np.pi * n)), 0.05, seed)


def error_of(points, embedding):
    """Median distance from the true positions, after the rigid motion that fits best."""
    a, b = points - points.mean(axis=0), embedding - embedding.mean(axis=0)
    left, _, right = np.linalg.svd(b.T @ a)
    return np.median(np.linalg.norm(b @ left @ right - a, axis=1))


def scaled(X, d=2, **options):
    known = {
        name: options.pop(name) for name in ("distances", "weights", "n_points", "init") if name in options
    }
    return ub.GraphScaling(d, random_state=0, **options).fit(X, **known)


def dense_smacof(pairs, distances, weights, y, steps):
    """The Guttman transform with dense matrices: V^+ B(Y) Y (Borg & Groenen 2005, 8.6)."""
    n = len(y)
    w, delta = np.zeros((n, n)), np.zeros((n, n))
    for (i, j), d, v in zip(pairs, distances, weights, strict=True):
        w[i, j] = w[j, i] = v
        delta[i, j] = delta[j, i] = d
    v = np.diag(w.sum(axis=1)) - w
    inverse = np.linalg.pinv(v)
    for _ in range(steps):
        lengths = cdist(y, y)
        ratio = np.divide(w * delta, lengths, out=np.zeros_like(w), where=lengths > 0)
        y = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ y)
    return y


# Majorization


@pytest.mark.parametrize("way", ["factor", "gradients"])
def test_steps_are_those_of_the_textbook(way, monkeypatch):
    monkeypatch.setattr(stress_module, "MAX_DENSE_POINTS", 300 if way == "factor" else 0)
    monkeypatch.setattr(stress_module, "MAX_FACTOR_DENSITY", 0.0 if way == "gradients" else 1.0)
    points = plane(60)
    ends, lengths = in_range(points, 0.4, 0.1)
    weights = np.random.default_rng(1).random(len(ends)) + 0.1
    pairs = pairs_of(ends, lengths, weights, 60)
    assert not pairs.labels.any()
    start = np.random.default_rng(2).normal(size=(60, 2))
    start -= start.mean(axis=0)
    laplacian = Laplacian(60, pairs.ends, pairs.weights)
    found = minimize(Stress(pairs), laplacian, start, 25, 0.0, accelerate=False)
    assert found.n_iter == 25
    expected = dense_smacof(ends, lengths, weights, start, 25)
    np.testing.assert_allclose(found.coordinates, expected, atol=1e-7)


def test_a_full_matrix_is_scaled_as_by_scikit_learn():
    points = plane(40)
    noise = squareform(np.random.default_rng(1).normal(size=40 * 39 // 2))
    distances = np.abs(cdist(points, points) * (1 + 0.1 * noise))
    start = np.random.default_rng(2).normal(size=(40, 2))
    start -= start.mean(axis=0)
    theirs, stress = smacof(
        distances, n_components=2, init=start, n_init=1, max_iter=30, eps=0.0, normalized_stress=False
    )
    ours = scaled(distances, init=start, accelerate=False, max_iter=30, tol=0.0)
    np.testing.assert_allclose(pdist(ours.embedding_), pdist(theirs), atol=1e-10)
    assert ours.stress_ == pytest.approx(stress, rel=1e-10)
    assert ours.stress_ == pytest.approx(((pdist(ours.embedding_) - squareform(distances)) ** 2).sum())


@pytest.mark.parametrize("accelerate", [False, True])
def test_no_step_raises_the_stress(accelerate):
    _, ends, lengths = hall(300)
    start = np.random.default_rng(0).normal(size=(300, 2))
    history = scaled(ends, distances=lengths, n_points=300, init=start, accelerate=accelerate).trace_[
        "history"
    ]
    assert all(np.all(np.diff(values) <= 0) for values in history)


def test_acceleration_needs_fewer_steps_for_the_same_minimum():
    points = plane(150)
    ends, lengths = in_range(points, 0.3, 0.05)
    start = points + 0.01 * np.random.default_rng(0).normal(size=points.shape)
    fast = scaled(ends, distances=lengths, init=start, tol=1e-12, max_iter=10_000)
    slow = scaled(ends, distances=lengths, init=start, tol=1e-12, max_iter=10_000, accelerate=False)
    assert fast.stress_ == pytest.approx(slow.stress_, rel=1e-6)
    assert 2 * fast.n_iter_ < slow.n_iter_


def test_weights_and_repeated_measurements():
    """A pair that is measured twice counts with the mean, and with the sum of the weights."""
    points = plane(50)
    ends, lengths = in_range(points, 0.5)
    twice = np.concatenate([ends, ends[:, ::-1]])
    both = np.concatenate([0.9 * lengths, 1.2 * lengths])
    weights = np.repeat([2.0, 1.0], len(ends))
    one = scaled(twice, distances=both, weights=weights)
    other = scaled(ends, distances=lengths, weights=np.full(len(ends), 3.0))
    np.testing.assert_allclose(one.distances_, other.distances_)
    np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-8)


def test_relative_weights():
    points = plane(80)
    ends, lengths = in_range(points, 0.4, 0.1)
    relative = scaled(ends, distances=lengths, weighting="relative")
    given = scaled(ends, distances=lengths, weights=1 / lengths**2)
    np.testing.assert_allclose(relative.embedding_, given.embedding_)
    assert relative.normalized_stress_ == pytest.approx(
        np.sqrt(np.mean((relative.residuals_ / relative.distances_) ** 2))
    )


# Where it begins, and what comes out


def test_forms_of_the_input():
    points = plane(60)
    ends, lengths = in_range(points, 0.4)
    matrix = coo_array((lengths, tuple(ends.T)), shape=(60, 60))
    full = np.full((60, 60), np.nan)
    full[tuple(ends.T)] = full[tuple(ends[:, ::-1].T)] = lengths
    np.fill_diagonal(full, 0.0)
    expected = scaled(ends, distances=lengths)
    half = full.copy()
    half[np.tril_indices(60)] = np.nan
    for form in (matrix, csr_array(matrix + matrix.T), csr_matrix(triu(matrix)), full, half):
        np.testing.assert_array_equal(scaled(form).embedding_, expected.embedding_)
    weights = np.arange(1.0, len(ends) + 1)
    table = coo_array((weights, tuple(ends.T)), shape=(60, 60))
    np.testing.assert_allclose(
        scaled(matrix, weights=table).embedding_, scaled(ends, distances=lengths, weights=weights).embedding_
    )


@pytest.mark.parametrize(("n", "d", "radius"), [(300, 1, 0.05), (300, 2, 0.2), (400, 3, 0.35)])
def test_exact_distances_give_the_points_back(n, d, radius):
    points = plane(n, d=d)
    ends, lengths = in_range(points, radius)
    found = scaled(ends, d, distances=lengths, n_points=n)
    assert error_of(points, found.embedding_) < 1e-6
    assert found.verdict_.trusted, found.verdict_.sentence


@pytest.mark.parametrize("start", ["patches", "paths", "random"])
def test_starts_can_be_chosen(start):
    _, ends, lengths = hall(400)
    found = scaled(ends, distances=lengths, n_points=400, start=start, n_init=3)
    assert {one.name for one in found.candidates_} == {start}
    largest = [one for one in found.candidates_ if one.component == found.candidates_[0].component]
    assert len(largest) == (3 if start == "random" else 1)
    assert [one.chosen for one in largest].count(True) == 1
    assert found.stress_ >= min(one.stress for one in largest) - 1e-12


def test_patches_do_not_bend_around_a_hole():
    points, ends, lengths = hall(2000)
    graph = coo_array((lengths, tuple(ends.T)), shape=(2000, 2000))
    found = scaled(graph)
    assert next(one.name for one in found.candidates_ if one.chosen) == "patches"
    paths = scaled(graph, start="paths", max_iter=1)
    assert 10 * error_of(points, found.embedding_) < error_of(points, paths.embedding_)
    assert found.verdict_.trusted, found.verdict_.sentence


def test_distances_scale_and_points_can_be_renumbered():
    _, ends, lengths = hall(500)
    found = scaled(ends, distances=lengths, n_points=500)
    larger = scaled(ends, distances=1e6 * lengths, n_points=500)
    np.testing.assert_allclose(1e6 * pdist(found.embedding_), pdist(larger.embedding_), rtol=1e-4)
    order = np.random.default_rng(0).permutation(500)
    place = np.argsort(order)
    other = scaled(place[ends], distances=lengths, n_points=500)
    assert other.stress_ == pytest.approx(found.stress_, rel=0.02)
    assert error_of(found.embedding_[order], other.embedding_) < 0.01


def test_components_lie_side_by_side():
    points = plane(80)
    ends, lengths = in_range(points, 0.5)
    both = np.concatenate([ends, ends + 80])
    with pytest.warns(ub.DisconnectedWarning, match=r"3 components, of 80, 80, 1 points"):
        found = scaled(both, distances=np.tile(lengths, 2), n_points=161)
    parts = found.embedding_[:80], found.embedding_[80:160]
    one, two = parts
    assert error_of(points, one) < 1e-6
    assert error_of(points, two) < 1e-6
    apart = (one.max(axis=0) < two.min(axis=0)) | (two.max(axis=0) < one.min(axis=0))
    assert apart.any()
    assert [one.name for one in found.verdict_.reasons] == ["components"]
    with pytest.raises(ValueError, match=r"3 components, of 80, 80, 1 points: measure pairs that join them"):
        scaled(both, distances=np.tile(lengths, 2), n_points=161, disconnected="error")


def test_points_on_one_another():
    found = scaled(np.zeros((5, 5)))
    np.testing.assert_allclose(found.embedding_, 0.0, atol=1e-12)
    points = np.repeat(plane(30), 2, axis=0)
    found = scaled(cdist(points, points))
    np.testing.assert_allclose(pdist(found.embedding_), pdist(points), atol=1e-6)


def test_the_same_seed_gives_the_same_bits():
    _, ends, lengths = hall(600)
    one, two = (scaled(ends, distances=lengths, n_points=600) for _ in range(2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


# What is refused

SQUARE = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]])


def changed(row, column, value, both=True):
    matrix = SQUARE.copy()
    matrix[row, column] = value
    if both:
        matrix[column, row] = value
    return matrix


@pytest.mark.parametrize(
    ("X", "known", "message"),
    [
        (
            changed(0, 1, -1.0),
            {},
            r"the distance of points 0 and 1 is -1, but it must be finite and at least 0",
        ),
        (changed(0, 1, np.inf), {}, r"the distance of points 0 and 1 is inf.* set them to NaN"),
        (changed(0, 1, 3.0, both=False), {}, r"not symmetric: 3 from 0 to 1, 1 back"),
        (changed(1, 1, 0.5), {}, r"the distance of point 1 to itself is 0.5: it must be 0"),
        (np.full((3, 3), np.nan), {}, r"X has no pairs of its 3 points"),
        (np.ones((3, 2)), {}, r"X has shape \(3, 2\): distances must be a square matrix"),
        ([[0, 1], [1, 1]], {"distances": [1.0, 2.0]}, r"the distance of point 1 to itself is 2"),
        ([[0, 1]], {"distances": [np.nan]}, r"the distance of points 0 and 1 is nan"),
        ([[0, 1]], {"distances": [1.0, 2.0]}, r"distances has shape \(2,\), but X holds 1 pairs"),
        (
            [[0.0, 1.0]],
            {"distances": [1.0]},
            r"X has dtype float64: with distances, it must hold whole numbers",
        ),
        ([[0, -2]], {"distances": [1.0]}, r"X holds the point -2: points are numbered from 0"),
        ([[0, 5]], {"distances": [1.0], "n_points": 3}, r"X holds the point 5, but n_points = 3"),
        ([[0, 1]], {"distances": [1.0], "weights": [-2.0]}, r"the weight of points 0 and 1 is -2"),
        (SQUARE, {"weights": np.ones((2, 2))}, r"weights has shape \(2, 2\), but X has \(3, 3\)"),
        (SQUARE, {"n_points": 3}, r"n_points = 3 is for lists of pairs"),
        (
            SQUARE,
            {"init": np.zeros((2, 2))},
            r"init has shape \(2, 2\): it must hold 3 points in 2 dimensions",
        ),
        (SQUARE, {"init": np.full((3, 2), np.nan)}, r"init has entries that are not finite"),
    ],
)
def test_bad_input_is_refused(X, known, message):
    with pytest.raises(ValueError, match=message):
        ub.GraphScaling().fit(X, **known)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="start = 'best' is unknown"):
        ub.GraphScaling(start="best").fit(SQUARE)
    with pytest.raises(ValueError, match="has no relative error"):
        ub.GraphScaling(weighting="relative").fit([[0, 1], [1, 2]], distances=[0.0, 1.0])


def test_memory_is_checked_before_the_fit():
    _, ends, lengths = hall(1000)
    model = ub.GraphScaling(max_memory=10_000)
    with pytest.raises(MemoryError, match=r"needs about .* but max_memory is 10.0 kB"):
        model.fit(ends, distances=lengths, n_points=1000)
    assert ub.GraphScaling().memory_estimate(2000, 12_000) > ub.GraphScaling().memory_estimate(1000, 6000) > 0


# As estimators are


@parametrize_with_checks(
    [ub.GraphScaling(random_state=0), ub.GraphScaling(start="paths", accelerate=False, max_iter=50)]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_new_points_are_placed_by_their_distances():
    points, new = plane(200), plane(7, seed=1)
    found = scaled(cdist(points, points))
    distances = cdist(new, points)
    placed, errors = found.transform(distances, return_error=True)
    everything = np.concatenate([found.embedding_, placed])
    assert procrustes(np.concatenate([points, new]), everything)[2] < 1e-12
    assert np.all(errors < 1e-9)
    distances[:, 12:] = np.nan
    np.testing.assert_allclose(found.transform(distances), placed, atol=1e-6)
    known = ~np.isnan(distances)
    sparse = csr_array((distances[known], np.nonzero(known)), shape=distances.shape)
    np.testing.assert_allclose(found.transform(sparse), placed, atol=1e-6)
    distances[3, 2:] = np.nan
    with pytest.raises(ValueError, match="point 3 has 2 distances to fitted points: at least 3 are needed"):
        found.transform(distances)
    with pytest.raises(ValueError, match="inverse_transform needs points"):
        found.inverse_transform(placed)


def test_fitted_points_are_placed_where_they_are():
    _, ends, lengths = hall(300)
    found = scaled(ends, distances=lengths, n_points=300)
    graph = coo_array((lengths, tuple(ends.T)), shape=(300, 300))
    order = np.random.default_rng(0).permutation(300)
    rows = csr_array(graph + graph.T)[order]
    whole = np.diff(rows.indptr) > 2  # the others have too few distances, but they are known
    np.testing.assert_array_equal(found.transform(rows[whole]), found.embedding_[order][whole])


def test_files_and_pickles(tmp_path):
    _, ends, lengths = hall(300)
    found = scaled(ends, distances=lengths, n_points=300)
    for copy in (ub.load(found.save(tmp_path / "hall.unbend")), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(copy.embedding_, found.embedding_)
        assert copy.verdict_.to_dict() == found.verdict_.to_dict()
        assert copy.candidates_ == found.candidates_
        np.testing.assert_array_equal(copy.ambiguity_.loose, found.ambiguity_.loose)


@pytest.mark.parametrize("stage", ["patches", "paths", "stress"])
def test_a_fit_can_be_stopped(stage):
    _, ends, lengths = hall(500)
    model = ub.GraphScaling(callback=lambda name, done, total, best: name == stage and done > 0)
    with pytest.raises(ub.Stopped, match=f"in its stage {stage}"):
        model.fit(ends, distances=lengths, n_points=500)
    assert not hasattr(model, "embedding_")


def test_inputs_are_not_written_to():
    _, ends, lengths = hall(300)
    matrix = coo_array((lengths, tuple(ends.T)), shape=(300, 300)).tocsr()
    before = matrix.copy()
    scaled(matrix)
    np.testing.assert_array_equal(matrix.data, before.data)
    full = cdist(plane(30), plane(30))
    full.flags.writeable = False
    scaled(full)


# Triangle inequalities


def too_long(n, ends, lengths):
    """The pairs that are longer than the shortest path of the others, by the definition: without each in turn."""
    found = {}
    for place, (i, j) in enumerate(ends):
        rest = np.full((n, n), np.inf)
        for other, ((a, b), length) in enumerate(zip(ends, lengths, strict=True)):
            if other != place:
                rest[a, b] = rest[b, a] = min(length, rest[a, b])
        for via in range(n):  # Floyd and Warshall
            rest = np.minimum(rest, rest[:, [via]] + rest[[via]])
        if lengths[place] > (1 + 1e-9) * rest[i, j]:
            found[min(i, j), max(i, j)] = lengths[place] / rest[i, j]
    return found


@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_distances_that_are_too_long(noise):
    points = plane(40)
    ends, lengths = in_range(points, 0.5, noise)
    lengths[7] *= 4
    expected = too_long(40, ends, lengths)
    found = scaled(ends, distances=lengths).triangle_inequalities_
    assert found.n_examined == len(ends)
    assert {tuple(pair) for pair in found.pairs.tolist()} == set(expected)
    assert (noise == 0) == (len(expected) == 1)
    ratios = [expected[tuple(pair)] for pair in found.pairs.tolist()]
    np.testing.assert_allclose(found.ratios, ratios, rtol=1e-12)
    assert (np.diff(found.ratios) <= 0).all()


def test_the_verdict_names_the_worst():
    points = plane(200)
    ends, lengths = in_range(points, 0.25)
    good = scaled(ends, distances=lengths)
    assert (good.triangle_inequalities_.worst, len(good.triangle_inequalities_.pairs)) == (1.0, 0)
    assert "times as long" not in good.verdict_.sentence
    lengths[5] *= 10
    bad, (i, j) = scaled(ends, distances=lengths), sorted(ends[5])
    said = f" 1 of {len(ends):,} distances is over 1.5 times as long as the shortest path of the others"
    assert said in bad.verdict_.sentence
    assert f"that of points {i} and {j} {bad.triangle_inequalities_.worst:.3g} times" in bad.verdict_.sentence


def test_paths_of_many_points_are_those_of_a_sample(monkeypatch, tmp_path):
    monkeypatch.setattr("unbend.fit.scaling.paths.MAX_EXAMINED_ENTRIES", 200 * 50)
    points = plane(200)
    ends, lengths = in_range(points, 0.25, 0.1)
    model = scaled(ends, distances=lengths)
    found = model.triangle_inequalities_
    assert 0.2 * len(ends) < found.n_examined < 0.7 * len(ends)
    again = ub.load(model.save(tmp_path / "model.unbend")).triangle_inequalities_
    assert np.array_equal(again.pairs, found.pairs)
    assert again.n_examined == found.n_examined
