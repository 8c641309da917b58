"""One floor of a building, drawn from radio signals."""

from experiments.gallery.drawing import dots, onto, panels, position_colors
from experiments.gallery.tools import by_others, by_unbend, truth_table


def show(page):
    x, truth, model = page["X"], page["truth"], page["psa"]
    maps = [by_unbend(model), *by_others(x)]
    colors = position_colors(truth)
    figure, places = panels(2)
    dots(places[0], truth, colors, "where the phone was")
    for ax, found in zip(places[1:], maps, strict=False):
        dots(ax, onto(truth, found.points), colors, found.tool)
    return truth_table(x, truth, maps), figure
