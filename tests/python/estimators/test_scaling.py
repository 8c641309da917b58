"""Classical scaling: of points, of distances, from landmarks, and of what is not Euclidean."""

import numpy as np
import pytest
import scipy.linalg
import unbend as ub
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from unbend.core.random import stream
from unbend.fit.spectral import scaling


def cloud(n=120, q=3, seed=0):
    return np.random.default_rng([seed, n, q]).normal(size=(n, q)) * np.linspace(3, 1, q)


def textbook(distances, d):
    """-1/2 H D^2 H, as the definition says."""
    n = len(distances)
    h = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-h @ distances**2 @ h / 2)
    return values[::-1], vectors[:, ::-1][:, :d] * np.sqrt(np.maximum(values[::-1][:d], 0))


def of_distances(distances, d=2, **options):
    return ub.ClassicalScaling(d, metric="precomputed", **options).fit(distances)


@pytest.fixture(params=["dense", "lanczos"])
def way(request, monkeypatch):
    monkeypatch.setattr(scaling, "MAX_DENSE_POINTS", 1000 if request.param == "dense" else 0)
    return request.param


@pytest.mark.parametrize("p", [1, 2])
def test_the_definition(way, p):
    distances = cdist(cloud(), cloud(), "minkowski", p=p)
    values, coordinates = textbook(distances, 2)
    found = of_distances(distances)
    np.testing.assert_allclose(np.abs(found.embedding_), np.abs(coordinates), atol=1e-8)
    if way == "dense":
        np.testing.assert_allclose(found.eigenvalues_, values, atol=1e-9)
    else:
        np.testing.assert_allclose(found.eigenvalues_[:2], values[:2], rtol=1e-10)
        assert found.eigenvalues_[2] == pytest.approx(values[-1], abs=1e-2 * values[0])


def test_euclidean_data_are_scaled_as_their_principal_components():
    x = cloud(100, 5)
    by_points, by_distances = ub.ClassicalScaling(3).fit(x), of_distances(cdist(x, x), 3)
    pca = ub.PCA(3).fit(x)
    np.testing.assert_array_equal(by_points.embedding_, pca.embedding_)
    np.testing.assert_allclose(np.abs(by_distances.embedding_), np.abs(pca.embedding_), atol=1e-10)
    np.testing.assert_allclose(by_points.eigenvalues_, by_distances.eigenvalues_[:5], rtol=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmarks_lose_nothing_of_what_is_euclidean(metric, dtype):
    x = cloud()
    full = (x if metric == "euclidean" else cdist(x, x)).astype(dtype)
    found = ub.ClassicalScaling(3, metric=metric, n_landmarks=20, random_state=0).fit(full)
    assert len(found.landmarks_) == 20
    atol = 1e-10 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(cdist(found.embedding_, found.embedding_), cdist(x, x), atol=atol)


@pytest.mark.parametrize("n_landmarks", [None, 30])
def test_new_points_by_their_distances(n_landmarks, way, tmp_path):
    x, new = cloud(), cloud(10, seed=1)
    found = of_distances(cdist(x, x), 3, n_landmarks=n_landmarks, random_state=0)
    placed, errors = found.transform(cdist(new, x), return_error=True)
    np.testing.assert_allclose(cdist(placed, found.embedding_), cdist(new, x), atol=1e-7)
    assert errors.max() < 1e-7
    np.testing.assert_allclose(found.transform(cdist(x, x)), found.embedding_, atol=1e-8)
    again = ub.load(found.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.transform(cdist(new, x)), placed)


def test_new_points_by_their_coordinates(tmp_path):
    x, new = cloud(), cloud(10, seed=1)
    found = ub.ClassicalScaling(2).fit(x)
    gower = of_distances(cdist(x, x), 2).transform(cdist(new, x))
    np.testing.assert_allclose(np.abs(found.transform(new)), np.abs(gower), atol=1e-8)
    back = found.inverse_transform(found.transform(new))
    errors = found.transform(new, return_error=True)[1]
    np.testing.assert_allclose(errors, np.linalg.norm(back - new, axis=1), atol=1e-12)
    again = ub.load(found.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.transform(new), found.transform(new))


def test_no_matrix_of_all_pairs_for_points():
    assert ub.ClassicalScaling().memory_estimate(1_000_000, 3) < 1e9
    assert ub.ClassicalScaling().fit(cloud(200_000)).embedding_.shape == (200_000, 2)


def test_scale_and_permutation():
    x = cloud()
    distances, order = cdist(x, x), np.random.default_rng(0).permutation(len(x))
    found = of_distances(distances).embedding_
    np.testing.assert_allclose(np.abs(of_distances(3 * distances).embedding_), 3 * np.abs(found), atol=1e-9)
    permuted = of_distances(distances[np.ix_(order, order)]).embedding_
    np.testing.assert_allclose(np.abs(permuted), np.abs(found[order]), atol=1e-9)


def around(n=60):
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return np.minimum(apart, n - apart).astype(float)


def test_what_is_not_euclidean_is_said(way):
    values = textbook(around(), 12)[0]
    with pytest.warns(ub.NotEuclideanWarning, match="the lowest eigenvalue is -") as caught:
        found = of_distances(around(), 12)
    assert f"{values[-1]:.3g}" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert found.eigenvalues_[-1] == pytest.approx(values[-1], rel=1e-2)
    of_distances(around(), 2)  # two dimensions are far larger than the error


def test_fewer_dimensions_than_asked_for(way):
    x = np.linspace(0, 5, 40)[:, None]
    found = of_distances(cdist(x, x), 3)
    assert (found.embedding_[:, 1:] == 0).all()
    np.testing.assert_allclose(cdist(found.embedding_, found.embedding_), cdist(x, x), atol=1e-9)
    np.testing.assert_allclose(found.transform(cdist(x, x)), found.embedding_, atol=1e-9)


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
def test_copies(way):
    found = of_distances(np.zeros((20, 20)))
    assert (found.embedding_ == 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:, :9], r"distances must be square, got shape \(10, 9\)"),
        (lambda d: d - 1, "Negative values in data: -1 at row 0, column 0"),
        (lambda d: d + np.triu(d), "distances are not symmetric: .* from 0 to 1"),
        (lambda d: d + np.eye(10), "the distance of point 0 to itself is 1"),
        (lambda d: np.where(d > 0, d, np.nan), "NaN"),
    ],
)
def test_what_are_no_distances(change, message):
    with pytest.raises(ValueError, match=message):
        of_distances(change(cdist(cloud(10), cloud(10))))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "cosine"}, "metric = 'cosine' is unknown"),
        ({"n_landmarks": 2}, "n_landmarks = 2 is too few for n_components = 2: at least 3 are needed"),
        ({"n_landmarks": "auto"}, "n_landmarks = 'auto' is not a whole number"),
        ({"n_components": 4}, "n_components = 4 exceeds the 3 dimensions"),
        ({"n_components": 30, "metric": "precomputed"}, "n_components = 30 needs as many points"),
    ],
)
def test_bad_parameters(options, message):
    x = cloud(10)
    with pytest.raises(ValueError, match=message):
        ub.ClassicalScaling(**options).fit(cdist(x, x) if "precomputed" in options.values() else x)


def test_no_points_behind_distances():
    found = of_distances(cdist(cloud(10), cloud(10)))
    with pytest.raises(ValueError, match="inverse_transform needs points"):
        found.inverse_transform(found.embedding_)


def test_a_stop(way):
    x = cloud()
    with pytest.raises(ub.Stopped, match="in its stage scaling"):
        of_distances(cdist(x, x), callback=lambda stage, done, total, best: True)


# Groups


COMBINE = pytest.mark.parametrize("combine", ["overlap", "sample"])


def split(d=3, **options):
    return ub.SplitScaling(d, group_size=40, random_state=0, **options)


def one_by_one(distances, order, size, shared, d):
    """Split-and-combine by eigenvectors of each group, and the motions of scipy."""
    placed = {}
    starts = [0, *range(size - shared, len(order) - shared, size - shared)]
    for start in starts:
        own = order[start : start + size]
        squares = distances[np.ix_(own, own)] ** 2
        center = np.eye(len(own)) - 1 / len(own)
        values, vectors = np.linalg.eigh(-center @ squares @ center / 2)
        y = vectors[:, ::-1][:, :d] * np.sqrt(np.maximum(values[::-1][:d], 0))
        known = [i for i, point in enumerate(own) if point in placed]
        if known:
            goal = np.array([placed[own[i]] for i in known])
            rotation = scipy.linalg.orthogonal_procrustes(y[known] - y[known].mean(0), goal - goal.mean(0))[0]
            y = (y - y[known].mean(0)) @ rotation + goal.mean(0)
        placed = {**{point: y[i] for i, point in enumerate(own)}, **placed}
    return np.array([placed[i] for i in range(len(order))])


def test_groups_are_joined_as_one_by_one():
    """The distances are not Euclidean in two dimensions, so that every join has an error."""
    x = np.random.default_rng(1).normal(size=(150, 4)) * [3, 2, 0.3, 0.2]
    model = split(2, overlap=8).fit(cdist(x, x))
    order = stream(0, "groups").permutation(150)
    expected = one_by_one(cdist(x, x), order, 40, 8, 2)
    np.testing.assert_allclose(
        cdist(model.embedding_, model.embedding_), cdist(expected, expected), atol=1e-8
    )
    assert 0 < model.mismatch_ < 1


@COMBINE
@pytest.mark.parametrize("n", [5, 39, 41, 200, 203])
def test_groups_of_euclidean_points_are_joined_exactly(combine, n):
    x = np.random.default_rng(n).normal(size=(n, 3))
    model = split(combine=combine).fit(cdist(x, x))
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), cdist(x, x), atol=1e-6)
    assert model.mismatch_ < 1e-6
    new = np.random.default_rng(0).normal(size=(7, 3))
    placed, errors = model.transform(cdist(new, x), return_error=True)
    np.testing.assert_allclose(cdist(placed, model.embedding_), cdist(new, x), atol=1e-6)
    assert errors.max() < 1e-6


@COMBINE
def test_fitted_points_are_placed_where_they_are(combine):
    x = np.random.default_rng(0).normal(size=(120, 5))
    model = split(2, combine=combine).fit(cdist(x, x))
    np.testing.assert_array_equal(model.transform(cdist(x, x)), model.embedding_)
    assert model.mismatch_ > 0.1


def test_a_sample_does_not_add_up_errors():
    """Distances with errors: the ends of a long chain of groups drift apart, those of a sample do not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    noise = rng.normal(scale=0.1, size=(1500, 1500))
    distances = np.maximum(cdist(x, x) + np.triu(noise, 1) + np.triu(noise, 1).T, 0) * (1 - np.eye(1500))
    found = {
        name: split(2, overlap=6, combine=name).fit_transform(distances) for name in ("overlap", "sample")
    }
    errors = {name: procrustes(x, y)[2] for name, y in found.items()}
    assert errors["sample"] < 0.05
    assert errors["sample"] < errors["overlap"]


def test_only_distances_within_groups_count():
    """Distances between groups that share no point are never used."""
    x = np.random.default_rng(0).normal(size=(400, 3))
    distances = cdist(x, x)
    expected = split().fit_transform(distances)
    order = stream(0, "groups").permutation(400)
    first, last = order[:40], order[-30:]
    distances[np.ix_(first, last)] = distances[np.ix_(last, first)] = 99.0
    np.testing.assert_array_equal(split().fit_transform(distances), expected)


def test_bad_groups():
    x = cdist(*[np.random.default_rng(0).normal(size=(30, 3))] * 2)
    with pytest.raises(
        ValueError, match="overlap = 2 is too few for n_components = 2: at least 3 are needed"
    ):
        ub.SplitScaling(overlap=2).fit(x)
    with pytest.raises(
        ValueError, match="group_size = 9 is too small for overlap = 6: at least 12 are needed"
    ):
        ub.SplitScaling(group_size=9).fit(x)
    with pytest.raises(ValueError, match=r"distances must be square, got shape \(30, 4\)"):
        ub.SplitScaling().fit(x[:, :4])
    with pytest.raises(ValueError, match="inverse_transform needs points, but distances were fitted"):
        ub.SplitScaling().fit(x).inverse_transform(np.zeros((1, 2)))
