"""Pictures of a face, by where it looks."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from experiments.gallery.drawing import COLUMN, FONT
from experiments.gallery.tools import by_others, by_unbend, truth_table

N_PICTURES = 90


def spread(points, n):
    """Choose points that lie far from each other."""
    chosen, away = [0], np.linalg.norm(points - points[0], axis=1)
    for _ in range(n - 1):
        chosen.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return chosen


def show(page):
    x, truth, model = page["X"], page["truth"], page["psa"]
    y = model.embedding_[:, :2]
    figure, ax = plt.subplots(figsize=(2 * COLUMN, 5), layout="constrained")
    ax.scatter(*y.T, s=3, c="0.75", linewidths=0)
    for i in spread(y, N_PICTURES):
        ax.add_artist(
            AnnotationBbox(OffsetImage(x[i].reshape(32, 32), zoom=0.85, cmap="gray"), y[i], frameon=False)
        )
    ax.set_title("faces where the map puts them, two of three dimensions", fontsize=FONT)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()
    return truth_table(x, truth, [by_unbend(model), *by_others(x, 3, 8)]), figure
