"""Measures of flat meshes: geodesic distances over several rings, overlap, and corners instead of vertices."""

import numpy as np
import pytest
import shapes
import unbend as ub
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay
from unbend.mesh.measures.geodesic import RINGS


def ring_pairs(faces, n):
    """Return the pairs of vertices at most 7 edges apart, and the numbers of edges."""
    graph = np.zeros((n, n))
    for k in range(3):
        graph[faces[:, k], faces[:, k - 2]] = graph[faces[:, k - 2], faces[:, k]] = 1
    steps = dijkstra(graph)
    return np.nonzero((steps > 0) & (steps <= RINGS))


def random_disc(n=300, seed=0):
    flat = np.random.default_rng(seed).random((n, 2))
    return flat, Delaunay(flat).simplices


def test_distances_in_a_convex_plane_are_straight():
    flat, faces = random_disc()
    stretched = flat * [1.3, 0.8]
    a, b = ring_pairs(faces, len(flat))
    true, found = (np.linalg.norm(y[a] - y[b], axis=1) for y in (flat, stretched))
    measured = ub.distortion(np.c_[flat, np.zeros(len(flat))], faces, stretched).distance_error
    assert measured == pytest.approx(np.abs(found / true - 1).mean(), rel=1e-9)


def test_distances_do_not_change_by_bending():
    points, faces = shapes.cylinder_patch()
    assert ub.flatten(points, faces).distortion.distance_error < 1e-9


def test_a_path_across_the_edges_of_a_cube_is_the_shortest():
    """Opposite corners of a unit cube are sqrt(5) apart, and others 1 or sqrt(2)."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = []
    for axis in range(3):
        for at in (0, 1):
            square = np.flatnonzero(corners[:, axis] == at)
            turn = square[[0, 1, 3, 2] if (at == 1) != (axis == 1) else [0, 2, 3, 1]]
            faces += [turn[[0, 1, 2]], turn[[0, 2, 3]]]
    flat = np.random.default_rng(0).normal(size=(8, 2))
    apart = np.abs(corners[:, None] - corners[None]).sum(axis=2)
    true = np.sqrt(np.where(apart == 3, 5, apart))
    a, b = np.nonzero(apart)
    found = np.linalg.norm(flat[a] - flat[b], axis=1)
    measured = ub.distortion(corners, np.array(faces), flat).distance_error
    assert measured == pytest.approx(np.abs(found / true[a, b] - 1).mean(), rel=1e-9)


def test_a_path_bends_around_a_notch():
    """A notch that is nearly a slit makes the path between its banks twice as long as it is deep."""
    points = np.array([[-1, 0], [-0.001, 1], [0, 0], [0.001, 1], [1, 0], [0, -1]], float)
    faces = np.array([[0, 2, 1], [2, 4, 3], [0, 5, 2], [5, 4, 2]])
    a, b = ring_pairs(faces, 6)
    flat = np.linalg.norm(points[a] - points[b], axis=1)
    true = flat.copy()
    through = ((a == 1) & (b == 3)) | ((a == 3) & (b == 1))
    true[through] = 2 * np.hypot(0.001, 1)
    measured = ub.distortion(np.c_[points, np.zeros(6)], faces, points).distance_error
    bent = np.abs(flat / true - 1)
    assert measured >= bent.mean() - 1e-12
    assert bent.mean() > 0.03


def clipped_area(triangle, window):
    """Return the area of a triangle within a counterclockwise triangle (Sutherland and Hodgman 1974)."""
    polygon = list(triangle)
    for k in range(3):
        a, side = window[k], window[k - 2] - window[k]
        inside = [side[0] * (p - a)[1] - side[1] * (p - a)[0] for p in polygon]
        kept = []
        for i, p in enumerate(polygon):
            before, q = inside[i - 1], polygon[i - 1]
            if (before >= 0) != (inside[i] >= 0):
                kept.append(q + (p - q) * before / (before - inside[i]))
            if inside[i] >= 0:
                kept.append(p)
        polygon = kept
    if len(polygon) < 3:
        return 0.0
    x, y = np.array(polygon).T
    return abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2


def counterclockwise(triangle):
    (a, b), (c, d) = triangle[1] - triangle[0], triangle[2] - triangle[0]
    return triangle if a * d - b * c > 0 else triangle[::-1]


@pytest.mark.parametrize("seed", range(3))
def test_overlapping_triangles_are_those_that_share_area(seed):
    rng = np.random.default_rng(seed)
    faces = shapes.grid(9, 6)
    flat = np.stack(np.meshgrid(np.arange(9.0), np.arange(6.0), indexing="ij"), axis=-1).reshape(-1, 2)
    flat += (0, 0.5, 1)[seed] * rng.normal(size=flat.shape)
    corners = [counterclockwise(flat[t]) for t in faces]
    meets = [
        any(clipped_area(a, b) > 1e-9 for j, b in enumerate(corners) if i != j) for i, a in enumerate(corners)
    ]
    found = ub.distortion(np.c_[flat, np.zeros(len(flat))], faces, flat)
    assert found.n_overlapping == sum(meets)
    assert (found.n_overlapping == 0) == (seed == 0)


def test_a_strip_that_winds_around_overlaps_without_a_flip():
    def strip(turn):
        return shapes.over(
            lambda u, v: ((2 + v) * np.cos(u), (2 + v) * np.sin(u), 0 * u),
            np.linspace(0, turn, 90),
            np.linspace(0, 1, 4),
        )

    faces = shapes.grid(90, 4)
    for turn, overlaps in ((6.2, False), (7.0, True)):
        flat = strip(turn)[:, 1::-1]
        found = ub.distortion(strip(turn), faces, flat)
        assert found.n_flipped == 0
        assert (found.n_overlapping > 0) == overlaps


def test_charts_side_by_side_do_not_overlap():
    rng = np.random.default_rng(0)
    points, faces = [], []
    for k in range(25):
        x, triangles = shapes.bump(6 + k % 5, 5, height=0.3)
        points.append(x * rng.uniform(0.2, 2, 3) + 10 * rng.normal(size=3))
        faces.append(triangles + sum(map(len, points[:-1])))
    flat = ub.flatten(np.concatenate(points), np.concatenate(faces))
    assert flat.n_charts == 25
    assert flat.distortion.n_overlapping == 0


def test_corners_are_measured_as_the_vertices_after_the_cut():
    points, faces = shapes.tube()
    flat = ub.flatten(points, faces)
    by_corner = ub.distortion(points, faces[flat.face_indices], flat.corner_uv)
    assert by_corner.distance_error == pytest.approx(flat.distortion.distance_error, abs=1e-9)
    assert by_corner.edge_error == pytest.approx(flat.distortion.edge_error, abs=1e-9)
    assert by_corner.n_overlapping == 0
