"""How faithful an embedding is, in every measure that people use.

The Procrustes measures of Goldberg & Ritov (2009) and their overlap, and the measures of Zhang, Ren & Zhang
that let every coordinate be rescaled.
"""

from .faithful import Faithfulness, faithfulness, lower_bound, procrustes
from .folds import overlap
from .nieqa import asim, nieqa_local

__all__ = [
    "Faithfulness",
    "asim",
    "faithfulness",
    "lower_bound",
    "nieqa_local",
    "overlap",
    "procrustes",
]
