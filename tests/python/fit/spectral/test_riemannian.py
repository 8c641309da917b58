"""Riemannian manifold learning: against loops with plain optimization, and what is known of normal coordinates."""

import numpy as np
import pytest
import unbend as ub
from scipy.optimize import minimize_scalar
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import procrustes
from unbend.fit.spectral.riemannian import MIN_SPREAD, with_lengths


def strip(n=300, sides=(3.0, 1.0), seed=0):
    return np.random.default_rng(seed).uniform(size=(n, len(sides))) * sides


def edges_of(x, nb):
    """The lengths of all edges, each in both directions, as a dense matrix; 0 for none."""
    lengths = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in nb[i]:
            lengths[i, j] = lengths[j, i] = np.linalg.norm(x[i] - x[j])
    return lengths


def on_circle(directions, along, radius):
    """The best vector of a length in the plane, from many starts on a circle."""

    def cost(angle):
        return np.sum((directions @ [np.cos(angle), np.sin(angle)] * radius - along) ** 2)

    grid = np.linspace(0, 2 * np.pi, 721)
    start = grid[np.argmin([cost(angle) for angle in grid])]
    best = minimize_scalar(
        cost, bounds=(start - 0.01, start + 0.01), method="bounded", options={"xatol": 1e-12}
    )
    return radius * np.array([np.cos(best.x), np.sin(best.x)])


def normal_coordinates(x, nb):
    """Point by point, by the number of edges of their paths."""
    lengths = edges_of(x, nb)
    distances, before = dijkstra(lengths, return_predecessors=True)
    base = int(distances.max(axis=1).argmin())
    before = before[base]
    y = {base: np.zeros(2)}
    near = np.flatnonzero(lengths[base])
    edges = x[near] - x[base]
    whole = np.vstack([edges, 0 * edges[:1]])
    axes = np.linalg.svd(whole - whole.mean(axis=0))[2][:2]
    for j, flat, length in zip(near, edges @ axes.T, np.linalg.norm(edges, axis=1), strict=True):
        y[j] = flat / np.linalg.norm(flat) * length
    while len(y) < len(x):
        layer, spread = {}, {}
        for i in set(range(len(x))) - y.keys():
            p = before[i]
            if p not in y:
                continue
            others = [j for j in np.flatnonzero(lengths[p]) if j in y]
            u = np.array([(y[j] - y[p]) / np.linalg.norm(y[j] - y[p]) for j in others])
            c = np.array([(x[j] - x[p]) @ (x[i] - x[p]) / np.linalg.norm(x[j] - x[p]) for j in others])
            layer[i] = y[p] + on_circle(u, c, np.linalg.norm(x[i] - x[p]))
            spread[i] = np.linalg.eigvalsh(u.T @ u)[0]
        decided = [i for i in layer if spread[i] > MIN_SPREAD] or [max(layer, key=spread.get)]
        y |= {i: layer[i] for i in decided}
    return base, np.array([y[i] for i in range(len(x))])


def test_is_the_textbook():
    x = ub.datasets.swiss_roll(150, noise=0.05, random_state=1)[0]
    nb = ub.neighborhoods(x, 12)
    assert nb.n_connected_components == 1
    model = ub.RiemannianLearning().fit(x, neighborhoods=nb)
    base, expected = normal_coordinates(x, nb)
    assert model.bases_.tolist() == [base]
    # The last steps of the search on the circle are exact to the square root of the last bits.
    assert procrustes(expected, model.embedding_)[2] < 1e-12
    assert np.ptp(model.embedding_, axis=0).sum() == pytest.approx(
        np.ptp(ub.PCA(2).fit_transform(expected), axis=0).sum(), rel=1e-5
    )


@pytest.mark.parametrize("sides", [(3.0, 1.0), (2.0, 1.0, 1.0)])
def test_flat_data_come_back(sides):
    x = strip(400, sides)
    y = ub.RiemannianLearning(len(sides), 20).fit_transform(x)
    assert procrustes(x, y)[2] < 1e-20
    assert np.linalg.norm(y[0] - y[1]) == pytest.approx(np.linalg.norm(x[0] - x[1]))


def test_rolls_are_unrolled_in_the_unit_of_the_data():
    x, truth = ub.datasets.swiss_roll(1000, random_state=0)
    model = ub.RiemannianLearning(n_neighbors=10).fit(x)
    assert procrustes(truth, model.embedding_)[2] < 0.001
    assert model.faithfulness_.r_n < 0.05
    assert model.faithfulness_.scale == pytest.approx(1, abs=0.05)


def test_edges_of_paths_keep_their_lengths():
    x = ub.datasets.hemisphere(300, random_state=0)[0]
    nb = ub.neighborhoods(x, 10)
    model = ub.RiemannianLearning().fit(x, neighborhoods=nb)
    (base,) = model.bases_
    before = dijkstra(edges_of(x, nb), indices=base, return_predecessors=True)[1]
    for i in np.delete(np.arange(300), base):
        length = np.linalg.norm(model.embedding_[i] - model.embedding_[before[i]])
        assert length == pytest.approx(np.linalg.norm(x[i] - x[before[i]]), rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_vectors_of_given_length(d):
    """No random vector of the length does better, and the length is that which was asked for."""
    rng = np.random.default_rng(d)
    u, c, lengths = rng.normal(size=(50, 6, d)), rng.normal(size=(50, 6)), rng.uniform(0.1, 3, 50)
    u[:10] *= np.eye(1, d)  # nothing pulls along the other axes
    u[10:12] = 0
    found = with_lengths(u, c, lengths)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), lengths)
    costs = ((np.einsum("nkd,nd->nk", u, found) - c) ** 2).sum(axis=1)
    for _ in range(2000):
        other = rng.normal(size=(50, d))
        other *= (lengths / np.linalg.norm(other, axis=1))[:, None]
        assert (((np.einsum("nkd,nd->nk", u, other) - c) ** 2).sum(axis=1) >= costs - 1e-9).all()


def test_components_have_bases_of_their_own():
    x = np.r_[strip(100), strip(60, seed=1) + 50, [[500.0, 0], [500.0, 1]]]
    with pytest.warns(ub.DisconnectedWarning):
        model = ub.RiemannianLearning(n_neighbors=1).fit(x, neighborhoods=ub.neighborhoods(x, radius=1.5))
    assert len(model.bases_) == 3
    assert model.component_labels_[model.bases_].tolist() == [0, 1, 2]
    for component in range(2):
        rows = model.component_labels_ == component
        assert procrustes(x[rows], model.embedding_[rows])[2] < 1e-20


def test_copies_and_lines():
    x = np.repeat(strip(60), 3, axis=0)
    model = ub.RiemannianLearning(n_neighbors=12).fit(x)
    assert np.isfinite(model.embedding_).all()
    assert procrustes(x, model.embedding_)[2] < 1e-12
    line = np.c_[np.linspace(0, 1, 30), np.zeros((30, 2))]
    y = ub.RiemannianLearning(n_neighbors=4).fit_transform(line)
    assert np.ptp(y[:, 0]) == pytest.approx(1)
    np.testing.assert_allclose(y[:, 1], 0, atol=1e-9)


def test_a_stop_is_obeyed():
    with pytest.raises(ub.Stopped):
        ub.RiemannianLearning(callback=lambda stage, done, total, best: stage == "placing").fit(strip())
