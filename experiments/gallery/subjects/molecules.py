"""The shapes of a molecule: a sphere and a Klein bottle."""

import unbend as ub
from sklearn.decomposition import PCA

from experiments.gallery.drawing import FONT, in_space, space
from experiments.gallery.tools import table

SHEETS = {"sphere": "#d9622b", "Klein bottle": "#2f5fa8"}


def opened(ax, name, model):
    ub.plot.embedding(model, ax=ax, size=2)
    ax.set_title(f"{name}, cut open", fontsize=FONT)
    ax.set_axis_off()


def show(page):
    models = dict(zip(SHEETS, (page["sphere"], page["bottle"]), strict=True))
    plane = PCA(3).fit(page["X"])
    figure = space(2)
    for place, (name, model) in enumerate(models.items(), 1):
        points = plane.transform(model.X_fit_)
        in_space(figure, (2, 2, place), points, [SHEETS[name]] * len(points), f"{name}, by PCA", size=3)
        opened(figure.add_subplot(2, 2, place + 2), name, model)
    rows = []
    for name, model in {"all": ub.ProcrustesAlignment().fit(page["X"]), **models}.items():
        m = model.faithfulness_
        trust = "trusted" if model.verdict_.trusted else "not trusted"
        rows.append(
            (name, f"{len(model.X_fit_):,}", model.surface_, f"{m.r_n:.4f}", f"{m.lower_bound:.4f}", trust)
        )
    return table(("points", "number", "surface", "R_N", "bound", "verdict"), *rows), figure
