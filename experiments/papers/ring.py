"""A cylinder as a ring in the plane: which height Goldberg & Ritov's cylinder may have had (section 5, Fig. 3).

    python -m experiments.papers.ring

The paper gives no height, and shows a ring of R_N 0.02 [R_C 0.01]. A ring of the points, the farther out the
higher, is refined with 12 neighbors and measured without the point itself, as in the paper, next to our own maps.
"""

import warnings

import numpy as np
import unbend as ub

from benches.python.timing import machine, row

HEIGHTS = (0.5, 0.7, 1.0, 1.5, 3.0)
AS_THEY_ARE = {"cut": False, "candidates": False, "random_state": 0}


def ring(x):
    """The points of a cylinder of radius 1, the farther out in the plane the higher."""
    across, height = x[:, :2], x[:, 2] - x[:, 2].mean()
    return across * (max(1.0, np.ptp(height) / 2 + 0.05) + height)[:, None]


def maps(x, nb):
    """The maps to measure, by name."""
    begun = ring(x)
    yield "ring", begun
    yield "refined", ub.refine(x, begun, neighborhoods=nb, max_iter=300, tol=1e-5).embedding
    for name in ("tree", "spectral", "projection"):
        psa = ub.ProcrustesAlignment(alignment=name, **AS_THEY_ARE).fit(x, neighborhoods=nb)
        yield f"PSA {name}", psa.embedding_


def measured(x, y, nb):
    m = ub.faithfulness(x, y, neighborhoods=nb, include_self=False)
    return f"{m.r_n:.4f} [{m.r_c:.4f}], {m.overlap:.2f}"


def main():
    warnings.simplefilter("ignore")
    print(machine(2, ("unbend", "numpy", "scipy")))
    print("\nR_N [R_C], overlap; 800 points, k = 12. The paper: 0.02 [0.01] by PSA, 0.13 [0.01] by GP.\n")
    head = ("height", "ring", "refined", "PSA tree", "PSA spectral", "PSA projection")
    row(*head)
    row(*["--:"] * len(head))
    for height in HEIGHTS:
        x, _ = ub.datasets.cylinder(800, height=height, random_state=0)
        nb = ub.neighborhoods(x, 12)
        row(height, *(measured(x, y, nb) for _, y in maps(x, nb)))


if __name__ == "__main__":
    main()
