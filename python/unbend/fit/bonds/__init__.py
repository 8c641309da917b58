"""Bonds of an embedding besides its neighborhoods: points with known places, and ties between points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .pins import Pins
from .ties import Ties

if TYPE_CHECKING:
    from .loose import LooseBody

__all__ = ["Bonds", "Pins", "Ties"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Bonds:
    """Pins, ties, or both."""

    pins: Pins | None = None
    ties: Ties | None = None

    @property
    def are_soft(self) -> bool:
        """True if eq. 11 has terms for them: if there are ties with a weight, or pins that may give way."""
        return self.n_terms > 0

    @property
    def n_terms(self) -> int:
        """Number of terms that they add to eq. 11."""
        soft_pins = 0 if self.pins is None else int(self.pins.is_soft.sum())
        return soft_pins + (0 if self.ties is None else int((self.ties.weights > 0).sum()))

    def renumbered(self, order: Indices) -> Bonds:
        """Return the bonds of points in another order; `order` holds the former index of each."""
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        pins, ties = self.pins, self.ties
        return Bonds(
            None if pins is None else replace(pins, rows=place[pins.rows]),
            None if ties is None else replace(ties, pairs=place[ties.pairs]),
        )

    def joined(self, labels: Indices) -> Indices:
        """Return the component of each point if ties join the components `labels` of the graph."""
        from .motions import joined  # It imports scipy, which takes long.

        return labels if self.ties is None else joined(labels, self.ties)

    def begun(self, y: Array, labels: Indices) -> tuple[Array, Array]:
        """Return an embedding with its components moved to the pins and to each other, and their rotations.

        The rotations have shape (components, d, d) and multiply rows from the right. Pins that do not give way are
        in their places.
        """
        from .motions import brought_together

        return brought_together(y, labels, self.pins, self.ties)

    def loose(self, y: Array, labels: Indices) -> list[LooseBody]:
        """Return what the bonds leave free to turn, or to be mirrored, in an embedding of components `labels`."""
        from .loose import loose_bodies

        return loose_bodies(y, labels, self.pins, self.ties)
