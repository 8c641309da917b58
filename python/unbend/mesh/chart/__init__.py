"""Pieces of a surface laid flat: `disc` lays one disc flat, `search` finds where to cut, `packing` sets them side by
side.
"""

from .disc import Chart, ChartSettings, EnergyName, StartName
from .packing import packed
from .search import charts_of

__all__ = ["Chart", "ChartSettings", "EnergyName", "StartName", "charts_of", "packed"]
