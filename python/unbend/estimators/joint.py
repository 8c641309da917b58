"""Input of a fit besides its points: weights, groups, ties between points, and known places."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.arrays import Matrix
from ..core.caller import warn
from ..core.kinds import Kind
from ..core.memory import Sizes
from ..core.parameters import entries, table
from ..fit.bonds import Bonds, Pins, Ties
from ..fit.problem import Array, DisconnectedWarning, Indices
from ..graph.groups import group_numbers, set_apart
from ..metrics.sampling import sample_weights

__all__ = ["FIT", "Joint"]

FIT = table(
    *entries(
        """
        sample_weight : array-like of shape (n,)
            Weight of the neighborhood of each point in eq. 11, in refinement and in `faithfulness_`, above 0;
            only their ratios count. Raise it where the data are good. All count equally by default.
        groups : array-like of shape (n,)
            Label of the slice or batch of each point. Neighbors are searched within groups only, so each group
            may lie anywhere in space. Join groups by `ties`.
        ties : array-like of shape (m, 2) or (m, 3)
            Pairs (i, j) of points that should come out in the same place, with a weight or without. A tie adds
            its weight times the squared distance of the two to eq. 11; with weight 1, the default, it counts as
            much as the neighborhoods that hold a usual point. Lower it if points move between groups; with
            weight 0, ties only rotate, reflect and shift groups, and each keeps the shape of a fit of its own.
            A pair that is given twice counts twice. A group needs d + 1 tied points in general position; with
            fewer it may be turned or mirrored, and a :class:`DisconnectedWarning` is issued.
        fixed : tuple of arrays
            Points with known places: their indices, and their coordinates, of shape (m, d). They do not move,
            unless you add a third entry, one weight or m of them: then a point gives way, and its weight is that
            of a tie to its place.
        """,
        fixed=Kind(""),
    )
)


@dataclass(frozen=True, eq=False)
class Joint:
    """Weights, groups and bonds of the points of a fit, checked."""

    weights: Array | None = field(default=None, repr=False)
    groups: Indices | None = field(default=None, repr=False)
    bonds: Bonds | None = None
    names: Any = field(default=None, repr=False)  # The label of the group of each point.

    @classmethod
    def of(
        cls,
        n: int,
        d: int,
        k: int,
        *,
        refine: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        ties: Any = None,
        fixed: Any = None,
    ) -> Joint:
        """Check what is given for `n` points, embedded in `d` dimensions from at most `k` neighbors of each."""
        found_ties = None if ties is None else Ties.of(ties, n)
        pins = None if fixed is None else Pins.of(fixed, n, d)
        bonds = None if found_ties is None and pins is None else Bonds(pins, found_ties)
        if bonds is not None and bonds.are_soft and refine in ("pointwise", "paper"):
            raise ValueError(
                f"refine = {refine!r} does not go with ties or weights of fixed: set refine = 'global'"
            )
        numbers = None if groups is None else group_numbers(groups, n, k)
        names = None if numbers is None else np.asarray(groups)
        return cls(sample_weights(sample_weight, n), numbers, bonds, names)

    def set_apart(self, x: Matrix) -> Matrix:
        """Return points with their groups far from each other."""
        return x if self.groups is None else set_apart(x, self.groups)

    def sized(self, sizes: Sizes) -> Sizes:
        """Return the sizes of a fit with those of its groups and bonds."""
        sizes = replace(sizes, grouped=self.groups is not None)
        return sizes if self.bonds is None else replace(sizes, bound=True, terms=self.bonds.n_terms)

    def warn_of_loose(self, y: Array, labels: Indices) -> None:
        """Warn if ties and fixed points leave some components `labels` of an embedding free to turn."""
        loose = [] if self.bonds is None else self.bonds.loose(y, labels)
        if not loose:
            return
        body, needed = loose[0], y.shape[1] + 1
        name = (
            f"the component of point {body.first:,}"
            if self.names is None
            else f"group {self.names[body.first]}"
        )
        more = f", and so may {len(loose) - 1:,} other{'s' * (len(loose) > 2)}" if len(loose) > 1 else ""
        warn(
            f"{name} ({body.size:,} points) is held at {body.n_held} point{'s' * (body.n_held > 1)} in general "
            f"position by ties and fixed points, but {needed} are needed in {y.shape[1]} "
            f"dimension{'s' * (y.shape[1] > 1)}: it may be turned or mirrored{more}",
            DisconnectedWarning,
        )
