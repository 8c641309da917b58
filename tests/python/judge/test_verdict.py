"""What is read from embeddings whose state is known by construction, through the measures themselves."""

import re

import numpy as np
import pytest
import unbend as ub
from unbend.judge import verdict as reading
from unbend.judge.verdict import KINDS, Statement, gather, read


def numbers(x, y, k=12, **options):
    m = ub.faithfulness(x, y, k, **options)
    return gather(m, ub.metrics.nieqa_local(x, y, k, **options))


@pytest.fixture(scope="module")
def roll():
    """A roll in five dimensions, and its coordinates."""
    x, flat = ub.datasets.swiss_roll(1500, random_state=0)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 3)))[0]
    return x @ turn.T, flat - flat.mean(axis=0)


def said(held):
    return read(held).sentence


def turn(degrees):
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def random(seed=1):
    return np.random.default_rng(seed)


def exponential(u):
    z = (u[:, 0] + 1j * u[:, 1]) / abs(u).max()
    return np.stack([np.exp(z).real, np.exp(z).imag], axis=1)


MADE = {
    "as it is": ("faithful", lambda u: u),
    "turned and mirrored": ("faithful", lambda u: u @ turn(30) * [1, -1] + 7),
    "in another unit": ("scaled", lambda u: 0.01 * u),
    "too large": ("scaled", lambda u: 100 * u),
    "conformal": ("conformal", exponential),
    "conformal in another unit": ("conformal", lambda u: 1000 * exponential(u)),
    "normalized": ("stretched", lambda u: u / u.std(axis=0)),
    "turned, then stretched": ("stretched", lambda u: u @ turn(20) * [1, 3]),
    "stretched, then turned": ("stretched", lambda u: u * [1, 3] @ turn(45)),
    "stretched a lot": ("stretched", lambda u: u * [1, 15] @ turn(45)),
    "stretched unevenly": ("stretched", lambda u: np.sinh(u / abs(u).max() * [2.5, 0.5])),
    "folded in half": ("folded", lambda u: abs(u * [1, 0] + [0, 0]) + u * [0, 1]),
    "folded and stretched": ("folded", lambda u: abs(u * [1, 0]) + u * [0, 8]),
    "folded in another unit": ("folded", lambda u: 1e-4 * (abs(u * [1, 0]) + u * [0, 1])),
    "torn": ("torn", lambda u: u + 100 * (u[:, :1] > 5)),
    "torn in another unit": ("torn", lambda u: 1e3 * (u + 100 * (u[:, :1] > 5))),
    "on a line": ("collapsed", lambda u: u * [1, 0]),
    "on a curve": ("collapsed", lambda u: np.stack([u[:, 0], u[:, 0] ** 2 / 20], axis=1)),
    "on a line with noise": ("collapsed", lambda u: u * [1, 0] + 0.05 * random().normal(size=u.shape)),
    "shuffled": ("unrelated", lambda u: random().permutation(u)),
    "random": ("unrelated", lambda u: random().normal(size=u.shape)),
    "all on one point": ("unrelated", lambda u: 0 * u),
    "jittered": ("distorted", lambda u: u + 1.5 * random().normal(size=u.shape)),
}


@pytest.mark.parametrize("name", MADE)
def test_reads_what_was_done(roll, name):
    x, u = roll
    kind, make = MADE[name]
    found = read(numbers(x, make(u)))
    assert found.kind == kind, found.sentence
    assert found.kind in KINDS
    assert found.sentence.endswith(".")
    assert not re.search(r"nan|inf|e[+]\d+ (%|times)", found.sentence)


@pytest.mark.parametrize("name", MADE)
def test_does_not_depend_on_where_the_embedding_lies(roll, name):
    x, u = roll
    y = MADE[name][1](u)
    assert read(numbers(x, y[:, ::-1] * [1, -1] + 50)).kind == read(numbers(x, y)).kind


def test_the_sentence_tells_what_to_do(roll):
    x, u = roll
    factor, falls_to = map(float, re.findall(r"by ([\d.]+),.* to ([\d.]+)\.$", said(numbers(x, 0.01 * u)))[0])
    assert factor == pytest.approx(100, rel=0.01)
    assert falls_to == pytest.approx(numbers(x, u)["r_n"], rel=0.1)
    assert " 3 times" in said(numbers(x, u * [1, 3]))


@pytest.mark.parametrize(("noise", "k"), [(0, 8), (0, 20), (0.1, 8), (0.1, 12), (0.2, 12), (0.2, 20)])
def test_noise_and_k_do_not_change_the_kind(noise, k):
    x, u = ub.datasets.swiss_roll(3000, noise=noise, random_state=3)
    for y, kind in ((u, "faithful"), (7 * u, "scaled"), (u / u.std(axis=0), "stretched")):
        assert read(numbers(x, y, k)).kind == kind


def test_other_dimensions():
    x, flat = ub.datasets.swiss_roll(2000, random_state=0)
    third = random().uniform(0, 15, (2000, 1))
    x, u = np.hstack([x, third]), np.hstack([flat, third])
    for y, kind in (
        (u, "faithful"),
        (u * [1, 1, 4], "stretched"),
        (u * [1, 1, 0], "collapsed"),
        (random().permutation(u), "unrelated"),
    ):
        assert read(numbers(x, y)).kind == kind
    t = np.linspace(0, 3, 500)[:, None]
    curve = np.hstack([np.cos(t), np.sin(t)])
    assert read(numbers(curve, t, 6)).kind == "faithful"
    assert read(numbers(curve, 5 * t, 6)).kind == "scaled"
    assert read(numbers(curve, np.exp(t), 6)).kind == "conformal"


def test_says_when_nothing_can_be_said():
    u = random().uniform(size=(1500, 2))
    thick = np.hstack([u, random(2).normal(size=(1500, 10)) * 0.02])
    assert read(numbers(thick, u)).kind == "thick"
    assert read(numbers(thick, random().permutation(u))).kind == "unrelated"
    assert read(numbers(thick, u * [1, 0])).kind == "collapsed"
    assert read(numbers(thick, abs(u - 0.5))).kind == "folded"
    spots = np.zeros((40, 3))
    assert read(numbers(spots, random().normal(size=(40, 2)))).kind == "nothing"


def test_a_sample_of_neighborhoods_will_do(roll):
    x, u = roll
    found = read(numbers(x, u / u.std(axis=0), n_centers=200, random_state=0))
    assert found.kind == "stretched"


def test_reads_numbers_alone(roll):
    x, u = roll
    held = numbers(x, u)
    assert all(type(value) is float for value in held.values())
    assert read(held) == read(dict(held))
    assert isinstance(read(held), Statement)
    off = held | {"size": reading.OFF * 1.01}
    assert read(held)[0] == "faithful"
    assert read(off)[0] == "scaled"


def test_only_the_unit_is_wrong_if_nothing_else_is(roll):
    x, u = roll
    only = read(numbers(x, 3 * u))
    assert only.sentence.startswith("Only the unit is wrong: multiply the embedding by 0.33")
    shaken = read(numbers(x, 3 * (u + random().normal(scale=0.15, size=u.shape))))
    assert (only.kind, shaken.kind) == ("scaled", "scaled")
    assert "not only the unit" in shaken.sentence
    assert "times the least possible" in shaken.sentence
