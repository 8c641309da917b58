"""The solid of colors in the spectra of painted chips."""

import numpy as np

from experiments.gallery.drawing import in_space, onto, space
from experiments.gallery.tools import by_others, by_unbend, truth_table

WHITE = np.array([0.9505, 1.0, 1.089])
TO_RGB = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])


def rgb(lab):
    """CIE L*a*b* as a screen shows it (sRGB); colors that it cannot show are clipped."""
    y = (lab[:, 0] + 16) / 116
    f = np.column_stack([y + lab[:, 1] / 500, y, y - lab[:, 2] / 200])
    xyz = WHITE * np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29))
    linear = np.clip(xyz @ TO_RGB.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def show(page):
    x, truth = page["X"], page["munsell"]
    colors = rgb(page["lab"])
    maps = [by_unbend(page["psa"]), *by_others(x, 3)]
    figure = space(2)
    in_space(figure, (2, 2, 1), truth, colors, "Munsell's solid", size=9, pale=False)
    for place, found in enumerate(maps[:3], 2):
        in_space(figure, (2, 2, place), onto(truth, found.points), colors, found.tool, size=9, pale=False)
    return truth_table(x, truth, maps), figure
