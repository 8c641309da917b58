"""Isomap: beside scikit-learn's, from landmarks, conformal, by radius, in pieces, and for new points."""

import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.manifold
import unbend as ub
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import VALID_METRICS
from unbend.estimators.tables.parameters import METRICS
from unbend.files.tables import FileError
from unbend.fit.spectral import scaling

K = 8
"""With 12 neighbors, rolls of less than 1,000 points are short-circuited."""


def roll(n=800, seed=0, **options):
    return ub.datasets.swiss_roll(n, random_state=seed, **options)


def fit(x, **options):
    return ub.Isomap(**{"n_neighbors": None if "radius" in options else K, "random_state": 0, **options}).fit(
        x
    )


def peer(x, d=2, **options):
    return sklearn.manifold.Isomap(n_components=d, **{"n_neighbors": K, **options}).fit(x)


def disparity(a, b):
    return procrustes(a, b)[2]


def two_rolls():
    return np.concatenate([roll(600)[0], roll(600, seed=1)[0] + 200])


@pytest.fixture(scope="module")
def x():
    return roll()[0]


@pytest.fixture(scope="module")
def full(x):
    return fit(x)


# Beside scikit-learn


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [100, 800])
@pytest.mark.parametrize("dense", [True, False])
def test_the_embedding_of_scikit_learn(n, d, dense, monkeypatch):
    monkeypatch.setattr(scaling, "MAX_DENSE_POINTS", 10_000 if dense else 0)
    x = roll(n)[0]
    ours, theirs = fit(x, n_components=d), peer(x, d)
    assert disparity(theirs.embedding_, ours.embedding_) < 1e-10
    np.testing.assert_allclose(pdist(ours.embedding_), pdist(theirs.embedding_), rtol=1e-3, atol=1e-3)
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error(), rel=1e-6)
    eigenvalues = ours.trace_["components"][0]["eigenvalues"][:d]
    np.testing.assert_allclose(eigenvalues, theirs.kernel_pca_.eigenvalues_, rtol=1e-6)


@pytest.mark.slow
def test_two_thousand_points():
    x = roll(2000)[0]
    assert disparity(peer(x).embedding_, fit(x).embedding_) < 1e-10


def test_by_radius(x):
    ours, theirs = fit(x, radius=4.0), peer(x, n_neighbors=None, radius=4.0)
    assert disparity(theirs.embedding_, ours.embedding_) < 1e-10
    new = roll(100, seed=5)[0]
    both = [np.concatenate([m.embedding_, m.transform(new)]) for m in (theirs, ours)]
    assert disparity(*both) < 1e-8
    far = ours.transform(x[:1] + np.array([0, 100, 0]))  # beyond the radius of all: joined to the nearest
    assert np.isfinite(far).all()


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 80}])
def test_new_points(x, options):
    new = roll(200, seed=5)[0]
    ours, theirs = fit(x, **options), peer(x)
    both = [np.concatenate([m.embedding_, m.transform(new)]) for m in (theirs, ours)]
    assert disparity(*both) < (1e-3 if options else 1e-10)


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 80}])
def test_errors_of_new_points(x, options):
    new, isomap = roll(50, seed=5)[0], fit(x, **options)
    theirs = peer(x)
    distances, indices = theirs.nbrs_.kneighbors(new)
    along = (distances[:, :, None] + theirs.dist_matrix_[indices]).min(axis=1)[:, isomap.landmarks_]
    placed, errors = isomap.transform(new, return_error=True)
    shown = cdist(placed, isomap.embedding_[isomap.landmarks_])
    np.testing.assert_allclose(errors, np.sqrt(((along - shown) ** 2).mean(axis=1)), rtol=1e-5)


def test_residual_variance(x, full):
    """1 - rho^2 over all pairs, from scikit-learn's matrix of distances."""
    along = peer(x).dist_matrix_[np.triu_indices(len(x), 1)]
    upper = np.triu_indices(len(x), 1)
    apart = np.linalg.norm(full.embedding_[upper[0]] - full.embedding_[upper[1]], axis=1)
    assert full.residual_variance_ == pytest.approx(1 - np.corrcoef(along, apart)[0, 1] ** 2, rel=1e-6)
    assert fit(x, n_landmarks=100).residual_variance_ == pytest.approx(full.residual_variance_, rel=0.3)


# What it reaches


def test_a_roll_is_unrolled():
    x, coordinates = roll(3000)
    for n_landmarks in (None, "auto", 60):
        assert disparity(coordinates, fit(x, n_landmarks=n_landmarks).embedding_) < 1e-3


def test_all_points_as_landmarks(x, full):
    for n_landmarks in (len(x), 10 * len(x)):
        every = fit(x, n_landmarks=n_landmarks)
        assert every.landmark_distances_ is None
        np.testing.assert_array_equal(every.embedding_, full.embedding_)


def test_a_line_has_one_dimension():
    t = np.linspace(0, 1, 200)
    x = np.c_[np.cos(t), np.sin(t), t]
    for n_landmarks in (None, 20):
        isomap = fit(x, n_neighbors=4, n_landmarks=n_landmarks)
        along = np.abs(np.diff(isomap.embedding_[:, 0]))
        steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
        np.testing.assert_allclose(along.sum(), steps.sum(), rtol=1e-3)
        assert np.abs(isomap.embedding_[:, 1]).max() < 1e-2 * along.sum()


def test_conformal_recovers_what_was_stretched_unevenly():
    """A plane sampled evenly, then blown up towards one corner: exp is conformal."""
    flat = np.random.default_rng(0).uniform(0, 1.2, size=(3000, 2))
    z = np.exp(flat[:, 0] + 1j * flat[:, 1])
    x = np.c_[z.real, z.imag, np.zeros(len(z))]
    plain, conformal = fit(x), fit(x, conformal=True)
    assert disparity(flat, conformal.embedding_) < 0.25 * disparity(flat, plain.embedding_)
    assert conformal.spread_.shape == (3000,)
    mean = conformal.neighborhoods_.distances.reshape(3000, -1).mean(axis=1)
    np.testing.assert_allclose(conformal.spread_, mean, rtol=1e-12)
    near = conformal.transform(x[:50] + 1e-4)
    assert np.abs(near - conformal.embedding_[:50]).max() < 0.02 * np.ptp(conformal.embedding_)


@pytest.mark.parametrize(
    "change", [lambda x: x @ np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0], lambda x: x + 50]
)
def test_motions_of_the_data_do_not_matter(x, full, change):
    assert disparity(fit(change(x)).embedding_, full.embedding_) < 1e-12


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_units_do_not_matter(x, full, factor):
    scaled = fit(x * factor)
    np.testing.assert_allclose(scaled.embedding_ / factor, full.embedding_, atol=1e-4)


def test_the_order_of_points_does_not_matter(x, full):
    order = np.random.default_rng(0).permutation(len(x))
    assert disparity(fit(x[order]).embedding_, full.embedding_[order]) < 1e-10


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 60}, {"conformal": True}, {"metric": "cosine"}])
def test_the_same_bits_on_any_number_of_threads(x, options):
    one, two = (fit(x, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    new = x[:20] + 0.1
    np.testing.assert_array_equal(one.transform(new), two.transform(new))
    assert one.residual_variance_ == two.residual_variance_


def test_layouts(x, full):
    frozen = np.asfortranarray(x)
    frozen.flags.writeable = False
    np.testing.assert_array_equal(fit(frozen).embedding_, full.embedding_)
    np.testing.assert_array_equal(fit(np.repeat(x, 2, axis=0)[::2]).embedding_, full.embedding_)
    assert disparity(fit(x.astype(np.float32)).embedding_, full.embedding_) < 1e-6


def test_landmarks_follow_the_seed(x):
    a, b, c = (fit(x, n_landmarks=50, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.landmarks_, b.landmarks_)
    assert (a.landmarks_ != c.landmarks_).any()


# Transform


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 60}, {"radius": 4.0}, {"conformal": True}])
def test_fitted_points_stay_where_they_are(x, options):
    isomap = fit(x, **options)
    np.testing.assert_array_equal(isomap.transform(x), isomap.embedding_)
    np.testing.assert_array_equal(isomap.transform(x[:7]), isomap.embedding_[:7])
    size = np.ptp(isomap.embedding_)
    assert np.abs(isomap.transform(x[:7] + 1e-9) - isomap.embedding_[:7]).max() < 1e-5 * size
    np.testing.assert_array_equal(isomap.inverse_transform(isomap.embedding_), x)


@pytest.mark.parametrize("options", [{}, {"n_landmarks": 60}, {"conformal": True}, {"metric": "cosine"}])
def test_models_come_back(x, options, tmp_path):
    isomap, new = fit(x, **options), x[::9] + 0.2
    again = ub.load(isomap.save(tmp_path / "model"))
    for a, b in zip(again.transform(new, True), isomap.transform(new, True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.get_params() == isomap.get_params()


def test_damaged_models_are_refused(x, tmp_path):
    isomap = fit(x, n_landmarks=60)
    isomap.axes_ = isomap.axes_[1:]
    with pytest.raises(FileError, match="its landmarks have shapes"):
        ub.load(isomap.save(tmp_path / "model"))


# Pieces, copies, few points


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_pieces_are_embedded_by_themselves(n_landmarks):
    x = two_rolls()
    with pytest.warns(ub.DisconnectedWarning, match="2 components, of 600, 600") as caught:
        isomap = fit(x, n_landmarks=n_landmarks)
    assert caught[0].filename == __file__
    for part, alone in ((slice(0, 600), x[:600]), (slice(600, None), x[600:])):
        found = fit(alone).embedding_
        assert disparity(found, isomap.embedding_[part]) < (1e-12 if n_landmarks is None else 1e-3)
        new = alone[:30] + 0.05
        apart = np.abs(isomap.transform(new) - isomap.embedding_[part][:30]).max()
        assert apart < 0.5
    assert len(isomap.trace_["components"]) == 2
    with pytest.raises(ValueError, match="2 components"):
        fit(x, disconnected="error")


def test_points_that_are_alone():
    x = np.concatenate([roll(300)[0], [[500.0, 0, 0], [0, 500.0, 0]]])
    with pytest.warns(ub.DisconnectedWarning):
        isomap = fit(x, radius=6.0)
    assert np.isfinite(isomap.embedding_).all()
    np.testing.assert_allclose(isomap.transform(x[-1:] + 1), isomap.embedding_[-1:])


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
@pytest.mark.filterwarnings("ignore::unbend.DisconnectedWarning")
@pytest.mark.parametrize("options", [{}, {"n_landmarks": 5}, {"conformal": True}])
@pytest.mark.parametrize("kind", ["copies", "equal", "line", "few"])
def test_degenerate_data_give_numbers(kind, options):
    rng = np.random.default_rng(0)
    x = {
        "copies": np.repeat(rng.normal(size=(20, 3)), 4, axis=0),
        "equal": np.ones((30, 3)),
        "line": np.outer(np.arange(30.0), [1, 2, 3]),
        "few": rng.normal(size=(3, 3)),
    }[kind]
    isomap = fit(x, n_neighbors=None, **options)
    assert np.isfinite(isomap.embedding_).all()
    assert np.isfinite(isomap.transform(x + 0.01)).all()
    assert 0 <= isomap.residual_variance_ <= 1


def test_given_neighborhoods(x, full):
    nb = ub.neighborhoods(x, K)
    np.testing.assert_array_equal(ub.Isomap().fit(x, neighborhoods=nb).embedding_, full.embedding_)
    bare = ub.Neighborhoods.from_knn(nb.indices.reshape(-1, K))
    assert fit(x, conformal=True).spread_ == pytest.approx(
        ub.Isomap(conformal=True).fit(x, neighborhoods=bare).spread_
    )


# What is refused, and stops


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 12, "radius": 1.0}, "give n_neighbors = 12 or radius = 1.0, not both"),
        ({"radius": -1.0}, "radius = -1.0 is out of range"),
        ({"radius": np.inf}, "radius = inf is out of range"),
        ({"radius": "wide"}, "radius = 'wide' is not a length"),
        ({"n_landmarks": 2}, "n_landmarks = 2 is too few for n_components = 2: at least 3"),
        ({"n_landmarks": "many"}, "n_landmarks = 'many' is not a whole number"),
        ({"conformal": "yes"}, "conformal = 'yes' must be True or False"),
        ({"n_components": 4}, "n_components = 4 exceeds the 3 dimensions"),
        ({"n_neighbors": 800}, "n_neighbors = 800 needs at least 801 points"),
    ],
)
def test_bad_parameters(x, options, message):
    with pytest.raises(ValueError, match=message):
        fit(x, **options)


def test_what_does_not_fit_into_memory():
    x = np.zeros((2, 3))
    isomap = ub.Isomap()
    assert isomap.memory_estimate(1_000_000, 3) > 2e12
    assert ub.Isomap(n_landmarks="auto").memory_estimate(1_000_000, 3) < 4e9
    scattered = np.random.default_rng(0).normal(size=(3000, 3)) + 1e3 * (np.arange(3000)[:, None] // 6)
    with (
        pytest.warns(ub.DisconnectedWarning, match="500 components"),
        pytest.raises(MemoryError, match=r"needs about 18\.0 MB, but max_memory is 10\.0 MB"),
    ):
        fit(scattered, n_neighbors=5, n_landmarks=3, max_memory=1e7)
    with pytest.raises(MemoryError, match=r"max_memory is 1\.0 kB"):
        isomap.set_params(max_memory=1000).fit(x + np.array([[0.0], [1.0]]))


@pytest.mark.parametrize("stage", ["neighbors", "paths", "scaling"])
def test_a_stop_changes_nothing(x, full, stage):
    isomap = fit(x[:300])
    before = isomap.embedding_
    isomap.callback = lambda at, done, total, best: at == stage
    with pytest.raises(ub.Stopped, match=f"in its stage {stage}"):
        isomap.fit(x)
    assert isomap.embedding_ is before
    assert set(full.timings_) == {"neighbors", "paths", "scaling", "faithfulness"}


@pytest.fixture
def heeded_interrupts():
    """A shell that starts a command in the background has it ignore SIGINT, and ``interrupt_main`` follows."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupts")
def test_an_interrupt_is_obeyed_at_once():
    import _thread

    x = roll(20_000)[0]
    reached, began = threading.Event(), []

    def interrupt():
        reached.wait(60)
        began.append(time.process_time())
        _thread.interrupt_main()

    def reports(stage, done, total, best):
        if stage == "paths" and done > 0:
            reached.set()

    threading.Thread(target=interrupt, daemon=True).start()
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        fit(x, max_memory=np.inf, callback=reports)
    # Of all threads of this process, so that a busy machine does not count.
    assert time.process_time() - began[0] < 0.3 * (os.cpu_count() or 1)


# Other metrics, and distances in place of points


def differ(a, b):
    """The largest difference up to the signs of the columns, as a share of the extent."""
    return np.abs(a - np.sign((a * b).sum(axis=0)) * b).max() / np.abs(a).max()


@pytest.mark.parametrize(
    "options", [{}, {"n_landmarks": 150}, {"conformal": True}, {"n_neighbors": None, "radius": 4.0}]
)
def test_distances_in_place_of_points(x, options):
    new, far = roll(60, seed=3)[0], cdist(x, x)
    points = fit(x, **options)
    listed = fit(far, metric="precomputed", **options)
    assert differ(points.embedding_, listed.embedding_) < 1e-7
    assert differ(points.transform(new), listed.transform(cdist(new, x))) < 1e-6
    np.testing.assert_allclose(listed.residual_variance_, points.residual_variance_, rtol=1e-6)
    np.testing.assert_allclose(listed.reconstruction_error_, points.reconstruction_error_, rtol=1e-6)
    placed, errors = listed.transform(far, return_error=True)
    assert np.array_equal(placed, listed.embedding_)
    assert not errors.any()


@pytest.mark.parametrize("metric", ["precomputed", "manhattan", "chebyshev", "cosine"])
def test_other_metrics_are_as_in_scikit_learn(x, metric):
    new = roll(60, seed=3)[0]
    data, others = (cdist(x, x), cdist(new, x)) if metric == "precomputed" else (x, new)
    ours, theirs = fit(data, metric=metric), peer(data, metric=metric)
    assert differ(theirs.embedding_, ours.embedding_) < 1e-6
    assert differ(theirs.transform(others), ours.transform(others)) < 1e-6
    assert ours.faithfulness_ is None


def test_a_sparse_graph_of_distances(x, full):
    graph = full.neighborhoods_.to_graph()
    listed = fit(graph, metric="precomputed", n_neighbors=None)
    assert differ(full.embedding_, listed.embedding_) < 1e-7
    new = roll(60, seed=3)[0]
    far = cdist(new, x)
    near = sp.csr_array(np.where(far <= np.sort(far, axis=1)[:, [K - 1]], far, 0.0))
    assert np.array_equal(listed.transform(near), listed.transform(far))
    fewer = fit(graph, metric="precomputed", n_neighbors=K - 1)
    assert differ(fit(x, n_neighbors=K - 1).embedding_, fewer.embedding_) < 1e-7


def test_lengths_of_another_tool(x):
    nb = ub.neighborhoods(x, K, metric="cosine")
    given = ub.Isomap(metric="cosine").fit(x, neighborhoods=nb)
    assert differ(fit(x, metric="cosine").embedding_, given.embedding_) < 1e-6
    with pytest.raises(ValueError, match="neighborhoods without distances give no paths"):
        ub.Isomap(metric="cosine").fit(x, neighborhoods=ub.Neighborhoods.from_knn(nb.indices.reshape(-1, K)))


def test_pieces_of_listed_distances():
    x = two_rolls()
    with pytest.warns(ub.DisconnectedWarning):
        points = fit(x)
    with pytest.warns(ub.DisconnectedWarning):
        listed = fit(cdist(x, x), metric="precomputed")
    assert differ(points.embedding_, listed.embedding_) < 1e-6


@pytest.mark.parametrize("metric", ["precomputed", "manhattan"])
def test_models_of_other_metrics_come_back(x, metric, tmp_path):
    data = cdist(x, x) if metric == "precomputed" else x
    model = fit(data, metric=metric)
    for again in (ub.load(model.save(tmp_path / "model.unbend")), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.transform(data[:9]), model.transform(data[:9]))
    with pytest.raises(AttributeError):
        model.score(data)
    with pytest.raises(ValueError, match=f"inverse_transform needs Euclidean points: metric = '{metric}'"):
        model.inverse_transform(model.embedding_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda far: far[:50], r"distances must be square, got shape \(50, 80\)"),
        (lambda far: -far, "Negative values in data"),
        (lambda far: np.triu(far), "distances are not symmetric"),
        (lambda far: far + 1.0, "the distance of point 0 to itself is 1: it must be 0"),
        (lambda far: far[:7, :7], "n_neighbors = 8 needs at least 9 points, got n_samples = 7"),
        (
            lambda far: sp.csr_array(np.where(far < 3.0, far, 0.0)),
            "neighbors in the graph: n_neighbors = 8 needs",
        ),
    ],
)
def test_what_holds_no_distances(change, message):
    x = roll(80)[0]
    with pytest.raises(ValueError, match=message):
        fit(change(cdist(x, x)), metric="precomputed")


def test_rows_that_hold_no_distances(x):
    model = fit(cdist(x, x), metric="precomputed")
    with pytest.raises(ValueError, match="row 1 of X holds no distance"):
        model.transform(sp.csr_array(([1.0], ([0], [5])), shape=(2, len(x))))
    with pytest.raises(ValueError, match="-1 in row 0 of X is no distance"):
        model.transform(np.full((1, len(x)), -1.0))


def test_metrics_are_those_of_scikit_learn(x):
    assert set(METRICS) <= set(VALID_METRICS["brute"])
    with pytest.raises(ValueError, match="metric = 'sqeuclidean' is unknown"):
        fit(x, metric="sqeuclidean")
