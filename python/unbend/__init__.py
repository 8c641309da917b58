"""Flatten manifolds without stretching them, and measure how faithful any embedding is."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from . import anndata, datasets, metrics, plot
from .charts import Charts, charts
from .comparison import Comparison, compare
from .diagnostics import Price, Verdict, price_of_normalization
from .dimension import Dimension, dimension
from .metrics import Faithfulness, faithfulness
from .neighbors import Neighborhoods, neighborhoods
from .progress import Stopped
from .quality import Quality, quality
from .rectify import Rectification, rectify
from .refine import Refinement, RefinementInterrupted, refine
from .report import Report, report
from .selection import Candidate, Grid, Selection, select

if TYPE_CHECKING:
    from .align import ProcrustesAlignment
    from .bottom import GapWarning
    from .cut import Seam
    from .embed import DisconnectedWarning, GreedyProcrustes, NotFlatWarning
    from .isomap import Isomap
    from .linear import PCA, DistortionWarning, RandomProjection
    from .models import load
    from .pipeline import WithNeighbors
    from .scaling import ClassicalScaling, NotEuclideanWarning
    from .spectral import (
        LTSA,
        CollapsedWarning,
        DiffusionMaps,
        HessianLLE,
        LaplacianEigenmaps,
        LocallyLinearEmbedding,
        ModifiedLLE,
    )

__version__ = version("unbend")

__all__ = [
    "Candidate",
    "Charts",
    "ClassicalScaling",
    "CollapsedWarning",
    "Comparison",
    "DiffusionMaps",
    "Dimension",
    "DisconnectedWarning",
    "DistortionWarning",
    "Faithfulness",
    "GapWarning",
    "GreedyProcrustes",
    "Grid",
    "HessianLLE",
    "Isomap",
    "LTSA",
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "ModifiedLLE",
    "Neighborhoods",
    "NotEuclideanWarning",
    "NotFlatWarning",
    "PCA",
    "Price",
    "ProcrustesAlignment",
    "Quality",
    "RandomProjection",
    "Rectification",
    "Refinement",
    "RefinementInterrupted",
    "Report",
    "Seam",
    "Selection",
    "Stopped",
    "Verdict",
    "WithNeighbors",
    "__version__",
    "anndata",
    "charts",
    "compare",
    "datasets",
    "dimension",
    "faithfulness",
    "load",
    "metrics",
    "neighborhoods",
    "partition",
    "plot",
    "price_of_normalization",
    "quality",
    "rectify",
    "refine",
    "report",
    "select",
]

# Estimators need scikit-learn, which takes longer to import than everything else together.
_LATER = {
    "ClassicalScaling": "scaling",
    "CollapsedWarning": "spectral",
    "DiffusionMaps": "spectral",
    "DisconnectedWarning": "embed",
    "DistortionWarning": "linear",
    "GapWarning": "bottom",
    "GreedyProcrustes": "embed",
    "HessianLLE": "spectral",
    "Isomap": "isomap",
    "LTSA": "spectral",
    "LaplacianEigenmaps": "spectral",
    "LocallyLinearEmbedding": "spectral",
    "ModifiedLLE": "spectral",
    "NotEuclideanWarning": "scaling",
    "NotFlatWarning": "embed",
    "PCA": "linear",
    "ProcrustesAlignment": "align",
    "RandomProjection": "linear",
    "WithNeighbors": "pipeline",
    "Seam": "cut",
    "load": "models",
}


_MODULES_LATER = ("dask", "partition")


def __getattr__(name: str) -> Any:
    """Import what is imported when it is first used."""
    if name in _MODULES_LATER:
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return all names, also of what has not been imported yet."""
    return sorted(__all__)
