"""Refinement that turns no triangle over: of meshes, and of points by the triangles of their charts."""

import numpy as np
import pytest
import shapes
import unbend as ub
from scipy.spatial import Delaunay
from unbend.fit.trust.barrier import Barrier


def n_flipped(faces, uv):
    a, b, c = (uv[faces[:, k]] for k in range(3))
    (ax, ay), (bx, by) = (b - a).T, (c - a).T
    return int(np.count_nonzero(ax * by - ay * bx <= 0))


def stretched(faces, uv, rng, size):
    """Return a map without a flip that is far from an isometry: a shear, and noise where it flips nothing."""
    uv = uv @ np.array([[1.0, 0.8], [0.0, 1.0]])
    for i in rng.permutation(len(uv)):
        moved = uv.copy()
        moved[i] += size * rng.normal(size=2)
        uv = moved if n_flipped(faces, moved) == 0 else uv
    return uv


@pytest.mark.parametrize("options", [{}, {"objective": "R"}, {"method": "pointwise"}, {"rescale": True}])
def test_a_map_without_flips_stays_without_and_becomes_better(options):
    points, faces = shapes.bump(14, 14, height=0.9)
    start = stretched(faces, points[:, :2], np.random.default_rng(0), 0.05)
    rings = ub.Neighborhoods.from_mesh(faces)
    refined = ub.refine(points, start, neighborhoods=rings, barrier=faces, guard=False, **options)
    assert refined.flips == (0, 0)
    assert n_flipped(faces, refined.embedding) == 0
    assert refined.history[-1] < 0.5 * refined.history[0]
    assert np.all(np.diff(refined.history) <= 0)


def test_the_barrier_prevents_flips_that_are_there_without_it():
    """A steep bump cannot be flat: its lowest R_N turns triangles over."""
    points, faces = shapes.bump(20, 20, height=3.0)
    start = points[:, :2]
    rings = ub.Neighborhoods.from_mesh(faces)
    free = ub.refine(points, start, neighborhoods=rings, guard=False)
    kept = ub.refine(points, start, neighborhoods=rings, guard=False, barrier=faces)
    assert free.flips is None
    assert n_flipped(faces, free.embedding) > 0
    assert n_flipped(faces, kept.embedding) == 0
    assert kept.history[-1] < kept.history[0]


def test_flips_of_the_start_are_removed_and_counted():
    points, faces = shapes.bump(25, 25)
    start = points[:, :2] + np.random.default_rng(1).normal(scale=0.03, size=(625, 2))
    rings = ub.Neighborhoods.from_mesh(faces)
    before = n_flipped(faces, start)
    refined = ub.refine(points, start, neighborhoods=rings, barrier=faces)
    assert before > 50
    assert refined.flips == (before, 0)
    assert n_flipped(faces, refined.embedding) == 0
    assert refined.n_iter == len(refined.history) - 1


def test_mirrored_maps_have_no_flips():
    points, faces = shapes.bump(12, 12)
    rings = ub.Neighborhoods.from_mesh(faces)
    refined = ub.refine(points, points[:, :2] * [1, -1], neighborhoods=rings, barrier=faces)
    assert refined.flips == (0, 0)


def test_triangles_of_charts_are_delaunay_triangles():
    """Of points in a plane, all but slivers, and no others."""
    points = np.random.default_rng(0).uniform(size=(400, 2))
    graph = ub.neighborhoods(points, 30)
    barrier = Barrier.of(True, points, graph, points, None)
    true = {tuple(sorted(map(int, t))) for t in Delaunay(points).simplices}
    ours = {tuple(sorted(map(int, t))) for t in barrier.triangles}
    inner = np.flatnonzero((np.abs(points - 0.5) < 0.35).all(axis=1))
    within = {t for t in true if np.isin(t, inner).all()}
    found = {t for t in ours if np.isin(t, inner).all()}
    assert found <= within
    assert len(within - found) < 0.01 * len(within)
    assert barrier.n_flipped(points) == 0
    assert barrier.n_flipped(points * [1, -1]) in (0, len(barrier.triangles))


@pytest.mark.parametrize("mirror", [1, -1])
def test_points_without_triangles_take_those_of_their_charts(mirror):
    points, coordinates = ub.datasets.swiss_roll(800, random_state=0)
    start = (coordinates + np.random.default_rng(0).normal(scale=0.5, size=(800, 2))) * [1, mirror]
    refined = ub.refine(points, start, 10, barrier=True)
    before, after = refined.flips
    assert before > 50
    assert after == 0
    assert refined.history[-1] < 0.05 * refined.history[0]


def test_the_same_bits_on_any_number_of_threads():
    points, faces = shapes.bump(20, 20, height=3.0)
    rings = ub.Neighborhoods.from_mesh(faces)
    one, two = (
        ub.refine(points, points[:, :2], neighborhoods=rings, barrier=True, n_jobs=n).embedding
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("barrier", "columns", "message"),
    [
        ([[0, 1]], 2, r"barrier has shape \(1, 2\): it must have 3 columns"),
        ([[0, 1, 999]], 2, "vertex 999 of triangle 0 is out of range: there are 144 vertices"),
        (True, 3, "barrier needs an embedding of 2 columns, Y has 3"),
    ],
)
def test_a_bad_barrier_is_refused(barrier, columns, message):
    points, _ = shapes.bump(12, 12)
    with pytest.raises(ValueError, match=message):
        ub.refine(points, points[:, :columns], barrier=barrier)
