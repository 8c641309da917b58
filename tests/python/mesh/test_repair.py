"""What is repaired in a mesh, and that it is said."""

import numpy as np
import pytest
import shapes
import unbend as ub

POINTS, FACES = shapes.bump(12, 12)
PLAIN = ub.flatten(POINTS, FACES)


def same(flat):
    """Whether a flat mesh has the shape of the plain one."""
    return (
        flat.histories[0][-1] == pytest.approx(PLAIN.histories[0][-1], rel=1e-3)
        and flat.distortion.n_flipped == 0
    )


def test_unreferenced_vertices_are_left_out():
    flat = ub.flatten(np.concatenate([POINTS, np.full((3, 3), 9.0)]), FACES)
    assert flat.notes == ("3 vertices of no triangle left out",)
    assert same(flat)
    assert len(flat.uv) == len(POINTS)


def test_triangles_are_turned_over():
    faces = FACES.copy()
    faces[:5] = faces[:5, [0, 2, 1]]
    flat = ub.flatten(POINTS, faces)
    assert flat.notes == ("5 triangles turned over",)
    assert same(flat)


def test_repeated_triangles_count_once():
    flat = ub.flatten(POINTS, np.concatenate([FACES, FACES[:2, [1, 2, 0]], [[4, 4, 5]]]))
    assert flat.notes == ("1 triangle with a repeated vertex left out", "2 triangles listed twice left out")
    np.testing.assert_array_equal(flat.face_indices, np.arange(len(FACES)))
    assert same(flat)


def test_a_soup_of_triangles_is_merged():
    flat = ub.flatten(POINTS[FACES].reshape(-1, 3), np.arange(3 * len(FACES)).reshape(-1, 3))
    assert "merged with others at the same place" in flat.notes[-1] + flat.notes[0]
    assert flat.n_charts == 1
    assert same(flat)


def test_a_seam_of_copies_stays_open():
    """Meshes that another tool has cut hold each vertex of the seam twice."""
    points, faces = shapes.tube(length=2.0)
    cut = ub.flatten(points, faces)
    again = ub.flatten(cut.points, cut.faces)
    assert again.notes == ()
    assert len(again.seams) == 0


def test_an_edge_of_three_triangles_is_opened():
    fin = np.array([[5, 17, len(POINTS)]])
    flat = ub.flatten(np.concatenate([POINTS, [[0.0, 0.0, 2.0]]]), np.concatenate([FACES, fin]))
    assert "1 edge of three or more triangles opened" in flat.notes
    assert flat.n_charts == 2
    assert flat.distortion.n_flipped == 0


def test_triangles_that_touch_in_a_point_are_parted():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])
    flat = ub.flatten(points, [[0, 1, 2], [0, 3, 4]])
    assert flat.n_charts == 2
    assert flat.vertices.tolist() == [0, 0, 1, 2, 3, 4]


def test_a_triangle_without_area_is_given_a_height():
    points = POINTS.copy()
    a, b, c = FACES[60]
    points[a] = (points[b] + points[c]) / 2
    flat = ub.flatten(points, FACES)
    assert flat.notes == ("1 triangle without area given a height of 0.0001 of the longest edge",)
    assert flat.distortion.n_flipped == 0


def test_one_sided_surfaces_are_opened():
    points, faces = shapes.moebius()
    flat = ub.flatten(points, faces)
    assert any(note.startswith("one-sided surface opened along") for note in flat.notes)
    assert len(flat.seams) > 0


def test_too_many_pieces_are_refused():
    points = np.random.default_rng(0).normal(size=(30_003, 3))
    with pytest.raises(ValueError, match="faces falls into 10,001 pieces, at most 10,000 are allowed"):
        ub.flatten(points, np.arange(30_003).reshape(-1, 3))
