"""Six surfaces that cannot lie flat, cut open: a picture of each, the two sides of every seam in one color.

python -m experiments.pictures.gallery_cut gallery.png        # needs matplotlib
python -m experiments.pictures.gallery_cut gallery.png --bunny FILE   # a scan in the place of the sphere
"""

import argparse
import warnings

import matplotlib
import numpy as np
import unbend as ub

from benches.python import surfaces

matplotlib.use("Agg")
import matplotlib.pyplot as plt

N = 8_000


def gallery(bunny):
    yield "cylinder", surfaces.cylinder(N)
    yield "flat torus in 4-d", surfaces.flat_torus(N)
    yield "Moebius strip", surfaces.moebius_strip(N)
    yield "flat Klein bottle in 5-d", surfaces.flat_klein_bottle(N)
    if bunny:
        yield "Stanford bunny", np.load(bunny)["X"].astype(float)
    else:
        yield "sphere", surfaces.sphere(N)
    yield "torus of revolution", surfaces.torus(N)


def draw(axes, name, model):
    m = model.faithfulness_
    ub.plot.embedding(model, ax=axes, size=0.5)
    numbers = f"R_N {m.r_n:.4f}, bound {m.lower_bound:.4f}, torn {m.cut_share:.1%}"
    axes.set_title(f"{name}\n{model.surface_}\n{numbers}", fontsize=8)
    axes.axis("off")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output")
    parser.add_argument("--bunny", metavar="FILE", help="an .npz with an array X")
    options = parser.parse_args()
    figure, places = plt.subplots(2, 3, figsize=(15, 10), layout="constrained")
    for axes, (name, x) in zip(places.ravel(), gallery(options.bunny), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draw(axes, name, ub.ProcrustesAlignment(n_neighbors=10).fit(x))
    figure.savefig(options.output, dpi=80)


if __name__ == "__main__":
    main()
