"""Rotation, scale and translation that take one map to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.arrays import as_points

__all__ = ["Transform"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transform:
    """A rotation, a scale and a translation: ``scale * points @ rotation + translation``.

    Attributes
    ----------
    rotation : ndarray of shape (d, d)
        Orthogonal matrix; its determinant is -1 if it reflects.
    translation : ndarray of shape (d,)
        The vector that is added last.
    scale : float
        Factor of all lengths.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> quarter = ub.Transform(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([5.0, 0.0]))
    >>> quarter.apply([[1.0, 0.0]])
    array([[5., 1.]])
    >>> quarter.inverse().apply([[5.0, 1.0]])
    array([[1., 0.]])
    """

    rotation: Array
    translation: Array
    scale: float = 1.0

    @property
    def is_reflection(self) -> bool:
        """True if the rotation reflects."""
        return bool(np.linalg.det(self.rotation) < 0)

    def apply(self, points: Any) -> Array:
        """Return points of the map, old or new, in the coordinates of the consensus; NaN stays NaN."""
        y = as_points(points, "points")
        d = len(self.translation)
        if y.shape[1] != d:
            raise ValueError(f"points has {y.shape[1]} columns, but the transform is of {d} dimensions")
        return np.asarray(self.scale * (y.astype(np.float64) @ self.rotation) + self.translation)

    def inverse(self) -> Transform:
        """Return the transform from the consensus back to the map."""
        back = self.rotation.T / self.scale
        return Transform(self.rotation.T.copy(), 0.0 - self.translation @ back, 1.0 / self.scale)
