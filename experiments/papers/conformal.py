"""Conformal maps by R_C (Goldberg & Ritov, eq. 7): c-Isomap refined, and PSA, both with the scales of the density.

    python -m experiments.papers.conformal

Points are even in the plane, and mapped to a surface so that angles are kept: the inverse of the stereographic
projection (the conformal fishbowl of de Silva & Tenenbaum), and the exponential map of a rectangle, rolled up.
Printed are R_C and the disparity to the plane; R_C of the plane itself is what can be reached.
"""

import warnings

import numpy as np
import unbend as ub
from scipy.spatial import procrustes

from benches.python.timing import machine, row

RIM = 0.7


def fishbowl(n, rng):
    radius = np.sqrt((1 + RIM) / (1 - RIM) * rng.random(n))
    angle = 2 * np.pi * rng.random(n)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    squares = (plane**2).sum(axis=1)
    return np.column_stack([2 * plane, squares - 1]) / (1 + squares)[:, None], plane


def exponential(n, rng):
    plane = rng.random((n, 2)) * [1.5, 1.0]
    size, angle = np.exp(plane[:, 0]), plane[:, 1]
    x, y = size * np.cos(angle), size * np.sin(angle)
    return np.column_stack([2 * np.cos(x / 2), 2 * np.sin(x / 2), y]), plane


def main():
    warnings.simplefilter("ignore")
    print(machine(2, ("unbend", "numpy", "scipy")))
    row("surface", "n", "k", "c-Isomap", "10 steps", "until it converges", "PSA, R_C", "PSA, R_N", "truth")
    row(*["---"] * 9)
    for name, surface in {"fishbowl": fishbowl, "exponential": exponential}.items():
        for n in (1000, 3000):
            x, plane = surface(n, np.random.default_rng(0))
            for k in (8, 12):
                start = ub.Isomap(conformal=True, n_neighbors=k).fit_transform(x)
                few, many = (
                    ub.refine(x, start, n_neighbors=k, objective="R_C", max_iter=steps).embedding
                    for steps in (10, 1000)
                )
                aligned = (
                    ub.ProcrustesAlignment(n_neighbors=k, objective=objective).fit_transform(x)
                    for objective in ("R_C", "R_N")
                )
                cells = [shown(x, y, plane, k) for y in (start, few, many, *aligned)]
                truth = ub.faithfulness(x, plane, n_neighbors=k).r_c
                row(name, f"{n:,}", k, *cells, f"{truth:.4f}")


def shown(x, y, plane, k):
    """R_C and the disparity."""
    r_c = ub.faithfulness(x, y, n_neighbors=k).r_c
    return f"{r_c:.4f} [{procrustes(plane, y)[2]:.1e}]"


if __name__ == "__main__":
    main()
