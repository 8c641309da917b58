"""A disc laid flat: started without a flip, and made nearly isometric."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from ... import _core
from ...core.progress import Progress
from ...fit.problem import Problem
from ...graph.neighbors import Neighborhoods
from ..cut import branch, depths
from ..descent import MAX_UNTANGLING_STEPS, Status, minimized, untangled
from ..energy import ENERGIES, Array, Complex, FlatMesh, SymmetricDirichlet
from ..measures import stretch_of
from ..repair import shapes_of
from ..start import MIN_ALIGNED_FACES, aligned, tutte
from ..surface import Surface

__all__ = ["MAX_BRANCHES", "Chart", "ChartSettings", "Disc", "EnergyName", "StartName"]

EnergyName = Literal["symmetric_dirichlet", "arap"]
StartName = Literal["auto", "tutte", "alignment"]

MAX_BRANCHES = 30
"""Maximum number of cuts into a piece that is stretched too much, or that double precision cannot lay flat."""

MAX_FLIPPED_SHARE = 0.02
"""Flips of the alignment are removed if at most this share of the triangles is flipped. More of them are folds of
large parts, and Tutte's map is used."""

DRAFT_TOL, DRAFT_ITER = 0.02, 40
"""Tolerance and maximum number of steps of the maps that decide where to cut further."""


@dataclass(frozen=True, kw_only=True)
class ChartSettings:
    """The parameters of a flattening, and what shows its progress."""

    energy: EnergyName
    start: StartName | Array  # A name, or the first position of every vertex.
    may_cut: bool  # True if a piece that is no disc may be cut.
    has_seams: bool  # True if the caller gave edges to cut: what is a disc then stays as it is.
    max_stretch: float | None
    tol: float
    max_iter: int
    n_jobs: int | None
    progress: Progress = field(repr=False)


@dataclass(frozen=True, eq=False)
class Chart:
    """A disc laid flat."""

    surface: Surface = field(repr=False)
    z: Complex = field(repr=False)
    start: str
    history: list[float]
    excess: float  # Excess of the energy above that of an isometry.
    status: Status


@dataclass(frozen=True, eq=False)
class Disc:
    """A disc, with values that are computed once."""

    surface: Surface

    @cached_property
    def mesh(self) -> FlatMesh:
        """The triangles with their shapes in space."""
        shapes, _ = shapes_of(self.surface)
        return FlatMesh.of(shapes, self.surface.triangles, len(self.surface.origins))

    @cached_property
    def points(self) -> Array:
        """The position in space of each vertex."""
        return self.surface.points[self.surface.origins]

    def problem(self, n_jobs: int | None) -> Problem:
        """Return the vertices with those that they share an edge with, as neighborhoods."""
        graph = Neighborhoods.from_mesh(self.surface.triangles, len(self.points))
        return Problem(_core.Points(self.points), graph, 2, "R", n_jobs)

    def laid(self, settings: ChartSettings, draft: bool, cuts_left: int = MAX_BRANCHES) -> Chart:
        """Lay the disc flat; cut into it while rounding makes a flip of every start."""
        problem = self.problem(settings.n_jobs)
        z, name = self._start(problem, settings)
        if z is None:
            return Disc(self._cut_deeper(settings, cuts_left)).laid(settings, draft, cuts_left - 1)
        return self._descended(z, name, problem.core, settings, draft)

    def continued(self, chart: Chart, settings: ChartSettings, draft: bool) -> Chart:
        """Lay the disc flat, beginning with the map of a chart that was cut less."""
        z = np.empty(len(self.points), complex)
        z[self.surface.triangles] = chart.z[chart.surface.triangles]
        return self._descended(z, chart.start, self.problem(settings.n_jobs).core, settings, draft)

    def stretch(self, z: Complex) -> float:
        """Return the factor by which nearly all of the area is stretched or compressed at most."""
        alpha, beta = self.mesh.split(z)
        return stretch_of(np.abs(alpha) + np.abs(beta), np.abs(alpha) - np.abs(beta), self.mesh.weights)

    def strain(self, z: Complex) -> Array:
        """Return the mean energy around each vertex."""
        alpha, beta = self.mesh.split(z)
        energy = ENERGIES["symmetric_dirichlet"]().value(np.abs(alpha) ** 2, np.abs(beta) ** 2)
        weights, index = np.tile(self.mesh.weights, 3), self.mesh.corners.ravel()
        total = np.bincount(index, weights * np.tile(energy, 3), self.mesh.n)
        mean: Array = total / np.bincount(index, weights, self.mesh.n)
        return mean

    def _start(self, problem: Problem, settings: ChartSettings) -> tuple[Complex | None, str]:
        """Return a map without a flip and its name, or None if rounding makes a flip."""
        start, m = settings.start, len(self.surface.faces)
        if isinstance(start, np.ndarray):
            y = start[self.surface.origins]
            z = self._without_flips(y[:, 0] + 1j * y[:, 1], problem, settings, m)
            if z is None:
                raise ValueError(
                    f"start has flipped triangles, in a disc of {m:,}, that stay flipped: set start = 'tutte'"
                )
            return z, "given"
        if start == "alignment" or (start == "auto" and m >= MIN_ALIGNED_FACES):
            most = int(MAX_FLIPPED_SHARE * m)
            z = self._without_flips(aligned(problem, settings.progress), problem, settings, most)
            if z is not None:
                return z, "alignment"
        with settings.progress.stage("start"):
            return tutte(self.mesh, self.points, self.surface.loops[0], problem.core), "tutte"

    def _without_flips(
        self, z: Complex, problem: Problem, settings: ChartSettings, most: int
    ) -> Complex | None:
        """Return a map with its flips removed, or None if they are too many or stay."""
        flipped = self.mesh.n_flipped(z)
        if flipped > len(self.surface.faces) / 2:
            z = np.conj(z)
            flipped = self.mesh.n_flipped(z)
        if flipped == 0 or flipped > most:
            return z if flipped == 0 else None

        def report(step: int, value: float) -> bool:
            return settings.progress.report("untangling", step, MAX_UNTANGLING_STEPS, value)

        with settings.progress.stage("untangling"):
            return untangled(self.mesh, z, problem.core, report)

    def _cut_deeper(self, settings: ChartSettings, cuts_left: int) -> Surface:
        """Return the disc cut from the vertex farthest from its boundary."""
        depth = depths(self.surface)
        if not settings.may_cut or depth.max() == 0 or cuts_left == 0:
            raise ValueError(
                f"a disc of {len(self.surface.faces):,} triangles cannot be laid flat without a flip in double "
                "precision: it is too deep for its boundary, so give seams as cut="
            )
        return self.surface.cut(branch(self.surface, int(np.argmax(depth))))

    def _descended(
        self, z: Complex, name: str, core: _core.Problem, settings: ChartSettings, draft: bool
    ) -> Chart:
        tol, max_iter = (DRAFT_TOL, DRAFT_ITER) if draft else (settings.tol, settings.max_iter)
        progress = settings.progress

        def report(step: int, value: float) -> bool:
            return progress.report("descent", step, max_iter, value)

        energy = ENERGIES[settings.energy]()
        with progress.stage("descent"):
            if not isinstance(energy, SymmetricDirichlet):
                # Without a barrier of its own, an energy would leave thin triangles of the start thin.
                z = minimized(
                    self.mesh,
                    SymmetricDirichlet(),
                    z,
                    core,
                    tol=DRAFT_TOL,
                    max_iter=DRAFT_ITER,
                    report=report,
                ).z
            end = minimized(self.mesh, energy, z, core, tol=tol, max_iter=max_iter, report=report)
        excess = end.history[-1] - energy.minimum
        return Chart(self.surface, end.z, name, end.history, excess, end.status)
