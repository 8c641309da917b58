"""Every measure in one table: the numbers of the single measures, samples, and what is read from them."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import unbend as ub
from unbend.measures import FAMILIES, MEASURES

K = 8
METRICS = ub.metrics


@pytest.fixture(scope="module")
def roll():
    x, coordinates = ub.datasets.swiss_roll(1500, noise=0.05, random_state=0)
    return x, coordinates


@pytest.fixture(scope="module")
def quality(roll):
    x, coordinates = roll
    return ub.quality(x, coordinates * [1, 0.6], n_neighbors=K, coordinates=coordinates, random_state=0)


def test_every_measure_is_there(quality):
    assert list(quality) == list(MEASURES)
    assert {value.measure.family for value in quality.values()} == set(FAMILIES)
    assert all(name == value.measure.name for name, value in quality.items())


def test_numbers_are_those_of_the_single_measures(quality, roll):
    x, coordinates = roll
    y, near = coordinates * [1, 0.6], ub.neighborhoods(x, K)
    m = ub.faithfulness(x, y, neighborhoods=near)
    ranks = METRICS.ranks(x, y, neighborhoods=near)
    along = METRICS.geodesic(x, y, neighborhoods=near)
    straight = METRICS.shepard(x, y)
    expected = {
        **{
            name: getattr(m, name) for name in ("r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap")
        },
        "m_l": METRICS.nieqa_local(x, y, neighborhoods=near),
        "m_g": METRICS.nieqa_global(x, y),
        "m_t": METRICS.nieqa_truth(y, coordinates),
        **{name: getattr(ranks, name)[-1] for name in MEASURES if hasattr(ranks, name) and name != "auc"},
        "auc": ranks.auc,
        "residual_variance": along.residual_variance,
        "geodesic_stress": along.stress_scaled,
        "geodesic_stretch": along.stretch,
        **{name: getattr(straight, name) for name in ("spearman", "pearson", "stress", "stress_scaled")},
    }
    assert set(expected) == set(quality)
    for name, number in expected.items():
        assert quality[name].value == pytest.approx(number, rel=1e-12), name


def test_everything_is_exact_when_all_is_measured(quality):
    for name, value in quality.items():
        assert value.standard_error == 0, name
        assert value.interval == (value.value, value.value)


def test_numbers_lie_in_their_ranges(quality, roll):
    x, _ = roll
    random = ub.quality(x, np.random.default_rng(0).normal(size=(len(x), 2)), n_neighbors=K)
    for q in (quality, random):
        for name, value in q.items():
            assert value.measure.low - 1e-12 <= value.value <= value.measure.high + 1e-12, name
    for name, value in random.items():
        if value.null is not None:  # what is said of an embedding at random is so
            assert abs(value.value - value.null) < 0.02, name


def test_a_sample_has_intervals(quality, roll):
    x, coordinates = roll
    y = coordinates * [1, 0.6]
    names = [name for name in quality if name not in ("m_g", "m_t")]
    options = {"measures": names, "n_centers": 400, "n_sources": 300, "n_pairs": 100_000}
    inside = []
    for seed in range(20):
        drawn = ub.quality(x, y, n_neighbors=K, random_state=seed, **options)
        for name, value in drawn.items():
            low, high = value.interval
            assert low <= value.value <= high
            if not math.isnan(value.standard_error):
                assert value.standard_error > 0 or name == "overlap", name
                inside.append(low <= quality[name].value <= high)
    assert 0.9 < np.mean(inside) <= 1
    assert math.isnan(drawn["scale"].standard_error)
    assert drawn["scale"].interval == (0, math.inf)
    assert {len(values) for values in drawn.per_point.values()} == {400}
    assert len(drawn.centers) == 400


def test_auto_reaches_the_half_width(roll):
    x, _ = ub.datasets.swiss_roll(20_000, random_state=0)
    q = ub.quality(
        x, x[:, :2], ["r_n", "r_c", "m_l", "ranks"], n_centers="auto", half_width=0.02, random_state=0
    )
    assert 1000 <= len(q.centers) < 10_000
    means = [value for value in q.values() if value.measure.name != "lower_bound"]
    assert max(value.half_width for value in means) <= 0.02


def test_per_point(quality, roll):
    x, _ = roll
    for name, values in quality.per_point.items():
        assert len(values) == len(x)
        assert values.mean() == pytest.approx(quality[name].value, rel=1e-12), name
    assert {"r_n", "m_l", "trustworthiness", "auc"} <= set(quality.per_point)


def test_details_are_at_hand(quality):
    assert quality.faithfulness.r_n == quality["r_n"].value
    assert len(quality.ranks.k) == K == quality.n_neighbors
    assert quality.geodesic.residual_variance == quality["residual_variance"].value
    assert quality.shepard.spearman == quality["spearman"].value


def test_some_measures(roll):
    x, y = roll
    q = ub.quality(x, y, ["lcmc", "procrustes"], n_neighbors=K)
    assert list(q) == ["lcmc", "r_n", "r_n_scaled", "r_c", "lower_bound", "scale", "overlap"]
    assert (q.geodesic, q.shepard, q.kind, q.reading) == (None, None, "unread", "")
    assert list(ub.quality(x, y, "spearman")) == ["spearman"]
    with pytest.raises(KeyError, match="'m_l' was not measured"):
        q["m_l"]


def test_a_radius_means_ranks_of_the_mean_number(roll):
    x, y = roll
    near = ub.neighborhoods(x, radius=4.0)
    q = ub.quality(x, y, ["r_n", "q_nx"], neighborhoods=near)
    assert q.n_neighbors == round(near.sizes.mean())
    assert q["q_nx"].value == METRICS.q_nx(x, y, q.n_neighbors)
    assert q["r_n"].value == ub.faithfulness(x, y, neighborhoods=near).r_n


def test_wide_embeddings_have_no_procrustes(roll):
    x, _ = roll
    y = np.hstack([x, x[:, :1]])
    q = ub.quality(x, y)
    assert {value.measure.family for value in q.values()} == {"ranks", "geodesic", "distances"}
    assert q.kind == "unread"
    with pytest.raises(
        ValueError, match=r"r_n cannot be measured: Y has 4 dimensions, the data 3"
    ):
        ub.quality(x, y, ["r_n"])


def test_data_in_pieces(roll):
    x, coordinates = roll
    x, y = np.vstack([x, x + 1e4]), np.vstack([coordinates, coordinates + 1e4])
    q = ub.quality(x, y)
    assert q.geodesic.unreachable == pytest.approx(0.5, abs=0.001)
    assert all(not math.isnan(value.value) for value in q.values())


def test_the_same_for_any_number_of_threads(quality, roll):
    x, coordinates = roll
    options = {"n_neighbors": K, "coordinates": coordinates, "random_state": 0}
    again = ub.quality(x, coordinates * [1, 0.6], n_jobs=1, **options)
    assert again.to_dict() == quality.to_dict()


def test_kinds(roll):
    x, coordinates = roll
    normalized = coordinates / coordinates.std(axis=0)
    folded = np.c_[abs(coordinates[:, 0] - np.median(coordinates[:, 0])), coordinates[:, 1]]
    kinds = {
        "faithful": coordinates,
        "scaled": 5 * coordinates,
        "stretched": normalized,
        "folded": folded,
        "collapsed": x[:, ::2],
        "unrelated": np.random.default_rng(0).normal(size=coordinates.shape),
    }
    found = {kind: ub.quality(x, y, ["procrustes", "m_l"]).kind for kind, y in kinds.items()}
    assert found == {kind: kind for kind in kinds}


def test_as_text(quality, roll):
    x, coordinates = roll
    lines = str(quality).splitlines()
    assert lines[0] == "1,500 points of 3 dimensions in 2, all measured; 8 neighbours"
    assert max(map(len, lines)) < 80
    for value in quality.values():
        (line,) = (line for line in lines if line[2:20].strip() == value.measure.symbol)
        assert float(line[20:29]) == pytest.approx(value.value, rel=1e-3, abs=1e-25)
    assert quality.reading in " ".join(" ".join(lines).split())
    drawn = str(ub.quality(x, coordinates, n_centers=100, random_state=0)).splitlines()
    assert "100 drawn" in drawn[0]
    assert "± 95 %" in drawn[2]
    assert max(map(len, drawn)) < 80


def test_as_json(quality):
    held = json.loads(quality.to_json())
    assert set(held["measures"]) == set(MEASURES)
    assert held["measures"]["trustworthiness"]["better"] == "higher"
    assert held["measures"]["r_n"]["range"] == [0, None]
    assert (held["n_points"], held["dimensions"], held["kind"]) == (1500, [3, 2], quality.kind)


def test_as_a_frame(quality):
    frame = quality.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == list(MEASURES)
    assert frame.loc["continuity", "value"] == quality["continuity"].value
    assert frame.loc["residual_variance", "random"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": ["beauty"]}, "'beauty' is no measure: use 'all', procrustes"),
        ({"measures": []}, "measures is empty"),
        ({"measures": ["m_t"]}, "m_t cannot be measured: give the true coordinates"),
        ({"coordinates": np.zeros((3, 2))}, "X has 1500 rows, but coordinates has 3"),
        ({"n_centers": 0}, "n_centers = 0"),
        ({"half_width": -1}, "half_width = -1"),
        ({"n_sources": 0}, "n_sources = 0"),
        ({"n_neighbors": 1500}, "needs at least 1501 points"),
        ({"random_state": -1}, "random_state = -1"),
    ],
)
def test_bad_input(roll, options, message):
    x, y = roll
    with pytest.raises(ValueError, match=message):
        ub.quality(x, y, **options)
    with pytest.raises(ValueError, match="X has 1500 rows, but Y has 1499"):
        ub.quality(x, y[1:])
