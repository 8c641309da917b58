"""Measures of a flat mesh: distortion of its triangles, distances over several rings, and overlap."""

from .triangles import MeshDistortion, distortion, measured, stretch_of

__all__ = ["MeshDistortion", "distortion", "measured", "stretch_of"]
