"""W_i of the normalized family, point by point, as the papers write them."""

import numpy as np
import scipy.optimize


def members(nb, i, own=True):
    return np.r_[[i] if own else [], nb[i]].astype(int)


def gram(x, nb, i):
    c = x[nb[i]] - x[i]
    return c @ c.T


def lle_twin(x, nb, i, reg=1e-3):
    g = gram(x, nb, i)
    w = np.linalg.solve(g + reg * np.trace(g) * np.eye(len(g)), np.ones(len(g)))
    return np.r_[1, -w / w.sum()][None]


def ldr_twin(x, nb, i, d=None):
    """Of all w with sum 1 and least error the one of least norm."""
    c = x[nb[i]] - x[i]
    if d is not None:
        c = c @ np.linalg.svd(c)[2][:d].T
    k = len(c)
    start = np.full(k, 1 / k)
    free = np.linalg.svd(np.ones((1, k)))[2][1:].T
    z = np.linalg.lstsq(c.T @ free, -c.T @ start, rcond=1e-10)[0]
    return np.r_[1, -(start + free @ z)][None]


def convex_twin(x, nb, i, reg=1e-3):
    g = gram(x, nb, i)
    k = len(g)
    a = g / np.trace(g) + reg * np.eye(k)
    # min u'a u / 2 - sum u over u >= 0, as least squares
    root = np.linalg.cholesky(a)
    u = scipy.optimize.nnls(root.T, np.linalg.solve(root, np.ones(k)))[0]
    return np.r_[1, -u / u.sum()][None]


def projector_twin(x, nb, i, d, own):
    centered = x[members(nb, i, own)]
    centered = centered - centered.mean(axis=0)
    m = len(centered)
    p = np.linalg.svd(centered, full_matrices=False)[0][:, :d]
    w = (np.eye(m) - p @ p.T) @ (np.eye(m) - 1 / m)
    return w if own else np.c_[np.zeros(m), w]


def hessian_twin(x, nb, i, d, own):
    centered = x[members(nb, i, own)]
    centered = centered - centered.mean(axis=0)
    m = len(centered)
    u = np.linalg.svd(centered, full_matrices=False)[0][:, :d]
    products = [u[:, a] * u[:, b] for a in range(d) for b in range(a, d)]
    q, _ = np.linalg.qr(np.column_stack([np.ones(m), u, *products]))
    w = q[:, 1 + d :].T
    return w if own else np.c_[np.zeros(len(w)), w]


def mlle_twins(x, nb, d, reg=1e-3):
    """Section 3 of Zhang and Wang with V and H, and eq. 3.7."""
    parts = []
    for i in range(len(x)):
        values, vectors = np.linalg.eigh(gram(x, nb, i))
        values = np.maximum(values[::-1], 0)
        values[min(len(values), x.shape[1]) :] = 0
        parts.append((values, vectors[:, ::-1]))
    ratios = sorted(values[d:].sum() / values[:d].sum() for values, _ in parts)
    eta = ratios[(len(ratios) + 1) // 2 - 1]
    twins, sizes = [], []
    for values, vectors in parts:
        k = len(values)
        s = max(s for s in range(1, k - d + 1) if values[k - s :].sum() < eta * values[: k - s].sum())
        w = vectors @ ((vectors.T @ np.ones(k)) / (values + reg * values.sum()))
        v = vectors[:, k - s :]
        alpha = np.linalg.norm(v.sum(axis=0)) / np.sqrt(s)
        h = alpha - v.sum(axis=0)
        h = h / np.linalg.norm(h) if np.linalg.norm(h) > 1e-12 else 0 * h
        weights = v @ (np.eye(s) - 2 * np.outer(h, h)) + (1 - alpha) * (w / w.sum())[:, None]
        twins.append(np.c_[np.ones(s), -weights.T])
        sizes.append(s)
    return twins, np.array(sizes)


def star(w):
    return np.c_[np.sqrt(w), -np.diag(np.sqrt(w))]


def heat(x, nb, eps):
    if eps is None:
        eps = np.median([np.sum((x[i] - x[nb[i][-1]]) ** 2) for i in range(len(x))])
    return [np.exp(-np.sum((x[nb[i]] - x[i]) ** 2, axis=1) / eps) for i in range(len(x))]


def dfm_twins(x, nb, alpha, eps):
    kernel = heat(x, nb, eps)
    q = np.array([values.sum() for values in kernel])
    return [star(kernel[i] / (q[i] * q[nb[i]]) ** alpha) for i in range(len(x))]


def twins(name, x, nb):
    n = range(len(x))
    return {
        "lle": lambda: [lle_twin(x, nb, i) for i in n],
        "ldr": lambda: [ldr_twin(x, nb, i) for i in n],
        "ldr 2": lambda: [ldr_twin(x, nb, i, 2) for i in n],
        "convex": lambda: [convex_twin(x, nb, i) for i in n],
        "mlle": lambda: mlle_twins(x, nb, 2)[0],
        "ltsa": lambda: [projector_twin(x, nb, i, 2, False) for i in n],
        "ltsa self": lambda: [projector_twin(x, nb, i, 2, True) for i in n],
        "hlle": lambda: [hessian_twin(x, nb, i, 2, False) for i in n],
        "hlle self": lambda: [hessian_twin(x, nb, i, 2, True) for i in n],
        "lem": lambda: [star(np.ones(len(nb[i]))) for i in n],
        "lem heat": lambda: [star(w) for w in heat(x, nb, None)],
        "dfm": lambda: dfm_twins(x, nb, 1.0, None),
        "dfm half": lambda: dfm_twins(x, nb, 0.5, 2.0),
    }[name]()
