"""Cuts that make a mesh a disc: along which edges, and how they become shorter."""

from .graph import branch, depths, given_sides, opened
from .shorten import shortened

__all__ = ["branch", "depths", "given_sides", "opened", "shortened"]
