"""Synthetic data as Python sees it. That it is even and isometric is tested in the core."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unbend import datasets

SAMPLERS = {
    "swiss_roll": (datasets.swiss_roll, 3),
    "swiss_roll_wittman": (datasets.swiss_roll_wittman, 3),
    "s_curve": (datasets.s_curve, 3),
    "hemisphere": (datasets.hemisphere, 3),
    "cylinder": (datasets.cylinder, 3),
    "fishbowl": (datasets.fishbowl, 3),
    "strip": (datasets.strip, 2),
    "gaussian_bump": (datasets.gaussian_bump, 3),
    "three_peaks": (datasets.three_peaks, 3),
    "rotating_ball": (datasets.rotating_ball, 256),
}
NOISY = [name for name in SAMPLERS if name not in ("strip", "rotating_ball")]

samplers = pytest.mark.parametrize(("make", "q"), SAMPLERS.values(), ids=SAMPLERS)


def arc_length(t):
    return (t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2


@samplers
def test_shapes(make, q):
    x, coordinates = make(50, random_state=0)
    assert x.shape == (50, q)
    assert coordinates.shape == (50, 2)
    for array in (x, coordinates):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert np.isfinite(array).all()


@samplers
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), few=st.integers(1, 40), more=st.integers(0, 1200))
def test_more_points_keep_the_first(make, q, seed, few, more):
    for short, long in zip(make(few, random_state=seed), make(few + more, random_state=seed), strict=True):
        np.testing.assert_array_equal(short, long[:few])


@pytest.mark.parametrize("name", NOISY)
def test_noise_moves_x_only(name):
    make, _ = SAMPLERS[name]
    clean, noisy = make(4000, random_state=5), make(4000, noise=0.25, random_state=5)
    np.testing.assert_array_equal(clean[1], noisy[1])
    assert (noisy[0] - clean[0]).std(axis=0) == pytest.approx(0.25, rel=0.06)


@pytest.mark.parametrize("make", [datasets.swiss_roll, datasets.swiss_roll_wittman])
def test_coordinates_of_the_rolls_are_arc_lengths(make):
    x, coordinates = make(500, stretch=2.0, random_state=0)
    t = np.hypot(x[:, 0], x[:, 2])
    np.testing.assert_allclose(coordinates[:, 0], arc_length(t) - arc_length(1.5 * np.pi), atol=1e-11)
    np.testing.assert_array_equal(coordinates[:, 1], x[:, 1])
    assert 21 < x[:, 1].max() <= 42


def test_arguments_reach_the_core():
    x, coordinates = datasets.swiss_roll(3000, hole=True, random_state=0)
    length = arc_length(4.5 * np.pi) - arc_length(1.5 * np.pi)
    share = coordinates / [length, 21]
    assert not ((share > 1 / 3) & (share < 2 / 3)).all(axis=1).any()
    assert 4 < datasets.cylinder(500, height=5, random_state=0)[0][:, 2].max() <= 5
    bowl = datasets.fishbowl(500, rim=0.1, stretch=4, random_state=0)[0]
    assert bowl[:, 2].max() < 0.1
    assert bowl[:, 0].max() > 3.5
    x, coordinates = datasets.strip(500, length=9, width=2, noise=0.01, random_state=0)
    assert x.shape == (500, 3)
    assert 0.008 < x[:, 2].std() < 0.012
    assert (coordinates.max(axis=0) > [8, 1.8]).all()
    assert (coordinates.max(axis=0) < [9, 2]).all()
    x, coordinates = datasets.rotating_ball(200, resolution=8, pan=(0, 90), tilt=[0, 30], random_state=0)
    assert x.shape == (200, 64)
    assert x.min() >= 0
    assert x.max() <= 1
    assert ((coordinates >= 0) & (coordinates < [90, 30])).all()
    assert (coordinates.max(axis=0) > [80, 27]).all()


def test_grid():
    x, coordinates = datasets.grid(81, 41)
    np.testing.assert_array_equal(x, np.stack(np.divmod(np.arange(81 * 41), 41), axis=1))
    np.testing.assert_array_equal(x, coordinates)


def test_random_states():
    def roll(random_state=None):
        return datasets.swiss_roll(5, random_state=random_state)[0]

    assert (roll(3) == roll(np.int32(3))).all()
    assert (roll(3) != roll(4)).any()
    assert (roll() != roll()).any()
    for make in (np.random.default_rng, np.random.RandomState):
        first, second = make(3), make(3)
        assert (roll(first) == roll(second)).all()
        assert (roll(first) != roll(make(3))).any(), "a generator moves on"


@pytest.mark.parametrize("random_state", [-1, 2**64, 0.5, "seed"])
def test_bad_random_states(random_state):
    with pytest.raises(ValueError, match="random_state = "):
        datasets.s_curve(5, random_state=random_state)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.swiss_roll(0), "n_samples = 0 is out of range"),
        (lambda: datasets.swiss_roll(-3), "n_samples = -3 is out of range"),
        (lambda: datasets.s_curve(2**64), "n_samples = 18446744073709551616 is out of range"),
        (lambda: datasets.s_curve(2**62), "n_samples = 4611686018427388000 is out of range"),
        (lambda: datasets.hemisphere(5, noise=-0.5), "noise = -0.5 is out of range"),
        (lambda: datasets.three_peaks(5, noise=float("nan")), "noise = NaN is out of range"),
        (lambda: datasets.swiss_roll(5, stretch=0), "stretch = 0 is out of range"),
        (lambda: datasets.cylinder(5, height=float("inf")), "height = inf is out of range"),
        (lambda: datasets.fishbowl(5, rim=1.5), "rim = 1.5 is out of range"),
        (lambda: datasets.strip(5, width=-1), "width = -1 is out of range"),
        (lambda: datasets.grid(4, 0), "columns = 0 is out of range"),
        (lambda: datasets.rotating_ball(5, resolution=1), "resolution = 1 is out of range"),
        (lambda: datasets.rotating_ball(5, pan=(10, 5)), "pan = 5 is out of range"),
        (lambda: datasets.rotating_ball(5, tilt=(0, 95)), "tilt = 95 is out of range"),
        (lambda: datasets.rotating_ball(5, tilt=(0, 1, 2)), "two numbers are needed, got 3"),
    ],
)
def test_wrong_numbers_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n_samples", [10.0, "10", None, b"10", [10]])
def test_a_number_of_points_is_an_integer(n_samples):
    message = re.escape(f"n_samples = {n_samples!r} is not a whole number")
    with pytest.raises(ValueError, match=message):
        datasets.swiss_roll(n_samples)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.cylinder(10, height="3"), "height = '3' is not a number"),
        (lambda: datasets.strip(10, width={}), r"width = \{\} is not a number"),
        (lambda: datasets.s_curve(10, noise=1j), "noise = 1j is not a number"),
        (lambda: datasets.fishbowl(10, stretch=None), "stretch = None is not a number"),
        (lambda: datasets.rotating_ball(10, pan=3.0), r"pan = 3\.0 is no range: two numbers are needed"),
        (lambda: datasets.rotating_ball(10, tilt="ab"), "tilt = 'ab' is no range: two numbers are needed"),
    ],
)
def test_what_is_no_number_is_shown(call, message):
    with pytest.raises(ValueError, match=message):
        call()
