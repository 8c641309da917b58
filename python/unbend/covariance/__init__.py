"""How far the coordinates of an embedding and its distances may be off: refits of data with more noise."""

from .bootstrap import Uncertainty, uncertainty

__all__ = ["Uncertainty", "uncertainty"]
