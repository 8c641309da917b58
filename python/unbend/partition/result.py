"""What comes of a partition."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["CellwiseFaithfulness", "Partition"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CellwiseFaithfulness:
    """The Procrustes measures of an embedding, found cell by cell; smaller is better, 0 is perfect.

    Every neighbourhood is measured in the cell of its point, and in no other. Where halos hold all neighbours
    the numbers are those of :func:`unbend.faithfulness`, but for the last digit.

    Attributes
    ----------
    r, r_n, r_c, r_pca, lower_bound : float
        As in :class:`unbend.Faithfulness`.
    scale, r_n_scaled : float
        The one factor for the whole embedding that makes R_N least, and R_N after it.
    n_points, n_measured, n_degenerate : int
        Points; neighbourhoods that were measured; those among them left out of the normalised means.
    n_proved : int
        Neighbourhoods of which it is certain that their cell holds all of their points: where these are all,
        cells change nothing.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(4000, random_state=0)
    >>> m = ub.partition.faithfulness(X, coordinates, points_per_cell=2000)
    >>> m.n_measured, m.n_proved
    (4000, 4000)
    """

    r: float
    r_n: float
    r_c: float
    r_pca: float
    lower_bound: float
    scale: float
    r_n_scaled: float
    n_points: int
    n_measured: int
    n_degenerate: int
    n_proved: int


@dataclass(frozen=True, eq=False)
class Partition:
    """An embedding that was made in cells, and how that went.

    Attributes
    ----------
    embedding : ndarray of shape (n, d)
        In units of the data, laid out as estimators do. Mapped from its file if there is one. Points without
        an image are NaN.
    faithfulness : CellwiseFaithfulness
        How faithful it is.
    cell_sizes, held_sizes : ndarray of shape (c,)
        How many points each cell has, and with its halo.
    overlap_error : ndarray
        For each two pieces that share points, in root mean square, how far apart their images were once they
        were aligned, before seams were removed: in units of the data.
    trust : ndarray
        How much each of these overlaps counted, from 0 to 1.
    history : list of float
        The objective of the neighbourhoods in cells and halos before each time that seams were removed; 0
        where frames were not found anew.
    failed : dict
        Cells that could not be embedded, and why.
    n_lost : int
        Points without an image: of such cells, or not finite themselves.
    n_connected_components : int
        Into how many components the cells fall.
    tangent_neighbors : int
        From how many neighbours tangents were found.
    memory : int
        The bytes that were planned for at most.
    timings : dict of float
        Seconds of every stage.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(4000, random_state=0)
    >>> result = ub.partition.embed(X, points_per_cell=2000)
    >>> result.cell_sizes.sum(), result.failed, result.n_lost
    (np.int64(4000), {}, 0)
    """

    embedding: Array = field(repr=False)
    faithfulness: CellwiseFaithfulness
    cell_sizes: npt.NDArray[np.int64] = field(repr=False)
    held_sizes: npt.NDArray[np.int64] = field(repr=False)
    overlap_error: Array = field(repr=False)
    trust: Array = field(repr=False)
    history: list[float]
    failed: dict[int, str]
    n_lost: int
    n_connected_components: int
    tangent_neighbors: int
    memory: int
    timings: dict[str, float]
