"""How faithful an embedding is, in every measure that people use.

The Procrustes measures of Goldberg & Ritov (2009) and their overlap, the measures of Zhang, Ren & Zhang
that let every coordinate be rescaled, and those that compare distances, along the neighbourhood graph or
straight.
"""

from .distances import (
    Geodesic,
    Shepard,
    geodesic,
    geodesic_stretch,
    residual_variance,
    shepard,
    spearman,
    stress,
)
from .faithful import Faithfulness, faithfulness, lower_bound, procrustes
from .folds import overlap
from .nieqa import asim, nieqa_global, nieqa_local, nieqa_truth

__all__ = [
    "Faithfulness",
    "Geodesic",
    "Shepard",
    "asim",
    "faithfulness",
    "geodesic",
    "geodesic_stretch",
    "lower_bound",
    "nieqa_global",
    "nieqa_local",
    "nieqa_truth",
    "overlap",
    "procrustes",
    "residual_variance",
    "shepard",
    "spearman",
    "stress",
]
