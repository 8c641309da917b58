"""Fits with fixed points, ties and groups, compared with dense systems."""

import pickle

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes
from unbend.fit import problem as problems

RNG = np.random.default_rng(0)
N = 160
PLANE = RNG.random((N, 2)) * [3, 2]
NB = ub.neighborhoods(PLANE, 8)
ROWS = np.array([3, 40, 77, 120, 150])
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])
TURN_IN_SPACE = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])
PLACES = PLANE[ROWS] @ TURN + [5, -2] + 0.1 * RNG.normal(size=(5, 2))
EXACT = {"refine": None, "solve_tol": 1e-12}


def matrix_of(x, nb):
    """The matrix of eq. 11 with the weights of R_N."""
    matrix = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        members = np.append(i, nb[i]).astype(int)
        center = np.eye(len(members)) - 1 / len(members)
        matrix[np.ix_(members, members)] += center / ((center @ x[members]) ** 2).sum()
    return matrix


def rotation(source, target, weights=None):
    """The rotation that fits best, by Procrustes."""
    weights = np.ones(len(source)) if weights is None else weights
    one, two = (rows - np.average(rows, axis=0, weights=weights) for rows in (source, target))
    u, _, vt = np.linalg.svd((weights[:, None] * one).T @ two)
    return u @ vt


def test_exact_pins_stay_and_all_others_solve_the_dense_system():
    """Points of a plane have the same frame everywhere, up to the rotation that the pins determine."""
    found = ub.ProcrustesAlignment(**EXACT).fit(PLANE, neighborhoods=NB, fixed=(ROWS, PLACES)).embedding_
    np.testing.assert_allclose(found[ROWS], PLACES, rtol=0, atol=1e-12)
    matrix = matrix_of(PLANE, NB)
    sides, free = matrix @ PLANE @ rotation(PLANE[ROWS], PLACES), np.setdiff1d(np.arange(N), ROWS)
    known = sides[free] - matrix[np.ix_(free, ROWS)] @ PLACES
    expected = np.linalg.solve(matrix[np.ix_(free, free)], known)
    np.testing.assert_allclose(found[free], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("weights", [1.0, np.array([1e-3, 0.1, 1, 20, 40.0]), [np.inf, 1, 1, np.inf, 0.1]])
def test_soft_pins_solve_the_dense_weighted_system(weights):
    fixed = (ROWS, PLACES, weights)
    found = ub.ProcrustesAlignment(**EXACT).fit(PLANE, neighborhoods=NB, fixed=fixed).embedding_
    weights = np.broadcast_to(weights, 5).astype(float)
    matrix, soft = matrix_of(PLANE, NB), np.isfinite(weights)
    turn = rotation(PLANE[ROWS], PLACES, np.where(soft, weights, 1.0))
    unit, sides = np.median(np.diag(matrix)), matrix @ PLANE @ turn
    matrix[ROWS[soft], ROWS[soft]] += unit * weights[soft]
    sides[ROWS[soft]] += unit * weights[soft, None] * PLACES[soft]
    held = ROWS[~soft]
    free, expected = np.setdiff1d(np.arange(N), held), np.empty((N, 2))
    expected[held] = PLACES[~soft]
    known = sides[free] - matrix[np.ix_(free, held)] @ expected[held]
    expected[free] = np.linalg.solve(matrix[np.ix_(free, free)], known)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def two_groups():
    """A plane, and a stretched copy elsewhere, so that tied points cannot coincide without a strain."""
    other = PLANE * [1.08, 1.0]
    x = np.concatenate([PLANE, other @ TURN * [1, -1] + 30])
    ties = np.stack([np.arange(0, N, 3), np.arange(0, N, 3) + N], axis=1)
    return x, np.repeat([0, 1], N), ties


@pytest.mark.parametrize("weight", [0.0, 1e-3, 1.0, 50.0])
def test_tied_groups_solve_the_dense_system(weight):
    x, groups, ties = two_groups()
    given = np.column_stack([ties, np.full(len(ties), weight)])
    psa = ub.ProcrustesAlignment(n_neighbors=8, **EXACT).fit(x, groups=groups, ties=given)
    parts = [x[:N], x[N:]]
    graphs = [ub.neighborhoods(part, 8) for part in parts]
    np.testing.assert_array_equal(psa.neighborhoods_[N + 5], graphs[1][5] + N)
    matrix, sides = np.zeros((2 * N, 2 * N)), np.zeros((2 * N, 2))
    turns = [np.eye(2), rotation(x[ties[:, 1]], x[ties[:, 0]])]
    for at, (part, graph, turn) in enumerate(zip(parts, graphs, turns, strict=True)):
        rows = slice(at * N, (at + 1) * N)
        matrix[rows, rows] = matrix_of(part, graph)
        sides[rows] = matrix[rows, rows] @ part @ turn
    unit = np.median(np.diag(matrix))
    for i, j in ties:
        matrix[[i, j], [i, j]] += unit * weight
        matrix[[i, j], [j, i]] -= unit * weight
    expected = np.linalg.lstsq(matrix, sides, rcond=1e-12)[0]
    if weight == 0.0:  # The system does not say where the groups lie; the means of tied points do.
        expected[N:] += (expected[ties[:, 0]] - expected[ties[:, 1]]).mean(axis=0)
    turn = rotation(psa.embedding_, expected)
    moved = (psa.embedding_ - psa.embedding_.mean(axis=0)) @ turn
    np.testing.assert_allclose(moved, expected - expected.mean(axis=0), rtol=0, atol=1e-7)
    assert not psa.component_labels_.any()


def slices(count, n, noise=0.02):
    """Copies of a roll with noise of their own, each moved by a motion of its own."""
    x, truth = ub.datasets.swiss_roll(n, random_state=0)
    rng = np.random.default_rng(1)
    parts = []
    for _ in range(count):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        parts.append((x + noise * rng.normal(size=x.shape)) @ turn + 5 * rng.normal(size=3))
    same = np.arange(0, n, 7)
    ties = [np.stack([same + n * at, same + n * (at + 1)], axis=1) for at in range(count - 1)]
    return (
        np.concatenate(parts),
        truth,
        np.repeat([f"slice {at}" for at in range(count)], n),
        np.concatenate(ties),
    )


X, TRUTH, GROUPS, TIES = slices(3, 1200)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("mixed", [False, True])
def test_slices_of_a_roll_come_out_on_each_other(mixed, weight):
    order = np.random.default_rng(5).permutation(len(X)) if mixed else np.arange(len(X))
    place = np.argsort(order)
    ties = np.column_stack([place[TIES], np.full(len(TIES), weight)])
    psa = ub.ProcrustesAlignment(random_state=0).fit(X[order], groups=GROUPS[order], ties=ties)
    maps = psa.embedding_[place].reshape(3, 1200, 2)
    alone = [ub.ProcrustesAlignment(random_state=0).fit(part).embedding_ for part in X.reshape(3, 1200, 3)]
    errors, apart = (np.array([procrustes(TRUTH, y)[2] for y in found]) for found in (maps, alone))
    assert errors.mean() < 1.01 * apart.mean()
    if weight == 0.0:
        np.testing.assert_allclose(errors, apart, rtol=0.05)  # Each has the shape of its own fit.
    assert np.sqrt(((maps[1:] - maps[:-1]) ** 2).sum(axis=2).mean()) < 0.1
    assert psa.verdict_.trusted
    assert psa.faithfulness_.overlap < 0.01
    assert not psa.component_labels_.any()


def test_a_joint_fit_survives_files_pickles_and_threads(tmp_path):
    given = {"groups": GROUPS, "ties": TIES}
    one, two = (ub.ProcrustesAlignment(n_jobs=jobs).fit(X, **given) for jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    for copy in (ub.load(one.save(tmp_path / "joint.unbend")), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(copy.embedding_, one.embedding_)
        np.testing.assert_array_equal(copy.transform(X[:50]), one.transform(X[:50]))


def test_new_points_are_placed_by_their_own_group():
    psa = ub.ProcrustesAlignment().fit(X, groups=GROUPS, ties=TIES)
    placed = psa.transform(X[1300:1320] + 1e-3)
    np.testing.assert_allclose(placed, psa.embedding_[1300:1320], atol=0.1)


def test_ties_close_what_neighbors_leave_open():
    """Two halves without a group: ties bring them together, and groups without ties stay apart."""
    halves = np.concatenate([PLANE, PLANE + np.array([50, 0])])
    nb = ub.neighborhoods(halves, 8)
    ties = np.stack([np.arange(N), np.arange(N) + N], axis=1)
    maps = ub.ProcrustesAlignment().fit(halves, neighborhoods=nb, ties=ties).embedding_
    np.testing.assert_allclose(maps[:N], maps[N:], atol=1e-6)
    with pytest.warns(ub.DisconnectedWarning):
        ub.ProcrustesAlignment().fit(halves, groups=np.repeat([0, 1], N))


def test_components_without_a_pin_lie_beside_those_with_pins():
    halves = np.concatenate([PLANE, PLANE + np.array([50, 0])])
    with pytest.warns(ub.DisconnectedWarning):
        maps = ub.ProcrustesAlignment().fit(halves, fixed=(ROWS, PLANE[ROWS])).embedding_
    np.testing.assert_allclose(maps[:N], PLANE, atol=1e-6)
    assert maps[N:, 0].min() > maps[:N, 0].max()
    assert procrustes(PLANE, maps[N:])[2] < 1e-10


def test_soft_pins_of_a_refinement_give_way():
    x, truth = ub.datasets.swiss_roll(400, random_state=0)
    rows = np.arange(0, 400, 25)
    places = truth[rows] + np.random.default_rng(2).normal(scale=0.5, size=(len(rows), 2))
    options = {"n_neighbors": 10, "guard": False}
    far = [
        np.linalg.norm(ub.refine(x, truth, fixed=(rows, places, w), **options).embedding[rows] - places)
        for w in (1e-3, 1.0, 1e3)
    ]
    assert far[2] < 0.05 * far[1] < 0.05 * far[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ties": [[0, N]]}, f"ties holds point {N}, but points are numbered from 0 to {N - 1}"),
        ({"ties": [[0.5, 1]]}, "ties holds point 0.5"),
        ({"ties": [[3, 4], [7, 7]]}, "row 1 of ties joins point 7 to itself"),
        ({"ties": [[0, 1, -1]]}, "row 0 of ties has weight -1"),
        ({"ties": [[0, 1, 2, 3]]}, r"ties has shape \(1, 4\)"),
        ({"groups": np.zeros(3)}, r"groups has shape \(3,\): \(160,\) is needed"),
        ({"groups": np.arange(N) < 5}, "group True has 5 points, but 12 neighbors of each need at least 13"),
        ({"groups": np.zeros(N), "neighborhoods": NB}, "groups say where neighbors are searched"),
        ({"fixed": (ROWS, PLACES, 0.0)}, "weights of fixed hold 0: they must be above 0"),
        ({"fixed": (ROWS, PLACES, [1, 2])}, r"weights of fixed have shape \(2,\)"),
        ({"fixed": (ROWS, PLACES[:3])}, r"coordinates of fixed have shape \(3, 2\)"),
    ],
)
def test_what_cannot_be_tied(given, message):
    with pytest.raises(ValueError, match=message):
        ub.ProcrustesAlignment().fit(PLANE, **given)


def test_what_does_not_go_together():
    ties = {"ties": [[0, 1]]}
    with pytest.raises(ValueError, match="cut = True does not go with ties or fixed points"):
        ub.ProcrustesAlignment(cut=True).fit(PLANE, **ties)
    with pytest.raises(ValueError, match="ties is not possible in cells"):
        ub.ProcrustesAlignment(partition=50).fit(PLANE, **ties)
    distances = np.linalg.norm(PLANE[:, None] - PLANE, axis=2)
    with pytest.raises(ValueError, match="groups need points"):
        ub.ProcrustesAlignment(metric="precomputed").fit(distances, groups=np.zeros(N))
    with pytest.raises(ValueError, match="weights of fixed are for method = 'global'"):
        ub.refine(PLANE, PLANE, fixed=(ROWS, PLACES, 1.0), method="paper")


def test_distances_take_pins_and_weights():
    distances = np.linalg.norm(PLANE[:, None] - PLANE, axis=2)
    psa = ub.ProcrustesAlignment(metric="precomputed").fit(
        distances, fixed=(ROWS, PLANE[ROWS]), sample_weight=RNG.random(N) + 0.5
    )
    np.testing.assert_allclose(psa.embedding_, PLANE, atol=1e-5)


def test_renumbered_points_keep_their_groups_in_place(monkeypatch):
    """Eq. 11 leaves groups with rigid ties where they are; in another order it must as well."""
    monkeypatch.setattr(problems, "MIN_RENUMBERED_POINTS", 1)
    x, _ = ub.datasets.swiss_roll(900, noise=0.2, random_state=0)
    other = x[:700] + 0.2 * np.random.default_rng(1).normal(size=(700, 3))
    slices, groups = np.concatenate([x, other @ TURN_IN_SPACE + [40, 0, 7]]), np.repeat([0, 1], [900, 700])
    ends = np.arange(0, 700, 9)
    ties = np.column_stack([ends, 900 + ends, 0 * ends])
    y = ub.ProcrustesAlignment(refine="global").fit(slices, groups=groups, ties=ties).embedding_
    gap = (y[ends] - y[900 + ends]).mean(axis=0)
    assert np.linalg.norm(gap) < 0.5


@pytest.mark.parametrize("refine", ["pointwise", "paper"])
def test_refinement_point_by_point_has_no_ties(refine):
    model = ub.ProcrustesAlignment(refine=refine)
    with pytest.raises(ValueError, match=f"refine = '{refine}' does not go with ties"):
        model.fit(PLANE, neighborhoods=NB, ties=[(0, 1)])
    with pytest.raises(ValueError, match="does not go with ties or weights of fixed"):
        model.fit(PLANE, neighborhoods=NB, fixed=(ROWS, PLACES, 1.0))


def test_a_group_holds_all_neighbors_that_tangents_need():
    groups = np.repeat([0, 1], [N - 20, 20])
    with pytest.raises(ValueError, match="group 1 has 20 points, but 40 neighbors"):
        ub.ProcrustesAlignment(n_neighbors=8, tangent_neighbors=40).fit(PLANE, groups=groups)
    with pytest.raises(ValueError, match="labels of different types"):
        ub.ProcrustesAlignment(n_neighbors=8).fit(PLANE, groups=[None, "a"] * (N // 2))


def test_groups_have_no_score_and_one_group_is_none():
    groups = np.repeat([0, 1], N // 2)
    model = ub.ProcrustesAlignment(n_neighbors=8)
    pairs = [(i, i + N // 2, 0.0) for i in range(9)]
    both = model.fit(np.concatenate([PLANE[: N // 2]] * 2), groups=groups, ties=pairs)
    with pytest.raises(ValueError, match="score searches neighbors across groups"):
        both.score(PLANE)
    assert model.fit(PLANE, groups=np.ones(N)).groups_ is None


def test_fit_transform_takes_what_fit_takes():
    weights = RNG.random(N) + 0.5
    model = ub.ProcrustesAlignment(n_neighbors=8)
    before = model.fit(PLANE, sample_weight=weights).embedding_
    np.testing.assert_array_equal(model.fit_transform(PLANE, sample_weight=weights), before)
