"""unbend and UMAP on data of either kind: a surface, and groups."""

import numpy as np

from experiments.gallery.drawing import dots, onto, panels, position_colors
from experiments.gallery.tools import HAS_UMAP, accuracy, by_umap, by_unbend, disparity, table

DRAWN = 12_000


def show(page):
    cloth, grid, digits, labels = (page[name] for name in ("cloth", "grid", "digits", "labels"))
    rows = np.random.default_rng(0).permutation(len(cloth))[:DRAWN]
    colors = position_colors(grid)[rows]
    surfaces, groups = [by_unbend(page["flat"])], [by_unbend(page["ten"])]
    if HAS_UMAP:
        surfaces.append(by_umap(cloth))
        groups.append(by_umap(digits))
    figure, places = panels(2)
    for k, (surface, group) in enumerate(zip(surfaces, groups, strict=True)):
        dots(places[k], onto(grid, surface.points)[rows], colors, f"a folded cloth, {surface.tool}", size=2)
        dots(places[k + 2], group.points, labels, f"written digits, {group.tool}", cmap="tab10")
    found = [
        (
            surface.tool,
            f"{disparity(grid, surface.points):.4f}",
            surface.trust,
            f"{accuracy(group.points, labels):.3f}",
            group.trust,
        )
        for surface, group in zip(surfaces, groups, strict=True)
    ]
    head = ("tool", "cloth: disparity", "cloth: verdict", "digits: accuracy of labels", "digits: verdict")
    return table(head, *found), figure
