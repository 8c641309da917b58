"""Every faithfulness measure, said as plainly as numpy allows: slow, and meant to be checked by reading.

Notation: X_i (m x q) and Y_i (m x d) are the rows of one neighborhood in the input and in the embedding,
H is centring, x2 = |HX_i|^2, y2 = |HY_i|^2, and s are the singular values of Z = X_i' H Y_i. Equation numbers
are those of Goldberg and Ritov (2009), "Local Procrustes for manifold embedding", section 3.
"""

import numpy as np


def nearest(X, k):
    """Indices and distances (n x k) of the k nearest other points, nearest first, ties by index."""
    ranked = [_others(X, i) for i in range(len(X))]
    return np.array([order[:k] for order, _ in ranked]), np.array([d[order[:k]] for order, d in ranked])


def within(X, radius):
    """For every point the indices of the others at distance <= radius, nearest first, ties by index."""
    ranked = [_others(X, i) for i in range(len(X))]
    return [order[d[order] <= radius] for order, d in ranked]


def procrustes(Xi, Yi):
    """G (eq. 1): what is left of X_i after the best rotation and shift of Y_i."""
    X, Y = center(Xi), center(Yi)
    A, _ = _best_rotation(X, Y)
    return norm2(X - Y @ A.T)


def conformal(Xi, Yi):
    """G_C (eq. 7) and the scale c that attains it: Y_i may be rescaled, too."""
    X, Y = center(Xi), center(Yi)
    A, overlap = _best_rotation(X, Y)
    c = 0.0 if coincide(Yi) else overlap / norm2(Y)
    return norm2(X - c * Y @ A.T), c


def linear_residual(Xi, Yi):
    """The share of X_i that no affine map of Y_i explains."""
    design = np.column_stack([Yi, np.ones(len(Yi))])
    left = Xi - design @ np.linalg.lstsq(design, Xi, rcond=None)[0]
    return np.sum(left**2) / norm2(center(Xi))


def tangent(Xi, d):
    """The top d principal directions P (q x d), the chart HX_i P, and what the chart misses (Lemma 1)."""
    X = center(Xi)
    P = np.linalg.svd(X)[2][:d].T
    return P, X @ P, norm2(X - X @ P @ P.T)


def stretches(Xi, Yi):
    """The largest and the smallest stretch, and the area factor, of the best linear map from chart to HY_i.

    Only directions in which the chart has extent count. A chart with none is not stretched (1, 1, 1) if Y_i
    coincides as well, and torn apart (inf, inf, inf) if it does not.
    """
    if coincide(Xi):
        return (1.0, 1.0, 1.0) if coincide(Yi) else (np.inf, np.inf, np.inf)
    Y = center(Yi)
    _, chart, _ = tangent(Xi, Y.shape[1])
    U, extent, _ = np.linalg.svd(chart, full_matrices=False)
    real = extent > 1e-10 * extent[0]
    L = (U[:, real] / extent[real]).T @ Y
    s = np.linalg.svd(L, compute_uv=False)
    return s[0], s[-1], np.prod(s)


def faithfulness(X, Y, neighborhoods, include_self=True):
    """All measures, per point and averaged. `neighborhoods[i]` lists the others; i comes first if asked.

    A neighborhood that coincides in X counts 0 if it coincides in Y; else the normalized means leave it out.
    Means over no neighborhood at all are inf (the bound's: 0).
    """
    X, Y = np.asarray(X, float), np.asarray(Y, float)
    d = Y.shape[1]
    names = ["r", "r_n", "r_c", "r_pca", "bound", "area"]
    point = {name: np.zeros(len(X)) for name in names} | {"stretch": np.zeros((len(X), 2))}
    weight, best_scale = np.zeros(len(X)), np.zeros(len(X))
    counted = np.ones(len(X), bool)

    for i, others in enumerate(neighborhoods):
        members = np.r_[i, others].astype(int) if include_self else np.asarray(others, int)
        Xi, Yi = X[members], Y[members]
        _, chart, residual = tangent(Xi, d)
        *point["stretch"][i], point["area"][i] = stretches(Xi, Yi)
        point["r"][i] = procrustes(Xi, Yi)
        point["r_pca"][i] = procrustes(chart, Yi)
        if not coincide(Xi):
            x2 = norm2(center(Xi))
            g_c, best_scale[i] = conformal(Xi, Yi)
            weight[i] = norm2(center(Yi)) / x2
            point["r_n"][i], point["r_c"][i], point["bound"][i] = point["r"][i] / x2, g_c / x2, residual / x2
        elif not coincide(Yi):
            point["r_n"][i] = point["r_c"][i] = np.inf
            counted[i] = False

    scale = np.sum(weight * best_scale) / np.sum(weight) if np.any(weight) else 0.0
    rescaled = point["r_c"] + weight * (scale - best_scale) ** 2

    def mean(values, of_none=np.inf):
        return float(np.mean(values[counted])) if counted.any() else of_none

    return {
        "per_point": point,
        "r": float(np.mean(point["r"])),
        "r_n": mean(point["r_n"]),
        "r_c": mean(point["r_c"]),
        "r_pca": float(np.mean(point["r_pca"])),
        "lower_bound": mean(point["bound"], of_none=0.0),
        "scale": float(scale),
        "r_n_scaled": mean(rescaled),
        "n_degenerate": int(np.sum(~counted)),
    }


def center(Xi):
    """H X_i. Taking off the first row first keeps the digits of data far from the origin."""
    Xi = np.asarray(Xi, float)
    D = Xi - Xi[:1]
    return D - D.mean(axis=0)


def coincide(Xi):
    """Whether all rows are the same point, exactly."""
    return bool(np.all(np.asarray(Xi) == np.asarray(Xi)[:1]))


def norm2(M):
    """The squared Frobenius norm."""
    return float(np.sum(M * M))


def _best_rotation(X, Y):
    """A = UV' of Z = X'Y, q x d with orthonormal columns, and the sum of the singular values."""
    if Y.shape[1] > X.shape[1]:
        raise ValueError(f"the embedding has {Y.shape[1]} dimensions, more than the input's {X.shape[1]}")
    U, s, Vt = np.linalg.svd(X.T @ Y, full_matrices=False)
    return U @ Vt, float(np.sum(s))


def _others(X, i):
    """All points but i, nearest first, ties by index; and the distances of all points."""
    X = np.asarray(X, float)
    d = np.linalg.norm(X - X[i], axis=1)
    order = np.argsort(d, kind="stable")
    return order[order != i], d


def overlap(Y, neighborhoods, steps):
    """Section 6: shares of the nearest embedded points that are more than `steps` steps away."""
    n = len(Y)
    beside = [set() for _ in range(n)]
    for i, listed in enumerate(neighborhoods):
        for j in map(int, listed):
            beside[i].add(j)
            beside[j].add(i)
    m = max(1, int(sum(map(len, neighborhoods)) / n + 0.5))
    shares = []
    for i in range(n):
        near, component = _ball(beside, i, steps), _ball(beside, i, n)
        others, _ = _others(Y, i)
        looked_at = others[: min(m, len(component) - 1)]
        shares.append(np.mean([j not in near for j in looked_at]) if len(looked_at) else 0.0)
    return np.array(shares)


def _ball(beside, i, steps):
    ball = {i}
    for _ in range(steps):
        larger = ball.union(*(beside[j] for j in ball))
        if larger == ball:
            break
        ball = larger
    return ball


def all_ranks(X):
    """The rank (n x n) of every point about every point, ties by index; its own is 0."""
    table = np.zeros((len(X), len(X)), dtype=int)
    for i in range(len(X)):
        order, _ = _others(X, i)
        table[i, order] = np.arange(1, len(X))
    return table


def trustworthiness(X, Y, k):
    """T(k) of Venna and Kaski (2001), normalized for large k as in Venna (2007), eq. 4.1."""
    rx, ry, n = all_ranks(X), all_ranks(Y), len(X)
    strangers = (ry >= 1) & (ry <= k) & (rx > k)
    worst = n * k * (2 * n - 3 * k - 1) / 2 if k < n / 2 else n * (n - k) * (n - k - 1) / 2
    return 1 - ((rx - k) * strangers).sum() / worst


def coranking(X, Y):
    """Q (Lee and Verleysen 2009): how many pairs have rank r in X and s in Y, counted from 1."""
    rx, ry, n = all_ranks(X), all_ranks(Y), len(X)
    counts = np.zeros((n - 1, n - 1), dtype=int)
    others = ~np.eye(n, dtype=bool)
    np.add.at(counts, (rx[others] - 1, ry[others] - 1), 1)
    return counts


def q_nx(X, Y, k):
    """The mass of the k x k corner of the co-ranking matrix, per neighbor."""
    return coranking(X, Y)[:k, :k].sum() / (k * len(X))


def mrre(X, Y, k):
    """Mean relative rank error of the nearest in Y, over that of reversed ranks (Lee and Verleysen 2007)."""
    rx, ry, n = all_ranks(X), all_ranks(Y), len(X)
    near = (ry >= 1) & (ry <= k)
    s = np.arange(1, k + 1)
    return (np.abs(rx - ry)[near] / ry[near]).sum() / (n * (np.abs(n - 2 * s) / s).sum())


def rand_index(X, Y, k):
    """Pairs alike on both sides: neighbors on both, or on neither."""
    rx, ry, n = all_ranks(X), all_ranks(Y), len(X)
    alike = ((rx <= k) == (ry <= k)) & ~np.eye(n, dtype=bool)
    return alike.sum() / (n * (n - 1))
