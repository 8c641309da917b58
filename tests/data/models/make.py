"""Writes a model of this version, which every later version must read: see docs/compatibility.md.

python tests/data/models/make.py    write the model of this version; never again once the version is released
"""

from __future__ import annotations

from pathlib import Path

import unbend as ub


def main() -> None:
    """Fit few points and save the model under the number of this version."""
    points, _ = ub.datasets.cylinder(150, random_state=0)  # It is cut, so the model holds seams.
    model = ub.ProcrustesAlignment(n_neighbors=8, random_state=0).fit(points)
    print(model.save(Path(__file__).with_name(f"procrustes-{ub.__version__}.unbend")))


if __name__ == "__main__":
    main()
