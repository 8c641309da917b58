"""Scores for model selection, and data with nothing to embed."""

import numpy as np
import pytest
import unbend as ub
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

LINEAR = [ub.PCA, ub.ClassicalScaling]
GRAPHS = [ub.GreedyProcrustes, ub.ProcrustesAlignment, ub.Isomap, ub.LTSA, ub.LaplacianEigenmaps]


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(1200, noise=0.1, random_state=0)


def expected(x, y, kind):
    """The score by its definition, of all points."""
    m = ub.faithfulness(x, y, 12)
    return -(np.minimum(m.per_point[kind], 1).mean() + m.overlap)


@pytest.mark.parametrize(("kind", "measure"), [(ub.ProcrustesAlignment, "r_n"), (ub.LTSA, "r_c")])
@pytest.mark.parametrize("k", [8, 20])
def test_fitted_points_are_scored_where_they_are(roll, kind, measure, k):
    model = kind(n_neighbors=k).fit(roll[0])
    assert model.score(roll[0]) == pytest.approx(expected(roll[0], model.embedding_, measure), rel=1e-12)
    assert model.score(roll[0], y=roll[1]) == model.score(roll[0])


def test_new_points_are_scored_among_the_fitted(roll):
    x, _ = roll
    model = ub.ProcrustesAlignment().fit(x[:1000])
    whole = (
        np.concatenate([x[:1000], x[1000:]]),
        np.concatenate([model.embedding_, model.transform(x[1000:])]),
    )
    m = ub.faithfulness(*whole, 12)
    errors, overlaps = (m.per_point[name][1000:] for name in ("r_n", "overlap"))
    assert model.score(x[1000:]) == pytest.approx(-(np.minimum(errors, 1) + overlaps).mean(), rel=1e-12)


@pytest.mark.parametrize(
    "kind", [kind for kind in GRAPHS if kind is not ub.LaplacianEigenmaps]
)  # keep no shapes
def test_a_short_circuited_fit_scores_worse(roll, kind):
    x, _ = roll
    good, bad = (kind(n_neighbors=k).fit(x[:1000]).score(x[1000:]) for k in (10, 80))
    assert bad < good - 0.1
    assert -2 <= bad < good < 0


def test_a_grid_is_searched_without_y(roll):
    folds = KFold(3, shuffle=True, random_state=0)
    model = make_pipeline("passthrough", ub.LTSA())
    search = GridSearchCV(model, {"ltsa__n_neighbors": [80, 12]}, cv=folds).fit(roll[0])
    assert search.best_params_ == {"ltsa__n_neighbors": 12}
    bad, good = search.cv_results_["mean_test_score"]
    assert bad < good - 0.1


def test_what_cannot_be_scored(roll):
    x, _ = roll
    with pytest.raises(NotFittedError):
        ub.Isomap().score(x)
    model = ub.Isomap().fit(x)
    with pytest.raises(ValueError, match="X has 2 features, but Isomap is expecting 3"):
        model.score(x[:, :2])
    with pytest.raises(ValueError, match="X holds NaN at row 0, column 0"):
        model.score(np.full((5, 3), np.nan))


# Equal points


@pytest.mark.filterwarnings("ignore::unbend.GapWarning")
@pytest.mark.parametrize("kind", [*GRAPHS, *LINEAR])
@pytest.mark.parametrize("value", [0.0, 7.5])
def test_equal_points_are_remarked_on(kind, value):
    with pytest.warns(ub.EqualPointsWarning, match="all 100 points of X are equal"):
        model = kind().fit(np.full((100, 3), value))
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("kind", LINEAR)
def test_one_other_point_is_enough(kind):
    x = np.zeros((100, 3))
    x[50] = 1
    kind().fit(x)  # warnings are errors here
