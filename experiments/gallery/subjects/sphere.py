"""Closed surfaces that are bent into twenty dimensions, in space again."""

import numpy as np
import unbend as ub

from experiments.gallery.drawing import in_space, onto, ring_colors, space
from experiments.gallery.tools import by_others, by_unbend, disparity, table

CASES = {"sphere": ((1, 1, 1), 2.0), "egg": ((1, 0.8, 0.5), 2.4), "sphere, bent more": ((1, 1, 1), 2.4)}


def show(page):
    figure, rows = space(2), []
    for name, (axes, bend) in CASES.items():
        truth, x = page["bent"](axes, bend)
        model = ub.ProcrustesAlignment(n_components=3).fit(x)
        maps = [by_unbend(model), *by_others(x, 3)[:2]]
        rows += [
            (
                name,
                m.tool,
                f"{disparity(truth, m.points):.4f}",
                f"{ub.faithfulness(x, m.points).r_n:.4f}",
                m.trust,
            )
            for m in maps
        ]
        if name == "egg":
            colors = ring_colors(np.arctan2(truth[:, 2], truth[:, 0]))
            in_space(figure, (2, 2, 1), truth, colors, "the egg before it was bent")
            for place, found in enumerate(maps[:3], 2):
                in_space(figure, (2, 2, place), onto(truth, found.points), colors, found.tool)
    return table(("surface", "map", "disparity", "R_N", "verdict"), *rows), figure
