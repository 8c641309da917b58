"""Findings about an embedding, question by question, and the order of several."""

import json

import numpy as np
import pytest
import unbend as ub
from unbend.judge.findings import DOUBTFUL_NEIGHBORS, MAX_DISAGREEMENT

QUESTIONS = ["dimensions", "neighbors", "distances", "shape", "next"]


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(1500, random_state=0)


@pytest.fixture(scope="module")
def clusters():
    """Clusters of eight dimensions; a map that keeps them apart, and one that presses them on each other."""
    rng = np.random.default_rng(0)
    label = np.arange(900) % 6
    inside = rng.normal(size=(900, 8))
    x = inside + 12 * np.eye(8)[label]
    apart = 0.5 * inside[:, 6:] + 8 * np.column_stack([np.cos(label), np.sin(label)])
    return x, apart, inside[:, 6:]


def answers(q):
    return {finding.question: finding for finding in q.findings}


def test_a_flat_roll_is_believed(roll):
    x, truth = roll
    found = answers(ub.quality(x, truth))
    assert list(found) == QUESTIONS[:4]
    assert all(finding.good for finding in found.values())
    assert "Distances can be read" in found["distances"].text
    assert found["distances"].numbers["disagreement"] <= MAX_DISAGREEMENT


def test_a_folded_roll_is_not(roll):
    x, _ = roll
    q = ub.quality(x, x[:, :2])
    found = answers(q)
    assert list(found) == QUESTIONS
    assert found["neighbors"].good is False
    assert found["neighbors"].numbers["trustworthiness"] < DOUBTFUL_NEIGHBORS
    assert found["distances"].good is False
    assert found["shape"].text == q.reading


def test_maps_of_clusters(clusters):
    x, apart, pressed = clusters
    kept, lost = (answers(ub.quality(x, y)) for y in (apart, pressed))
    assert kept["dimensions"].good is False
    assert "would show at least 90%" in kept["dimensions"].text
    assert lost["neighbors"].good is False
    assert kept["neighbors"].numbers["trustworthiness"] > lost["neighbors"].numbers["trustworthiness"]
    assert "dimensions" in lost["next"].text


def test_lengths_of_a_map_that_is_not_to_scale_cannot_be_read(roll):
    x, truth = roll
    uneven = np.column_stack([np.exp(truth[:, 0] / 15), truth[:, 1]])
    q = ub.quality(x, uneven)
    found = answers(q)["distances"]
    assert q["trustworthiness"].value > 0.95
    assert found.numbers["disagreement"] > found.limits["disagreement"]
    assert found.text.startswith("Lengths cannot be read, and distances between regions may mislead")


def test_statements_rest_on_the_same_sample_in_every_call():
    x, truth = ub.datasets.swiss_roll(2500, random_state=1)
    y = truth + np.random.default_rng(0).normal(size=truth.shape)
    every = ub.quality(x, y)
    drawn = ub.quality(x, y, n_centers=300, random_state=7)
    some = ub.compare(x, {"y": y}, ["trustworthiness", "q_nx"])["y"]
    assert "(at 1,000 random points)" in every.statements["neighbors"]
    assert "(from 200 random points)" in every.statements["distances"]
    for q in (drawn, some):
        assert q.statements["neighbors"] == every.statements["neighbors"]
    assert drawn.statements["distances"] == every.statements["distances"]
    exact = every["trustworthiness"].value
    assert exact != every.sampled.values["trustworthiness"] == pytest.approx(exact, abs=0.005)
    few = ub.quality(x[:900], y[:900])
    assert "random points" not in few.statements["neighbors"]
    assert few.sampled.values["trustworthiness"] == few["trustworthiness"].value


def test_advice_on_refinement_depends_on_the_neighbors(roll):
    x, _ = roll
    pca = ub.PCA().fit(x).embedding_
    q = ub.quality(x, pca)
    assert q.kind == "distorted"
    assert answers(q)["neighbors"].good is not True
    assert "does not unfold" in answers(q)["next"].text


def test_nothing_is_stated_about_equal_points():
    x = np.ones((60, 3))
    q = ub.quality(x, np.zeros((60, 2)))
    assert q.statements == {"shape": "Nothing can be judged: all 60 points of the data are equal."}
    with pytest.warns(ub.EqualPointsWarning), pytest.warns(ub.UntrustedWarning):
        verdict = ub.ProcrustesAlignment().fit(x).verdict_
    assert not verdict.trusted
    assert "all 60 points are equal" in verdict.sentence


def test_only_what_was_measured_is_answered(roll):
    x, truth = roll
    assert [f.question for f in ub.quality(x, truth, ["ranks"]).findings] == ["neighbors"]
    assert ub.quality(x, truth, ["spearman"]).findings == []
    assert "trustworthiness is 1.000" in str(ub.quality(x, truth, ["ranks"]))


def test_findings_as_json(roll):
    x, truth = roll
    q = ub.quality(x, truth)
    held = json.loads(q.to_json())
    assert [finding["question"] for finding in held["findings"]] == [f.question for f in q.findings]
    assert held["n_dimensions_needed"] == q.n_dimensions_needed == 2


@pytest.mark.parametrize(("n", "d"), [(600, 1), (600, 3), (900, 5)])
def test_the_dimensions_needed_are_those_of_the_data(n, d):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(n, d))
    x = u @ np.linalg.qr(rng.normal(size=(8, 8)))[0][:d] + 1e-3 * rng.normal(size=(n, 8))
    needed = ub.quality(x, u[:, :1], ["procrustes"]).n_dimensions_needed
    bounds = [ub.metrics.lower_bound(x, k) for k in range(1, 8)]
    assert needed == 1 + next(place for place, bound in enumerate(bounds) if bound <= 0.1)


# ---------------------------------------------------------------------------- kinds that need more than R_N


def test_faithful_is_relative_to_the_bound(roll):
    x, truth = roll
    shaken = truth + np.random.default_rng(0).normal(scale=0.12, size=truth.shape)
    q = ub.quality(x, shaken)
    assert 4 * q["lower_bound"].value + 0.002 < q["r_n"].value < 0.05
    assert q.kind == "near"
    assert "times the least possible" in q.reading
    assert ub.quality(x, truth).kind == "faithful"


def test_a_bent_strip_is_not_faithful():
    rng = np.random.default_rng(0)
    u = rng.random((120, 2)) * [1.5, 0.02]
    x = np.column_stack([u, np.zeros(len(u))])
    angle, out = u[:, 0] / 0.3, 0.3 + u[:, 1]  # Neighborhoods hardly bend, but balls of a hundred points do.
    q = ub.quality(x, np.column_stack([out * np.cos(angle), out * np.sin(angle)]), n_neighbors=6)
    assert q["r_n"].value < 0.02
    assert q["disagreement"].value > 0.015
    assert q.kind == "bent"
    assert "within a hundred points" in q.reading


# ---------------------------------------------------------------------------- disagreement


def test_disagreement_is_invariant_under_motions(roll):
    x, truth = roll
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    plain = ub.metrics.disagreement(x, truth)
    assert ub.metrics.disagreement(x, truth @ turn + 5) == pytest.approx(plain, rel=1e-9)
    assert ub.metrics.disagreement(7 * x, 7 * truth) == pytest.approx(plain, rel=1e-9)
    assert ub.metrics.disagreement(x, np.zeros_like(truth)) == pytest.approx(1.0)


def test_disagreement_is_the_mean_over_balls_for_any_threads(roll):
    x, truth = roll
    values = {ub.metrics.disagreement(x, truth * [1, 1.1], n_jobs=jobs) for jobs in (1, 2, 3)}
    assert len(values) == 1
    q = ub.quality(x, truth * [1, 1.1], ["disagreement"])["disagreement"]
    assert q.value == values.pop()
    assert q.value == pytest.approx(q.units.mean())


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning")
def test_short_circuits_do_not_hide():
    x, _ = ub.datasets.swiss_roll(400, random_state=3)
    model = ub.ProcrustesAlignment(n_neighbors=16, candidates=False, cut=False).fit(x)
    followed = ub.metrics.disagreement(x, model.embedding_, 16)
    assert followed > 0.015


# ---------------------------------------------------------------------------- order


def test_clusters_kept_apart_come_first(clusters):
    x, apart, pressed = clusters
    refined = ub.refine(x, pressed, guard=False).embedding
    found = ub.compare(x, {"refined": refined, "apart": apart})
    assert found["refined"]["r_c"].value < found["apart"]["r_c"].value
    assert list(found) == ["apart", "refined"]
    assert found.by == "trustworthiness"
    assert found.roles["apart"]["neighbors"] == 1
    assert "cannot be shown" in found.cautions[0]
    assert found.to_dict()["cautions"] == found.cautions


def test_shape_decides_where_neighbors_are_alike(roll):
    x, truth = roll
    found = ub.compare(x, {"stretched": truth * [1, 1.3], "truth": truth})
    assert abs(found.difference("stretched", "truth", "trustworthiness").value) <= 0.002
    assert list(found) == ["truth", "stretched"]
    assert found.ranks() == {"truth": 1, "stretched": 2}
    assert found.cautions == []


def test_cautions(roll):
    x, truth = roll
    assert "have 2, 3 dimensions" in ub.compare(x, {"flat": truth, "all": x}).cautions[0]
    folded = {"side": x[:, :2], "noise": np.random.default_rng(0).normal(size=truth.shape)}
    assert "of what lies near in it is far" in " ".join(ub.compare(x, folded).cautions)


def test_components_lie_anywhere(roll):
    x, truth = roll
    apart = np.concatenate([x, x + 500]), np.concatenate([truth, truth + 300])
    q = ub.quality(*apart)
    assert q.share_apart == 0.5
    found = answers(q)
    assert found["distances"].good is False
    assert "50% of the points are outside the largest" in found["distances"].text
    assert found["shape"].text.startswith("Of each component by itself: ")
    assert found["shape"].good is None
