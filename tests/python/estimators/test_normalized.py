"""The normalized family: the same subspaces as scikit-learn's, and no failure where others fail."""

import math
import warnings

import numpy as np
import pytest
import unbend as ub
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.manifold import LocallyLinearEmbedding, spectral_embedding
from textbook_weights import members, mlle_twins

FAMILY = [
    ub.LocallyLinearEmbedding,
    ub.ModifiedLLE,
    ub.LTSA,
    ub.HessianLLE,
    ub.LaplacianEigenmaps,
    ub.DiffusionMaps,
]
TANGENTS = [ub.ModifiedLLE, ub.LTSA, ub.HessianLLE]
PLAIN = {"ltsa": {"include_self": False}, "hessian": {"include_self": False}}

every = pytest.mark.parametrize("kind", FAMILY)


def affine_error(y, truth):
    """The share of variance of the worst coordinate of the truth that no affine map of y explains."""
    design = np.column_stack([y, np.ones(len(y))])
    left = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return (left.var(axis=0) / truth.var(axis=0)).max()


def data(name):
    if name == "digits":
        # Many distances between digits are equal, and which neighbor is taken then is a matter of taste.
        x = load_digits().data[:1000]
        return x + np.random.default_rng(0).normal(scale=1e-3, size=x.shape)
    return {"roll": ub.datasets.swiss_roll, "s": ub.datasets.s_curve}[name](2000, random_state=0)[0]


# The same as others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["roll", "s", "digits"])
@pytest.mark.parametrize(("kind", "method"), [(ub.LocallyLinearEmbedding, "standard"), (ub.LTSA, "ltsa")])
def test_same_as_scikit_learn(name, kind, method):
    x = data(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LocallyLinearEmbedding(
            n_neighbors=12, n_components=2, method=method, eigen_solver="dense"
        ).fit_transform(x)
        ours = kind(n_neighbors=12, **PLAIN.get(method, {})).fit(x).embedding_
    assert affine_error(theirs, ours) < 1e-12


@pytest.mark.parametrize("local", [None, 2, 3])
def test_modified_lle_by_its_definition(local):
    """scikit-learn's has no bound of s_i, so its matrix differs where neighborhoods are thin."""
    x = ub.datasets.s_curve(400, noise=0.05, random_state=1)[0]
    x = np.column_stack([x, np.random.default_rng(2).normal(scale=0.05, size=(400, 2))])
    model = ub.ModifiedLLE(n_neighbors=12, local_components=local).fit(x)
    total = np.zeros((len(x), len(x)))
    for i, w in enumerate(mlle_twins(x, model.neighborhoods_, local or 2)[0]):
        places = members(model.neighborhoods_, i)
        total[np.ix_(places, places)] += w.T @ w
    assert affine_error(np.linalg.eigh(total)[1][:, 1:3], model.embedding_) < 1e-9


@pytest.mark.parametrize("name", ["roll", "s", "digits"])
def test_laplacian_eigenmaps_as_scikit_learn(name):
    x = data(name)
    model = ub.LaplacianEigenmaps(n_neighbors=10).fit(x)
    graph = model.neighborhoods_.to_graph()
    graph.data[:] = 1
    affinity = (graph + graph.T) / 2
    theirs = spectral_embedding(
        affinity, n_components=2, eigen_solver="arpack", random_state=0, eigen_tol=1e-13
    )
    assert affine_error(theirs, model.embedding_) < 1e-12


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_diffusion_maps_by_their_definition(alpha):
    """The eigenvectors of D^-1 A (appendix A.1), of eq. 1's weights made symmetric."""
    x, _ = ub.datasets.strip(400, length=1.7, random_state=0)
    model = ub.DiffusionMaps(n_neighbors=9, alpha=alpha, eps=0.05, time=1.5).fit(x)
    kernel = np.zeros((400, 400))
    for i, near in enumerate(model.neighborhoods_):
        kernel[i, near] = np.exp(-((x[i] - x[near]) ** 2).sum(axis=1) / 0.05)
    q = kernel.sum(axis=1)
    weights = kernel / np.outer(q**alpha, q**alpha)
    affinity = weights + weights.T
    degrees = affinity.sum(axis=1)
    values, vectors = np.linalg.eig(affinity / degrees[:, None])
    order = np.argsort(-values.real)[1:3]
    expected = vectors.real[:, order]
    expected *= np.sqrt(degrees.sum() / (degrees @ expected**2)) * values.real[order] ** 1.5
    signs = np.sign((expected * model.embedding_).sum(axis=0))
    np.testing.assert_allclose(model.embedding_, expected * signs, atol=1e-8)
    np.testing.assert_allclose(1 - model.eigenvalues_[:2], values.real[order], atol=1e-12)


def test_hessian_lle_by_its_definition():
    x, _ = ub.datasets.s_curve(500, random_state=0)
    model = ub.HessianLLE(n_neighbors=10, include_self=False).fit(x)
    total = np.zeros((500, 500))
    for near in model.neighborhoods_:
        centered = x[near] - x[near].mean(axis=0)
        u = np.linalg.svd(centered, full_matrices=False)[0][:, :2]
        columns = [np.ones(10), u[:, 0], u[:, 1], u[:, 0] ** 2, u[:, 0] * u[:, 1], u[:, 1] ** 2]
        rows = np.linalg.qr(np.column_stack(columns))[0][:, 3:].T
        total[np.ix_(near, near)] += rows.T @ rows
    values, vectors = np.linalg.eigh(total)
    assert subspace_angles(vectors[:, 1:3], model.embedding_).max() < 1e-6
    np.testing.assert_allclose(model.eigenvalues_[:2], values[1:3], atol=1e-12)


def test_coordinates_are_normalized():
    x, _ = ub.datasets.s_curve(800, random_state=0)
    for kind in FAMILY[:4]:
        y = kind(n_neighbors=10).fit(x).embedding_
        np.testing.assert_allclose(y.mean(axis=0), 0, atol=1e-7)
        np.testing.assert_allclose(y.T @ y / 800, np.eye(2), atol=1e-7)


@pytest.mark.parametrize("kind", [ub.LTSA, ub.HessianLLE])
def test_nothing_holds_a_point_that_is_nobodys_neighbor(kind):
    x, truth = ub.datasets.swiss_roll(10_000, random_state=0)
    listed = np.bincount(ub.neighborhoods(x, 12).indices, minlength=len(x))
    (alone,) = np.flatnonzero(listed == 0)
    with pytest.warns(ub.GapWarning, match=rf"1 point is in no neighborhood \(the first is {alone}\)"):
        kind(n_neighbors=12, include_self=False).fit(x)
    assert affine_error(kind(n_neighbors=12).fit(x).embedding_, truth) < 1e-5


# What rectification makes of it ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TANGENTS)
def test_rectified_rolls_are_as_faithful_as_the_truth(kind):
    x, truth = ub.datasets.swiss_roll(5000, random_state=0)
    of_truth = ub.faithfulness(x, truth, 12).r_n
    assert kind(n_neighbors=12).fit(x).faithfulness_.r_n > 0.5
    assert kind(n_neighbors=12, rectify=True).fit(x).faithfulness_.r_n < 1.05 * of_truth
    linear = kind(n_neighbors=12, rectify="linear").fit(x)
    assert linear.faithfulness_.r_n < (1.1 if kind is not ub.ModifiedLLE else 3) * of_truth
    found = ub.rectify(x, kind(n_neighbors=12).fit(x).embedding_, 12)
    assert found.after.r_n == pytest.approx(linear.faithfulness_.r_n, rel=1e-6)
    np.testing.assert_allclose(
        found.matrix, linear.maps_[0], rtol=1e-6, atol=1e-6 * np.abs(found.matrix).max()
    )


def test_a_collapse_is_said():
    x, _ = ub.datasets.strip(3000, length=6.0, noise=0.01, random_state=0)
    with pytest.warns(ub.CollapsedWarning, match="no linear map helps"):
        ub.LaplacianEigenmaps(n_neighbors=8, rectify=True).fit(x)


def test_modified_lle_shows_three_peaks_better_than_ltsa():
    """Fig. 4 of Zhang & Wang: the affine error is at most half."""
    x, truth = ub.datasets.three_peaks(1225, random_state=0)
    ltsa, mlle = (
        affine_error(kind(n_neighbors=12).fit(x).embedding_, truth) for kind in (ub.LTSA, ub.ModifiedLLE)
    )
    assert mlle < ltsa / 2


# Where others fail ----------------------------------------------------------------------------------------


@every
def test_a_flat_patch(kind):
    """An exactly flat surface: the matrix has more null vectors than constants."""
    truth = np.random.default_rng(0).uniform(size=(1500, 2))
    x = truth @ np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0][:2]
    model = kind(n_neighbors=12).fit(x)
    assert np.isfinite(model.embedding_).all()
    if kind in TANGENTS:
        # Modified LLE has regularized weights, which are not exact.
        assert affine_error(model.embedding_, truth) < (1e-10 if kind is not ub.ModifiedLLE else 1e-5)


@pytest.mark.parametrize("kind", TANGENTS)
def test_a_clean_roll_of_many_points(kind):
    x, truth = ub.datasets.swiss_roll(100_000, random_state=0)
    model = kind(n_neighbors=12).fit(x)
    assert max(model.trace_["components"][0]["residuals"][:2]) < 1e-8
    assert affine_error(model.embedding_, truth) < 1e-3


@every
@pytest.mark.filterwarnings(
    "ignore::unbend.DisconnectedWarning", "ignore::unbend.GapWarning", "ignore::unbend.CollapsedWarning"
)
def test_many_copies_of_one_point(kind):
    x, _ = ub.datasets.swiss_roll(1000, random_state=0)
    x[500:531] = x[500]
    model = kind(n_neighbors=12, rectify=True).fit(x)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(x[490:540] + 0.01)).all()


@every
def test_two_blobs(kind):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(300, 3)), rng.normal(size=(200, 3)) + 50])
    with pytest.warns(ub.DisconnectedWarning, match="2 components, of 300, 200 points"):
        model = kind(n_neighbors=10).fit(x)
    assert np.isfinite(model.embedding_).all()
    with pytest.raises(ValueError, match="2 components"):
        kind(n_neighbors=10, disconnected="error").fit(x)
    # Each by itself, and beside the other.
    assert model.embedding_[:300, 0].max() < model.embedding_[300:, 0].min()
    alone = kind(n_neighbors=10).fit(x[300:]).embedding_ if kind is not ub.DiffusionMaps else None
    if alone is None:  # the width of its kernel is that of all data
        return
    together = model.embedding_[300:] - model.embedding_[300:].mean(axis=0)
    np.testing.assert_allclose(together, alone - alone.mean(axis=0), atol=1e-6)


@every
@pytest.mark.filterwarnings("ignore::unbend.CollapsedWarning", "ignore::unbend.GapWarning")
def test_noise(kind):
    x, _ = ub.datasets.swiss_roll(3000, noise=0.6, random_state=0)
    model = kind(n_neighbors=12, rectify=True).fit(x)
    assert np.isfinite(model.embedding_).all()
    assert max(model.trace_["components"][0]["residuals"][:2]) < 1e-8


@every
@pytest.mark.filterwarnings("ignore::unbend.DisconnectedWarning", "ignore::unbend.GapWarning")
@pytest.mark.parametrize("n", [3, 4, 5, 8, 20])
def test_tiny_data(kind, n):
    x = np.random.default_rng(n).normal(size=(n, 3))
    try:
        model = kind().fit(x)
    except ValueError as error:
        assert any(str(number) in str(error) for number in (n, n - 1))  # noqa: PT017
        return
    assert np.isfinite(model.embedding_).all()


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
@every
@pytest.mark.filterwarnings("ignore::unbend.DisconnectedWarning", "ignore::unbend.GapWarning")
@pytest.mark.parametrize("rectify", [False, "linear", True])
def test_constant_and_collinear_data(kind, rectify):
    for x in (np.ones((60, 3)), np.linspace(0, 1, 60)[:, None] * [1.0, 2.0, 3.0]):
        try:
            model = kind(n_neighbors=10, rectify=rectify).fit(x)
        except ValueError as error:
            assert str(error)  # noqa: PT017
            continue
        assert np.isfinite(model.embedding_).all()


# New points -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*TANGENTS, ub.LaplacianEigenmaps, ub.DiffusionMaps])
def test_new_points_go_where_they_belong(kind):
    x, _ = ub.datasets.strip(4000, length=1.5, random_state=0)
    x = np.column_stack([np.cos(x[:, 0]), np.sin(x[:, 0]), x[:, 1]])
    model = kind(n_neighbors=10).fit(x[:3000])
    whole = kind(n_neighbors=10).fit(x).embedding_
    placed, errors = model.transform(x[3000:], return_error=True)
    assert affine_error(np.concatenate([model.embedding_, placed]), whole) < 2e-2
    assert affine_error(placed, whole[3000:]) < 2e-2
    assert (errors < 0.2).all()
    found = model.inverse_transform(placed)
    assert np.sqrt(((found - x[3000:]) ** 2).sum(axis=1).mean()) < 0.02


@pytest.mark.parametrize("d", [1, 2, 3])
def test_affine_extension_by_least_squares(d):
    """On data of dimension d it is the affine regression on the neighbors."""
    rng = np.random.default_rng(d)
    x, new = rng.normal(size=(100, d)), rng.normal(size=(7, d)) * 0.5
    model = ub.LTSA(n_components=d, n_neighbors=max(8, d + 5)).fit(x)
    placed, errors = model.transform(new, return_error=True)
    for point, place, error in zip(new, placed, errors, strict=True):
        near = np.argsort(((x - point) ** 2).sum(axis=1))[: model.n_neighbors_]
        design = np.column_stack([x[near], np.ones(len(near))])
        solution = np.linalg.lstsq(design, model.embedding_[near], rcond=None)[0]
        np.testing.assert_allclose(place, [*point, 1] @ solution, atol=1e-9)
        left = model.embedding_[near] - design @ solution
        assert error == pytest.approx(np.sqrt((left**2).sum() / len(near)), rel=1e-6, abs=1e-9)


# Invariances ----------------------------------------------------------------------------------------------


@every
@pytest.mark.filterwarnings("ignore::unbend.CollapsedWarning")
def test_same_bits_on_any_threads(kind):
    x, _ = ub.datasets.swiss_roll(3000, random_state=0)
    one, two = (kind(n_neighbors=10, rectify=True, n_jobs=n).fit(x) for n in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


@every
@pytest.mark.filterwarnings("ignore::unbend.CollapsedWarning")
def test_motions_and_units_do_not_matter(kind):
    rng = np.random.default_rng(0)
    x, _ = ub.datasets.s_curve(800, random_state=0)
    turned = 1000 * (x @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + 3)
    order = rng.permutation(800)
    plain, other = (kind(n_neighbors=10).fit(data).embedding_ for data in (x, turned[order]))
    assert affine_error(plain[order], other) < 1e-8


@every
def test_parameters_are_checked_before_any_work(kind):
    x, _ = ub.datasets.s_curve(100, random_state=0)
    with pytest.raises(ValueError, match="rectify = 'no' is unknown"):
        kind(rectify="no").fit(x)
    with pytest.raises(ValueError, match="n_neighbors = 100 needs at least 101 points"):
        kind(n_neighbors=100).fit(x)
    with pytest.raises(ValueError, match="n_components = 4 exceeds the 3"):
        kind(n_components=4).fit(x)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (ub.LocallyLinearEmbedding(weights="best"), "weights = 'best' is unknown"),
        (ub.LocallyLinearEmbedding(reg=-1), "reg = -1"),
        (ub.ModifiedLLE(reg=float("nan")), "reg = nan"),
        (ub.ModifiedLLE(local_components=1), "local_components = 1 is below n_components = 2"),
        (ub.LTSA(include_self="yes"), "include_self = 'yes'"),
        (ub.HessianLLE(n_neighbors=4), "4"),
        (ub.LaplacianEigenmaps(kernel="box"), "kernel = 'box' is unknown"),
        (ub.LaplacianEigenmaps(kernel="heat", eps=0), "eps = 0"),
        (ub.DiffusionMaps(alpha=2), "alpha = 2"),
        (ub.DiffusionMaps(time=-1), "time = -1"),
    ],
)
def test_bad_parameters_are_named(model, text):
    with pytest.raises(ValueError, match=text):
        model.fit(ub.datasets.s_curve(100, random_state=0)[0])


@pytest.mark.parametrize("max_memory", [10**30, 1e300, math.inf])
def test_limits_of_memory_beyond_all_machines_are_no_limits(max_memory):
    x = ub.datasets.swiss_roll(200, random_state=0)[0]
    expected = ub.LaplacianEigenmaps(max_memory=2**50).fit(x).embedding_
    assert np.array_equal(ub.LaplacianEigenmaps(max_memory=max_memory).fit(x).embedding_, expected)
