"""The compiled core: conversion only. The typed, documented face is the package around it."""

from collections.abc import Callable
from typing import TypedDict, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]
_Indices = npt.NDArray[np.uint32]
_Pointer = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_Report = Callable[[str, int, int], bool | None] | None
_Sample = tuple[_Array, _Array]
_Sparse = tuple[_Pointer, _Indices, _Array]

# fmt: off
__all__ = [
    "AVERAGED_TANGENTS", "FAITHFULNESS_FIELDS", "FULL_NET_NEIGHBORS", "Graph", "LocalWeights",
    "MAX_BASES_ENTRIES", "MAX_DIM_WITH_BASES", "MAX_LISTED_NEIGHBORS", "MAX_MAGNITUDE", "MAX_ROOTS",
    "Patches", "Paths", "Points", "Problem", "RankTables", "Stopped", "Tangents", "Triangle",
    "agreement", "align_pieces", "asim", "asim_all", "carry", "charts", "coranking_matrix",
    "cylinder", "evidence", "faithfulness", "find_nearest", "fishbowl", "gaussian_bump", "geodesic",
    "grid", "grown", "hemisphere", "lay_out", "lower_bound", "nearest", "overlap", "projected",
    "prune", "query", "rank_tables", "rectify", "rotating_ball", "s_curve", "settled", "shepard",
    "skeleton", "smallest_eigenvectors", "spectra", "spectra_of", "spread", "strip", "swiss_roll",
    "swiss_roll_wittman", "three_peaks", "within",
]
# fmt: on

AVERAGED_TANGENTS: int
FAITHFULNESS_FIELDS: int
FULL_NET_NEIGHBORS: int
MAX_BASES_ENTRIES: int
MAX_DIM_WITH_BASES: int
MAX_LISTED_NEIGHBORS: int
MAX_MAGNITUDE: float
MAX_ROOTS: int

class Stopped(RuntimeError): ...

class _Means(TypedDict):
    r: float
    r_n: float
    r_c: float
    r_pca: float
    lower_bound: float
    scale: float
    r_n_scaled: float
    n_degenerate: int

class _Geodesic(TypedDict):
    residual_variance: tuple[float, float, _Array]
    stress: tuple[float, float, _Array]
    stress_scaled: tuple[float, float, _Array]
    scale: tuple[float, float, _Array]

class _Shepard(TypedDict):
    spearman: tuple[float, float, _Array]
    pearson: tuple[float, float, _Array]
    stress: tuple[float, float, _Array]
    stress_scaled: tuple[float, float, _Array]
    scale: tuple[float, float, _Array]

class _Pruning(TypedDict):
    dropped: _Flags
    n_doubtful: int
    n_joining: int
    off_tangent: float
    angle: float

class _Seam(TypedDict):
    points: _Indices
    partners: _Indices
    reversed: bool
    ends: bool
    n_pairs: int

class _Eigenvectors(TypedDict):
    vectors: _Array
    values: _Array
    residuals: _Array
    norm: float
    solver: str
    factor_entries: int
    factor_bytes: int
    shift: float
    steps: int
    converged: bool

class _Trace(TypedDict):
    steps: int
    overlap: int
    waits: int
    forced: int
    other_side: int

class _Greedy(TypedDict):
    right_hand_side: _Array | None
    embedding: _Array
    labels: _Indices
    r_n: _Array
    kept: _Indices
    traces: list[_Trace]

class _Aligned(TypedDict):
    rotations: _Array
    f: float
    aligned: float
    loops: _Indices
    trace: list[float]

class _Tree(TypedDict):
    rotations: _Array
    f: float
    aligned: float
    loops: _Indices
    trace: list[float]
    one_sided: bool

# Data -----------------------------------------------------------------------------------------------------

@final
class Points:
    """A matrix whose entries were checked once; ``name`` appears in the message if they are not finite."""

    def __new__(cls, x: _Floats, name: str = "X") -> Points: ...
    @property
    def array(self) -> _Floats: ...
    @property
    def dim(self) -> int: ...
    def __len__(self) -> int: ...

@final
class Patches:
    """Neighborhoods of which only distances are known, each in coordinates of its own.

    ``measured`` is a symmetric graph with rising lists, which has a distance for each entry.
    """

    def __new__(
        cls,
        measured: Graph,
        distances: _Array,
        graph: Graph,
        n_components: int,
        n_jobs: int,
        progress: _Report = None,
    ) -> Patches: ...
    @property
    def dim(self) -> int: ...
    @property
    def n_incomplete(self) -> int: ...
    def __len__(self) -> int: ...

_Matrix = _Floats | Points

@final
class Graph:
    """The neighbors of every point, checked once. The arrays are kept, not copied."""

    def __new__(
        cls, indices: _Indices, *, n_neighbors: int | None = None, indptr: _Pointer | None = None
    ) -> Graph: ...
    @property
    def indices(self) -> _Indices: ...
    @property
    def indptr(self) -> _Pointer | None: ...
    @property
    def n_neighbors(self) -> int | None: ...
    def __len__(self) -> int: ...
    def components(self, progress: _Report = None) -> _Indices: ...
    def reversed(self, progress: _Report = None) -> Graph: ...
    def symmetrized(self, progress: _Report = None) -> Graph: ...
    def marked(self, pairs: _Indices, progress: _Report = None) -> _Flags: ...
    def without(self, torn: _Flags, progress: _Report = None) -> Graph: ...
    def part(self, rows: _Indices, progress: _Report = None) -> Graph: ...

# The problem of a fit -------------------------------------------------------------------------------------

@final
class Problem:
    """Points, graph, dimension, objective and threads, with what is made from them on demand, once.

    Vectors are flat: point after point, ``n_components`` numbers each.
    """

    def __new__(
        cls,
        points: Points | Patches,
        graph: Graph,
        n_components: int,
        objective: str,
        n_jobs: int,
        include_self: bool = True,
        weights: _Array | None = None,
    ) -> Problem: ...
    @property
    def points(self) -> Points | Patches: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def n_components(self) -> int: ...
    @property
    def n_jobs(self) -> int: ...
    def sheet(self, torn: _Flags) -> Problem: ...
    def renumbered(self, labels: _Indices) -> tuple[_Indices, Problem]: ...
    def tangent_scale(self, seed: int, progress: _Report = None) -> int | None: ...
    def tangents(
        self, n_neighbors: int | None, seed: int, progress: _Report = None, choose: bool = False
    ) -> Tangents: ...
    def faithfulness(self, y: _Matrix, per_point: _Array, progress: _Report = None) -> _Means: ...
    def lower_bound(self, progress: _Report = None) -> float: ...
    def frames(self, y: _Matrix, progress: _Report = None) -> tuple[_Array, float]: ...
    def conformal(self, y: _Matrix) -> Problem: ...
    def apply(self, y: _Array) -> _Array: ...
    def residual(self, right_hand_side: _Array, y: _Array) -> _Array: ...
    def moved(
        self, right_hand_side: _Array, y: _Array, change: _Array, progress: _Report = None
    ) -> tuple[_Array, _Array]: ...
    def precondition(self, v: _Array) -> _Array: ...
    def cycle(self, v: _Array) -> _Array: ...
    def diagonal(self, progress: _Report = None) -> _Array: ...
    def weights(self, progress: _Report = None) -> _Array: ...
    def held(self, progress: _Report = None) -> _Array: ...
    def spacing(self, progress: _Report = None) -> float: ...
    def torn(self, y: _Matrix, tau: float, least: int, gap: float, progress: _Report = None) -> _Flags: ...
    def shape(self, progress: _Report = None) -> tuple[int, int] | None: ...

@final
class Tangents:
    """The tangents of a problem, and how those of neighbors are rotated against each other."""

    @property
    def n_neighbors(self) -> int | None: ...
    def greedy(
        self,
        tangent: str,
        n_init: int,
        start: int | None,
        seed: int,
        names: _Indices | None = None,
        progress: _Report = None,
        *,
        assemble: tuple[float, float] | None = None,
    ) -> _Greedy: ...
    def tree(self, progress: _Report = None) -> _Tree: ...
    def round(self, vectors: _Array, sweep: bool, progress: _Report = None) -> _Aligned: ...
    def finish(self, rotations: _Array, sweep: bool, progress: _Report = None) -> _Aligned: ...
    def anneal(
        self,
        start: _Array | None,
        seed: int,
        progress: _Report = None,
        *,
        acceptance: float | None = None,
        accepted: int | None = None,
        tried: int | None = None,
        cooling: float | None = None,
        anew: float | None = None,
        enough: float | None = None,
        rounds: int | None = None,
        alone: bool | None = None,
    ) -> _Aligned: ...
    def blocks(self, progress: _Report = None) -> tuple[_Pointer, _Indices, _Array]: ...
    def frames_of(self, y: _Array, torn: _Flags | None = None, progress: _Report = None) -> _Array: ...
    def equation(self, rotations: _Array, progress: _Report = None) -> tuple[_Array, _Array]: ...
    def unroll(self, tau: float, progress: _Report = None) -> tuple[_Array, int, _Indices]: ...
    def relayout(self, y: _Array, rotations: _Array, progress: _Report = None) -> tuple[_Array, int]: ...
    def seams(
        self, torn: _Flags, y: _Array, rotations: _Array, least: int, nearest: int, progress: _Report = None
    ) -> list[_Seam]: ...

def align_pieces(
    graph: Graph, products: _Array, weights: _Array, n_components: int, start: _Array | None = None
) -> tuple[_Array, _Indices]: ...

# Neighbors and charts -------------------------------------------------------------------------------------

def nearest(
    x: _Matrix, k: int, method: str, n_jobs: int, progress: _Report = None
) -> tuple[Graph, _Array]: ...
def find_nearest(
    x: _Matrix, k: int, method: str, recall: float, seed: int, n_jobs: int, progress: _Report = None
) -> tuple[Graph, _Array, float | None]: ...
def within(
    x: _Matrix, radius: float, method: str, n_jobs: int, progress: _Report = None
) -> tuple[Graph, _Array]: ...
def grown(
    x: _Matrix, graph: Graph, distances: _Array, n_jobs: int, progress: _Report = None
) -> tuple[Graph, _Array, _Indices] | None: ...
def query(
    x: _Matrix, new: _Matrix, k: int, method: str, n_jobs: int, progress: _Report = None
) -> tuple[_Indices, _Array]: ...
def charts(
    x: _Matrix, graph: Graph, n_components: int, include_self: bool, n_jobs: int, progress: _Report = None
) -> tuple[_Array, _Array, _Array, _Array]: ...
def spectra(
    x: _Matrix, centers: _Indices, scales: list[int], n_values: int, n_jobs: int, progress: _Report = None
) -> _Array: ...
def spectra_of(
    x: _Matrix,
    lists: _Indices,
    size: int,
    scales: list[int],
    n_values: int,
    n_jobs: int,
    progress: _Report = None,
) -> _Array: ...

# Spectral methods -----------------------------------------------------------------------------------------

@final
class LocalWeights:
    @staticmethod
    def lle(
        x: _Matrix,
        graph: Graph,
        kind: str,
        reg: float,
        n_components: int | None,
        n_jobs: int,
        progress: _Report = None,
    ) -> LocalWeights: ...
    @staticmethod
    def mlle(
        x: _Matrix, graph: Graph, n_components: int, reg: float, n_jobs: int, progress: _Report = None
    ) -> LocalWeights: ...
    @staticmethod
    def ltsa(
        x: _Matrix, graph: Graph, n_components: int, include_self: bool, n_jobs: int, progress: _Report = None
    ) -> LocalWeights: ...
    @staticmethod
    def hlle(
        x: _Matrix, graph: Graph, n_components: int, include_self: bool, n_jobs: int, progress: _Report = None
    ) -> LocalWeights: ...
    @staticmethod
    def lem(
        x: _Matrix, graph: Graph, kernel: str, eps: float | None, n_jobs: int, progress: _Report = None
    ) -> LocalWeights: ...
    @staticmethod
    def dfm(
        x: _Matrix,
        graph: Graph,
        alpha: float,
        kernel: str,
        eps: float | None,
        n_jobs: int,
        progress: _Report = None,
    ) -> LocalWeights: ...
    def matrix(self, progress: _Report = None) -> _Sparse: ...
    def affinity(self, progress: _Report = None) -> _Sparse: ...
    def phi(self, y: _Matrix, progress: _Report = None) -> _Array: ...
    def row(self, i: int, progress: _Report = None) -> _Array: ...
    def degrees(self, symmetrized: bool, progress: _Report = None) -> _Array: ...

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
    progress: _Report = None,
) -> _Eigenvectors: ...

# Distances along the graph --------------------------------------------------------------------------------

@final
class Paths:
    def __new__(cls, x: _Matrix, graph: Graph, spread: _Array | None, n_jobs: int) -> Paths: ...
    def unit(self) -> float: ...
    def distances_from(self, sources: _Indices, progress: _Report = None) -> npt.NDArray[np.float32]: ...
    def to_listed(
        self, sources: _Indices, lists: _Indices, limits: _Array, progress: _Report = None
    ) -> _Array: ...
    def distances_to_new(
        self, lists: _Indices, lengths: _Array, k: int, progress: _Report = None
    ) -> _Array: ...
    def triangle(self, members: _Indices, progress: _Report = None) -> Triangle: ...

@final
class Triangle:
    def squares_times(self, v: _Array, progress: _Report = None) -> _Array: ...
    def squares(self, progress: _Report = None) -> _Array: ...
    def moments(self, y: _Matrix, progress: _Report = None) -> list[float]: ...

def spread(x: _Matrix, graph: Graph, n_jobs: int, progress: _Report = None) -> _Array: ...

# Measures -------------------------------------------------------------------------------------------------

def faithfulness(
    x: _Matrix,
    y: _Matrix,
    graph: Graph,
    include_self: bool,
    centers: _Indices | None,
    per_point: _Array,
    weights: _Array | None,
    n_jobs: int,
    progress: _Report = None,
) -> _Means: ...
def lower_bound(
    x: _Matrix,
    n_components: int,
    graph: Graph,
    include_self: bool,
    centers: _Indices | None,
    n_jobs: int,
    progress: _Report = None,
) -> _Array: ...
def overlap(
    y: _Matrix, graph: Graph, steps: int, centers: _Indices | None, n_jobs: int, progress: _Report = None
) -> _Array: ...
def agreement(
    x: _Matrix,
    y: _Matrix,
    graph: Graph,
    n_balls: int,
    n_worst: int,
    size: int,
    n_sources: int,
    seed: int,
    n_jobs: int,
    progress: _Report = None,
) -> tuple[_Indices, _Array, int, float]: ...
def evidence(
    x: _Matrix | Patches,
    y: _Matrix,
    graph: Graph,
    n_balls: int,
    n_worst: int,
    size: int,
    n_sources: int,
    seed: int,
    steps: int,
    examined: _Indices,
    n_jobs: int,
    progress: _Report = None,
) -> tuple[_Indices, _Array, int, float, _Array]: ...
def prune(x: _Matrix, graph: Graph, n_components: int, n_jobs: int, progress: _Report = None) -> _Pruning: ...
def projected(
    x: _Matrix, graph: Graph, n_components: int, n_jobs: int, progress: _Report = None
) -> _Array: ...
def settled(
    x: _Matrix,
    rows: _Indices,
    lists: _Indices,
    k: int,
    n_components: int,
    n_jobs: int,
    progress: _Report = None,
) -> _Array: ...
def asim(x: _Matrix, y: _Matrix, normalized: str, n_jobs: int, progress: _Report = None) -> float: ...
def asim_all(
    x: _Matrix,
    y: _Matrix,
    graph: Graph,
    include_self: bool,
    normalized: str,
    centers: _Indices | None,
    n_jobs: int,
    progress: _Report = None,
) -> _Array: ...
def geodesic(
    x: _Matrix, y: _Matrix, graph: Graph, sources: _Indices | None, n_jobs: int, progress: _Report = None
) -> tuple[_Geodesic, float, _Array]: ...
def shepard(
    x: _Matrix, y: _Matrix, n_pairs: int | None, seed: int, n_jobs: int, progress: _Report = None
) -> tuple[_Shepard, int]: ...
def skeleton(
    x: _Matrix,
    graph: Graph,
    n_landmarks: int,
    sources: _Indices | None,
    n_jobs: int,
    progress: _Report = None,
) -> tuple[_Indices, npt.NDArray[np.uint64], _Array]: ...

@final
class RankTables:
    def __new__(cls, n: int, in_x: _Indices, in_y: _Indices, n_jobs: int) -> RankTables: ...
    @property
    def k(self) -> int: ...
    def values(self, names: list[str], k: int) -> dict[str, _Array]: ...
    def coranking(self) -> _Indices: ...

def rank_tables(
    x: _Matrix,
    y: _Matrix,
    k: int,
    graph: Graph | None,
    centers: _Indices | None,
    names: list[str],
    n_jobs: int,
    progress: _Report = None,
) -> tuple[RankTables, dict[str, tuple[_Array, _Array, _Array]], tuple[float, float], dict[str, _Array]]: ...
def coranking_matrix(x: _Matrix, y: _Matrix, n_jobs: int, progress: _Report = None) -> _Indices: ...

# Embeddings -----------------------------------------------------------------------------------------------

def carry(
    source: _Matrix,
    target: _Matrix,
    new: _Matrix,
    lists: _Indices,
    k: int,
    affine: bool,
    n_jobs: int,
    progress: _Report = None,
) -> tuple[_Array, _Array]: ...
def rectify(
    x: _Matrix, y: _Matrix, graph: Graph, n_jobs: int, progress: _Report = None
) -> tuple[_Array, int]: ...
def lay_out(embedding: _Array, labels: _Indices) -> _Array: ...

# Data sets ------------------------------------------------------------------------------------------------

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
