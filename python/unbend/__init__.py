"""Flatten manifolds without stretching them, and measure how faithful any embedding is."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import anndata, datasets, metrics, plot
from .choose.dimension import Dimension, dimension
from .choose.price import Price, Verdict, price_of_normalization
from .choose.selection import Candidate, Grid, Selection, select
from .core.progress import Stopped
from .fit.refine import Refinement, RefinementInterrupted, refine
from .fit.spectral.rectify import Rectification, rectify
from .graph.charts import Charts, charts
from .graph.clean import CleanGraph, clean
from .graph.neighbors import Neighborhoods, neighborhoods
from .judge.comparison import Comparison, compare
from .judge.quality import Quality, quality
from .metrics import Faithfulness, faithfulness
from .report import Report, report

if TYPE_CHECKING:
    from .consensus.alignment import Alignment, align
    from .consensus.transform import Transform
    from .covariance.bootstrap import Uncertainty, uncertainty
    from .estimators.base import EqualPointsWarning
    from .estimators.greedy import GreedyProcrustes
    from .estimators.linear.pca import PCA
    from .estimators.linear.projection import DistortionWarning, RandomProjection
    from .estimators.linear.scaling import ClassicalScaling, NotEuclideanWarning
    from .estimators.models import load
    from .estimators.on_graph import DisconnectedWarning
    from .estimators.pipeline import WithNeighbors
    from .estimators.procrustes import ProcrustesAlignment
    from .estimators.spectral.isomap import Isomap
    from .estimators.spectral.normalized import (
        LTSA,
        DiffusionMaps,
        HessianLLE,
        LaplacianEigenmaps,
        LocallyLinearEmbedding,
        ModifiedLLE,
    )
    from .fit.cut import Seam
    from .fit.procrustes import NotFlatWarning
    from .fit.spectral.eigenvectors import GapWarning
    from .fit.spectral.normalized import CollapsedWarning
    from .fit.trust.verdict import FitVerdict, UntrustedWarning

__all__ = [
    "Alignment",
    "Candidate",
    "Charts",
    "ClassicalScaling",
    "CleanGraph",
    "CollapsedWarning",
    "Comparison",
    "DiffusionMaps",
    "Dimension",
    "DisconnectedWarning",
    "DistortionWarning",
    "EqualPointsWarning",
    "Faithfulness",
    "FitVerdict",
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
    "Transform",
    "Uncertainty",
    "UntrustedWarning",
    "Verdict",
    "WithNeighbors",
    "__version__",
    "align",
    "anndata",
    "charts",
    "clean",
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
    "uncertainty",
]

# Estimators need scikit-learn, and others scipy, which take longer to import than everything else together.
_LATER = {
    "Alignment": "consensus.alignment",
    "ClassicalScaling": "estimators.linear.scaling",
    "CollapsedWarning": "fit.spectral.normalized",
    "DiffusionMaps": "estimators.spectral.normalized",
    "DisconnectedWarning": "estimators.on_graph",
    "DistortionWarning": "estimators.linear.projection",
    "EqualPointsWarning": "estimators.base",
    "FitVerdict": "fit.trust.verdict",
    "GapWarning": "fit.spectral.eigenvectors",
    "GreedyProcrustes": "estimators.greedy",
    "HessianLLE": "estimators.spectral.normalized",
    "Isomap": "estimators.spectral.isomap",
    "LTSA": "estimators.spectral.normalized",
    "LaplacianEigenmaps": "estimators.spectral.normalized",
    "LocallyLinearEmbedding": "estimators.spectral.normalized",
    "ModifiedLLE": "estimators.spectral.normalized",
    "NotEuclideanWarning": "estimators.linear.scaling",
    "NotFlatWarning": "fit.procrustes",
    "PCA": "estimators.linear.pca",
    "ProcrustesAlignment": "estimators.procrustes",
    "RandomProjection": "estimators.linear.projection",
    "Transform": "consensus.transform",
    "Uncertainty": "covariance.bootstrap",
    "UntrustedWarning": "fit.trust.verdict",
    "WithNeighbors": "estimators.pipeline",
    "Seam": "fit.cut",
    "align": "consensus.alignment",
    "load": "estimators.models",
    "uncertainty": "covariance.bootstrap",
}


_MODULES_LATER = ("dask", "partition")


def __getattr__(name: str) -> Any:
    """Import what is imported when it is first used."""
    if name == "__version__":  # the library that looks it up takes as long to import as half of this package
        from importlib.metadata import version

        return version("unbend")
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
