"""Errors of the coordinates and distances of an embedding, from refits of data with more noise."""

from .bootstrap import Uncertainty, uncertainty

__all__ = ["Uncertainty", "uncertainty"]
