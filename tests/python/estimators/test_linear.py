"""Principal components and random projections: against scikit-learn, the lemma, and what they keep."""

import warnings

import numpy as np
import pytest
import scipy.linalg
import unbend as ub
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA as Peer
from unbend.estimators.linear import base as linear
from unbend.plot import circle

KINDS = ["gaussian", "sparse", "kane-nelson", "hadamard"]
SHAPES = [(400, 6), (6, 400), (50, 50), (51, 50), (2, 3)]


def cloud(n, q, seed=0):
    rng = np.random.default_rng([seed, n, q])
    return rng.normal(size=(n, q)) * np.linspace(3, 0.5, q) + rng.normal(size=q)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(linear, "BLOCK_ENTRIES", 64)


# PCA


@pytest.mark.parametrize("shape", SHAPES)
def test_principal_components(shape, small_blocks):
    x = cloud(*shape)
    ours, peer = ub.PCA(2).fit(x), Peer(2, svd_solver="full").fit(x)
    signs = np.sign((ours.components_ * peer.components_).sum(axis=1))
    np.testing.assert_allclose(ours.components_, signs[:, None] * peer.components_, atol=1e-9)
    np.testing.assert_allclose(ours.embedding_, signs * peer.transform(x), atol=1e-9)
    np.testing.assert_allclose(ours.mean_, peer.mean_, atol=1e-12)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_, atol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_, atol=1e-10)
    assert len(ours.singular_values_) == min(shape)
    back = peer.inverse_transform(peer.transform(x))
    np.testing.assert_allclose(ours.inverse_transform(ours.embedding_), back, atol=1e-9)
    errors = ours.transform(x, return_error=True)[1]
    np.testing.assert_allclose(errors, np.linalg.norm(x - back, axis=1), atol=1e-9)


def test_what_is_left_out_is_what_is_lost():
    x = cloud(300, 8)
    pca = ub.PCA(3).fit(x)
    lost = ((x - pca.inverse_transform(pca.embedding_)) ** 2).sum()
    assert lost == pytest.approx((pca.singular_values_[3:] ** 2).sum(), rel=1e-10)


def test_small_variances_beside_large_ones_are_found(small_blocks):
    """Squares of the data would drown what is smaller than 1e-8 of the largest."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    u = rng.normal(size=(200, 3))
    u = np.linalg.qr(u - u.mean(axis=0))[0]
    x = u * [1.0, 1e-6, 1e-11] @ turn
    np.testing.assert_allclose(ub.PCA(3).fit(x).singular_values_, [1.0, 1e-6, 1e-11], rtol=1e-3)


def test_a_plane_comes_back():
    x = cloud(100, 2) @ np.random.default_rng(1).normal(size=(2, 30)) + 7
    pca = ub.PCA(2).fit(x)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(x)), x, atol=1e-12)
    np.testing.assert_allclose(pdist(pca.embedding_), pdist(x), rtol=1e-10)


def test_correlations(small_blocks):
    x = cloud(200, 5)
    x[:, 3] = 0.1  # constant, and its mean is not exactly so
    pca = ub.PCA(4).fit(x)
    for variable in (0, 1, 2, 4):
        for component in range(4):
            expected = np.corrcoef(x[:, variable], pca.embedding_[:, component])[0, 1]
            assert pca.correlations_[variable, component] == pytest.approx(expected, abs=1e-10)
    assert (pca.correlations_[3] == 0).all()
    np.testing.assert_allclose((pca.correlations_[[0, 1, 2, 4]] ** 2).sum(axis=1), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts(dtype):
    x = cloud(60, 4).astype(dtype)
    expected = ub.PCA(2).fit(x.copy()).embedding_
    wide = np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2]
    frozen = np.asfortranarray(x)
    frozen.flags.writeable = False
    for layout in (wide, frozen):
        np.testing.assert_allclose(ub.PCA(2).fit(layout).embedding_, expected, atol=1e-12)
    assert expected.dtype == np.float64


def test_turns_and_shifts_of_the_data_do_not_matter():
    x = cloud(90, 4)
    turn = np.linalg.qr(cloud(4, 4))[0]
    a, b = (ub.PCA(3).fit(each).embedding_ for each in (x, x @ turn + 100))
    np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-10)


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
def test_copies():
    pca = ub.PCA(2).fit(np.full((20, 3), 0.1))
    assert (pca.embedding_ == 0).all()
    assert (pca.explained_variance_ratio_ == 0).all()
    assert (pca.correlations_ == 0).all()


def test_the_circle():
    plt = pytest.importorskip("matplotlib.pyplot")
    pd = pytest.importorskip("pandas")
    pca = ub.PCA(3).fit(pd.DataFrame(cloud(100, 4), columns=list("abcd")))
    _, ax = plt.subplots()
    assert pca.plot_circle(ax, components=(0, 2)) is ax
    assert {"a", "b", "c", "d"} <= {text.get_text() for text in ax.texts}
    assert ax.get_ylabel().startswith("component 2 (")
    names = [text.get_text() for text in pca.plot_circle(names=range(4)).texts]
    assert "3" in names
    with pytest.raises(ValueError, match="component 3 is out of range: there are 3"):
        pca.plot_circle(components=(0, 3))
    with pytest.raises(ValueError, match="there are 2 names, but 4 variables"):
        pca.plot_circle(names="ab")
    plt.close("all")


def test_names_in_the_circle_do_not_lie_on_each_other():
    heights = circle.label_heights(np.array([[0.9, 0.1], [0.9, 0.11], [-0.9, 0.1], [0.5, 0.9]]))
    assert heights[2] == 0.1
    assert heights[3] == 0.9
    assert heights[1] - heights[0] >= circle.LABEL_HEIGHT


# Random projections


@pytest.mark.parametrize("kind", KINDS)
def test_the_lemma_holds(kind):
    x = cloud(60, 3000)
    for seed in range(5):
        projection = ub.RandomProjection(eps=0.4, kind=kind, random_state=seed).fit(x)
        assert projection.n_components_ == np.ceil(16 / 0.4**2 * np.log(60 / np.sqrt(0.05)))
        ratios = pdist(projection.embedding_) / pdist(x)
        assert (np.abs(ratios**2 - 1) <= 0.4).all()
        assert projection.distortion_ == pytest.approx(max(ratios.max(), 1 / ratios.min()))
        assert projection.distortion_share_ == 0


@pytest.mark.parametrize("kind", KINDS)
def test_squared_lengths_are_kept_on_average(kind):
    x = cloud(40, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.DistortionWarning)
        runs = [
            pdist(ub.RandomProjection(30, kind=kind, random_state=s).fit_transform(x)) ** 2
            for s in range(200)
        ]
    ratio = (np.mean(runs, axis=0) / pdist(x) ** 2).mean()
    assert ratio == pytest.approx(1, abs=0.01)


def projected(x, d, kind, eps=0.1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.DistortionWarning)
        return ub.RandomProjection(d, kind=kind, eps=eps, random_state=0).fit(x)


@pytest.mark.parametrize("eps", [0.05, 0.3, 0.9])
def test_every_column_of_kane_and_nelson_has_one_entry_in_each_block(eps):
    x, d = cloud(10, 300), 40
    matrix = projected(x, d, "kane-nelson", eps).components_.toarray()
    s = int(np.ceil(eps * d))
    np.testing.assert_allclose(np.unique(np.abs(matrix)), [0, 1 / np.sqrt(s)])
    blocks = np.split(matrix != 0, np.arange(1, s) * d // s)
    for block in blocks:
        assert (block.sum(axis=0) == 1).all()
    np.testing.assert_allclose((matrix**2).sum(axis=0), 1)


@pytest.mark.parametrize("q", [1, 2, 5, 8, 37, 64])
def test_the_fast_transform_is_that_of_the_matrix(q, small_blocks):
    """The matrix of Hadamard as Sylvester makes it, its columns with signs, some of its rows."""
    x = cloud(30, q)
    d = max(1, q // 2)
    projection = projected(x, d, "hadamard")
    whole = scipy.linalg.hadamard(1 << (q - 1).bit_length())
    expected = (whole[projection.rows_][:, :q] * projection.signs_) / np.sqrt(d)
    np.testing.assert_allclose(projection.components_, expected, atol=1e-15)
    np.testing.assert_allclose(projection.embedding_, x @ expected.T, atol=1e-12)
    np.testing.assert_array_equal(projection.transform(x[:7]), projection.embedding_[:7])
    assert len(np.unique(projection.rows_)) == d


def test_spikes_are_spread_by_the_fast_transform():
    """A sample of the columns of X would lose a point with one coordinate; a sample of its transform does not."""
    x = np.eye(256)[:50]
    lengths = np.linalg.norm(projected(x, 64, "hadamard").embedding_, axis=1)
    np.testing.assert_allclose(lengths, 1)


def test_data_from_the_same_seed_are_no_trap():
    x = np.random.default_rng(0).normal(size=(100, 2000))
    assert ub.RandomProjection(eps=0.4, random_state=0).fit(x).distortion_ < 1 / np.sqrt(1 - 0.4)


def test_too_few_dimensions_are_said():
    with pytest.warns(
        ub.DistortionWarning, match=r"% of the squared distances .* eps = 0.1.* 3 dimensions"
    ) as w:
        projection = ub.RandomProjection(3, random_state=0).fit(cloud(300, 50))
    assert projection.distortion_share_ > 0.5
    assert f"{projection.distortion_:.3g}" in str(w[0].message)
    assert w[0].filename == __file__


def test_nothing_to_gain():
    x = cloud(30, 5)
    with pytest.warns(
        ub.DistortionWarning, match=r"need 7,839 dimensions, but the data have 5: they are left"
    ) as w:
        projection = ub.RandomProjection().fit(x)
    np.testing.assert_array_equal(projection.embedding_, x)
    assert (projection.distortion_, projection.n_components_) == (1.0, 5)
    assert w[0].filename == __file__


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::unbend.DistortionWarning")
def test_back_from_a_projection(kind, tmp_path):
    x = cloud(50, 40)
    projection = ub.RandomProjection(10, kind=kind, random_state=1).fit(x)
    found, errors = projection.inverse_transform(projection.embedding_, return_error=True)
    assert errors.max() < 1e-10  # its image is what was asked for
    assert (np.linalg.norm(found, axis=1) <= np.linalg.norm(x, axis=1) * (1 + 1e-12)).all()
    again = ub.load(projection.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.transform(x), projection.embedding_)
    np.testing.assert_array_equal(again.transform(x), projection.transform(x))


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
def test_copies_are_not_distorted():
    x = np.repeat(cloud(2, 3000), 10, axis=0)
    assert ub.RandomProjection(eps=0.5, random_state=0).fit(x).distortion_ < 1 / np.sqrt(0.5)
    assert ub.RandomProjection(2, random_state=0).fit(x[:10]).distortion_ == 1


# Both


@pytest.mark.parametrize("kind", [ub.PCA, ub.RandomProjection])
def test_bad_input(kind):
    x = cloud(30, 4)
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match="X holds NaN at row 3, column 1"):
        kind().fit(x)
    x[3, 1] = 1e200
    with pytest.raises(ValueError, match=r"X holds 1e200 at row 3, column 1: squared distances overflow"):
        kind().fit(x)
    with pytest.raises(ValueError, match="n_components = 5 exceeds the 4 dimensions"):
        kind(5).fit(cloud(30, 4))
    with pytest.raises(ValueError, match="n_components = 0 is too few"):
        kind(0).fit(cloud(30, 4))
    with pytest.raises(MemoryError, match=r"max_memory is 1\.0 kB"):
        kind(2, max_memory=1000).fit(cloud(30, 4))


@pytest.mark.parametrize("name", ["eps", "failure"])
@pytest.mark.parametrize("value", [0, 1, -0.5, np.nan])
def test_shares_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"{name} = {value} is out of range: it must be between 0 and 1"):
        ub.RandomProjection(**{name: value}).fit(cloud(30, 4))


def test_more_components_than_points():
    with pytest.raises(ValueError, match="n_components = 4 needs as many points, got n_samples = 3"):
        ub.PCA(4).fit(cloud(3, 9))


def test_a_stop(small_blocks):
    model = ub.PCA(2).fit(cloud(30, 4))
    before = dict(vars(model))
    with pytest.raises(ub.Stopped, match="in its stage axes"):
        model.set_params(callback=lambda stage, done, total, best: done > 20).fit(cloud(200, 5))
    assert {**vars(model), "callback": None} == {**before, "callback": None}


def test_damaged_files(tmp_path):
    model = ub.PCA(2).fit(cloud(30, 4))
    model.components_ = model.components_[:, :3]
    with pytest.raises(ValueError, match=r"its map has shape \(2, 3\)"):
        ub.load(model.save(tmp_path / "model"))


@pytest.mark.parametrize("eps", [1e-300, 5e-324, 1e-9])
def test_tiny_shares_need_more_dimensions_than_there_are(eps):
    x = np.random.default_rng(0).normal(size=(20, 5))
    with pytest.warns(ub.DistortionWarning, match="they are left as they are"):
        found = ub.RandomProjection(eps=eps, random_state=0).fit(x)
    assert np.array_equal(found.embedding_, x)
