"""Embeddings and measures of the observations of an AnnData.

Examples
--------
>>> import anndata, unbend as ub
>>> X, _ = ub.datasets.swiss_roll(500, random_state=0)
>>> cells = anndata.AnnData(obsm={"X_pca": X})
>>> model = ub.anndata.embed(cells)
>>> cells.obsm["X_psa"].shape
(500, 2)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph.neighbors import Neighborhoods
from .judge.quality import Quality
from .judge.quality import quality as _quality

__all__ = ["embed", "quality"]


def embed(
    adata: Any,
    use_rep: str = "X_pca",
    key_added: str = "X_psa",
    *,
    estimator: Any = None,
    neighbors_key: str | None = None,
    copy: bool = False,
) -> Any:
    """Embed the observations of an AnnData, and store the embedding in it.

    It is called as the functions of ``scanpy.external`` are.

    Parameters
    ----------
    adata : AnnData
        Gets the embedding in ``obsm[key_added]``, and in ``uns[key_added]`` how it was made and how faithful
        it is.
    use_rep : str, default "X_pca"
        Array of ``obsm`` with the input data; "X" takes ``adata.X``, which must be dense.
    key_added : str, default "X_psa"
        Name of the embedding. ``scanpy.pl.embedding(adata, "X_psa")`` draws it.
    estimator : estimator, optional
        Any estimator of this package, which is fitted; by default ``ProcrustesAlignment(random_state=0)``.
    neighbors_key : str, optional
        Neighbors in `adata` to use: "neighbors" for those of ``scanpy.pp.neighbors``. They must have been
        found in `use_rep`. By default neighbors are searched, exactly.
    copy : bool, default False
        If True, store the embedding in a copy, and return the copy.

    Returns
    -------
    estimator or AnnData
        The fitted estimator, which can place further observations; the copy if `copy` is True.

    Examples
    --------
    >>> import anndata, unbend as ub
    >>> X, _ = ub.datasets.swiss_roll(1000, random_state=0)
    >>> cells = anndata.AnnData(obsm={"X_pca": X})
    >>> model = ub.anndata.embed(cells, use_rep="X_pca", key_added="X_psa")
    >>> cells.obsm["X_psa"].shape, bool(cells.uns["X_psa"]["r_n"] < 0.1)
    ((1000, 2), True)
    >>> changed = ub.anndata.embed(cells, key_added="X_gp", estimator=ub.GreedyProcrustes(), copy=True)
    >>> "X_gp" in changed.obsm, "X_gp" in cells.obsm
    (True, False)
    """
    from . import __version__

    if key_added == "X":
        raise ValueError("key_added = 'X' is the data themselves: choose another name")
    if estimator is None:
        from .estimators.procrustes import ProcrustesAlignment

        estimator = ProcrustesAlignment(random_state=0)
    x = _data(adata, use_rep)
    options = {} if neighbors_key is None else {"neighborhoods": _graph(adata, use_rep, neighbors_key)}
    estimator.fit(x, **options)
    target = adata.copy() if copy else adata
    target.obsm[key_added] = estimator.embedding_
    record = {"method": type(estimator).__name__, "use_rep": use_rep, "unbend": __version__}
    if neighbors_key is not None:
        record["neighbors_key"] = neighbors_key
    if hasattr(estimator, "faithfulness_"):
        m = estimator.faithfulness_
        record |= {"r_n": m.r_n, "r_c": m.r_c, "lower_bound": m.lower_bound}
    parameters = estimator.get_params(deep=False).items()
    storable = {name: value for name, value in parameters if isinstance(value, bool | int | float | str)}
    target.uns[key_added] = record | {"params": storable}  # An .h5ad file holds no None and no functions.
    return target if copy else estimator


def quality(
    adata: Any,
    basis: str = "X_umap",
    use_rep: str = "X_pca",
    *,
    neighbors_key: str | None = None,
    key_added: str | None = None,
    **options: Any,
) -> Quality:
    """Measure an embedding in an AnnData by all measures of :func:`unbend.quality`.

    Parameters
    ----------
    adata : AnnData
        Annotated data. It is not changed, unless `key_added` is given.
    basis : str, default "X_umap"
        Array of ``obsm`` with the embedding.
    use_rep, neighbors_key
        As for :func:`embed`.
    key_added : str, optional
        Column of ``obs`` to fill with the error in shape (R_C) of each observation, for instance to color by
        it; NaN for those that were not measured.
    **options
        `measures`, `n_neighbors`, `n_centers`, `random_state` and others, as for :func:`unbend.quality`.

    Returns
    -------
    Quality

    Examples
    --------
    >>> import anndata, unbend as ub
    >>> X, coordinates = ub.datasets.swiss_roll(1000, random_state=0)
    >>> cells = anndata.AnnData(obsm={"X_pca": X, "X_flat": coordinates})
    >>> found = ub.anndata.quality(cells, basis="X_flat", key_added="r_c")
    >>> found.kind, len(cells.obs["r_c"])
    ('faithful', 1000)
    """
    x, y = _data(adata, use_rep), _data(adata, basis)
    if neighbors_key is not None:
        options = {"neighborhoods": _graph(adata, use_rep, neighbors_key), **options}
    result = _quality(x, y, **options)
    if key_added is not None:
        if "r_c" not in result.per_point:
            raise ValueError(f"key_added = {key_added!r} needs R_C, which was not measured")
        errors = np.full(len(x), np.nan)
        errors[result.centers] = result.per_point["r_c"]
        adata.obs[key_added] = errors
    return result


def _data(adata: Any, name: str) -> Any:
    if not hasattr(adata, "obsm"):
        raise TypeError(f"adata must be an AnnData, got {type(adata).__name__}")
    if name == "X":
        if adata.X is None:
            raise ValueError("adata.X is None: choose an array of obsm")
        return adata.X[:] if adata.isbacked else adata.X
    if name not in adata.obsm:
        raise ValueError(f"obsm has no {name!r}: it holds {', '.join(adata.obsm) or 'nothing'}")
    return adata.obsm[name]


def _graph(adata: Any, use_rep: str, key: str) -> Neighborhoods:
    """Return the neighbors in an AnnData, if they were found in these data."""
    if key not in adata.uns:
        raise ValueError(f"uns has no {key!r}: run scanpy.pp.neighbors first, or leave neighbors_key out")
    entry = adata.uns[key]
    found_in = entry.get("params", {}).get("use_rep", use_rep)
    if found_in != use_rep:
        raise ValueError(f"the neighbors under {key!r} were found in {found_in}, not in {use_rep}")
    return Neighborhoods.from_graph(adata.obsp[entry.get("distances_key", "distances")])
