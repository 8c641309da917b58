"""Every estimator by the rules of scikit-learn: its own checks, pipelines, clones, names and frames."""

import inspect
import pickle
from importlib.util import find_spec

import joblib
import numpy as np
import pytest
import unbend as ub
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

# Some data are no surface, and a plane is too little for random projections.
pytestmark = pytest.mark.filterwarnings(
    "ignore::unbend.NotFlatWarning",
    "ignore::unbend.DistortionWarning",
    "ignore::unbend.CollapsedWarning",
    "ignore::unbend.GapWarning",
)

NORMALIZED = [
    ub.LocallyLinearEmbedding,
    ub.ModifiedLLE,
    ub.LTSA,
    ub.HessianLLE,
    ub.LaplacianEigenmaps,
    ub.DiffusionMaps,
]
GRAPHS = [
    ub.GreedyProcrustes,
    ub.ProcrustesAlignment,
    ub.Isomap,
    ub.RiemannianLearning,
    ub.SuccessiveEigenmaps,
]
GRAPHS += NORMALIZED
LINEAR = [ub.ClassicalScaling, ub.PCA, ub.RandomProjection]
ESTIMATORS = GRAPHS + LINEAR
# Its solver is optional.
UNFOLDING = [ub.MaximumVarianceUnfolding(n_neighbors=5, n_landmarks=6, random_state=0)] * bool(
    find_spec("clarabel")
)
# A weight belongs to a neighborhood: weight 2 is not two copies of a point, which would be neighbors, nor 0 none.
NEIGHBORHOOD_WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": "a weight counts a neighborhood, not copies of a point",
}
FREE = np.random.default_rng(0).normal(size=(80, 4))

every_estimator = pytest.mark.parametrize("kind", ESTIMATORS)
every_graph = pytest.mark.parametrize("kind", GRAPHS)


def quick(kind, **options):
    wanted = {"n_components": 2, "n_neighbors": 10, "random_state": 0, **options}
    return kind(**{name: value for name, value in wanted.items() if name in signature(kind)})


def signature(kind):
    return inspect.signature(kind).parameters


# The data of many checks are two heaps, which is worth a warning.
@pytest.mark.filterwarnings(
    "ignore::unbend.DisconnectedWarning",
    "ignore::unbend.NotFlatWarning",
    "ignore::unbend.NotEuclideanWarning",
    "ignore::unbend.DistortionWarning",
    "ignore::unbend.CollapsedWarning",
    "ignore::unbend.GapWarning",
)
@parametrize_with_checks(
    [
        ub.GreedyProcrustes(),
        ub.GreedyProcrustes(refine=None, tangent="overlap"),
        ub.GreedyProcrustes(n_neighbors=5, refine="pointwise", objective="R", tangent_neighbors=7, n_init=1),
        ub.ProcrustesAlignment(),
        ub.ProcrustesAlignment(n_neighbors=5, alignment="auto", refine="pointwise", objective="R"),
        ub.Isomap(),
        ub.Isomap(n_neighbors=5, n_landmarks=12, random_state=0),
        ub.Isomap(n_neighbors=5, conformal=True),
        ub.Isomap(radius=2.0),
        ub.Isomap(metric="precomputed"),
        ub.Isomap(n_neighbors=5, metric="manhattan", n_landmarks=12, random_state=0),
        ub.LocallyLinearEmbedding(),
        ub.LocallyLinearEmbedding(n_components=1, n_neighbors=5, weights="ldr", rectify=True),
        ub.LocallyLinearEmbedding(weights="convex", rectify="linear"),
        ub.ModifiedLLE(),
        ub.LTSA(),
        ub.LTSA(include_self=False, rectify=True),
        ub.HessianLLE(),
        ub.LaplacianEigenmaps(),
        ub.LaplacianEigenmaps(kernel="heat", eps=1.0),
        ub.DiffusionMaps(),
        ub.DiffusionMaps(alpha=0.5, time=2.0),
        ub.ClassicalScaling(),
        ub.ClassicalScaling(n_landmarks=12, random_state=0),
        ub.ClassicalScaling(metric="precomputed"),
        ub.SplitScaling(group_size=12, random_state=0),
        ub.SplitScaling(group_size=12, combine="sample", random_state=0),
        ub.RiemannianLearning(),
        ub.SuccessiveEigenmaps(),
        *UNFOLDING,
        ub.PCA(),
        ub.RandomProjection(random_state=0),
        ub.RandomProjection(n_components=1, kind="sparse", random_state=0),
        ub.RandomProjection(n_components=1, kind="hadamard", random_state=0),
    ],
    expected_failed_checks=lambda estimator: NEIGHBORHOOD_WEIGHTS,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@every_estimator
def test_tags_claim_no_exemption(kind):
    own, known = kind().__sklearn_tags__(), Isomap().__sklearn_tags__()
    assert own.no_validation is known.no_validation is False
    assert own.non_deterministic is False
    assert own._skip_test is False
    assert own.requires_fit
    assert own.input_tags.two_d_array
    assert not own.input_tags.allow_nan


@every_estimator
def test_constructor_stores_what_it_is_given(kind):
    for name, parameter in signature(kind).items():
        token = object()
        assert getattr(kind(**{name: token}), name) is token
        assert getattr(kind(), name) is parameter.default
    positional = ["n_components", "n_neighbors"] if kind in GRAPHS else ["n_components"]
    parameters = list(signature(kind).values())
    assert [parameter.name for parameter in parameters[: len(positional)]] == positional
    rest = parameters[len(positional) :]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in rest)


@every_estimator
def test_parameters_and_attributes_are_documented(kind):
    text = inspect.getdoc(kind)
    for name in signature(kind):
        assert f"\n{name} : " in text
    attributes = text.partition("Attributes\n----------\n")[2].partition("\n\nExamples\n")[0]
    learnt = [name for name in vars(quick(kind).fit(FREE)) if name.endswith("_")]
    assert [name for name in learnt if name not in attributes] == []


@every_estimator
def test_clone_forgets_what_was_learnt(kind):
    fitted = quick(kind).fit(FREE)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    np.testing.assert_array_equal(copy.fit_transform(FREE), fitted.embedding_)


@every_estimator
@pytest.mark.parametrize("how", ["pickle", "joblib"])
def test_copies_transform_to_the_same_bits(kind, how, tmp_path):
    fitted = quick(kind).fit(FREE)
    if how == "pickle":
        copy = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "model.joblib")
        copy = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(copy.transform(FREE + 0.01), fitted.transform(FREE + 0.01))
    np.testing.assert_array_equal(copy.embedding_, fitted.embedding_)
    if kind in GRAPHS:
        assert copy.faithfulness_.r_n == fitted.faithfulness_.r_n


@every_estimator
def test_in_a_pipeline(kind):
    pipeline = make_pipeline(StandardScaler(), quick(kind))
    embedded = pipeline.fit_transform(FREE)
    assert embedded.shape == (80, 2)
    np.testing.assert_array_equal(pipeline.transform(FREE), embedded)
    assert pipeline.inverse_transform(embedded).shape == FREE.shape
    if kind in GRAPHS:
        np.testing.assert_allclose(pipeline.inverse_transform(embedded), FREE, atol=1e-12)
    prefix = kind.__name__.lower()
    assert list(pipeline.get_feature_names_out()) == [f"{prefix}0", f"{prefix}1"]


@every_estimator
def test_frames(kind):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(FREE, columns=list("abcd"), index=[f"row {i}" for i in range(80)])
    estimator = quick(kind).set_output(transform="pandas")
    embedded = estimator.fit_transform(frame)
    assert list(embedded.columns) == list(estimator.get_feature_names_out())
    assert list(embedded.index) == list(frame.index)
    assert list(estimator.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(estimator.transform(frame).to_numpy(), estimator.embedding_)
    placed, errors = estimator.transform(frame[:3], return_error=True)
    assert list(placed.index) == list(frame.index[:3])
    assert errors.shape == (3,)
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.transform(frame.rename(columns={"a": "z"}))
    if kind in GRAPHS:
        np.testing.assert_array_equal(estimator.inverse_transform(embedded), FREE)


@every_estimator
def test_a_fit_on_arrays_forgets_names(kind):
    pd = pytest.importorskip("pandas")
    estimator = quick(kind).fit(pd.DataFrame(FREE, columns=list("abcd")))
    assert not hasattr(estimator.fit(FREE), "feature_names_in_")


@every_estimator
@pytest.mark.parametrize("method", ["transform", "inverse_transform", "save", "get_feature_names_out"])
def test_nothing_works_before_fit(kind, method):
    with pytest.raises(NotFittedError):
        getattr(kind(), method)(*[] if method == "get_feature_names_out" else [FREE])


@every_graph
def test_small_data_with_the_default_number_of_neighbors(kind):
    embedded = quick(kind, n_neighbors=None).fit(FREE[:7])
    assert embedded.n_neighbors_ == 6
    with pytest.raises(ValueError, match="n_neighbors = 12 needs at least 13 points, got n_samples = 7"):
        kind(n_neighbors=12).fit(FREE[:7])


@pytest.mark.parametrize("number", [np.int8, np.uint64, np.int64])
@every_estimator
def test_numbers_of_numpy_are_numbers(kind, number):
    x = ub.datasets.swiss_roll(300, random_state=0)[0]
    narrow = quick(kind, n_components=number(2), n_neighbors=number(10)).fit(x).embedding_
    assert np.array_equal(narrow, quick(kind).fit(x).embedding_)
