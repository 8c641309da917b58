"""Several embeddings beside each other: ranks, differences, and the tables."""

import json

import numpy as np
import pytest
import unbend as ub


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
        assert sum(line.startswith("> R_C") for line in lines) == (1 if found is exact else 2)
        for name, quality in found.items():
            assert f"{name}: {quality.reading}" in " ".join(" ".join(lines).split())


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
        ({"a": np.zeros((1500, 2))}, {"measures": ["r_n"]}, "by = 'r_c' is none of the merits measured"),
    ],
)
def test_bad_input(roll, embeddings, options, message):
    with pytest.raises(ValueError, match=message):
        ub.compare(roll[0], embeddings, **options)
