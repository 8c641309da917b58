"""Maps of which some rows show the same points, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..core.arrays import as_points, check_finite

__all__ = ["Correspondences", "Maps", "checked_maps", "correspondences"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

COINCIDENT = 1e-14
"""Points coincide, up to rounding, if their extent is at most this share of their coordinates."""


@dataclass(frozen=True, eq=False)
class Maps:
    """Maps as arrays, and the point and the weight of each of their rows."""

    names: tuple[str, ...]
    coordinates: tuple[Array, ...]  # Shapes (n_i, d). Rows of absent points are NaN.
    ids: npt.NDArray[Any]  # Shape (p,). The different points, sorted.
    points: tuple[Indices, ...]  # Shapes (n_i,). The place of each row's point in `ids`.
    weights: tuple[Array, ...]  # Shapes (n_i,). Nonnegative; 0 for absent points.

    @property
    def n_components(self) -> int:
        """Number of dimensions of the maps."""
        return int(self.coordinates[0].shape[1])


@dataclass(frozen=True, eq=False)
class Correspondences:
    """The rows whose points are in several maps, one map after the other."""

    n_maps: int
    n_points: int
    rows: tuple[Indices, ...]  # The rows of each map that are listed here.
    starts: Indices  # Shape (m + 1,). Where the rows of each map begin.
    point: Indices  # Shape (N,). The point of each row, from 0 to n_points.
    coordinates: Array  # Shape (N, d). Centered in each map, in its unit.
    weight: Array  # Shape (N,).
    center: Array  # Shape (m, d). The mean of the rows of each map.
    unit: Array  # Shape (m,). The length in each map that is 1 in `coordinates`.

    @property
    def map(self) -> Indices:
        """The map of each row."""
        return np.repeat(np.arange(self.n_maps), np.diff(self.starts))

    def split(self, values: Array) -> list[Array]:
        """Return values of all rows as one array for each map."""
        return np.split(values, self.starts[1:-1])


def checked_maps(maps: Any, points: Any, weights: Any) -> Maps:
    """Return maps whose shapes, entries, points and weights fit together."""
    names, sources = _named(maps)
    arrays = tuple(_coordinates(one, f"map {name!r}") for name, one in zip(names, sources, strict=True))
    first = arrays[0].shape[1]
    for name, y in zip(names, arrays, strict=True):
        if y.shape[1] != first:
            raise ValueError(f"map {names[0]!r} has {first} columns, but map {name!r} has {y.shape[1]}")
    ids, inverse = _points_of(points, names, arrays)
    return Maps(names, arrays, ids, inverse, _weights_of(weights, names, arrays))


def correspondences(maps: Maps, needed: int, own_units: bool) -> Correspondences:
    """Return the rows that show points of several maps; refuse maps that they cannot join.

    Each map has a unit of its own if `own_units`, otherwise all have the largest one.
    """
    counts = np.zeros(len(maps.ids), dtype=np.int64)
    for points, weight in zip(maps.points, maps.weights, strict=True):
        counts[points[weight > 0]] += 1
    shared = counts > 1
    number = np.cumsum(shared) - 1
    rows = tuple(
        np.flatnonzero((weight > 0) & shared[points])
        for points, weight in zip(maps.points, maps.weights, strict=True)
    )
    starts = np.concatenate([[0], np.cumsum([len(one) for one in rows])])
    _check_joined(maps, rows)
    _check_counts(maps, rows, needed)
    listed = [y[r] for y, r in zip(maps.coordinates, rows, strict=True)]
    center = np.stack([y.mean(axis=0) for y in listed])
    centered = [y - mean for y, mean in zip(listed, center, strict=True)]
    unit = np.array([np.sqrt((y**2).sum(axis=1).mean()) for y in centered])
    if needed > 1:
        _check_extent(maps.names, unit, np.array([np.abs(y).max() for y in listed]))
    unit[unit == 0] = 1.0
    if not own_units:
        unit[:] = unit.max()
    return Correspondences(
        len(maps.names),
        int(shared.sum()),
        rows,
        starts,
        np.concatenate([number[p[r]] for p, r in zip(maps.points, rows, strict=True)]),
        np.concatenate([y / u for y, u in zip(centered, unit, strict=True)]),
        np.concatenate([w[r] for w, r in zip(maps.weights, rows, strict=True)]),
        center,
        unit,
    )


def _check_joined(maps: Maps, rows: tuple[Indices, ...]) -> None:
    """Refuse maps that fall into groups without common points."""
    m = len(maps.names)
    ends = (
        np.repeat(np.arange(m), [len(r) for r in rows]),
        m + np.concatenate([p[r] for p, r in zip(maps.points, rows, strict=True)]),
    )
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(m + len(maps.ids),) * 2)
    labels = connected_components(graph, directed=False)[1][:m]
    if labels.any():
        groups = [
            ", ".join(repr(name) for name, own in zip(maps.names, labels == label, strict=True) if own)
            for label in np.unique(labels)
        ]
        raise ValueError(
            f"the maps fall into {len(groups)} groups that share no points, {' | '.join(groups)}: align each "
            "group by itself, or give maps or points that join them"
        )


def _check_counts(maps: Maps, rows: tuple[Indices, ...], needed: int) -> None:
    """Refuse maps that share too few points with the others."""
    d = maps.n_components
    for name, size in zip(maps.names, map(len, rows), strict=True):
        if size < needed:
            raise ValueError(
                f"map {name!r} shares {size} point{'s' * (size != 1)} with the other maps, but at least {needed} "
                f"are needed to place it in {d} dimension{'s' * (d != 1)}: give more common points"
                + ", or set reflections=False"
                * (needed == d + 1 and size == d > 1)
            )


def _check_extent(names: tuple[str, ...], extent: Array, magnitude: Array) -> None:
    """Refuse maps whose common points lie on one place, up to rounding."""
    for name, own, largest in zip(names, extent, magnitude, strict=True):
        if own <= COINCIDENT * largest:
            raise ValueError(
                f"the points that map {name!r} shares with the other maps lie within {own:.2g} of one place, at "
                f"coordinates of up to {largest:.2g}, so they do not determine how it is rotated: give common "
                "points in general position"
            )


def _named(maps: Any) -> tuple[tuple[str, ...], list[Any]]:
    if isinstance(maps, Mapping):
        names, sources = tuple(map(str, maps)), list(maps.values())
    elif isinstance(maps, Sequence) and not isinstance(maps, str):
        names, sources = tuple(map(str, range(len(maps)))), list(maps)
    else:
        raise ValueError(f"maps is a {type(maps).__name__}: give a list or a dict of maps")
    if len(sources) < 2:
        raise ValueError(f"maps holds {len(sources)} map{'s' * (len(sources) != 1)}: at least 2 are needed")
    return names, sources


def _coordinates(source: Any, name: str) -> Array:
    """Return the rows of a map; an absent point is a row of NaN."""
    y = np.array(as_points(getattr(source, "embedding_", source), name), dtype=np.float64)
    if 0 in y.shape:
        raise ValueError(f"{name} is empty: it has shape {y.shape}")
    absent = np.isnan(y).all(axis=1)
    y[absent] = 0.0
    check_finite(y, name)
    y[absent] = np.nan
    return y


def _for_each_map(value: Any, names: tuple[str, ...], what: str) -> list[Any]:
    """Return the entries of a list or a dict, in the order of the maps."""
    if isinstance(value, Mapping):
        value = {str(name): entry for name, entry in value.items()}
        lacking = [name for name in names if name not in value]
        if lacking:
            raise ValueError(f"{what} has no entry for map {lacking[0]!r}")
        return [value[name] for name in names]
    entries = list(value)
    if len(entries) != len(names):
        raise ValueError(f"{what} has {len(entries)} entries, but there are {len(names)} maps")
    return entries


def _points_of(
    points: Any, names: tuple[str, ...], maps: tuple[Array, ...]
) -> tuple[npt.NDArray[Any], tuple[Indices, ...]]:
    if points is None:
        for name, y in zip(names, maps, strict=True):
            if len(y) != len(maps[0]):
                raise ValueError(
                    f"map {names[0]!r} has {len(maps[0])} rows, but map {name!r} has {len(y)}: give points, the "
                    "index of the point in each row (--id at the prompt)"
                )
        every = np.arange(len(maps[0]))
        return every, (every,) * len(maps)
    listed = [np.asarray(one) for one in _for_each_map(points, names, "points")]
    for name, y, own in zip(names, maps, listed, strict=True):
        _check_points(own, len(y), name)
    kinds = {"text" if own.dtype.kind in "US" else "integers" for own in listed}
    if len(kinds) > 1:
        raise ValueError("points are integers in some maps and text in others: give one kind for all")
    ids, inverse = np.unique(np.concatenate(listed), return_inverse=True)
    return ids, tuple(np.split(inverse.ravel(), np.cumsum([len(own) for own in listed])[:-1]))


def _check_points(own: npt.NDArray[Any], n_rows: int, name: str) -> None:
    if own.shape != (n_rows,):
        raise ValueError(f"points of map {name!r} have shape {own.shape}, but the map has {n_rows} rows")
    if own.dtype.kind not in "iuUS":
        raise ValueError(f"points of map {name!r} have dtype {own.dtype}: integers or text are needed")
    values, counts = np.unique(own, return_counts=True)
    if len(values) < n_rows:
        twice = values[counts > 1][0]
        raise ValueError(
            f"points of map {name!r} name {twice} in {counts.max()} rows: each needs a row of its own"
        )


def _weights_of(weights: Any, names: tuple[str, ...], maps: tuple[Array, ...]) -> tuple[Array, ...]:
    listed = [1.0] * len(maps) if weights is None else _for_each_map(weights, names, "weights")
    made = []
    for name, y, own in zip(names, maps, listed, strict=True):
        given = np.asarray(own, dtype=np.float64)
        if given.shape not in ((), (len(y),)):
            raise ValueError(
                f"weights of map {name!r} have shape {given.shape}: give one number, or {len(y)}, one for each row"
            )
        if not (np.isfinite(given).all() and (given >= 0).all()):
            raise ValueError(
                f"weights of map {name!r} hold {given.min()}: they must be at least 0 and finite"
            )
        made.append(np.where(np.isnan(y[:, 0]), 0.0, given))
    return tuple(made)
