"""An embedding that was cut is measured on its sheet, and ranked with all pairs of neighbors."""

import json
import warnings

import numpy as np
import pytest
import unbend as ub

K = 10


@pytest.fixture(scope="module")
def tube():
    """A tube: cut open, and not cut."""
    x, _ = ub.datasets.cylinder(1200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [ub.ProcrustesAlignment(n_neighbors=K, cut=cut).fit(x) for cut in ("auto", False)]
    assert len(models[0].cut_pairs_) > 20
    assert len(models[1].cut_pairs_) == 0
    return x, *models


def test_a_fitted_estimator_brings_its_cut_and_its_neighbors(tube):
    x, cut, whole = tube
    m = ub.faithfulness(x, cut)
    assert m == cut.faithfulness_
    assert m.n_cut_pairs == len(cut.cut_pairs_)
    assert m == ub.faithfulness(x, cut.embedding_, K, cut=cut.cut_pairs_)
    assert m.whole == ub.faithfulness(x, cut.embedding_, K)
    assert m.whole == ub.faithfulness(x, cut, cut=[])
    assert m.whole.r_n > 100 * m.r_n
    assert m != m.whole
    assert ub.faithfulness(x, whole).whole is None
    assert ub.metrics.procrustes(x, cut, kind="R_C") == m.r_c


def test_pairs_that_are_no_neighbors_change_nothing(tube):
    x, cut, _ = tube
    far = np.array([[0, np.argmax(((x - x[0]) ** 2).sum(axis=1))]])
    m = ub.faithfulness(x, cut.embedding_, K, cut=far)
    assert (m.n_cut_pairs, m.whole) == (0, None)
    assert m == ub.faithfulness(x, cut.embedding_, K)


def test_a_saved_model_says_the_same(tube, tmp_path):
    x, cut, _ = tube
    model = ub.load(cut.save(tmp_path / "tube.unbend"))
    assert model.faithfulness_ == cut.faithfulness_
    assert str(ub.quality(x, model)) == str(ub.quality(x, cut))


@pytest.mark.parametrize("n_centers", [None, 400])
def test_quality_is_that_of_the_sheet_and_of_all(tube, n_centers):
    x, cut, _ = tube
    options = {"n_centers": n_centers, "random_state": 0}
    q = ub.quality(x, cut, **options)
    whole = ub.quality(x, cut.embedding_, n_neighbors=K, **options)
    m = ub.faithfulness(x, cut, **options)
    for name in ("r_n", "r_c", "lower_bound", "scale", "r_n_scaled"):
        assert q[name].value == getattr(m, name)
    changed = {"r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "m_l"}
    changed |= {"residual_variance", "geodesic_stress", "geodesic_stretch", "disagreement"}
    for name, value in q.items():
        if name in changed:
            assert value.whole == whole[name]
            assert value.whole != value
        else:
            assert value == whole[name]
    assert q["residual_variance"].value < 0.01 < 0.3 < whole["residual_variance"].value
    assert (q.kind, whole.kind) == ("faithful", "torn")
    assert q.n_cut_pairs == m.n_cut_pairs


def test_the_numbers_are_said(tube):
    x, cut, whole = tube
    q = ub.quality(x, cut)
    text = " ".join(str(q).split())
    share = f"{100 * q.faithfulness.cut_share:.3g}% of neighborhoods"
    expected = (
        f"{q.n_cut_pairs} pairs of neighbors that the cut parts are left out ({share}); with them R_N is "
    )
    assert expected + f"{q['r_n'].whole.value:.3g}." in text
    assert q.cut_sentence in text
    assert ub.quality(x, whole).cut_sentence == ""
    assert "R_N" not in ub.quality(x, cut, "ranks").cut_sentence
    one = ub.quality(x, cut.embedding_, "procrustes", K, cut=cut.cut_pairs_[:1]).cut_sentence
    assert one.startswith("1 pair of neighbors that the cut parts is left out (")


def test_the_verdict_of_the_fit_comes_first(tube):
    x, cut, whole = tube
    for model in (cut, whole):
        q = ub.quality(x, model)
        assert next(iter(q.statements.items())) == ("verdict", model.verdict_.sentence)
        assert q.statements["shape"] == q.reading
    assert "verdict" not in ub.quality(x, whole.embedding_).statements


def test_json_and_frames_hold_both(tube):
    x, cut, whole = tube
    c = ub.compare(x, {"cut": cut, "whole": whole}, ["procrustes", "ranks"])
    told = json.loads(c.to_json())["embeddings"]
    assert told["cut"]["measures"]["r_n"]["whole"]["value"] == c["cut"]["r_n"].whole.value
    assert "whole" not in told["whole"]["measures"]["r_n"]
    assert told["cut"]["n_cut_pairs"] == len(cut.cut_pairs_)
    pytest.importorskip("pandas")
    frame = c.to_frame()
    assert frame.loc["cut", "r_n"] == c["cut"]["r_n"].value
    assert frame.loc["cut", "r_n_whole"] == c["cut"]["r_n"].whole.value
    assert frame.loc["whole", "r_n_whole"] == c["whole"]["r_n"].value
    assert "q_nx_whole" not in frame


@pytest.mark.parametrize("by", ["r_n", "r_c", "m_l", "residual_variance", "q_nx"])
def test_a_cut_never_improves_a_rank(tube, by):
    """Leaving out pairs changes the numbers on the sheet, but neither the order nor the ranks."""
    x, cut, whole = tube
    ys = {"cut": cut.embedding_, "whole": whole.embedding_, "shadow": x[:, :2]}
    graph = ub.neighborhoods(x, K)
    everything = np.column_stack([np.repeat(np.arange(len(x)), K), graph.indices])
    plain = ub.compare(x, ys, neighborhoods=graph, by=by, random_state=0)
    cuts = {"cut": cut.cut_pairs_, "shadow": everything}
    given = ub.compare(x, ys, neighborhoods=graph, by=by, cuts=cuts, random_state=0)
    assert list(given) == list(plain)
    for measure in given.measures:
        if measure.better:
            assert given.ranks(measure.name) == plain.ranks(measure.name)
    difference = given.difference("shadow", "whole", by)
    assert difference.value == plain.difference("shadow", "whole", by).value
    assert given["shadow"]["r_n"].value == 0 < plain["shadow"]["r_n"].value
    assert "(100% of neighborhoods)" in " ".join(str(given).split())


def test_a_cut_tube_beats_a_pressed_one(tube):
    x, cut, whole = tube
    c = ub.compare(x, {"whole": whole, "cut": cut}, ["procrustes"])
    assert list(c) == ["cut", "whole"]
    assert c["cut"]["r_c"].value < 0.01 < c["cut"]["r_c"].whole.value < c["whole"]["r_c"].value
    lines = str(c).splitlines()
    symbols = [line[2:20].strip() for line in lines[1:]]
    assert lines[1 + symbols.index("R_C") + 1].startswith(">   with all pairs")
    assert "*" not in lines[1 + symbols.index("R_C")]
    assert "the order, by R_C with all pairs" in str(c)
    assert "with all pairs" not in str(ub.compare(x, [whole], ["procrustes"]))


def test_neighbors_by_default(tube):
    x, cut, _ = tube
    wide = ub.ProcrustesAlignment(n_neighbors=14).fit(x)
    c = ub.compare(x, [wide, cut, x[:, :2]], "procrustes")
    assert {quality.n_neighbors for quality in c.values()} == {K}
    assert c["1"]["r_n"].value < 0.01  # with fewer neighbors than in its fit, a cut is still known
    assert ub.compare(x, [x[:, :2]], "procrustes")["1"].n_neighbors == 12
    assert ub.quality(x, wide, "ranks").n_neighbors == 14
    assert ub.quality(x, wide, "ranks", 9).n_neighbors == 9
    assert ub.faithfulness(x, wide, radius=0.2) == ub.faithfulness(
        x, wide.embedding_, radius=0.2, cut=wide.cut_pairs_
    )


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ({"none": [[0, 1]]}, "a cut of 'none' is given, but embeddings are cut"),
        ([[0, 1]], "cuts is a list: give a dict of names and pairs of neighbors"),
        (
            {"cut": [[0, 1200]]},
            r"holds points from 0 to 1200, but there are 1200: give indices from 0 to 1199",
        ),
        ({"cut": [[0, 1, 2]]}, r"must be pairs of points, got an array of shape \(1, 3\)"),
        ({"cut": [[0.5, 1]]}, "and float64: give two whole numbers in each row"),
    ],
)
def test_cuts_that_are_none(tube, cuts, message, monkeypatch):
    x, cut, _ = tube
    monkeypatch.setattr("unbend.judge.context.resolve", None)  # they are refused before the search
    with pytest.raises(ValueError, match=message):
        ub.compare(x, {"cut": cut}, cuts=cuts)


def test_no_cut_of_a_fitted_estimator(tube):
    x, cut, _ = tube
    c = ub.compare(x, {"cut": cut}, ["procrustes"], cuts={"cut": []})
    assert c["cut"].n_cut_pairs == 0
    assert c["cut"]["r_n"].value == cut.faithfulness_.whole.r_n
