"""The ring of head directions in the firing of neurons."""

from experiments.gallery.drawing import dots, panels, ring_colors, turned
from experiments.gallery.tools import by_others, by_unbend, ring_table


def show(page):
    x, angles = page["X"], page["angles"]
    maps = [by_unbend(page["psa"]), *by_others(x)]
    figure, places = panels(2)
    for ax, found in zip(places, maps, strict=False):
        dots(ax, turned(found.points), ring_colors(angles), found.tool)
    for ax in places[len(maps) :]:
        ax.set_axis_off()
    return ring_table(x, angles, maps), figure
