"""Samples of neighborhoods: how sure their means are, and how many it takes."""

import numpy as np
import pytest
import unbend as ub
from unbend.metrics.sampling import Sampling, interval, standard_error


def mean_of(values, **options):
    """Centers, values and sizes of the samples when the mean of `values` is measured."""
    options = {"n_centers": None, "half_width": 0.01, "random_state": 0} | options
    calls = []

    def measure(centers):
        calls.append(len(values) if centers is None else len(centers))
        return values if centers is None else values[centers]

    centers, result = Sampling(**options).measured(len(values), measure, lambda found: [found])
    return centers, result, calls


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(3).exponential(0.3, size=100_000)


def test_all_by_default(values):
    centers, result, calls = mean_of(values)
    assert centers is None
    assert result is values
    assert calls == [len(values)]


def test_a_number_of_centers(values):
    centers, result, _ = mean_of(values, n_centers=50)
    assert len(centers) == len(set(centers.tolist())) == 50
    assert (np.diff(centers.astype(int)) > 0).all()
    np.testing.assert_array_equal(result, values[centers])
    assert mean_of(values, n_centers=len(values))[0] is None


def test_auto_draws_until_it_is_sure(values):
    centers, result, calls = mean_of(values, n_centers="auto")
    low, high = interval(result.mean(), standard_error(result, len(result) / len(values)))
    assert (high - low) / 2 <= 0.01
    # sd 0.3 needs (1.96 * 0.3 / 0.01)^2 = 3457 of endlessly many
    assert 3000 < len(centers) < 5500
    assert len(calls) <= 3


def test_auto_knows_when_a_pilot_is_enough(values):
    assert mean_of(values, n_centers="auto", half_width=0.5)[2] == [1000]


def test_auto_measures_all_if_half_would_not_do(values):
    assert mean_of(values, n_centers="auto", half_width=1e-4)[0] is None
    assert mean_of(values[:1500], n_centers="auto")[2] == [1500]


def test_auto_looks_at_the_widest_aim():
    spread = {"narrow": np.zeros(50_000), "wide": np.random.default_rng(0).normal(size=50_000)}

    def measure(centers):
        return {name: held if centers is None else held[centers] for name, held in spread.items()}

    sampling = Sampling("auto", 0.03, random_state=0)
    centers, result = sampling.measured(50_000, measure, lambda found: found.values())
    assert 1.96 * standard_error(result["wide"], len(centers) / 50_000) <= 0.03


def test_the_same_seed_draws_the_same(values):
    first, again = (mean_of(values, n_centers="auto", random_state=7)[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, mean_of(values, n_centers="auto", random_state=8)[0])


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "many", True])
def test_wrong_numbers_of_centers(values, wrong):
    with pytest.raises(ValueError, match="n_centers"):
        mean_of(values, n_centers=wrong)


@pytest.mark.parametrize("wrong", [0, -0.1, np.nan, np.inf, "thin", None])
def test_wrong_half_widths(values, wrong):
    with pytest.raises(ValueError, match="half_width"):
        mean_of(values, half_width=wrong)


def test_a_sample_of_all_is_exact():
    values = np.arange(5.0)
    assert standard_error(values, 1.0) == 0
    assert interval(2.0, 0.0) == (2.0, 2.0)
    assert standard_error(values[:1], 0.2) == np.inf
    assert interval(0.5, np.inf, 0, 1) == (0, 1)


def test_the_measures_take_auto():
    X, coordinates = ub.datasets.swiss_roll(30_000, random_state=0)
    rng = np.random.default_rng(0)
    Y = coordinates * [1, 0.3] + rng.normal(0, 0.05, size=coordinates.shape)
    graph = ub.neighborhoods(X, 10)
    exact = ub.faithfulness(X, Y, neighborhoods=graph)
    m = ub.faithfulness(X, Y, neighborhoods=graph, n_centers="auto", half_width=0.01, random_state=1)
    assert m.n_centers < 15_000
    for name in ("r_n", "r_c", "lower_bound"):
        low, high = m.interval(name)
        assert (high - low) / 2 <= 0.01
        assert abs(getattr(m, name) - getattr(exact, name)) < 0.02
    options = {"neighborhoods": graph, "n_centers": "auto", "half_width": 0.01, "random_state": 1}
    for one in (
        ub.metrics.nieqa_local(X, Y, per_point=True, **options),
        ub.metrics.overlap(X, Y, per_point=True, **options),
        ub.metrics.lower_bound(X, 2, per_point=True, **options),
    ):
        assert 1.96 * standard_error(one, len(one) / len(X)) <= 0.01


def test_auto_with_errors_beyond_all_bounds():
    x = np.random.default_rng(0).normal(size=(2500, 3))
    m = ub.faithfulness(x * 1e-90, x[:, :2], n_centers="auto", random_state=0)
    assert m.n_centers == 2500
    assert m.r_n > 1e170
    assert mean_of(np.zeros(5000), n_centers="auto")[2] == [1000]
