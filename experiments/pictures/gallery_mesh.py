"""Meshes laid flat: each in space under a checkerboard of its plane, and flat, colored by stretch.

python -m experiments.pictures.gallery_mesh docs/figures/meshes.png     # needs matplotlib
python -m experiments.pictures.gallery_mesh meshes.png --data FOLDER    # a cortex in the place of the folded sheet
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
import unbend as ub

from benches.python.bench_mesh import folded_sheet
from tests.python.mesh import shapes

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def gallery(folder):
    if folder:
        with np.load(Path(folder) / "cortex_fsaverage5_left_flat.npz") as data:
            yield "cortex, cut before", data["X"], data["faces"].astype(int)
    else:
        points, faces = folded_sheet(20_000)
        yield "folded sheet", points, faces
    yield "torus", *shapes.torus(90, 45)
    yield "sphere", *shapes.sphere(4000)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output")
    parser.add_argument("--data", metavar="FOLDER", help="folder of real meshes")
    options = parser.parse_args()
    figure = plt.figure(figsize=(13, 8.5), layout="constrained")
    for k, (name, points, faces) in enumerate(gallery(options.data)):
        flat = ub.flatten(points, faces)
        d = flat.distortion
        flat.plot("checker", ax=figure.add_subplot(2, 3, k + 1, projection="3d")).set_title(name, fontsize=11)
        axes = flat.plot(ax=figure.add_subplot(2, 3, k + 4))
        numbers = f"{d.n_flipped} flips, symmetric Dirichlet {d.symmetric_dirichlet:.3f}"
        axes.set_title(
            f"{numbers}\nseams {flat.seam_length:.1f}, 99 % stretched by at most {d.stretch:.2f}", fontsize=9
        )
        axes.set_axis_off()
    figure.savefig(options.output, dpi=80)


if __name__ == "__main__":
    main()
