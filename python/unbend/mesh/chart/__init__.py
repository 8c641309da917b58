"""Pieces of a surface laid flat: one disc, the search for cuts, and charts side by side."""

from .disc import Chart, ChartSettings, EnergyName, StartName
from .packing import packed
from .search import charts_of

__all__ = ["Chart", "ChartSettings", "EnergyName", "StartName", "charts_of", "packed"]
