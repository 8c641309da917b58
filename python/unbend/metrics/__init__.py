"""How faithful an embedding is, in every measure that people use.

The Procrustes measures of Goldberg & Ritov (2009) and their overlap, and the measures of Zhang, Ren & Zhang
that let every coordinate be rescaled; and by ranks among neighbours, trustworthiness and its relatives.
"""

from .faithful import Faithfulness, faithfulness, lower_bound, procrustes
from .folds import overlap
from .nieqa import asim, nieqa_local
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

__all__ = [
    "Faithfulness",
    "Ranks",
    "agreement_rate",
    "asim",
    "continuity",
    "coranking_matrix",
    "faithfulness",
    "lcmc",
    "lower_bound",
    "mrre",
    "nieqa_local",
    "overlap",
    "procrustes",
    "q_nx",
    "r_nx",
    "rand_index",
    "ranks",
    "trustworthiness",
]
