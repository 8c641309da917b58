"""Views of a moving camera, by where it looks."""

from experiments.gallery.drawing import dots, onto, panels, position_colors
from experiments.gallery.tools import by_others, by_unbend, truth_table


def show(page):
    x, places = page["X"], page["places"]
    maps = [by_unbend(page["psa"]), *by_others(x)]
    figure, axes = panels(2)
    for ax, found in zip(axes, maps, strict=False):
        dots(ax, onto(places, found.points), position_colors(places), found.tool)
    for ax in axes[len(maps) :]:
        ax.set_axis_off()
    return truth_table(x, places, maps), figure
