"""Tables with columns of text are refused by the names of these columns."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
import unbend as ub

NUMBERS = np.random.default_rng(0).normal(size=(60, 2))
CALLS = {
    "fit": lambda x: ub.PCA().fit(x),
    "fit on a graph": lambda x: ub.ProcrustesAlignment().fit(x),
    "neighborhoods": lambda x: ub.neighborhoods(x),
    "faithfulness": lambda x: ub.faithfulness(x, NUMBERS),
    "quality": lambda x: ub.quality(x, NUMBERS),
    "dimension": lambda x: ub.dimension(x),
    "select": lambda x: ub.select(x),
}


def columns(**more):
    return {"height": NUMBERS[:, 0], "width": NUMBERS[:, 1], **more}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("name", CALLS)
def test_a_column_of_text_is_named(name, frame):
    with pytest.raises(
        ValueError, match=r"^X has text in column 'kind', such as 'tall': leave it out, or encode it"
    ):
        CALLS[name](frame(columns(kind=["tall"] * 60)))


def test_the_embedding_is_named_too():
    y = pd.DataFrame(columns(kind=["tall"] * 60))
    with pytest.raises(ValueError, match=r"^Y has text in column 'kind'"):
        ub.faithfulness(np.c_[NUMBERS, NUMBERS], y)


def test_several_columns_are_listed():
    texts = {f"t{place}": ["x" * 99] * 60 for place in range(9)}
    with pytest.raises(ValueError, match="X has text in columns") as caught:
        ub.PCA().fit(pd.DataFrame(columns(**texts)))
    said = f"X has text in columns 't0', 't1', 't2', 't3', 't4', 't5', ..., such as '{'x' * 40}': leave them out, "
    assert str(caught.value) == said + "or encode them as numbers"


def test_text_below_numbers_and_categories_are_found():
    mixed = pd.DataFrame(columns(mixed=[1.5] * 59 + ["many"]), index=range(60, 0, -1))
    with pytest.raises(ValueError, match="column 'mixed', such as 'many'"):
        ub.PCA().fit(mixed)
    kinds = pd.DataFrame(columns(kind=pd.Categorical(["tall"] * 60)))
    with pytest.raises(ValueError, match="column 'kind', such as 'tall'"):
        ub.PCA().fit(kinds)


def test_columns_of_arrays_are_numbered():
    with pytest.raises(ValueError, match="X has text in column 2, such as 'tall'"):
        ub.PCA().fit(np.c_[NUMBERS.astype(object), np.full(60, "tall", object)])


def test_numbers_as_objects_are_read():
    plain = ub.PCA().fit(NUMBERS).embedding_
    for x in (NUMBERS.astype(object), pd.DataFrame(columns()).astype(object)):
        np.testing.assert_allclose(ub.PCA().fit(x).embedding_, plain, rtol=1e-12)


def test_dates_are_no_text():
    frame = pd.DataFrame(columns(day=[date(2020, 1, 1)] * 60))
    with pytest.raises((TypeError, ValueError)) as caught:
        ub.PCA().fit(frame)
    assert "has text" not in str(caught.value)


LINE = NUMBERS[:, 0]
FLAT_CALLS = {
    **CALLS,
    "classical scaling": lambda x: ub.ClassicalScaling().fit(x),
    "measured distances": lambda x: ub.GraphScaling().fit(x),
    "transform": lambda x: ub.PCA().fit(NUMBERS).transform(x),
    "inverse transform": lambda x: ub.PCA().fit(NUMBERS).inverse_transform(x),
    "compare": lambda x: ub.compare(x, {"y": NUMBERS}),
}


@pytest.mark.parametrize("x", [LINE, LINE.tolist(), pd.Series(LINE)], ids=["array", "list", "series"])
@pytest.mark.parametrize("name", FLAT_CALLS)
def test_one_dimension_is_refused_by_its_shape(name, x):
    with pytest.raises(ValueError, match=r"^X has shape \(60,\): it must have two dimensions") as caught:
        FLAT_CALLS[name](x)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("x", [5.0, np.zeros((4, 3, 2))], ids=["number", "box"])
def test_no_or_three_dimensions_are_refused_by_their_shape(x):
    with pytest.raises(ValueError, match=r"^X has shape \((4, 3, 2)?\): it must have two dimensions"):
        ub.PCA().fit(x)
