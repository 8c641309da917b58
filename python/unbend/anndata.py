"""Embeddings and measures of annotated data, as single cells come: within an AnnData."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph.neighbors import Neighborhoods
from .judge.quality import Quality
from .judge.quality import quality as _quality

__all__ = ["embed", "quality"]

NEIGHBORS = "neighbors"
"""Where scanpy says what its graph is called, and how it was made."""


def embed(
    adata: Any,
    use_rep: str = "X_pca",
    key_added: str = "X_psa",
    *,
    estimator: Any = None,
    neighbors_key: str | None = None,
) -> Any:
    """Embed the observations of an AnnData, and put the embedding beside them.

    Parameters
    ----------
    adata : AnnData
        Gets ``obsm[key_added]``, and in ``uns[key_added]`` how it was made and how faithful it is.
    use_rep : str, default "X_pca"
        Which array of ``obsm`` are the data; "X" takes ``adata.X``, which must be dense.
    key_added : str, default "X_psa"
        What the embedding is called. ``scanpy.pl.embedding(adata, "X_psa")`` draws it.
    estimator : estimator, optional
        Any of this package; by default ``ProcrustesAlignment(random_state=0)``. It is fitted.
    neighbors_key : str, optional
        Use the neighbours that are in `adata` already: "neighbors" for those of ``scanpy.pp.neighbors``. They
        must have been found in `use_rep`. By default neighbours are searched, exactly.

    Returns
    -------
    estimator
        The fitted one, which can place further observations.

    Examples
    --------
    >>> import anndata, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(2000, random_state=0)
    >>> cells = anndata.AnnData(obsm={"X_pca": X})
    >>> model = ub.anndata.embed(cells, use_rep="X_pca", key_added="X_psa")
    >>> cells.obsm["X_psa"].shape, bool(cells.uns["X_psa"]["r_n"] < 0.1)
    ((2000, 2), True)
    """
    from . import __version__

    if key_added == "X":
        raise ValueError("key_added = 'X' is the data themselves: choose another name")
    if estimator is None:
        from .estimators.align import ProcrustesAlignment

        estimator = ProcrustesAlignment(random_state=0)
    x = _data(adata, use_rep)
    if neighbors_key is None:
        estimator.fit(x)
    else:
        estimator.fit(x, neighborhoods=_graph(adata, use_rep, neighbors_key))
    adata.obsm[key_added] = estimator.embedding_
    record = {"method": type(estimator).__name__, "use_rep": use_rep, "unbend": __version__}
    if neighbors_key is not None:
        record["neighbors_key"] = neighbors_key
    if hasattr(estimator, "faithfulness_"):
        m = estimator.faithfulness_
        record |= {"r_n": m.r_n, "r_c": m.r_c, "lower_bound": m.lower_bound}
    adata.uns[key_added] = record | {"params": _storable(estimator.get_params(deep=False))}
    return estimator


def quality(
    adata: Any,
    basis: str = "X_umap",
    use_rep: str = "X_pca",
    *,
    neighbors_key: str | None = None,
    key_added: str | None = None,
    **options: Any,
) -> Quality:
    """Measure an embedding in an AnnData in every way that :func:`unbend.quality` knows.

    Parameters
    ----------
    adata : AnnData
        Is not changed, unless `key_added` is given.
    basis : str, default "X_umap"
        Which array of ``obsm`` is the embedding.
    use_rep : str, default "X_pca"
        Which array of ``obsm`` are the data; "X" takes ``adata.X``, which must be dense.
    neighbors_key : str, optional
        Use the neighbours that are in `adata` already, as for :func:`embed`.
    key_added : str, optional
        Put the error in shape (R_C) of each observation into this column of ``obs``, for instance to colour
        by it; NaN where it was not measured.
    **options
        `measures`, `n_neighbors`, `n_centers`, `random_state` and the others, as for :func:`unbend.quality`.

    Returns
    -------
    Quality

    Examples
    --------
    >>> import anndata, unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    >>> cells = anndata.AnnData(obsm={"X_pca": X, "X_flat": coordinates})
    >>> found = ub.anndata.quality(cells, basis="X_flat", key_added="r_c")
    >>> found.kind, len(cells.obs["r_c"])
    ('faithful', 2000)
    """
    x, y = _data(adata, use_rep), _data(adata, basis)
    if neighbors_key is not None:
        options = {"neighborhoods": _graph(adata, use_rep, neighbors_key), **options}
    found = _quality(x, y, **options)
    if key_added is not None:
        if "r_c" not in found.per_point:
            raise ValueError(f"key_added = {key_added!r} needs R_C, which was not measured")
        errors = np.full(len(x), np.nan)
        errors[found.centers] = found.per_point["r_c"]
        adata.obs[key_added] = errors
    return found


def _data(adata: Any, name: str) -> Any:
    if not hasattr(adata, "obsm"):
        raise TypeError(f"adata must be an AnnData, got {type(adata).__name__}")
    if name == "X":
        if adata.X is None:
            raise ValueError("adata.X is None: choose an array of obsm")
        return adata.X[:] if adata.isbacked else adata.X
    if name not in adata.obsm:
        held = ", ".join(adata.obsm) or "nothing"
        raise ValueError(f"obsm has no {name!r}: it holds {held}")
    return adata.obsm[name]


def _graph(adata: Any, use_rep: str, key: str) -> Neighborhoods:
    """Return the neighbours that are kept in an AnnData, if they are neighbours in these data."""
    if key not in adata.uns:
        raise ValueError(f"uns has no {key!r}: run scanpy.pp.neighbors first, or leave neighbors_key out")
    said = adata.uns[key]
    found_in = said.get("params", {}).get("use_rep", use_rep)
    if found_in != use_rep:
        raise ValueError(f"the neighbours under {key!r} were found in {found_in}, not in {use_rep}")
    return Neighborhoods.from_graph(adata.obsp[said.get("distances_key", "distances")])


def _storable(parameters: dict[str, Any]) -> dict[str, Any]:
    """Leave out what an .h5ad file cannot hold: nothing, functions and generators."""
    return {name: value for name, value in parameters.items() if isinstance(value, bool | int | float | str)}
