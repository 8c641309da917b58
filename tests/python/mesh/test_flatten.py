"""Meshes laid flat: exactly where that is possible, without a flip everywhere, and never NaN."""

import numpy as np
import pytest
import shapes
import unbend as ub


def n_flipped(flat):
    """Count triangles that are not counterclockwise, independently of the package."""
    a, b, c = (flat.uv[flat.faces[:, k]] for k in range(3))
    (ax, ay), (bx, by) = (b - a).T, (c - a).T
    return int(np.count_nonzero(ax * by - ay * bx <= 0))


def edge_lengths(points, faces):
    ends = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    a, b = np.unique(ends, axis=0).T
    return np.linalg.norm(points[a] - points[b], axis=1)


def is_consistent(flat, points):
    """Check that a result refers to its input as its documentation says."""
    assert np.isfinite(flat.uv).all()
    assert n_flipped(flat) == flat.distortion.n_flipped == 0
    np.testing.assert_array_equal(flat.points, np.asarray(points, dtype=float)[flat.vertices])
    assert len(flat.faces) == len(flat.face_indices) == len(flat.chart_labels)
    assert sorted(np.unique(flat.faces)) == list(range(len(flat.uv)))
    return True


@pytest.mark.parametrize(
    "make", [shapes.cylinder_patch, shapes.cone_patch, shapes.tube], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("energy", ["symmetric_dirichlet", "arap"])
def test_developable_surfaces_become_flat_exactly(make, energy):
    points, faces = make()
    flat = ub.flatten(points, faces, energy=energy)
    assert is_consistent(flat, points)
    true, found = edge_lengths(flat.points, flat.faces), edge_lengths(flat.uv, flat.faces)
    np.testing.assert_allclose(found, true, rtol=1e-6)


def test_an_uncut_mesh_keeps_vertices_and_triangles():
    points, faces = shapes.bump()
    flat = ub.flatten(points, faces)
    np.testing.assert_array_equal(flat.faces, faces)
    np.testing.assert_array_equal(flat.vertices, np.arange(len(points)))
    assert (flat.n_charts, len(flat.seams), flat.seam_length, flat.notes) == (1, 0, 0.0, ())
    assert flat.status == "converged"
    assert np.all(np.diff(flat.histories[0]) <= 0)
    assert flat.distortion.symmetric_dirichlet == pytest.approx(flat.histories[0][-1])


def test_the_minimum_does_not_depend_on_the_start():
    points, faces = shapes.bump()
    energies = [
        ub.flatten(points, faces, start=start, tol=1e-8).histories[0][-1]
        for start in ("tutte", "alignment", points[:, :2] @ [[1, 0.5], [0, 1]])
    ]
    np.testing.assert_allclose(energies, energies[0], rtol=1e-9)


def test_no_small_change_lowers_the_energy():
    """The map is a minimum, also among maps that other tools might find near it."""
    points, faces = shapes.bump(12, 12)
    flat = ub.flatten(points, faces, tol=0)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2):
        moved = flat.uv + size * 0.1 * rng.normal(size=flat.uv.shape)
        assert ub.distortion(points, faces, moved).symmetric_dirichlet > flat.distortion.symmetric_dirichlet


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9, 1e120])
def test_units_and_motions_do_not_matter(factor):
    points, faces = shapes.bump()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    plain = ub.flatten(points, faces)
    moved = ub.flatten(factor * (points @ turn.T), faces)
    np.testing.assert_allclose(
        edge_lengths(moved.uv, faces) / factor, edge_lengths(plain.uv, faces), rtol=1e-3
    )
    assert moved.histories[0][-1] == pytest.approx(plain.histories[0][-1], rel=1e-4)


def test_the_number_of_threads_does_not_matter():
    points, faces = shapes.bump()
    one, two = (ub.flatten(points, faces, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.uv, two.uv)


def test_a_start_with_flips_loses_them():
    points, faces = shapes.bump()
    start = points[:, :2].copy()
    start[[100, 333, 512]] += 0.2
    flipped = ub.distortion(points, faces, start).n_flipped
    flat = ub.flatten(points, faces, start=start)
    assert flipped > 0
    assert is_consistent(flat, points)
    assert flat.distortion.symmetric_dirichlet < 4.1


@pytest.mark.parametrize(
    ("make", "seams"),
    [(shapes.tube, 1), (shapes.torus, 2), (shapes.sphere, 1), (shapes.moebius, 1)],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_no_disc_is_cut(make, seams):
    points, faces = make()
    flat = ub.flatten(points, faces)
    assert is_consistent(flat, points)
    assert flat.n_charts == 1
    assert len(flat.seams) >= seams
    assert len(flat.faces) == len(faces)
    assert flat.distortion.symmetric_dirichlet < 4.3
    ends = {tuple(sorted(pair)) for f in faces for pair in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0]))}
    assert {tuple(map(int, pair)) for pair in flat.seams} <= {tuple(map(int, pair)) for pair in ends}


def test_a_tube_is_cut_along_a_shortest_seam():
    points, faces = shapes.tube(length=3.0)
    assert ub.flatten(points, faces).seam_length == pytest.approx(3.0)


def test_several_boundaries_are_joined():
    points, faces = shapes.bump(40, 40)
    middle = points[faces].mean(axis=1)
    for x, y in ((0.4, 0.4), (-0.4, 0.3), (0.0, -0.5)):
        away = np.hypot(middle[:, 0] - x, middle[:, 1] - y) > 0.15
        faces, middle = faces[away], middle[away]
    flat = ub.flatten(points, faces)
    assert is_consistent(flat, points)
    assert flat.n_charts == 1
    assert len(flat.seams) > 0


def test_given_seams_are_cut():
    points, faces = shapes.tube(a=24, b=20)
    seam = np.c_[np.arange(100, 119), np.arange(101, 120)]
    flat = ub.flatten(points, faces, cut=seam)
    np.testing.assert_array_equal(flat.seams, seam)
    with pytest.raises(ValueError, match="cut joins vertices 0 and 2 in row 0, which is no edge of the mesh"):
        ub.flatten(points, faces, cut=[[0, 2]])


def test_max_stretch_cuts_further():
    points, faces = shapes.sphere()
    loose, tight = (ub.flatten(points, faces, max_stretch=s) for s in (2.0, 1.3))
    assert loose.distortion.stretch <= 2.0 + 0.05
    assert tight.distortion.stretch <= 1.3 + 0.05
    assert loose.seam_length < tight.seam_length


def test_cutting_can_be_refused():
    points, faces = shapes.torus()
    with pytest.raises(ValueError, match="Euler characteristic 0 and 0 boundaries, but a disc has 1 and 1"):
        ub.flatten(points, faces, cut=False)


def test_pieces_lie_side_by_side():
    points, faces = shapes.bump(15, 15)
    both = np.concatenate([points, points + 5])
    flat = ub.flatten(both, np.concatenate([faces, faces + len(points)]))
    assert is_consistent(flat, both)
    assert flat.n_charts == 2
    boxes = [
        (
            flat.uv[flat.faces[flat.chart_labels == k]].min((0, 1)),
            flat.uv[flat.faces[flat.chart_labels == k]].max((0, 1)),
        )
        for k in (0, 1)
    ]
    (low, high), (other_low, other_high) = boxes
    assert (high < other_low).any() or (other_high < low).any()


def test_a_callback_stops_with_a_map_that_has_no_flip():
    points, faces = shapes.bump()
    flat = ub.flatten(
        points, faces, callback=lambda stage, done, total, best: stage == "descent" and done >= 1
    )
    assert flat.status == "stopped"
    assert is_consistent(flat, points)
    with pytest.raises(ub.Stopped):
        ub.flatten(points, faces, callback=lambda stage, done, total, best: True)


def test_one_step_is_not_converged():
    points, faces = shapes.bump()
    assert ub.flatten(points, faces, max_iter=1).status == "max_iter"


@pytest.mark.parametrize("seed", range(40))
def test_broken_meshes_become_flat_or_are_refused(seed):
    points, faces = shapes.broken(seed)
    try:
        flat = ub.flatten(points, faces)
    except ValueError as error:
        assert any(c.isdigit() for c in str(error))  # noqa: PT017
        return
    assert is_consistent(flat, points)
    assert np.isfinite(flat.distortion.symmetric_dirichlet)


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        ([[0, 0, 0, 0]], [[0, 0, 0]], "vertices has 4 columns"),
        ([[0, 0, np.nan]], [[0, 0, 0]], "vertices holds NaN at row 0, column 2"),
        (np.eye(3), [[0, 1, 3]], "vertex 3 of triangle 0 is out of range: there are 3 vertices"),
        (np.eye(3), [[0, 1]], r"faces has shape \(1, 2\)"),
        (np.eye(3), [[0.0, 1.0, 2.0]], "faces has dtype float64"),
        (np.eye(3), np.zeros((0, 3), int), "faces has 0 rows"),
        (np.eye(3), [[0, 1, 1]], "all 1 triangles have a repeated vertex"),
    ],
)
def test_what_is_no_mesh_is_refused(vertices, faces, message):
    with pytest.raises(ValueError, match=message):
        ub.flatten(vertices, faces)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"energy": "conformal"}, "energy"),
        ({"tol": -1}, "tol"),
        ({"max_stretch": 1.0}, "max_stretch"),
        ({"cut": "yes"}, "cut = 'yes' is unknown"),
        ({"start": "lscm"}, "start"),
        ({"start": [[0, 0]]}, r"start has shape \(1, 2\): it must be \(3, 2\)"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ub.flatten(np.eye(3), [[0, 1, 2]], **options)


def test_arap_is_smaller_where_it_is_minimized():
    points, faces = shapes.bump(height=1.5)
    dirichlet, arap = (
        ub.flatten(points, faces, energy=energy).distortion for energy in ("symmetric_dirichlet", "arap")
    )
    assert arap.arap < dirichlet.arap
    assert arap.symmetric_dirichlet > dirichlet.symmetric_dirichlet
    assert arap.n_flipped == 0


def test_stopping_before_there_is_a_map_without_a_flip():
    points, faces = shapes.bump()
    start = points[:, :2].copy()
    start[[100, 333, 512]] += 0.2
    with pytest.raises(ub.Stopped, match="untangling"):
        ub.flatten(
            points, faces, start=start, callback=lambda stage, done, total, best: stage == "untangling"
        )


@pytest.mark.parametrize("max_stretch", [1.2, 1.6])
def test_a_promised_stretch_is_kept(max_stretch):
    points, faces = shapes.sphere(400)
    flat = ub.flatten(points, faces, max_stretch=max_stretch)
    assert is_consistent(flat, points)
    assert flat.n_charts == 1
    assert flat.distortion.stretch <= max_stretch
    assert flat.notes == () or "above" not in flat.notes[-1]


def test_a_promise_that_is_not_kept_is_noted():
    points, faces = shapes.bump(12, 12, height=1.5)
    flat = ub.flatten(points, faces, cut=False, max_stretch=1.01)
    assert flat.distortion.stretch > 1.01
    assert f"up to {flat.distortion.stretch:.3g}, above max_stretch = 1.01" in flat.notes[-1]


def test_handles_are_cut_to_one_chart():
    points, faces = shapes.two_tori()
    flat = ub.flatten(points, faces)
    assert is_consistent(flat, points)
    assert flat.n_charts == 1
    edges = len(np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0))
    assert len(points) - edges + len(faces) == -2  # genus 2
    assert flat.distortion.stretch < 3


def test_seams_of_several_holes_are_a_shortest_tree():
    """Four holes in a row: the outer ones are joined to the boundary, the inner ones to the outer ones."""
    points, faces = shapes.bump(61, 31, height=0.0)
    points = points * [2, 1, 1]
    middle = points[faces].mean(axis=1)[:, :2]
    for x in (-1.5, -0.5, 0.5, 1.5):
        near = np.abs(middle - [x, 0]).max(axis=1) < 0.2
        faces, middle = faces[~near], middle[~near]
    flat = ub.flatten(points, faces)
    assert is_consistent(flat, points)
    assert flat.seam_length == pytest.approx(2 * 4 / 15 + 2 * 8 / 15)
    np.testing.assert_allclose(
        edge_lengths(flat.uv, flat.faces), edge_lengths(flat.points, flat.faces), rtol=1e-6
    )


def test_a_deep_sock_is_cut_by_itself_and_given_seams_are_kept():
    points, faces = shapes.tube(16, 60, length=18.0)
    tip = len(points)
    points = np.concatenate([points, [[0, 0, 18.3]]])
    end = np.arange(16) * 60 + 59
    faces = np.concatenate([faces, np.c_[end, np.roll(end, -1), np.full(16, tip)]])
    flat = ub.flatten(points, faces)
    assert is_consistent(flat, points)
    assert flat.seam_length > 15
    assert flat.distortion.stretch < 3
    ring = np.c_[np.arange(0, 10), np.arange(1, 11)]
    given = ub.flatten(points, faces, cut=ring)
    np.testing.assert_array_equal(given.seams, ring)
