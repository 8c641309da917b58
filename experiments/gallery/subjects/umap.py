"""unbend and UMAP on data of either kind: a surface, and groups."""

from experiments.gallery.drawing import dots, onto, panels, position_colors
from experiments.gallery.tools import HAS_UMAP, accuracy, by_umap, by_unbend, disparity, table


def show(page):
    views, places, digits, labels = (page[name] for name in ("views", "places", "digits", "labels"))
    surfaces, groups = [by_unbend(page["camera"])], [by_unbend(page["ten"])]
    if HAS_UMAP:
        surfaces.append(by_umap(views))
        groups.append(by_umap(digits))
    figure, axes = panels(2)
    for k, (surface, group) in enumerate(zip(surfaces, groups, strict=True)):
        colors = position_colors(places)
        dots(axes[k], onto(places, surface.points), colors, f"moving camera, {surface.tool}")
        dots(axes[k + 2], group.points, labels, f"written digits, {group.tool}", cmap="tab10")
    rows = [
        (
            surface.tool,
            f"{disparity(places, surface.points):.3f}",
            surface.trust,
            f"{accuracy(group.points, labels):.3f}",
            group.trust,
        )
        for surface, group in zip(surfaces, groups, strict=True)
    ]
    head = ("tool", "camera: disparity", "camera: verdict", "digits: accuracy of labels", "digits: verdict")
    return table(head, *rows), figure
