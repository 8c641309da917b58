"""Neighbors found by any transformer of a pipeline, together with the data they are neighbors of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.utils.validation import _num_samples, check_is_fitted, check_memory

from ..graph.neighbors import DEFAULT_NEIGHBORS, Neighborhoods

__all__ = ["WithNeighbors"]


class WithNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An embedding on a graph that a transformer finds: scikit-learn's, pynndescent's or another.

    In a pipeline, ``KNeighborsTransformer`` hands on a sparse matrix of distances in the place of the data. But
    an embedding needs the data as well: tangents are directions in their space, and R_N compares shapes there.
    Here the transformer is fitted to the data for its graph, and the embedding to both.

    Parameters
    ----------
    neighbors : transformer, optional
        Its ``fit_transform(X)`` returns a sparse graph of distances. By default
        ``KNeighborsTransformer(n_neighbors=12)`` of scikit-learn. A point that lists itself is left out.
    embedding : estimator, optional
        An estimator of this package whose `fit` takes `neighborhoods`. By default ``ProcrustesAlignment()``.
    memory : str or object of joblib.Memory, optional
        Cache for graphs, so that another `embedding` of the same data need not search again.

    Attributes
    ----------
    neighbors_, embedding_model_ : estimators
        Copies of the above, fitted.
    embedding_ : ndarray of shape (n, d)
        The embedding of the data.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import unbend as ub
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> embedding = ub.WithNeighbors(KNeighborsTransformer(n_neighbors=10), ub.ProcrustesAlignment())
    >>> make_pipeline(StandardScaler(), embedding).fit_transform(X).shape
    (2000, 2)
    """

    def __init__(self, neighbors: Any = None, embedding: Any = None, *, memory: Any = None) -> None:
        self.neighbors = neighbors
        self.embedding = embedding
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> WithNeighbors:
        """Find the neighbors of the data, of shape (n, q), then the embedding; `y` is ignored."""
        from .procrustes import ProcrustesAlignment

        finder = _finder(X) if self.neighbors is None else self.neighbors
        model = ProcrustesAlignment() if self.embedding is None else self.embedding
        finder, graph = check_memory(self.memory).cache(_found)(clone(finder), X)
        model = clone(model).fit(X, neighborhoods=Neighborhoods.from_graph(graph))
        self.neighbors_, self.embedding_model_, self.embedding_ = finder, model, model.embedding_
        return self

    def fit_transform(self, X: Any, y: Any = None) -> npt.NDArray[np.float64]:
        """Embed the data, and return the embedding, of shape (n, d)."""
        return self.fit(X).embedding_  # type: ignore[no-any-return]

    def transform(self, X: Any) -> Any:
        """Place points, of shape (m, q), in the embedding, as the `transform` of its estimator does."""
        check_is_fitted(self)
        return np.asarray(self.embedding_model_.transform(X))

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the data."""
        check_is_fitted(self)
        return int(self.embedding_model_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns of the data."""
        check_is_fitted(self)
        return self.embedding_model_.feature_names_in_

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def _finder(X: Any) -> KNeighborsTransformer:
    """Return a search for as many neighbors as estimators take by default."""
    return KNeighborsTransformer(n_neighbors=max(1, min(DEFAULT_NEIGHBORS, _num_samples(X) - 1)))


def _found(finder: Any, X: Any) -> tuple[Any, Any]:
    """Return a transformer, fitted, and its graph."""
    graph = finder.fit_transform(X)
    return finder, graph
