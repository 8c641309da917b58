"""Successive eigenmaps: no direction comes twice, and points are advected as plain loops do it."""

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import cKDTree
from unbend.core.progress import Progress
from unbend.fit.spectral.successive import CLOSE, MAX_STEPS, STEP, advected

affine_error = ub.metrics.affine_error


def strip(n=800, length=4.0, noise=0.0):
    return ub.datasets.strip(n, length=length, noise=noise, random_state=0)


def advected_one_by_one(points, function, k, dim):
    """The same steps for one point after the other, by least squares."""
    n = len(points)
    share = np.empty(n)
    share[np.argsort(function)] = (np.arange(n) + 0.5) / n
    tree = cKDTree(points)
    ends = []
    for point in points:
        for _ in range(MAX_STEPS):
            far, near = tree.query(point, k)
            mean = points[near].mean(axis=0)
            axes = np.linalg.svd(points[near] - mean)[2][:dim]
            flat = (points[near] - mean) @ axes.T
            slope = np.linalg.lstsq(flat, share[near] - share[near].mean(), rcond=1e-6)[0]
            where = axes @ (point - mean)
            missing = 0.5 - (share[near].mean() + slope @ where)
            point = mean + where @ axes
            if abs(missing) <= CLOSE:
                break
            move = (slope @ axes) * missing / (slope @ slope)
            size = np.linalg.norm(move)
            point = point + move * min(1.0, STEP * far[-1] / size)
        ends.append(point)
    return np.array(ends)


@pytest.mark.parametrize("name", ["strip", "s_curve"])
def test_points_are_advected_as_one_by_one(name):
    x, truth = getattr(ub.datasets, name)(250, random_state=1)
    found, steps = advected(x, truth[:, 0], ub.neighborhoods(x, 10), 2, 1, Progress(0, None))
    np.testing.assert_allclose(found, advected_one_by_one(x, truth[:, 0], 40, 2), atol=1e-8)
    assert 1 < steps < MAX_STEPS


def test_what_is_left_is_the_middle_of_the_strip():
    x, truth = strip()
    found, _ = advected(x, truth[:, 0], ub.neighborhoods(x, 10), 2, 1, Progress(0, None))
    assert np.ptp(found[:, 0]) < 0.15 * np.ptp(x[:, 0])
    assert np.abs(found[:, 0] - np.median(x[:, 0])).max() < 0.1 * np.ptp(x[:, 0])
    assert np.corrcoef(found[:, 1], x[:, 1])[0, 1] ** 2 > 0.95


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("length", [1.0, 3.0, 6.0])
def test_no_dimension_is_lost(length, noise):
    x, truth = strip(1200, length, noise)
    y = ub.SuccessiveEigenmaps(n_neighbors=8).fit_transform(x)
    assert affine_error(truth, y) < 0.15
    if length > 2:
        assert affine_error(truth, ub.LaplacianEigenmaps(n_neighbors=8).fit_transform(x)) > 0.99


def test_the_first_coordinate_is_that_of_laplacian_eigenmaps():
    x, _ = strip()
    ours, peer = (kind(n_neighbors=8).fit(x) for kind in (ub.SuccessiveEigenmaps, ub.LaplacianEigenmaps))
    np.testing.assert_allclose(ours.embedding_[:, 0], peer.embedding_[:, 0], atol=1e-9)
    assert ours.eigenvalues_[0] == pytest.approx(peer.eigenvalues_[0])


def test_a_box_has_three_dimensions():
    x = np.random.default_rng(0).uniform(size=(3000, 3)) * [6.0, 2.5, 1.0]
    y = ub.SuccessiveEigenmaps(3, 12).fit_transform(x)
    assert affine_error(x, y) < 0.5
    assert affine_error(x, ub.LaplacianEigenmaps(3, 12).fit_transform(x)) > 0.99


def test_a_roll_keeps_its_width():
    x, truth = ub.datasets.swiss_roll(1500, random_state=0)
    assert affine_error(truth, ub.SuccessiveEigenmaps(n_neighbors=8).fit_transform(x)) < 0.15


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
def test_components_copies_and_equal_points():
    x, _ = strip(200, 3.0)
    with pytest.warns(ub.DisconnectedWarning):
        model = ub.SuccessiveEigenmaps(n_neighbors=8).fit(np.r_[x, x[:100] + 90])
    assert np.isfinite(model.embedding_).all()
    assert len(model.trace_["components"]) == 2
    first, second = (model.embedding_[model.component_labels_ == label, 0] for label in (0, 1))
    assert first.max() < second.min()
    assert np.isfinite(ub.SuccessiveEigenmaps().fit_transform(np.repeat(x, 2, axis=0))).all()
    assert (ub.SuccessiveEigenmaps().fit_transform(np.ones((30, 3))) == 0).all()


def test_the_same_bits_on_any_number_of_threads():
    x, _ = strip(400)
    one, two = (ub.SuccessiveEigenmaps(n_jobs=jobs).fit_transform(x) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_stop_is_obeyed():
    stop = ub.SuccessiveEigenmaps(callback=lambda stage, done, total, best: stage == "advection")
    with pytest.raises(ub.Stopped):
        stop.fit(strip(200)[0])
