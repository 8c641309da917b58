"""Several maps in one system of coordinates."""

import tracemalloc
import warnings
from importlib import import_module

import numpy as np
import pytest
import unbend as ub
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning


def rotation(rng, d, reflect=False):
    """A random rotation, or a reflection."""
    q, r = np.linalg.qr(rng.normal(size=(d, d)))
    q *= np.sign(np.diag(r))
    if (np.linalg.det(q) < 0) != reflect:
        q[:, 0] *= -1
    return q


def moved(rng, y, reflect=False):
    return y @ rotation(rng, y.shape[1], reflect) + rng.normal(scale=9, size=y.shape[1])


def scene(n=400, noise=0.05, d=2, seed=0, reflect=True):
    """Points, and a second map of them that is moved and noisy."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, d)) * np.arange(1, d + 1)
    return rng, truth, moved(rng, truth + rng.normal(scale=noise, size=truth.shape), reflect)


# Two complete maps: the textbook


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_two_maps_are_orthogonal_procrustes(d):
    _, a, b = scene(d=d, noise=0.3)
    found = ub.align([a, b], robust=False)
    expected, _ = orthogonal_procrustes(b - b.mean(axis=0), a - a.mean(axis=0))
    np.testing.assert_allclose(found.transforms[1].rotation, expected, atol=1e-12)
    np.testing.assert_allclose(found[1], (b - b.mean(axis=0)) @ expected + a.mean(axis=0), atol=1e-11)
    np.testing.assert_allclose(found.consensus, (found[0] + found[1]) / 2, atol=1e-12)
    np.testing.assert_allclose(
        found.residuals[0], np.linalg.norm(found[0] - found[1], axis=1) / 2, atol=1e-12
    )


def test_scaled_maps_have_the_disparity_of_scipy():
    _, a, b = scene(noise=0.3)
    found = ub.align([a, 7 * b], scale=True, robust=False)
    _, _, disparity = procrustes(a, b)
    first, second = found[0] - found[0].mean(axis=0), found[1] - found[1].mean(axis=0)
    # Both maps keep their extent, where scipy shrinks the second to fit: 1 - s^2 there is 2 - 2 s here.
    np.testing.assert_allclose((second**2).sum(), (first**2).sum(), rtol=1e-10)
    correlation = (first * second).sum() / (first**2).sum()
    np.testing.assert_allclose(1 - correlation**2, disparity, rtol=1e-10)


def test_without_reflections_rotations_are_proper():
    _, a, b = scene(reflect=True)
    free, proper = ub.align([a, b]), ub.align([a, b], reflections=False)
    assert free.transforms[1].is_reflection
    assert not proper.transforms[1].is_reflection
    assert proper.spread > 3 * free.spread
    u, _, v = np.linalg.svd((b - b.mean(axis=0)).T @ (a - a.mean(axis=0)))
    plain = ub.align([a, b], reflections=False, robust=False)
    np.testing.assert_allclose(plain.transforms[1].rotation, u @ np.diag([1, -1]) @ v, atol=1e-12)


# Many maps with few common points


def chain(m=6, n=300, overlap=60, noise=0.0, seed=1, scaled=False):
    """Maps of which each shares points with the next one alone; the coordinates, the maps, their points."""
    rng = np.random.default_rng(seed)
    points = [np.arange(i * (n - overlap), i * (n - overlap) + n) for i in range(m)]
    truth = rng.normal(size=(points[-1][-1] + 1, 2)) * [3, 1]
    maps = [
        moved(rng, truth[p] + rng.normal(scale=noise, size=(n, 2)), i % 2 == 1) for i, p in enumerate(points)
    ]
    return truth, [y * (1 + 0.3 * i * scaled) for i, y in enumerate(maps)], points


@pytest.mark.parametrize("scale", [False, True])
def test_a_chain_of_exact_maps_comes_back(scale):
    truth, maps, points = chain(scaled=scale)
    found = ub.align([truth[points[0]], *maps[1:]], points=points, scale=scale)
    np.testing.assert_allclose(found.consensus, truth, atol=1e-10)
    assert found.converged
    assert found.spread < 1e-8
    assert all(len(rows) == 0 for rows in found.suspects)
    for transform, y, p in zip(found.transforms[1:], maps[1:], points[1:], strict=True):
        np.testing.assert_allclose(transform.apply(y), truth[p], atol=1e-10)
        np.testing.assert_allclose(transform.inverse().apply(truth[p]), y, atol=1e-9)


def test_points_of_one_map_are_carried_along_without_a_residual():
    _, maps, points = chain()
    found = ub.align(maps, points=points)
    counts = np.bincount(np.concatenate(points))
    np.testing.assert_array_equal(np.isnan(found.point_residuals), counts == 1)
    for p, residual, weight in zip(points, found.residuals, found.weights, strict=True):
        np.testing.assert_array_equal(np.isnan(residual), counts[p] == 1)
        np.testing.assert_array_equal(np.isnan(weight), counts[p] == 1)
    assert np.isfinite(found.consensus).all()


def test_rows_of_nan_are_absent_points():
    truth, maps, points = chain()
    n = len(truth)
    padded = [np.full((n, 2), np.nan) for _ in maps]
    for whole, y, p in zip(padded, maps, points, strict=True):
        whole[p] = y
    by_index, by_nan = ub.align(maps, points=points), ub.align(padded)
    np.testing.assert_allclose(by_nan.consensus, by_index.consensus, atol=1e-12)
    assert np.isnan(by_nan[0][points[0][-1] + 1 :]).all()


def test_a_point_in_no_map_has_no_place():
    _, a, b = scene()
    a[3] = b[3] = np.nan
    found = ub.align([a, b])
    assert np.isnan(found.consensus[3]).all()
    assert np.isfinite(np.delete(found.consensus, 3, axis=0)).all()


def test_names_of_points_may_be_text():
    _, a, b = scene(n=50)
    names = np.array([f"sensor {i}" for i in range(50)])
    order = np.random.default_rng(2).permutation(50)
    found = ub.align({"one": a, "two": b[order]}, points={"two": names[order], "one": names})
    plain = ub.align([a, b])
    np.testing.assert_allclose(found["two"], plain[1][order], atol=1e-10)
    assert set(found.points) == set(names)


def test_names_of_maps_may_be_numbers():
    _, a, b = scene(n=50)
    found = ub.align({2024: a, 2025: b}, points={2025: np.arange(50), 2024: np.arange(50)}, reference="2025")
    assert found.names == ("2024", "2025")
    np.testing.assert_array_equal(found["2025"], b)


def test_more_maps_have_a_better_consensus():
    rng, truth, _ = scene()
    maps = [moved(rng, truth + rng.normal(scale=0.2, size=truth.shape)) for _ in range(9)]
    few, many = ub.align(maps[:2]), ub.align(maps)
    errors = [np.sqrt(procrustes(truth, one.consensus)[2]) for one in (few, many)]
    assert errors[1] < 0.6 * errors[0]
    np.testing.assert_allclose(many.spread, 0.2, rtol=0.1)
    np.testing.assert_allclose(few.spread, 0.2, rtol=0.1)


def test_fitted_estimators_are_maps():
    _, truth, b = scene()
    pca = ub.PCA(2).fit(truth)
    found = ub.align([pca, b])
    np.testing.assert_array_equal(found[0], pca.embedding_)


# Weights and bad correspondences


def test_weights_are_those_of_weighted_procrustes():
    rng, a, b = scene(noise=0.5)
    w = rng.random(len(a))
    found = ub.align([a, b], weights=[w, w], robust=False)
    mean_a, mean_b = (np.average(y, axis=0, weights=w) for y in (a, b))
    expected, _ = orthogonal_procrustes((b - mean_b) * w[:, None], a - mean_a)
    np.testing.assert_allclose(found.transforms[1].rotation, expected, atol=1e-11)


def test_rows_of_no_weight_are_carried_along():
    _, a, b = scene()
    spoiled, w = b.copy(), np.ones(len(b))
    spoiled[:100] += 50
    w[:100] = 0
    found = ub.align([a, spoiled], weights=[1, w], robust=False)
    without = ub.align([a, b[100:]], points=[range(len(a)), range(100, len(a))], robust=False)
    np.testing.assert_allclose(found[1][100:], without[1], atol=1e-10)
    assert np.isnan(found.residuals[1][:100]).all()


def test_a_heavy_map_pulls_the_consensus():
    _, a, b = scene(noise=0.5)
    found = ub.align([a, b], weights=[1000, 1], robust=False)
    np.testing.assert_allclose(found.consensus, a, atol=0.01)


def exchanged(rng, b):
    """30 % of the rows show other points."""
    bad = rng.choice(len(b), int(0.3 * len(b)), replace=False)
    spoiled = b.copy()
    spoiled[bad] = b[np.roll(bad, 1)]
    return spoiled, bad


def torn_off(rng, b):
    """A third of the rows lie elsewhere, together."""
    bad = np.arange(len(b) // 3)
    spoiled = b.copy()
    spoiled[bad] += [4, 2]
    return spoiled, bad


@pytest.mark.parametrize("spoil", [exchanged, torn_off])
@pytest.mark.parametrize("scale", [False, True])
def test_bad_correspondences_lose_their_weight(spoil, scale):
    rng, a, b = scene(noise=0.02)
    spoiled, bad = spoil(rng, b)
    clean, robust = ub.align([a, b], scale=scale), ub.align([a, spoiled], scale=scale)
    classical = ub.align([a, spoiled], scale=scale, robust=False)
    good = np.setdiff1d(np.arange(len(b)), bad)
    error = np.abs(robust[1][good] - clean[1][good]).max()
    assert error < 0.02
    assert error < 0.1 * np.abs(classical[1][good] - clean[1][good]).max()
    assert np.isin(bad, robust.suspects[1]).mean() > 0.9
    assert np.isin(robust.suspects[1], bad).mean() > 0.97
    assert (np.diff(robust.residuals[1][robust.suspects[1]]) <= 0).all()
    np.testing.assert_array_equal(robust.weights[1][robust.suspects[1]] <= 0.25, True)


def test_of_several_maps_only_the_wrong_one_is_suspect():
    rng, a, _ = scene()
    maps = [a, *(moved(rng, a + rng.normal(scale=0.02, size=a.shape)) for _ in range(3))]
    maps[1][7] += 3
    found = ub.align(maps)
    assert [7 in rows for rows in found.suspects] == [False, True, False, False]
    assert found.suspects[1][0] == 7
    np.testing.assert_allclose(found.consensus[7], a[7], atol=0.05)


def test_exact_maps_have_no_suspects():
    rng, a, _ = scene()
    found = ub.align([a, moved(rng, a), moved(rng, a + 1e-12 * rng.normal(size=a.shape))])
    assert all(len(rows) == 0 for rows in found.suspects)


# Invariances


@given(seed=st.integers(0, 10_000), d=st.integers(1, 4), scale=st.booleans())
@settings(max_examples=25, deadline=None)
def test_motions_of_the_maps_do_not_matter(seed, d, scale):
    rng, a, b = scene(n=40, noise=0.1, d=d, seed=seed)
    factor = rng.uniform(0.1, 9) if scale else 1.0
    one, two = ub.align([a, b], scale=scale), ub.align([a, factor * moved(rng, b)], scale=scale)
    np.testing.assert_allclose(two[1], one[1], atol=1e-7)
    np.testing.assert_allclose(two.spread, one.spread, rtol=1e-6)


@pytest.mark.parametrize("scale", [False, True])
def test_the_reference_does_not_change_how_maps_lie(scale):
    _, maps, points = chain(noise=0.1, scaled=scale)
    names = [f"m{i}" for i in range(len(maps))]
    first = ub.align(maps, points=points, scale=scale)
    fourth = ub.align(dict(zip(names, maps, strict=True)), points=points, reference="m3", scale=scale)
    np.testing.assert_array_equal(fourth["m3"], maps[3])
    _, _, disparity = procrustes(first.consensus, fourth.consensus)
    assert disparity < 1e-12
    assert fourth.transforms[3].scale == 1.0


def test_inputs_are_not_written_to_and_may_be_single_precision():
    _, a, b = scene()
    before = a.copy(), b.copy()
    single = ub.align([a.astype(np.float32), b.astype(np.float32)])
    np.testing.assert_allclose(single[1], ub.align([a, b])[1], atol=1e-5)
    np.testing.assert_array_equal(before[0], a)
    np.testing.assert_array_equal(before[1], b)


def test_a_large_offset_costs_no_accuracy():
    _, a, b = scene(noise=0.0)
    found = ub.align([a, b + 1e6])
    np.testing.assert_allclose(found[1], a, atol=1e-8)


# Input that does not determine the maps


def refused(*args, match, **options):
    with pytest.raises(ValueError, match=match):
        ub.align(*args, **options)


def test_too_few_common_points_are_refused_by_their_number():
    _, a, b = scene(n=20)
    shifted = [np.arange(20), np.arange(18, 38)]
    refused([a, b], points=shifted, match=r"map '0' shares 2 points .* at least 3 .* set reflections=False")
    assert len(ub.align([a, b], points=shifted, reflections=False).consensus) == 38
    refused([a, b], points=[np.arange(20), np.arange(19, 39)], match="shares 1 point with the other maps")
    one = [np.arange(20), np.arange(19, 39)]
    refused([a[:, :1], b[:, :1]], points=one, match="at least 2 are needed to place it in 1 dimension:")
    assert len(ub.align([a[:, :1], b[:, :1]], points=one, reflections=False).consensus) == 39


def test_maps_that_cannot_be_joined_are_named():
    _, a, b = scene(n=20)
    points = {"a": np.arange(20), "b": np.arange(20), "c": np.arange(30, 50), "d": np.arange(30, 50)}
    maps = {"a": a, "b": b, "c": a, "d": b}
    refused(maps, points=points, match=r"fall into 2 groups that share no points, 'a', 'b' \| 'c', 'd'")


def test_common_points_on_a_line_do_not_determine_a_reflection():
    rng, a, _ = scene(n=30)
    a[:, 1] = 0
    b = moved(rng, a)
    refused([a, b], match="whether map '1' is reflected")
    np.testing.assert_allclose(ub.align([a, b], reflections=False)[1], a, atol=1e-9)


def test_common_points_on_a_line_in_space_do_not_determine_a_rotation():
    rng, a, _ = scene(n=30, d=3)
    a[:, 1:] = 0
    refused([a, moved(rng, a)], match="how map '1' is rotated", reflections=False)


def test_coincident_common_points_are_refused():
    _, a, _ = scene(n=30)
    refused([a, np.ones_like(a)], match="map '1' shares with the other maps lie within 0 of one place")


def test_two_maps_hinged_on_one_point_are_refused():
    """Every map has common points enough, but two pairs of maps are joined by a single point."""
    rng = np.random.default_rng(0)
    points = [np.arange(10), np.arange(10), np.arange(9, 20), np.arange(9, 20)]
    truth = rng.normal(size=(20, 2))
    refused(
        [moved(rng, truth[p]) for p in points],
        points=points,
        match="do not determine how map '[23]' is rotated",
    )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"maps": np.zeros((3, 2))}, "maps is a ndarray: give a list or a dict"),
        ({"maps": [np.zeros((3, 2))]}, "maps holds 1 map: at least 2 are needed"),
        ({"maps": [np.eye(3), np.eye(3)[:, :2]]}, "map '0' has 3 columns, but map '1' has 2"),
        ({"maps": [np.eye(3), np.eye(3)[:2]]}, "map '0' has 3 rows, but map '1' has 2: give points"),
        ({"maps": [np.eye(3), np.zeros((0, 3))]}, "map '1' is empty"),
        ({"maps": [np.eye(2), [[0, 1], [np.nan, 2]]]}, "map '1' holds NaN at row 1, column 0"),
        ({"maps": [np.eye(2), [[0, 1], [np.inf, 2]]]}, "map '1' holds inf at row 1, column 0"),
        ({"points": [[0, 1, 2]]}, "points has 1 entries, but there are 2 maps"),
        ({"points": [[0, 1, 2], [0, 1]]}, r"points of map '1' have shape \(2,\), but the map has 3 rows"),
        ({"points": [[0, 1, 2], [0, 1, 1]]}, "points of map '1' name 1 in 2 rows"),
        ({"points": [[0, 1, 2], [0.0, 1.0, 2.0]]}, "points of map '1' have dtype float64"),
        ({"points": [[0, 1, 2], ["a", "b", "c"]]}, "integers in some maps and text in others"),
        ({"points": {"0": [0, 1, 2]}}, "points has no entry for map '1'"),
        ({"weights": [1, [1, 1]]}, r"weights of map '1' have shape \(2,\): give one number, or 3"),
        ({"weights": [1, -1]}, "weights of map '1' hold -1.0"),
        ({"reference": 2}, "reference = 2 is no map: use 0 to 1, or one of '0', '1'"),
        ({"reference": "x"}, "reference = 'x' is no map"),
        ({"scale": 1}, "scale = 1 must be True or False"),
        ({"robust": None}, "robust = None must be True or False"),
    ],
)
def test_bad_input_is_refused(options, match):
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    refused(**{"maps": [triangle, triangle], **options}, match=match)


def test_transforms_refuse_other_dimensions():
    _, a, b = scene()
    with pytest.raises(ValueError, match="points has 3 columns, but the transform is of 2 dimensions"):
        ub.align([a, b]).transforms[0].apply(np.zeros((1, 3)))


def test_an_alignment_that_does_not_settle_warns(monkeypatch):
    monkeypatch.setattr(import_module("unbend.consensus.alignment"), "MAX_ROUNDS", 2)
    _, a, b = scene(noise=0.5)
    with pytest.warns(ConvergenceWarning, match="still changed after 2 rounds"):
        assert not ub.align([a, b]).converged


# Size


def test_two_large_maps_need_little_memory():
    """47,431 and 10,178 points in less than 200 MB: nothing grows with the square of the points."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(47_431, 2))
    common = rng.choice(len(a), 10_178, replace=False)
    b = moved(rng, a[common])
    ub.align([a[:100], a[:100]])  # what is imported is not counted
    tracemalloc.start()
    try:
        found = ub.align([a, b], points=[np.arange(len(a)), common])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found[1], a[common], atol=1e-9)
    assert peak < 50e6


# How it is shown


def test_a_result_is_shown_in_a_few_lines():
    _, a, b = scene()
    found = ub.align({"<a>": a, "b": b})
    assert repr(found).startswith("Alignment(2 maps, 400 points, spread 0.0")
    html = found._repr_html_()
    assert "&lt;a&gt;" in html
    assert len(html) < 6000
    assert len(found) == 2


def test_real_maps_of_two_tools_are_aligned():
    X, _ = ub.datasets.swiss_roll(3000, random_state=0)
    flat = ub.ProcrustesAlignment(random_state=0).fit(X[:2000])
    other = ub.Isomap(n_components=2, n_neighbors=12).fit(X[1000:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ub.align([flat, other], points=[np.arange(2000), np.arange(1000, 3000)])
    extent = np.ptp(found.consensus, axis=0).max()
    assert found.spread < 0.02 * extent
    shadow = PCA(2).fit_transform(X)
    assert ub.align([found.consensus, shadow]).spread > 5 * found.spread


def test_a_long_chain_settles():
    truth, maps, points = chain(m=30, n=200, overlap=40, noise=0.02)
    found = ub.align(maps, points=points)
    assert found.converged
    assert found.n_iter < 50
    np.testing.assert_allclose(found.spread, 0.02, rtol=0.1)
    assert procrustes(truth, found.consensus)[2] < 1e-3
