"""The smallest eigenvectors: those of scipy and numpy, on data that are flat, torn, noisy or doubled."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import unbend as ub
from interrupting import IMPORT, LIMIT, signals
from unbend.fit.spectral.eigenvectors import GapWarning, smallest_eigenvectors


def ltsa(x, k, d):
    """The alignment matrix of Zhang & Zha (2004), neighborhood by neighborhood."""
    n = len(x)
    lists = ub.neighborhoods(x, k)
    members = np.array([[i, *lists[i]] for i in range(n)])
    local = x[members] - x[members].mean(axis=1, keepdims=True)
    u = np.linalg.svd(local, full_matrices=False)[0][:, :, :d]
    basis = np.concatenate([np.full((n, k + 1, 1), 1 / np.sqrt(k + 1)), u], axis=2)
    weights = np.eye(k + 1) - basis @ basis.transpose(0, 2, 1)
    rows, columns = np.repeat(members, k + 1, axis=1), np.tile(members, (1, k + 1))
    matrix = sp.coo_array((weights.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n)).tocsr()
    return (matrix + matrix.T) / 2


def angle(a, b):
    return float(np.max(scipy.linalg.subspace_angles(a, b)))


def laplacian(x, k):
    lists = ub.neighborhoods(x, k)
    rows = np.repeat(np.arange(len(x)), k)
    graph = sp.coo_array((np.ones(len(rows)), (rows, lists.indices)), shape=(len(x), len(x))).tocsr()
    weights = graph.maximum(graph.T)
    degrees = np.asarray(weights.sum(axis=0)).ravel()
    return sp.diags_array(degrees).tocsr() - weights, degrees


@pytest.mark.parametrize("noise", [0.0, 0.6])
def test_the_vectors_of_numpy(noise):
    x, _ = ub.datasets.swiss_roll(900, noise=noise, random_state=0)
    matrix = ltsa(x, 12, 2)
    values, vectors = np.linalg.eigh(matrix.toarray())
    for d in (1, 2, 5, 20):
        found = smallest_eigenvectors(matrix, d)
        assert found.solver == "factor"
        assert np.abs(found.values - values[1 : d + 2]).max() < 1e-10 * found.norm
        assert found.residuals[:d].max() < 1e-8
        assert angle(found.vectors, vectors[:, 1 : d + 1]) < 1e-6
        assert found.gap == pytest.approx(values[d + 1] - values[d], rel=1e-4)
        assert np.abs(found.vectors.sum(axis=0)).max() < 1e-10


def test_the_generalised_problem():
    x, _ = ub.datasets.swiss_roll(1200, random_state=0)
    matrix, degrees = laplacian(x, 10)
    values, vectors = scipy.linalg.eigh(matrix.toarray(), np.diag(degrees))
    found = smallest_eigenvectors(matrix, 3, degrees=degrees)
    assert np.abs(found.values - values[1:5]).max() < 1e-10
    assert angle(found.vectors, vectors[:, 1:4]) < 1e-6
    assert found.vectors.T @ (degrees[:, None] * found.vectors) == pytest.approx(np.eye(3), abs=1e-10)


def test_a_flat_patch():
    rng = np.random.default_rng(0)
    truth = rng.uniform(size=(3000, 2))
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0][:, :2]
    found = smallest_eigenvectors(ltsa(truth @ turn.T, 12, 2), 2)
    assert np.abs(found.values[:2]).max() < 1e-13 * found.norm
    assert found.doubt < 1e-5
    assert angle(found.vectors, truth - truth.mean(axis=0)) < 1e-5


def test_components():
    x, _ = ub.datasets.swiss_roll(700, random_state=0)
    matrix = sp.block_diag([ltsa(x, 12, 2), ltsa(x[:500], 12, 2)]).tocsr()
    labels = np.repeat([3, 1], [700, 500])
    values = np.linalg.eigvalsh(matrix.toarray())
    found = smallest_eigenvectors(matrix, 4, null_space=labels)
    assert np.abs(found.values - values[2:7]).max() < 1e-10 * found.norm
    assert np.abs(found.vectors[:700].sum(axis=0)).max() < 1e-10


def test_duplicates():
    # three neighbors at other places only: the graph falls apart, and hundreds of values are zero
    x, _ = ub.datasets.swiss_roll(400, random_state=0)
    matrix = ltsa(np.repeat(x, 4, axis=0), 12, 2)
    values = np.linalg.eigvalsh(matrix.toarray())
    with pytest.warns(GapWarning):
        found = smallest_eigenvectors(matrix, 2)
    assert np.abs(found.values - values[1:4]).max() < 1e-10 * found.norm


@pytest.mark.parametrize("n", [2, 3, 4, 30, 199, 250])
def test_few_points(n):
    path = np.diag(np.r_[1.0, np.full(n - 2, 2.0), 1.0]) - np.eye(n, k=1) - np.eye(n, k=-1)
    d = min(2, n - 1)
    found = smallest_eigenvectors(path, d)
    truth = 4 * np.sin(np.pi * np.arange(1, n) / (2 * n)) ** 2
    assert found.values == pytest.approx(truth[: d + 1], abs=1e-13)
    assert found.gap == np.inf if n <= d + 1 else found.gap > 0


def test_wide_data_without_a_factor():
    matrix = ltsa(np.random.default_rng(0).normal(size=(1500, 10)), 12, 2)
    truth = np.linalg.eigvalsh(matrix.toarray())
    found = smallest_eigenvectors(matrix, 2, max_memory=1)
    assert found.solver == "polynomial"
    assert np.abs(found.values - truth[1:4]).max() < 1e-10 * found.norm


@pytest.mark.slow
def test_too_little_memory_names_the_numbers():
    x, _ = ub.datasets.swiss_roll(20_000, random_state=0)
    with pytest.raises(MemoryError, match=r"the factor needs .* left residuals of"):
        smallest_eigenvectors(ltsa(x, 12, 2), 2, max_memory=1)


def test_equal_values_are_told():
    x, _ = ub.datasets.swiss_roll(300, random_state=0)
    matrix = ltsa(x, 12, 2)
    with pytest.warns(GapWarning, match="eigenvectors 2 and 3 cannot be separated"):
        smallest_eigenvectors(sp.block_diag([matrix] * 4).tocsr(), 2)


def test_the_same_bits_on_any_number_of_threads():
    x, _ = ub.datasets.swiss_roll(5000, random_state=0)
    matrix = ltsa(x, 12, 2)
    one, two, three = (smallest_eigenvectors(matrix, 2, n_jobs=n) for n in (1, 2, 3))
    assert one.vectors.tobytes() == two.vectors.tobytes() == three.vectors.tobytes()
    largest = np.abs(one.vectors).argmax(axis=0)
    assert (one.vectors[largest, [0, 1]] > 0).all()


def test_any_kind_of_matrix():
    x, _ = ub.datasets.swiss_roll(300, random_state=0)
    matrix = ltsa(x, 12, 2)
    bits = smallest_eigenvectors(matrix, 2).vectors.tobytes()
    stored = matrix.copy()
    stored.data.flags.writeable = False
    for same in (
        matrix.tocsc(),
        matrix.tocoo(),
        matrix.toarray(),
        np.asfortranarray(matrix.toarray()),
        stored,
    ):
        assert smallest_eigenvectors(same, 2).vectors.tobytes() == bits


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_vectors": 0}, "n_vectors = 0 is too few"),
        ({"n_vectors": 300}, "n_vectors = 300 is out of range"),
        ({"null_space": "constants"}, "null_space = 'constants' is unknown"),
        ({"null_space": np.zeros(3, int)}, "labels has 3 rows, but matrix has 300"),
        ({"null_space": np.full(300, -1)}, "whole number from 0 on"),
        ({"degrees": np.zeros(300)}, "degree = 0 is out of range"),
        ({"degrees": np.ones(2)}, "degrees has 2 rows, but matrix has 300"),
        ({"matrix": np.ones((2, 3))}, r"shape \(2, 3\)"),
        ({"matrix": np.diag([np.nan] * 300)}, "NaN at row 0"),
        ({"matrix": np.triu(np.ones((300, 300)))}, "not symmetric"),
        ({"matrix": -np.eye(300)}, "not positive semidefinite"),
    ],
)
def test_bad_input(change, message):
    arguments = {"matrix": np.eye(300), "n_vectors": 2, **change}
    with pytest.raises(ValueError, match=message):
        smallest_eigenvectors(**arguments)


def test_a_callback_stops_it():
    x, _ = ub.datasets.swiss_roll(40_000, random_state=0)
    matrix = laplacian(x, 12)[0]
    with pytest.raises(RuntimeError, match="stopped by the callback"):
        smallest_eigenvectors(matrix, 2, progress=lambda stage, done, total: True)


CTRL_C = IMPORT + textwrap.dedent("""
    import numpy as np, scipy.sparse as sp
    from unbend.fit.spectral.eigenvectors import smallest_eigenvectors
    line = sp.diags_array([np.ones(69), np.ones(70), np.ones(69)], offsets=[-1, 0, 1])
    cube = sp.kron(sp.kron(line, line), line).tocsr()
    matrix = (sp.diags_array(np.asarray(cube.sum(axis=0)).ravel()) - cube).tocsr()
    strike = Strike({after})
    try:
        strike.start()
        smallest_eigenvectors(matrix, 2)
    except KeyboardInterrupt:
        print(strike.late)
""")


@signals
@pytest.mark.parametrize("after", [0.5, 3.0])
def test_ctrl_c(after):
    code = CTRL_C.format(after=after)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert float(done.stdout) < LIMIT
