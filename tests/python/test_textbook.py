"""The oracle itself, against cases a hand can compute and optimisers that know no formula."""

import json
from pathlib import Path

import numpy as np
import pytest
import textbook
from scipy.linalg import expm, orthogonal_procrustes
from scipy.optimize import minimize, minimize_scalar

GOLDEN = sorted((Path(__file__).parents[1] / "data" / "faithfulness").glob("*.json"))
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # |H SQUARE|^2 = 2
TRIANGLE = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])  # (9 + 16 + 25) / 3 = 50/3
CROSS = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 4.0], [0.0, -4.0]])  # 18 along one axis, 32 along the other
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])  # 3-4-5: a rotation without rounding worth mentioning
FLIP = np.diag([1.0, -1.0])
ALL = [[j for j in range(4) if j != i] for i in range(4)]


def test_nearest_excludes_self_by_index_and_breaks_ties_by_index():
    indices, distances = textbook.nearest([[0.0], [1.0], [1.0], [3.0], [-1.0]], 3)
    assert indices.tolist() == [[1, 2, 4], [2, 0, 3], [1, 0, 3], [1, 2, 0], [0, 1, 2]]
    assert distances.tolist() == [[1, 1, 1], [0, 1, 2], [0, 1, 2], [2, 2, 3], [1, 2, 2]]


def test_within_includes_the_radius_and_may_be_empty():
    near = textbook.within([[0.0], [1.0], [1.0], [3.0], [9.0]], 2.0)
    assert [row.tolist() for row in near] == [[1, 2], [2, 0, 3], [1, 0, 3], [1, 2], []]


@pytest.mark.parametrize("motion", [TURN, FLIP, TURN @ FLIP], ids=["rotation", "reflection", "both"])
@pytest.mark.parametrize("shape", [SQUARE, TRIANGLE, CROSS], ids=["square", "triangle", "cross"])
def test_rigid_motions_are_perfect(shape, motion):
    moved = shape @ motion.T + [5.0, -7.0]
    assert textbook.procrustes(shape, moved) < 1e-28
    assert textbook.conformal(shape, moved) == pytest.approx((0.0, 1.0), abs=1e-14)
    assert textbook.stretches(shape, moved) == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
def test_scaling_costs_the_square_of_what_it_changes(factor):
    y = factor * SQUARE @ TURN.T
    assert textbook.procrustes(SQUARE, y) == pytest.approx(2 * (1 - factor) ** 2)
    assert textbook.conformal(SQUARE, y) == pytest.approx((0.0, 1 / factor), abs=1e-14)
    assert textbook.stretches(SQUARE, y) == pytest.approx((factor, factor, factor**2))


def test_square_pulled_to_a_rectangle():
    y = SQUARE * [1.0, 2.0]  # x2 = 2, y2 = 5, s = (2, 1)
    assert textbook.procrustes(SQUARE, y) == pytest.approx(2 + 5 - 2 * 3)
    assert textbook.conformal(SQUARE, y) == pytest.approx((2 - 9 / 5, 3 / 5))
    assert textbook.stretches(SQUARE, y) == pytest.approx((2.0, 1.0, 2.0))


def test_triangle_laid_on_a_line():
    y = np.array([[0.0], [4.0], [0.0]])  # Z = (32/3, -4)', y2 = 32/3
    s = np.hypot(32 / 3, 4)
    assert textbook.procrustes(TRIANGLE, y) == pytest.approx(50 / 3 + 32 / 3 - 2 * s)
    assert textbook.conformal(TRIANGLE, y) == pytest.approx((50 / 3 - s**2 * 3 / 32, s * 3 / 32))


def test_two_points_compare_their_distance():
    assert textbook.procrustes([[0.0, 0.0], [3.0, 4.0]], [[1.0], [5.0]]) == pytest.approx((5 - 4) ** 2 / 2)


def test_tangent_keeps_the_long_axis():
    P, chart, residual = textbook.tangent(CROSS, 1)
    assert np.abs(P) == pytest.approx(np.array([[0.0], [1.0]]))
    assert np.abs(chart.ravel()) == pytest.approx([0, 0, 4, 4])
    assert residual == pytest.approx(18)


def test_chart_without_one_of_its_directions():
    line = np.arange(4.0)[:, None] * [1.0, 2.0, 2.0]  # unit steps of 3, d = 2
    assert textbook.stretches(line, SQUARE[:, :1] * [0.0, 0.0]) == (0, 0, 0)
    assert textbook.stretches(line, np.arange(4.0)[:, None] * [1.2, 0.9]) == pytest.approx((0.5, 0.5, 0.5))


def test_collapse_and_its_opposite():
    point = np.full((4, 2), 0.1)
    assert textbook.procrustes(SQUARE, point) == pytest.approx(2)
    assert textbook.conformal(SQUARE, point) == pytest.approx((2, 0))
    assert textbook.stretches(SQUARE, point) == (0, 0, 0)
    assert textbook.stretches(point, point + 1) == (1, 1, 1)
    assert textbook.stretches(point, SQUARE) == (np.inf, np.inf, np.inf)
    assert textbook.procrustes(point, SQUARE) == pytest.approx(2)


def test_faithfulness_of_a_tripled_square():
    m = textbook.faithfulness(SQUARE, 3 * SQUARE, ALL)
    assert (m["r"], m["r_n"], m["r_pca"]) == pytest.approx((8, 4, 8))
    assert (m["r_c"], m["lower_bound"], m["r_n_scaled"]) == pytest.approx((0, 0, 0), abs=1e-28)
    assert m["scale"] == pytest.approx(1 / 3)
    assert m["n_degenerate"] == 0
    assert m["per_point"]["stretch"] == pytest.approx(np.full((4, 2), 3.0))


def test_self_is_a_member_only_when_asked():
    others = [[1, 2], [0, 2], [0, 1]]
    inside, outside = (textbook.faithfulness(TRIANGLE, 0 * TRIANGLE, others, flag) for flag in (True, False))
    assert inside["r"] == pytest.approx(50 / 3)
    assert outside["per_point"]["r"] == pytest.approx([25 / 2, 9 / 2, 16 / 2])


def test_degenerate_neighborhoods_count_zero_or_are_left_out():
    x = np.array([[0.1, 0.3]] * 6 + [[1.0, 1.0], [2.0, 1.0]])
    y = np.array([[0.7, 0.9]] * 3 + [[0.0, 0.0], [0.0, 2.0], [0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    m = textbook.faithfulness(x, y, [[1, 2], [0], [0], [4], [3], [], [7], [6]])
    point = m["per_point"]
    assert point["r_n"] == pytest.approx([0, 0, 0, np.inf, np.inf, 0, 1, 1])
    assert point["r_c"] == pytest.approx([0, 0, 0, np.inf, np.inf, 0, 0, 0], abs=1e-28)
    assert point["area"] == pytest.approx([1, 1, 1, np.inf, np.inf, 1, 2, 2])
    assert m["n_degenerate"] == 2
    assert m["r"] == pytest.approx((2 + 2 + 0.5 + 0.5) / 8)
    assert (m["r_n"], m["scale"]) == pytest.approx((2 / 6, 0.5))
    assert (m["r_c"], m["r_n_scaled"]) == pytest.approx((0, 0), abs=1e-28)


def test_nothing_left_to_average():
    m = textbook.faithfulness(0 * SQUARE, SQUARE, ALL)
    assert (m["r_n"], m["r_c"], m["r_n_scaled"], m["lower_bound"]) == (np.inf, np.inf, np.inf, 0)
    assert (m["n_degenerate"], m["scale"]) == (4, 0)


def test_an_embedding_wider_than_its_input_is_refused():
    with pytest.raises(ValueError, match="2 dimensions, more than the input's 1"):
        textbook.procrustes(SQUARE[:, :1], SQUARE)


@pytest.mark.parametrize("seed", range(5))
def test_square_case_agrees_with_scipy(seed):
    x, y = (textbook.center(m) for m in np.random.default_rng(seed).normal(size=(2, 9, 4)))
    rotation, overlap = orthogonal_procrustes(y, x)
    assert textbook.procrustes(x, y) == pytest.approx(np.sum((x - y @ rotation) ** 2), rel=1e-12)
    assert textbook.conformal(x, y)[1] == pytest.approx(overlap / np.sum(y * y), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_no_frame_shift_or_scale_does_better(seed):
    """Every frame of 3 x 2 is the first columns of a rotation; shift b and scale c are free."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(7, 3)) + 2, rng.normal(size=(7, 2)) - 1

    def cost(p, c):
        u, v, w = p[:3]
        frame = expm(np.array([[0, -w, v], [w, 0, -u], [-v, u, 0]]))[:, :2]
        return np.sum((x - c * y @ frame.T - p[3:6]) ** 2)

    starts = rng.normal(size=(12, 7))
    best = min(minimize(lambda p: cost(p, 1.0), p).fun for p in starts)
    best_scaled = min(minimize(lambda p: cost(p, p[6]), p).fun for p in starts)
    assert textbook.procrustes(x, y) == pytest.approx(best, rel=1e-8)
    assert textbook.conformal(x, y)[0] == pytest.approx(best_scaled, rel=1e-8)


def test_scale_is_the_best_global_one():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    others = textbook.nearest(x, 5)[0]
    best = minimize_scalar(lambda c: textbook.faithfulness(x, c * y, others)["r_n"], (0.1, 2))
    m = textbook.faithfulness(x, y, others)
    assert m["scale"] == pytest.approx(best.x, rel=1e-6)
    assert m["r_n_scaled"] == pytest.approx(best.fun, rel=1e-12)
    assert m["lower_bound"] <= m["r_c"] <= m["r_n_scaled"] <= m["r_n"]


def test_stretches_are_those_of_the_least_squares_map():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(8, 5)), rng.normal(size=(8, 3))
    chart = textbook.tangent(x, 3)[1]
    L = np.linalg.lstsq(chart, textbook.center(y), rcond=None)[0]
    s = np.linalg.svd(L, compute_uv=False)
    assert textbook.stretches(x, y) == pytest.approx((s[0], s[-1], abs(np.linalg.det(L))))


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_conformance_set(path):
    case = json.loads(path.read_text())
    found = textbook.faithfulness(case["x"], case["y"], case["neighborhoods"], case["include_self"])
    expected = case["expected"]
    floor = {name: 1e-13 * (case["unit"] if name in ("r", "r_pca") else 1.0) for name in found}
    for name, value in expected.items():
        if name != "per_point":
            assert found[name] == pytest.approx(value, rel=1e-10, abs=floor[name]), name
    for name, values in expected["per_point"].items():
        values = np.array(values, float)  # reads "inf"
        assert found["per_point"][name] == pytest.approx(values, rel=1e-10, abs=floor.get(name, 1e-13)), name
