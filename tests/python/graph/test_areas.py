"""Areas of points: exact on meshes, and a gain of fits to uneven points."""

import numpy as np
import pytest
import unbend as ub
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay, procrustes


def hills(u, v):
    """Return a sheet with two hills, which cannot lie flat without stretch."""
    heights = [0.5 * np.exp(-3 * ((u + s) ** 2 + v**2)) for s in (0.4, -0.4)]
    return np.c_[u, v, sum(heights)]


def test_a_vertex_has_a_third_of_the_area_of_its_triangles():
    rng = np.random.default_rng(0)
    x, faces = rng.normal(size=(30, 3)), rng.permuted(np.tile(np.arange(29), (40, 1)), axis=1)[:, :3]
    areas = np.zeros(30)
    for t in faces:
        for vertex in t:
            areas[vertex] += np.linalg.norm(np.cross(x[t[1]] - x[t[0]], x[t[2]] - x[t[0]])) / 6
    areas[areas == 0] = areas[areas > 0].min()  # the last vertex has no triangle
    np.testing.assert_allclose(ub.point_areas(x, faces), areas / areas.mean(), rtol=1e-10)


def test_areas_of_points_follow_their_density():
    rng = np.random.default_rng(1)
    u = np.sqrt(rng.random(20_000))  # density 2 u
    x = np.c_[u, rng.random(20_000)]
    inner = (x > 0.15).all(axis=1) & (x < 0.85).all(axis=1)
    product = (ub.point_areas(x) * u)[inner]
    low, high = (product[(u[inner] > a) & (u[inner] < a + 0.2)].mean() for a in (0.2, 0.6))
    assert low == pytest.approx(high, rel=0.1)  # noise of about 0.03; the densities differ by 2.3


def test_distances_that_the_graph_lacks_are_computed():
    x = np.random.default_rng(2).normal(size=(200, 3))
    graph = ub.neighborhoods(x)
    bare = ub.Neighborhoods.from_knn(graph.indices.reshape(200, -1))
    np.testing.assert_allclose(ub.point_areas(x, neighborhoods=bare), ub.point_areas(x), rtol=1e-12)


def test_copies_have_the_smallest_area_and_equal_points_equal_ones():
    x = np.r_[np.zeros((20, 2)), np.random.default_rng(3).normal(size=(40, 2))]
    areas = ub.point_areas(x, n_neighbors=5)
    assert (areas[:20] == areas.min()).all()
    assert areas.min() > 0
    assert (ub.point_areas(np.ones((20, 2)), n_neighbors=5) == 1).all()


def on_grid(places, y):
    """Return an embedding at a grid of the sheet."""
    axis = np.linspace(-0.9, 0.9, 25)
    return LinearNDInterpolator(places, y)(*np.meshgrid(axis, axis)).reshape(-1, 2)


def sheet(n, power, seed=0):
    """Return random places on the sheet, dense at one end if the power is above 1."""
    rng = np.random.default_rng(seed)
    return np.c_[2 * rng.random(n) ** power - 1, 2 * rng.random(n) - 1]


def test_area_weights_bring_a_map_of_uneven_points_nearer_to_that_of_even_ones():
    def embedded(places, weighs=False):
        x = hills(*places.T)
        fit = ub.ProcrustesAlignment().fit(x, sample_weight=ub.point_areas(x) if weighs else None)
        return on_grid(places, fit.embedding_)

    even, uneven = embedded(sheet(4000, 1)), sheet(2000, 2, seed=1)
    plain, weighed = (procrustes(even, embedded(uneven, weighs))[2] for weighs in (False, True))
    assert weighed < 0.4 * plain


def test_area_weights_bring_refinements_of_an_uneven_mesh_nearer_to_that_of_an_even_one():
    def refined(places, weighs=False):
        x, faces = hills(*places.T), Delaunay(places).simplices
        rings = ub.Neighborhoods.from_mesh(faces, len(x))
        weights = ub.point_areas(x, faces) if weighs else None
        found = ub.refine(x, places, neighborhoods=rings, sample_weight=weights, tol=1e-5)
        return on_grid(places, found.embedding)

    even, uneven = refined(sheet(4000, 1)), sheet(2000, 2, seed=1)
    plain, weighed = (procrustes(even, refined(uneven, weighs))[2] for weighs in (False, True))
    assert weighed < 0.4 * plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"faces": [[0, 1, 2]], "n_components": 3}, "n_components is 3"),
        ({"faces": [[0, 1, 2]], "n_neighbors": 5}, "faces= was given with"),
        ({"faces": [[0, 1, 99]]}, "vertex 99 of triangle 0"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ub.point_areas(np.random.default_rng(0).normal(size=(30, 3)), **options)
