"""The Procrustes measures as Python sees them: against the textbook, high precision and invariances."""

import copy
import dataclasses
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import textbook
import unbend as ub
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "tests" / "data" / "faithfulness").glob("*.json"))
SCALARS = ["r", "r_n", "r_c", "r_pca", "lower_bound", "scale", "r_n_scaled"]
MEANS = ["r", "r_n", "r_c", "r_pca", "lower_bound", "overlap"]
POINT = ["r", "r_n", "r_c", "r_pca", "bound", "stretch", "area"]
FIELD = {"R": "r", "R_N": "r_n", "R_C": "r_c", "R_PCA": "r_pca"}


def cloud(n=200, q=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, q))


def orthogonal(q, seed=0):
    """A random rotation or reflection."""
    return np.linalg.qr(cloud(q, q, seed))[0]


def graph_of(lists):
    indptr = np.cumsum([0, *map(len, lists)])
    return ub.Neighborhoods(np.concatenate([*lists, []]).astype(np.uint32), indptr=indptr)


def size_of(x, y):
    """Mean of |HX_i|^2 + |HY_i|^2 at worst: what R and R_PCA are large or small against."""
    return float(np.mean(x**2) * x.shape[1] + np.mean(y**2) * y.shape[1])


def identical(a, b):
    assert a.to_dict() == b.to_dict()
    assert a.per_point.keys() == b.per_point.keys()
    for name, values in a.per_point.items():
        np.testing.assert_array_equal(values, b.per_point[name], err_msg=name)


# ---------------------------------------------------------------------------- against the textbook


def curved(n=150, q=3):
    t = cloud(n, 2, seed=1)
    x = np.column_stack(
        [t[:, 0], np.sin(t[:, 0] + t[:, 1]), t[:, 1] ** 2, *(np.cos((j + 2) * t[:, 0]) for j in range(q - 3))]
    )
    return x, t


CASES = {
    "random": lambda: (cloud(120, 5), cloud(120, 2, 1)),
    "random_one": lambda: (cloud(120, 5), cloud(120, 1, 1)),
    "random_same": lambda: (cloud(120, 3), cloud(120, 3, 1)),
    "four": lambda: (cloud(100, 6), cloud(100, 4, 1)),
    "five_of_nine": lambda: (cloud(90, 9), cloud(90, 5, 1)),
    "one_of_one": lambda: (cloud(80, 1), cloud(80, 1, 1)),
    "flat": lambda: (cloud(120, 2) @ orthogonal(4)[:2], cloud(120, 2)),
    "flat_noisy": lambda: (cloud(120, 2) @ orthogonal(4)[:2] + 1e-6 * cloud(120, 4, 7), cloud(120, 2)),
    "curved": curved,
    "curved_wide": lambda: curved(100, 40),
    "scaled": lambda: (1e5 * cloud(100, 4), 1e-3 * cloud(100, 4)[:, :2]),
    "swiss_roll": lambda: ub.datasets.swiss_roll(300, random_state=1),
}


def compare(m, expected, unit, rtol=1e-10, atol=1e-13):
    for name in SCALARS:
        floor = atol * (unit if name in ("r", "r_pca") else 1)
        assert getattr(m, name) == pytest.approx(expected[name], rel=rtol, abs=floor), name
    assert m.n_degenerate == expected["n_degenerate"]
    for name in POINT:
        floor = atol * (unit if name in ("r", "r_pca") else 1)
        np.testing.assert_allclose(
            m.per_point[name], expected["per_point"][name], rtol=rtol, atol=floor, err_msg=name
        )


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_is_the_textbook(make, include_self):
    x, y = make()
    indices, _ = textbook.nearest(x, 8)
    expected = textbook.faithfulness(x, y, indices, include_self)
    compare(ub.faithfulness(x, y, 8, include_self=include_self), expected, size_of(x, y))


@pytest.mark.parametrize("include_self", [True, False])
def test_is_the_textbook_in_many_dimensions(include_self):
    x, y = cloud(12, 560), cloud(12, 3, 1)
    indices, _ = textbook.nearest(x, 6)
    expected = textbook.faithfulness(x, y, indices, include_self)
    compare(ub.faithfulness(x, y, 6, include_self=include_self), expected, size_of(x, y))


@pytest.mark.parametrize("include_self", [True, False])
def test_is_the_textbook_for_neighborhoods_of_any_size(include_self):
    x, y = curved()
    if not include_self:  # the textbook knows no mean of no points
        order = np.argsort([len(row) == 0 for row in textbook.within(x, 0.5)], kind="stable")
        x = x[order][: sum(len(row) > 0 for row in textbook.within(x, 0.5))]
        y = y[order][: len(x)]
    lists = textbook.within(x, 0.5)
    assert min(map(len, lists)) == (0 if include_self else 1) < max(map(len, lists))
    expected = textbook.faithfulness(x, y, lists, include_self)
    compare(ub.faithfulness(x, y, radius=0.5, include_self=include_self), expected, size_of(x, y))
    compare(
        ub.faithfulness(x, y, neighborhoods=graph_of(lists), include_self=include_self),
        expected,
        size_of(x, y),
    )


DEGENERATE = {
    "x_collapses": lambda: (np.repeat(cloud(20, 3), 5, axis=0), cloud(100, 2)),
    "both_collapse": lambda: (np.repeat(cloud(20, 3), 5, axis=0), np.repeat(cloud(20, 2), 5, axis=0)),
    "y_collapses": lambda: (cloud(100, 3), np.repeat(cloud(20, 2), 5, axis=0)),
    "all_one": lambda: (np.full((30, 3), 0.1), np.full((30, 2), 0.7)),
    "all_one_in_x": lambda: (np.full((30, 3), 0.1), cloud(30, 2)),
    "all_one_in_y": lambda: (cloud(30, 3), np.full((30, 2), 0.1)),
    "mixed": lambda: (np.concatenate([np.zeros((10, 3)), 9 + cloud(30, 3)]), cloud(40, 2)),
}


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("make", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_neighborhoods_are_the_textbook(make, include_self):
    x, y = make()
    indices, _ = textbook.nearest(x, 4)
    expected = textbook.faithfulness(x, y, indices, include_self)
    compare(ub.faithfulness(x, y, 4, include_self=include_self), expected, size_of(x, y))


@pytest.mark.parametrize("include_self", [True, False])
def test_neighborhoods_without_neighbors_are_perfect(include_self):
    m = ub.faithfulness(cloud(20), cloud(20, 2, 1), radius=0.0, include_self=include_self)
    for name in POINT:
        assert (m.per_point[name] == (1 if name in ("stretch", "area") else 0)).all(), name
    assert m.n_degenerate == 0
    assert all(getattr(m, name) == 0 for name in [*MEANS, "r_n_scaled"])
    assert ub.metrics.lower_bound(cloud(20), 2, radius=0.0, include_self=include_self) == 0


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(3, 40),
    q=st.integers(1, 12),
    d=st.integers(1, 12),
    k=st.integers(1, 12),
    include_self=st.booleans(),
)
def test_any_shape_is_the_textbook(seed, n, q, d, k, include_self):
    d, k = min(d, q), min(k, n - 1)
    x, y = cloud(n, q, seed), cloud(n, d, seed + 1)
    indices, _ = textbook.nearest(x, k)
    expected = textbook.faithfulness(x, y, indices, include_self)
    m = ub.faithfulness(x, y, k, include_self=include_self)
    for name in ["r", "r_n", "r_c", "r_pca", "lower_bound", "scale", "r_n_scaled"]:
        assert getattr(m, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name
    assert m.n_degenerate == expected["n_degenerate"]


# ---------------------------------------------------------------------------- the conformance set


def number(value):
    return np.inf if value == "inf" else value


def read(path):
    case = json.loads(path.read_text(encoding="utf-8"))
    expected = {name: number(value) for name, value in case["expected"].items() if name != "per_point"}
    point = {
        name: np.array(
            [[number(v) for v in value] if isinstance(value, list) else number(value) for value in values]
        )
        for name, values in case["expected"]["per_point"].items()
    }
    return case, expected, point


def accepted(found, expected, unit, relative, floor):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    error = np.abs(found[finite] - expected[finite])
    return bool((error <= relative * np.abs(expected[finite]) + floor * unit).all())


def test_the_conformance_set_is_complete():
    assert len(GOLDEN) == 19


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conformance(path, dtype):
    if dtype is np.float32 and path.stem == "large_offset":
        pytest.skip("single precision cannot hold these data")
    relative, floor = (1e-10, 1e-13) if dtype is np.float64 else (1e-4, 1e-5)
    case, expected, point = read(path)
    x, y = np.array(case["x"], dtype), np.array(case["y"], dtype)
    m = ub.faithfulness(
        x, y, neighborhoods=graph_of(case["neighborhoods"]), include_self=case["include_self"]
    )
    assert m.n_degenerate == expected.pop("n_degenerate")
    assert set(expected) == set(SCALARS)
    assert set(point) == set(POINT) == set(m.per_point) - {"overlap"}
    for name, value in expected.items():
        unit = case["unit"] if name in ("r", "r_pca") else 1
        assert accepted(getattr(m, name), value, unit, relative, floor), (name, getattr(m, name), value)
    for name, values in point.items():
        unit = case["unit"] if name in ("r", "r_pca") else 1
        assert accepted(m.per_point[name], values, unit, relative, floor), (name, m.per_point[name], values)


# ---------------------------------------------------------------------------- invariances


seeds = st.integers(0, 2**32)


def close(a, b, names=SCALARS, rtol=1e-9, floor=1e-12):
    for name in names:
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=rtol, abs=floor), name


@settings(max_examples=30)
@given(seed=seeds, q=st.integers(1, 6), d=st.integers(1, 6))
def test_rigid_motions_change_nothing(seed, q, d):
    d = min(d, q)
    x, y = cloud(60, q, seed), cloud(60, d, seed + 1)
    nb = ub.neighborhoods(x, 7)
    m = ub.faithfulness(x, y, neighborhoods=nb)
    turn_x, turn_y = orthogonal(q, seed + 2), orthogonal(d, seed + 3)
    mirror = np.diag([-1.0] + [1.0] * (d - 1))
    close(ub.faithfulness(x @ turn_x + cloud(1, q, seed), y, neighborhoods=nb), m)
    close(ub.faithfulness(x, y @ turn_y + cloud(1, d, seed), neighborhoods=nb), m)
    close(ub.faithfulness(x, y @ turn_y @ mirror, neighborhoods=nb), m)
    close(ub.faithfulness(x[:, ::-1], -y, neighborhoods=nb), m)


@settings(max_examples=30)
@given(seed=seeds, q=st.integers(1, 5))
def test_order_of_the_points_changes_nothing(seed, q):
    x, y = cloud(60, q, seed), cloud(60, 1, seed + 1)
    order = np.random.default_rng(seed).permutation(60)
    m, shuffled = ub.faithfulness(x, y, 6), ub.faithfulness(x[order], y[order], 6)
    close(shuffled, m)
    for name in POINT:
        np.testing.assert_allclose(shuffled.per_point[name], m.per_point[name][order], rtol=1e-9, atol=1e-12)


@settings(max_examples=30)
@given(seed=seeds, exponent=st.floats(-40, 40))
def test_scale_changes_what_it_should(seed, exponent):
    c = 10.0**exponent
    x, y = cloud(60, 4, seed), cloud(60, 2, seed + 1)
    m = ub.faithfulness(x, y, 7)
    larger = ub.faithfulness(x, c * y, 7)
    close(larger, m, ["r_c", "lower_bound", "r_n_scaled"])
    assert larger.scale == pytest.approx(m.scale / c, rel=1e-9)
    np.testing.assert_allclose(larger.per_point["stretch"], c * m.per_point["stretch"], rtol=1e-9)
    np.testing.assert_allclose(larger.per_point["area"], c**2 * m.per_point["area"], rtol=1e-9)
    both = ub.faithfulness(c * x, c * y, 7)
    close(both, m, ["r_n", "r_c", "lower_bound", "r_n_scaled", "scale"])
    assert both.r == pytest.approx(c**2 * m.r, rel=1e-9, abs=0)
    assert both.r_pca == pytest.approx(c**2 * m.r_pca, rel=1e-9, abs=0)


@settings(max_examples=30)
@given(seed=seeds, q=st.integers(1, 8), d=st.integers(1, 8), include_self=st.booleans())
def test_an_isometry_is_perfect(seed, q, d, include_self):
    d = min(d, q)
    y = cloud(60, d, seed)
    x = y @ orthogonal(q, seed)[:d] + 3
    m = ub.faithfulness(x, y, 7, include_self=include_self)
    for name in ["r", "r_n", "r_c", "r_pca", "lower_bound", "r_n_scaled"]:
        assert 0 <= getattr(m, name) < 1e-20, name
    assert m.scale == pytest.approx(1, rel=1e-12)
    if 7 + include_self > d:
        np.testing.assert_allclose(m.per_point["stretch"], 1, rtol=1e-6)


@settings(max_examples=30)
@given(seed=seeds, exponent=st.floats(-12, 12))
def test_a_similarity_is_conformal(seed, exponent):
    y = cloud(60, 2, seed)
    assert ub.faithfulness(10.0**exponent * y @ orthogonal(5, seed)[:2], y, 7).r_c < 1e-20


@pytest.mark.parametrize("q", [1, 2, 3, 4, 7, 60])
def test_data_are_their_own_perfect_embedding(q):
    x = cloud(100, q)
    m = ub.faithfulness(x, x, 7)
    for name in ["r", "r_n", "r_c", "r_pca", "r_n_scaled"]:
        assert 0 <= getattr(m, name) < 1e-20, name
    assert 0 <= m.lower_bound < 1e-20
    assert m.scale == pytest.approx(1, rel=1e-12)


@settings(max_examples=40)
@given(seed=seeds, q=st.integers(1, 10), d=st.integers(1, 10), k=st.integers(1, 12))
def test_the_bound_holds(seed, q, d, k):
    d = min(d, q)
    m = ub.faithfulness(cloud(40, q, seed), cloud(40, d, seed + 1), k)
    bound, slack = m.per_point["bound"], 1e-12
    assert (bound >= 0).all()
    assert (bound <= m.per_point["r_c"] + slack).all()
    assert (m.per_point["r_c"] <= np.minimum(1, m.per_point["r_n"]) + slack).all()
    assert m.lower_bound <= m.r_c + slack
    assert m.r_c <= m.r_n_scaled + slack
    assert m.r_n_scaled <= min(1, m.r_n) + slack
    assert (m.per_point["stretch"][:, 0] >= m.per_point["stretch"][:, 1]).all()


@pytest.mark.parametrize("make", [CASES["random"], CASES["curved"], CASES["five_of_nine"]])
def test_single_precision(make):
    x, y = make()
    nb = ub.neighborhoods(x, 8)
    double = ub.faithfulness(x, y, neighborhoods=nb)
    single = ub.faithfulness(x.astype(np.float32), y.astype(np.float32), neighborhoods=nb)
    close(single, double, rtol=1e-4, floor=0)
    mixed = ub.faithfulness(x.astype(np.float32), y, neighborhoods=nb)
    close(mixed, double, rtol=1e-4, floor=0)


def test_layouts():
    x, y = cloud(80, 5), cloud(80, 2, 1)
    nb = ub.neighborhoods(x, 6)
    m = ub.faithfulness(x, y, neighborhoods=nb)
    identical(ub.faithfulness(np.asfortranarray(x), y[::-1, ::-1].copy()[::-1, ::-1], neighborhoods=nb), m)
    identical(ub.faithfulness(x.astype(">f8"), y.tolist(), neighborhoods=nb), m)
    identical(ub.faithfulness(np.repeat(x, 2, axis=1)[:, ::2], np.ma.array(y), neighborhoods=nb), m)


# ---------------------------------------------------------------------------- a sample of the neighborhoods


def test_a_sample_agrees_with_the_whole():
    x, y = curved(400)
    whole = ub.faithfulness(x, y, 8)
    assert whole.n_points == whole.n_centers == 400
    assert whole.centers.tolist() == list(range(400))
    m = ub.faithfulness(x, y, 8, n_centers=90, random_state=3)
    assert m.n_points == 400
    assert m.n_centers == len(m.centers) == 90
    assert (np.diff(m.centers.astype(int)) > 0).all()
    for name in POINT:
        np.testing.assert_array_equal(m.per_point[name], whole.per_point[name][m.centers], err_msg=name)
    for name in MEANS:
        values = m.per_point["bound" if name == "lower_bound" else name]
        assert getattr(m, name) == pytest.approx(values.mean(), rel=1e-12)


def test_the_standard_error_is_that_of_a_sample_without_replacement():
    x, y = curved(400)
    m = ub.faithfulness(x, y, 8, n_centers=90, random_state=3)
    assert set(m.standard_error) == set(MEANS)
    for name in MEANS:
        values = m.per_point["bound" if name == "lower_bound" else name]
        variance = np.sum((values - values.mean()) ** 2) / 89
        expected = np.sqrt(variance / 90 * (400 - 90) / 400)
        assert m.standard_error[name] == pytest.approx(expected, rel=1e-9)
        low, high = m.interval(name)
        assert low == pytest.approx(max(0, getattr(m, name) - 1.96 * expected), rel=1e-4, abs=1e-12)
        assert high == pytest.approx(getattr(m, name) + 1.96 * expected, rel=1e-4)


def test_the_standard_error_leaves_out_what_the_mean_leaves_out():
    x = np.concatenate([np.zeros((40, 3)), 9 + cloud(160, 3)])
    y = cloud(200, 2, 1)
    m = ub.faithfulness(x, y, 6, n_centers=100, random_state=0)
    kept = np.isfinite(m.per_point["r_n"])
    assert m.n_degenerate == (~kept).sum() > 0
    assert m.r_n == pytest.approx(m.per_point["r_n"][kept].mean())
    assert np.isfinite(list(m.standard_error.values())).all()
    assert all(error > 0 for error in m.standard_error.values())


def test_all_points_need_no_interval():
    x, y = curved(100)
    whole = ub.faithfulness(x, y, 8)
    assert set(whole.standard_error.values()) == {0.0}
    assert whole.interval("r_n") == (whole.r_n, whole.r_n)
    for n_centers in (100, 101, 10**9):
        identical(ub.faithfulness(x, y, 8, n_centers=n_centers, random_state=0), whole)


@pytest.mark.parametrize("make", DEGENERATE.values(), ids=DEGENERATE)
def test_all_points_need_no_interval_even_when_some_are_left_out(make):
    m = ub.faithfulness(*make(), 4)
    assert m.n_centers == m.n_points
    assert set(m.standard_error.values()) == {0.0}


def test_one_centre_is_not_called_exact():
    x, y = curved(100)
    m = ub.faithfulness(x, y, 8, n_centers=1, random_state=0)
    assert m.n_centers == 1
    assert m.standard_error["r_n"] != 0, "one neighborhood of a hundred says nothing about its error"


def test_unknown_intervals():
    x, y = curved(100)
    with pytest.raises(ValueError, match=r"'scale' .* r_n"):
        ub.faithfulness(x, y, 8).interval("scale")


def test_intervals_cover():
    x, y = curved(1000)
    nb = ub.neighborhoods(x, 8)
    whole = ub.faithfulness(x, y, neighborhoods=nb)
    covered = dict.fromkeys(MEANS[:-1], 0)  # overlap has its own test
    for seed in range(200):
        m = ub.faithfulness(x, y, neighborhoods=nb, n_centers=300, random_state=seed)
        for name in covered:
            low, high = m.interval(name)
            covered[name] += low <= getattr(whole, name) <= high
    for name, count in covered.items():
        assert 0.90 <= count / 200 <= 0.99, (name, count / 200)


def test_random_state():
    x, y = curved(200)

    def centers(random_state):
        return ub.faithfulness(x, y, 5, n_centers=20, random_state=random_state).centers.tolist()

    assert centers(7) == centers(7) == centers(np.int64(7)) == centers(np.uint8(7))
    assert centers(7) != centers(8)
    assert centers(2**64 - 1) == centers(2**64 - 1)
    assert centers(np.random.default_rng(1)) == centers(np.random.default_rng(1))
    assert centers(np.random.RandomState(1)) == centers(np.random.RandomState(1))
    running = np.random.default_rng(1)
    assert centers(running) != centers(running)
    assert centers(None) != centers(None)
    for bad in (-1, 2**64, 1.5, "7", [7]):
        with pytest.raises(ValueError, match="random_state = "):
            centers(bad)


@pytest.mark.parametrize(
    ("n_centers", "message"), [(0, "0"), (-1, "-1"), (2.0, "2.0"), (True, "True"), ("5", "'5'")]
)
def test_bad_n_centers(n_centers, message):
    x, y = curved(100)
    with pytest.raises(ValueError, match=f"n_centers = {message}"):
        ub.faithfulness(x, y, 5, n_centers=n_centers)
    with pytest.raises(ValueError, match=f"n_centers = {message}"):
        ub.metrics.lower_bound(x, 2, 5, n_centers=n_centers)


# ---------------------------------------------------------------------------- the other doors


@pytest.mark.parametrize("options", [{}, {"n_neighbors": 5}, {"radius": 0.7}], ids=["default", "k", "radius"])
@pytest.mark.parametrize("include_self", [True, False])
def test_neighborhoods_are_shared(options, include_self):
    x, y = curved()
    nb = ub.neighborhoods(x, **options)
    m = ub.faithfulness(x, y, include_self=include_self, **options)
    identical(ub.faithfulness(x, y, neighborhoods=nb, include_self=include_self), m)
    bound = ub.metrics.lower_bound(x, 2, include_self=include_self, **options)
    assert bound == ub.metrics.lower_bound(x, 2, neighborhoods=nb, include_self=include_self)
    assert bound == pytest.approx(m.lower_bound, rel=1e-13)


def test_without_self_is_not_with_self():
    x, y = curved()
    assert ub.faithfulness(x, y, 6).r_n != ub.faithfulness(x, y, 6, include_self=False).r_n


@pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("include_self", [True, False])
def test_lower_bound(d, include_self):
    x = cloud(80, 6)
    per_point = ub.metrics.lower_bound(x, d, 7, include_self=include_self, per_point=True)
    members = [
        np.r_[[i] if include_self else [], row].astype(int) for i, row in enumerate(textbook.nearest(x, 7)[0])
    ]
    expected = [textbook.tangent(x[m], d)[2] / textbook.norm2(textbook.center(x[m])) for m in members]
    np.testing.assert_allclose(per_point, expected, rtol=1e-10, atol=1e-13)
    bound = ub.metrics.lower_bound(x, d, 7, include_self=include_self)
    assert isinstance(bound, float)
    assert bound == pytest.approx(np.mean(expected), rel=1e-10, abs=1e-13)


def test_lower_bound_of_a_sample():
    x = cloud(80, 6)
    whole = ub.metrics.lower_bound(x, 2, 7, per_point=True)
    drawn = ub.metrics.lower_bound(x, 2, 7, n_centers=30, random_state=4, per_point=True)
    centers = ub.faithfulness(x, x[:, :2], 7, n_centers=30, random_state=4).centers
    np.testing.assert_array_equal(drawn, whole[centers])


@pytest.mark.parametrize("kind", FIELD)
def test_procrustes(kind):
    x, y = curved()
    m = ub.faithfulness(x, y, 9)
    value = ub.metrics.procrustes(x, y, 9, kind=kind)
    assert type(value) is float
    assert value == getattr(m, FIELD[kind])
    per_point = ub.metrics.procrustes(x, y, 9, kind=kind, per_point=True)
    np.testing.assert_array_equal(per_point, m.per_point[FIELD[kind]])
    alone = ub.metrics.procrustes(x, y, radius=0.7, kind=kind, include_self=False, n_jobs=1)
    assert alone == getattr(ub.faithfulness(x, y, radius=0.7, include_self=False), FIELD[kind])


def test_procrustes_says_which_kinds_there_are():
    x, y = curved()
    assert ub.metrics.procrustes(x, y) == ub.metrics.procrustes(x, y, 12, kind="R_N")
    with pytest.raises(ValueError, match=r"'r_n' .* 'R_N'"):
        ub.metrics.procrustes(x, y, kind="r_n")


@pytest.mark.parametrize("n_centers", [None, 20])
def test_to_dict_is_ready_for_json(n_centers):
    x, y = curved()
    m = ub.faithfulness(x, y, 9, n_centers=n_centers, random_state=0)
    told = json.loads(json.dumps(m.to_dict(), allow_nan=False))
    assert told == m.to_dict()
    counts = {"n_degenerate", "n_points", "n_centers", "overlap_steps"}
    cut = {"cut_share", "cut_length", "n_cut_pairs", "whole"}
    assert set(told) == {*SCALARS, *counts, *cut, "overlap", "standard_error"}
    assert told["whole"] is None
    assert all(type(value) in (int, float) for value in told["standard_error"].values())


def test_the_result_does_not_change():
    m = ub.faithfulness(*curved(), 9)
    with pytest.raises(AttributeError):
        m.r = 0.0
    assert "per_point" not in repr(m)


# ---------------------------------------------------------------------------- distant points near each other


def pressed(n=1500):
    """A cylinder seen from its side."""
    x, _ = ub.datasets.cylinder(n, random_state=0)
    return x, x[:, [0, 2]]


def shares(y, graph, **options):
    return ub.metrics.overlap(None, y, neighborhoods=graph, per_point=True, **options)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_overlap_is_the_textbook(steps):
    x, y = pressed(150)
    for graph in (ub.neighborhoods(x, 5), ub.neighborhoods(x, radius=0.4), ub.neighborhoods(x, radius=0.2)):
        expected = textbook.overlap(y, [graph[i] for i in range(len(graph))], steps)
        np.testing.assert_allclose(shares(y, graph, steps=steps), expected, rtol=1e-15)
        assert expected.max() > 0


def test_overlap_of_known_embeddings():
    x, truth = ub.datasets.swiss_roll(2000, random_state=0)
    for k in (6, 12, 18):
        assert ub.faithfulness(x, truth, k).overlap == 0
    fold = np.column_stack([abs(truth[:, 0] - np.median(truth[:, 0])), truth[:, 1]])
    folded = ub.faithfulness(x, fold)
    assert 0.4 < folded.overlap < 0.5
    assert folded.r_n < 0.02  # which R_N does not see
    assert 0.35 < ub.faithfulness(*pressed(5000)).overlap < 0.5
    assert ub.faithfulness(*pressed(5000), overlap_steps=1).overlap > 0.5
    assert ub.metrics.overlap(x, np.random.default_rng(0).normal(size=(2000, 2))) > 0.9


def test_overlap_does_not_depend_on_place_order_or_unit():
    x, y = pressed(600)
    expected = ub.metrics.overlap(x, y, 8, per_point=True)
    moved = ub.metrics.overlap(x @ orthogonal(3) - 3, 7 * y @ orthogonal(2, 1) + 5, 8, per_point=True)
    np.testing.assert_array_equal(moved, expected)
    order = np.random.default_rng(1).permutation(600)
    np.testing.assert_array_equal(ub.metrics.overlap(x[order], y[order], 8, per_point=True), expected[order])


def test_overlap_of_a_sample():
    x, y = pressed()
    whole = ub.faithfulness(x, y)
    m = ub.faithfulness(x, y, n_centers=300, random_state=0)
    np.testing.assert_array_equal(m.per_point["overlap"], whole.per_point["overlap"][m.centers])
    assert m.overlap == m.per_point["overlap"].mean()
    assert whole.interval("overlap") == (whole.overlap, whole.overlap)
    assert ub.metrics.overlap(x, y, n_centers=300, random_state=0) == m.overlap
    inside = [
        low <= whole.overlap <= high
        for seed in range(100)
        for low, high in [ub.faithfulness(x, y, n_centers=200, random_state=seed).interval("overlap")]
    ]
    assert 0.88 <= np.mean(inside) <= 1


def test_overlap_waits_until_somebody_looks(monkeypatch):
    looks = []
    found = ub._core.overlap
    monkeypatch.setattr(ub._core, "overlap", lambda *given: looks.append(1) or found(*given))
    x, y = pressed(400)
    m = ub.faithfulness(x, y)
    assert "overlap" in m.per_point
    assert "overlap" in m.standard_error
    assert len(m.per_point) == len(list(m.per_point)) == 8
    assert (m.interval("r_n"), m.standard_error["overlap"], m.overlap_steps) == ((m.r_n, m.r_n), 0, 4)
    assert "overlap" in repr(m)
    copied = pickle.loads(pickle.dumps(m))
    assert not looks
    before, y[:] = y.copy(), 0.0  # nor does it matter what becomes of Y
    assert m.overlap == m.overlap == ub.metrics.overlap(x, before) > 0.2
    assert len(looks) == 2
    assert copied.overlap == copy.deepcopy(m).overlap == dataclasses.replace(m, r=0.0).overlap == m.overlap


def test_results_are_equal_when_all_their_numbers_are():
    x, y = pressed(400)
    m = ub.faithfulness(x, y)
    assert m == ub.faithfulness(x, y) == pickle.loads(pickle.dumps(m)) == copy.deepcopy(m)
    assert m != ub.faithfulness(x, 2 * y)
    assert m != ub.faithfulness(x, y, overlap_steps=2)
    assert m != ub.faithfulness(x, y, n_centers=20)
    assert m != 3


def test_bad_overlaps():
    x, y = pressed(50)
    with pytest.raises(ValueError, match=r"overlap_steps = 0 is too few"):
        ub.faithfulness(x, y, overlap_steps=0)
    with pytest.raises(ValueError, match=r"steps = 2.5 is not a whole number"):
        ub.metrics.overlap(x, y, steps=2.5)
    with pytest.raises(ValueError, match=r"X has 50 rows, but Y has 49"):
        ub.metrics.overlap(x, y[1:])
    with pytest.raises(ValueError, match=r"Y has 49 rows, but .* 50"):
        ub.metrics.overlap(None, y[1:], neighborhoods=ub.neighborhoods(x))
    with pytest.raises(ValueError, match=r"give X, or"):
        ub.metrics.overlap(None, y)


# ---------------------------------------------------------------------------- errors name the numbers


def with_entry(value, row=7, column=1, q=3):
    x = cloud(50, q)
    x[row, column] = value
    return x


GOOD = cloud(50, 3)
BAD_X = {
    "nan": (with_entry(np.nan), ValueError, "(?i)nan at row 7, column 1"),
    "inf": (with_entry(np.inf), ValueError, "inf at row 7, column 1"),
    "minus_inf": (with_entry(-np.inf), ValueError, "-inf at row 7, column 1"),
    "nan_f32": (with_entry(np.nan).astype(np.float32), ValueError, "(?i)nan at row 7, column 1"),
    "nan_f16": (with_entry(np.nan).astype(np.float16), ValueError, "(?i)nan at row 7, column 1"),
    "nan_strided": (np.asfortranarray(with_entry(np.nan))[:, ::-1], ValueError, "(?i)nan at row 7, column 1"),
    "too_large": (with_entry(1e300), ValueError, "1e300 at row 7, column 1"),
    "empty": (GOOD[:0], ValueError, r"\(0, 3\)"),
    "no_columns": (GOOD[:, :0], ValueError, r"\(50, 0\)"),
    "one_dimension": (GOOD[:, 0], ValueError, r"\(50,\)"),
    "three_dimensions": (GOOD[None], ValueError, r"\(1, 50, 3\)"),
    "scalar": (1.0, ValueError, r"\(\)"),
    "none": (None, ValueError, r"shape \(\)"),
    "object": (GOOD.astype(object), ValueError, "object"),
    "complex": (GOOD + 0j, ValueError, "complex128"),
    "strings": (GOOD.astype(str), ValueError, "<U"),
    "bytes": (GOOD.astype(bytes), ValueError, r"\|S"),
    "dates": (GOOD.astype("M8[s]"), ValueError, "datetime64"),
    "durations": (GOOD.astype("m8[s]"), ValueError, "timedelta64"),
    "record": (np.zeros((50, 3), "f8,f8"), ValueError, "dtype"),
    "sparse": (sp.csr_matrix(GOOD), TypeError, "sparse"),
    "sparse_array": (sp.coo_array(GOOD), TypeError, "sparse"),
    "masked": (np.ma.masked_greater(GOOD, 1), ValueError, f"{int((GOOD > 1).sum())} masked"),
    "ragged": ([[1.0, 2.0], [1.0]], ValueError, "inhomogeneous"),
}
bad_x = pytest.mark.parametrize(("bad", "error", "message"), BAD_X.values(), ids=BAD_X)


@bad_x
def test_bad_data(bad, error, message):
    calls = [
        lambda: ub.neighborhoods(bad, 5),
        lambda: ub.neighborhoods(bad, radius=1.0),
        lambda: ub.metrics.lower_bound(bad, 1, 5),
        lambda: ub.charts(bad, 1, 5),
        lambda: ub.faithfulness(bad, bad, 5),
        lambda: ub.faithfulness(bad, bad, neighborhoods=ub.neighborhoods(GOOD, 5)),
    ]
    for call in calls:
        with pytest.raises(error, match=message):
            call()


@bad_x
def test_bad_embeddings(bad, error, message):
    if isinstance(bad, np.ndarray) and bad.ndim == 2 and len(bad) == 0:
        message = "50 .* 0"
    if isinstance(bad, list):
        message = "inhomogeneous"
    with pytest.raises(error, match=message) as raised:
        ub.faithfulness(GOOD, bad, 5)
    if "inhomogeneous" not in message:
        assert "Y" in str(raised.value)


NB = ub.neighborhoods(GOOD, 5)
BAD_OPTIONS = {
    "few": ({"n_neighbors": 50}, "n_neighbors = 50 needs at least 51 points, got 50"),
    "zero": ({"n_neighbors": 0}, "n_neighbors = 0"),
    "minus": ({"n_neighbors": -1}, "n_neighbors = -1"),
    "half": ({"n_neighbors": 2.5}, "n_neighbors = 2.5"),
    "true": ({"n_neighbors": True}, "n_neighbors = True"),
    "negative_radius": ({"radius": -1.0}, "radius = -1"),
    "nan_radius": ({"radius": np.nan}, "radius = (?i:nan)"),
    "both": ({"radius": 1.0, "n_neighbors": 5}, "n_neighbors = 5 .* radius = 1"),
    "graph_and_k": ({"neighborhoods": NB, "n_neighbors": 5}, "neighborhoods"),
    "graph_and_radius": ({"neighborhoods": NB, "radius": 5.0}, "neighborhoods"),
    "larger_graph": ({"neighborhoods": ub.neighborhoods(cloud(51), 5)}, "50 .* 51"),
    "smaller_graph": ({"neighborhoods": ub.neighborhoods(cloud(49), 5)}, "50 .* 49"),
    "larger_radius_graph": ({"neighborhoods": ub.neighborhoods(cloud(51), radius=1.0)}, "50 .* 51"),
    "no_jobs": ({"n_jobs": 0}, "n_jobs = 0"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(options, message):
    for call in (
        lambda: ub.faithfulness(GOOD, GOOD[:, :2], **options),
        lambda: ub.metrics.procrustes(GOOD, GOOD[:, :2], **options),
        lambda: ub.metrics.lower_bound(GOOD, 2, **options),
        lambda: ub.charts(GOOD, 2, **options),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("graph", [NB.to_graph(), NB.indices.reshape(-1, 5), "nearest", 5])
def test_only_neighborhoods_are_neighborhoods(graph):
    with pytest.raises(TypeError, match=f"{type(graph).__name__}.*from_knn.*from_graph"):
        ub.faithfulness(GOOD, GOOD[:, :2], neighborhoods=graph)


def test_data_and_embedding_must_match():
    with pytest.raises(ValueError, match="X has 50 rows, but Y has 49"):
        ub.faithfulness(GOOD, GOOD[:49, :2], 5)
    with pytest.raises(ValueError, match="Y has 3 columns, more than the 2 of X"):
        ub.faithfulness(GOOD[:, :2], GOOD, 5)


@pytest.mark.parametrize("call", [ub.metrics.lower_bound, ub.charts])
@pytest.mark.parametrize(
    ("d", "message"),
    [
        (0, "n_components = 0"),
        (-2, "n_components = -2"),
        (4, "n_components = 4 exceeds the 3 dimensions"),
        (2.0, "n_components = 2.0"),
        (True, "n_components = True"),
        (None, "n_components = None"),
        (10**30, f"n_components = {10**30}"),
    ],
)
def test_bad_n_components(call, d, message):
    with pytest.raises(ValueError, match=message):
        call(GOOD, d, 5)


# ---------------------------------------------------------------------------- nothing panics


WILD = [0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, -2e-310, 1e-170, 1e-160, 1e-155, 1e-100, 1e100, 1e149, -1e150, 3.0]
WILDER = [*WILD, 1.1e150, 1e154, 1e300, -1e308, np.inf, -np.inf, np.nan]
DTYPES = [
    "?",
    "i1",
    "u1",
    "i4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    ">f8",
    ">i2",
    "c8",
    "O",
    "U3",
    "S3",
    "M8[s]",
    "m8[s]",
]


def some_dtype(draw, shape):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    values = draw(hnp.arrays(np.int8, shape, elements=st.integers(-3, 3)))
    return values.astype(dtype)


def some_floats(draw, shape, values):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    with np.errstate(all="ignore"):
        return draw(hnp.arrays(np.float64, shape, elements=st.sampled_from(values))).astype(dtype)


@st.composite
def anything(draw, rows=None):
    n = rows if rows is not None and draw(st.integers(0, 9)) else draw(st.integers(0, 12))
    ndim = draw(st.sampled_from([2, 2, 2, 2, 2, 2, 0, 1, 3]))
    shape = (n, *draw(st.lists(st.integers(0, 5), min_size=ndim - 1, max_size=ndim - 1))) if ndim else ()
    kind = draw(st.sampled_from(["wild", "wild", "wilder", "dtype"]))
    x = (
        some_dtype(draw, shape)
        if kind == "dtype"
        else some_floats(draw, shape, WILD if kind == "wild" else WILDER)
    )
    if ndim == 2 and draw(st.booleans()):
        x = x[:: draw(st.sampled_from([1, -1, 2])), :: draw(st.sampled_from([1, -1, 2]))]
    return x


counts = st.one_of(
    st.integers(1, 6),
    st.integers(-2, 15),
    st.sampled_from([2**31, 2**32, 2**63 - 1, 2.5, None, "3", True, np.int8(3)]),
)
radii = st.one_of(
    st.none(),
    st.none(),
    st.none(),
    st.sampled_from([0, 0.0, 1.0, 5e-324, 1e200, 1e308, -1.0, np.inf, np.nan, "x", [1]]),
)


@st.composite
def any_graph(draw, n):
    lists = [draw(st.lists(st.integers(-1, n + 1), max_size=5)) for _ in range(n)]
    if draw(st.booleans()):  # mostly valid ones
        lists = [sorted({j % max(n, 1) for j in row} - {i}) for i, row in enumerate(lists)]
    indptr = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    if draw(st.integers(0, 9)) == 0 and len(indptr):
        indptr[draw(st.integers(0, len(indptr) - 1))] += draw(st.integers(-3, 3))
    indices = np.concatenate([*lists, []]).astype(np.int64).astype(np.uint32)
    return {"indices": indices, "indptr": indptr}


def attempt(call):
    """What it returns, or None if it says that the input is bad."""
    try:
        return call()
    except (ValueError, TypeError):
        return None


def no_nan(m):
    for name in [*SCALARS]:
        assert not np.isnan(getattr(m, name)), name
    for name, values in m.per_point.items():
        assert not np.isnan(values).any(), name
    for name, value in m.standard_error.items():
        assert not np.isnan(value), name


@settings(max_examples=300)
@given(data=st.data())
def test_nothing_panics(data):
    x = data.draw(anything())
    k, radius, include_self = data.draw(counts), data.draw(radii), data.draw(st.booleans())
    algorithm = data.draw(st.sampled_from(["auto", "kd_tree", "blocked"]))
    y, d = data.draw(anything(rows=len(x) if x.ndim else 3)), data.draw(counts)
    sample = {"n_centers": data.draw(st.sampled_from([None, 2])), "random_state": 0}
    nb = attempt(lambda: ub.neighborhoods(x, k, radius=radius, algorithm=algorithm))
    if nb is not None:
        assert np.isfinite(nb.distances).all()
        assert len(nb) == len(x)
        _ = nb.symmetrized(), nb.reversed(), nb.component_labels, repr(nb)
        assert (ub.Neighborhoods.from_graph(nb.to_graph()).indices == nb.indices).all()
    options = {"radius": radius, "include_self": include_self}
    m = attempt(lambda: ub.faithfulness(x, y, k, **options, **sample))
    if m is not None:
        no_nan(m)
    bound = attempt(lambda: ub.metrics.lower_bound(x, d, k, **options, per_point=True))
    assert bound is None or ((bound >= 0) & (bound <= 1)).all()
    charts = attempt(lambda: ub.charts(x, d, k, **options))
    if charts is not None:
        for array in (charts.bases, charts.coordinates, charts.singular_values, charts.residual_fraction):
            assert np.isfinite(array).all()


@settings(max_examples=200)
@given(data=st.data(), n=st.integers(1, 10))
def test_no_graph_panics(data, n):
    parts, include_self = data.draw(any_graph(n)), data.draw(st.booleans())
    nb = attempt(lambda: ub.Neighborhoods(**parts))
    assume(nb is not None)
    _ = nb.symmetrized(), nb.reversed(), nb.component_labels, repr(nb)
    x, y = (
        some_floats(data.draw, (n, 3), WILD),
        some_floats(data.draw, (n, data.draw(st.integers(1, 3))), WILD),
    )
    m = attempt(lambda: ub.faithfulness(x, y, neighborhoods=nb, include_self=include_self))
    if m is not None:
        no_nan(m)


@settings(max_examples=100)
@given(
    data=st.data(),
    table=hnp.arrays(np.int16, st.tuples(st.integers(0, 6), st.integers(0, 5)), elements=st.integers(-1, 6)),
)
def test_no_table_of_neighbors_panics(data, table):
    far = data.draw(st.one_of(st.none(), st.just(0)))
    if far is not None:
        far = some_floats(data.draw, table.shape, [0.0, 1.0, 2.0, 2.0, 5e-324, 1e308, np.nan, -1.0, np.inf])
    nb = attempt(lambda: ub.Neighborhoods.from_knn(table, far))
    if nb is not None:
        assert not (nb.indices.reshape(len(nb), -1) == np.arange(len(nb))[:, None]).any()


@settings(max_examples=150)
@given(
    data=st.data(), n=st.integers(2, 10), q=st.integers(1, 5), k=st.integers(1, 9), include_self=st.booleans()
)
def test_finite_data_never_score_nan(data, n, q, k, include_self):
    x = some_floats(data.draw, (n, q), [0.0, 1.0, 2.0, 0.1, 5e-324, 1e-170, 1e-160, 1e100])
    y = some_floats(
        data.draw, (n, data.draw(st.integers(1, q))), [0.0, 1.0, 2.0, 0.1, 5e-324, 1e-170, 1e-160, 1e100]
    )
    assume(np.isfinite(x).all())
    assume(np.isfinite(y).all())
    m = ub.faithfulness(x, y, min(k, n - 1), include_self=include_self)
    no_nan(m)
    for name in ["r", "r_pca", "lower_bound", "scale"]:
        assert 0 <= getattr(m, name) < np.inf, name
    for name in ["r", "r_pca", "bound"]:
        assert (m.per_point[name] >= 0).all()
    assert 0 <= m.n_degenerate <= n


@pytest.mark.parametrize("tiny", [1e-150, 1e-155, 1e-160, 1e-165, 1e-170, 1e-300, 5e-324])
def test_a_tiny_embedding_never_scores_nan(tiny):
    m = ub.faithfulness([[0.0], [1.0], [1.0]], [[tiny], [0.0], [0.0]], 1)
    no_nan(m)
    assert m.r_n == pytest.approx(1 / 3)


@pytest.mark.parametrize("large", [1e80, 1e100, 1e149])
def test_a_large_embedding_never_scores_nan(large):
    m = ub.faithfulness([[0.0], [1.0], [1.0], [1.0]], [[large], [1.0], [0.0], [1.0]], 1)
    no_nan(m)
    m = ub.faithfulness(cloud(30), large * cloud(30, 2, 1) / 10, 5, n_centers=20, random_state=0)
    no_nan(m)


# ---------------------------------------------------------------------------- what the paper says


def frey_faces():
    folder = Path(os.environ.get("UNBEND_DATA") or ROOT.parent / "shared" / "data")
    path = folder / "frey_faces.npz"
    if not path.exists():
        pytest.skip("frey_faces.npz is not here: set UNBEND_DATA to the folder that holds it")
    with np.load(path) as arrays:
        (x,) = [arrays[name] for name in arrays.files if arrays[name].shape == (1965, 560)]
    return x


@pytest.mark.parametrize(("include_self", "expected"), [(False, 0.1096), (True, 0.1579)])
def test_bound_of_the_frey_faces(include_self, expected):
    bound = ub.metrics.lower_bound(frey_faces(), 3, 6, include_self=include_self)
    assert round(bound, 4) == expected


def exponent(radii, values):
    return np.polyfit(np.log(radii), np.log(values), 1)[0]


@pytest.mark.slow
def test_rates_of_goldberg_and_ritov():
    flat, bowl, flat_radii, bowl_radii = [], [], [], []
    for n in (1_000, 10_000, 100_000, 1_000_000):
        for make, found, sizes in [
            (ub.datasets.swiss_roll, flat, flat_radii),
            (ub.datasets.fishbowl, bowl, bowl_radii),
        ]:
            x, coordinates = make(n, random_state=0)
            nb = ub.neighborhoods(x, 12)
            sizes.append(nb.distances.reshape(n, 12)[:, -1].mean())
            found.append(ub.faithfulness(x, coordinates, neighborhoods=nb))
    rates = {name: exponent(flat_radii, [getattr(m, name) for m in flat]) for name in ("r", "r_n", "r_pca")}
    rates["r_c"] = exponent(bowl_radii, [m.r_c for m in bowl])
    assert abs(rates["r"] - 4) <= 0.15, rates
    assert abs(rates["r_n"] - 2) <= 0.15, rates
    assert abs(rates["r_c"] - 2) <= 0.15, rates
    assert rates["r_pca"] >= 2.85, rates


def test_kinds_that_are_no_text():
    with pytest.raises(ValueError, match=r"kind = \['R'\] is unknown"):
        ub.metrics.procrustes(GOOD, GOOD[:, :2], kind=["R"])


@pytest.mark.parametrize("cut", [True, 3, np.uint64(3), 0.5, "ab", [1, 2, 3], {1: 2}])
def test_what_is_no_cut_is_refused(cut):
    x, y = ub.datasets.swiss_roll(60, random_state=0)
    with pytest.raises(ValueError, match="cut must be pairs of points"):
        ub.faithfulness(x, y, cut=cut)


@pytest.mark.parametrize("flag", [np.zeros(3), "yes", 1, 0.0, None, []])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("per_point", lambda x, y, flag: ub.metrics.procrustes(x, y, per_point=flag)),
        ("per_point", lambda x, y, flag: ub.metrics.lower_bound(x, 2, per_point=flag)),
        ("per_point", lambda x, y, flag: ub.metrics.trustworthiness(x, y, per_point=flag)),
        ("per_point", lambda x, y, flag: ub.metrics.geodesic_stretch(x, y, per_point=flag)),
        ("include_self", lambda x, y, flag: ub.faithfulness(x, y, include_self=flag)),
        ("include_self", lambda x, y, flag: ub.metrics.nieqa_local(x, y, include_self=flag)),
        ("include_self", lambda x, y, flag: ub.charts(x, 2, include_self=flag)),
        ("scaled", lambda x, y, flag: ub.metrics.stress(x, y, scaled=flag)),
        ("corrected", lambda x, y, flag: ub.metrics.agreement_rate(x, y, corrected=flag)),
        ("refine", lambda x, y, flag: ub.rectify(x, y, refine=flag)),
        ("rescale", lambda x, y, flag: ub.refine(x, y, rescale=flag, max_iter=1)),
    ],
)
def test_flags_are_true_or_false(name, call, flag):
    x, y = ub.datasets.swiss_roll(60, random_state=0)
    with pytest.raises(ValueError, match=f"{name} = .* must be True or False"):
        call(x, y, flag)
    call(x, y, np.bool_(True))
