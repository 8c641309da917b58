"""The quadratic form of an alignment, compared with sums over points."""

import numpy as np
import pytest
import unbend as ub
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation


def sum_of_squares(maps, points, weights, motions):
    """The weighted squared distances of all images from their weighted means, point by point."""
    images = {}
    for y, own, w, move in zip(maps, points, weights, motions, strict=True):
        for row, point, weight in zip(y, own, w, strict=True):
            images.setdefault(point, []).append((weight, move(row)))
    total = 0.0
    for shown in images.values():
        weight = np.array([w for w, _ in shown])
        image = np.array([y for _, y in shown])
        mean = weight @ image / weight.sum()
        total += weight @ ((image - mean) ** 2).sum(axis=1)
    return total


def scene(d, seed=0, m=4, n=30):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, d))
    points = [np.sort(rng.choice(n, 20, replace=False)) for _ in range(m)]
    maps = [truth[p] + rng.normal(scale=0.2, size=(20, d)) for p in points]
    weights = [rng.random(20) + 0.1 for _ in range(m)]
    return rng, maps, points, weights


def rotated(angles, d):
    if d == 2:
        c, s = np.cos(angles[0]), np.sin(angles[0])
        return np.array([[c, s], [-s, c]])
    return Rotation.from_rotvec(angles).as_matrix()


@pytest.mark.parametrize("d", [2, 3])
def test_the_fit_is_the_least_sum_of_squares(d):
    """No other motions have a smaller sum, as a general minimizer finds from where the fit is."""
    _, maps, points, weights = scene(d)
    found = ub.align(maps, points=points, weights=weights, robust=False, reflections=False)
    n_angles = d * (d - 1) // 2

    def value(parameters):
        motions = [found.transforms[0].apply]
        for i, (transform, own) in enumerate(zip(found.transforms[1:], np.split(parameters, 3), strict=True)):
            turn, shift = rotated(own[:n_angles], d), own[n_angles:]
            motions.append(lambda y, t=transform, r=turn, s=shift: t.apply(y[None])[0] @ r + s)
            assert i < 3
        first = lambda y: y  # noqa: E731
        return sum_of_squares(maps, points, weights, [first, *motions[1:]])

    start = np.zeros(3 * (n_angles + d))
    best = minimize(value, start, method="BFGS", options={"gtol": 1e-10})
    assert best.fun >= value(start) * (1 - 1e-9)
    np.testing.assert_allclose(best.x, 0, atol=1e-4)


def test_a_general_minimizer_finds_the_same_from_elsewhere():
    rng, maps, points, weights = scene(2, seed=3)
    found = ub.align(maps, points=points, weights=weights, robust=False, reflections=False)

    def motions(parameters):
        return [lambda y: y] + [lambda y, p=p: y @ rotated(p[:1], 2) + p[1:] for p in np.split(parameters, 3)]

    def value(parameters):
        return sum_of_squares(maps, points, weights, motions(parameters))

    best = minimize(value, rng.normal(scale=0.3, size=9), method="BFGS", options={"gtol": 1e-10})
    for moved, y, move in zip(found.maps, maps, motions(best.x), strict=True):
        np.testing.assert_allclose(moved, [move(row) for row in y], atol=1e-5)
