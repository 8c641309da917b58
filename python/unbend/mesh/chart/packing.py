"""Charts set side by side in the plane."""

from __future__ import annotations

import numpy as np

from ..energy import Complex

__all__ = ["packed"]

GAP = 0.02
"""Distance between charts, as a share of the side of a square of their total size."""


def packed(charts: list[Complex]) -> list[Complex]:
    """Rotate every chart to its longer side, and set them in rows, the tallest first."""
    turned = [_upright(z) for z in charts]
    width = np.array([np.ptp(z.real) for z in turned])
    height = np.array([np.ptp(z.imag) for z in turned])
    side = float(np.sqrt((width * height).sum()))
    gap, limit = GAP * side, max(1.2 * side, float(width.max()))
    placed, x, y, row = list(turned), 0.0, 0.0, 0.0
    for k in np.argsort(-height, kind="stable"):
        if x > 0 and x + width[k] > limit:
            x, y, row = 0.0, y + row + gap, 0.0
        placed[k] = turned[k] + complex(x, y)
        x, row = x + width[k] + gap, max(row, height[k])
    return placed


def _upright(z: Complex) -> Complex:
    """Return a chart rotated to its longest axis, with its lower left corner at zero."""
    centered = z - z.mean()
    moment = complex((centered**2).sum())
    turned = centered * np.exp(-0.5j * np.angle(moment))
    upright: Complex = turned - complex(turned.real.min(), turned.imag.min())
    return upright
