"""Measures of how faithful an embedding is: of neighborhoods, of ranks and of distances.

Examples
--------
>>> import unbend as ub
>>> X, coordinates = ub.datasets.swiss_roll(500, random_state=0)
>>> ub.metrics.trustworthiness(X, coordinates) > ub.metrics.trustworthiness(X, X[:, :2])
True
"""

from .agreement import MEASURES as AGREEMENT
from .agreement import disagreement
from .distances import MEASURES as DISTANCES
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
from .faithful import MEASURES as PROCRUSTES
from .faithful import Faithfulness, faithfulness, lower_bound, procrustes
from .linear import affine_error, linear_residual
from .nieqa import MEASURES as NIEQA
from .nieqa import asim, nieqa_global, nieqa_local, nieqa_truth
from .overlap import overlap
from .ranks import MEASURES as RANKS
from .ranks import (
    Ranks,
    agreement_rate,
    continuity,
    coranking_matrix,
    lcmc,
    mrre,
    q_nx,
    r_nx,
    rand_index,
    ranks,
    trustworthiness,
)
from .tree import branch_correlation

MEASURES = {**PROCRUSTES, **NIEQA, **RANKS, **AGREEMENT, **DISTANCES}
"""All measures by name, in the order in which they are printed."""

FAMILIES = tuple(dict.fromkeys(measure.family for measure in MEASURES.values()))

# fmt: off
__all__ = [
    "Faithfulness", "Geodesic", "Ranks", "Shepard", "affine_error", "agreement_rate", "asim",
    "branch_correlation", "continuity", "coranking_matrix", "disagreement", "faithfulness", "geodesic",
    "geodesic_stretch", "lcmc", "linear_residual", "lower_bound", "mrre", "nieqa_global", "nieqa_local",
    "nieqa_truth", "overlap", "procrustes", "q_nx", "r_nx", "rand_index", "ranks", "residual_variance", "shepard",
    "spearman", "stress", "trustworthiness",
]
