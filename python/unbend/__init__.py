"""Flatten manifolds without stretching them, and measure how faithful any embedding is."""

from importlib.metadata import version

from . import datasets, metrics
from .charts import Charts, charts
from .metrics import Faithfulness, faithfulness
from .neighbors import Neighborhoods, neighborhoods

__version__ = version("unbend")

__all__ = [
    "Charts",
    "Faithfulness",
    "Neighborhoods",
    "__version__",
    "charts",
    "datasets",
    "faithfulness",
    "metrics",
    "neighborhoods",
]
