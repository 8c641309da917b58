"""Embedding algorithms, by the rules of scikit-learn."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..core import memory
from ..core.arrays import Matrix, as_count, thread_count
from ..core.progress import Callback, Progress
from ..core.random import RandomState, seed_from
from ..fit.cut import FEWEST, RELAYOUTS, Opened, Seam, Sheets, Surface, pairs_of, same_side, without
from ..fit.refine import Refinement, RefinementInterrupted, refine
from ..graph.neighbors import (
    DEFAULT_NEIGHBORS,
    DEFAULT_RECALL,
    Neighborhoods,
    SearchMethod,
    check_method,
    search,
)
from ..graph.renumbering import Renumbered
from ..metrics import Faithfulness, faithfulness
from ..metrics.overlap import OVERLAPPING
from .base import Placed, _Estimator, check_choice

__all__ = ["DisconnectedWarning", "GreedyProcrustes", "NotFlatWarning"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]
Refine = Literal["auto", "global", "pointwise"]
Self = TypeVar("Self", bound="_OnGraph")

REFINEMENTS = ("auto", "global", "pointwise", None)
OBJECTIVES = ("R_N", "R")
TANGENTS = ("neighborhood", "overlap")
DISCONNECTED = ("separate", "error")

SUSPICIOUS = 2.0
"""Above this multiple of its bound R_N is a reason to look at the overlap."""

KEPT_APART = 3
"""Up to so many dimensions parts of data that are laid down are kept off each other."""

FLATTENED, MOST_TORN = 1.5, 0.25
"""A cut that is not needed to undo an overlap must bring R_N below this multiple of its bound, and touch no
more than this share of the neighbourhoods."""


class DisconnectedWarning(UserWarning):
    """The neighbourhoods fall into pieces that know nothing of each other.

    Each piece is embedded by itself; how they lie to each other in the result means nothing.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> X[:20] += 9
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.GreedyProcrustes(n_neighbors=6, random_state=0).fit(X)
    >>> found[0].category is ub.DisconnectedWarning
    True
    """


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
    >>> psa.orientable_, found[0].category is ub.NotFlatWarning
    (False, True)
    """


class _OnGraph(_Estimator):
    """What algorithms on a graph share: neighbours before them; layout and measures after them.

    An algorithm adds its parameters, checks them in `_check_parameters`, and embeds in `_lay_flat`.
    """

    ROWS = ("X_fit_", "embedding_", "component_labels_", "neighborhoods_")

    AFFINE: ClassVar[bool] = False
    """Whether neighbourhoods come out stretched, so that new points cannot be carried by motions."""

    # Parameters, set by the constructor of each algorithm.
    n_components: int
    n_neighbors: int | None
    neighbors_method: SearchMethod
    neighbors_recall: float
    disconnected: Literal["separate", "error"]
    random_state: RandomState
    n_jobs: int | None

    # What a fit learns.
    X_fit_: Matrix
    neighborhoods_: Neighborhoods
    component_labels_: Indices
    faithfulness_: Faithfulness
    trace_: dict[str, Any]
    n_neighbors_: int

    def fit(self: Self, X: Any, y: Any = None, *, neighborhoods: Neighborhoods | None = None) -> Self:
        """Embed the data.

        A fit that fails, or is stopped or interrupted, leaves the estimator as it was.

        Parameters
        ----------
        X : array-like of shape (n, q)
            The data. float32 and float64 arrays are used where they lie and kept, not copied.
        y : object
            Ignored.
        neighborhoods : Neighborhoods, optional
            Those already computed; `n_neighbors` is not used then.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter makes no sense, an entry is not finite, or there are too few points.
        MemoryError
            If the fit needs more memory than there is; nothing is begun then.
        Stopped
            If `callback` stopped it before there was an embedding.
        """
        with self._all_or_nothing():
            self._fit(X, neighborhoods)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, neighborhoods: Neighborhoods | None = None) -> Array:
        """Embed the data and return their embedding.

        Parameters
        ----------
        X, y, neighborhoods
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, d)
        """
        return self.fit(X, neighborhoods=neighborhoods).embedding_

    def transform(self, X: Any, return_error: bool = False) -> Any:
        """Place points in the embedding.

        Each is carried by the motion that fits its neighbours among the fitted points to their images.
        The fitted points themselves come out where the fit placed them, to the last bit.

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points.
        return_error : bool, default False
            Whether to return as well how far the neighbours of each point lie, in root mean square, from
            where the motion takes them: in units of X, 0 is perfect.

        Returns
        -------
        ndarray of shape (m, d), or a pair of it and an ndarray of shape (m,)
        """
        return super().transform(X, return_error)

    def inverse_transform(self, X: Any, return_error: bool = False) -> Any:
        """Find the points of the data space that belong to points of the embedding.

        Each is carried by the motion that fits its neighbours in the embedding to the fitted points.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Points of the embedding.
        return_error : bool, default False
            Whether to return as well how far the neighbours of each point lie, in root mean square, from
            where the motion takes them.

        Returns
        -------
        ndarray of shape (m, q), or a pair of it and an ndarray of shape (m,)
        """
        return super().inverse_transform(X, return_error)

    # What an algorithm does itself --------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_neighbors is not None:
            as_count(self.n_neighbors, "n_neighbors")
        check_method(self.neighbors_method, self.neighbors_recall, "neighbors_")
        check_choice(self.disconnected, "disconnected", DISCONNECTED)

    def _lay_flat(self, x: Matrix, k: int, watch: Progress) -> tuple[Array, dict[str, Any]]:
        """Return an embedding, its components not yet laid out, and a trace."""
        raise NotImplementedError

    def _plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.Plan:
        raise NotImplementedError

    # Fit ------------------------------------------------------------------------------------------------

    def _fit(self, X: Any, neighborhoods: Neighborhoods | None) -> None:
        self._check_parameters()
        watch = Progress(self.verbose, self.callback)
        x = self._validated(X, reset=True)
        if self.n_components > x.shape[1]:
            raise ValueError(
                f"n_components = {self.n_components} exceeds the {x.shape[1]} dimensions of the data"
            )
        k = self._check_neighbors(len(x), neighborhoods)
        memory.check(
            self._plan(len(x), x.shape[1], k, x.dtype.itemsize, neighborhoods is None).peak(),
            self.max_memory,
        )
        self.neighborhoods_ = self._search(x, k, watch) if neighborhoods is None else neighborhoods
        self._check_connected()
        embedding, self.trace_ = self._lay_flat(x, k, watch)
        self._keep(x, embedding, k)
        self._measure(watch)
        self.timings_ = watch.timings

    def _estimate(self, n: int, q: int, itemsize: int) -> memory.Plan:
        k = min(DEFAULT_NEIGHBORS, n) if self.n_neighbors is None else self.n_neighbors
        return self._plan(n, q, k, itemsize, searched=True)

    def _check_neighbors(self, n: int, given: Neighborhoods | None) -> int:
        """Return the number of neighbours of a point, once there are points enough for it."""
        most = n - 1
        if given is not None:
            return _mean_size(given, n)
        k = min(DEFAULT_NEIGHBORS, most) if self.n_neighbors is None else self.n_neighbors
        if k > most:
            raise ValueError(f"n_neighbors = {k} needs at least {k + 1} points, got n_samples = {n}")
        return k

    def _search(self, x: Matrix, k: int, watch: Progress) -> Neighborhoods:
        method, recall = self.neighbors_method, self.neighbors_recall
        with watch.stage("neighbours", len(x)):
            found = search(x, k, method, recall, 0, self.n_jobs, progress=watch.progress)
        return found

    def _check_connected(self) -> None:
        self.component_labels_ = self.neighborhoods_.component_labels
        sizes = np.bincount(self.component_labels_)
        if len(sizes) == 1:
            return
        largest = ", ".join(f"{size:,}" for size in np.sort(sizes)[::-1][:5])
        text = f"the neighbourhoods fall into {len(sizes):,} components, of {largest}"
        text += " and fewer points" if len(sizes) > 5 else " points"
        if self.disconnected == "error":
            raise ValueError(f"{text}: more neighbours may join them, or set disconnected = 'separate'")
        how = "each is embedded by itself, and how they lie to each other means nothing"
        warnings.warn(f"{text}: {how}", DisconnectedWarning, stacklevel=4)

    def _keep(self, x: Matrix, embedding: Array, k: int) -> None:
        laid_out = _core.lay_out(embedding, self.component_labels_).reshape(embedding.shape)
        self.X_fit_, self.embedding_, self.n_neighbors_ = x, laid_out, k

    def _measure(self, watch: Progress) -> None:
        with watch.stage("faithfulness", len(self.X_fit_)):
            m = faithfulness(
                self.X_fit_,
                self.embedding_,
                neighborhoods=self.neighborhoods_,
                cut=getattr(self, "cut_pairs_", None),
                n_jobs=self.n_jobs,
            )
            # It looks at our embedding, not at a copy of its own, which files and pickles would hold twice.
            self.faithfulness_ = replace(m, _overlap=replace(m._overlap, y=self.embedding_))

    # Transform ------------------------------------------------------------------------------------------

    def _place(self, x: Matrix) -> Placed:
        if _same(x, self.X_fit_):
            return self.embedding_.copy(), np.zeros(len(x))
        return self._carried(self.X_fit_, self.embedding_, x)

    def _find(self, y: Matrix) -> Placed:
        if _same(y, self.embedding_):
            return self.X_fit_.astype(np.float64), np.zeros(len(y))
        return self._carried(self.embedding_, self.X_fit_, y)

    def _check_shapes(self) -> None:
        super()._check_shapes()
        shapes = (self.X_fit_.shape[1:], self.embedding_.shape[1:])
        if shapes != ((self.n_features_in_,), (self.n_components,)):
            raise ValueError(
                f"its data and embedding have {shapes[0]} and {shapes[1]} columns, but it was fitted to "
                f"{self.n_features_in_} features with n_components = {self.n_components}"
            )

    def _carried(self, source: Matrix, target: Matrix, new: Matrix) -> tuple[Array, Array]:
        """Carry new points from one space to the other by the motion of their neighbours.

        A point belongs to the component of its nearest neighbour, and is carried by that one alone: how
        components lie to each other is no motion.
        """
        lists = self._query(source, new)
        placed, errors = self._carry(source, target, new, lists)
        if not self.component_labels_.any():
            return placed, errors
        labels = self.component_labels_[lists]
        mixed = (labels != labels[:, :1]).any(axis=1)
        for component in np.unique(labels[mixed, 0]):
            rows = np.flatnonzero(mixed & (labels[:, 0] == component))
            members = np.flatnonzero(self.component_labels_ == component)
            own = self._query(source[members], new[rows])
            placed[rows], errors[rows] = self._carry(source[members], target[members], new[rows], own)
        return placed, errors

    def _query(self, source: Matrix, new: Matrix) -> Indices:
        k = min(self.n_neighbors_, len(source))
        indices, _ = _core.query(source, new, k, "auto", thread_count(self.n_jobs))
        return indices.reshape(len(new), k)

    def _carry(self, source: Matrix, target: Matrix, new: Matrix, lists: Indices) -> tuple[Array, Array]:
        placed, errors = _core.carry(
            source, target, new, lists.ravel(), lists.shape[1], self.AFFINE, thread_count(self.n_jobs)
        )
        return placed.reshape(len(new), target.shape[1]), errors


class _Embedding(_OnGraph):
    """What the algorithms of Goldberg & Ritov share: tangents before them, refinement after them.

    An algorithm adds its parameters, checks them in `_check_parameters`, and embeds in `_embed`.
    """

    REFINED_FIRST: ClassVar[bool] = True
    """Whether an embedding must be refined before one can see that it cannot lie flat."""

    # Parameters, set by the constructor of each algorithm.
    tangent_neighbors: int | None
    refine: Refine | None
    objective: Literal["R_N", "R"]
    refine_max_iter: int
    refine_tol: float
    cut: Literal["auto"] | bool

    # What a fit learns.
    refinement_: Refinement | None
    n_iter_: int
    tangent_neighbors_: int
    cut_pairs_: Indices
    cut_: npt.NDArray[np.bool_]
    seams_: list[Seam]
    orientable_: bool | None

    # What an algorithm does itself --------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.tangent_neighbors is not None:
            as_count(self.tangent_neighbors, "tangent_neighbors")
        check_choice(self.refine, "refine", REFINEMENTS)
        check_choice(self.objective, "objective", OBJECTIVES)
        as_count(self.refine_max_iter, "refine_max_iter", least=0)
        if not isinstance(self.cut, bool) and self.cut != "auto":
            raise ValueError(f"cut = {self.cut!r} is unknown: use 'auto', True or False")
        if not self.refine_tol >= 0:
            raise ValueError(f"refine_tol = {self.refine_tol} is out of range: it must be at least 0")

    def _embed(
        self, x: Matrix, net: _core.Net | None, watch: Progress, near: Renumbered | None
    ) -> tuple[Array, dict[str, Any]]:
        """Return an embedding, its components not yet laid out, and a trace.

        Tangents are those of the `net`, if there is one, else those of the neighbourhoods. Points may be
        renumbered.
        """
        raise NotImplementedError

    def _refinement(self, net: _core.Net | None) -> Literal["global", "pointwise"] | None:
        """Return how to refine."""
        return "global" if self.refine == "auto" else self.refine

    def _plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.Plan:
        wide = self.tangent_neighbors
        return memory.Plan(
            n=n,
            q=q,
            d=as_count(self.n_components, "n_components"),
            k=k,
            itemsize=itemsize,
            tangents=None if wide is None or wide == k else wide,
            refined=self.refine is not None,
            searched=searched,
            cut=self.cut is True,
            threads=thread_count(self.n_jobs) or os.cpu_count() or 1,
        )

    # Fit ------------------------------------------------------------------------------------------------

    def _lay_flat(self, x: Matrix, k: int, watch: Progress) -> tuple[Array, dict[str, Any]]:
        near = Renumbered.of(x, self.neighborhoods_, self.n_jobs)
        if near is None:
            return self._laid_flat(x, k, watch, None)
        given = {"neighborhoods_": self.neighborhoods_, "component_labels_": self.component_labels_}
        self.neighborhoods_, self.component_labels_ = near.graph, near.rows(self.component_labels_)
        try:
            embedding, trace = self._laid_flat(near.rows(x), k, watch, near)
        except RefinementInterrupted as interrupt:
            interrupt.embedding = near.back(interrupt.embedding)
            raise
        finally:
            self.__dict__.update(given)
        self._take_back(near)
        return near.back(embedding), trace

    def _take_back(self, near: Renumbered) -> None:
        """Say of points what is known of their places."""
        self.cut_pairs_, self.cut_ = near.pairs(self.cut_pairs_), near.back(self.cut_)
        self.seams_ = near.seams(self.seams_)

    def _laid_flat(
        self, x: Matrix, k: int, watch: Progress, near: Renumbered | None
    ) -> tuple[Array, dict[str, Any]]:
        """Lay points flat that are numbered as they shall be."""
        self.orientable_ = self.refinement_ = None
        self.__dict__.pop("_shape", None)
        net = self._find_tangents(x, k, watch)
        embedding, trace = self._embed(x, net, watch, near)
        if self.REFINED_FIRST:
            embedding = self._refined(x, embedding, self._keep_cut(None), net, watch)
        if not self._was_stopped():
            embedding = self._cut_open(x, embedding, net, watch)
        if self.orientable_ is None and self._may_cut():
            self.orientable_ = True  # it lies flat
        return embedding, trace

    def _check_neighbors(self, n: int, given: Neighborhoods | None) -> int:
        wide = self.tangent_neighbors
        if wide is not None and wide > n - 1:
            raise ValueError(
                f"tangent_neighbors = {wide} needs at least {wide + 1} points, got n_samples = {n}"
            )
        return super()._check_neighbors(n, given)

    def _find_tangents(self, x: Matrix, k: int, watch: Progress) -> _core.Net | None:
        """Return tangents from more or fewer points than a neighbourhood holds, if such are wanted."""
        n_jobs, wide = thread_count(self.n_jobs), self.tangent_neighbors
        with watch.stage("tangents", len(x)):
            if wide is None:
                wide = _core.tangent_scale(x, self.neighborhoods_._graph, self.n_components, 0, n_jobs)
            self.tangent_neighbors_ = k if wide is None else wide
            if wide is None or wide == k:
                return None
            return _core.Net(x, self.n_components, wide, 0, n_jobs, progress=watch.progress)

    # Cut -------------------------------------------------------------------------------------------------

    def _was_stopped(self) -> bool:
        """Return whether the callback ended the refinement: then the fit ends with what there is."""
        return self.refinement_ is not None and self.refinement_.status == "stopped"

    def _tangents_of(self, x: Matrix, net: _core.Net | None, watch: Progress) -> _core.Alignment:
        """Return the tangents, and how those of neighbours are turned against each other."""
        return _core.Alignment(
            x,
            self.neighborhoods_._graph,
            net,
            self.n_components,
            thread_count(self.n_jobs),
            progress=watch.progress,
        )

    def _cut_open(self, x: Matrix, embedding: Array, net: _core.Net | None, watch: Progress) -> Array:
        """Return the embedding refined; cut and laid flat before, if the data cannot lie flat as they are.

        Refinement may lay parts of a sheet on others. They are laid down anew then, beside what the cut parts
        them from, and the sheet is refined again.
        """
        sheets, opened = self._opened(x, embedding, net, watch)
        if sheets is None or not opened.torn.any():
            if not self.REFINED_FIRST or opened.embedding is not embedding:
                embedding = self._refined(x, opened.embedding, self._keep_cut(None), net, watch)
            return embedding
        best, least = None, math.inf
        for _ in range(RELAYOUTS + 1):
            embedding = self._refined(x, opened.embedding, self._keep_cut(opened), net, watch)
            opened = replace(opened, embedding=embedding)
            with watch.stage("cut", len(x)):
                relaid, taken = sheets.relaid(opened)
                if taken < least:
                    best, least = (opened, self.refinement_, self.n_iter_), taken
                if taken < FEWEST or self._was_stopped():
                    break
                opened = sheets.settled(relaid)
        assert best is not None
        opened, self.refinement_, self.n_iter_ = best
        self._keep_cut(opened)
        self.seams_ = sheets.seams(opened)
        return opened.embedding

    def _opened(
        self, x: Matrix, embedding: Array, net: _core.Net | None, watch: Progress
    ) -> tuple[Sheets | None, Opened]:
        """Return the data cut and laid flat if they cannot lie flat as they are, and by what."""
        whole = Opened(embedding, np.zeros(len(self.neighborhoods_.indices.ravel()), dtype=bool))
        if not self._may_cut():
            return None, whole
        before = faithfulness(x, embedding, neighborhoods=self.neighborhoods_, n_jobs=self.n_jobs)
        needed = self.cut is True or self._folded(before) or self._is_bent_ring(x, before)
        if not needed and before.r_n <= SUSPICIOUS * before.lower_bound + 1e-3:
            return None, whole
        if not self._has_memory_to_cut(x):
            return None, whole
        with watch.stage("cut", len(x)):
            sheets = self._sheets(x, net, watch)
            opened = sheets.unrolled()
            if not opened.torn.any():
                return None, whole
            self.orientable_ = not self._is_one_sided(x, sheets.tangents)
            if self.cut == "auto" and self.orientable_ and not self._is_closed(x):
                closed = self._closed_again(x, sheets, opened)
                if closed is not None:
                    return None, closed
            return (sheets, opened) if self._better(x, opened, before, needed) else (None, whole)

    def _may_cut(self) -> bool:
        """Return whether to look for a cut: "auto" does where sheets laid down are kept off each other."""
        return self.cut is True or (self.cut == "auto" and self.n_components <= KEPT_APART)

    def _sheets(self, x: Matrix, net: _core.Net | None, watch: Progress) -> Sheets:
        def report(step: int, steps: int) -> None:
            if watch.report("cut", step, steps):
                raise _core.Stopped

        graph, tangents = self.neighborhoods_._graph, self._tangents_of(x, net, watch)
        n_jobs = thread_count(self.n_jobs)
        return Sheets(x, graph, tangents, self.n_components, self.objective, n_jobs, report)

    def _is_one_sided(self, x: Matrix, tangents: _core.Alignment) -> bool:
        one_sided: bool = tangents.tree(x, self.neighborhoods_._graph)["one_sided"]
        return one_sided

    def _is_closed(self, x: Matrix) -> bool:
        """Return whether the data close on themselves on all sides."""
        self._shape = self._find_shape(x)
        return self._shape is not None and self._shape[self.n_components > 1] > 0

    def _is_bent_ring(self, x: Matrix, m: Faithfulness) -> bool:
        """Return whether the data are a closed curve: bent as pictures' curves are, R_N cannot tell it."""
        return self.n_components == 1 and m.overlap > OVERLAPPING and self._is_closed(x)

    def _closed_again(self, x: Matrix, sheets: Sheets, opened: Opened) -> Opened | None:
        """Return a sheet without its cut, if it lies flat without: what was torn may be strain."""
        y = sheets.closed(opened.embedding)
        m = faithfulness(x, y, neighborhoods=self.neighborhoods_, n_jobs=self.n_jobs)
        return None if self._folded(m) else Opened(y, np.zeros_like(opened.torn))

    def _has_memory_to_cut(self, x: Matrix) -> bool:
        """Return whether there is memory for a cut, which few data need: fits do not plan for it."""
        k = _mean_size(self.neighborhoods_, len(x))
        plan = replace(self._plan(len(x), x.shape[1], k, x.dtype.itemsize, searched=True), cut=True)
        try:
            memory.check(plan.peak(), self.max_memory)
        except MemoryError as error:
            warnings.warn(f"the data are left whole, for to cut them {error}", NotFlatWarning, stacklevel=7)
            return False
        return True

    def _folded(self, m: Faithfulness) -> bool:
        """Return whether an embedding lies on itself."""
        return m.r_n > SUSPICIOUS * m.lower_bound + 1e-3 and m.overlap > OVERLAPPING

    def _better(self, x: Matrix, opened: Opened, before: Faithfulness, needed: bool) -> bool:
        """Return whether a cut does what it is for: to undo an overlap, or to lay flat what was bent."""
        if self.cut is True:
            return True
        pairs = pairs_of(self.neighborhoods_, opened.torn)
        after = faithfulness(
            x, opened.embedding, neighborhoods=self.neighborhoods_, cut=pairs, n_jobs=self.n_jobs
        )
        if needed:
            return after.r_n < before.r_n or after.overlap < before.overlap
        return after.r_n <= FLATTENED * after.lower_bound + 1e-4 and after.cut_share <= MOST_TORN

    def _keep_cut(self, opened: Opened | None) -> Neighborhoods:
        """Keep what is torn; return the neighbourhoods of the sheet."""
        self.cut_pairs_ = np.empty((0, 2), dtype=np.uint32)
        self.cut_ = np.zeros(len(self.neighborhoods_), dtype=bool)
        if opened is None or not opened.torn.any():
            self.seams_ = []
            return self.neighborhoods_
        self.cut_pairs_ = pairs_of(self.neighborhoods_, opened.torn)
        self.cut_[self.cut_pairs_.ravel()] = True
        return without(self.neighborhoods_, self.cut_pairs_)[0]

    def _find_shape(self, x: Matrix) -> tuple[int, int] | None:
        return _core.shape(x, self.neighborhoods_._graph, self.n_components, thread_count(self.n_jobs))

    @property
    def _surface(self) -> Surface:
        """What kind of surface the data lie on; their shape is found at the first look."""
        check_is_fitted(self)
        if self.n_components > 2:
            return Surface.told(self.n_components, self.orientable_, None)
        if not hasattr(self, "_shape"):
            self._shape = self._find_shape(self.X_fit_)
        return Surface.told(self.n_components, self.orientable_, self._shape)

    @property
    def closed_(self) -> bool | None:
        """Whether the surface has no rim."""
        return self._surface.closed

    @property
    def euler_characteristic_(self) -> int | None:
        """The Euler characteristic of the surface, where it can be told."""
        return self._surface.euler

    @property
    def surface_(self) -> str:
        """What the surface is, in a few words."""
        return self._surface.sentence()

    def _refined(
        self, x: Matrix, embedding: Array, graph: Neighborhoods, net: _core.Net | None, watch: Progress
    ) -> Array:
        self.refinement_, self.n_iter_ = None, 0
        method = self._refinement(net)
        if method is None:
            return embedding
        with watch.stage("refine"):
            self.refinement_ = refine(
                x,
                embedding,
                neighborhoods=graph,
                method=method,
                objective=self.objective,
                max_iter=self.refine_max_iter,
                tol=self.refine_tol,
                n_jobs=self.n_jobs,
                _watch=watch,
            )
        self.n_iter_ = self.refinement_.n_iter
        return self.refinement_.embedding

    def _carry(self, source: Matrix, target: Matrix, new: Matrix, lists: Indices) -> tuple[Array, Array]:
        """Carry new points by those of their neighbours that no cut parts from the nearest."""
        if source is target or len(getattr(self, "cut_pairs_", ())) == 0:
            return super()._carry(source, target, new, lists)
        spacing = _core.spacing(self.X_fit_, self.neighborhoods_._graph, thread_count(self.n_jobs))
        beside = same_side(source, target, lists, spacing)
        order = np.argsort(~beside, axis=1, kind="stable")
        sorted_lists = np.take_along_axis(lists, order, axis=1)
        counts = beside.sum(axis=1)
        placed, errors = np.empty((len(new), target.shape[1])), np.empty(len(new))
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            own = np.ascontiguousarray(sorted_lists[rows, :count])
            placed[rows], errors[rows] = super()._carry(source, target, new[rows], own)
        return placed, errors

    def _keep(self, x: Matrix, embedding: Array, k: int) -> None:
        super()._keep(x, embedding, k)
        if self.refinement_ is not None:
            self.refinement_ = replace(self.refinement_, embedding=self.embedding_)


class GreedyProcrustes(_Embedding):
    """Greedy Procrustes (Goldberg & Ritov 2009, section 4.1): one neighbourhood after the other laid down.

    Begins with one neighbourhood and joins, at each step, the one that overlaps most with what is laid
    down already, turned so that the overlap fits best. Takes O(n) steps after the search for neighbours:
    made for large data. Where the surface can be laid flat, `faithfulness_.r_n` reaches the lower bound.

    Parameters
    ----------
    n_components : int, default 2
        Dimension d of the embedding.
    n_neighbors : int, default 12
        How many other points a neighbourhood holds. None means 12, or all others where there are fewer.
    n_init : int, default 4
        From how many points to begin; the embedding of least R_N is kept, for each component.
    tangent : {"neighborhood", "overlap"}
        Whether neighbourhoods are turned within their tangents, found from all their points, or, as in
        the paper, by the overlap alone.
    tangent_neighbors : int, optional
        Find the tangents from so many neighbours. By default from those of the graph, unless noise hides
        the tangent from them: then from as many more as are needed.
    start : int, optional
        The point to begin from; random by default.
    refine : {"auto", "global", "pointwise", None}
        How the embedding is refined; see :func:`unbend.refine`. "auto" is "global".
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
    disconnected : {"separate", "error"}
        What to do where the neighbourhoods fall into several components: embed each by itself and lay
        them side by side, with a :class:`DisconnectedWarning`; or raise a ValueError.
    random_state : int, Generator or RandomState, optional
        Where the starts are drawn from. The same number gives the same bits.
    n_jobs : int, optional
        Number of threads; all by default. The result is the same for any number.
    verbose : int, default 0
        1 shows a line for each stage on standard error, with its progress and the time left.
    callback : callable, optional
        Called as ``callback(stage, done, total, best)`` about every 20 ms, where `best` is the least
        objective so far or None. When it returns True the fit stops: with :class:`unbend.Stopped` before
        there is an embedding, in the refinement with the best embedding so far, which is then measured.
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
    n_iter_ : int
        Steps of the refinement.
    refinement_ : Refinement or None
        What the refinement did.
    trace_ : dict
        How the greedy steps went: "r_n" of every start, where there are several; which start was "kept"
        for each component; and the "traces" of all starts: their "steps", the points of all "overlap"
        together, and how often one had to wait ("waits"), was "forced", or came from the "other_side".
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
    >>> gp = ub.GreedyProcrustes(n_components=2, n_neighbors=12, random_state=0).fit(X)
    >>> gp.embedding_.shape
    (2000, 2)
    >>> gp.faithfulness_.r_n < 1.05 * gp.faithfulness_.lower_bound
    True
    >>> bool((gp.transform(X[:5]) == gp.embedding_[:5]).all())
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        n_neighbors: int | None = None,
        *,
        n_init: int = 4,
        tangent: Literal["neighborhood", "overlap"] = "neighborhood",
        tangent_neighbors: int | None = None,
        start: int | None = None,
        refine: Refine | None = "auto",
        objective: Literal["R_N", "R"] = "R_N",
        refine_max_iter: int = 60,
        refine_tol: float = 1e-3,
        neighbors_method: SearchMethod = "auto",
        neighbors_recall: float = DEFAULT_RECALL,
        cut: Literal["auto"] | bool = "auto",
        disconnected: Literal["separate", "error"] = "separate",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        max_memory: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.tangent = tangent
        self.tangent_neighbors = tangent_neighbors
        self.start = start
        self.refine = refine
        self.objective = objective
        self.refine_max_iter = refine_max_iter
        self.refine_tol = refine_tol
        self.neighbors_method = neighbors_method
        self.neighbors_recall = neighbors_recall
        self.cut = cut
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.max_memory = max_memory

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_count(self.n_init, "n_init")
        check_choice(self.tangent, "tangent", TANGENTS)
        if self.start is not None:
            as_count(self.start, "start", least=0)
        if self.tangent == "overlap" and self.tangent_neighbors is not None:
            raise ValueError(
                f"tangent_neighbors = {self.tangent_neighbors} goes with tangent = 'neighborhood' only: "
                "overlaps have no tangents of their own"
            )

    def _plan(self, n: int, q: int, k: int, itemsize: int, searched: bool) -> memory.Plan:
        plan = super()._plan(n, q, k, itemsize, searched)
        return replace(plan, starts=as_count(self.n_init, "n_init"))

    def _in_words(self) -> str:
        starts = f"the best of {self.n_init} starts" if self.n_init > 1 else "one start"
        return f"greedy Procrustes ({starts})"

    def _find_tangents(self, x: Matrix, k: int, watch: Progress) -> _core.Net | None:
        if self.tangent == "neighborhood":
            return super()._find_tangents(x, k, watch)
        self.tangent_neighbors_ = k
        return None

    def _embed(
        self, x: Matrix, net: _core.Net | None, watch: Progress, near: Renumbered | None
    ) -> tuple[Array, dict[str, Any]]:
        start = self.start
        if start is not None and start >= len(x):
            raise ValueError(f"start = {start} is out of range: there are {len(x)} points")
        if start is not None and near is not None:
            start = near.place(start)
        with watch.stage("greedy", self.n_init * len(x)):
            found = _core.greedy(
                x,
                self.neighborhoods_._graph,
                net,
                self.n_components,
                self.tangent,
                self.n_init,
                start,
                seed_from(self.random_state),
                thread_count(self.n_jobs),
                progress=watch.progress,
                names=None if near is None else near.order,
            )
        if len(found["r_n"]):
            watch.best = float(np.min(found["r_n"]))
        embedding = found.pop("embedding").reshape(len(x), self.n_components)
        del found["labels"]  # those of the neighbourhoods
        return embedding, found


def _mean_size(given: Neighborhoods, n: int) -> int:
    """Return how many neighbours a point has, if these are neighbourhoods of `n` points."""
    if not isinstance(given, Neighborhoods):
        raise TypeError(
            f"neighborhoods must be unbend.Neighborhoods, got {type(given).__name__}: "
            "see Neighborhoods.from_knn and Neighborhoods.from_graph"
        )
    if len(given) != n:
        raise ValueError(f"X has n_samples = {n}, but neighborhoods has {len(given)}")
    return given.n_neighbors or max(1, round(float(given.sizes.mean())))


def _same(a: Matrix, b: Matrix) -> bool:
    """Return whether two arrays are one, or hold the same points."""
    return a is b or (a.shape == b.shape and bool(np.array_equal(a, b)))
