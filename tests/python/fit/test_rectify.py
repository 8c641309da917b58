"""The best linear map of an embedding."""

import numpy as np
import pytest
import scipy.optimize
import textbook
import unbend as ub

ROLL, TRUTH = ub.datasets.swiss_roll(600, random_state=0)


def r_n(x, y, graph):
    """R_N by its definition."""
    return np.mean(
        [textbook.procrustes(x[near], y[near]) / np.var(x[near], axis=0).sum() / len(near) for near in graph]
    )


def lists(graph):
    return [np.concatenate([[i], near]) for i, near in enumerate(graph.indices.reshape(len(graph), -1))]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_any_linear_map_is_undone(d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(300, d)) @ np.linalg.qr(rng.normal(size=(5, 5)))[0][:d]
    truth = x @ np.linalg.svd(x, full_matrices=False)[2][:d].T
    found = ub.rectify(x, truth @ rng.normal(size=(d, d)) + 7, 10)
    assert found.after.r_n < 1e-20
    assert found.reading.kind == "faithful"
    assert not found.collapsed
    np.testing.assert_allclose(found.matrix, found.matrix.T, atol=1e-12 * np.abs(found.matrix).max())
    assert (np.linalg.eigvalsh(found.matrix) > 0).all()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_map_is_better(d):
    """An optimiser that knows only R_N, from several starts, ends no lower."""
    rng = np.random.default_rng(10 + d)
    x = ROLL[:25] + rng.normal(scale=0.3, size=(25, 3))
    y = np.column_stack([TRUTH[:25], rng.normal(size=25)])[:, :d] @ rng.normal(size=(d, d))
    graph = ub.neighborhoods(x, 6)
    near = lists(graph)
    found = ub.rectify(x, y, neighborhoods=graph)

    def value(b):
        return r_n(x, y @ b.reshape(d, d), near)

    assert value(found.matrix.ravel()) == pytest.approx(found.after.r_n, rel=1e-9)
    for start in [found.matrix, *rng.normal(size=(2, d, d))]:
        other = scipy.optimize.minimize(value, start.ravel(), method="BFGS", options={"gtol": 1e-9})
        assert other.fun - 1e-6 < found.after.r_n <= other.fun + 1e-12


def test_it_does_not_depend_on_the_linear_map_before():
    rng = np.random.default_rng(0)
    y = TRUTH + rng.normal(scale=0.5, size=TRUTH.shape)
    plain = ub.rectify(ROLL, y, 8)
    mapped = ub.rectify(ROLL, y @ [[1e-3, 5.0], [2e-3, -1.0]] + 3, 8)
    assert mapped.after.r_n == pytest.approx(plain.after.r_n, rel=1e-9)
    assert mapped.condition == pytest.approx(plain.condition, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e12])
def test_axes_of_any_length(factor):
    found = ub.rectify(ROLL, TRUTH * [1.0, factor], 8)
    assert found.after.r_n == pytest.approx(ub.faithfulness(ROLL, TRUTH, 8).r_n, rel=0.02)
    assert found.n_iter < 50


def test_units_do_not_matter():
    one = ub.rectify(ROLL, TRUTH, 8)
    other = ub.rectify(ROLL * 1e-140, TRUTH * 1e140, 8)
    np.testing.assert_allclose(other.matrix * 1e280, one.matrix, rtol=1e-9, atol=1e-12)


def test_condition_is_length_over_width():
    _, strip = ub.datasets.strip(4000, length=6.0, random_state=0)
    normalized = (strip - strip.mean(axis=0)) / strip.std(axis=0)
    flat = np.column_stack([strip, np.zeros(len(strip))])
    assert ub.rectify(flat, normalized, 8).condition == pytest.approx(6, rel=0.05)


def test_a_curve_has_collapsed():
    _, strip = ub.datasets.strip(3000, length=8.0, random_state=0)
    phase = np.pi * strip[:, 0] / np.ptp(strip[:, 0])
    rng = np.random.default_rng(0)
    curve = np.column_stack([np.cos(phase), np.cos(2 * phase)]) + rng.normal(scale=1e-3, size=(3000, 2))
    found = ub.rectify(np.column_stack([strip, np.zeros(3000)]), curve, 8)
    assert found.collapsed
    assert found.reading.kind == "collapsed"
    assert found.after.r_n > 0.2
    assert "lost" in str(found)


@pytest.mark.parametrize("y", [0 * TRUTH, TRUTH * [1, 0], 0 * TRUTH + 5])
def test_flat_embeddings(y):
    found = ub.rectify(ROLL, y, 8)
    assert np.isinf(found.condition)
    assert found.collapsed
    assert np.isfinite(found.embedding).all()
    assert np.isfinite(found.after.r_n)


def test_coinciding_data():
    found = ub.rectify(np.ones((30, 3)), np.random.default_rng(0).normal(size=(30, 2)), 5)
    assert np.isfinite(found.embedding).all()


def test_same_bits_on_any_threads():
    one, two = (ub.rectify(ROLL, TRUTH * [1, 9], 8, n_jobs=n).matrix for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_layouts_and_types_do_not_matter():
    y = (TRUTH * [1, 9]).astype(np.float32)
    plain = ub.rectify(ROLL, y, 8)
    wide = np.zeros((600, 4), np.float32)
    wide[:, ::2] = y
    wide.flags.writeable = False
    np.testing.assert_array_equal(ub.rectify(np.asfortranarray(ROLL), wide[:, ::2], 8).matrix, plain.matrix)
    assert plain.embedding.dtype == np.float64


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="600 rows, but Y has 599"):
        ub.rectify(ROLL, TRUTH[1:])
    with pytest.raises(ValueError, match="Y has 4 columns, more than the 3 of X"):
        ub.rectify(ROLL, np.zeros((600, 4)))
    with pytest.raises(ValueError, match="NaN at row 0"):
        ub.rectify(ROLL, np.full((600, 2), np.nan))
    with pytest.raises(ValueError, match="600"):
        ub.rectify(ROLL, TRUTH, 600)
