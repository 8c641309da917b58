"""Procrustes subspaces alignment, PSA (Goldberg & Ritov 2009, sections 4.2 and 4.3)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from .. import _core
from ..core import memory
from ..core.arrays import Matrix, as_count, thread_count
from ..core.progress import Callback, Progress
from ..core.random import RandomState, seed_from
from ..fit.assembly import Solution, solve
from ..graph.neighbors import DEFAULT_RECALL, Neighborhoods, SearchMethod
from ..graph.renumbering import Renumbered
from ..metrics import Faithfulness, faithfulness
from ..metrics.overlap import OVERLAPPING
from .base import check_choice
from .embed import SUSPICIOUS, NotFlatWarning, Refine, _Embedding

__all__ = ["ProcrustesAlignment"]

Array = npt.NDArray[np.float64]
Method = Literal["auto", "tree", "spectral", "projection", "anneal"]

STARTS = ("random", "tree", "greedy")

ANNEALING: dict[str, type] = {
    "acceptance": float,
    "accepted": int,
    "tried": int,
    "cooling": float,
    "anew": float,
    "enough": float,
    "rounds": int,
}
"""What can be set of the annealing besides its start."""

IN_CELLS = ("alignment", "annealing", "overlap_penalty", "solve_tol", "neighbors_method", "neighbors_recall")
"""What each cell is embedded with, as all data would be."""

CHEAP = 20_000
"""Up to so many points "auto" tries the connection matrix as well."""

SMALLEST = 50
"""Components of fewer points are left to the tree."""


class ProcrustesAlignment(_Embedding):
    """Procrustes subspaces alignment (Goldberg & Ritov 2009, sections 4.2-4.3): all neighbourhoods at once.

    Finds the tangent of every neighbourhood, turns the tangents so that those of neighbours agree (eq. 9),
    and then finds the embedding that shows every neighbourhood as its tangent does (eq. 11). No error is
    handed from one neighbourhood to the next, as it is in greedy Procrustes.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    alignment : {"tree", "spectral", "projection", "anneal", "auto"}
        How tangents are aligned. "tree": along the spanning tree of the neighbours whose tangents agree
        best, then by sweeps. "spectral": by the top eigenvectors of the connection matrix; good for compact
        curved surfaces, wrong for long ones. "anneal": the paper's simulated annealing; slow. "auto": the
        tree, up to 20,000 points the connection matrix as well, and the better embedding is kept.
    annealing : dict, optional
        Of "anneal". "start": "random" (the default), "tree" or "greedy"; from the latter two a low
        "acceptance" keeps what is good of the start. "acceptance" (0.5): the share of worsening moves
        accepted at first. "accepted" (100), "tried" (500): a stage ends after so many moves of each point.
        "cooling" (0.97): the factor on the temperature after it. "anew" (0.5): the share of moves that
        draw a frame anew instead of turning it a little. "enough" (0.99), "rounds" (5): which share of
        points in the largest cluster ends it, and after how many rounds it ends anyway.
    overlap_penalty : float, default 1.0
        What "auto" adds to R_N for the share of neighbours in the embedding that are distant in the data,
        which R_N does not see.
    tangent_neighbors : int, optional
        Find the tangents from so many neighbours. By default from those of the graph, unless noise hides
        the tangent from them: then from as many more as are needed.
    solve_tol : float, default 1e-8
        The residual of eq. 11, as a share of its right-hand side, at which its solution ends.
    refine : {"auto", "global", "pointwise", None}
        How the embedding is refined; see :func:`unbend.refine`. "auto" is "global", but nothing where
        tangents are from more points than neighbourhoods hold: what R still gains then is the noise.
    objective : {"R_N", "R"}
        What refinement makes small.
    refine_max_iter : int, default 60
        The most steps of the refinement.
    refine_tol : float, default 1e-3
        A step of it that lowers the objective by less than this share is the last.
    neighbors_method : {"auto", "exact", "approximate"}
        How neighbours are found; see :func:`unbend.neighborhoods`.
    neighbors_recall : float, default 0.98
        The share of the true neighbours that an approximate search shall find.
    cut : {"auto", True, False}
        Whether to cut open what cannot lie flat: a tube, a sphere, a surface with one side. "auto" cuts where
        the embedding would lie on itself, or where a cut makes flat what is not, in up to three dimensions;
        True wherever neighbours are torn apart when the data are laid down from a central point; False
        never. What is flat is left whole.
    partition : int, "auto" or None
        Embed in cells of about so many points, one after the other, which takes far less memory; see
        :func:`unbend.partition.embed`, which also reads files that do not fit into memory. "auto" does so
        where the data would not fit otherwise. Nothing is cut then.
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    random_state : int, Generator or RandomState, optional
        Where annealing draws from, and the greedy embedding that it may start from; nothing else is
        random. The same number gives the same bits.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms. When it returns True the fit
        stops: with :class:`unbend.Stopped` before there is an embedding, in the refinement with the best
        embedding so far, which is then measured.
    max_memory : float, optional
        The bytes that a fit may need; by default what the machine has available.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        The embedding, in units of the data. Components are centred, turned to their principal axes and
        set side by side, the largest first.
    neighborhoods_ : Neighborhoods
        Those of the data.
    faithfulness_ : Faithfulness
        How faithful the embedding is; beside a cut, what is left of each neighbourhood.
    component_labels_ : ndarray of shape (n,)
        The component of each point.
    cut_pairs_ : ndarray of shape (m, 2)
        Pairs of neighbours in the data that a cut has parted; none if there is no cut.
    cut_ : ndarray of bool, shape (n,)
        The points along the cut.
    seams_ : list of Seam
        The arcs of the cut, each with its partner.
    orientable_, closed_ : bool or None
        Whether the surface has two sides, and whether it has no rim; None where it was not looked at.
    euler_characteristic_ : int or None
        Its Euler characteristic, where it can be told: for surfaces in one piece.
    surface_ : str
        The same in words.
    loops_ : ndarray of shape (m, 2)
        Neighbours whose frames are more than 30 degrees apart all the same: going round through such a
        pair ends turned or reflected. Many of them are a seam of a surface that closes on itself, or the
        price of curvature; a few are short circuits of the graph.
    alignment_ : str
        The alignment that the embedding is from.
    n_iter_ : int
        Steps of the refinement.
    refinement_ : Refinement or None
        What the refinement did.
    trace_ : dict
        For each alignment tried: "f" of eq. 9 and its "trace" from sweep to sweep, the share "aligned" of
        points in the largest cluster of aligned neighbours; of the solution of eq. 11 the "residual", its
        steps "n_solve", and whether it "converged"; where several were tried, "r_n" and "overlap". Of a
        partition, how many "cells" there were, the largest "overlap_error" between them before seams were
        removed, and the "history" of that.
    timings_ : dict of float
        Seconds of every stage.
    X_fit_ : ndarray of shape (n, q)
        The data, not copied: do not change them while the estimator is used.
    n_neighbors_ : int
        How many fitted points carry a new one.
    tangent_neighbors_ : int
        From how many neighbours tangents were found.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> psa = ub.ProcrustesAlignment(n_components=2, n_neighbors=12).fit(X)
    >>> psa.faithfulness_.r_n < 1.01 * psa.faithfulness_.lower_bound
    True
    >>> psa.orientable_, len(psa.loops_)
    (True, 0)
    """

    REFINED_FIRST = False

    loops_: npt.NDArray[np.uint32]
    alignment_: str

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        alignment: Method = "tree",
        annealing: dict[str, Any] | None = None,
        overlap_penalty: float = 1.0,
        tangent_neighbors: int | None = None,
        solve_tol: float = 1e-8,
        refine: Refine | None = "auto",
        objective: Literal["R_N", "R"] = "R_N",
        refine_max_iter: int = 60,
        refine_tol: float = 1e-3,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        cut: Literal["auto"] | bool = "auto",
        partition: int | Literal["auto"] | None = None,
        disconnected: Literal["separate", "error"] = "separate",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alignment = alignment
        self.annealing = annealing
        self.overlap_penalty = overlap_penalty
        self.tangent_neighbors = tangent_neighbors
        self.solve_tol = solve_tol
        self.refine = refine
        self.objective = objective
        self.refine_max_iter = refine_max_iter
        self.refine_tol = refine_tol
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.cut = cut
        self.partition = partition
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.alignment, "alignment", get_args(Method))
        if self.partition not in (None, "auto"):
            as_count(self.partition, "partition", least=2)
        if self.partition is not None and self.cut is True:
            raise ValueError("cut = True cannot be done in cells: set partition = None")
        self._check_annealing()
        for name in ("overlap_penalty", "solve_tol"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} = {getattr(self, name)} is out of range: it must be at least 0")

    def _check_annealing(self) -> None:
        given = dict(self.annealing or {})
        check_choice(given.pop("start", "random"), "annealing['start']", STARTS)
        for name, value in given.items():
            if name not in ANNEALING:
                known = ", ".join(["start", *ANNEALING])
                raise ValueError(f"annealing has no {name!r}: it takes {known}")
            if ANNEALING[name] is int:
                as_count(value, f"annealing[{name!r}]")

    def _embed(
        self, x: Matrix, net: _core.Net | None, watch: Progress, near: Renumbered | None
    ) -> tuple[Array, dict[str, Any]]:
        task = _Task(self, x, net, watch)
        self.orientable_, self._tangents = not task.one_sided, task.tangents
        tried = {name: task.embed(name) for name in self._methods(len(x))}
        self.alignment_ = min(tried, key=lambda name: task.score(tried[name]))
        found = tried[self.alignment_]
        self.loops_ = task.tangents.open(found.turns).reshape(-1, 2)
        return found.embedding, {name: candidate.trace for name, candidate in tried.items()}

    def _fit(self, X: Any, neighborhoods: Neighborhoods | None) -> None:
        if neighborhoods is not None and self.partition is not None:
            raise ValueError(
                "cells find their neighbours themselves: pass no neighborhoods, or partition = None"
            )
        super()._fit(X, neighborhoods)

    def _lay_flat(self, x: Matrix, k: int, watch: Progress) -> tuple[Array, dict[str, Any]]:
        points = self._points_per_cell(len(x), x.shape[1], k, x.dtype.itemsize)
        if points is not None:
            return self._in_cells(x, k, points, watch)
        try:
            embedding, trace = super()._lay_flat(x, k, watch)
        finally:
            self.__dict__.pop("_tangents", None)
        if not trace[self.alignment_]["converged"] and not self.cut_.any():
            self._warn_of_residual(trace[self.alignment_])
        return embedding, trace

    def _take_back(self, near: Renumbered) -> None:
        super()._take_back(near)
        self.loops_ = near.pairs(self.loops_)

    def _tangents_of(self, x: Matrix, net: _core.Net | None, watch: Progress) -> _core.Alignment:
        return self._tangents

    def _is_one_sided(self, x: Matrix, tangents: _core.Alignment) -> bool:
        return not self.orientable_

    def _folded(self, m: Faithfulness) -> bool:
        return not self.orientable_ or super()._folded(m)

    def _plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.Plan:
        points, whole = (
            self._points_per_cell(n, q, k, itemsize),
            self._whole_plan(n, q, k, itemsize, searched),
        )
        return whole if points is None else memory.CellsPlan(**vars(whole), points=points)

    def _whole_plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.Plan:
        return replace(super()._plan(n, q, k, itemsize, searched), aligned=True)

    def _points_per_cell(self, n: int, q: int, k: int, itemsize: int) -> int | None:
        """Return how many points a cell has, None if there are no cells."""
        if self.partition is None:
            return None
        from ..partition.run import USUAL_POINTS

        if self.partition != "auto":
            return self.partition if self.partition < n else None
        allowed = memory.allowed(self.max_memory)
        fits = allowed is None or self._whole_plan(n, q, k, itemsize, True).peak() <= allowed
        return None if fits else min(USUAL_POINTS, n)

    def _in_cells(self, x: Matrix, k: int, points: int, watch: Progress) -> tuple[Array, dict[str, Any]]:
        """Embed in cells; what is known of the whole surface only is not known."""
        from ..partition.embed import within

        parameters = {name: getattr(self, name) for name in IN_CELLS}
        found = within(
            x,
            watch,
            n_components=self.n_components,
            n_neighbors=k,
            points_per_cell=points,
            tangent_neighbors=self.tangent_neighbors,
            refine=None if self.refine is None else "auto",
            objective=self.objective,
            parameters=parameters,
            n_jobs=self.n_jobs,
        )
        self.tangent_neighbors_, self.alignment_ = found.tangent_neighbors, self.alignment
        self.orientable_, self.loops_ = None, np.empty((0, 2), dtype=np.uint32)
        self.refinement_, self.n_iter_ = None, len(found.history)
        self._keep_cut(None)
        self.__dict__.pop("_shape", None)
        trace = {
            "cells": len(found.cell_sizes),
            "overlap_error": float(found.overlap_error.max(initial=0.0)),
            "history": found.history,
        }
        return found.embedding, {self.alignment: trace}

    def _in_words(self) -> str:
        return f"Procrustes subspaces alignment ({self.alignment_})"

    def _record(self) -> dict[str, Any]:
        traces = {name: {k: v for k, v in t.items() if k != "trace"} for name, t in self.trace_.items()}
        return {
            "alignment": self.alignment_,
            "alignments": traces,
            "n_open_loops": len(self.loops_),
        }

    def _refinement(self, net: _core.Net | None) -> Literal["global", "pointwise"] | None:
        return None if self.refine == "auto" and net is not None else super()._refinement(net)

    def _methods(self, n: int) -> tuple[str, ...]:
        if self.alignment != "auto":
            return (self.alignment,)
        return ("tree", "spectral", "projection") if n <= CHEAP else ("tree", "projection")

    def _warn_of_residual(self, trace: dict[str, Any]) -> None:
        warnings.warn(
            f"eq. 11 is solved to a residual of {trace['residual']:.1e} after {trace['n_solve']:,} steps, "
            f"not to solve_tol = {self.solve_tol:g}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _measure(self, watch: Progress) -> None:
        super()._measure(watch)
        reason = self._not_flat()
        if reason is not None:
            text = f"{reason}: the data cannot be laid flat without a cut or a fold"
            warnings.warn(text, NotFlatWarning, stacklevel=4)

    def _not_flat(self) -> str | None:
        """Return why the embedding cannot be trusted as a whole, if it cannot."""
        if self.orientable_ is False and not self.cut_.any():
            return "the surface has only one side"
        m = self.faithfulness_
        if m.r_n <= SUSPICIOUS * m.lower_bound + 1e-3 and not len(self.loops_):
            return None  # no need to look further
        if m.overlap <= OVERLAPPING:
            return None
        folded = f"{m.overlap:.0%} of what lies close in the embedding is distant in the data"
        return f"{len(self.loops_):,} loops do not close, and {folded}" if len(self.loops_) else folded


class _Candidate:
    """Frames, the embedding that fits them best, and how both came about."""

    def __init__(self, turns: Array, embedding: Array, trace: dict[str, Any]) -> None:
        self.turns, self.embedding, self.trace = turns, embedding, trace


class _Task:
    """The tangents of one set of data, and everything that is made of them."""

    def __init__(
        self, estimator: ProcrustesAlignment, x: Matrix, net: _core.Net | None, watch: Progress
    ) -> None:
        self._estimator, self._x, self._net, self._watch = estimator, x, net, watch
        self._graph, self._jobs = estimator.neighborhoods_._graph, thread_count(estimator.n_jobs)
        self._refiner: _core.Refiner | None = None
        with watch.stage("alignment", len(x)):
            self.tangents = _core.Alignment(
                x, self._graph, net, estimator.n_components, self._jobs, progress=watch.progress
            )
            self._tree = self.tangents.tree(x, self._graph, progress=watch.progress)
        self.one_sided: bool = self._tree.pop("one_sided")

    def embed(self, method: str) -> _Candidate:
        """Align the tangents, and find the embedding that fits them best."""
        with self._watch.stage("alignment"):
            aligned = self._align(method)
        with self._watch.stage("assembly"):
            turns = aligned.pop("turns")
            solution = self._assemble(turns)
        trace = aligned | {
            "residual": solution.residual,
            "n_solve": solution.n_iter,
            "converged": solution.converged,
        }
        return _Candidate(turns, solution.embedding.reshape(len(self._x), -1), trace)

    def score(self, candidate: _Candidate) -> float:
        """Return R_N and what is to be added for overlap; noted in the trace."""
        if self._estimator.alignment != "auto":
            return 0.0
        m = faithfulness(
            self._x,
            candidate.embedding,
            neighborhoods=self._estimator.neighborhoods_,
            n_jobs=self._estimator.n_jobs,
        )
        candidate.trace |= {"r_n": m.r_n, "overlap": m.overlap}
        return m.r_n + self._estimator.overlap_penalty * m.overlap

    def _align(self, method: str) -> dict[str, Any]:
        if method == "spectral":
            vectors = _connection_vectors(self.tangents, self._tree["turns"], self._estimator)
            return self.tangents.round(vectors, True, progress=self._watch.progress)
        if method == "projection":
            turns = self.tangents.frames_of(self._x, self._graph, self._projected())
            return self.tangents.finish(turns, False)
        if method == "anneal":
            return self._anneal()
        return dict(self._tree)

    def _anneal(self) -> dict[str, Any]:
        e = self._estimator
        settings = dict(e.annealing or {})
        kind, seed = settings.pop("start", "random"), seed_from(e.random_state)
        start = {"random": lambda: None, "tree": lambda: self._tree["turns"], "greedy": self._greedy_turns}
        return self.tangents.anneal(start[kind](), seed, progress=self._watch.progress, **settings)

    def _projected(self) -> Array:
        """Return the shadow of the data on their principal directions."""
        mean = self._x.mean(axis=0, dtype=np.float64)
        centred = self._x - mean
        _, directions = np.linalg.eigh(centred.T @ centred)
        return np.asarray(centred @ directions[:, -self._estimator.n_components :], dtype=np.float64).ravel()

    def _greedy_turns(self) -> Array:
        """Return the frames of a greedy embedding."""
        e = self._estimator
        seed = seed_from(e.random_state)
        found = _core.greedy(
            self._x, self._graph, self._net, e.n_components, "neighborhood", 1, None, seed, self._jobs
        )
        return self.tangents.frames_of(self._x, self._graph, found["embedding"])

    def _assemble(self, turns: Array) -> Solution:
        e, graph = self._estimator, self._graph
        if self._refiner is None:
            self._refiner = _core.Refiner(self._x, graph, e.n_components, e.objective, self._jobs)
            self._multigrid = self._refiner.multigrid(graph)
        sides = self.tangents.sides(self._refiner, self._x, graph, turns)
        return solve(
            self._refiner,
            graph,
            sides,
            self.tangents.place(self._x, graph, turns),
            d=e.n_components,
            tol=e.solve_tol,
            ask=self._ask,
            preconditioner=lambda v: self._multigrid.cycle(v, e.n_components),
        )

    def _ask(self) -> None:
        if self._watch.report("assembly", 0, 0):
            raise _core.Stopped


def _connection_vectors(tangents: _core.Alignment, turns: Array, estimator: ProcrustesAlignment) -> Array:
    """Return the top d eigenvectors of the connection matrix of every component, d rows for each point.

    Where a component is too small for an iterative solver, the frames known already are as good.
    """
    from scipy.sparse import bsr_array, diags_array
    from scipy.sparse.linalg import eigsh

    d, labels = estimator.n_components, estimator.component_labels_
    indptr, indices, blocks = tangents.blocks()
    n = len(indptr) - 1
    degrees = np.repeat(np.maximum(np.diff(indptr), 1), d)
    scale = diags_array(1 / np.sqrt(degrees))
    connection = bsr_array((blocks.reshape(-1, d, d), indices.astype(np.int64), indptr), shape=(n * d, n * d))
    normalized = (scale @ connection @ scale).tocsr()
    vectors = np.swapaxes(turns.reshape(n, d, d), 1, 2).reshape(n * d, d).copy()
    for component in np.flatnonzero(np.bincount(labels) >= SMALLEST):
        rows = (np.flatnonzero(labels == component)[:, None] * d + np.arange(d)).ravel()
        start = np.random.default_rng(0).normal(size=len(rows))
        _, found = eigsh(normalized[rows][:, rows], k=d, which="LA", v0=start)
        vectors[rows] = found / np.sqrt(degrees[rows, None])
    return np.ascontiguousarray(vectors).ravel()
