"""Surfaces that cannot lie flat, drawn evenly, for `bench_cut.py` and `experiments/pictures/gallery_cut.py`.

The flat ones have no curvature of their own: cut open, they lie in the plane without any stretch, and R_N
can reach its bound. The Klein bottle is that of Tompkins (1941) with one coordinate more, without which it
meets itself.
"""

import numpy as np


def cylinder(n, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    t, z = rng.uniform(0, 2 * np.pi, n), rng.uniform(0, 3, n)
    return _noisy(np.c_[np.cos(t), np.sin(t), z], noise, rng)


def flat_torus(n, seed=0, noise=0.0, d=2):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, (n, d))
    return _noisy(np.concatenate([np.cos(angles), np.sin(angles)], axis=1), noise, rng)


def _tompkins(u, v, fifth):
    """Flat, and (u, v) is the same point as (-u, v + pi)."""
    x = [
        2 * np.sin(u) * np.cos(v),
        2 * np.sin(u) * np.sin(v),
        np.cos(u) * np.cos(2 * v),
        np.cos(u) * np.sin(2 * v),
    ]
    return np.stack(x + [np.cos(u)] * fifth, axis=1)


def _even(rng, n, speed, low, high):
    """Draw parameters so that lengths along the curve are even."""
    grid = np.linspace(low, high, 4001)
    steps = (speed(grid[1:]) + speed(grid[:-1])) / 2 * np.diff(grid)
    length = np.concatenate([[0], np.cumsum(steps)])
    return np.interp(rng.uniform(0, length[-1], n), length, grid)


def flat_klein_bottle(n, seed=0, noise=0.0):
    """In five dimensions."""
    rng = np.random.default_rng(seed)
    u = _even(rng, n, lambda u: np.sqrt(4 * np.cos(u) ** 2 + 2 * np.sin(u) ** 2), 0, 2 * np.pi)
    return _noisy(_tompkins(u, rng.uniform(0, np.pi, n), True), noise, rng)


def flat_moebius_strip(n, seed=0, noise=0.0):
    """In four dimensions."""
    rng = np.random.default_rng(seed)
    u = _even(rng, n, lambda u: np.sqrt(4 * np.cos(u) ** 2 + np.sin(u) ** 2), -0.5, 0.5)
    return _noisy(_tompkins(u, rng.uniform(0, np.pi, n), False), noise, rng)


def klein_bottle(n, seed=0, noise=0.0, radius=2.0, width=1.0):
    """Curved, in four dimensions: a circle that turns over as it goes round."""
    rng = np.random.default_rng(seed)
    t, s = rng.uniform(0, 2 * np.pi, (2, n))
    r = radius + width * np.cos(s)
    x = np.c_[
        r * np.cos(t), r * np.sin(t), width * np.sin(s) * np.cos(t / 2), width * np.sin(s) * np.sin(t / 2)
    ]
    return _noisy(x, noise, rng)


def moebius_strip(n, seed=0, noise=0.0, width=0.8):
    """Curved, in three dimensions, of middle radius 1."""
    rng = np.random.default_rng(seed)
    t, w = rng.uniform(0, 2 * np.pi, n), rng.uniform(-width / 2, width / 2, n)
    r = 1 + w * np.cos(t / 2)
    return _noisy(np.c_[r * np.cos(t), r * np.sin(t), w * np.sin(t / 2)], noise, rng)


def sphere(n, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return _noisy(x / np.linalg.norm(x, axis=1, keepdims=True), noise, rng)


def torus(n, seed=0, noise=0.0, radius=2.0, width=1.0):
    """A torus of revolution, even in area."""
    rng = np.random.default_rng(seed)
    t, s = rng.uniform(0, 2 * np.pi, (2, 4 * n))
    even = rng.uniform(0, radius + width, 4 * n) < radius + width * np.cos(s)
    t, s = t[even][:n], s[even][:n]
    r = radius + width * np.cos(s)
    return _noisy(np.c_[r * np.cos(t), r * np.sin(t), width * np.sin(s)], noise, rng)


def disc(n, seed=0, noise=0.0):
    return annulus(n, seed, noise, inner=0.0)


def annulus(n, seed=0, noise=0.0, inner=0.4):
    """Flat, in three dimensions, of outer radius 1."""
    rng = np.random.default_rng(seed)
    t, r = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(inner**2, 1, n))
    return _noisy(np.c_[r * np.cos(t), r * np.sin(t), np.zeros(n)], noise, rng)


def circle(n, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    return _noisy(np.c_[np.cos(t), np.sin(t)], noise, rng)


def _noisy(x, noise, rng):
    return x + noise * rng.normal(size=x.shape) if noise else x
