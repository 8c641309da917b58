"""Distortion of a flat mesh, in the measures that are common for meshes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...core.arrays import as_points, as_triangles, check_entries
from ..energy import Arap, Array, Faces, FlatMesh
from ..repair import checked_points, shapes_of
from ..surface import Surface, edge_keys
from .geodesic import distance_error
from .overlap import n_overlapping

__all__ = ["MeshDistortion", "distortion", "measured", "stretch_of"]

STRETCH_PERCENTILE = 99.0
"""`stretch` holds for this percentage of the area: single slivers say nothing."""


@dataclass(frozen=True)
class MeshDistortion:
    """Distortion of a flat triangle mesh.

    Means are weighted by the areas of the triangles in space, except where stated. Nothing is rescaled.

    Attributes
    ----------
    n_flipped : int
        Number of triangles whose flat area is not positive, with the orientation of most.
    symmetric_dirichlet : float
        Mean of the squared singular values of the map and of its inverse: 4 for an isometry, infinite if a
        triangle is flipped.
    arap : float
        Mean squared difference of the singular values from 1: 0 for an isometry.
    angle_error : float
        Mean absolute change of the corners' angles, in degrees; all corners count equally.
    area_error : float
        Mean absolute change of areas, as a share of the total area.
    edge_error : float
        Mean absolute change of edge lengths, as a share of each length; all edges count equally.
    stretch : float
        Factor by which 99 % of the area are stretched or compressed at most.
    distance_error : float
        Mean absolute change of geodesic distances between vertices at most 7 edges apart, as a share of each
        distance. Paths do not cross seams, and begin at 500 vertices at most, evenly spread over their list.
        Computed when it is first read.
    n_overlapping : int
        Number of triangles that lie on another one. Computed when it is first read.
    singular_values : ndarray of shape (m, 2)
        The stretch of each triangle in its two main directions, the second one negative if it is flipped.

    Examples
    --------
    >>> import unbend as ub
    >>> sheet = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> ub.distortion(sheet, [[0, 1, 2], [0, 2, 3]], [[0, 0], [2, 0], [2, 1], [0, 1]]).stretch
    2.0
    """

    n_flipped: int
    symmetric_dirichlet: float
    arap: float
    angle_error: float
    area_error: float
    edge_error: float
    stretch: float
    singular_values: Array = field(repr=False)
    _mesh: tuple[Array, Faces, Array] = field(repr=False)

    @cached_property
    def distance_error(self) -> float:
        """Mean relative change of geodesic distances between vertices at most 7 edges apart."""
        points, faces, uv = self._mesh
        shapes, _ = shapes_of(Surface(points, faces, np.zeros(0, np.int64)))
        return distance_error(points, faces, uv, shapes)

    @cached_property
    def n_overlapping(self) -> int:
        """Number of triangles that lie on another one."""
        _, faces, uv = self._mesh
        return n_overlapping(uv[:, 0] + 1j * uv[:, 1], faces)


def distortion(vertices: Any, faces: Any, uv: Any) -> MeshDistortion:
    """Measure the distortion of a flat mesh from any tool.

    Parameters
    ----------
    vertices : array-like of shape (n, 3)
        Position of each vertex in space.
    faces : array-like of int, shape (m, 3)
        The vertices of each triangle.
    uv : array-like of shape (n, 2) or (m, 3, 2)
        Position of each vertex in the plane, or of each corner of each triangle if the mesh is cut.

    Returns
    -------
    MeshDistortion

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> sheet = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    >>> ub.distortion(sheet, [[0, 1, 2], [0, 2, 3]], sheet[:, :2]).symmetric_dirichlet
    4.0
    """
    points = checked_points(vertices)
    triangles = as_triangles(faces, len(points))
    flat = np.asarray(uv, dtype=np.float64)
    if flat.shape == (len(triangles), 3, 2):
        # Corners are one vertex where they are in space and in the plane: seams stay open.
        places = np.c_[triangles.ravel(), flat.reshape(-1, 2)]
        first, index = np.unique(places, axis=0, return_index=True, return_inverse=True)[1:]
        points, flat = points[triangles.ravel()[first]], flat.reshape(-1, 2)[first]
        triangles = index.reshape(-1, 3)
    if flat.shape != (len(points), 2):
        raise ValueError(
            f"uv has shape {np.shape(uv)}: it must be {(len(points), 2)}, one place for each vertex, or "
            f"{(len(triangles), 3, 2)}, one for each corner"
        )
    check_entries(as_points(flat, "uv"), "uv")
    return measured(points, triangles, flat)


def measured(points: Array, faces: Faces, uv: Array) -> MeshDistortion:
    """Measure a flat mesh whose arrays are valid."""
    surface = Surface(points, faces, np.zeros(0, np.int64))
    shapes, _ = shapes_of(surface)
    mesh = FlatMesh.of(shapes, faces, len(points))
    z = uv[:, 0] + 1j * uv[:, 1]
    if np.count_nonzero(mesh.double_areas(z) < 0) > len(faces) / 2:
        z = np.conj(z)
    alpha, beta = mesh.split(z)
    a, b = np.abs(alpha), np.abs(beta)
    large, small = a + b, a - b
    flipped = ~(mesh.double_areas(z) > 0)
    weights = mesh.weights
    dirichlet = np.inf
    if not flipped.any() and (small > 0).all():
        dirichlet = float(weights @ (large**2 + small**2 + large**-2 + small**-2))
    return MeshDistortion(
        n_flipped=int(flipped.sum()),
        symmetric_dirichlet=dirichlet,
        arap=float(weights @ Arap().value(a * a, b * b)),
        angle_error=_angle_error(shapes, z, faces),
        area_error=float(weights @ np.abs(large * small - 1)),
        edge_error=_edge_error(points, faces, z),
        stretch=stretch_of(large, small, weights),
        singular_values=np.stack([large, small], axis=1),
        _mesh=(points, faces, uv),
    )


def _angle_error(shapes: Array, z: Array, faces: Faces) -> float:
    length, x, y = shapes.T
    true = np.stack([np.zeros(len(x), complex), length + 0j, x + 1j * y], axis=1)
    return float(np.degrees(np.abs(_angles(true) - _angles(z[faces])).mean()))


def _angles(corners: Array) -> Array:
    following, before = np.roll(corners, -1, axis=1) - corners, np.roll(corners, 1, axis=1) - corners
    angles: Array = np.abs(np.angle(before * np.conj(following)))
    return angles


def _edge_error(points: Array, faces: Faces, z: Array) -> float:
    tails, heads = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    first = np.unique(edge_keys(tails, heads, len(points)), return_index=True)[1]
    tails, heads = tails[first], heads[first]
    true = np.linalg.norm(points[tails] - points[heads], axis=1)
    longer = true > 0
    return (
        float(np.mean(np.abs(np.abs(z[tails] - z[heads])[longer] / true[longer] - 1)))
        if longer.any()
        else 0.0
    )


def stretch_of(large: Array, small: Array, weights: Array) -> float:
    """Return the factor by which nearly all of the area is stretched or compressed at most."""
    with np.errstate(divide="ignore"):
        factors = np.maximum(large, np.where(small > 0, 1 / np.maximum(small, 0), np.inf))
    order = np.argsort(factors)
    place = int(np.searchsorted(np.cumsum(weights[order]), STRETCH_PERCENTILE / 100 * weights.sum()))
    return float(factors[order[min(place, len(order) - 1)]])
