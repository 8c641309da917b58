"""Cuts of data that cannot lie flat: lay them out from a root, find torn pairs, fit the sheet, and repeat.

The loops over points are in the core, `embed/cut`. A round finds the best frames of the sheet, solves eq. 11 on
it, and judges from the embedding which neighbors are torn, those that were torn before included: so a cut heals
where it is not needed and grows where the sheet is strained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..core.progress import Progress
from ..metrics import Faithfulness
from ..metrics.overlap import OVERLAPPING
from .assembly import solve
from .problem import Array, Flags, Problem

__all__ = ["MAX_RELAYOUTS", "MIN_TORN", "CutPolicy", "Cutter", "NotFlatWarning", "Seam", "Sheet", "Surface"]

TORN_WHEN_LAID, TORN_WHEN_FITTED = 2.5, 2.0
"""Ratios of two neighbors' distance in the embedding to that in the data, or to the usual distance of neighbors,
above which the pair is torn: where points were laid down, and where the sheet was fitted."""

MIN_TORN = 8
"""Least number of torn points or pairs of a cut or a seam; fewer are a gap between points, unless they are far
apart."""

FAR_TORN = 4.0
"""A tear of few points counts if some pair is torn by more than this multiple of the limit."""

MAX_ROUNDS, SETTLED_SHARE, SMALL_GAIN = 20, 0.01, 0.02
"""Rounds end after the first number, or when less than the second share of the torn pairs changed and the
objective fell by less than the third."""

MAX_RELAYOUTS = 4
"""Maximum number of times that overlapping parts of the embedding are laid out again."""

CLOSING_ROUNDS = 5
"""Number of rounds in which a cut that may not be needed is closed."""

ROUND_CG_STEPS, ROUND_REDUCTION = 30, 1e-2
"""Steps of conjugate gradients in each round, and the reduction of the residual at which they end."""

SEAM_NEIGHBORS = 24
"""Number of nearest neighbors among which seams are searched; more add nothing and take long."""

SUSPICIOUS_RATIO, NEGLIGIBLE_ERROR = 2.0, 1e-3
"""R_N above this multiple of its bound, and by more than the second number, is a reason to compute the overlap."""

FLAT_RATIO, MAX_TORN_SHARE = 1.5, 0.25
"""A cut that is not needed to undo an overlap must bring R_N below this multiple of its bound, and touch at most
this share of the neighborhoods."""

MAX_DIM_KEPT_APART = 3
"""Up to this dimension, parts of the data are laid out so that they do not overlap."""

NAMES = {
    (True, True, 2): "a sphere",
    (True, True, 0): "a torus",
    (True, True, -2): "a torus with two holes",
    (True, False, 1): "a projective plane",
    (True, False, 0): "a Klein bottle",
    (False, True, 1): "a disc",
    (False, True, 0): "a cylinder or a ring",
    (False, False, 0): "a Moebius strip",
}
"""Closed, orientable, Euler characteristic."""


class NotFlatWarning(UserWarning):
    """The data cannot be laid flat without a cut or a fold, and the embedding shows it.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> t, s = np.random.default_rng(0).uniform(-1, 1, size=(2, 2000))
    >>> r = 1 + s / 3 * np.cos(t * np.pi / 2)
    >>> moebius = np.c_[r * np.cos(t * np.pi), r * np.sin(t * np.pi), s / 3 * np.sin(t * np.pi / 2)]
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     psa = ub.ProcrustesAlignment(cut=False).fit(moebius)
    >>> psa.orientable_, ub.NotFlatWarning in [one.category for one in found]
    (False, True)
    """


@dataclass(frozen=True, eq=False)
class Seam:
    """Two arcs of a cut that are one curve of the data.

    Attributes
    ----------
    points, partners : ndarray of int
        The points along one arc, in order, and the points along the other arc that are next to them in the
        data, in the same order.
    reversed : bool
        True if the surface is reflected across the seam: a path that leaves through one arc comes back mirrored
        through the other.
    ends : bool
        True if the cut ends within the sheet, so that a path leads around its end.
    n_pairs : int
        Number of pairs of neighbors that it parts.

    Examples
    --------
    >>> import unbend as ub
    >>> X, _ = ub.datasets.cylinder(800, random_state=0)
    >>> psa = ub.ProcrustesAlignment().fit(X)
    >>> len(psa.seams_), psa.seams_[0].reversed
    (1, False)
    """

    points: npt.NDArray[np.uint32] = field(repr=False)
    partners: npt.NDArray[np.uint32] = field(repr=False)
    reversed: bool
    ends: bool
    n_pairs: int


@dataclass(frozen=True)
class Surface:
    """Kind of the surface that the data lie on, as far as it is known.

    Examples
    --------
    >>> Surface(2, True, False, 0).sentence()
    'closed, non-orientable, Euler characteristic 0: looks like a Klein bottle'
    """

    d: int  # Its dimension.
    closed: bool | None  # True if it has no boundary.
    orientable: bool | None  # True if it has two sides.
    euler: int | None  # Its Euler characteristic.

    @classmethod
    def told(cls, d: int, orientable: bool | None, shape: tuple[int, int] | None) -> Surface:
        """Return the surface with these sides, and with these loops and voids if they are known."""
        if shape is None or d > 2:
            return cls(d, None, orientable, None)
        loops, voids = shape
        if d == 1:
            return cls(d, loops > 0, orientable, None)
        closed, euler = voids > 0, 1 - loops + voids
        possible = voids <= 1 and (euler % 2 == 0 if closed and orientable else orientable or loops > 0)
        return cls(d, closed, orientable, euler if possible and orientable is not None else None)

    def sentence(self) -> str:
        """Return the kind of surface in a few words."""
        if self.d == 1 and self.closed is not None:
            return "closed: looks like a circle" if self.closed else "open: looks like a line"
        sides = None if self.orientable is None else f"{'' if self.orientable else 'non-'}orientable"
        ends = None if self.closed is None else "closed" if self.closed else "open"
        words = ", ".join(word for word in (ends, sides) if word) or "of unknown shape"
        if self.euler is None:
            return words
        words += f", Euler characteristic {self.euler}"
        name = NAMES.get((bool(self.closed), bool(self.orientable), self.euler))
        return words if name is None else f"{words}: looks like {name}"


@dataclass(frozen=True)
class CutPolicy:
    """Rules that decide when to look for a cut, and when to keep it."""

    wanted: Literal["auto"] | bool  # The parameter `cut` of the estimator.
    one_sided: bool = False  # True if the surface has one side only.

    def allows(self, n_components: int) -> bool:
        """Return whether a cut is allowed at all in this number of dimensions."""
        return self.wanted is True or (self.wanted == "auto" and n_components <= MAX_DIM_KEPT_APART)

    def folded(self, m: Faithfulness) -> bool:
        """Return whether an embedding overlaps itself, as far as its measures show it."""
        return self.one_sided or (is_suspicious(m) and m.overlap > OVERLAPPING)

    def needs(self, m: Faithfulness) -> bool:
        """Return whether a cut is needed even if it improves little."""
        return self.wanted is True or self.folded(m)

    def keeps(self, before: Faithfulness, after: Faithfulness, needed: bool) -> bool:
        """Return whether a cut removes an overlap, or makes a bent embedding flat."""
        if self.wanted is True:
            return True
        if needed:
            return after.r_n < before.r_n or after.overlap < before.overlap
        return after.r_n <= FLAT_RATIO * after.lower_bound + 1e-4 and after.cut_share <= MAX_TORN_SHARE


def is_suspicious(m: Faithfulness) -> bool:
    """Return whether R_N is so far above its bound that the overlap must be computed."""
    return m.r_n > SUSPICIOUS_RATIO * m.lower_bound + NEGLIGIBLE_ERROR


@dataclass(frozen=True)
class Sheet:
    """Data that were laid flat: coordinates, and for every neighbor of every point whether a cut parts the two."""

    embedding: Array = field(repr=False)
    torn: Flags = field(repr=False)


@dataclass(frozen=True)
class Cutter:
    """Lays the data of a problem flat, cut where they must be."""

    problem: Problem
    tangents: _core.Tangents = field(repr=False)
    progress: Progress = field(repr=False)

    def unrolled(self) -> Sheet:
        """Lay the data out along shortest paths, and fit the sheet."""
        flat, _, _ = self.tangents.unroll(TORN_WHEN_LAID)
        return self.settled(self._shaped(flat))

    def settled(self, y: Array) -> Sheet:
        """Fit the sheet and find torn pairs in turn, until both stay the same."""
        torn, last = self._judged(y, TORN_WHEN_LAID), math.inf
        for step in range(MAX_ROUNDS):
            if not torn.any():
                break
            self._report(step, MAX_ROUNDS)
            y, value = self._fitted(self.problem.core.sheet(torn), y)
            before, torn = torn, self._judged(y, TORN_WHEN_FITTED)
            changed = np.count_nonzero(before != torn)
            if changed <= SETTLED_SHARE * np.count_nonzero(torn) and value > (1 - SMALL_GAIN) * last:
                break
            last = value
        return Sheet(y, torn)

    def closed(self, y: Array) -> Array:
        """Return a cut embedding closed again: the one that fits all neighborhoods."""
        for step in range(CLOSING_ROUNDS):
            self._report(step, CLOSING_ROUNDS)
            y, _ = self._fitted(self.problem.core, y)
        return y

    def relaid(self, sheet: Sheet) -> tuple[Array, int]:
        """Return the embedding with its overlapping parts laid out again, and the number of their points."""
        laid, taken = self.tangents.relayout(sheet.embedding.ravel(), self._rotations(sheet))
        return self._shaped(laid), taken

    def seams(self, sheet: Sheet) -> list[Seam]:
        """Return the seams of a cut, the longest first."""
        flat, rotations = sheet.embedding.ravel(), self._rotations(sheet)
        found = self.tangents.seams(sheet.torn, flat, rotations, self._min_torn, SEAM_NEIGHBORS)
        return [Seam(**seam) for seam in found]

    @property
    def _min_torn(self) -> int:
        return 1 if self.problem.n_components == 1 else MIN_TORN

    def _report(self, step: int, steps: int) -> None:
        if self.progress.report("cut", step, steps):
            raise _core.Stopped

    def _shaped(self, flat: Array) -> Array:
        return flat.reshape(-1, self.problem.n_components)

    def _judged(self, y: Array, tau: float) -> Flags:
        """Return the pairs that an embedding tears."""
        return self.problem.core.torn(y, tau, self._min_torn, FAR_TORN)

    def _rotations(self, sheet: Sheet) -> Array:
        """Return the best frames of the embedding on its sheet."""
        return self.tangents.frames_of(sheet.embedding.ravel(), sheet.torn)

    def _fitted(self, core: _core.Problem, y: Array) -> tuple[Array, float]:
        """Return the embedding that fits the best frames of `y`, and the objective at `y`."""
        right_hand_side, value = core.frames(y)
        solution = solve(core, right_hand_side, y.ravel(), reduction=ROUND_REDUCTION, max_iter=ROUND_CG_STEPS)
        return self._shaped(solution.embedding), value
