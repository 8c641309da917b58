"""Standard errors of coordinates and intervals of distances."""

import numpy as np
import pytest
import unbend as ub
from unbend.covariance.noise import noise_of
from unbend.covariance.replicates import onto, widened


def roll(n=1200, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    x, truth = ub.datasets.swiss_roll(n, random_state=seed)
    return x + rng.normal(scale=noise, size=x.shape), truth


def box(n=800, noise=0.02, seed=0, q=5):
    rng = np.random.default_rng(seed)
    truth = rng.uniform(size=(n, 2)) * [3, 2]
    x = np.column_stack([truth, np.zeros((n, q - 2))])
    return x + rng.normal(scale=noise, size=x.shape), truth


@pytest.fixture(scope="module")
def of_roll():
    x, truth = roll()
    model = ub.ProcrustesAlignment(random_state=0).fit(x)
    return model, ub.uncertainty(model, random_state=0), truth


def distances(y, i, j):
    return np.linalg.norm(y[i] - y[j], axis=1)


# Intervals


@pytest.mark.parametrize("sample", [roll, box])
@pytest.mark.parametrize("method", [ub.ProcrustesAlignment, ub.GreedyProcrustes])
def test_intervals_hold_the_truth(sample, method):
    x, truth = sample(seed=5)
    found = ub.uncertainty(method(random_state=0).fit(x), random_state=0)
    i, j = np.random.default_rng(0).integers(len(x), size=(2, 2000))
    exact = distances(truth, i, j)
    low, high = found.distance_interval(i, j)
    assert 0.9 < ((low <= exact) & (exact <= high))[i != j].mean() < 0.995
    low, high = found.distance_interval(i, j, level=0.5)
    assert 0.38 < ((low <= exact) & (exact <= high))[i != j].mean() < 0.8


def test_ellipses_hold_the_truth(of_roll):
    _, found, truth = of_roll
    gap = ub.align([found.embedding, truth], robust=False)[1] - found.embedding
    squared = np.einsum("na,na->n", gap, np.linalg.solve(found.covariance, gap[:, :, None])[:, :, 0])
    assert 0.9 < (squared <= found.ellipse_scale() ** 2).mean() < 0.99
    assert (squared <= found.ellipse_scale(0.5) ** 2).mean() < 0.75


def test_on_flat_data_every_point_has_its_own_noise():
    """First order: with frames that are known, a point of the embedding is off by its noise within the surface."""
    x, _ = box(noise=0.01)
    found = ub.uncertainty(ub.ProcrustesAlignment(random_state=0).fit(x), n_replicates=100, random_state=0)
    i, j = np.random.default_rng(0).integers(len(x), size=(2, 500))
    apart = i != j
    error = found.distance_error(i[apart], j[apart])
    np.testing.assert_allclose(np.sqrt((error**2).mean()), 0.01 * np.sqrt(2), rtol=0.06)
    np.testing.assert_allclose(np.sqrt((found.standard_error**2).mean(axis=0)), 0.01, rtol=0.06)


def test_errors_grow_with_the_noise():
    errors = []
    for noise in (0.01, 0.02):
        x, _ = box(noise=noise)
        found = ub.uncertainty(ub.ProcrustesAlignment(random_state=0).fit(x), random_state=0)
        errors.append(np.median(found.standard_error))
    np.testing.assert_allclose(errors[1], 2 * errors[0], rtol=0.2)


def test_curvature_is_an_error_without_noise():
    x, truth = ub.datasets.swiss_roll(1500, random_state=0)
    found = ub.uncertainty(
        ub.ProcrustesAlignment(random_state=0).fit(x), noise=0.0, n_replicates=3, random_state=0
    )
    assert found.replicates.std(axis=0).max() < 1e-4
    i, j = np.random.default_rng(0).integers(len(x), size=(2, 500))
    far = distances(truth, i, j) > 30
    off = np.abs(distances(found.embedding, i, j) - distances(truth, i, j))[far]
    np.testing.assert_allclose(found.distance_error(i, j)[far].mean(), off.mean(), rtol=0.3)


def test_an_embedding_that_is_wrong_has_large_errors():
    x, truth = roll()
    right = ub.uncertainty(x, truth, random_state=0)
    wrong = ub.uncertainty(x, truth * [1.0, 0.5], random_state=0)
    assert np.median(wrong.standard_error[:, 1]) > 3 * np.median(right.standard_error[:, 1])
    i, j = np.random.default_rng(0).integers(len(x), size=(2, 500))
    low, high = wrong.distance_interval(i, j)
    exact = distances(truth, i, j)
    assert ((low <= exact) & (exact <= high)).mean() > 0.9


def test_motions_of_the_embedding_do_not_matter():
    x, truth = box()
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    one, two = (ub.uncertainty(x, y, n_replicates=5, random_state=0) for y in (truth, truth @ turn + 7))
    np.testing.assert_allclose(two.covariance, turn.T @ one.covariance @ turn, atol=1e-12)
    np.testing.assert_allclose(two.distance_error(0, 1), one.distance_error(0, 1), atol=1e-10)


def test_the_result_depends_on_the_seed_alone(of_roll):
    model, found, _ = of_roll
    single = ub.uncertainty(model, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(single.replicates, found.replicates)
    np.testing.assert_array_equal(single.wider_refit, found.wider_refit)
    other = ub.uncertainty(model, n_replicates=3, random_state=1)
    assert not np.array_equal(other.replicates, found.replicates[:3])


def test_indices_may_be_single_numbers_or_arrays(of_roll):
    _, found, _ = of_roll
    low, high = found.distance_interval(3, -1)
    lows, highs = found.distance_interval([3, 5], len(found.embedding) - 1)
    # Sums over one pair and over several may differ in the last digit.
    np.testing.assert_allclose((low, high), (lows[0], highs[0]), rtol=1e-15)
    assert found.distance_interval(4, 4) == (0.0, 0.0)
    wide = found.distance_interval(3, 9, level=0.99)
    narrow = found.distance_interval(3, 9, level=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


# Graphs


def test_a_cut_stays_cut():
    x, _ = ub.datasets.cylinder(1500, noise=0.01, random_state=0)
    model = ub.ProcrustesAlignment(random_state=0).fit(x)
    assert len(model.cut_pairs_)
    found = ub.uncertainty(model, n_replicates=5, random_state=0)
    assert np.median(found.standard_error) < 0.05


def test_components_are_moved_by_themselves():
    x, _ = box(n=400)
    far = x + 9 * np.eye(5)[0]
    with pytest.warns(ub.DisconnectedWarning):
        model = ub.ProcrustesAlignment(random_state=0).fit(np.concatenate([x, far]))
    found = ub.uncertainty(model, n_replicates=5, random_state=0)
    assert np.median(found.standard_error) < 0.04
    assert np.isfinite(found.distance_interval(0, 1)).all()
    with pytest.raises(ValueError, match="points 0 and 400 lie in different connected components"):
        found.distance_interval([0, 0], [1, 400])


@pytest.mark.parametrize("factor", [1.0, 1.5, 2.0])
def test_wider_neighborhoods_are_the_nearest_within_two_steps(factor):
    x = np.random.default_rng(0).normal(size=(120, 3))
    graph = ub.neighborhoods(x, 6)
    found = widened(x, graph, factor)
    for i in range(len(x)):
        near = set(graph[i]).union(*(graph[j] for j in graph[i])) - {i}
        expected = sorted(near, key=lambda j: (((x[i] - x[j]) ** 2).sum(), j))[: round(6 * factor)]
        assert found[i].tolist() == expected


def test_onto_moves_every_component_best():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(50, 3))
    rows = [np.arange(20, dtype=np.uint32), np.arange(20, 50, dtype=np.uint32)]
    moved = target.copy()
    for part in rows:
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        moved[part] = target[part] @ q + rng.normal(size=3)
    np.testing.assert_allclose(onto(moved, target, rows), target, atol=1e-12)


# Noise


def by_hand(x, graph, d):
    """The variance that a quadric leaves of each neighborhood, by plain least squares."""
    found = []
    for i in range(len(x)):
        local = x[np.concatenate([[i], graph[i]])]
        local = local - local.mean(axis=0)
        chart = local @ np.linalg.svd(local, full_matrices=False)[2][:d].T
        squares = [chart[:, a] * chart[:, b] for a in range(d) for b in range(a + 1)]
        design = np.column_stack([np.ones(len(local)), chart, *squares])
        off = local - design @ np.linalg.lstsq(design, local, rcond=None)[0]
        found.append((off**2).sum() / ((len(local) - design.shape[1]) * (x.shape[1] - d)))
    return np.array(found)


@pytest.mark.parametrize("sample", [roll, box])
def test_noise_is_what_a_quadric_leaves(sample):
    x, _ = sample(n=300)
    graph = ub.neighborhoods(x, 16)
    expected = by_hand(x, graph, 2)
    again = by_hand(
        x + np.random.default_rng(3).normal(scale=np.sqrt(expected.mean()), size=x.shape), graph, 2
    )
    found = noise_of(x, graph, 2, np.random.default_rng(3))
    for _ in range(2):
        expected = np.array([expected[np.concatenate([[i], graph[i]])].mean() for i in range(len(x))])
    factor = (found**2 / expected).mean()
    np.testing.assert_allclose(found**2, factor * expected, rtol=1e-8)
    # s - a s^2 = e and (s + e) - a (s + e)^2 = e', in units of e; no more than e where e' is twice as much.
    ratio, a = again.mean() / by_hand(x, graph, 2).mean(), (factor - 1) / factor**2
    np.testing.assert_allclose((factor + 1) - a * (factor + 1) ** 2, min(ratio, 2.0), rtol=1e-6)


@pytest.mark.parametrize(("sample", "noise"), [(roll, 0.05), (roll, 0.3), (box, 0.01), (box, 0.05)])
def test_noise_is_found(sample, noise):
    x, truth = sample(n=1500, noise=noise)
    found = ub.uncertainty(x, truth, n_replicates=3, random_state=0).noise
    np.testing.assert_allclose(np.sqrt((found**2).mean()), noise, rtol=0.1)


def test_noise_may_differ_from_place_to_place():
    x, truth = box(n=1500, noise=0.0)
    left = truth[:, 0] < 1.5
    x += np.where(left, 0.02, 0.005)[:, None] * np.random.default_rng(1).normal(size=x.shape)
    found = ub.uncertainty(x, truth, random_state=0)
    middle = np.abs(truth[:, 0] - 1.5) < 0.3
    np.testing.assert_allclose(np.median(found.noise[left & ~middle]), 0.02, rtol=0.15)
    np.testing.assert_allclose(np.median(found.noise[~left & ~middle]), 0.005, rtol=0.15)
    errors = found.standard_error.mean(axis=1)
    assert np.median(errors[left & ~middle]) > 2.5 * np.median(errors[~left & ~middle])


def test_noise_that_is_known_is_taken():
    x, truth = box(q=2)
    with pytest.raises(
        ValueError, match="the data have 2 columns and the embedding 2, so their noise cannot"
    ):
        ub.uncertainty(x, truth)
    found = ub.uncertainty(x, x, noise=0.02, n_replicates=20, random_state=0)
    np.testing.assert_array_equal(found.noise, np.full(len(x), 0.02))
    np.testing.assert_allclose(np.median(found.standard_error), 0.02, rtol=0.15)
    each = ub.uncertainty(x, x, noise=np.full(len(x), 0.02), n_replicates=20, random_state=0)
    np.testing.assert_array_equal(each.replicates, found.replicates)


# Input


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_replicates": 2}, "n_replicates = 2 is too few: at least 3 is needed"),
        ({"noise": -1.0}, "noise = -1.0 is out of range"),
        ({"noise": np.nan}, "noise = nan is out of range"),
        ({"noise": [1.0, 2.0]}, r"noise has shape \(2,\): give one number, or 100"),
        ({"callback": 3}, "callback = 3 cannot be called"),
        ({"Y": np.zeros((3, 2))}, "X has 100 rows, but Y has 3"),
    ],
)
def test_bad_input_is_refused(options, match):
    x, truth = box(n=100)
    with pytest.raises(ValueError, match=match):
        ub.uncertainty(x, **{"Y": truth, **options})


def test_what_was_not_fitted_on_a_graph_is_refused():
    x, _ = box(n=100)
    with pytest.raises(ValueError, match="PCA has no X_fit_: give a fitted estimator with a graph"):
        ub.uncertainty(ub.PCA(2).fit(x))
    with pytest.raises(ValueError, match="ProcrustesAlignment has no X_fit_"):
        ub.uncertainty(ub.ProcrustesAlignment())


def test_questions_out_of_range_are_refused(of_roll):
    _, found, _ = of_roll
    with pytest.raises(ValueError, match="point 1200 is out of range: there are 1200 points"):
        found.distance_interval(0, 1200)
    with pytest.raises(ValueError, match="points have dtype float64"):
        found.distance_interval(0.5, 1)
    with pytest.raises(ValueError, match="level = 1 is out of range"):
        found.distance_interval(0, 1, level=1)
    x, truth = box(n=100, q=8)
    few = ub.uncertainty(x, np.column_stack([truth, x[:, 2]]), n_replicates=3, random_state=0)
    with pytest.raises(ValueError, match="n_replicates = 3 is too few for ellipses: at least 4 are needed"):
        few.ellipse_scale()


def test_a_callback_stops_it():
    x, truth = box(n=100)
    seen = []

    def callback(stage, done, total, best):
        seen.append((stage, done))
        return done == 2

    with pytest.raises(ub.Stopped):
        ub.uncertainty(x, truth, callback=callback, random_state=0)
    assert max(done for stage, done in seen if stage == "replicates") == 2


def test_a_result_is_shown_in_a_few_lines(of_roll):
    _, found, _ = of_roll
    assert repr(found).startswith("Uncertainty(1,200 points in 2 dimensions, 30 replicates, noise 0.")
    assert "curvature" in found._repr_html_()
