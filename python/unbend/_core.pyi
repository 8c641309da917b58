"""The compiled core: conversion only. The typed, documented face is the package around it."""

from collections.abc import Callable
from typing import Any, TypedDict, final

import numpy as np
import numpy.typing as npt

_Matrix = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_Array = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.uint32]
_Pointer = npt.NDArray[np.int64]
_Progress = Callable[[str, int, int], bool | None]
_Sample = tuple[_Array, _Array]
_Sparse = tuple[_Pointer, npt.NDArray[np.int32], _Array]

__all__ = [
    "Alignment",
    "LocalWeights",
    "Net",
    "Multigrid",
    "Paths",
    "Refiner",
    "Stopped",
    "Triangle",
    "align_pieces",
    "asim",
    "asim_all",
    "smallest_eigenvectors",
    "carry",
    "charts",
    "check_graph",
    "components",
    "coranking_corner",
    "coranking_matrix",
    "cylinder",
    "faithfulness",
    "find_nearest",
    "fishbowl",
    "gaussian_bump",
    "geodesic",
    "greedy",
    "grid",
    "hemisphere",
    "is_matrix",
    "lay_out",
    "local_order",
    "lower_bound",
    "marked",
    "mend",
    "nearest",
    "overlap",
    "query",
    "rank_curves",
    "rank_tables",
    "rank_values",
    "rectify",
    "relayout",
    "restricted",
    "reversed",
    "rotating_ball",
    "s_curve",
    "seams",
    "shape",
    "shepard",
    "skeleton",
    "spectra",
    "spectra_of",
    "spacing",
    "spread",
    "strip",
    "swiss_roll",
    "swiss_roll_wittman",
    "symmetrized",
    "tangent_scale",
    "three_peaks",
    "torn",
    "unroll",
    "within",
]

class _Graph(TypedDict):
    found_here: bool
    n_neighbors: int | None
    indptr: _Pointer | None
    indices: _Indices

class Stopped(RuntimeError): ...

@final
class LocalWeights:
    @staticmethod
    def lle(
        x: _Matrix,
        graph: _Graph,
        kind: str,
        reg: float,
        n_components: int | None,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> LocalWeights: ...
    @staticmethod
    def mlle(
        x: _Matrix,
        graph: _Graph,
        n_components: int,
        reg: float,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> LocalWeights: ...
    @staticmethod
    def ltsa(
        x: _Matrix,
        graph: _Graph,
        n_components: int,
        include_self: bool,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> LocalWeights: ...
    @staticmethod
    def hlle(
        x: _Matrix,
        graph: _Graph,
        n_components: int,
        include_self: bool,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> LocalWeights: ...
    @staticmethod
    def lem(
        x: _Matrix,
        graph: _Graph,
        kernel: str,
        eps: float | None,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> LocalWeights: ...
    @staticmethod
    def dfm(
        x: _Matrix,
        graph: _Graph,
        alpha: float,
        kernel: str,
        eps: float | None,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> LocalWeights: ...
    def matrix(self, graph: _Graph, progress: _Progress | None = None) -> _Sparse: ...
    def affinity(self, graph: _Graph) -> _Sparse: ...
    def phi(self, graph: _Graph, y: _Matrix) -> _Array: ...
    def row(self, graph: _Graph, i: int) -> _Array: ...
    def degrees(self, graph: _Graph, symmetrized: bool) -> _Array: ...

@final
class Refiner:
    def __new__(
        cls,
        x: _Matrix,
        graph: _Graph,
        n_components: int,
        objective: str,
        n_jobs: int,
    ) -> Refiner: ...
    def frames(self, x: _Matrix, graph: _Graph, y: _Matrix) -> tuple[_Array, float]: ...
    def apply(self, graph: _Graph, y: _Array) -> _Array: ...
    def centred(self, y: _Array, d: int) -> _Array: ...
    def held(self) -> _Array: ...
    def diagonal(self, graph: _Graph) -> _Array: ...
    def multigrid(self, graph: _Graph) -> Multigrid: ...

@final
class Multigrid:
    def cycle(self, y: _Array, d: int) -> _Array: ...
    def sizes(self) -> list[int]: ...

@final
class Net:
    def __new__(
        cls,
        x: _Matrix,
        n_components: int,
        k: int,
        seed: int,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> Net: ...

@final
class Alignment:
    def __new__(
        cls,
        x: _Matrix,
        graph: _Graph,
        net: Net | None,
        n_components: int,
        n_jobs: int,
        progress: _Progress | None = None,
    ) -> Alignment: ...
    def tree(self, x: _Matrix, graph: _Graph, progress: _Progress | None = None) -> dict[str, Any]: ...
    def round(self, vectors: _Array, sweep: bool, progress: _Progress | None = None) -> dict[str, Any]: ...
    def finish(self, turns: _Array, sweep: bool) -> dict[str, Any]: ...
    def anneal(
        self,
        start: _Array | None,
        seed: int,
        progress: _Progress | None = None,
        *,
        acceptance: float | None = None,
        accepted: int | None = None,
        tried: int | None = None,
        cooling: float | None = None,
        anew: float | None = None,
        enough: float | None = None,
        rounds: int | None = None,
    ) -> dict[str, Any]: ...
    def blocks(self) -> tuple[_Pointer, _Indices, _Array]: ...
    def place(self, x: _Matrix, graph: _Graph, turns: _Array) -> _Array: ...
    def frames_of(self, x: _Matrix, graph: _Graph, y: _Array) -> _Array: ...
    def open(self, turns: _Array) -> _Indices: ...
    def sides(self, refiner: Refiner, x: _Matrix, graph: _Graph, turns: _Array) -> _Array: ...

def align_pieces(
    graph: _Graph, products: _Array, weights: _Array, n_components: int, start: _Array | None = None
) -> tuple[_Array, _Indices]: ...
def unroll(
    alignment: Alignment, x: _Matrix, graph: _Graph, tau: float, progress: _Progress | None = None
) -> tuple[_Array, int, _Indices]: ...
def relayout(
    alignment: Alignment, x: _Matrix, graph: _Graph, y: _Array, turns: _Array
) -> tuple[_Array, int]: ...
def spacing(x: _Matrix, graph: _Graph, n_jobs: int) -> float: ...
def torn(
    x: _Matrix, y: _Matrix, graph: _Graph, spacing: float, tau: float, n_jobs: int
) -> npt.NDArray[np.bool_]: ...
def marked(graph: _Graph, pairs: _Indices) -> npt.NDArray[np.bool_]: ...
def mend(
    y: _Matrix, graph: _Graph, torn: npt.NDArray[np.bool_], least: int, reach: float
) -> npt.NDArray[np.bool_]: ...
def restricted(graph: _Graph, torn: npt.NDArray[np.bool_]) -> tuple[_Pointer, _Indices]: ...
def seams(
    alignment: Alignment,
    x: _Matrix,
    graph: _Graph,
    torn: npt.NDArray[np.bool_],
    y: _Array,
    turns: _Array,
    least: int,
) -> list[dict[str, Any]]: ...
def shape(x: _Matrix, graph: _Graph, d: int, n_jobs: int) -> tuple[int, int] | None: ...

@final
class Paths:
    def __new__(cls, x: _Matrix, graph: _Graph, spread: _Array | None, n_jobs: int) -> Paths: ...
    def unit(self) -> float: ...
    def distances_from(
        self, sources: _Indices, progress: _Progress | None = None
    ) -> npt.NDArray[np.float32]: ...
    def to_listed(self, sources: _Indices, lists: _Indices, limits: _Array) -> _Array: ...
    def distances_to_new(self, lists: _Indices, lengths: _Array, k: int) -> _Array: ...
    def triangle(self, members: _Indices, progress: _Progress | None = None) -> Triangle: ...

@final
class Triangle:
    def squares_times(self, v: _Array) -> _Array: ...
    def squares(self) -> _Array: ...
    def moments(self, y: _Matrix) -> list[float]: ...

def spread(x: _Matrix, graph: _Graph, n_jobs: int) -> _Array: ...
def tangent_scale(x: _Matrix, graph: _Graph, n_components: int, seed: int, n_jobs: int) -> int | None: ...
def is_matrix(array: Any) -> bool: ...
def smallest_eigenvectors(
    indptr: _Pointer,
    indices: _Indices,
    data: _Array,
    n_vectors: int,
    constants: bool,
    labels: _Indices | None,
    degrees: _Array | None,
    memory: int | None,
    seed: int,
    n_jobs: int,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...
def nearest(
    x: _Matrix, k: int, method: str, n_jobs: int, progress: _Progress | None = None
) -> tuple[_Pointer | None, _Indices, _Array]: ...
def find_nearest(
    x: _Matrix,
    k: int,
    method: str,
    recall: float,
    seed: int,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[_Indices, _Array, float | None]: ...
def query(
    x: _Matrix, new: _Matrix, k: int, method: str, n_jobs: int, progress: _Progress | None = None
) -> tuple[_Indices, _Array]: ...
def within(
    x: _Matrix, radius: float, method: str, n_jobs: int, progress: _Progress | None = None
) -> tuple[_Pointer, _Indices, _Array]: ...
def check_graph(graph: _Graph) -> None: ...
def reversed(graph: _Graph) -> tuple[_Pointer, _Indices]: ...
def symmetrized(graph: _Graph) -> tuple[_Pointer, _Indices]: ...
def local_order(graph: _Graph, n_jobs: int) -> tuple[_Indices, _Pointer | None, _Indices]: ...
def components(graph: _Graph) -> _Indices: ...
def charts(
    x: _Matrix,
    graph: _Graph,
    n_components: int,
    include_self: bool,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[_Array, _Array, _Array, _Array]: ...
def spectra(
    x: _Matrix,
    centers: _Indices,
    scales: list[int],
    n_values: int,
    n_jobs: int,
    progress: _Progress | None = None,
) -> _Array: ...
def spectra_of(
    x: _Matrix, lists: _Indices, size: int, scales: list[int], n_values: int, n_jobs: int
) -> _Array: ...
def carry(
    source: _Matrix,
    target: _Matrix,
    new: _Matrix,
    lists: _Indices,
    k: int,
    affine: bool,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[_Array, _Array]: ...
def faithfulness(
    x: _Matrix,
    y: _Matrix,
    graph: _Graph,
    include_self: bool,
    centers: _Indices | None,
    per_point: _Array,
    n_jobs: int,
    progress: _Progress | None = None,
) -> dict[str, Any]: ...
def lower_bound(
    x: _Matrix,
    n_components: int,
    graph: _Graph,
    include_self: bool,
    centers: _Indices | None,
    n_jobs: int,
    progress: _Progress | None = None,
) -> _Array: ...
def overlap(
    y: _Matrix,
    graph: _Graph,
    steps: int,
    centers: _Indices | None,
    n_jobs: int,
    progress: _Progress | None = None,
) -> _Array: ...
def asim(
    x: _Matrix,
    y: _Matrix,
    normalized: str,
    n_jobs: int,
    progress: _Progress | None = None,
) -> float: ...
def asim_all(
    x: _Matrix,
    y: _Matrix,
    graph: _Graph,
    include_self: bool,
    normalized: str,
    centers: _Indices | None,
    n_jobs: int,
    progress: _Progress | None = None,
) -> _Array: ...
def geodesic(
    x: _Matrix,
    y: _Matrix,
    graph: _Graph,
    sources: _Indices | None,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[dict[str, tuple[float, float, _Array]], float, _Array]: ...
def shepard(
    x: _Matrix,
    y: _Matrix,
    n_pairs: int | None,
    seed: int,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[dict[str, tuple[float, float, _Array]], int]: ...
def skeleton(
    x: _Matrix,
    graph: _Graph,
    n_landmarks: int,
    sources: _Indices | None,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[_Indices, npt.NDArray[np.uint64], _Array]: ...
def greedy(
    x: _Matrix,
    graph: _Graph,
    net: Net | None,
    n_components: int,
    tangent: str,
    n_init: int,
    start: int | None,
    seed: int,
    n_jobs: int,
    progress: _Progress | None = None,
    names: _Indices | None = None,
) -> dict[str, Any]: ...
def rectify(x: _Matrix, y: _Matrix, graph: _Graph, n_jobs: int) -> tuple[_Array, int]: ...
def lay_out(embedding: _Array, labels: _Indices) -> _Array: ...
def cylinder(n: int, height: float, noise: float, seed: int) -> _Sample: ...
def fishbowl(n: int, stretch: float, rim: float, noise: float, seed: int) -> _Sample: ...
def gaussian_bump(n: int, noise: float, seed: int) -> _Sample: ...
def grid(rows: int, columns: int) -> _Sample: ...
def hemisphere(n: int, noise: float, seed: int) -> _Sample: ...
def rotating_ball(
    n: int, resolution: int, pan: tuple[float, float], tilt: tuple[float, float], seed: int
) -> _Sample: ...
def s_curve(n: int, noise: float, seed: int) -> _Sample: ...
def strip(n: int, length: float, width: float, noise: float, seed: int) -> _Sample: ...
def swiss_roll(n: int, noise: float, stretch: float, hole: bool, seed: int) -> _Sample: ...
def swiss_roll_wittman(n: int, noise: float, stretch: float, seed: int) -> _Sample: ...
def three_peaks(n: int, noise: float, seed: int) -> _Sample: ...
def rank_tables(
    x: _Matrix,
    y: _Matrix,
    k: int,
    graph: _Graph | None,
    centers: _Indices | None,
    n_jobs: int,
    progress: _Progress | None = None,
) -> tuple[_Indices, _Indices]: ...
def rank_curves(n: int, in_x: _Indices, in_y: _Indices) -> dict[str, Any]: ...
def rank_values(n: int, in_x: _Indices, in_y: _Indices, name: str, k: int) -> _Array: ...
def coranking_corner(n: int, in_x: _Indices, in_y: _Indices) -> _Indices: ...
def coranking_matrix(x: _Matrix, y: _Matrix, n_jobs: int) -> _Indices: ...
