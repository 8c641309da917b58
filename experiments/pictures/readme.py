"""The picture of the README: a swiss roll, and what becomes of it.

python -m experiments.pictures.readme docs/figures/readme.png
"""

import sys
import warnings

import matplotlib

matplotlib.use("Agg")

import unbend as ub
from matplotlib import pyplot

N, K = 3000, 12
WAYS = {
    "Laplacian eigenmaps": ub.LaplacianEigenmaps(n_neighbors=K),
    "LTSA": ub.LTSA(n_neighbors=K),
    "unbend: Procrustes alignment": ub.ProcrustesAlignment(n_neighbors=K),
}


def main():
    x, truth = ub.datasets.swiss_roll(N, random_state=0)
    figure = pyplot.figure(figsize=(11, 2.3), layout="constrained")
    grid = figure.add_gridspec(1, 4, width_ratios=[1.1, 0.8, 0.8, 2.6])
    data = figure.add_subplot(grid[0], projection="3d")
    data.scatter(*x.T, c=truth[:, 0], s=2, linewidths=0)
    data.view_init(8, -75)
    data.set_box_aspect(x.max(axis=0) - x.min(axis=0), zoom=1.5)
    data.set_axis_off()
    data.set_title("data in space", fontsize=10)
    for place, (name, model) in zip((1, 2, 3), WAYS.items(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = model.fit(x).embedding_
        ax = figure.add_subplot(grid[place])
        ax.scatter(*y.T, c=truth[:, 0], s=2, linewidths=0)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        for side in ax.spines.values():
            side.set_color("0.8")
        ax.set_title(f"{name}\n$R_N$ = {model.faithfulness_.r_n:.2g}", fontsize=10)
    figure.savefig(sys.argv[1], dpi=110, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
