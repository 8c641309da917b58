"""Computations of all kinds by the public interface, each of about a tenth of a second."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import unbend as ub

Call = Callable[[], Any]

SIDE = 40
"""Vertices along each side of the mesh."""


def calls(names: Iterable[str] | None = None) -> dict[str, Call]:
    """Return some calls, or all. What they need is computed before, and only for these."""
    warnings.simplefilter("ignore")
    table = makers()
    return {name: table[name]() for name in (table if names is None else names)}


def makers() -> dict[str, Callable[[], Call]]:
    """Return a function for each call, which prepares its data and returns it."""
    return {f"{name}.fit": partial(_fit, *made) for name, made in _fits().items()} | {
        **_special_fits(),
        **_of_models(),
        **_of_points(),
        **_of_maps(),
    }


# Data ---------------------------------------------------------------------------------------------------------


@cache
def roll(n: int) -> tuple[Any, Any]:
    """Return a Swiss roll and its true coordinates."""
    return ub.datasets.swiss_roll(n, random_state=0)


@cache
def wide(n: int, q: int) -> Any:
    """Return normally distributed points."""
    return np.random.default_rng(0).normal(size=(n, q))


@cache
def graph(n: int) -> Any:
    """Return the neighborhoods of a Swiss roll."""
    return ub.neighborhoods(roll(n)[0], 10)


@cache
def model() -> Any:
    """Return a fitted estimator."""
    return ub.GreedyProcrustes(n_init=1, random_state=0).fit(roll(1500)[0])


@cache
def distances(n: int, longest: float = np.inf) -> Any:
    """Return the distances of points of the plane, those above `longest` missing, as a sparse matrix then."""
    from scipy.sparse import coo_array
    from scipy.spatial import cKDTree

    points = np.random.default_rng(0).random((n, 2))
    if np.isinf(longest):
        return np.linalg.norm(points[:, None] - points, axis=2)
    pairs = cKDTree(points).query_pairs(longest, output_type="ndarray")
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    return coo_array((lengths, tuple(pairs.T)), shape=(n, n)).tocsr()


@cache
def mesh() -> tuple[Any, Any]:
    """Return the vertices and triangles of a wavy sheet."""
    across = np.stack(np.meshgrid(np.arange(float(SIDE)), np.arange(float(SIDE))), axis=2).reshape(-1, 2)
    corner = (np.arange(SIDE - 1)[:, None] * SIDE + np.arange(SIDE - 1)).reshape(-1)
    halves = ((corner, corner + 1, corner + SIDE + 1), (corner, corner + SIDE + 1, corner + SIDE))
    faces = np.concatenate([np.stack(half, axis=1) for half in halves])
    return np.column_stack([across, np.sin(across[:, 0])]), faces


# Calls --------------------------------------------------------------------------------------------------------


def _fit(estimator: Any, data: Callable[[], Any], **options: Any) -> Call:
    from sklearn.base import clone

    points = data()
    return lambda: clone(estimator).fit(points, **options)


def _fits() -> dict[str, tuple[Any, Callable[[], Any]]]:
    """Return estimators, and what makes their data."""
    x, many = (lambda: roll(1500)[0]), (lambda: roll(8000)[0])
    spectral = ("LocallyLinearEmbedding", "ModifiedLLE", "LTSA", "HessianLLE", "LaplacianEigenmaps")
    return {
        "ProcrustesAlignment": (ub.ProcrustesAlignment(random_state=0), x),
        "GreedyProcrustes": (ub.GreedyProcrustes(random_state=0), x),
        "GreedyProcrustes, cut": (ub.GreedyProcrustes(cut=True, random_state=0), x),
        "ProcrustesAlignment, from distances": (
            ub.ProcrustesAlignment(metric="precomputed", random_state=0),
            lambda: distances(400, 0.11),
        ),
        "GreedyProcrustes, from distances": (
            ub.GreedyProcrustes(metric="precomputed", random_state=0),
            lambda: distances(700),
        ),
        "GraphScaling": (ub.GraphScaling(), lambda: distances(200, 0.18)),
        "Isomap": (ub.Isomap(), lambda: roll(900)[0]),
        "Isomap, landmarks": (ub.Isomap(n_landmarks=100), x),
        **{name: (getattr(ub, name)(), many) for name in (*spectral, "DiffusionMaps")},
        "PCA": (ub.PCA(), lambda: wide(1500, 200)),
        "ClassicalScaling": (ub.ClassicalScaling(), lambda: wide(1000, 100)),
        "RandomProjection": (ub.RandomProjection(n_components=200), lambda: np.tile(wide(2500, 40), (4, 10))),
        "SplitScaling": (ub.SplitScaling(), lambda: distances(300)),
        "SuccessiveEigenmaps": (ub.SuccessiveEigenmaps(), lambda: roll(800)[0]),
        "RiemannianLearning": (ub.RiemannianLearning(), x),
    }


def _special_fits() -> dict[str, Callable[[], Call]]:
    """Return fits of groups in one map, and what is done with fitted estimators."""
    return {
        "ProcrustesAlignment.fit, groups": _joint,
        "ProcrustesAlignment.update": _update,
        "uncertainty": lambda: partial(
            ub.uncertainty, ub.GreedyProcrustes(n_init=1, random_state=0).fit(roll(200)[0]), n_replicates=3
        ),
    }


def _joint() -> Call:
    """Two slices of a process, with ties between their points."""
    x, rows = roll(1000)[0], np.arange(0, 1000, 10)
    both, groups = np.concatenate([x, x[:, ::-1] + 50.0]), np.repeat(range(2), 1000)
    ties = np.stack([rows, rows + 1000, np.zeros(len(rows))], axis=1)
    return _fit(ub.ProcrustesAlignment(random_state=0), lambda: both, groups=groups, ties=ties)


def _update() -> Call:
    """An update of a copy, so that each call adds to the same map."""
    from copy import copy

    x, truth = roll(2000)
    x = x[np.argsort(truth[:, 0])]  # The new points lie beyond the old ones.
    fitted = ub.ProcrustesAlignment(random_state=0).fit(x[:1700])
    return lambda: copy(fitted).update(x[1700:])


def _of_models() -> dict[str, Callable[[], Call]]:
    return {
        "GreedyProcrustes.transform": lambda: partial(model().transform, roll(100_000)[0]),
        "GreedyProcrustes.inverse_transform": lambda: partial(model().inverse_transform, roll(100_000)[1]),
        "GreedyProcrustes.save and load": lambda: partial(_saved, model()),
    }


def _of_points() -> dict[str, Callable[[], Call]]:
    """Return what has no embedding."""
    large, cloud = (lambda: roll(100_000)[0]), (lambda: wide(8000, 40))
    return {
        "neighborhoods": lambda: partial(ub.neighborhoods, large(), 12),
        "neighborhoods of wide data": lambda: partial(ub.neighborhoods, cloud(), 12),
        "neighborhoods, approximate": lambda: partial(
            ub.neighborhoods, wide(2500, 40), 12, method="approximate"
        ),
        "neighborhoods, radius": lambda: partial(ub.neighborhoods, large(), radius=0.4),
        "charts": lambda: partial(ub.charts, large(), 2, neighborhoods=graph(100_000)),
        "clean": lambda: partial(ub.clean, roll(12_000)[0], 2),
        "dimension": lambda: partial(ub.dimension, roll(40_000)[0]),
        "price_of_normalization": lambda: partial(ub.price_of_normalization, roll(1500)[0]),
        "select": lambda: partial(ub.select, roll(250)[0], [8], [2], ["gp"]),
        "metrics.lower_bound": lambda: partial(
            ub.metrics.lower_bound, large(), 2, neighborhoods=graph(100_000)
        ),
        "flatten": lambda: partial(ub.flatten, *mesh()),
        "datasets.swiss_roll": lambda: partial(ub.datasets.swiss_roll, 400_000, random_state=0),
    }


def _of_maps() -> dict[str, Callable[[], Call]]:
    """Return what measures embeddings, or changes them."""
    few, some, large = partial(roll, 400), partial(roll, 1500), partial(roll, 100_000)
    return {
        "faithfulness": lambda: partial(ub.faithfulness, *large()),
        "refine": _refined,
        "refine, barrier": _walled,
        "rectify": lambda: partial(
            ub.rectify, roll(30_000)[0], roll(30_000)[1] * [1.0, 3.0], neighborhoods=graph(30_000)
        ),
        "quality": lambda: partial(ub.quality, *few()),
        "compare": lambda: partial(ub.compare, few()[0], {"a": few()[1], "b": few()[0][:, :2]}),
        "report": lambda: partial(_reported, *few()),
        "align": _aligned,
        "metrics.ranks": lambda: partial(ub.metrics.ranks, roll(8000)[0], roll(8000)[0][:, :2], 12),
        "metrics.geodesic": lambda: partial(ub.metrics.geodesic, *some(), neighborhoods=graph(1500)),
        "metrics.shepard": lambda: partial(ub.metrics.shepard, *large(), n_pairs=500_000),
        "metrics.nieqa_local": lambda: partial(ub.metrics.nieqa_local, *large()),
        "partition.embed": lambda: partial(
            ub.partition.embed, roll(600)[0], points_per_cell=250, method="gp"
        ),
        "partition.faithfulness": lambda: partial(ub.partition.faithfulness, *some(), points_per_cell=500),
    }


def _refined() -> Call:
    x, y = roll(1500)
    return partial(ub.refine, x, y + 0.3 * np.sin(3 * y), neighborhoods=graph(1500))


def _walled() -> Call:
    """Refine a map of a mesh; no step turns a triangle over."""
    vertices, faces = mesh()
    start = vertices[:, :2] + 0.3 * np.random.default_rng(0).normal(size=(len(vertices), 2))
    rings = ub.Neighborhoods.from_mesh(faces)
    return partial(ub.refine, vertices, start, neighborhoods=rings, barrier=faces)


def _aligned() -> Call:
    maps = {}
    for name, angle in (("a", 0.0), ("b", 1.0), ("c", 2.0)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        maps[name] = roll(50_000)[1] @ turn
    return partial(ub.align, maps)


def _saved(estimator: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return [ub.load(estimator.save(Path(folder, f"model-{i}"))) for i in range(4)]


def _reported(x: Any, y: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return ub.report(x, {"a": y}, Path(folder, "page.html"))
