"""Flatten manifolds without stretching them, and measure how faithful any embedding is.

Examples
--------
>>> import unbend as ub
>>> X, _ = ub.datasets.swiss_roll(1000, random_state=0)
>>> psa = ub.ProcrustesAlignment().fit(X)
>>> psa.embedding_.shape, psa.verdict_.trusted
((1000, 2), True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import anndata, datasets, metrics, plot
from .choose.dimension import Dimension, dimension
from .choose.price import Price, Verdict, price_of_normalization
from .choose.selection import Candidate, Grid, Selection, select
from .core.progress import Stopped
from .fit.refine import Refinement, RefinementInterrupted, refine
from .fit.spectral.rectify import Rectification, rectify
from .graph.areas import point_areas
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
    from .estimators.linear.split import SplitScaling
    from .estimators.models import load
    from .estimators.on_graph import DisconnectedWarning
    from .estimators.pipeline import WithNeighbors
    from .estimators.procrustes import ProcrustesAlignment
    from .estimators.spectral.graph_scaling import GraphScaling
    from .estimators.spectral.isomap import Isomap
    from .estimators.spectral.normalized import (
        LTSA,
        DiffusionMaps,
        HessianLLE,
        LaplacianEigenmaps,
        LocallyLinearEmbedding,
        ModifiedLLE,
    )
    from .estimators.spectral.riemannian import RiemannianLearning
    from .estimators.spectral.successive import SuccessiveEigenmaps
    from .estimators.spectral.unfolding import MaximumVarianceUnfolding
    from .fit.cut import Seam
    from .fit.procrustes import NotFlatWarning
    from .fit.scaling.ambiguity import Ambiguity
    from .fit.scaling.paths import TriangleInequalities
    from .fit.scaling.verdict import ScalingVerdict
    from .fit.spectral.eigenvectors import GapWarning
    from .fit.spectral.normalized import CollapsedWarning
    from .fit.trust.verdict import FitVerdict, UntrustedWarning
    from .mesh.files import read_mesh, write_mesh
    from .mesh.flatten import Flattening, flatten
    from .mesh.measures import MeshDistortion, distortion

__all__ = [
    "Alignment",
    "Ambiguity",
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
    "Flattening",
    "GapWarning",
    "GraphScaling",
    "GreedyProcrustes",
    "Grid",
    "HessianLLE",
    "Isomap",
    "LTSA",
    "LaplacianEigenmaps",
    "LocallyLinearEmbedding",
    "MaximumVarianceUnfolding",
    "MeshDistortion",
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
    "RiemannianLearning",
    "ScalingVerdict",
    "Seam",
    "Selection",
    "SplitScaling",
    "Stopped",
    "SuccessiveEigenmaps",
    "Transform",
    "TriangleInequalities",
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
    "distortion",
    "faithfulness",
    "flatten",
    "load",
    "metrics",
    "neighborhoods",
    "partition",
    "plot",
    "point_areas",
    "price_of_normalization",
    "quality",
    "read_mesh",
    "rectify",
    "refine",
    "report",
    "select",
    "uncertainty",
    "write_mesh",
]

# Estimators need scikit-learn, and others scipy, which take longer to import than everything else together.
_LATER = {
    "Ambiguity": "fit.scaling.ambiguity",
    "Alignment": "consensus.alignment",
    "ClassicalScaling": "estimators.linear.scaling",
    "CollapsedWarning": "fit.spectral.normalized",
    "DiffusionMaps": "estimators.spectral.normalized",
    "DisconnectedWarning": "estimators.on_graph",
    "DistortionWarning": "estimators.linear.projection",
    "EqualPointsWarning": "estimators.base",
    "FitVerdict": "fit.trust.verdict",
    "GapWarning": "fit.spectral.eigenvectors",
    "GraphScaling": "estimators.spectral.graph_scaling",
    "GreedyProcrustes": "estimators.greedy",
    "HessianLLE": "estimators.spectral.normalized",
    "Isomap": "estimators.spectral.isomap",
    "LTSA": "estimators.spectral.normalized",
    "LaplacianEigenmaps": "estimators.spectral.normalized",
    "LocallyLinearEmbedding": "estimators.spectral.normalized",
    "MaximumVarianceUnfolding": "estimators.spectral.unfolding",
    "ModifiedLLE": "estimators.spectral.normalized",
    "NotEuclideanWarning": "estimators.linear.scaling",
    "NotFlatWarning": "fit.procrustes",
    "PCA": "estimators.linear.pca",
    "ProcrustesAlignment": "estimators.procrustes",
    "RandomProjection": "estimators.linear.projection",
    "RiemannianLearning": "estimators.spectral.riemannian",
    "SplitScaling": "estimators.linear.split",
    "SuccessiveEigenmaps": "estimators.spectral.successive",
    "ScalingVerdict": "fit.scaling.verdict",
    "Transform": "consensus.transform",
    "TriangleInequalities": "fit.scaling.paths",
    "Uncertainty": "covariance.bootstrap",
    "UntrustedWarning": "fit.trust.verdict",
    "WithNeighbors": "estimators.pipeline",
    "Flattening": "mesh.flatten",
    "MeshDistortion": "mesh.measures",
    "Seam": "fit.cut",
    "distortion": "mesh.measures",
    "flatten": "mesh.flatten",
    "load": "estimators.models",
    "read_mesh": "mesh.files",
    "write_mesh": "mesh.files",
    "align": "consensus.alignment",
    "uncertainty": "covariance.bootstrap",
}


_MODULES_LATER = ("dask", "partition")


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
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
