"""Every measure in one table: the numbers of the single measures, samples, and what is read from them."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import unbend as ub
from unbend.judge.measures import FAMILIES, MEASURES

K = 8
METRICS = ub.metrics
NOBODY = ub.Neighborhoods(np.empty(0, np.uint32), indptr=np.zeros(1501, np.int64))
"""A graph without edges."""


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
        "disagreement": METRICS.disagreement(x, y, neighborhoods=near),
        **{name: getattr(straight, name) for name in ("spearman", "pearson", "stress", "stress_scaled")},
    }
    assert set(expected) == set(quality)
    for name, number in expected.items():
        assert quality[name].value == pytest.approx(number, rel=1e-12), name


def test_neighbors_are_searched_once(roll, monkeypatch):
    x, coordinates = roll
    expected = METRICS.nieqa_global(x, coordinates)
    sought, search = [], ub.neighborhoods

    def counted(*arguments, **options):
        sought.append(arguments)
        return search(*arguments, **options)

    monkeypatch.setattr("unbend.graph.neighbors.neighborhoods", counted)
    monkeypatch.setattr("unbend.metrics.nieqa.find_neighborhoods", counted)
    assert ub.quality(x, coordinates)["m_g"].value == expected
    assert len(sought) == 1
    assert ub.quality(x, coordinates, n_neighbors=5)["m_g"].value == expected  # too few for the landmarks
    assert len(sought) == 3
    assert ub.quality(x, coordinates, neighborhoods=search(x, 20))["m_g"].value == expected
    assert ub.quality(x, coordinates, radius=3.0)["m_g"].value == expected


def test_everything_is_exact_when_all_is_measured(quality):
    for name, value in quality.items():
        if name == "disagreement":  # of 48 balls
            assert value.standard_error > 0
            continue
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
    with pytest.raises(ValueError, match=r"r_n cannot be measured: Y has 4 dimensions, the data 3"):
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


def test_what_is_said_to_fool_them():
    """The numbers of docs/other-measures.md."""
    x, coordinates = ub.datasets.swiss_roll(2000, random_state=0)
    stretched = ub.quality(x, coordinates * [1, 4], ["trustworthiness", "r_c"])
    assert round(stretched["trustworthiness"].value, 3) == 0.997
    assert round(stretched["r_c"].value, 2) == 0.25
    assert round(METRICS.spearman(x, coordinates), 2) == 0.37
    assert round(METRICS.spearman(x, x[:, ::2]), 2) == 0.88


def test_as_text(quality, roll):
    x, coordinates = roll
    lines = str(quality).splitlines()
    assert lines[0] == "1,500 points of 3 dimensions in 2, all measured; 8 neighbors"
    assert max(map(len, lines)) < 80
    for value in quality.values():
        (line,) = (line for line in lines if line[2:20].strip() == value.measure.symbol)
        assert float(line[20:29]) == pytest.approx(value.value, rel=1e-3, abs=1e-25)
        low, _, high = line.split("..")[0].split()[-1], "..", line.split("..")[1].split()[0]
        assert (float(low), float(high.replace("∞", "inf"))) == (value.measure.low, value.measure.high)
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
    assert frame.loc["r_nx", ["least", "most"]].tolist() == [-1, 1]
    assert frame.loc["r_n", ["low", "high"]].tolist() == list(quality["r_n"].interval)


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
        ({"radius": 1e-9}, "no point has a neighbor within radius = 1e-09"),
        ({"neighborhoods": NOBODY}, "no point has a neighbor"),
    ],
)
def test_bad_input(roll, options, message):
    x, y = roll
    with pytest.raises(ValueError, match=message):
        ub.quality(x, y, **options)
    with pytest.raises(ValueError, match="X has 1500 rows, but Y has 1499"):
        ub.quality(x, y[1:])


def strict(text):
    """Read JSON that holds numbers only."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def cloud():
    x = np.random.default_rng(0).normal(size=(60, 3))
    return x, x[:, :2]


def blobs():
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[30:] += 1e4
    return x


@pytest.mark.parametrize(
    ("measures", "error"),
    [
        (12, "measures = 12 is no name .*: n_neighbors=12 is a keyword"),
        (None, "measures = None is no name of a measure, nor a list of them"),
        (b"r_c", "measures = b'r_c' is no name"),
        ([["r_c"]], r"\['r_c'\] is no measure"),
        ([12], "12 is no measure"),
    ],
)
def test_measures_that_are_no_names(cloud, measures, error):
    with pytest.raises(ValueError, match=error):
        ub.quality(*cloud, measures)


def test_all_can_be_in_a_list(cloud):
    everything = ub.quality(*cloud)
    assert list(ub.quality(*cloud, ["all"])) == list(everything)
    assert list(ub.quality(*cloud, ["r_c", "all"])) == [
        "r_c",
        *(name for name in everything if name != "r_c"),
    ]
    assert list(ub.quality(*cloud, "nieqa")) == ["m_l", "m_g"]  # M_t where the truth is known


def test_what_is_asked_for_by_name_is_not_left_out(cloud):
    x, y = cloud
    for measures in ("procrustes", "nieqa", ["ranks", "procrustes"], ["all", "nieqa"]):
        with pytest.raises(
            ValueError, match=r"(procrustes|nieqa) cannot be measured: Y has 3 dimensions, the data 2"
        ):
            ub.quality(y, x, measures)


def test_the_head_says_how_many_were_left_out():
    x = np.concatenate([np.zeros((6, 2)), np.random.default_rng(0).normal(size=(30, 2)) + 20])
    y = np.random.default_rng(1).normal(size=(36, 2))
    q = ub.quality(x, y, ["procrustes", "m_l"], n_neighbors=4)
    assert q.faithfulness.n_degenerate == 6
    assert "left out 6 neighborhoods: their points coincide, their images do not" in str(q)
    assert "left out" not in str(ub.quality(x[6:], y[6:], ["procrustes"], n_neighbors=4))
    alone = ub.quality(x[:, :1], y[:, :1], ["q_nx"], n_neighbors=1)
    assert str(alone).startswith("36 points of 1 dimension in 1, all measured; 1 neighbor\n")


def test_the_head_says_what_is_left_out(cloud):
    x, y = cloud
    assert ub.quality(x, y).left_out == {}
    wide = ub.quality(y, x)
    assert set(wide.left_out) == {
        name for name, m in MEASURES.items() if m.family in ("procrustes", "nieqa")
    } - {"m_t"}
    head = " ".join(str(wide).split("\n\n")[0].split())
    assert "without R_N, R_N rescaled, R_C, lower bound" in head
    assert head.endswith("M_G: Y has 3 dimensions, the data 2")
    pieces = ub.quality(blobs(), y, n_neighbors=5)
    assert "without M_G: the neighborhood graph is in 2 pieces" in str(pieces).splitlines()
    assert "m_g" in ub.quality(blobs(), y, ["all", "m_g"], n_neighbors=5)
    taller = ub.quality(x, y, coordinates=x)
    assert taller.left_out == {"m_t": "coordinates has 3 columns, more than the 2 of Y"}
    with pytest.raises(ValueError, match="m_t cannot be measured: coordinates has 3 columns"):
        ub.quality(x, y, ["m_t"], coordinates=x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coordinates": np.full((60, 2), np.nan)}, "coordinates holds NaN at row 0, column 0"),
        ({"coordinates": np.full((60, 2), 1e151)}, "coordinates holds 1e151 at row 0, column 0: squared"),
        ({"n_pairs": 5}, "n_pairs = 5 is too few: a sample needs at least 1024"),
        ({"n_pairs": 0}, "n_pairs = 0"),
        ({"n_sources": 0}, "n_sources = 0"),
        ({"n_centers": np.array([1])}, "n_centers = "),
        ({"half_width": "thin"}, "half_width = 'thin'"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"random_state": -1}, "random_state = -1"),
    ],
)
def test_everything_is_checked_before_the_work(cloud, options, message, monkeypatch):
    monkeypatch.setattr("unbend.judge.context.resolve", lambda *_: pytest.fail("neighbors were looked for"))
    with pytest.raises(ValueError, match=message):
        ub.quality(*cloud, **options)


def test_m_g_of_sampled_sources_has_an_unknown_error():
    x, coordinates = ub.datasets.swiss_roll(4473, random_state=0)
    q = ub.quality(x, coordinates, ["m_g"], random_state=0)
    assert math.isnan(q["m_g"].standard_error)
    assert str(q).splitlines()[3].split()[2] == "?"
    assert ub.quality(x[:4472], coordinates[:4472], ["m_g"])["m_g"].standard_error == 0


def test_exact_infinities_are_exact(cloud):
    x, _ = cloud
    q = ub.quality(x, np.zeros((60, 2)))
    stretch = q["geodesic_stretch"]
    assert (stretch.value, stretch.standard_error, stretch.half_width) == (math.inf, 0, 0)
    assert q.geodesic.standard_error["stretch"] == 0
    spot = str(ub.quality(np.zeros((60, 3)), x[:, :2]))
    assert "?" not in spot
    assert "±" not in spot


def test_single_precision_is_rescaled_in_double(cloud):
    x, y = cloud
    for unit in (1e60, 1e-60):
        single, double = (
            ub.quality(unit * x, y.astype(kind), ["procrustes"], n_centers=20, random_state=0)["r_n_scaled"]
            for kind in (np.float32, np.float64)
        )
        assert single.units.mean() == pytest.approx(single.value, rel=1e-9)
        assert single.standard_error == pytest.approx(double.standard_error, rel=1e-4)


def test_points_that_are_not_measured_may_be_far_out(cloud):
    x, y = cloud
    y = y.copy()
    y[0] = 1e12
    rescaled = (
        ub.quality(unit * x, y, ["procrustes"], n_centers=1, random_state=1)["r_n_scaled"]
        for unit in (1e145, 1)
    )
    big, small = (value.units for value in rescaled)
    np.testing.assert_allclose(big, small, rtol=1e-9)


def test_to_dict_is_ready_for_strict_json(cloud):
    x, y = cloud
    spots = np.zeros((60, 3))
    found = ub.quality(spots, y), ub.compare(spots, {"a": y}), ub.faithfulness(spots, y)
    drawn = (
        METRICS.ranks(x, y, n_centers=1, random_state=0),
        ub.faithfulness(x, y, n_centers=1, random_state=0),
    )
    for one in (*found, *drawn):
        json.dumps(one.to_dict(), allow_nan=False)
    held = strict(found[0].to_json())
    assert held == found[0].to_dict()
    assert held["measures"]["r_c"]["value"] is None


@pytest.mark.parametrize("n_centers", [None, 10])
def test_copies_are_equal(cloud, n_centers):
    x, y = cloud
    options = {"n_centers": n_centers, "n_sources": 20, "random_state": 0}
    for one, other in (
        (ub.quality(x, y, **options), ub.quality(x, 2 * y, **options)),
        (ub.compare(x, {"a": y}, **options), ub.compare(x, {"a": 2 * y}, **options)),
    ):
        assert pickle.loads(pickle.dumps(one)) == one != other
    assert one["a"]["r_c"] != one["a"]["r_n"]
    assert one["a"]["r_c"] != 1


def test_at_random_is_nothing_beyond_chance(cloud):
    found = METRICS.ranks(*cloud, 12)
    for name in ("r_nx", "lcmc"):
        assert (found.null(name) == 0).all()
    row = next(line for line in str(ub.quality(*cloud)).splitlines() if line.startswith("  R_NX"))
    assert row.split()[2] == "0"


def test_frames_that_may_lack_values(cloud):
    x, y = cloud
    expected = ub.quality(x, y, ["r_c"])["r_c"].value
    assert ub.quality(pd.DataFrame(x).astype("Float64"), y, ["r_c"])["r_c"].value == expected
    whole = (10 * x).round()
    frame = pd.DataFrame(whole.astype(int)).astype("Int64")
    assert ub.quality(frame, y, ["r_c"])["r_c"] == ub.quality(whole, y, ["r_c"])["r_c"]
    frame.iloc[7, 1] = pd.NA
    with pytest.raises(ValueError, match="X holds NaN at row 7, column 1"):
        ub.quality(frame, y)
    with pytest.raises(ValueError, match="X has text in column 's', such as 'a'"):
        ub.quality(pd.DataFrame(x).assign(s="a"), y)
    with pytest.raises(ValueError, match="X has dtype object"):
        ub.quality(pd.DataFrame(x).astype(object), y)
    with pytest.raises(ValueError, match="X is no table of numbers, one point a row"):
        ub.quality([[1, 2], [3]], y)
