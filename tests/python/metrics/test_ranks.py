"""Measures by ranks: the textbook, scikit-learn, cases by hand, chance, samples, errors."""

import json

import numpy as np
import pytest
import textbook
import unbend as ub
from unbend import metrics

NAMES = (
    "trustworthiness",
    "continuity",
    "q_nx",
    "r_nx",
    "lcmc",
    "mrre_false",
    "mrre_missing",
    "rand_index",
)


def defined(name, X, Y, k):
    chance, q = k / (len(X) - 1), textbook.q_nx(X, Y, k)
    return {
        "trustworthiness": lambda: textbook.trustworthiness(X, Y, k),
        "continuity": lambda: textbook.trustworthiness(Y, X, k),
        "q_nx": lambda: q,
        "r_nx": lambda: (q - chance) / (1 - chance),
        "lcmc": lambda: q - chance,
        "mrre_false": lambda: textbook.mrre(X, Y, k),
        "mrre_missing": lambda: textbook.mrre(Y, X, k),
        "rand_index": lambda: textbook.rand_index(X, Y, k),
    }[name]()


def cloud(n, q, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, q)), rng.normal(size=(n, d))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("q", "d"), [(3, 2), (20, 2), (2, 5)])
def test_every_measure_is_that_of_the_textbook(q, d, ties):
    X, Y = cloud(61, q, d, seed=q)
    if ties:
        X, Y = np.round(X), np.round(2 * Y)
    m = metrics.ranks(X, Y, 59)
    for name in NAMES:
        for k in (1, 2, 7, 30, 31, 45, 59):
            value = getattr(m, name)[k - 1]
            assert value == pytest.approx(defined(name, X, Y, k), abs=1e-13), (name, k)
            assert m.per_point(name, k).mean() == pytest.approx(value, abs=1e-13), (name, k)


@pytest.mark.parametrize(("q", "d"), [(3, 2), (20, 2), (2, 40)])
def test_ties_are_counted_as_the_textbook_counts_them(q, d):
    """On a grid, where most distances are equal: the sums behind the measures are the same whole numbers."""
    X, Y = (np.round(array) for array in cloud(300, q, d, seed=q))
    m, n = metrics.ranks(X, Y, 9), 300
    in_x, in_y = textbook.all_ranks(X), textbook.all_ranks(Y)
    for k in range(1, 10):
        worst = n * k * (2 * n - 3 * k - 1) / 2
        intruders, lost = (in_y <= k) & (in_x > k), (in_x <= k) & (in_y > k)
        kept = (in_x >= 1) & (in_x <= k) & (in_y <= k)
        for measured, of_all, counted in (
            (1 - m.trustworthiness[k - 1], worst, (in_x - k)[intruders].sum()),
            (1 - m.continuity[k - 1], worst, (in_y - k)[lost].sum()),
            (m.q_nx[k - 1], n * k, kept.sum()),
            (m.lcmc[k - 1] + k / (n - 1), n * k, kept.sum()),
        ):
            assert abs(measured * of_all - counted) < 1e-6
            assert round(measured * of_all) == counted
        for found, own, other in ((m.mrre_false, in_y, in_x), (m.mrre_missing, in_x, in_y)):
            near, s = (own >= 1) & (own <= k), np.arange(1, k + 1)
            shifts = [np.abs(other - own)[near & (own == place)].sum() for place in s]
            expected = (shifts / s).sum() / (n * (np.abs(n - 2 * s) / s).sum())
            assert found[k - 1] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trustworthiness_is_that_of_scikit_learn(dtype):
    manifold = pytest.importorskip("sklearn.manifold")
    X, Y = (array.astype(dtype) for array in cloud(300, 10, 2))
    for k in (1, 5, 30, 149):
        expected = manifold.trustworthiness(X.astype(float), Y.astype(float), n_neighbors=k)
        assert metrics.trustworthiness(X, Y, k) == pytest.approx(expected, abs=1e-12)


def test_a_case_by_hand():
    X, Y = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([[0.0], [1.0], [3.0], [0.5]])
    # nearest in Y: 3 3 1 0, of ranks 3 3 1 3 in X; nearest in X: 1 0 1 2, of ranks 2 2 1 3 in Y
    assert metrics.trustworthiness(X, Y, 1) == pytest.approx(1 - 6 / 8, abs=1e-15)
    assert metrics.continuity(X, Y, 1) == pytest.approx(1 - 4 / 8, abs=1e-15)
    assert metrics.q_nx(X, Y, 1) == metrics.agreement_rate(X, Y, 1) == 0.25
    assert metrics.r_nx(X, Y, 1) == metrics.agreement_rate(X, Y, 1, corrected=True)
    assert metrics.r_nx(X, Y, 1) == pytest.approx(-1 / 8, abs=1e-15)
    assert metrics.lcmc(X, Y, 1) == pytest.approx(-1 / 12, abs=1e-15)
    assert metrics.mrre(X, Y, 1) == pytest.approx(6 / 8, abs=1e-15)
    assert metrics.mrre(X, Y, 1, kind="missing") == pytest.approx(4 / 8, abs=1e-15)
    assert metrics.rand_index(X, Y, 1) == 0.5
    assert metrics.trustworthiness(X, Y, 1, per_point=True).tolist() == [0, 0, 1, 0]


def test_two_points_have_nothing_to_lose():
    m = metrics.ranks([[0.0], [1.0]], [[5.0], [3.0]], 1)
    assert (m.trustworthiness, m.continuity, m.q_nx, m.rand_index) == (1, 1, 1, 1)
    assert (m.r_nx, m.lcmc, m.mrre_false, m.auc, m.best_k) == (0, 0, 0, 0, 1)


def test_the_matrix_holds_all_pairs_and_its_corner_is_that_of_the_tables():
    X, Y = cloud(70, 4, 2)
    matrix = metrics.coranking_matrix(X, Y)
    assert np.array_equal(matrix, textbook.coranking(X, Y))
    assert np.array_equal(metrics.coranking_matrix(X, Y, 9), matrix[:9, :9])
    m = metrics.ranks(X, Y, 69)
    assert np.array_equal(m.coranking, matrix)
    kept = np.array([matrix[:k, :k].sum() for k in m.k])
    assert np.abs(m.q_nx - kept / (m.k * 70)).max() < 1e-15


def test_chance_is_what_relabelling_gives():
    X, Y = cloud(50, 3, 2)
    rng = np.random.default_rng(1)
    rounds = [metrics.ranks(X, rng.permutation(Y), 49) for _ in range(200)]
    for name in NAMES:
        values = np.array([getattr(m, name) for m in rounds])
        error = values.std(axis=0) / np.sqrt(len(rounds))
        assert (np.abs(values.mean(axis=0) - rounds[0].null(name)) < 5 * error + 1e-12).all(), name
    assert rounds[0].null("auc") == 0


def test_motions_and_scalings_change_nothing():
    X, Y = cloud(200, 3, 2)
    turn, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))
    before, after = metrics.ranks(X, Y, 15), metrics.ranks(4 * X @ turn + 3, Y[:, ::-1] / 8, 15)
    for name in NAMES:
        assert np.array_equal(getattr(before, name), getattr(after, name))
    assert before.auc == after.auc


def test_known_neighborhoods_are_taken():
    X, Y = cloud(200, 3, 2)
    nb = ub.neighborhoods(X, 20)
    m = metrics.ranks(X, Y, 15)
    for given in (metrics.ranks(X, Y, 15, neighborhoods=nb), metrics.ranks(X, Y, neighborhoods=nb)):
        assert np.array_equal(given.continuity[:15], m.continuity)
        assert np.array_equal(given.trustworthiness[:15], m.trustworthiness)
    some = metrics.ranks(X, Y, 15, n_centers=50, random_state=0)
    known = metrics.ranks(X, Y, 15, n_centers=50, random_state=0, neighborhoods=nb)
    assert known.to_dict() == some.to_dict()


def test_the_area_and_the_best_k():
    X = cloud(100, 3, 2)[0]
    m = metrics.ranks(X, X[:, :2], 98)
    assert m.auc == pytest.approx((m.r_nx / m.k).sum() / (1 / m.k).sum(), abs=1e-14)
    assert m.per_point("auc").mean() == pytest.approx(m.auc, abs=1e-14)
    assert m.lcmc[m.best_k - 1] == m.lcmc.max()
    assert metrics.ranks(X, X, 99).auc == pytest.approx(1, abs=1e-14)


def test_samples_have_errors_that_hold():
    X = cloud(3000, 3, 2)[0]
    Y = X[:, :2]
    whole = metrics.ranks(X, Y, 10)
    assert whole.interval("q_nx") == (whole.q_nx[-1], whole.q_nx[-1])
    inside = dict.fromkeys((*NAMES, "auc"), 0)
    for seed in range(40):
        m = metrics.ranks(X, Y, 10, n_centers=300, random_state=seed)
        for name in inside:
            low, high = m.interval(name) if name == "auc" else m.interval(name, 7)
            true = whole.auc if name == "auc" else getattr(whole, name)[6]
            inside[name] += low <= true <= high
    assert all(count >= 33 for count in inside.values()), inside
    errors = m.standard_error("q_nx")
    expected = m.per_point("q_nx", 4).std(ddof=1) * np.sqrt(0.9 / 300)
    assert errors[3] == pytest.approx(expected, rel=1e-9)
    assert np.isinf(metrics.ranks(X, Y, 3, n_centers=1, random_state=0).standard_error("q_nx")).all()


def test_auto_looks_at_as_many_as_it_takes():
    X = cloud(20_000, 3, 2)[0]
    m = metrics.ranks(X, X[:, :2], 10, n_centers="auto", half_width=0.02, random_state=0)
    assert 1000 <= len(m.centers) < 20_000
    for name in ("trustworthiness", "continuity", "q_nx"):
        low, high = m.interval(name)
        assert high - low < 0.044
    assert metrics.q_nx(X, X[:, :2], 10, n_centers="auto", half_width=0.02, random_state=0) == m.q_nx[-1]


def test_threads_change_nothing_and_the_dict_is_for_json():
    X, Y = cloud(800, 20, 2)
    one, two = (metrics.ranks(X, Y, 12, n_jobs=jobs).to_dict() for jobs in (1, 2))
    assert one == two == json.loads(json.dumps(two))
    assert set(NAMES) < set(one)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros((5, 2)), np.zeros((6, 2))), {}, "X has 5 rows, but Y has 6"),
        ((np.zeros((5, 2)), np.zeros((5, 2)), 5), {}, "n_neighbors = 5 needs at least 6 points, got 5"),
        ((np.zeros((5, 2)), np.zeros((5, 2)), 0), {}, "n_neighbors"),
        ((np.zeros((5, 2)), np.full((5, 2), np.nan), 2), {}, "Y holds NaN"),
        ((np.zeros((50, 2)), np.zeros((50, 2)), 2), {"n_centers": 0}, "n_centers"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        metrics.ranks(*arguments, **options)


def test_bad_neighborhoods_and_names_are_refused():
    X, Y = cloud(30, 3, 2)
    nb = ub.neighborhoods(X, 4)
    with pytest.raises(ValueError, match="n_neighbors = 5 exceeds the 4 neighbors"):
        metrics.ranks(X, Y, 5, neighborhoods=nb)
    with pytest.raises(ValueError, match="X has 29 rows, but neighborhoods are of 30 points"):
        metrics.ranks(X[1:], Y[1:], neighborhoods=nb)
    with pytest.raises(ValueError, match="differ in size"):
        metrics.ranks(X, Y, neighborhoods=ub.neighborhoods(X, radius=1.0))
    with pytest.raises(TypeError, match="ndarray"):
        metrics.ranks(X, Y, neighborhoods=nb.indices)
    m = metrics.ranks(X, Y, 4)
    for call in (m.null, m.standard_error, m.interval, m.per_point):
        with pytest.raises(ValueError, match="'stress' is unknown"):
            call("stress")
    with pytest.raises(ValueError, match="k = 5 is out of range: at most 4 neighbors"):
        m.interval("q_nx", 5)
    with pytest.raises(ValueError, match="kind = 'both'"):
        metrics.mrre(X, Y, 4, kind="both")
    with pytest.raises(ValueError, match="at least 2 points, got 1"):
        metrics.coranking_matrix(X[:1], Y[:1])


def test_mrre_can_be_above_one():
    x, y = [[2, 5], [6, 1], [8, 8], [0, 5]], [[1, 3], [3, 8], [3, 4], [3, 2]]
    assert ub.metrics.mrre(x, y, 2) == 1.25
    found = ub.metrics.ranks(np.tile(x, (3, 1)), np.tile(y, (3, 1)), 2, n_centers=2, random_state=0)
    high = found.interval("mrre_false")[1]
    assert high == pytest.approx(
        found.mrre_false[-1] + 1.96 * found.standard_error("mrre_false")[-1], rel=1e-3
    )
    assert ub.quality(x, y, ["mrre_false"], 2)["mrre_false"].measure.high >= 1.25


def test_measures_have_one_order():
    """Hash maps of the core have another one in each run."""
    x = np.random.default_rng(0).normal(size=(40, 3))
    wanted = list(NAMES)
    for _ in range(5):
        found = ub.metrics.ranks(x, x[:, :2], 6)
        assert [name for name in found.to_dict() if name in wanted] == wanted
        assert list(found.at_points(["q_nx", "auc", "lcmc"], 3)) == ["q_nx", "auc", "lcmc"]
        assert list(found.at_points(["q_nx", "auc", "lcmc"])) == ["q_nx", "auc", "lcmc"]
