"""Written digits: groups, not a surface."""

from experiments.gallery.drawing import dots, panels
from experiments.gallery.tools import by_others, by_unbend, label_table


def show(page):
    x, labels = page["X"], page["labels"]
    maps = [by_unbend(page["psa"]), *by_others(x)]
    figure, places = panels(2)
    for ax, found in zip(places, maps, strict=False):
        dots(ax, found.points, labels, found.tool, cmap="tab10")
    for ax in places[len(maps) :]:
        ax.set_axis_off()
    return label_table(x, labels, maps), figure
