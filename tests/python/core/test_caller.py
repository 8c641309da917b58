"""Warnings point at the line of the caller, whatever the package does in between."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest
import unbend as ub
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from unbend.files import read_points

PACKAGE = Path(ub.__file__).parent
GRAPHS = [
    *(ub.GreedyProcrustes, ub.ProcrustesAlignment, ub.Isomap, ub.LocallyLinearEmbedding, ub.ModifiedLLE),
    *(ub.LTSA, ub.HessianLLE, ub.LaplacianEigenmaps, ub.DiffusionMaps),
]
ALL = [*GRAPHS, ub.PCA, ub.ClassicalScaling, ub.RandomProjection]


def heaps():
    x = np.random.default_rng(0).random((80, 2))
    x[:30] += 9
    return x


def around():
    apart = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    return np.minimum(apart, 40 - apart).astype(float)


def with_a_gap():
    x, _ = ub.datasets.swiss_roll(3000, random_state=0)
    x[7] = np.nan
    return x


def strip():
    return ub.datasets.strip(2000, length=6.0, noise=0.01, random_state=0)[0]


def moebius():
    rng = np.random.default_rng(0)
    turn, side = rng.uniform(0, 2 * np.pi, 1500), rng.uniform(-0.4, 0.4, 1500)
    reach = 1 + side * np.cos(turn / 2)
    return np.c_[reach * np.cos(turn), reach * np.sin(turn), side * np.sin(turn / 2)]


def in_anndata(x):
    anndata = pytest.importorskip("anndata")
    ub.anndata.embed(anndata.AnnData(obsm={"X_raw": x}), use_rep="X_raw", key_added="Y")


CALLS = {
    **{
        f"{kind.__name__}.fit": (ub.DisconnectedWarning, lambda kind=kind: kind(n_neighbors=6).fit(heaps()))
        for kind in GRAPHS
    },
    **{
        f"{kind.__name__}, equal points": (
            ub.EqualPointsWarning,
            lambda kind=kind: kind().fit(np.ones((50, 3))),
        )
        for kind in ALL
    },
    "fit_transform": (ub.DisconnectedWarning, lambda: ub.LTSA(n_neighbors=6).fit_transform(heaps())),
    "pipeline": (
        ub.DisconnectedWarning,
        lambda: make_pipeline(StandardScaler(), ub.LTSA(n_neighbors=6)).fit_transform(heaps()),
    ),
    "anndata": (ub.DisconnectedWarning, lambda: in_anndata(heaps())),
    "not flat": (
        ub.NotFlatWarning,
        lambda: ub.ProcrustesAlignment(cut=False).fit(moebius()),
    ),
    "untrusted": (
        ub.UntrustedWarning,
        lambda: ub.GreedyProcrustes(candidates=False).fit(np.random.default_rng(0).normal(size=(500, 10))),
    ),
    "gap": (ub.GapWarning, lambda: ub.LTSA().fit(np.ones((50, 3)))),
    "unheld": (
        ub.GapWarning,
        lambda: ub.LTSA(n_neighbors=12, include_self=False).fit(
            ub.datasets.swiss_roll(10_000, random_state=0)[0]
        ),
    ),
    "collapsed": (
        ub.CollapsedWarning,
        lambda: ub.LaplacianEigenmaps(n_neighbors=8, rectify=True).fit(strip()),
    ),
    "distortion": (ub.DistortionWarning, lambda: ub.RandomProjection(2, random_state=0).fit(heaps())),
    "not Euclidean": (
        ub.NotEuclideanWarning,
        lambda: ub.ClassicalScaling(12, metric="precomputed").fit(around()),
    ),
    "parts": (ub.partition.PartWarning, lambda: ub.partition.embed(with_a_gap(), points_per_cell=1000)),
    "price": (
        UserWarning,
        lambda: ub.price_of_normalization(ub.datasets.cylinder(1000, random_state=0)[0], algorithms="LEM"),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_here(name):
    category, call = CALLS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    own = [one for one in caught if one.category is category]
    assert own
    assert {one.filename for one in caught if one.category.__module__.startswith("unbend")} <= {__file__}
    assert {one.filename for one in own} == {__file__}


def test_a_table_with_a_numbered_header_is_remarked_on_here(tmp_path):
    (tmp_path / "a.csv").write_text("0,1,2\n0.5,1.5,2.5\n")
    with pytest.warns(UserWarning, match="is read as a header") as caught:
        read_points(tmp_path / "a.csv")
    assert [one.filename for one in caught] == [__file__]


def test_all_warnings_go_one_way():
    """Only `core/caller.py` finds the line of the caller; a number of frames is right for one way to come only."""
    calls = {
        f"{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "warn" and ast.unparse(node.value) == "warnings"
    }
    assert calls == {"core/caller.py"}
