"""Several maps of the same points brought together: generalized Procrustes analysis."""

from .alignment import Alignment, align
from .transform import Transform

__all__ = ["Alignment", "Transform", "align"]
