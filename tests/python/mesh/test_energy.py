"""Energies against singular values of plain matrices, and their derivatives against differences."""

import numpy as np
import pytest
import scipy.sparse as sp
import shapes
from unbend.mesh.energy import Arap, FlatMesh, SymmetricDirichlet
from unbend.mesh.measures import distortion
from unbend.mesh.repair import repaired, shapes_of

RNG = np.random.default_rng(0)
POINTS, FACES = shapes.bump(6, 5)
FLAT = POINTS[:, :2] + 0.02 * RNG.normal(size=(len(POINTS), 2))
ENERGIES = [SymmetricDirichlet(), SymmetricDirichlet(0.3), Arap()]


def jacobians(points, faces, uv):
    """Return the matrix of each triangle's map, in an orthonormal basis of its plane."""
    maps = []
    for a, b, c in faces:
        first, second = points[b] - points[a], points[c] - points[a]
        e1 = first / np.linalg.norm(first)
        e2 = second - second @ e1 * e1
        e2 /= np.linalg.norm(e2)
        space = np.array([[first @ e1, second @ e1], [first @ e2, second @ e2]])
        maps.append(np.c_[uv[b] - uv[a], uv[c] - uv[a]] @ np.linalg.inv(space))
    return np.array(maps)


def areas(points, faces):
    return np.array(
        [np.linalg.norm(np.cross(points[b] - points[a], points[c] - points[a])) / 2 for a, b, c in faces]
    )


def mesh_of(points, faces):
    surface = repaired(points, faces).surface
    return FlatMesh.of(shapes_of(surface)[0], surface.triangles, len(surface.origins))


MESH = mesh_of(POINTS, FACES)
Z = FLAT[:, 0] + 1j * FLAT[:, 1]


def test_values_follow_from_singular_values():
    s = np.linalg.svd(jacobians(POINTS, FACES, FLAT), compute_uv=False)
    weights = areas(POINTS, FACES) / areas(POINTS, FACES).sum()
    assert MESH.value(SymmetricDirichlet(), Z) == pytest.approx(
        weights @ (s**2 + s**-2).sum(axis=1), rel=1e-12
    )
    assert MESH.value(Arap(), Z) == pytest.approx(weights @ ((s - 1) ** 2).sum(axis=1), rel=1e-12)


def test_a_flipped_triangle_has_infinite_energy():
    folded = Z.copy()
    folded[7] = Z[7] + 3
    assert MESH.n_flipped(folded) == np.count_nonzero(
        np.linalg.det(jacobians(POINTS, FACES, np.c_[folded.real, folded.imag])) <= 0
    )
    assert MESH.value(SymmetricDirichlet(), folded) == np.inf
    assert np.isfinite(MESH.value(SymmetricDirichlet(0.1), folded))


@pytest.mark.parametrize("energy", ENERGIES, ids=repr)
def test_the_gradient_is_that_of_differences(energy):
    gradient, _ = MESH.expansion(energy, Z)
    step = 1e-6
    for k in range(MESH.n):
        for direction, part in ((1, gradient[k].real), (1j, gradient[k].imag)):
            change = np.zeros(MESH.n, complex)
            change[k] = step * direction
            slope = (MESH.value(energy, Z + change) - MESH.value(energy, Z - change)) / (2 * step)
            assert part == pytest.approx(slope, rel=1e-6, abs=1e-8)


def hessian(energy, mesh, z):
    _, blocks = mesh.expansion(energy, z)
    return sp.bsr_matrix((blocks, mesh.pattern.indices, mesh.pattern.indptr)).toarray()


def differences(energy, mesh, z, step=1e-6):
    """Return the Hessian by differences of the gradient."""
    columns = []
    for k in range(mesh.n):
        for direction in (1, 1j):
            change = np.zeros(mesh.n, complex)
            change[k] = step * direction
            slope = (mesh.expansion(energy, z + change)[0] - mesh.expansion(energy, z - change)[0]) / (
                2 * step
            )
            columns.append(slope.view(float))
    return np.array(columns).T


def projected(matrix):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * np.maximum(values, 0) @ vectors.T


@pytest.mark.parametrize("energy", ENERGIES, ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_hessian_of_a_triangle_is_the_positive_part(energy, seed):
    """In coordinates of the map, where corners do not matter: the nearest positive semidefinite matrix."""
    rng = np.random.default_rng(seed)
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=float)
    mesh = mesh_of(points, np.array([[0, 1, 2]]))
    z = np.array([0, 1, 1j]) + 0.4 * (rng.normal(size=3) + 1j * rng.normal(size=3))
    if not np.isfinite(mesh.value(energy, z)):
        z = np.conj(z)
    # The orthonormal coordinates of (alpha, beta) are the entries of the map; these are the triangle's edges.
    entries = np.array([[-1, 1, 0], [-1, 0, 1]])
    to_edges = np.kron(entries, np.eye(2))
    whole = differences(energy, mesh, z)
    back = np.linalg.pinv(to_edges)
    expected = to_edges.T @ projected(back.T @ whole @ back) @ to_edges
    np.testing.assert_allclose(hessian(energy, mesh, z), expected, rtol=1e-5, atol=1e-6)


def test_near_the_minimum_the_hessian_is_exact():
    """Of nearly isometric maps no curvature is negative except that of rotations, which vanishes."""
    flat = np.c_[POINTS[:, :2], np.zeros(len(POINTS))]
    mesh = mesh_of(flat, FACES)
    z = flat[:, 0] + 1j * flat[:, 1]
    for energy in (SymmetricDirichlet(), Arap()):
        exact = differences(energy, mesh, z)
        np.testing.assert_allclose(hessian(energy, mesh, z), exact, atol=1e-7 * np.abs(exact).max())


def test_distortion_follows_from_singular_values():
    s = np.linalg.svd(jacobians(POINTS, FACES, FLAT), compute_uv=False)
    weights = areas(POINTS, FACES) / areas(POINTS, FACES).sum()
    d = distortion(POINTS, FACES, FLAT)
    np.testing.assert_allclose(d.singular_values, s, rtol=1e-9)
    assert d.symmetric_dirichlet == pytest.approx(weights @ (s**2 + s**-2).sum(axis=1))
    assert d.arap == pytest.approx(weights @ ((s - 1) ** 2).sum(axis=1))
    assert d.area_error == pytest.approx(weights @ np.abs(s.prod(axis=1) - 1))
    lengths = [
        (np.linalg.norm(FLAT[a] - FLAT[b]), np.linalg.norm(POINTS[a] - POINTS[b])) for a, b in edges(FACES)
    ]
    assert d.edge_error == pytest.approx(np.mean([abs(flat - true) / true for flat, true in lengths]))
    assert d.angle_error == pytest.approx(angle_error())


def edges(faces):
    return sorted({tuple(sorted(pair)) for a, b, c in faces for pair in ((a, b), (b, c), (c, a))})


def angle_error():
    def angle(x, a, b, c):
        p, q = x[b] - x[a], x[c] - x[a]
        return np.degrees(np.arccos(p @ q / np.linalg.norm(p) / np.linalg.norm(q)))

    corners = [(f[k], f[k - 1], f[k - 2]) for f in FACES for k in range(3)]
    return np.mean([abs(angle(POINTS, *corner) - angle(FLAT, *corner)) for corner in corners])


def test_distortion_does_not_depend_on_motions_and_corners():
    d = distortion(POINTS, FACES, FLAT)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for uv in (FLAT @ turn + 5, FLAT * [1, -1], FLAT[FACES]):
        other = distortion(POINTS, FACES, uv)
        assert other.symmetric_dirichlet == pytest.approx(d.symmetric_dirichlet)
        assert (other.n_flipped, other.stretch) == (0, pytest.approx(d.stretch))


def test_distortion_refuses_other_shapes():
    with pytest.raises(ValueError, match=r"uv has shape \(3, 2\): it must be \(30, 2\)"):
        distortion(POINTS, FACES, np.zeros((3, 2)))
