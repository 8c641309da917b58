"""Flatten manifolds without stretching them, and measure how faithful any embedding is."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from . import datasets, metrics
from .charts import Charts, charts
from .comparison import Comparison, compare
from .diagnostics import Price, Verdict, price_of_normalization
from .metrics import Faithfulness, faithfulness
from .neighbors import Neighborhoods, neighborhoods
from .progress import Stopped
from .quality import Quality, quality
from .rectify import Rectification, rectify
from .refine import Refinement, RefinementInterrupted, refine

if TYPE_CHECKING:
    from .align import ProcrustesAlignment
    from .bottom import GapWarning
    from .cut import Seam
    from .embed import DisconnectedWarning, GreedyProcrustes, NotFlatWarning
    from .isomap import Isomap
    from .linear import PCA, DistortionWarning, RandomProjection
    from .models import load
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
    "Charts",
    "ClassicalScaling",
    "CollapsedWarning",
    "Comparison",
    "DiffusionMaps",
    "DisconnectedWarning",
    "DistortionWarning",
    "Faithfulness",
    "GapWarning",
    "GreedyProcrustes",
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
    "Seam",
    "Stopped",
    "Verdict",
    "__version__",
    "charts",
    "compare",
    "datasets",
    "faithfulness",
    "load",
    "metrics",
    "neighborhoods",
    "price_of_normalization",
    "quality",
    "rectify",
    "refine",
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
    "Seam": "cut",
    "load": "models",
}


def __getattr__(name: str) -> Any:
    """Import what is imported when it is first used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return all names, also of what has not been imported yet."""
    return sorted(__all__)
