"""Results as notebooks show them: every result is a table with its sentence, and no text becomes markup."""

from html.parser import HTMLParser

import numpy as np
import pytest
import unbend as ub
from unbend.core.notebook import Bold, Rows, as_html


class Reader(HTMLParser):
    """The texts of the cells and of all elements, and whether every element that opens is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts, self.rows = [], [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self):
        return " ".join(self.texts)


def test_text_is_escaped():
    html = as_html("<script>", Bold("a & b"), Rows(("<i>", ""), [("<b>", Bold('"'))], "<>"))
    read = Reader(html)
    assert read.open == []
    assert not {"script", "i"} & set(read.tags)
    assert read.rows == [["<i>", ""], ["<b>", '"']]
    assert "<script>" in read.text


def test_rows_have_a_cell_for_every_head():
    with pytest.raises(ValueError, match="zip"):
        as_html(Rows(("a", "b"), [("only one",)], "<<"))


def test_nothing_hides_on_dark_or_light_ground():
    html = as_html("text", Rows(("head",), [("cell",)], "<"))
    assert html.count("color: inherit") == html.count("background: transparent") > 4


@pytest.fixture(scope="module")
def data():
    return ub.datasets.swiss_roll(1000, random_state=0)


RESULTS = {
    "Quality": (
        lambda x, u: ub.quality(x, 2 * u),
        ["Only the unit is wrong", "R_N rescaled", "trustworthiness"],
    ),
    "Quality of a sample": (
        lambda x, u: ub.quality(x, u, n_centers=200, random_state=0),
        ["± ", "200 drawn"],
    ),
    "Comparison": (
        lambda x, u: ub.compare(x, {"truth": u, "<i>": x[:, :2]}),
        ["truth", "<i>", "The embedding is faithful", "rank", "order is that of trustworthiness, then R_C"],
    ),
    "FitVerdict": (
        lambda x, u: ub.ProcrustesAlignment().fit(x).verdict_,
        ["Trusted", "agrees with the data"],
    ),
    "Dimension": (lambda x, u: ub.dimension(x, random_state=0), ["Dimension 2: variance falls"]),
    "Selection": (
        lambda x, u: ub.select(x, [8, 60], 2, methods=["gp"], exhaustive=True, random_state=0),
        ["Chosen: gp, k = 8", "k too large", "Rule: "],
    ),
    "Faithfulness": (lambda x, u: ub.faithfulness(x, u), ["R_PCA", "Neighborhoods of 1,000 points"]),
    "Ranks": (lambda x, u: ub.metrics.ranks(x, u), ["trustworthiness", "with 12 neighbors"]),
    "Geodesic": (lambda x, u: ub.metrics.geodesic(x, u), ["residual variance", "1,000 points"]),
    "Shepard": (lambda x, u: ub.metrics.shepard(x, u), ["Spearman", "499,500 pairs"]),
    "Value": (lambda x, u: ub.quality(x, u, ["r_n"])["r_n"], ["R_N", "error relative to size"]),
    "Partition": (
        lambda x, u: ub.partition.embed(x, points_per_cell=500),
        ["1,000 points", "in 2 cells", "R_C"],
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table_with_its_sentence(name, data):
    make, words = RESULTS[name]
    result = make(*data)
    read = Reader(result._repr_html_())
    assert read.open == []
    assert len(read.rows) > 1
    assert [word for word in words if word not in read.text] == []
    assert f"{type(result).__name__}(" not in read.text
    assert "Ellipsis" not in read.text + repr(result)


def test_a_verdict_lists_its_reasons():
    x = np.random.default_rng(0).normal(size=(500, 10))
    verdict = ub.ProcrustesAlignment(candidates=False).fit(x).verdict_
    read = Reader(verdict._repr_html_())
    assert "Not trusted" in read.text
    assert verdict.sentence in read.text
    assert {row[0] for row in read.rows} >= {reason.name for reason in verdict.reasons} != set()


def test_a_notebook_does_not_wait_for_the_overlap(data):
    m = ub.faithfulness(*data)
    assert "computed when you read it" in Reader(m._repr_html_()).text
    assert "computed when you read it" in repr(m)
    row = ["overlap", f"{m.overlap:.4g}", "", "far points side by side"]
    assert row in Reader(m._repr_html_()).rows
    assert "computed when" not in repr(m)


def test_the_best_numbers_are_bold(data):
    x, u = data
    html = ub.compare(x, {"truth": u, "shadow": x[:, :2]}, ["r_n"], by="r_n")._repr_html_()
    best, worst = (f"{ub.faithfulness(x, y).r_n:.3g}" for y in (u, x[:, :2]))
    assert f"<b>{best}</b>" in html
    assert f"<b>{worst}</b>" not in html
