"""Meshes laid flat without a flip: the function `flatten`, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.kinds import choice, count, function, number, optional
from ..core.parameters import documented, entries, table
from ..core.progress import Callback, Progress
from ..core.shared_parameters import FUNCTIONS
from .chart import Chart, ChartSettings, EnergyName, StartName, charts_of, packed
from .cut import given_sides
from .descent import Status
from .energy import ENERGIES, Array, Faces
from .measures import MeshDistortion, measured
from .repair import Repaired, repaired
from .surface import Surface, edge_keys

if TYPE_CHECKING:
    from ..plot.canvas import Axes

__all__ = ["Flattening", "flatten"]

MAX_PIECES = 10_000
"""A mesh of more pieces is refused: it is not glued, and flat triangles one by one are of no use."""

PARAMETERS = table(
    *entries(
        """
        vertices : array-like of shape (n, 3)
            Position of each vertex in space.
        faces : array-like of int, shape (m, 3)
            Vertices of each triangle.
        cut : "auto", bool or array-like of int, shape (s, 2)
            "auto" cuts each piece that is not a disc, and then further until that gains little. A disc is cut only
            if 99 % of its area are stretched or compressed by a factor of 5 or more. False refuses what is not a
            disc, and cuts no further. An array holds the edges to cut, as pairs of vertices; what is not a disc
            after that is cut as with "auto".
        energy
            "symmetric_dirichlet" keeps the squared singular values of the map and of its inverse small. "arap"
            keeps the map as rigid as possible, and allows triangles to become thin.
        start : {"auto", "tutte", "alignment"} or array-like of shape (n, 2)
            "tutte" maps the boundary to a circle, which flips no triangle. "alignment" is Procrustes subspaces
            alignment, which begins nearer to the end; a few flips are removed, and Tutte's map is used for more.
            "auto" tries alignment for 200,000 triangles and more. An array is a flat mesh from any tool, whose
            flips are removed.
        max_stretch
            Cut further until 99 % of the area are stretched or compressed by at most this factor, with at most
            30 cuts for each piece, and shorten the last of them while that stays so. The search is greedy: other
            seams may be shorter. If the factor is not reached, ``notes`` says so.
        tol
            Stop after a step that lowers the energy by less than this share of what exceeds an isometry's.
        max_iter
            Maximum number of steps for each piece.
        callback
            Function of ``(stage, done, total, best)``. If it returns True, the mesh is returned as flat as it is
            by then.
        """,
        energy=choice(*ENERGIES),
        max_stretch=optional(number(lambda v: v > 1, "above 1")),
        tol=number(lambda v: v >= 0, "at least 0"),
        max_iter=count(0),
        callback=function,
    ),
)


@dataclass(frozen=True, eq=False)
class Flattening:
    """A mesh laid flat.

    Attributes
    ----------
    uv : ndarray of shape (N, 2)
        Flat position of each vertex after the cuts. A vertex on a seam has one for each bank.
    faces : ndarray of int, shape (M, 3)
        Vertices of each triangle, as rows of `uv`. All are counterclockwise.
    vertices : ndarray of int, shape (N,)
        Vertex of the input that each row of `uv` comes from.
    face_indices : ndarray of int, shape (M,)
        Triangle of the input that each triangle comes from.
    chart_labels : ndarray of int, shape (M,)
        Connected flat piece of each triangle.
    seams : ndarray of int, shape (s, 2)
        Edges that were cut, as pairs of vertices of the input.
    points : ndarray of shape (N, 3)
        Position in space of each row of `uv`.
    status : {"converged", "max_iter", "stopped"}
        "converged" if the last step of every chart gained less than `tol`; otherwise the end of the worst one.
    histories : list of list of float
        Energy of each chart before the first step and after each.
    starts : list of str
        Map that each chart began with.
    notes : tuple of str
        Repairs, in words, and the stretch if it exceeds `max_stretch`.
    timings : dict
        Seconds of each stage.

    Examples
    --------
    >>> import unbend as ub
    >>> tetrahedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> flat = ub.flatten(tetrahedron, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    >>> flat.n_charts, flat.distortion.n_flipped, len(flat.seams)
    (1, 0, 3)
    """

    uv: Array = field(repr=False)
    faces: Faces = field(repr=False)
    vertices: Faces = field(repr=False)
    face_indices: Faces = field(repr=False)
    chart_labels: Faces = field(repr=False)
    seams: Faces = field(repr=False)
    points: Array = field(repr=False)
    status: Status
    histories: list[list[float]] = field(repr=False)
    starts: list[str] = field(repr=False)
    notes: tuple[str, ...]
    timings: dict[str, float] = field(repr=False)

    @property
    def n_charts(self) -> int:
        """Number of connected flat pieces."""
        return int(self.chart_labels.max()) + 1

    @property
    def corner_uv(self) -> Array:
        """Flat position of every corner, of shape (M, 3, 2)."""
        return self.uv[self.faces]

    @cached_property
    def distortion(self) -> MeshDistortion:
        """Distortion of the flat mesh."""
        return measured(self.points, self.faces, self.uv)

    @cached_property
    def seam_length(self) -> float:
        """Total length in space of the edges that were cut."""
        place = np.zeros(int(self.vertices.max()) + 1, np.int64)
        place[self.vertices] = np.arange(len(self.vertices))
        a, b = (self.points[place[self.seams[:, k]]] for k in (0, 1))
        return float(np.linalg.norm(a - b, axis=1).sum())

    def plot(self, values: Literal["stretch", "checker"] = "stretch", *, ax: Any = None) -> Axes:
        """Draw the flat mesh: the stretch of its triangles, or a checkerboard on the surface in space.

        Parameters
        ----------
        values : {"stretch", "checker"}
            Colors of the triangles.
        ax : matplotlib Axes, optional
            Axes to draw on, 3-D ones for a checkerboard; a new figure by default.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import unbend as ub
        >>> flat = ub.flatten([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
        >>> ax = flat.plot("checker")
        """
        from .picture import checkered, stretched

        choice("stretch", "checker").test(values, "values")
        if values == "checker":
            return checkered(self.points, self.faces, self.uv, ax)
        return stretched(self.faces, self.uv, self.distortion, ax)


@documented(PARAMETERS, FUNCTIONS)
def flatten(
    vertices: Any,
    faces: Any,
    *,
    cut: Any = "auto",
    energy: EnergyName = "symmetric_dirichlet",
    start: StartName | Any = "auto",
    max_stretch: float | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    callback: Callback | None = None,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> Flattening:
    """Lay a triangle mesh flat, with as little stretch as possible and without a flipped triangle.

    Vertices of no triangle, triangles without three vertices, repeated triangles and wrong orientations are
    repaired, and noted. Each piece is cut to a disc, begins as a map without a flip, and no step flips a triangle.
    A flat piece may still overlap itself where its boundary folds over.

    Raises
    ------
    ValueError
        If the arrays are not a mesh, or a piece cannot be laid flat.

    Examples
    --------
    >>> import numpy as np, unbend as ub
    >>> angle, height = np.meshgrid(np.linspace(0, 3, 30), np.linspace(0, 1, 10), indexing="ij")
    >>> roof = np.c_[np.cos(angle).ravel(), np.sin(angle).ravel(), height.ravel()]
    >>> i = np.arange(300).reshape(30, 10)
    >>> a, b, c, d = i[:-1, :-1].ravel(), i[1:, :-1].ravel(), i[1:, 1:].ravel(), i[:-1, 1:].ravel()
    >>> flat = ub.flatten(roof, np.r_[np.c_[a, b, c], np.c_[a, c, d]])
    >>> flat.distortion.n_flipped, round(flat.distortion.edge_error, 6)
    (0, 0.0)
    """
    limits = {
        "energy": energy,
        "max_stretch": max_stretch,
        "tol": tol,
        "max_iter": max_iter,
        "callback": callback,
    }
    for name, value in limits.items():
        PARAMETERS[""][name].check(value)
    _check_cut(cut)
    progress = Progress(verbose, callback)
    with progress.stage("mesh", 1):
        mesh = repaired(vertices, faces)
        surface = mesh.surface
        unit = float(np.abs(surface.points).max()) or 1.0
        surface = Surface(surface.points / unit, surface.faces, surface.mates)
        if has_seams := not isinstance(cut, str | bool | np.bool_):
            surface = surface.cut(given_sides(surface, cut))
        _check_pieces(surface)
    settings = ChartSettings(
        energy=energy,
        start=_checked_start(start, len(surface.points), unit),
        may_cut=cut is not False,
        has_seams=has_seams,
        max_stretch=max_stretch,
        tol=tol,
        max_iter=int(max_iter),
        n_jobs=n_jobs,
        progress=progress,
    )
    charts = [
        (rows[part], chart) for rows, piece in surface.pieces() for part, chart in charts_of(piece, settings)
    ]
    flat = _assembled(mesh, charts, unit, progress)
    if max_stretch is not None and flat.distortion.stretch > max_stretch:
        note = f"99 % of the area are stretched by up to {flat.distortion.stretch:.3g}, above max_stretch"
        return replace(flat, notes=(*flat.notes, f"{note} = {max_stretch:g}"))
    return flat


def _check_cut(cut: Any) -> None:
    if isinstance(cut, str) and cut != "auto":
        raise ValueError(f"cut = {cut!r} is unknown: use 'auto', True, False or an array of edges")


def _checked_start(start: Any, n: int, unit: float) -> StartName | Array:
    if isinstance(start, str):
        choice("auto", "tutte", "alignment").test(start, "start")
        return start  # type: ignore[return-value]
    array = np.asarray(start, dtype=np.float64)
    if array.shape != (n, 2) or not np.isfinite(array).all():
        raise ValueError(f"start has shape {array.shape}: it must be {(n, 2)}, with finite entries")
    return array / unit


def _check_pieces(surface: Surface) -> None:
    n = int(surface.piece_labels.max()) + 1
    if n > MAX_PIECES:
        raise ValueError(
            f"faces falls into {n:,} pieces, at most {MAX_PIECES:,} are allowed: let triangles share vertices"
        )


def _assembled(
    mesh: Repaired, charts: list[tuple[Faces, Chart]], unit: float, progress: Progress
) -> Flattening:
    """Put charts side by side, with vertices and triangles in the order of the input."""
    with progress.stage("charts"):
        places = packed([chart.z for _, chart in charts])
        rows = np.concatenate([rows for rows, _ in charts])
        origins = np.concatenate([chart.surface.origins for _, chart in charts])
        offsets = np.cumsum([0, *(len(chart.surface.origins) for _, chart in charts)])
        triangles = np.concatenate(
            [chart.surface.triangles + offset for (_, chart), offset in zip(charts, offsets, strict=False)]
        )
        labels = np.repeat(np.arange(len(charts)), [len(rows) for rows, _ in charts])
        order, face_order = np.argsort(origins, kind="stable"), np.argsort(rows)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        z = np.concatenate(places)[order] * unit
        origins, faces = origins[order], rank[triangles[face_order]]
    statuses = [chart.status for _, chart in charts]
    return Flattening(
        uv=np.stack([z.real, z.imag], axis=1),
        faces=faces,
        vertices=origins,
        face_indices=mesh.face_indices,
        chart_labels=labels[face_order],
        seams=_seams(mesh.joined, faces),
        points=mesh.surface.points[origins],
        status=next((s for s in ("stopped", "max_iter") if s in statuses), "converged"),
        histories=[chart.history for _, chart in charts],
        starts=[chart.start for _, chart in charts],
        notes=mesh.notes,
        timings=dict(progress.timings),
    )


def _seams(surface: Surface, faces: Faces) -> Faces:
    """Return the edges where triangles were joined and are not any more."""
    pairs, n = surface.pairs, len(surface.points)
    tails, heads = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    others = surface.mates[pairs]
    same = np.minimum(tails, heads)[pairs] == np.minimum(tails, heads)[others]
    same &= np.maximum(tails, heads)[pairs] == np.maximum(tails, heads)[others]
    parted = pairs[~same]
    keys = np.unique(edge_keys(surface.tails[parted], surface.heads[parted], n))
    return np.stack([keys // n, keys % n], axis=1)
