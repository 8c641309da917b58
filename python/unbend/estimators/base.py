"""What every estimator shares: fits that succeed or change nothing, files, and scikit-learn's rules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..core import memory
from ..core.arrays import Matrix, as_count, as_points, read_in_blocks
from ..core.progress import Callback

if TYPE_CHECKING:
    from pathlib import Path

Array = npt.NDArray[np.float64]
Placed = tuple[Array, Array]
"""Points, and the error of each."""
Self = TypeVar("Self", bound="_Estimator")


class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What every estimator shares, whether it needs neighbours or not.

    One derived from it fits in `_fit`, between the lines of `_all_or_nothing`; places points in `_place`,
    finds them again in `_find`, and says in `_estimate` what a fit holds in memory.
    """

    ROWS: ClassVar[tuple[str, ...]] = ("embedding_",)
    """What is learnt of each point: as many rows as there are points."""

    # Parameters, set by the constructor of each algorithm.
    n_components: Any
    verbose: int
    callback: Callback | None
    max_memory: float | None

    # What a fit learns.
    embedding_: Array
    timings_: dict[str, float]
    n_features_in_: int

    def transform(self, X: Any, return_error: bool = False) -> Any:
        """Place points in the embedding.

        Parameters
        ----------
        X : array-like of shape (m, q)
            Points.
        return_error : bool, default False
            Whether to return as well how far off each is.

        Returns
        -------
        ndarray of shape (m, d), or a pair of it and an ndarray of shape (m,)
        """
        check_is_fitted(self)
        placed, errors = self._place(self._validated(X, reset=False))
        return (placed, errors) if return_error else placed

    def inverse_transform(self, X: Any, return_error: bool = False) -> Any:
        """Find the points of the data space that belong to points of the embedding.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Points of the embedding.
        return_error : bool, default False
            Whether to return as well how far off each is.

        Returns
        -------
        ndarray of shape (m, q), or a pair of it and an ndarray of shape (m,)
        """
        check_is_fitted(self)
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
            Of the data.

        Returns
        -------
        int

        Examples
        --------
        >>> import unbend as ub
        >>> ub.GreedyProcrustes().memory_estimate(1_000_000, 3) < 1.5e9
        True
        """
        n, q = as_count(n, "n"), as_count(q, "q")
        return self._estimate(n, q, np.dtype(dtype).itemsize).peak()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted estimator to one file, from which :func:`unbend.load` makes it again.

        The file is a zip archive of ``.npy`` arrays and a ``model.json``: nothing in it is run when it is
        loaded, and other tools can read it. Functions and generators cannot be kept that way: a
        `callback`, and a `random_state` that is no number, are saved as None. An older file is replaced,
        in one step.

        Parameters
        ----------
        path : str or path-like
            Where it shall be. The folder must exist.

        Returns
        -------
        Path
            Where it is.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import unbend as ub
        >>> X, _ = ub.datasets.swiss_roll(500, random_state=0)
        >>> model = ub.GreedyProcrustes(random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = model.save(pathlib.Path(folder, "roll.unbend"))
        ...     bool((ub.load(path).embedding_ == model.embedding_).all())
        True
        """
        from .models import save

        check_is_fitted(self)
        return save(self, path)

    # What an estimator does itself --------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse what makes no sense whatever the data are."""
        as_count(self.n_components, "n_components")

    def _place(self, x: Matrix) -> Placed:
        """Return the images of points, and the error of each."""
        raise NotImplementedError

    def _find(self, y: Matrix) -> Placed:
        """Return the points that have such images, and the error of each."""
        raise NotImplementedError

    def _estimate(self, n: int, q: int, itemsize: int) -> memory.Stages:
        """Return what a fit with these parameters holds in memory."""
        raise NotImplementedError

    def _in_words(self) -> str:
        """Return what the algorithm is called, for people."""
        raise NotImplementedError

    def _error_in_words(self, inverse: bool) -> str:
        """Return what errors of `transform`, or of its inverse, are errors of."""
        return "of the neighbours of a point, in units of the data"

    def _record(self) -> dict[str, Any]:
        """Return what the algorithm has to say of its result, ready for JSON."""
        return {}

    def _check_shapes(self) -> None:
        """Refuse what was learnt, if its parts do not belong together."""
        lengths = {name: len(getattr(self, name)) for name in self.ROWS}
        if len(set(lengths.values())) != 1:
            said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"its parts differ in length: {said}")

    # Fit ------------------------------------------------------------------------------------------------

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Take back what was learnt if something fails, Ctrl-C included."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _validated(self, X: Any, reset: bool, finite: bool = False) -> Matrix:
        """Return `X` as scikit-learn wants it checked; NaN is looked for later, to say where it is."""
        if issparse(X) and X.shape[0] == X.shape[1]:
            raise TypeError(
                f"X is a sparse matrix of shape {X.shape}: if it is a graph of neighbours, data are needed "
                "as well, as in fit(X, neighborhoods=Neighborhoods.from_graph(graph)), or in a pipeline "
                "WithNeighbors; if it holds the points, pass a dense array"
            )
        least = 2 if reset else 1
        return as_points(
            validate_data(
                self,
                read_in_blocks(X),
                reset=reset,
                dtype=[np.float64, np.float32],
                ensure_all_finite=finite,
                ensure_min_samples=least,
            )
        )

    # scikit-learn ---------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def check_choice(value: object, name: str, choices: tuple[object, ...]) -> None:
    """Refuse what is none of the choices."""
    if value not in choices:
        known = ", ".join(map(repr, choices))
        raise ValueError(f"{name} = {value!r} is unknown: use one of {known}")
