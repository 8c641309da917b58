"""Parts that every estimator shares: fits that succeed or change nothing, files, and scikit-learn's rules."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..core.arrays import Matrix, are_equal, as_count, as_points, read_in_blocks, refuse_changed, refuse_shape
from ..core.caller import warn
from ..core.parameters import checked, documented
from ..core.progress import Progress
from . import archive
from .tables.attributes import ATTRIBUTES
from .tables.parameters import PARAMETERS

if TYPE_CHECKING:
    from pathlib import Path

Array = npt.NDArray[np.float64]
Placed = tuple[Array, Array]
"""Points, and the error of each."""
Self = TypeVar("Self", bound="Estimator")


class EqualPointsWarning(UserWarning):
    """All points of the data are equal, so that there is nothing to embed.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, unbend as ub
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     _ = ub.PCA().fit(np.ones((100, 3)))
    >>> found[0].category is ub.EqualPointsWarning
    True
    """


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all estimators, with or without neighbors."""

    ROWS: ClassVar[tuple[str, ...]] = ("embedding_",)
    """Attributes with one row per point."""

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Embed the data.

        A fit that fails, or is stopped or interrupted, leaves the estimator unchanged.

        Parameters
        ----------
        X : array-like of shape (n, q)
            Input data, one point per row.
        y : object
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, an entry is not finite, or there are too few points.
        MemoryError
            If the fit needs more memory than `max_memory`; this is checked before the fit starts.
        Stopped
            If `callback` stops the fit before there is an embedding.
        """
        return self._fitted(X)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the data, and return the embedding, of shape (n, d). The parameters are those of `fit`."""
        embedding: Array = self.fit(X).embedding_
        return embedding

    def transform(self, X: Any, return_error: bool = False) -> Any:
        """Place points in the embedding.

        Estimators on a graph carry each point by the motion that fits its neighbors among the fitted points to
        their images, and place the fitted points exactly where the fit placed them. The others apply their map.

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points.
        return_error : bool, default False
            If True, return the error of each point as well: the root mean square distance of its neighbors
            from where the motion takes them, or as the class says. 0 is perfect.

        Returns
        -------
        ndarray of shape (m, d), or a pair of it and an ndarray of shape (m,)
        """
        check_is_fitted(self)
        placed, errors = self._place(self._validated(X, reset=False))
        return (placed, errors) if return_error else placed

    def inverse_transform(self, X: Any, return_error: bool = False) -> Any:
        """Find the points of the data space that belong to points of the embedding: `transform` reversed.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Points of the embedding.
        return_error : bool, default False
            If True, return the error of each point as well.

        Returns
        -------
        ndarray of shape (m, q), or a pair of it and an ndarray of shape (m,)
        """
        check_is_fitted(self)
        refuse_shape(X)
        y = as_points(check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False))
        d = self.embedding_.shape[1]
        if y.shape[1] != d:
            raise ValueError(f"X has {y.shape[1]} columns, but the embedding has {d}")
        found, errors = self._find(y)
        return (found, errors) if return_error else found

    def memory_estimate(self, n: int, q: int, dtype: npt.DTypeLike = np.float64) -> int:
        """Return the bytes that a fit needs at most, besides the data.

        Parameters
        ----------
        n, q : int
            Number of points and their dimension.
        dtype : dtype, default float64
            Type of the data.

        Returns
        -------
        int
        """
        self._check()
        return self._estimate(as_count(n, "n"), as_count(q, "q"), np.dtype(dtype).itemsize)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted estimator to one file, which :func:`unbend.load` reads.

        The file is a zip archive of ``.npy`` arrays and a ``model.json``: nothing in it is run when it is
        loaded, and other tools can read it. A `callback`, and a `random_state` that is a generator, cannot be
        saved and become None. An existing file is replaced, in one step.

        Parameters
        ----------
        path : str or path-like
            Path of the file. Its folder must exist.

        Returns
        -------
        Path
            Path of the file.
        """
        check_is_fitted(self)
        return archive.save(self, path)

    # An algorithm defines or extends these -------------------------------------------------------------

    def _fit(self, X: Any, progress: Progress, **known: Any) -> None:
        """Fit the data, and set all attributes but `timings_`."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raise a ValueError if a parameter is out of range, or two do not go together."""
        checked(self)

    def _place(self, x: Matrix) -> Placed:
        """Return the images of points, and the error of each."""
        raise NotImplementedError

    def _find(self, y: Matrix) -> Placed:
        """Return the points that have such images, and the error of each."""
        raise NotImplementedError

    def _estimate(self, n: int, q: int, itemsize: int) -> int:
        """Return the bytes that a fit with these parameters needs at most."""
        raise NotImplementedError

    def _check_shapes(self) -> None:
        """Raise a ValueError if attributes that were read from a file do not belong together."""
        rows = {name: getattr(self, name) for name in self.ROWS}
        lengths = {name: part.shape[0] if issparse(part) else len(part) for name, part in rows.items()}
        if len(set(lengths.values())) != 1:
            said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"its parts differ in length: {said}")

    # Fit -----------------------------------------------------------------------------------------------

    def _keep(self, given: dict[str, Any]) -> None:
        """Store the parameters that the constructor was given, unchanged."""
        for name in given.keys() - {"self", "__class__"}:
            setattr(self, name, given[name])

    def _fitted(self: Self, X: Any, **known: Any) -> Self:
        """Return the fitted estimator; restore its earlier attributes if the fit fails or is interrupted."""
        return self._done(X, lambda progress: self._fit(X, progress, **known))

    def _done(self: Self, X: Any, work: Callable[[Progress], None]) -> Self:
        """Return the estimator after work on it that sets all attributes, or with those it had if that fails."""
        before = dict(self.__dict__)
        try:
            self._check()
            progress = Progress(self.verbose, self.callback, data=X)
            work(progress)
            self._check_finite(X)
            self.timings_ = progress.timings
        except BaseException as error:
            self.__dict__.clear()
            self.__dict__.update(before)
            if isinstance(error, RuntimeError | ArithmeticError | np.linalg.LinAlgError):
                refuse_changed(X, error)
            raise
        return self

    def _check_finite(self, X: Any) -> None:
        """Raise an error if the embedding holds NaN: that of finite data never does."""
        if not np.isfinite(self.embedding_).all():
            refuse_changed(X)
            raise RuntimeError("the embedding of finite data holds NaN: please report this, with the data")

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Matrix:
        """Return `X` checked as scikit-learn requires; NaN is looked for later, to say where it is."""
        if issparse(X) and X.shape[0] == X.shape[1]:
            raise TypeError(
                f"X is a sparse matrix of shape {X.shape}: if it is a graph of neighbors, data are needed "
                "as well, as in fit(X, neighborhoods=Neighborhoods.from_graph(graph)), or in a pipeline "
                "WithNeighbors; if it holds the points, pass a dense array"
            )
        x = validate_data(
            self,
            read_in_blocks(X),
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            ensure_min_samples=2 if reset else 1,
        )
        return as_points(x)

    # scikit-learn ---------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def warn_if_equal(x: Matrix) -> None:
    """Warn if all points are equal."""
    if are_equal(x):
        warn(
            f"all {len(x):,} points of X are equal, so their embedding says nothing: look for constant columns "
            "and for values that were filled in",
            EqualPointsWarning,
        )


Kind = TypeVar("Kind", bound=type[Estimator])

ESTIMATORS: dict[str, type[Estimator]] = {}
"""All estimators that were imported, by the name of their class."""


def estimator(attributes: Sequence[str], scopes: Sequence[str] = ()) -> Callable[[Kind], Kind]:
    """Return a decorator that registers an estimator and completes its docstring from the tables."""

    def decorate(kind: Kind) -> Kind:
        ESTIMATORS[kind.__name__] = kind
        return documented(PARAMETERS, ATTRIBUTES, scopes=scopes, attributes=attributes)(kind)

    return decorate
