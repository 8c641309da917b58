"""Pictures of a flat mesh: its stretch, and a checkerboard carried back to the surface in space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plot.canvas import Axes, axes_for, frame, pyplot
from .energy import Array, Faces
from .measures import MeshDistortion

__all__ = ["checkered", "stretched"]

SQUARES = 24  # Number of squares along the longer side of the flat mesh.

LIGHT = np.array([0.3, -0.5, 0.8])
SHADE = 0.45  # Share of a color that falls away where light grazes the surface.

WHITE, BLUE = np.array([0.97, 0.97, 0.95]), np.array([0.25, 0.45, 0.72])


def stretched(faces: Faces, uv: Array, distortion: MeshDistortion, ax: Any) -> Axes:
    """Draw a flat mesh, colored by stretch."""
    ax = axes_for(ax, uv, bar=True)
    large, small = distortion.singular_values.T
    # The area's factor on a logarithmic scale: lengthening and shortening look alike.
    factor = np.log2(np.maximum(large * small, 2.0**-10)) / 2
    limit = max(float(np.percentile(np.abs(factor), 99)), 0.01)
    drawn = ax.tripcolor(
        *uv.T, faces, facecolors=factor, cmap="PuOr_r", vmin=-limit, vmax=limit, rasterized=True
    )
    bar = ax.figure.colorbar(drawn, ax=ax, label="stretch", shrink=0.8)
    bar.set_ticks([-limit, 0, limit], labels=[f"{2**v:.2f}" for v in (-limit, 0, limit)])
    frame(ax)
    return ax  # type: ignore[no-any-return]


def checkered(points: Array, faces: Faces, uv: Array, ax: Any) -> Axes:
    """Draw the mesh in space under a checkerboard of the plane."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if ax is None:
        ax = pyplot().figure(figsize=(6.4, 5.6), layout="constrained").add_subplot(projection="3d")
    triangles = points[faces]
    colors = _checkers(faces, uv) * _light(triangles)[:, None]
    surface = Poly3DCollection(
        triangles, facecolors=colors, edgecolors=colors, linewidths=0.2, rasterized=True
    )
    ax.add_collection3d(surface)
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    middle, half = (low + high) / 2, float((high - low).max()) / 2 or 1.0
    for name, center in zip("xyz", middle, strict=True):
        getattr(ax, f"set_{name}lim")(center - half, center + half)
    ax.set_box_aspect((1, 1, 1), zoom=1.3)
    ax.set_axis_off()
    return ax  # type: ignore[no-any-return]


def _checkers(faces: Faces, uv: Array) -> Array:
    side = float(np.ptp(uv, axis=0).max()) / SQUARES or 1.0
    squares = np.floor(uv[faces].mean(axis=1) / side).astype(int).sum(axis=1)
    return np.where((squares % 2 == 0)[:, None], WHITE, BLUE)


def _light(triangles: Array) -> Array:
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1) * np.linalg.norm(LIGHT)
    cosine = np.abs(normals @ LIGHT) / np.where(lengths > 0, lengths, 1)
    shade: Array = 1 - SHADE * (1 - cosine)
    return shade
