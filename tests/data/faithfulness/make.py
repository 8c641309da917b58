"""Write the conformance set: small data sets and their faithfulness, computed with 60 digits.

    python tests/data/faithfulness/make.py

The measures here share no code and no formulas with `tests/python/textbook.py` (closed forms instead of
residuals, eigenvectors of the Gram matrix instead of an SVD); where the two disagree, nothing is written.
"""

import json
import sys
from pathlib import Path

import mpmath as mp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
import textbook

HERE = Path(__file__).parent
mp.mp.dps = 60
ROUNDING = mp.mpf(10) ** -45  # what is below this, relative to its natural size, is an exact zero
INF = mp.inf


# ---------------------------------------------------------------------------------------------- the measures


def faithfulness(x, y, neighborhoods, include_self):
    """The expected numbers, and the unit of r and r_pca: the mean of x2 + y2."""
    x, y = ([[mp.mpf(v) for v in row] for row in table] for table in (x, y))
    rows = []
    for i, others in enumerate(neighborhoods):
        members = [i, *others] if include_self else others
        rows.append(one_neighborhood([x[j] for j in members], [y[j] for j in members]))
    counted = [row for row in rows if row["r_n"] != INF]
    total = mp.fsum(row["y2/x2"] for row in counted)
    scale = mp.fsum(row["s/x2"] for row in counted) / total if total else mp.mpf(0)
    rescaled = [row["one"] + scale**2 * row["y2/x2"] - 2 * scale * row["s/x2"] for row in counted]
    expected = {
        "r": mean(row["r"] for row in rows),
        "r_n": mean(row["r_n"] for row in counted),
        "r_c": mean(row["r_c"] for row in counted),
        "r_pca": mean(row["r_pca"] for row in rows),
        "lower_bound": mean(row["bound"] for row in counted),
        "scale": scale,
        "r_n_scaled": mean(zeroed(v, 1) for v in rescaled),
        "n_degenerate": len(rows) - len(counted),
        "per_point": {
            name: [row[name] for row in rows]
            for name in ("r", "r_n", "r_c", "r_pca", "bound", "stretch", "area")
        },
    }
    return expected, float(mean(row["x2+y2"] for row in rows))


def one_neighborhood(xi, yi):
    X, Y = center(xi), center(yi)
    d = Y.cols
    x2, y2 = square(X), square(Y)
    s = nuclear(X.T * Y)
    chart, missed = principal_chart(X, d)
    out = {
        "r": zeroed(x2 + y2 - 2 * s, x2 + y2),
        "r_pca": zeroed(square(chart) + y2 - 2 * nuclear(chart.T * Y), x2 + y2),
        "x2+y2": x2 + y2,
    }
    if x2 == 0:
        value, stretch = (mp.mpf(0), mp.mpf(1)) if y2 == 0 else (INF, INF)
        zero = dict.fromkeys(("bound", "one", "y2/x2", "s/x2"), mp.mpf(0))
        return out | zero | {"r_n": value, "r_c": value, "stretch": [stretch, stretch], "area": stretch}
    largest, smallest, area = stretches(chart, Y)
    return out | {
        "r_n": out["r"] / x2,
        "r_c": zeroed(1 - s**2 / (x2 * y2) if y2 else mp.mpf(1), 1),
        "bound": zeroed(missed / x2, 1),
        "stretch": [largest, smallest],
        "area": area,
        "one": mp.mpf(1),
        "y2/x2": y2 / x2,
        "s/x2": s / x2,
    }


def principal_chart(X, d):
    """The top d principal components as columns, from the eigenvectors of X X', and what the others hold."""
    roots, U = mp.eigsy(X * X.T)  # ascending
    order = list(range(len(roots)))[::-1]
    chart = mp.zeros(X.rows, d)
    for column, j in enumerate(order[:d]):
        for i in range(X.rows):
            chart[i, column] = U[i, j] * mp.sqrt(max(roots[j], 0))
    return chart, mp.fsum(roots[j] for j in order[d:])


def stretches(chart, Y):
    """The columns of the chart are orthogonal, so the least-squares map has one row per column."""
    columns = [chart[:, j] for j in range(chart.cols)]
    extent = [square(c) for c in columns]
    rows = [(c.T * Y) / e for c, e in zip(columns, extent, strict=True) if e > mp.mpf(10) ** -20 * extent[0]]
    L = mp.matrix([[row[j] for j in range(Y.cols)] for row in rows])
    s = sorted(zeroed(v, 1) for v in mp.svd_r(L, compute_uv=False))
    return s[-1], s[0], mp.fprod(s)


def center(rows):
    M = mp.matrix(rows)
    for j in range(M.cols):
        column = [M[i, j] for i in range(M.rows)]
        middle = column[0] if len(set(column)) == 1 else mp.fsum(column) / M.rows
        for i in range(M.rows):
            M[i, j] -= middle
    return M


def nuclear(Z):
    """The sum of the singular values."""
    return mp.fsum(mp.svd_r(Z, compute_uv=False)) if any(Z) else mp.mpf(0)


def square(M):
    return mp.fsum(v * v for v in M)


def mean(values):
    values = list(values)
    return mp.fsum(values) / len(values)


def zeroed(value, unit):
    return mp.mpf(0) if abs(value) < ROUNDING * unit else value


# ------------------------------------------------------------------------------------------------- the cases


def cases():
    """(name, what, x, y, neighborhoods, include_self)"""

    def rng(seed):
        return np.random.default_rng(seed)

    def box(seed, n=48, size=(2.0, 1.0)):
        return rng(seed).uniform(size=(n, len(size))) * size

    def frame(seed, q, d):
        return np.linalg.qr(rng(seed).normal(size=(q, d)))[0]

    def knn(x, k):
        return textbook.nearest(x, k)[0].tolist()

    flat = box(1)
    plane = flat @ frame(2, 3, 2).T + [1.0, -2.0, 0.5]
    bent = np.c_[flat, 0.3 * flat[:, 0] ** 2]

    def case(name, what, x, y, k, include_self=True):
        return name, what, x, y, textbook.nearest(x, k)[0].tolist(), include_self

    what = "A Gaussian cloud in five dimensions and an embedding that has nothing to do with it."
    yield case("random", what, rng(3).normal(size=(40, 5)), rng(4).normal(size=(40, 2)), 7)

    what = "A flat sheet whose embedding halves one direction: every stretch is (1, 0.5)."
    yield case("squeezed", what, plane, flat * [1.0, 0.5], 8)

    what = "A flat sheet and its coordinates rotated, reflected, shifted: 0 but for rounding of the data."
    yield case("isometry", what, plane, flat @ (frame(5, 2, 2) @ np.diag([1, -1])) + [3.0, 4.0], 8)

    what = "A flat sheet and its coordinates three times too large: R_N = 4, R_C = 0, best scale 1/3."
    yield case("similarity", what, plane, 3 * flat @ frame(6, 2, 2) - [20.0, 7.0], 8)

    what = "A patch of the swiss roll and its true coordinates (arc length and height)."
    along, height = box(7, 60, (2.0, 1.5)).T
    t = np.sqrt(16.0 + 2 * along)  # the arc length of the spiral is close to t^2 / 2
    arc = (t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2
    yield case("swiss_roll", what, np.c_[t * np.cos(t), height, t * np.sin(t)], np.c_[arc, height], 6)

    what = "A cap of the unit sphere in azimuthal equidistant coordinates: no isometry exists."
    polar = box(8, 50, (1.0, 1.0)) - 0.5
    r = np.linalg.norm(polar, axis=1, keepdims=True)
    yield case("sphere_patch", what, np.hstack([np.sin(r) / r * polar, np.cos(r)]), polar, 10)

    what = "A plane with noise of 0.03 across it, and the coordinates in the plane."
    yield case("noisy_plane", what, np.c_[flat, 0.03 * rng(9).normal(size=48)], flat, 8)

    what = "A unit grid in space, every coordinate off by about 0.001, and the exact grid as its embedding."
    grid = np.argwhere(np.ones((7, 7))).astype(float)
    yield case("noisy_grid", what, np.c_[grid, np.zeros(49)] + rng(19).normal(size=(49, 3)) * 0.001, grid, 8)

    what = "A curved three-dimensional sheet in 40 dimensions with noise; d = 3, k = 6."
    z = box(10, 40, (3.0, 2.0, 1.0))
    x = np.hstack([z, 0.1 * np.sin(2 * z)]) @ frame(11, 40, 6).T + rng(12).normal(size=(40, 40)) * 0.01
    yield case("high_dimensional", what, x, z + rng(13).normal(size=z.shape) * 0.05, 6)

    what = "More input dimensions (20) than points in a neighborhood (5)."
    x = np.hstack([flat[:30], 0.2 * np.cos(3 * flat[:30])]) @ frame(14, 20, 4).T
    yield case("wide", what, x, flat[:30] * 1.1, 4)

    what = "A bent sheet measured on the neighbors only, without the point itself."
    yield case("without_self", what, bent, flat, 8, include_self=False)

    what = "A bent sheet with all neighbors within 0.45: sizes differ, and the last point has none."
    x = np.vstack([bent[:-1], [[9.0, 9.0, 9.0]]])
    yield "ragged", what, x, flat, [row.tolist() for row in textbook.within(x, 0.45)], True

    what = "Six points coincide in both (count 0), six only in the input (left out), two more in both."
    x = np.c_[flat, 0.2 * flat[:, 1] ** 2][:42]
    y = flat[:42] + rng(15).normal(size=(42, 2)) * 0.02
    x[:6], y[:6] = [0.1, 5.7, 0.7], [0.1, 5.7]  # sums of six of these, divided by six, are not quite these
    x[6:12] = [0.1, -5.7, 0.7]
    x[13], y[13] = x[12], y[12]
    yield case("duplicates", what, x, y, 5)

    what = "Points on a line with d = 2: the chart has extent in one direction only."
    steps = np.sort(rng(16).permutation(512)[:30]) / 128
    circle = np.c_[3 * np.cos(steps), 3 * np.sin(steps)]
    yield case("collinear", what, steps[:, None] * [1.0, 2.0, 2.0], circle, 4)

    what = "A helix along one coordinate, d = 1, a little too long."
    t = np.sort(box(17, 40, (6.0,)), axis=0)
    yield case("curve", what, np.hstack([np.cos(t), np.sin(t), 0.3 * t]), 1.1 * t, 5)

    what = "d = q = 3: nothing to project, so the lower bound is 0 and R_PCA is R."
    x = box(18, 40, (1.0, 1.0, 1.0))
    yield case("same_dimension", what, x, x @ [[1.0, 0.2, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, -1.1]], 7)

    what = "A bent sheet a million units from the origin, as is its embedding."
    yield case("large_offset", what, bent + np.array([1e6, -1e6, 1e6]), flat + np.array([-1e6, 1e6]), 8)

    what = "A bent sheet and its embedding, both 1e-8 of the usual size."
    yield case("tiny", what, bent * 1e-8, flat * 1e-8, 8)

    what = "An embedding that put every point in the same place: R_N = R_C = 1, no stretch left."
    yield case("collapsed", what, bent, np.full((48, 2), 0.1), 8)


# ------------------------------------------------------------------------------------------ check and write


def main():
    for name, what, x, y, neighborhoods, include_self in cases():
        check_well_posed(name, x, y.shape[1], neighborhoods, include_self)
        expected, unit = faithfulness(x.tolist(), y.tolist(), neighborhoods, include_self)
        case = {
            "name": name,
            "what": what,
            "x": x.tolist(),
            "y": y.tolist(),
            "neighborhoods": neighborhoods,
            "include_self": include_self,
            "unit": unit,
            "expected": plain(expected),
        }
        worst = disagreement(expected, textbook.faithfulness(x, y, neighborhoods, include_self), unit)
        (HERE / f"{name}.json").write_text(pretty(case))
        print(f"{name:17} n = {len(x)}  R_N = {float(expected['r_n']):.6g}  largest difference {worst:.1e}")


def check_well_posed(name, x, d, neighborhoods, include_self):
    """A chart is defined only where the d-th principal direction stands apart from the next one."""
    for i, others in enumerate(neighborhoods):
        s = np.linalg.svd(textbook.center(x[[i, *others] if include_self else others]), compute_uv=False) ** 2
        if len(s) > d and s[d - 1] > 1e-18 * s[0]:
            assert s[d - 1] - s[d] > 1e-2 * s[0], f"{name}: chart {i} is not well defined"


def disagreement(expected, found, unit):
    """The largest relative difference; below 1e-24 of the natural size everything is rounding."""
    pairs = [(name, expected[name], found[name]) for name in expected if name != "per_point"]
    for name, values in expected["per_point"].items():
        flat = [v for row in values for v in row] if name == "stretch" else values
        pairs += [(name, a, b) for a, b in zip(flat, found["per_point"][name].ravel(), strict=True)]
    worst = 0.0
    for name, a, b in pairs:
        if a == b:
            continue
        difference = abs(a - mp.mpf(float(b)))
        relative = difference / abs(a) if a else INF
        if difference > mp.mpf("1e-24") * (unit if name in ("r", "r_pca") else 1):
            assert relative < 1e-10, f"{name}: {mp.nstr(a, 17)} expected, the textbook says {b!r}"
            worst = max(worst, float(relative))
    return worst


def plain(value):
    """Nearest doubles; infinities as the string JSON can carry."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, int):
        return value
    return "inf" if value == INF else float(value)


def pretty(value, depth=0):
    """JSON with one table row, or one list of plain values, per line."""
    nested = isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], list))
    if not nested:
        return json.dumps(value, allow_nan=False)
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        items, (left, right) = [f'"{k}": {pretty(v, depth + 1)}' for k, v in value.items()], "{}"
    else:
        items, (left, right) = [pretty(v, depth + 1) for v in value], "[]"
    return f"{left}\n{pad}" + f",\n{pad}".join(items) + f"\n{'  ' * depth}{right}" + ("" if depth else "\n")


if __name__ == "__main__":
    main()
