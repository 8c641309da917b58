"""Embeddings and measures within an AnnData, and .h5ad files at the prompt."""

import json
import re

import numpy as np
import pytest
import unbend as ub
from unbend.cli import main
from unbend.files import FileError, read_labels, read_points, read_values, write_points

anndata = pytest.importorskip("anndata", reason="needs anndata: pip install 'unbend[anndata]'")

N = 1500


@pytest.fixture
def cells():
    """An AnnData with a roll as its principal components, and a graph as scanpy keeps it."""
    x, coordinates = ub.datasets.swiss_roll(N, random_state=0)
    found = anndata.AnnData(
        X=x.astype(np.float32), obsm={"X_pca": x, "X_flat": coordinates, "X_shadow": x[:, :2]}
    )
    found.obsp["distances"] = ub.neighborhoods(x, 15).to_graph()
    params = {"n_neighbors": 16, "use_rep": "X_pca"}
    found.uns["neighbors"] = {"distances_key": "distances", "params": params}
    return found


def test_embed(cells):
    x = cells.obsm["X_pca"].copy()
    model = ub.anndata.embed(cells, use_rep="X_pca", key_added="X_psa")
    expected = ub.ProcrustesAlignment(random_state=0).fit(x)
    assert np.array_equal(cells.obsm["X_psa"], expected.embedding_)
    assert np.array_equal(model.embedding_, expected.embedding_)
    assert np.array_equal(cells.obsm["X_pca"], x)
    record = cells.uns["X_psa"]
    assert record["method"] == "ProcrustesAlignment"
    assert record["r_n"] == expected.faithfulness_.r_n
    assert record["params"]["n_components"] == 2


def test_embed_with_another_estimator_and_the_graph_that_is_there(cells):
    gp = ub.GreedyProcrustes(random_state=0)
    ub.anndata.embed(cells, key_added="X_gp", estimator=gp, neighbors_key="neighbors")
    assert gp.neighborhoods_.n_neighbors is None or gp.neighborhoods_.n_neighbors == 15
    assert set(gp.neighborhoods_.sizes) == {15}
    assert cells.uns["X_gp"]["neighbors_key"] == "neighbors"
    whole = ub.anndata.embed(cells, "X", "X_all", estimator=ub.PCA())
    assert whole.n_features_in_ == 3


def test_a_copy_leaves_the_original_alone(cells):
    before = sorted(cells.obsm), sorted(cells.uns)
    made = ub.anndata.embed(cells, key_added="X_pc2", estimator=ub.PCA(), copy=True)
    assert (sorted(cells.obsm), sorted(cells.uns)) == before
    assert np.array_equal(made.obsm["X_pc2"], ub.PCA().fit_transform(cells.obsm["X_pca"]))
    assert made.uns["X_pc2"]["method"] == "PCA"


def test_what_is_embedded_can_be_written(cells, tmp_path):
    ub.anndata.embed(cells)
    cells.write_h5ad(tmp_path / "a.h5ad")
    back = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert np.array_equal(back.obsm["X_psa"], cells.obsm["X_psa"])
    assert back.uns["X_psa"]["lower_bound"] == cells.uns["X_psa"]["lower_bound"]


def test_quality(cells):
    found = ub.anndata.quality(cells, basis="X_shadow", key_added="error", n_neighbors=9, random_state=0)
    expected = ub.quality(cells.obsm["X_pca"], cells.obsm["X_shadow"], n_neighbors=9, random_state=0)
    assert found.to_dict() == expected.to_dict()
    assert np.array_equal(cells.obs["error"], expected.per_point["r_c"])
    known = ub.anndata.quality(cells, basis="X_flat", neighbors_key="neighbors", measures="procrustes")
    graph = ub.neighborhoods(cells.obsm["X_pca"], 15)
    m = ub.faithfulness(cells.obsm["X_pca"], cells.obsm["X_flat"], neighborhoods=graph)
    assert known["r_n"].value == m.r_n


def test_quality_of_a_sample_leaves_gaps(cells):
    found = ub.anndata.quality(
        cells, "X_flat", n_centers=100, key_added="error", random_state=0, measures="procrustes"
    )
    assert np.flatnonzero(np.isfinite(cells.obs["error"])).tolist() == found.centers.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: ub.anndata.embed(a, "X_scvi"), "obsm has no 'X_scvi': it holds X_pca, X_flat, X_shadow"),
        (lambda a: ub.anndata.embed(a, "X_pca", "X"), "key_added = 'X' is the data"),
        (lambda a: ub.anndata.embed(a, neighbors_key="knn"), "uns has no 'knn'"),
        (
            lambda a: ub.anndata.embed(a, "X_shadow", neighbors_key="neighbors"),
            "the neighbors under 'neighbors' were found in X_pca, not in X_shadow",
        ),
        (lambda a: ub.anndata.quality(a, "X_umap"), "obsm has no 'X_umap'"),
        (lambda a: ub.anndata.quality(a, "X_flat", measures="ranks", key_added="e"), "needs R_C"),
    ],
)
def test_refused(cells, call, message):
    before = sorted(cells.obsm), sorted(cells.uns), list(cells.obs)
    with pytest.raises(ValueError, match=re.escape(message)):
        call(cells)
    assert (sorted(cells.obsm), sorted(cells.uns), list(cells.obs)) == before


def test_no_anndata():
    with pytest.raises(TypeError, match="adata must be an AnnData, got ndarray"):
        ub.anndata.embed(np.zeros((3, 3)))


# Files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_reading(cells, stored):
    assert np.array_equal(read_points(stored), cells.obsm["X_pca"])
    assert np.array_equal(read_points(f"{stored}:X_shadow"), cells.obsm["X_shadow"])
    assert np.array_equal(read_points(f"{stored}:obsm/X_shadow"), cells.obsm["X_shadow"])
    assert np.array_equal(read_points(f"{stored}:X"), cells.X)
    with pytest.raises(FileError, match="has no array 'X_umap': it holds X, X_flat, X_pca, X_shadow"):
        read_points(f"{stored}:X_umap")


def test_reading_without_principal_components(tmp_path):
    anndata.AnnData(X=np.ones((4, 2))).write_h5ad(tmp_path / "a.h5ad")
    assert read_points(tmp_path / "a.h5ad").shape == (4, 2)
    from scipy.sparse import csr_matrix

    anndata.AnnData(X=csr_matrix(np.eye(4))).write_h5ad(tmp_path / "b.h5ad")
    with pytest.raises(FileError, match=r"'X' in .* is csr_matrix: a dense array is needed"):
        read_points(tmp_path / "b.h5ad")
    (tmp_path / "c.h5ad").write_bytes(b"nonsense")
    with pytest.raises(FileError, match="damaged"):
        read_points(tmp_path / "c.h5ad")


def test_writing_keeps_all_that_is_there(cells, stored, tmp_path):
    y = cells.obsm["X_flat"] * 2
    write_points(tmp_path / "new.h5ad", y, name="X_new", source=stored)
    back = anndata.read_h5ad(tmp_path / "new.h5ad")
    assert np.array_equal(back.obsm["X_new"], y)
    assert np.array_equal(back.obsm["X_pca"], cells.obsm["X_pca"])
    assert back.uns["neighbors"]["params"]["use_rep"] == "X_pca"
    assert (back.obsp["distances"] != cells.obsp["distances"]).nnz == 0
    write_points(f"{stored}:X_flat", y, source=stored, force=True)  # in its own place
    assert np.array_equal(anndata.read_h5ad(stored).obsm["X_flat"], y)
    write_points(tmp_path / "alone.h5ad", y)
    assert np.array_equal(anndata.read_h5ad(tmp_path / "alone.h5ad").obsm["X_unbend"], y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.h5ad", "cells.h5ad", "new.h5ad"]


def test_the_command(stored, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["embed", "cells.h5ad", "-o", "out.h5ad", "--method", "psa", "--quiet"]) == 0
    back = anndata.read_h5ad("out.h5ad")
    expected = ub.ProcrustesAlignment().fit_transform(back.obsm["X_pca"])
    assert np.array_equal(back.obsm["X_psa"], expected)
    capsys.readouterr()
    assert main(["measure", "out.h5ad", "out.h5ad:X_psa", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["r_n"] == ub.faithfulness(back.obsm["X_pca"], expected).r_n
    assert main(["compare", "out.h5ad", "out.h5ad:X_psa", "out.h5ad:X_shadow", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["embeddings"]) == {"X_psa", "X_shadow"}
    assert main(["embed", "cells.h5ad", "-o", "out.h5ad"]) == 2
    assert "it exists already" in capsys.readouterr().err


def test_without_the_package(stored, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(FileError, match=re.escape("it needs h5py, pip install 'unbend[anndata]'")):
        read_points(stored)
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(FileError, match=re.escape("it needs anndata, pip install 'unbend[anndata]'")):
        write_points(tmp_path / "a.h5ad", np.ones((2, 2)))


def annotated(cells, sparse):
    import pandas as pd
    from scipy import sparse as sp

    kinds = np.array(["T", "B", "NK"])[np.arange(N) % 3]
    cells.obs["celltype"] = pd.Categorical(kinds)
    cells.obs["note"] = np.where(kinds == "T", "a note", "")
    cells.obs["depth"] = np.arange(N, dtype=float)
    cells.obs["doubt"] = pd.Categorical([None, *kinds[1:]])
    cells.var_names = ["CD3", "CD19", "CD56"]
    cells.X = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "dense": np.asarray}[sparse](cells.X)
    return kinds


@pytest.mark.parametrize("sparse", ["csr", "csc", "dense"])
def test_labels_and_values_of_cells(cells, tmp_path, sparse):
    genes = np.asarray(cells.X)
    kinds, path = annotated(cells, sparse), tmp_path / "p.h5ad"
    cells.write_h5ad(path)
    assert np.array_equal(read_labels(f"{path}:celltype", N), kinds)
    assert read_labels(f"{path}:note", N)[0] == "a note"
    assert read_labels(f"{path}:doubt", N)[:2].tolist() == ["", "B"]
    assert np.array_equal(read_values(f"{path}:depth", N)["depth"], np.arange(N))
    assert np.array_equal(read_values(f"{path}:CD19", N)["CD19"], genes[:, 1])
    with pytest.raises(FileError, match="no column of obs and no variable 'CD91': did you mean 'CD19'"):
        read_values(f"{path}:CD91", N)
    with pytest.raises(FileError, match=r"p\.h5ad:NAME: obs has celltype, depth, doubt, note"):
        read_labels(path, N)
    with pytest.raises(FileError, match="column 'celltype' holds text"):
        read_values(f"{path}:celltype", N)
