"""The local weights of the normalized family as the core gives them, against scikit-learn and textbook twins.

The twins follow section 2 of Goldberg, Zakai, Kushnir and Ritov, "The price of normalization", one
neighborhood at a time with full decompositions; W_i'W_i is compared, since W_i is defined
up to an orthogonal factor only.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import unbend as ub
from sklearn.datasets import load_digits
from sklearn.manifold import SpectralEmbedding
from sklearn.manifold._locally_linear import barycenter_kneighbors_graph
from textbook_weights import members, twins
from unbend._core import LocalWeights

K = 12


def data(name):
    if name == "digits":
        pixels = load_digits().data[:500]  # whole numbers, so many distances are equal: jitter parts them
        return pixels + 1e-3 * np.random.default_rng(0).normal(size=pixels.shape)
    return getattr(ub.datasets, name)(601 if name == "swiss_roll" else 600, noise=0.05, random_state=3)[0]


DATA = ["swiss_roll", "s_curve", "digits"]

WEIGHTS = {
    "lle": lambda x, g, jobs=1: LocalWeights.lle(x, g, "tikhonov", 1e-3, None, jobs),
    "ldr": lambda x, g, jobs=1: LocalWeights.lle(x, g, "ldr", 0.0, None, jobs),
    "ldr 2": lambda x, g, jobs=1: LocalWeights.lle(x, g, "ldr", 0.0, 2, jobs),
    "convex": lambda x, g, jobs=1: LocalWeights.lle(x, g, "convex", 1e-3, None, jobs),
    "mlle": lambda x, g, jobs=1: LocalWeights.mlle(x, g, 2, 1e-3, jobs),
    "ltsa": lambda x, g, jobs=1: LocalWeights.ltsa(x, g, 2, False, jobs),
    "ltsa self": lambda x, g, jobs=1: LocalWeights.ltsa(x, g, 2, True, jobs),
    "hlle": lambda x, g, jobs=1: LocalWeights.hlle(x, g, 2, False, jobs),
    "hlle self": lambda x, g, jobs=1: LocalWeights.hlle(x, g, 2, True, jobs),
    "lem": lambda x, g, jobs=1: LocalWeights.lem(x, g, "window", None, jobs),
    "lem heat": lambda x, g, jobs=1: LocalWeights.lem(x, g, "heat", None, jobs),
    "dfm": lambda x, g, jobs=1: LocalWeights.dfm(x, g, 1.0, "heat", None, jobs),
    "dfm half": lambda x, g, jobs=1: LocalWeights.dfm(x, g, 0.5, "heat", 2.0, jobs),
}


def csr(parts):
    indptr, indices, entries = parts
    n = len(indptr) - 1
    return sp.csr_array((entries, indices.view(np.int32), indptr), shape=(n, n))


def largest(a):
    return float(abs(a).max())


# ---------------------------------------------------------------------------- textbook twins


def assembled(found, nb):
    n = len(nb)
    total = np.zeros((n, n))
    for i, w in enumerate(found):
        total[np.ix_(members(nb, i), members(nb, i))] += w.T @ w
    return total


@pytest.mark.parametrize("where", DATA)
@pytest.mark.parametrize("name", WEIGHTS)
def test_the_twins_agree(name, where):
    x = data(where)
    if name == "dfm half" and where == "digits":
        x = x / 20  # a width of 2 is for data of that size
    nb = ub.neighborhoods(x, K)
    weights = WEIGHTS[name](x, nb.core)
    expected = twins(name, x, nb)
    for i in range(0, len(x), 7):
        w, twin = weights.row(i), expected[i]
        scale = max(1.0, largest(twin) ** 2)
        assert largest(w.T @ w - twin.T @ twin) < 1e-9 * scale, f"{name}, point {i}"
    total = assembled(expected, nb)
    np.testing.assert_allclose(csr(weights.matrix()).toarray(), total, atol=1e-9 * largest(total))


@pytest.mark.parametrize("name", WEIGHTS)
def test_neighborhoods_of_many_sizes(name):
    x = data("swiss_roll")
    full = ub.neighborhoods(x, 20)
    lists = [full[i][: 8 + i % 11] for i in range(len(x))]
    columns, rows = np.concatenate(lists), np.repeat(np.arange(len(x)), [len(a) for a in lists])
    distances = np.linalg.norm(x[rows] - x[columns], axis=1)
    nb = ub.Neighborhoods.from_graph(sp.csr_array((distances, (rows, columns)), shape=(len(x), len(x))))
    assert nb.n_neighbors is None
    total = assembled(twins(name, x, nb), nb)
    found = csr(WEIGHTS[name](x, nb.core).matrix()).toarray()
    np.testing.assert_allclose(found, total, atol=1e-9 * largest(total))


# ---------------------------------------------------------------------------- scikit-learn


def theirs(x, method, monkeypatch):
    """The matrix that scikit-learn's `_locally_linear_embedding` makes before it looks for eigenvectors."""
    from sklearn.manifold import _locally_linear

    kept = {}
    monkeypatch.setattr(_locally_linear, "null_space", lambda m, *_, **__: kept.update(m=m) or (None, None))
    _locally_linear._locally_linear_embedding(
        x, n_neighbors=K, n_components=2, method=method, eigen_solver="dense"
    )
    return kept["m"]


@pytest.mark.parametrize("where", DATA)
@pytest.mark.parametrize(("name", "method"), [("lle", "standard"), ("ltsa", "ltsa"), ("mlle", "modified")])
def test_scikit_learn_makes_the_same_matrix(name, method, where, monkeypatch):
    x = data(where)
    if name == "mlle":
        x = x[: len(x) - 1 + len(x) % 2]  # of an even number, they take the mean of the two middle terms
    nb = ub.neighborhoods(x, K)
    own = set()
    if name == "mlle":  # it lets s_i exceed k - d, eq. 3.7 does not
        spectra = [np.linalg.svd(x[nb[i]] - x[i], compute_uv=False) ** 2 for i in range(len(x))]
        eta = np.median([values[2:].sum() / values[:2].sum() for values in spectra])
        own = {i for i, values in enumerate(spectra) if values[1:].sum() < eta * values[0]}
        assert where == "digits" or len(own) < 0.05 * len(x)
    found = csr(WEIGHTS[name](x, nb.core).matrix()).toarray()
    their = theirs(x, method, monkeypatch)
    touched = sorted({int(j) for i in own for j in members(nb, i)})
    rest = np.setdiff1d(np.arange(len(x)), touched)
    assert len(rest) > 0.3 * len(x) or where == "digits"
    np.testing.assert_allclose(found[rest][:, rest], their[rest][:, rest], atol=1e-10)


def test_scikit_learn_finds_the_same_barycenters():
    x = data("swiss_roll")
    nb = ub.neighborhoods(x, K)
    weights = LocalWeights.lle(x, nb.core, "tikhonov", 1e-2, None, 1)
    their = barycenter_kneighbors_graph(x, K, reg=1e-2)
    for i in range(len(x)):
        np.testing.assert_allclose(-weights.row(i)[0, 1:], their[[i]].toarray()[0][nb[i]], atol=1e-10)


@pytest.mark.parametrize("where", DATA)
def test_scikit_learn_makes_the_same_graph(where):
    """Its matrix is half ours; it counts the point itself among its neighbors, which adds loops only."""
    x = data(where)
    nb = ub.neighborhoods(x, K)
    weights = WEIGHTS["lem"](x, nb.core)
    their = SpectralEmbedding(affinity="nearest_neighbors", n_neighbors=K + 1, random_state=0)
    their = their._get_affinity_matrix(x).toarray()
    np.fill_diagonal(their, 0)
    np.testing.assert_array_equal(csr(weights.affinity()).toarray(), 2 * their)
    degrees, matrix = weights.degrees(True), csr(weights.matrix())
    np.testing.assert_array_equal(matrix.diagonal(), degrees)
    np.testing.assert_array_equal(csr(weights.affinity()).sum(axis=1), degrees)
    np.testing.assert_array_equal(weights.degrees(False), np.full(len(x), K))


@pytest.mark.parametrize(("name", "method"), [("ltsa", "ltsa"), ("lle", "standard")])
def test_the_embedding_is_theirs_up_to_an_affine_map(name, method, monkeypatch):
    x = ub.datasets.s_curve(500, random_state=1)[0]
    nb = ub.neighborhoods(x, K)
    ours = csr(WEIGHTS[name](x, nb.core).matrix()).toarray()
    y, their = (np.linalg.eigh(m)[1][:, 1:3] for m in (ours, theirs(x, method, monkeypatch)))
    rest = their - y @ np.linalg.lstsq(y, their)[0]
    assert np.linalg.norm(rest) < 1e-6


# ---------------------------------------------------------------------------- what always holds


def handle_beside_a_noisy_sheet(noise):
    """Neighborhoods on a thin handle are flatter than the usual one even in one dimension."""
    rng = np.random.default_rng(0)
    sheet = np.column_stack([rng.random((260, 2)) * [5, 5], 0.4 * rng.normal(size=260)])
    along = rng.random(141) * 12
    return np.concatenate(
        [sheet, np.column_stack([5 + along, 2.5 + 0 * along, noise * rng.normal(size=141)])]
    )


@pytest.mark.parametrize("noise", [0.02, 0.0])
def test_mlle_has_at_most_k_less_d_weight_vectors(noise):
    x, d = handle_beside_a_noisy_sheet(noise), 2
    nb = ub.neighborhoods(x, K)
    spectra = [np.linalg.svd(x[nb[i]] - x[i], compute_uv=False) ** 2 for i in range(len(x))]
    ratios = sorted(values[d:].sum() / values[:d].sum() for values in spectra)
    eta = ratios[(len(x) + 1) // 2 - 1]
    exceeding = [i for i, values in enumerate(spectra) if values[1:].sum() < eta * values[0]]
    assert len(exceeding) > 50  # without the bound they had k - 1
    weights = WEIGHTS["mlle"](x, nb.core)
    for i in exceeding:
        w = weights.row(i)
        assert np.linalg.matrix_rank(w.T @ w, tol=1e-8) <= K - d, i
        assert largest(w.sum(axis=1)) < 1e-8 * largest(w), i
    # On a straight handle, the directions that are left out beside its own are a choice.
    expected = twins("mlle", x, nb)
    for i in range(0, len(x) if noise else 260, 5):
        w, twin = weights.row(i), expected[i]
        assert largest(w.T @ w - twin.T @ twin) < 1e-8 * max(1.0, largest(twin) ** 2), i


@pytest.mark.parametrize("n", [240, 241])
def test_mlle_takes_the_lower_of_two_middle_terms(n):
    x = ub.datasets.s_curve(n, noise=0.1, random_state=2)[0]
    nb = ub.neighborhoods(x, K)
    weights, expected = WEIGHTS["mlle"](x, nb.core), twins("mlle", x, nb)
    for i in range(n):
        w, twin = weights.row(i), expected[i]
        assert largest(w.T @ w - twin.T @ twin) < 1e-9 * max(1.0, largest(twin) ** 2), i


@pytest.mark.parametrize("where", DATA)
@pytest.mark.parametrize("name", WEIGHTS)
def test_phi_is_the_quadratic_form(name, where):
    x = data(where)
    nb = ub.neighborhoods(x, K)
    weights, y = WEIGHTS[name](x, nb.core), np.random.default_rng(0).normal(size=(len(x), 3))
    phi, m = weights.phi(y), csr(weights.matrix())
    assert phi.shape == (len(x),)
    assert (phi >= 0).all()
    assert phi.sum() == pytest.approx(np.sum(y * (m @ y)), rel=1e-12)
    for i in (0, 5, len(x) - 1):
        assert phi[i] == pytest.approx(np.sum((weights.row(i) @ y[members(nb, i)]) ** 2), rel=1e-12)
    far = weights.phi(1e6 + y)
    np.testing.assert_allclose(far, phi, rtol=1e-6)
    np.testing.assert_array_equal(weights.phi(np.full((len(x), 2), 0.3)), 0)


@pytest.mark.parametrize("where", DATA)
@pytest.mark.parametrize("name", WEIGHTS)
def test_the_matrix_is_symmetric_and_has_constants_in_its_null_space(name, where):
    x = data(where)
    nb = ub.neighborhoods(x, K)
    m = csr(WEIGHTS[name](x, nb.core).matrix())
    assert m.has_sorted_indices
    assert m.has_canonical_format
    assert (m != m.T).nnz == 0
    assert largest(m @ np.ones(len(x))) < 1e-13 * K * largest(m)
    assert np.linalg.eigvalsh(m.toarray())[0] > -1e-12 * largest(m)


@pytest.mark.parametrize("name", WEIGHTS)
def test_any_number_of_threads_gives_the_same_bits(name):
    x = ub.datasets.swiss_roll(5_000, noise=0.1, random_state=0)[0]
    nb = ub.neighborhoods(x, K)
    results = []
    for jobs in (1, 2, 5):
        weights = WEIGHTS[name](x, nb.core, jobs)
        results.append([*weights.matrix(), weights.phi(x)])
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("where", DATA)
@pytest.mark.parametrize("name", WEIGHTS)
def test_motions_of_the_data_move_nothing(name, where):
    x = data(where)
    nb = ub.neighborhoods(x, K)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(x.shape[1],) * 2))[0]
    before = csr(WEIGHTS[name](x, nb.core).matrix())
    for moved in (x + 3.7, x @ rotation, x[:, ::-1]):
        after = csr(WEIGHTS[name](moved, nb.core).matrix())
        assert largest(after - before) < 1e-8 * largest(before)
    if name != "dfm half":  # which has a width of its own
        after = csr(WEIGHTS[name](1e-7 * x, nb.core).matrix())
        assert largest(after - before) < 1e-8 * largest(before)


@pytest.mark.parametrize("name", ["ltsa", "ltsa self", "hlle", "hlle self"])
def test_flat_data_cost_nothing(name):
    rng = np.random.default_rng(0)
    flat = rng.uniform(size=(400, 2)) * [3, 1]
    x = flat @ np.linalg.qr(rng.normal(size=(5, 2)))[0].T + 4.0
    nb = ub.neighborhoods(x, K)
    weights = WEIGHTS[name](x, nb.core)
    assert largest(csr(weights.matrix()) @ np.c_[flat, x]) < 1e-11
    assert weights.phi(flat).max() < 1e-25
    assert weights.phi(flat**2).sum() > 1e-4  # but what bends costs


def test_convex_weights_are_convex():
    x = data("digits")
    nb = ub.neighborhoods(x, K)
    # so much regularization that some weights are positive by themselves
    weights, plain = (LocalWeights.lle(x, nb.core, kind, 0.1, None, 1) for kind in ("convex", "tikhonov"))
    same = 0
    for i in range(len(x)):
        w, free = -weights.row(i)[0, 1:], -plain.row(i)[0, 1:]
        assert w.min() >= 0
        assert w.sum() == pytest.approx(1, abs=1e-14)
        if free.min() >= 0:
            np.testing.assert_allclose(w, free, atol=1e-12)
            same += 1
    assert 0 < same < len(x)


def test_the_weight_of_least_norm_is_the_limit_of_small_regularization():
    x = data("s_curve")
    nb = ub.neighborhoods(x, K)
    ldr, none = WEIGHTS["ldr"](x, nb.core), LocalWeights.lle(x, nb.core, "tikhonov", 0.0, None, 1)
    small = LocalWeights.lle(x, nb.core, "tikhonov", 1e-10, None, 1)
    for i in range(0, len(x), 11):
        np.testing.assert_array_equal(ldr.row(i), none.row(i))
        np.testing.assert_allclose(small.row(i), ldr.row(i), atol=1e-4)


# ---------------------------------------------------------------------------- degenerate data

HARD = {
    "all equal": lambda rng: np.ones((60, 4)),
    "collinear": lambda rng: np.outer(rng.normal(size=60), [1.0, 2.0, -1.0, 0.5]),
    "copies": lambda rng: np.repeat(rng.normal(size=(4, 4)), 15, axis=0),
    "pairs": lambda rng: np.repeat(rng.normal(size=(30, 4)), 2, axis=0),
    "flat": lambda rng: np.c_[rng.normal(size=(60, 2)), np.zeros((60, 2))],
    "one far": lambda rng: np.r_[np.zeros((59, 4)), np.ones((1, 4))],
    "grid": lambda rng: np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), -1).reshape(-1, 2),
    "tiny": lambda rng: 1e-140 * rng.normal(size=(60, 4)),
    "huge": lambda rng: 1e148 * rng.normal(size=(60, 4)),
    "offset": lambda rng: 1e8 + 1e-6 * rng.normal(size=(60, 4)),
    "clusters": lambda rng: np.r_[np.zeros((30, 4)), 1e9 + rng.normal(size=(30, 4))],
}


@pytest.mark.parametrize("k", [5, 13, 40])
@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("hard", HARD)
def test_degenerate_data_give_finite_weights(hard, name, k):
    x = HARD[hard](np.random.default_rng(0))
    nb = ub.neighborhoods(x, k)
    if name == "hlle" and k == 5:
        return  # six are needed
    weights = WEIGHTS[name](x, nb.core)
    m = csr(weights.matrix())
    assert np.isfinite(m.data).all()
    assert (m != m.T).nnz == 0
    size = max(largest(m), 1e-300)
    assert largest(m @ np.ones(len(x))) <= 1e-12 * size * k
    assert np.isfinite(weights.phi(x / max(1.0, largest(x)))).all()
    if hard == "all equal" and name in ("ltsa self", "mlle"):  # what coincides is to coincide
        assert np.linalg.matrix_rank(m.toarray(), tol=1e-9) == len(x) - len(np.unique(nb.component_labels))


@pytest.mark.parametrize("name", WEIGHTS)
def test_small_and_odd_arrays(name):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 3))
    nb = ub.neighborhoods(x, 9)
    plain = WEIGHTS[name](x, nb.core).matrix()
    larger = np.zeros((80, 9))
    larger[::2, ::3] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    for odd in (np.asfortranarray(x), larger[::2, ::3], read_only):
        found = WEIGHTS[name](odd, nb.core).matrix()
        assert all(np.array_equal(a, b) for a, b in zip(found, plain, strict=True))
    single = x.astype(np.float32)
    found = WEIGHTS[name](single, nb.core).matrix()
    double = WEIGHTS[name](single.astype(float), nb.core).matrix()
    assert all(np.array_equal(a, b) for a, b in zip(found, double, strict=True))


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda x, g: LocalWeights.hlle(x, g, 2, False, 1),
            "n_components = 2 need at least 6 neighbors, .*has 4",
        ),
        (
            lambda x, g: LocalWeights.hlle(x, g, 2, True, 1),
            "n_components = 2 need at least 5 neighbors, .*has 4",
        ),
        (
            lambda x, g: LocalWeights.mlle(x, g, 5, 1e-3, 1),
            "n_components = 5 need at least 5 neighbors, .*has 4",
        ),
        (
            lambda x, g: LocalWeights.ltsa(x, g, 3, False, 1),
            "n_components = 3 need at least 5 neighbors, .*has 4",
        ),
        (lambda x, g: LocalWeights.ltsa(x, g, 9, False, 1), "n_components = 9 exceeds the 6 dimensions"),
        (lambda x, g: LocalWeights.ltsa(x, g, 0, False, 1), "n_components = 0 is too few"),
        (lambda x, g: LocalWeights.lle(x, g, "ldr", 0.0, 7, 1), "n_components = 7 exceeds the 6 dimensions"),
        (lambda x, g: LocalWeights.lle(x, g, "tikhonov", -1.0, None, 1), "reg = -1 is out of range"),
        (lambda x, g: LocalWeights.lle(x, g, "tikhonov", np.nan, None, 1), "reg = NaN is out of range"),
        (lambda x, g: LocalWeights.lle(x, g, "what", 1.0, None, 1), 'weights = "what" is unknown'),
        (lambda x, g: LocalWeights.mlle(x, g, 2, 0.0, 1), "reg = 0 is out of range"),
        (lambda x, g: LocalWeights.lem(x, g, "heat", -2.0, 1), "eps = -2 is out of range"),
        (lambda x, g: LocalWeights.lem(x, g, "round", None, 1), 'kernel = "round" is unknown'),
        (lambda x, g: LocalWeights.dfm(x, g, 1.5, "heat", None, 1), "alpha = 1.5 is out of range"),
        (lambda x, g: LocalWeights.ltsa(x[:9], g, 2, False, 1), "X has 9 rows, but .* has 30"),
        (lambda x, g: LocalWeights.ltsa(x * np.nan, g, 2, False, 1), "X holds NaN"),
        (lambda x, g: LocalWeights.ltsa(x, g, 2, False, 1).degrees(True), "LTSA weights have no degrees"),
        (lambda x, g: LocalWeights.ltsa(x, g, 2, False, 1).phi(x[:5]), "Y has 5 rows, but .* has 30"),
        (lambda x, g: LocalWeights.ltsa(x, g, 2, False, 1).row(30), "30"),
    ],
)
def test_errors_name_the_numbers(make, message):
    x = np.random.default_rng(0).normal(size=(30, 6))
    with pytest.raises(ValueError, match=message):
        make(x, ub.neighborhoods(x, 4).core)
