"""Beyond memory: data in cells, each embedded alone, then rotated and moved until their overlaps agree."""

from __future__ import annotations

from .embed import embed, faithfulness
from .gather import CellwiseFaithfulness, Partition
from .run import PartWarning

__all__ = ["CellwiseFaithfulness", "PartWarning", "Partition", "embed", "faithfulness"]
