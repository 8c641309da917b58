"""Neighbors found by a transformer, in pipelines; data frames in and out."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import unbend as ub
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [
    ub.GreedyProcrustes(random_state=0),
    ub.ProcrustesAlignment(random_state=0),
    ub.LocallyLinearEmbedding(),
    ub.ModifiedLLE(),
    ub.LTSA(),
    ub.HessianLLE(),
    ub.LaplacianEigenmaps(),
    ub.DiffusionMaps(),
    ub.Isomap(),
    ub.ClassicalScaling(),
    ub.PCA(),
    ub.RandomProjection(n_components=2, random_state=0),
    ub.WithNeighbors(),
]


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(800, random_state=0)


@pytest.fixture(autouse=True)
def _quiet():
    """What small rolls make estimators warn of is not the matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


# Neighbors of a transformer -----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS[:9], ids=lambda e: type(e).__name__)
def test_a_transformers_graph_gives_what_the_own_search_gives(roll, estimator):
    x, _ = roll
    own = clone(estimator).set_params(n_neighbors=10).fit(x)
    found = ub.WithNeighbors(KNeighborsTransformer(n_neighbors=10), clone(estimator)).fit(x)
    assert found.embedding_model_.neighborhoods_.indices.tolist() == own.neighborhoods_.indices.tolist()
    assert found.embedding_ == pytest.approx(own.embedding_, abs=1e-9 * np.abs(own.embedding_).max())


def test_in_a_pipeline(roll):
    x, _ = roll
    line = make_pipeline(StandardScaler(), ub.WithNeighbors(KNeighborsTransformer(n_neighbors=8), ub.LTSA()))
    y = line.fit_transform(x)
    scaled = StandardScaler().fit_transform(x)
    assert y == pytest.approx(ub.LTSA(n_neighbors=8).fit_transform(scaled), abs=1e-9)
    assert np.array_equal(line.transform(x), y)
    assert line.transform(x[:5] + 0.01).shape == (5, 2)
    line.set_params(withneighbors__neighbors__n_neighbors=12, withneighbors__embedding__n_components=1)
    assert line.fit_transform(x).shape == (800, 1)


def test_neighborhoods_of_different_size(roll):
    x, _ = roll
    found = ub.WithNeighbors(RadiusNeighborsTransformer(radius=3.0), ub.Isomap()).fit(x)
    assert len(set(found.embedding_model_.neighborhoods_.sizes)) > 1


class Counting(KNeighborsTransformer):
    """Notes every search."""

    log = None

    def fit_transform(self, X, y=None):
        with open(self.log, "a") as log:
            log.write("+")
        return super().fit_transform(X)


def test_graphs_are_kept(roll, tmp_path, monkeypatch):
    x, _ = roll
    monkeypatch.setattr(Counting, "log", tmp_path / "calls")
    for d in (1, 2):
        finder, kept = Counting(n_neighbors=10), str(tmp_path / "kept")
        assert ub.WithNeighbors(finder, ub.LTSA(n_components=d), memory=kept).fit_transform(x).shape == (
            800,
            d,
        )
    assert Counting.log.read_text() == "+"


def test_a_graph_alone_is_refused_with_advice(roll):
    x, _ = roll
    for estimator in ESTIMATORS[:9]:
        with pytest.raises(TypeError, match=r"sparse matrix of shape .* or in a pipeline WithNeighbors"):
            make_pipeline(KNeighborsTransformer(), clone(estimator)).fit(x)


@parametrize_with_checks([ub.WithNeighbors(embedding=ub.ProcrustesAlignment(n_components=1))])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Frames --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_in_and_out(roll, estimator, kind):
    x, _ = roll
    rows = [f"row {i}" for i in range(len(x))]
    names = ["a", "b", "c"]
    frame = pd.DataFrame(x, rows, names) if kind == "pandas" else pl.DataFrame(x, names)
    plain = clone(estimator).fit_transform(x)
    model = clone(estimator).set_output(transform=kind)
    y = model.fit_transform(frame)
    assert type(y) is type(frame)
    assert np.asarray(y) == pytest.approx(plain, abs=1e-9 * np.abs(plain).max())
    name = type(estimator).__name__.lower()
    assert list(y.columns) == [f"{name}0", f"{name}1"] == list(model.get_feature_names_out())
    assert list(model.feature_names_in_) == names
    some = model.transform(frame[:7])
    assert type(some) is type(frame)
    assert np.array_equal(some, model.set_output(transform="default").transform(frame[:7]))
    if kind == "pandas":
        assert list(y.index) == rows
        assert list(some.index) == rows[:7]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_functions_take_frames(roll, make):
    x, y = roll
    frame, flat, nb = make(x), make(y), ub.neighborhoods(x)
    assert ub.neighborhoods(frame).indices.tolist() == nb.indices.tolist()
    assert ub.faithfulness(frame, flat).r_n == ub.faithfulness(x, y).r_n
    assert ub.quality(frame, flat, "ranks").to_dict() == ub.quality(x, y, "ranks").to_dict()
    assert ub.compare(frame, {"a": flat}, "nieqa", by="m_l")["a"]["m_l"] == ub.quality(x, y, "m_l")["m_l"]
    assert np.array_equal(ub.refine(frame, flat).embedding, ub.refine(x, y).embedding)
    assert np.array_equal(ub.rectify(frame, flat).embedding, ub.rectify(x, y).embedding)
    assert ub.metrics.trustworthiness(frame, flat) == ub.metrics.trustworthiness(x, y)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_that_lack_values_are_refused(roll, make):
    x = roll[0].copy()
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        ub.neighborhoods(make(x))


def test_zarr_arrays_and_memory_maps_are_points(roll, tmp_path):
    zarr = pytest.importorskip("zarr")
    x, y = roll
    stored = zarr.open(tmp_path / "x.zarr", mode="w", shape=x.shape, chunks=(100, 3), dtype=x.dtype)
    stored[...] = x
    np.save(tmp_path / "x.npy", x)
    expected = ub.faithfulness(x, y)
    assert ub.faithfulness(stored, y).r_n == expected.r_n
    assert ub.faithfulness(np.load(tmp_path / "x.npy", mmap_mode="r"), y).r_n == expected.r_n
