"""One table documents parameters and checks their values."""

import inspect
import re
import subprocess
import sys
import warnings
from collections import ChainMap
from fractions import Fraction

import numpy as np
import pytest
import unbend as ub
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from unbend.core.kinds import Kind, boolean, choice, count, number, optional, share, word_or
from unbend.core.parameters import WIDTH, checked, documented, entries, table
from unbend.core.shared_parameters import FUNCTIONS
from unbend.estimators.tables.attributes import (
    ATTRIBUTES,
    DISTANCES,
    LINEAR,
    NORMALIZED,
    ON_GRAPH,
    PROCRUSTES,
)
from unbend.estimators.tables.parameters import PARAMETERS
from unbend.graph.neighbors import DEFAULT_NEIGHBORS

FAMILIES = {
    "procrustes": [ub.GreedyProcrustes, ub.ProcrustesAlignment],
    "normalized": [
        ub.LocallyLinearEmbedding,
        ub.ModifiedLLE,
        ub.LTSA,
        ub.HessianLLE,
        ub.LaplacianEigenmaps,
        ub.DiffusionMaps,
    ],
    "distances": [ub.GraphScaling],
    "": [ub.PCA, ub.RandomProjection, ub.ClassicalScaling, ub.SplitScaling],
    "graph": [ub.Isomap, ub.MaximumVarianceUnfolding, ub.RiemannianLearning, ub.SuccessiveEigenmaps],
}
ESTIMATORS = [(kind, family) for family, kinds in FAMILIES.items() for kind in kinds]
LISTS = {
    "": LINEAR,
    "graph": ON_GRAPH,
    "procrustes": PROCRUSTES,
    "normalized": NORMALIZED,
    "distances": DISTANCES,
}
MANNERED = re.compile(
    r"\b(so many|beside|anew|told|said of|for to|shall|nobody|whoever|as by|there is to say|be it|"
    r"neighbour\w*|normalis\w*|regularis\w*|colour\w*|centred|along the graph|turned?|rim|stranger)\b"
)

every = pytest.mark.parametrize(
    ("kind", "family"), ESTIMATORS, ids=lambda value: getattr(value, "__name__", "")
)


def rewritten(kind, family):
    """An estimator with the constructor of another, documented from the tables alone."""
    bare = type(kind.__name__, (kind,), {"__doc__": "Summary.", "__init__": kind.__init__})
    scopes = [family] if family in ATTRIBUTES else []
    return documented(PARAMETERS, ATTRIBUTES, scopes=scopes, attributes=LISTS[family])(bare)


def signature(kind):
    return {name: p for name, p in inspect.signature(kind).parameters.items() if name != "self"}


# The tables


@every
def test_every_parameter_is_in_the_table(kind, family):
    text = rewritten(kind, family).__doc__
    section = text.partition("Parameters\n----------\n")[2].partition("\n\nAttributes\n")[0]
    assert re.findall(r"^(\w+) : ", section, re.MULTILINE) == list(signature(kind))


@every
def test_defaults_pass(kind, family):
    checked(rewritten(kind, family)())


@every
def test_choices_agree_with_the_signature(kind, family):
    known = ChainMap(*(PARAMETERS.get(scope, {}) for scope in (kind.__name__, family, "")))
    for name, own in signature(kind).items():
        parameter, annotation = known[name], str(own.annotation)
        choices = re.findall(r"'(\w+)'", annotation)
        assert not choices or parameter.kind.type.count('"') == 2 * len(choices), name


def texts():
    tables = {"parameters": PARAMETERS, "attributes": ATTRIBUTES, "functions": FUNCTIONS}
    return [
        pytest.param(p, id=f"{name}-{scope}-{p.name}")
        for name, found in tables.items()
        for scope, parameters in found.items()
        for p in parameters.values()
    ]


@pytest.mark.parametrize("parameter", texts())
def test_texts_are_plain_english(parameter):
    text = " ".join(re.sub(r'"\w+"', "", parameter.text).split())
    assert re.match(r'[A-Z"\d]', parameter.text.strip())
    assert text.endswith(".")
    assert not re.match(r"(What|Where|Of|Whether|How|By|From|Those|The same)\b", text)
    assert not MANNERED.search(text), MANNERED.search(text)
    assert text.count("``") % 2 == text.replace("``", "").count("`") % 2 == 0


def test_every_scope_is_a_class_or_a_family():
    scopes = {*PARAMETERS, *ATTRIBUTES} - {""}
    assert scopes <= {*FAMILIES, *(kind.__name__ for kind, _ in ESTIMATORS)}
    assert {scope for scope in FUNCTIONS if scope} <= set(ub.__all__)


def test_every_attribute_is_listed_or_belongs_to_one_class():
    listed = {*ON_GRAPH, *PROCRUSTES, *NORMALIZED, *LINEAR}
    assert listed <= {name for scope in ATTRIBUTES.values() for name in scope}
    assert all(name.endswith("_") for scope in ATTRIBUTES.values() for name in scope)


@every
def test_learned_attributes_have_a_text(kind, family):
    X = np.random.default_rng(0).normal(size=(60, 3))
    if kind is ub.MaximumVarianceUnfolding:
        pytest.importorskip("clarabel")
        X = X[:20]
    if kind is ub.SplitScaling:
        X = np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
    if kind is ub.GraphScaling:
        X = cdist(X, X)
    known = {name for scope in (kind.__name__, family, "") for name in ATTRIBUTES.get(scope, {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = kind(n_components=2).fit(X)
    assert {name for name in vars(fitted) if name.endswith("_")} <= known


def test_the_default_number_of_neighbors():
    assert PARAMETERS[""]["n_neighbors"].kind.type == f"int, default {DEFAULT_NEIGHBORS}"


# Docstrings


GREEDY = rewritten(ub.GreedyProcrustes, "procrustes")


@every
def test_docstrings_are_wrapped(kind, family):
    lines = rewritten(kind, family).__doc__.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert not [line for line in lines if line != line.rstrip()]


def test_defaults_are_shown():
    text = GREEDY.__doc__
    assert "\nn_components : int, default 2\n    Dimension d " in text
    assert "\nn_neighbors : int, default 12\n    Number " in text
    assert '\nrefine : {"auto", "global", "pointwise", "paper", None}, default "auto"\n    Method ' in text
    assert "\nrefine_tol : float, default 0.001\n    Refinement " in text
    assert "\nstart : int, optional\n    Index " in text
    assert "\nembedding_ : ndarray of shape (n, d)\n    Embedding " in text
    assert "\nsolve_tol : float, default 2e-5\n" in rewritten(ub.ProcrustesAlignment, "procrustes").__doc__


def test_scopes_go_before_shared_texts():
    texts = {kind.__name__: " ".join(rewritten(kind, family).__doc__.split()) for kind, family in ESTIMATORS}
    assert "eps : float, default 0.1 Share " in texts["RandomProjection"]
    assert "eps : float, optional Scale of the heat kernel" in texts["DiffusionMaps"]
    assert "lambda_p^(2 time)" in texts["DiffusionMaps"].partition("Attributes")[2]
    assert "variance 1, and are uncorrelated" in texts["LTSA"]
    assert 'only with tangent="neighborhood"' in texts["GreedyProcrustes"]
    assert 'only with tangent="neighborhood"' not in texts["ProcrustesAlignment"]


SHELVES = table(
    *entries(
        """
        width
            Width of a shelf.
        n_books
            Number of books.
        books_ : list
            Books on the shelf.
        """,
        width=optional(number(lambda v: v > 0, "above 0", "a length")),
        n_books=count(),
    )
)


@documented(SHELVES, attributes=["books_"])
class Shelf(BaseEstimator):
    """Hold books.

    They stand upright.

    Notes
    -----
    None.

    Examples
    --------
    >>> Shelf().n_books
    3
    """

    def __init__(self, n_books=3, *, width=None):
        self.n_books = n_books
        self.width = width


def test_sections_stand_between_the_summary_and_the_others():
    assert Shelf.__doc__ == inspect.cleandoc(
        """Hold books.

        They stand upright.

        Parameters
        ----------
        n_books : int, default 3
            Number of books.
        width : float, optional
            Width of a shelf.

        Attributes
        ----------
        books_ : list
            Books on the shelf.

        Notes
        -----
        None.

        Examples
        --------
        >>> Shelf().n_books
        3
        """
    )


def test_functions_keep_what_they_document_themselves():
    @documented(SHELVES)
    def arrange(books, names, n_books=2, *, width=None, _clock=None, **options):
        """Arrange books.

        Parameters
        ----------
        books, names
            Titles.
        n_books : int
            Fewer than before.

            At least 1.
        **options
            As for :func:`sorted`.

        Returns
        -------
        list
        """

    assert arrange.__doc__ == inspect.cleandoc(
        """Arrange books.

        Parameters
        ----------
        books, names
            Titles.
        n_books : int
            Fewer than before.

            At least 1.
        width : float, optional
            Width of a shelf.
        **options
            As for :func:`sorted`.

        Returns
        -------
        list
        """
    )
    assert arrange(1, 2) is None


def test_a_parameter_without_a_text():
    with pytest.raises(KeyError, match="depth"):

        @documented(SHELVES)
        def arrange(depth):
            """Arrange books."""

    with pytest.raises(KeyError, match="depth"):
        entries("width : float\n    Width.", depth=count())


def test_without_docstrings():
    code = (
        "from unbend.core.parameters import *; from unbend.core.parameters import documented, checked\n"
        "from unbend.estimators.tables.parameters import PARAMETERS; import unbend as ub\n"
        "class A(ub.PCA):\n    'Doc.'\n    __init__ = ub.PCA.__init__\n"
        "documented(PARAMETERS)(A); assert A.__doc__ is None; checked(A())\n"
        "try: checked(A(n_components=0))\nexcept ValueError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "n_components = 0 is too few: at least 1 is needed\n"


def test_shared_parameters_of_functions():
    def measure(X, Y, n_neighbors=None, *, radius=None, neighborhoods=None, n_centers=None, half_width=0.005):
        """Measure."""

    text = documented(FUNCTIONS)(measure).__doc__
    assert '\nn_centers : int or "auto", optional\n    Number of neighborhoods ' in text
    assert "\nhalf_width : float, default 0.005\n" in text


# Checks


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        ("GreedyProcrustes", "n_components", 0, "n_components = 0 is too few: at least 1 is needed"),
        ("GreedyProcrustes", "n_components", 1.5, "n_components = 1.5 is not a whole number"),
        ("GreedyProcrustes", "n_components", True, "n_components = True is not a whole number"),
        ("GreedyProcrustes", "n_neighbors", "many", "n_neighbors = 'many' is not a whole number"),
        ("GreedyProcrustes", "tangent_neighbors", 0, "tangent_neighbors = 0 is too few"),
        (
            "GreedyProcrustes",
            "tangent",
            "plane",
            "tangent = 'plane' is unknown: use one of 'neighborhood', 'overlap'",
        ),
        (
            "GreedyProcrustes",
            "refine",
            "local",
            "refine = 'local' is unknown: use one of 'auto', 'global', 'pointwise', 'paper', None",
        ),
        ("GreedyProcrustes", "refine_max_iter", -1, "refine_max_iter = -1 is too few"),
        ("GreedyProcrustes", "refine_tol", -0.5, "refine_tol = -0.5 is out of range: it must be at least 0"),
        ("GreedyProcrustes", "refine_tol", np.nan, "refine_tol = nan is out of range"),
        ("GreedyProcrustes", "cut", 1, "cut = 1 is unknown: use one of 'auto', True, False"),
        ("GreedyProcrustes", "cut", None, "cut = None is unknown"),
        ("GreedyProcrustes", "cut", np.zeros(2), "cut = "),
        ("GreedyProcrustes", "start", -1, "start = -1 is too few: at least 0 is needed"),
        ("GreedyProcrustes", "random_state", -1, "random_state = -1 is out of range"),
        ("GreedyProcrustes", "random_state", "x", "random_state = 'x' is no seed"),
        ("GreedyProcrustes", "n_jobs", 0, "n_jobs = 0 is not a number of threads"),
        ("GreedyProcrustes", "verbose", "yes", "verbose = 'yes' is not a whole number"),
        ("GreedyProcrustes", "callback", 3, "callback = 3 cannot be called"),
        ("GreedyProcrustes", "max_memory", 0, "max_memory = 0 is out of range: it must be above 0"),
        ("GreedyProcrustes", "max_memory", "2 GB", "max_memory = '2 GB' is not a number of bytes"),
        ("GreedyProcrustes", "neighbors_method", "fast", "neighbors_method = 'fast' is unknown"),
        ("GreedyProcrustes", "neighbors_recall", 2, "neighbors_recall = 2 is out of range"),
        (
            "ProcrustesAlignment",
            "alignment",
            "fast",
            "alignment = 'fast' is unknown: use one of 'auto', 'tree'",
        ),
        ("ProcrustesAlignment", "annealing", {"start": "cold"}, "annealing['start'] = 'cold' is unknown"),
        (
            "ProcrustesAlignment",
            "annealing",
            {"heat": 2},
            "annealing has no 'heat': it takes start, acceptance",
        ),
        ("ProcrustesAlignment", "annealing", {"tried": 0}, "annealing['tried'] = 0 is too few"),
        (
            "ProcrustesAlignment",
            "annealing",
            3,
            "annealing = 3 is not a dict: its keys are start, acceptance",
        ),
        ("ProcrustesAlignment", "partition", 1, "partition = 1 is too few: at least 2 is needed"),
        ("ProcrustesAlignment", "overlap_penalty", np.nan, "overlap_penalty = nan is out of range"),
        ("ProcrustesAlignment", "solve_tol", np.inf, "solve_tol = inf is out of range"),
        ("Isomap", "radius", "wide", "radius = 'wide' is not a length"),
        ("Isomap", "radius", np.inf, "radius = inf is out of range: it must be above 0 and finite"),
        ("Isomap", "n_landmarks", "many", "n_landmarks = 'many' is not a whole number"),
        ("Isomap", "conformal", "yes", "conformal = 'yes' must be True or False"),
        ("LTSA", "rectify", "no", "rectify = 'no' is unknown: use one of False, True, 'linear'"),
        ("LTSA", "include_self", "yes", "include_self = 'yes' must be True or False"),
        ("DiffusionMaps", "alpha", 2, "alpha = 2 is out of range: it must be from 0 to 1"),
        ("DiffusionMaps", "eps", 0, "eps = 0 is out of range: it must be above 0 and finite"),
        ("RandomProjection", "eps", 1, "eps = 1 is out of range: it must be between 0 and 1"),
        ("RandomProjection", "n_components", 0, "n_components = 0 is too few"),
        ("RandomProjection", "n_components", "all", "n_components = 'all' is not a whole number"),
        ("ClassicalScaling", "n_landmarks", "auto", "n_landmarks = 'auto' is not a whole number"),
        ("ClassicalScaling", "metric", "cosine", "metric = 'cosine' is unknown"),
    ],
)
def test_messages(kind, name, value, message):
    (kind, family), *_ = [(k, family) for k, family in ESTIMATORS if k.__name__ == kind]
    with pytest.raises(ValueError, match=re.escape(message)):
        checked(rewritten(kind, family)(**{name: value}))


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": np.int32(2), "n_neighbors": np.uint8(9), "refine_tol": np.float32(0.1)},
        {"neighbors_recall": 1, "refine_tol": np.inf, "max_memory": np.inf},
        {"neighbors_recall": np.float64(0.5), "refine_tol": Fraction(1, 3), "n_jobs": np.int64(-1)},
        {"tangent": np.str_("overlap"), "refine": None, "cut": True, "verbose": True},
        {"random_state": np.uint64(2**63), "callback": print, "max_memory": 10**9},
    ],
)
def test_values_that_pass(options):
    checked(GREEDY(**options))


def test_generators_do_not_advance():
    for new in (np.random.default_rng, np.random.RandomState):
        random, fresh = new(0), new(0)
        checked(GREEDY(random_state=random))
        assert random.uniform() == fresh.uniform()


def test_flags_of_numpy_pass_only_where_nothing_tests_for_identity():
    boolean.test(np.True_, "conformal")
    with pytest.raises(ValueError, match="is unknown"):
        choice(False, True, "linear").test(np.True_, "rectify")


def test_kinds_are_named():
    assert word_or("auto", count()).type == 'int or "auto"'
    assert optional(share).type == "float"
    assert choice("a", True, None).type == '{"a", True, None}'
    Kind("anything").test(object(), "x")


def test_parameters_of_a_derived_class_pass_unseen():
    class Deep(Shelf):
        def __init__(self, n_books=3, *, width=None, depth=None):
            super().__init__(n_books, width=width)
            self.depth = depth

    checked(Deep(depth="deep"))
    with pytest.raises(ValueError, match=r"width = 'x' is not a length: it must be above 0"):
        checked(Deep(width="x"))
