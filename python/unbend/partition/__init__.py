"""Beyond memory: data in cells, each embedded alone, then rotated and moved until their overlaps agree.

Examples
--------
>>> import unbend as ub
>>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
>>> result = ub.partition.embed(X, points_per_cell=1000)
>>> len(result.cell_sizes), result.embedding.shape
(2, (2000, 2))
"""

from __future__ import annotations

from .embed import embed, faithfulness
from .gather import CellwiseFaithfulness, Partition
from .run import PartWarning

__all__ = ["CellwiseFaithfulness", "PartWarning", "Partition", "embed", "faithfulness"]
