"""The pictures of docs/unclean.md: difficult data, the embedding without other candidates, and the default.

python -m experiments.pictures.gallery_hard [NAME ...]        # only some pictures, for example noise
"""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import unbend as ub

from benches.python.difficult import CASES, disparity
from experiments.pictures.gallery import DPI, narrow

FOLDER = Path(__file__).parents[2] / "docs/figures"
SEED = 100
FONT_SIZE = 10


@dataclass(frozen=True)
class Picture:
    """A case, and the columns that show it from the side."""

    case: str
    columns: tuple[int, int] = (0, 2)


PICTURES = {
    "few": Picture("clean, 400 points"),
    "noise": Picture("noise 1.0"),
    "tails": Picture("heavy tails"),
    "density": Picture("density u^4"),
    "outliers": Picture("outliers 5 %"),
    "imputed": Picture("missing values imputed"),
    "tube": Picture("open tube"),
    "components": Picture("two rolls", (0, 1)),
}


def fitted(x, candidates):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ub.ProcrustesAlignment(candidates=candidates).fit(x)


def draw_data(ax, x, color, columns, inside):
    ax.scatter(*x[~inside][:, columns].T, s=9, marker="x", color="0.5", linewidths=0.8)
    ax.scatter(*x[inside][:, columns].T, s=4, c=color)
    ax.set_title("data, from the side\n", fontsize=FONT_SIZE)


def turned(y):
    """The principal directions as axes, so that both embeddings can be compared."""
    y = y - y.mean(axis=0)
    return y @ np.linalg.svd(y, full_matrices=False)[2].T


def draw_fit(ax, title, model, truth, pieces, inside):
    ax.scatter(*turned(model.embedding_[inside]).T, s=5, c=truth[inside, 0])
    trust = "trusted" if model.verdict_.trusted else "not trusted"
    chosen = next((tried.name for tried in model.candidates_ if tried.chosen), "")
    error = disparity(truth, model.embedding_, pieces)
    ax.set_title(f"{title}: {chosen}\ndisparity {error:.2g}, {trust}", fontsize=FONT_SIZE)


def draw(picture):
    case, n = CASES[picture.case]
    x, truth, pieces = case(n, np.random.default_rng(SEED))
    inside = np.ones(len(x), dtype=bool) if pieces is None else pieces >= 0
    figure, places = plt.subplots(1, 3, figsize=(12, 3.4), width_ratios=[1, 1.7, 1.7])
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.02, top=0.86, wspace=0.04)
    draw_data(places[0], x, truth[inside, 0], picture.columns, inside)
    draw_fit(places[1], "candidates=False", fitted(x, False), truth, pieces, inside)
    draw_fit(places[2], "default", fitted(x, "auto"), truth, pieces, inside)
    for ax in places:
        ax.set_aspect("equal", adjustable="datalim")
        ax.set(xticks=[], yticks=[])
    return figure


def main():
    for name in sys.argv[1:] or PICTURES:
        path = FOLDER / f"unclean-{name}.png"
        draw(PICTURES[name]).savefig(path, dpi=DPI)
        plt.close("all")
        narrow(path)
        print(f"{path.name}  {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
