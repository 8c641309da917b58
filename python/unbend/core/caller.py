"""Warnings that point at the caller's line, not into this package."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

PACKAGES = ("unbend.", "sklearn.")
"""Frames of these packages are skipped; scikit-learn wraps and calls the methods of estimators."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led to the call.

    Parameters
    ----------
    message : str
        The problem with its numbers, and what to do.
    category : type
        The class of the warning.
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(PACKAGES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
