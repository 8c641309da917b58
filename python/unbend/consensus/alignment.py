"""Many embeddings of the same points in one system of coordinates: robust generalized Procrustes analysis.

Gower (1975), Ten Berge (1977) for scales, with weights of Geman & McClure (1987) that follow from the residuals.
Cost: O(n d) memory for n rows of all maps; the time of a round is that of :mod:`unbend.consensus.motions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from ..core.caller import warn
from ..core.kinds import boolean
from ..core.notebook import Rows, as_html
from ..core.parameters import documented, entries, table
from .correspondences import Array, Correspondences, Indices, Maps, checked_maps, correspondences
from .motions import Freedom, Motions, check_determined, consensus_of, fitted_motions
from .transform import Transform

__all__ = ["Alignment", "align"]

MAX_ROUNDS, WEIGHT_TOL = 200, 1e-7
"""Maximum number of times that correspondences are weighted again, and the change of weights to stop at."""

SUSPECT = 4.0
"""A correspondence is suspect, and has a quarter of its weight, at this multiple of the usual residual."""

LEAST_WEIGHT = 1e-9
"""Minimum share of its weight that a correspondence keeps, so that every map has a place."""

ROUNDING = 1e-9
"""Residuals below this share of the extent of the common points are rounding."""

_TABLE = table(
    *entries(
        """
        maps : sequence or mapping of array-like of shape (n_i, d)
            Embeddings from any tools, with the same number of columns: a list, or a dict from names. Fitted
            estimators are read as their `embedding_`. A row of NaN is a point that is absent.
        points : sequence or mapping of array-like of shape (n_i,)
            Index or name of the point in each row of each map. Rows with the same index show the same point;
            other rows are carried along. By default, row i of every map is point i.
        weights : sequence or mapping of float or array-like of shape (n_i,)
            Weight of each map, or of each of its rows. A row of weight 0 is carried along. All weights are 1
            by default.
        reference : int or str, default 0
            Index or name of the map that stays where it is. The choice does not change how the maps lie
            relative to each other.
        scale
            If True, every map gets a factor for its lengths as well. Set it for tools that do not keep the
            unit of the data.
        reflections
            If True, maps may be reflected. Set it to False if their orientation is known to agree.
        robust
            If True, correspondences whose residuals are far larger than usual lose their weight. If False,
            all keep it, as in classical Procrustes analysis.
        """,
        scale=boolean,
        reflections=boolean,
        robust=boolean,
    )
)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Maps in one system of coordinates, with the consensus and how well they agree.

    `result[name]` is a map by its name or its place.

    Attributes
    ----------
    names : tuple of str
        Name of each map: its key, or its place in the list.
    maps : tuple of ndarray of shape (n_i, d)
        The maps after their transforms, row by row. Rows of absent points are NaN.
    transforms : tuple of Transform
        The transform of each map; it applies to new points of this map as well.
    points : ndarray of shape (p,)
        Index or name of each point of the consensus, sorted.
    consensus : ndarray of shape (p, d)
        Weighted mean of the images of each point; NaN if the point is absent from all maps.
    residuals : tuple of ndarray of shape (n_i,)
        Distance of each row to the consensus; NaN if no other map shows the point.
    point_residuals : ndarray of shape (p,)
        Root mean square distance between the images of each point and its consensus; NaN as above.
    weights : tuple of ndarray of shape (n_i,)
        Share of its weight, from 0 to 1, that each row kept; NaN as above.
    suspects : tuple of ndarray of int
        Rows of each map whose residual is more than four times the usual one, the largest first: their
        correspondences look wrong. If two maps show a point, both of its rows are listed.
    spread : float
        Usual standard deviation of a row about its true place, in each dimension.
    n_iter : int
        Number of rounds.
    converged : bool
        True if the weights no longer changed.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> Y = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = ub.align({"one": Y, "two": Y[20:] @ [[0, 1], [1, 0]] + 5}, points=[range(100), range(20, 100)])
    >>> bool(np.allclose(found["two"], Y[20:])), found.transforms[1].is_reflection
    (True, True)
    """

    names: tuple[str, ...]
    maps: tuple[Array, ...] = field(repr=False)
    transforms: tuple[Transform, ...] = field(repr=False)
    points: npt.NDArray[Any] = field(repr=False)
    consensus: Array = field(repr=False)
    residuals: tuple[Array, ...] = field(repr=False)
    point_residuals: Array = field(repr=False)
    weights: tuple[Array, ...] = field(repr=False)
    suspects: tuple[Indices, ...] = field(repr=False)
    spread: float
    n_iter: int
    converged: bool

    def __getitem__(self, name: str | int) -> Array:
        """Return a map after its transform, by its name or its place."""
        return self.maps[_place(name, self.names, "name")]

    def __len__(self) -> int:
        """Return the number of maps."""
        return len(self.maps)

    def __repr__(self) -> str:
        """Return the size of the alignment in one line."""
        suspects = sum(map(len, self.suspects))
        return (
            f"Alignment({len(self)} maps, {len(self.points):,} points, spread {self.spread:.3g}, "
            f"{suspects:,} suspect rows)"
        )

    def _repr_html_(self) -> str:
        """Return a table of the maps for a notebook."""
        d, common = self.consensus.shape[1], int(np.isfinite(self.point_residuals).sum())
        extent = (
            f"{len(self)} maps of {len(self.points):,} points in {d} dimensions; {common:,} points are in "
            f"several maps. The usual error of a coordinate is {self.spread:.3g}."
        )
        heads = ("map", "rows", "common", "scale", "reflected", "median residual", "suspect")
        return as_html(extent, Rows(heads, [self._row(i) for i in range(len(self))], "<>>><>>"))

    def _row(self, i: int) -> tuple[str, ...]:
        known = self.residuals[i][np.isfinite(self.residuals[i])]
        transform = self.transforms[i]
        return (
            self.names[i],
            f"{len(self.maps[i]):,}",
            f"{len(known):,}",
            f"{transform.scale:.4g}",
            "yes" if transform.is_reflection else "no",
            f"{np.median(known):.3g}",
            f"{len(self.suspects[i]):,}",
        )


@documented(_TABLE)
def align(
    maps: Any,
    *,
    points: Any = None,
    weights: Any = None,
    reference: int | str = 0,
    scale: bool = False,
    reflections: bool = True,
    robust: bool = True,
) -> Alignment:
    """Bring several embeddings of the same points, or of some common points, into one system of coordinates.

    Every map is rotated and translated, and scaled and reflected if you allow it, so that the images of each
    point lie closest to their weighted mean, the consensus. Maps need not have all points: it is enough that
    they are joined by common points, directly or through other maps. Correspondences that contradict the others
    lose their weight. The scale of the residuals that decides this comes from the data.

    Returns
    -------
    Alignment
        The maps after their transforms, the transforms, the consensus and the residuals.

    Raises
    ------
    ValueError
        If maps share no points, or too few to determine how one of them lies.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> X, Y = ub.datasets.swiss_roll(1000, random_state=0)
    >>> early, late = np.arange(0, 700), np.arange(500, 1000)
    >>> mirrored = Y[late] @ [[0, 1], [1, 0]]
    >>> found = ub.align([Y[early], mirrored], points=[early, late])
    >>> bool(np.allclose(found[1], Y[late])), found.consensus.shape
    (True, (1000, 2))
    """
    for name, value in {"scale": scale, "reflections": reflections, "robust": robust}.items():
        _TABLE[""][name].check(value)
    found = checked_maps(maps, points, weights)
    freedom = Freedom(scale, reflections, _place(reference, found.names, "reference"))
    needed = max(found.n_components + reflections, 1 + scale)
    rows = correspondences(found, needed, own_units=scale)
    fit = _fitted(rows, freedom, robust, found.names)
    return _result(found, rows, fit, freedom)


def _place(name: int | str, names: tuple[str, ...], what: str) -> int:
    """Return the place of a map that is given by its name or its place."""
    if isinstance(name, str) and name in names:
        return names.index(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and -len(names) <= name < len(names):
        return int(name) % len(names)
    known = ", ".join(map(repr, names))
    raise ValueError(f"{what} = {name!r} is no map: use 0 to {len(names) - 1}, or one of {known}")


@dataclass(frozen=True, eq=False)
class _Fit:
    motions: Motions
    residual: Array  # Shape (N,).
    kept: Array  # Shape (N,). Share of the weight of each row.
    spread: float
    n_iter: int
    converged: bool


def _fitted(rows: Correspondences, freedom: Freedom, robust: bool, names: tuple[str, ...]) -> _Fit:
    """Return the motions; with weights that follow from the residuals if `robust`."""
    kept = np.ones(len(rows.weight))
    motions: Any = None
    for step in range(1, MAX_ROUNDS + 1):
        weight = rows.weight * (kept if robust else 1.0)
        motions, quadratic = fitted_motions(rows, weight, freedom, motions)
        if step == 1:
            check_determined(quadratic, motions, freedom, names)
        moved = motions.moved(rows)
        residual = np.linalg.norm(moved - consensus_of(rows, moved, weight)[rows.point], axis=1)
        before, (kept, spread) = kept, _kept(rows, residual)
        converged = not robust or bool(np.abs(kept - before).max() <= WEIGHT_TOL)
        if converged:
            break
    if not converged:
        from sklearn.exceptions import ConvergenceWarning  # scikit-learn takes long to import

        warn(
            f"the weights of correspondences still changed after {MAX_ROUNDS} rounds: look at the residuals, or "
            "set robust=False",
            ConvergenceWarning,
        )
    check_determined(quadratic, motions, freedom, names)
    return _Fit(motions, residual, kept, spread, step, converged)


def _kept(rows: Correspondences, residual: Array) -> tuple[Array, float]:
    """Return the weights of Geman & McClure, and the standard deviation that the usual residual stands for."""
    d, count = rows.coordinates.shape[1], np.bincount(rows.point, minlength=rows.n_points)[rows.point]
    # A mean of few images lies near each of them: the residual of one of two is half their distance.
    squared = residual**2 * count / (count - 1)
    median_of_normal = 2 * float(gammaincinv(d / 2, 0.5))
    spread = max(float(np.sqrt(np.median(squared) / median_of_normal)), ROUNDING)
    return np.maximum((1 + squared / (SUSPECT * spread) ** 2) ** -2.0, LEAST_WEIGHT), spread


def _result(maps: Maps, rows: Correspondences, fit: _Fit, freedom: Freedom) -> Alignment:
    transforms = _transforms(rows, fit.motions, freedom)
    moved = tuple(t.apply(y) for t, y in zip(transforms, maps.coordinates, strict=True))
    unit = rows.unit[freedom.reference]
    sizes = [len(y) for y in moved]
    residuals = _spread_out(rows, unit * fit.residual, sizes)
    weights = _spread_out(rows, fit.kept, sizes)
    suspects = tuple(
        np.flatnonzero(kept <= 0.25)[np.argsort(-r[kept <= 0.25], kind="stable")]
        for r, kept in zip(residuals, weights, strict=True)
    )
    consensus, point_residuals = _summed_up(maps, moved, weights, residuals)
    return Alignment(
        maps.names,
        moved,
        transforms,
        maps.ids,
        consensus,
        residuals,
        point_residuals,
        weights,
        suspects,
        unit * fit.spread,
        fit.n_iter,
        fit.converged,
    )


def _transforms(rows: Correspondences, motions: Motions, freedom: Freedom) -> tuple[Transform, ...]:
    """Return the transforms from the coordinates of the maps to those of the reference."""
    i = freedom.reference
    made = []
    for linear, scale, shift, center, unit in zip(
        motions.linear, motions.scale, motions.translation, rows.center, rows.unit, strict=True
    ):
        rotation = linear / scale
        factor = float(scale * rows.unit[i] / unit) if freedom.scale else 1.0
        origin = rows.center[i] + rows.unit[i] * shift
        made.append(Transform(rotation, origin - factor * (center @ rotation), factor))
    d = rows.center.shape[1]
    made[i] = Transform(np.eye(d), np.zeros(d))
    return tuple(made)


def _spread_out(rows: Correspondences, values: Array, sizes: list[int]) -> tuple[Array, ...]:
    """Return values of the rows with correspondences as arrays of all rows, NaN elsewhere."""
    made = tuple(np.full(size, np.nan) for size in sizes)
    for one, places, own in zip(made, rows.rows, rows.split(values), strict=True):
        one[places] = own
    return made


def _summed_up(
    maps: Maps, moved: tuple[Array, ...], kept: tuple[Array, ...], residuals: tuple[Array, ...]
) -> tuple[Array, Array]:
    """Return the consensus of all points, and the root mean square residual of each."""
    p, d = len(maps.ids), maps.n_components
    total, sums = np.zeros(p), np.zeros((p, d))
    count, squares = np.zeros(p), np.zeros(p)
    for points, y, weight, share, r in zip(maps.points, moved, maps.weights, kept, residuals, strict=True):
        # A point of one map only, and one whose weights are all 0, lies where its maps show it.
        full = np.where(np.isnan(share), np.where(weight > 0, weight, np.finfo(float).tiny), weight * share)
        shown, known = ~np.isnan(y[:, 0]), ~np.isnan(r)
        total[points[shown]] += full[shown]
        sums[points[shown]] += full[shown, None] * y[shown]
        count[points[known]] += 1
        squares[points[known]] += r[known] ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums / total[:, None], np.sqrt(squares / count)
