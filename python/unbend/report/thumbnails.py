"""Pictures of the points, all on one sheet."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ThumbnailSheet"]

Array = npt.NDArray[Any]

MOST_PIXELS = 2**25
"""Largest number of pixels on the sheet; browsers take long to open larger ones."""

LARGEST_SIDE = 96


@dataclass(frozen=True)
class ThumbnailSheet:
    """A sheet of pictures, row by row."""

    uri: str
    """The sheet as a PNG in a data URI."""
    width: int
    height: int
    """Size of one picture."""
    abreast: int
    """Number of pictures in a row."""
    rows: int

    @classmethod
    def of(cls, images: Any, n: int, drawn: Array) -> ThumbnailSheet:
        """Arrange the pictures of the points that are drawn."""
        given = np.asarray(images)
        color = given.ndim == 4 and given.shape[3] == 3
        if len(given) != n or not (given.ndim == 3 or color) or 0 in given.shape:
            raise ValueError(
                f"images has shape {given.shape}: ({n}, height, width) or ({n}, height, width, 3) is needed"
            )
        if given.dtype.kind not in "fiub":
            raise ValueError(f"images has dtype {given.dtype}: it must hold real numbers")
        pictures = _as_bytes(_shrunk(given[drawn]))
        (m, height, width), depth = pictures.shape[:3], pictures.shape[3:]
        abreast = math.ceil(math.sqrt(m * height / width))
        rows = math.ceil(m / abreast)
        sheet = np.zeros((rows * abreast, height, width, *depth), dtype=np.uint8)
        sheet[:m] = pictures
        laid = sheet.reshape(rows, abreast, height, width, *depth).swapaxes(1, 2)
        return cls(_png(laid.reshape(rows * height, abreast * width, *depth)), width, height, abreast, rows)


def _shrunk(images: Array) -> Array:
    """Make pictures smaller until they fit, by the mean of squares of pixels."""
    m, height, width = images.shape[:3]
    factor = max(
        math.ceil(max(height, width) / LARGEST_SIDE), math.ceil(math.sqrt(m * height * width / MOST_PIXELS))
    )
    factor = min(factor, height, width)
    if factor == 1:
        return images
    tall, wide = height // factor, width // factor
    cut = images[:, : tall * factor, : wide * factor]
    squares = cut.reshape(m, tall, factor, wide, factor, *images.shape[3:])
    mean: Array = squares.mean(axis=(2, 4))
    return np.rint(mean).astype(images.dtype) if images.dtype.kind in "iu" else mean


def _as_bytes(images: Array) -> Array:
    low, high = float(np.nanmin(images)), float(np.nanmax(images))
    if images.dtype.kind in "iu" and 0 <= low <= high <= 255:
        return images.astype(np.uint8)
    scaled = (images.astype(np.float64) - low) * (255 / (high - low) if high > low else 0)
    return np.nan_to_num(scaled).clip(0, 255).astype(np.uint8)


def _png(sheet: Array) -> str:
    from PIL import Image

    held = io.BytesIO()
    Image.fromarray(sheet).save(held, format="PNG")
    return "data:image/png;base64," + base64.b64encode(held.getvalue()).decode("ascii")
