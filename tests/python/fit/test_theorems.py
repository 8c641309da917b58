"""What the papers prove of their measures and weights, checked on what the core computes."""

import numpy as np
import pytest
import unbend as ub
from textbook_weights import gram, members, twins
from unbend._core import LocalWeights

K = 12


def roll(n=400):
    return ub.datasets.swiss_roll(n, random_state=3)[0]


def weights_of_mlle(x, nb, reg=1e-3):
    """For each point G_i, W_i by the core up to a rotation of its columns, the number s_i, and w(gamma)."""
    weights = LocalWeights.mlle(x, nb.core, 2, reg, 1)
    for i in range(len(x)):
        g, row = (x[nb[i]] - x[i]).T, weights.row(i)
        inner = gram(x, nb, i)
        y = np.linalg.solve(inner + reg * np.trace(inner) * np.eye(len(inner)), np.ones(len(inner)))
        yield g, -row[:, 1:].T, round((row[:, 0] ** 2).sum()), y / y.sum()


# ---------------------------------------------------------------------------- Goldberg and Ritov


def test_small_perturbations_cost_their_square():
    """Section 3: G(X, X + eps Z) = O(eps^2)."""
    x, z = roll(), np.random.default_rng(0).normal(size=(400, 3))
    costs = [ub.faithfulness(x, x + size * z, K).r for size in (1e-3, 1e-4, 1e-5)]
    assert costs[0] / costs[1] == pytest.approx(100, rel=0.01)
    assert costs[1] / costs[2] == pytest.approx(100, rel=0.01)


# ---------------------------------------------------------------------------- Zhang and Wang


@pytest.mark.parametrize("q", [3, 20])
def test_optimal_weights_of_theorem_2_1(q):
    """With fewer dimensions than neighbors y* is in the null space of G, with more it is (G'G)^+ 1."""
    x = np.random.default_rng(0).normal(size=(200, q))
    nb = ub.neighborhoods(x, K)
    found = LocalWeights.lle(x, nb.core, "ldr", 0.0, None, 1)
    for i in range(0, 200, 7):
        g = (x[nb[i]] - x[i]).T
        null = np.linalg.svd(g)[2][min(q, K) :]
        y = null.T @ null.sum(axis=1) if q < K else np.linalg.pinv(g.T @ g).sum(axis=1)
        np.testing.assert_allclose(-found.row(i)[0, 1:], y / y.sum(), atol=1e-8)


def test_errors_and_condition_of_theorems_2_2_and_2_3():
    x = np.random.default_rng(0).normal(scale=0.5, size=(400, 10))
    x[:, :3] += roll()
    checked = set()
    for g, w, s, regularized in weights_of_mlle(x, ub.neighborhoods(x, K)):
        values, vectors = np.linalg.eigh(g.T @ g)
        alpha = np.linalg.norm(vectors[:, :s].sum(axis=0)) / np.sqrt(s)
        largest = np.linalg.norm(g @ regularized) + np.sqrt(max(values[s - 1], 0.0))
        assert np.linalg.norm(g @ w) ** 2 <= s * largest**2 * (1 + 1e-9)
        lengths = np.linalg.svd(w, compute_uv=False)[:s]
        bound = (1 + np.sqrt(K) * abs(1 - alpha) * np.linalg.norm(regularized)) ** 2
        assert lengths[0] / lengths[-1] <= bound * (1 + 1e-6)
        checked.add(s)
    assert len(checked) > 2  # neighborhoods with different numbers of weights


def test_true_coordinates_of_an_isometric_surface_cost_mlle_little():
    """Section 4: E(T*) / sigma_d(T*)^2 bounds the least cost, and vanishes with the size of neighborhoods."""
    costs = []
    for n in (500, 4000):
        x, truth = ub.datasets.swiss_roll(n, random_state=3)
        weights = LocalWeights.mlle(x, ub.neighborhoods(x, K).core, 2, 1e-3, 1)
        truth = truth - truth.mean(axis=0)
        costs.append(weights.phi(truth).sum() / np.linalg.svd(truth, compute_uv=False)[-1] ** 2)
        at_random = np.random.default_rng(0).normal(size=(n, 2))
        assert costs[-1] < 0.01 * weights.phi(at_random).sum() / n
    assert costs[1] < costs[0] / 50


def test_linear_dependence_by_mlle_is_the_sum_of_its_errors():
    """Section 5.1: the combination error of the data is |G_i W_i|^2."""
    x = roll()
    nb = ub.neighborhoods(x, K)
    found = LocalWeights.mlle(x, nb.core, 2, 1e-3, 1).phi(x)
    expected = [np.sum((w @ x[members(nb, i)]) ** 2) for i, w in enumerate(twins("mlle", x, nb))]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_ranges_of_mlle_and_ltsa_are_near_each_other():
    """Theorem 5.1, with the smallest singular value of W_i in place of the d-th, which can be proved."""
    x, d = roll(1000), 2
    nb = ub.neighborhoods(x, K)
    checked = 0
    for i, (g, w, s, _) in enumerate(weights_of_mlle(x, nb)):
        if s != K - d:
            continue
        points = x[members(nb, i)]
        lengths, directions = np.linalg.svd((points - points.mean(axis=0)).T, full_matrices=False)[1:]
        columns = np.linalg.svd(w)[0][:, :s] * np.linalg.svd(w, compute_uv=False)[:s]
        whole = np.vstack([-columns.sum(axis=0), columns])
        sine = np.linalg.norm(directions[:d] @ np.linalg.qr(whole)[0], 2)
        smallest = np.linalg.svd(whole, compute_uv=False)[-1]
        assert sine <= np.linalg.norm(g @ w) / (smallest * lengths[d - 1])
        checked += 1
    assert checked > 300


# ---------------------------------------------------------------------------- The price of normalization

LARGEST = {
    "lem": (lambda x, g: LocalWeights.lem(x, g, "window", None, 1), 2 * K),
    "dfm": (lambda x, g: LocalWeights.dfm(x, g, 1.0, "heat", None, 1), 2 * K),
    "lle": (lambda x, g: LocalWeights.lle(x, g, "convex", 1e-3, None, 1), 2),
    "ltsa": (lambda x, g: LocalWeights.ltsa(x, g, 2, True, 1), K),
    "hlle": (lambda x, g: LocalWeights.hlle(x, g, 2, True, 1), 3),
}
"""C_a of appendix A.2."""


@pytest.mark.parametrize("name", LARGEST)
def test_a_small_perturbation_changes_phi_by_little(name):
    """Lemma 3.1."""
    x, truth = ub.datasets.swiss_roll(400, noise=0.1, random_state=3)
    nb = ub.neighborhoods(x, K)
    make, largest = LARGEST[name]
    weights = make(x, nb.core)
    held = 1 + np.bincount(nb.indices, minlength=400).max()
    y = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    whole = weights.phi(y).sum()
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 0.9):
        for change in (rng.normal(size=y.shape), -y):
            change = change / np.linalg.norm(change)
            moved = weights.phi(y + size * change).sum()
            assert moved > (1 - size) * whole - size * largest * held
    sizes = [np.sum(weights.row(i) ** 2) for i in range(400)]
    assert max(sizes) <= largest * (1 + 1e-9)


@pytest.mark.parametrize(("k", "factor"), [(4, 2), (8, 6), (12, 14)])
def test_variances_of_a_grid_are_those_of_the_paper(k, factor):
    """Section 4: eq. 4 to 8 and Theorem 4.1, at an inner point of a grid of 2m + 1 by 2q + 1 points."""
    m, q = 20, 8
    x, _ = ub.datasets.grid(2 * q + 1, 2 * m + 1)
    nb = ub.neighborhoods(x, k)
    price = ub.price_of_normalization(x, x, neighborhoods=nb, algorithms="LTSA")
    sigma, tau, rho = (getattr(price["LTSA"], name) for name in ("sigma", "tau", "rho"))
    assert sigma**2 == pytest.approx(m * (m + 1) / 3)
    assert tau**2 == pytest.approx(q * (q + 1) / 3)
    assert 2 * rho > sigma  # the rho of section 4 is twice that of section 5
    lem = LocalWeights.lem(x, nb.core, "window", None, 1)
    centered = np.abs(x - x.mean(axis=0))
    inner = np.flatnonzero(
        (centered[:, np.ptp(centered, axis=0).argmax()] == 5) & (centered.min(axis=1) == 0)
    )[0]
    cost_y, cost_z = lem.phi(price.y)[inner], lem.phi(price.z)[inner]
    assert cost_y == pytest.approx(factor * (1 / sigma**2 + 1 / tau**2))
    assert cost_z == pytest.approx(factor * (1 / sigma**2 + 4 / (2 * rho) ** 2))
    assert cost_z < 5 * factor / sigma**2 < cost_y
