"""Several embeddings beside each other: ranks, differences, and the tables."""

import json

import numpy as np
import pytest
import unbend as ub
from unbend.judge.comparison import Difference


@pytest.fixture(scope="module")
def roll():
    x, coordinates = ub.datasets.swiss_roll(1500, noise=0.05, random_state=0)
    rng = np.random.default_rng(0)
    jittered = coordinates + rng.normal(0, 0.3, size=coordinates.shape)
    return x, {"side": x[:, ::2], "jittered": jittered, "truth": coordinates, "large": 3 * coordinates}


def test_the_best_come_first(roll):
    x, embeddings = roll
    found = ub.compare(x, embeddings, ["procrustes", "ranks"])
    assert list(found)[2:] == ["jittered", "side"]
    assert found.ranks() == {"truth": 1, "large": 1, "jittered": 3, "side": 4} | {}
    assert found.ranks("r_n") == {"truth": 1, "jittered": 2, "side": 3, "large": 4}
    by_rank = ub.compare(x, embeddings, ["trustworthiness"], by="trustworthiness")
    assert list(by_rank)[-1] == "side"


def test_each_is_what_it_is_alone(roll):
    x, embeddings = roll
    options = {"n_centers": 300, "n_sources": 50, "n_pairs": 10_000, "random_state": 5}
    found = ub.compare(x, embeddings, **options)
    for name, y in embeddings.items():
        assert found[name].to_dict() == ub.quality(x, y, **options).to_dict()


def test_differences_are_paired(roll):
    x, embeddings = roll
    measures, pair = ["r_c", "q_nx", "residual_variance", "spearman"], ["jittered", "truth"]
    embeddings = {name: embeddings[name] for name in pair}
    exact = ub.compare(x, embeddings, measures)
    inside = []
    for seed in range(20):
        options = {"n_centers": 300, "n_sources": 50, "n_pairs": 50_000, "random_state": seed}
        drawn = ub.compare(x, embeddings, measures, **options)
        for name in measures:
            found = drawn.difference("jittered", "truth", name)
            whole = exact.difference("jittered", "truth", name)
            assert whole.standard_error == 0
            assert whole.value == exact["jittered"][name].value - exact["truth"][name].value
            inside.append(found.interval[0] <= whole.value <= found.interval[1])
            apart = np.hypot(*(drawn[one][name].standard_error for one in pair))
            assert found.standard_error < 1.1 * apart
    assert np.mean(inside) > 0.85
    both = [drawn[one]["spearman"].standard_error for one in pair]
    assert drawn.difference("jittered", "truth", "spearman").standard_error < 0.2 * max(both)


def test_what_a_sample_cannot_tell_apart_shares_a_rank(roll):
    x, embeddings = roll
    rng = np.random.default_rng(1)
    pair = {
        name: embeddings["truth"] + rng.normal(0, 0.3, size=embeddings["truth"].shape) for name in ("a", "b")
    }
    found = ub.compare(x, pair, ["r_c"], n_centers=200, random_state=0)
    assert set(found.ranks().values()) == {1}
    assert sorted(ub.compare(x, pair, ["r_c"]).ranks().values()) == [1, 2]


def test_what_has_no_interval_is_not_ranked_by_a_sample(roll):
    x, embeddings = roll
    found = ub.compare(x, embeddings, ["procrustes"], n_centers=200, random_state=0)
    assert np.isnan(found["truth"]["scale"].standard_error)
    assert found["side"]["r_n_scaled"].standard_error > 0
    assert found.ranks("r_n_scaled")["side"] == 4


def test_a_list_is_numbered(roll):
    x, embeddings = roll
    found = ub.compare(x, list(embeddings.values()), ["r_c"])
    assert set(found) == {"1", "2", "3", "4"}
    assert list(found)[-1] == "1"


def test_as_text(roll):
    x, embeddings = roll
    exact, drawn = ub.compare(x, embeddings), ub.compare(x, embeddings, n_centers=300, random_state=0)
    for found in (exact, drawn):
        lines = str(found).splitlines()
        assert max(map(len, lines)) < 80
        assert sum(line.startswith("> trustworthiness") for line in lines) == (1 if found is exact else 2)
        for name, quality in found.items():
            text = " ".join(" ".join(lines).split())
            assert f". {name} dimensions " in text
            assert all(f"{question} {said}" in text for question, said in quality.statements.items())


def test_as_json_and_frame(roll):
    x, embeddings = roll
    found = ub.compare(x, embeddings, ["procrustes"])
    held = json.loads(found.to_json())
    assert list(held["embeddings"]) == list(found)
    assert held["ranks"]["r_n"] == found.ranks("r_n")
    frame = found.to_frame()
    assert list(frame.index) == list(found)
    assert frame.loc["side", "r_c"] == found["side"]["r_c"].value


@pytest.mark.parametrize(
    ("embeddings", "options", "message"),
    [
        ({}, {}, "embeddings is empty"),
        (np.zeros((1500, 2)), {}, "embeddings is a ndarray"),
        ({"a": np.zeros((1500, 2)), "b": np.zeros((7, 2))}, {}, "X has 1500 rows, but b has 7"),
        ({"a": np.zeros((1500, 2))}, {"by": "lower_bound"}, "by = 'lower_bound' is none of the merits"),
        (
            {"a": np.zeros((1500, 2))},
            {"measures": ["r_n"], "by": "r_c"},
            "by = 'r_c' is none of the merits measured",
        ),
    ],
)
def test_bad_input(roll, embeddings, options, message):
    with pytest.raises(ValueError, match=message):
        ub.compare(roll[0], embeddings, **options)


@pytest.fixture(scope="module")
def cloud():
    return np.random.default_rng(0).normal(size=(60, 3))


def test_infinity_is_worse_than_any_number(cloud):
    found = ub.compare(cloud, {"ok": cloud[:, :2], "const": np.zeros((60, 2)), "again": np.ones((60, 2))})
    assert found.ranks("geodesic_stretch") == {"ok": 1, "const": 2, "again": 2}
    assert found.difference("const", "again", "geodesic_stretch") == Difference(0.0, 0.0)
    assert found.difference("const", "ok", "geodesic_stretch").interval == (np.inf, np.inf)


def test_no_difference_is_nan(cloud):
    embeddings = {"ok": cloud[:, :2], "const": np.zeros((60, 2)), "again": np.ones((60, 2))}
    found = ub.compare(cloud, embeddings, n_centers=20, n_sources=20, random_state=0)
    assert found.difference("const", "again", "geodesic_stretch").value == 0
    for m in found.measures:
        for pair in (("ok", "const"), ("const", "again"), ("again", "ok")):
            difference = found.difference(*pair, m.name)
            assert not np.isnan([difference.value, *difference.interval]).any(), m.name


def test_rounding_is_not_ranked():
    x = np.random.default_rng(0).uniform(size=(300, 2))
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    found = ub.compare(x, {"same": x, "moved": x + 1, "turned": x @ turn, "mirrored": -x[:, ::-1]})
    for m in found.measures:
        if m.better and m.family != "nieqa":  # which sees that axes were turned
            assert set(found.ranks(m.name).values()) == {1}, m.name
    noisy = ub.compare(x, {"same": x, "off": x + 1e-4 * np.random.default_rng(1).normal(size=x.shape)})
    assert noisy.ranks("r_c") == {"same": 1, "off": 2}  # 1e-7, and no rounding


def test_m_g_from_a_sample_says_nothing_of_who_is_better():
    x, truth = ub.datasets.swiss_roll(4500, random_state=0)
    found = ub.compare(x, {"truth": truth, "shadow": x[:, :2]}, ["m_g"], by="m_g", random_state=0)
    assert found.ranks() == {"truth": 1, "shadow": 1}


def test_m_g_does_not_depend_on_the_company():
    x = np.random.default_rng(0).normal(size=(20, 4))
    found = ub.compare(x, {"narrow": x[:, :1], "wide": x}, ["m_g"], 3, by="m_g")
    for name, y in (("narrow", x[:, :1]), ("wide", x)):
        assert (
            found[name]["m_g"].value == ub.metrics.nieqa_global(x, y) == ub.quality(x, y, "m_g")["m_g"].value
        )


def test_by_what_cannot_be_measured(cloud, monkeypatch):
    far = cloud.copy()
    far[30:] += 1e4
    with pytest.raises(
        ValueError, match="by = 'm_g' cannot be measured: the neighborhood graph is in 2 pieces"
    ):
        ub.compare(far, {"a": cloud[:, :2]}, by="m_g", n_neighbors=5)
    assert ub.compare(far, {"a": cloud[:, :2]}, ["m_g"], by="m_g", n_neighbors=5).ranks() == {"a": 1}
    assert ub.compare(cloud[:, :2], {"a": cloud[:, :2]}, ["m_l", "scale"]).by == "m_l"
    with pytest.raises(ValueError, match="neither direction of scale is better"):
        ub.compare(cloud, {"a": cloud}, ["scale"])
    monkeypatch.setattr("unbend.judge.context.resolve", lambda *_: pytest.fail("neighbors were looked for"))
    wide = {"a": cloud[:, :2], "b": np.hstack([cloud, cloud])}
    with pytest.raises(ValueError, match="by = 'r_c' cannot be measured: b has 6 dimensions, the data 3"):
        ub.compare(cloud, wide, by="r_c")
    for by in (["r_c"], "beauty", "scale"):
        with pytest.raises(ValueError, match="is none of the merits measured"):
            ub.compare(cloud, {"a": cloud}, by=by)


def test_what_is_left_out_is_said(cloud):
    found = ub.compare(cloud, {"a": cloud[:, :2], "b": np.hstack([cloud, cloud])}, by="q_nx")
    assert "M_L, M_G: b has 6 dimensions, the data 3 *" in " ".join(str(found).split())


def test_the_bad_one_is_named(cloud, monkeypatch):
    monkeypatch.setattr("unbend.judge.context.resolve", lambda *_: pytest.fail("neighbors were looked for"))
    bad = cloud[:, :2].copy()
    bad[5, 1] = np.nan
    with pytest.raises(ValueError, match="bad holds NaN at row 5, column 1: every entry must be finite"):
        ub.compare(cloud, {"good": cloud[:, :2], "bad": bad})
    with pytest.raises(ValueError, match=r"bad is empty: it has shape \(60, 0\)"):
        ub.compare(cloud, {"good": cloud[:, :2], "bad": bad[:, :0]})


def test_names_are_text(cloud):
    a, b = cloud[:, :2], cloud[:, 1:]
    found = ub.compare(cloud, {1: a, (2, 3): b}, ["r_c"])
    assert found[1] == found["1"]
    assert set(found) == {"1", "(2, 3)"}
    assert found.difference(1, 1).value == 0
    with pytest.raises(KeyError, match="'c' was not measured; there is "):
        found["c"]
    with pytest.raises(
        ValueError, match="embeddings are called 1, '1': as text, some of these names are the same"
    ):
        ub.compare(cloud, {1: a, "1": b})


@pytest.mark.parametrize("measure", ["lower_bound", "scale", "beauty", "m_t"])
def test_only_merits_are_ranked(cloud, measure):
    found = ub.compare(cloud, {"a": cloud[:, :2], "b": cloud[:, :1]})
    with pytest.raises(
        ValueError, match=f"measure = '{measure}' is none of the merits measured: use one of r_n"
    ):
        found.ranks(measure)


def test_heads_of_columns_are_single_and_different(cloud):
    names = ["a\nb", *(f"an embedding with a long name, number {i}" for i in range(3))]
    found = ub.compare(
        cloud, {name: cloud[:, :2] * (1 + i) for i, name in enumerate(names)}, ["r_c"], n_centers=20
    )
    heads = [line for line in str(found).splitlines() if "  " in line and "R_C" not in line and "…" in line]
    cells = [cell for line in heads for cell in line.split("  ") if "…" in cell]
    assert len({cell.strip() for cell in cells}) == 3
    assert "a b" in heads[0]
    assert max(map(len, str(found).splitlines())) < 80
