"""Embeddings whose state is known by construction: surfaces with true coordinates, and what is done to them.

Coordinates are arc lengths, so an embedding made of them is faithful, and everything else is made from them.
Data get any number of dimensions by a rotation, and noise in all of them; the neighborhoods are those of
the noisy data. `h` is the mean distance to the k-th neighbor without noise.
"""

from dataclasses import dataclass

import numpy as np
import unbend as ub

KINDS = (
    "faithful",
    "scaled",
    "conformal",
    "stretched",
    "folded",
    "torn",
    "collapsed",
    "unrelated",
    "distorted",
)


# Surfaces ------------------------------------------------------------------------------------------------


def cone(n, *, random_state):
    """A sector of a disc, bent to a cone."""
    rng = np.random.default_rng(random_state)
    radius, angle = np.sqrt(rng.uniform(0.1, 1, n)), rng.uniform(0, 1.5, n)
    turned, slope = angle * 2.5, 0.4
    x = radius * np.array([slope * np.cos(turned), slope * np.sin(turned), np.full(n, np.sqrt(1 - slope**2))])
    return x.T, (radius * np.array([np.cos(angle), np.sin(angle)])).T


def wave(n, *, random_state):
    """A corrugated sheet: arcs of a circle, up and down."""
    rng = np.random.default_rng(random_state)
    along, across = rng.uniform(0, 4 * np.pi, n), rng.uniform(0, 4, n)
    turn, angle = np.divmod(along, np.pi)
    x = np.array([2 * turn - np.cos(angle), across, np.sin(angle) * (-1) ** turn])
    return x.T, np.array([along, across]).T


def arch(n, *, random_state):
    """Two thirds of a cylinder."""
    rng = np.random.default_rng(random_state)
    angle, height = rng.uniform(0, 4 * np.pi / 3, n), rng.uniform(0, 3, n)
    return np.array([np.cos(angle), np.sin(angle), height]).T, np.array([angle, height]).T


def thick(n, *, random_state):
    """A roll of three dimensions in four."""
    x, flat = ub.datasets.swiss_roll(n, random_state=random_state)
    depth = np.random.default_rng(random_state).uniform(0, 15, (n, 1))
    return np.hstack([x, depth]), np.hstack([flat, depth])


def block(n, *, random_state):
    """A bent slab of three dimensions in four."""
    x, flat = ub.datasets.s_curve(n, random_state=random_state)
    depth = np.random.default_rng(random_state).uniform(0, 2, (n, 1))
    return np.hstack([x, depth]), np.hstack([flat, depth])


def roll(**settings):
    return lambda n, random_state: ub.datasets.swiss_roll(n, random_state=random_state, **settings)


LEARNT = {
    "swiss roll": roll(),
    "long roll": roll(stretch=0.5),
    "s-curve": ub.datasets.s_curve,
    "gaussian bump": ub.datasets.gaussian_bump,
    "arch": arch,
    "block (d = 3)": block,
}
HELD_OUT = {
    "roll with a hole": roll(hole=True),
    "Wittman's roll": ub.datasets.swiss_roll_wittman,
    "strip": ub.datasets.strip,
    "cone": cone,
    "wave": wave,
    "thick roll (d = 3)": thick,
}


@dataclass
class Data:
    """One noisy sample in q dimensions, its true coordinates and its neighborhoods."""

    surface: str
    x: np.ndarray
    u: np.ndarray
    h: float
    near: ub.Neighborhoods

    @property
    def short_circuits(self):
        """The share of neighbors that are far in the truth."""
        indices = self.near.indices.reshape(len(self.u), -1)
        far = np.linalg.norm(self.u[indices] - self.u[:, None], axis=2) > 4 * self.h
        return far.mean()


def sample(surface, draw, seed):
    """A sample of random size, dimension, noise and k."""
    rng = np.random.default_rng([seed, len(surface)])
    k, q = int(rng.integers(8, 21)), round(np.exp(rng.uniform(np.log(3), np.log(50))))
    n = int(np.exp(rng.uniform(np.log(500), np.log(5000))))
    flat, u = draw(n, random_state=seed)
    h = ub.neighborhoods(flat, k).distances.reshape(n, k)[:, -1].mean()
    noise = rng.choice([0, 0, 0, 0.05, 0.1, 0.2, 0.3, 0.6, 1.0, 1.5]) * h
    q = max(q, flat.shape[1])
    turn = np.linalg.qr(rng.normal(size=(q, flat.shape[1])))[0]
    x = flat @ turn.T + noise / np.sqrt(q) * rng.normal(size=(n, q))
    return Data(surface, x, u, h, ub.neighborhoods(x, k))


# What is done to the coordinates -------------------------------------------------------------------------


def embeddings(data, rng):
    """Yield (kind, what was done, embedding); of those whose unit does not matter half in another unit."""
    u = data.u - data.u.mean(axis=0)
    for make in (faithful, scaled, conformal, stretched, folded, torn, collapsed, unrelated, distorted):
        for done, y in make(u, data.h, rng):
            as_it_is = make in (faithful, scaled) or rng.uniform() < 0.5
            yield make.__name__, done, y if as_it_is else y * np.exp(rng.uniform(-4, 4))


def rotation(d, rng):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def turned(u, rng):
    return u @ rotation(u.shape[1], rng)


def between(rng, low, high):
    return np.exp(rng.uniform(np.log(low), np.log(high)))


def unit_box(u):
    """Within [-1, 1] along the longest extent."""
    return u / abs(u).max()


def faithful(u, h, rng):
    for _ in range(2):
        yield "turned", turned(u, rng)


def scaled(u, h, rng):
    for factor in (between(rng, 0.01, 0.7), between(rng, 1.5, 100)):
        yield "one factor", factor * turned(u, rng)


def conformal(u, h, rng):
    v = unit_box(turned(u, rng))
    away = np.zeros(v.shape[1])
    away[0] = np.linalg.norm(v, axis=1).max() * rng.uniform(1.15, 2)
    yield "inverted", (v + away) / np.sum((v + away) ** 2, axis=1, keepdims=True)
    if v.shape[1] == 2:
        z = v[:, 0] + 1j * v[:, 1]
        yield "exponential", plane(np.exp(rng.uniform(0.5, 1.5) * z))
        yield "power", plane((z + away[0]) ** rng.choice([0.4, 2, 3]))


def plane(z):
    return np.stack([z.real, z.imag], axis=1)


def stretched(u, h, rng):
    d = u.shape[1]
    ratios = between(rng, 1.5, 20) ** (np.arange(d) / (d - 1))
    yield "each coordinate", turned(u, rng) * ratios
    yield "and turned", turned(turned(u, rng) * ratios, rng)
    y, extents, _ = np.linalg.svd(u, full_matrices=False)
    if extents[0] > 1.5 * extents[-1]:  # else there is nothing to normalize but the unit
        yield "unit covariance", y * np.sqrt(len(u)) * h
    v = unit_box(u)
    yield "unevenly", np.hstack([np.sinh(rng.uniform(2, 3) * v[:, :1]), v[:, 1:]])


def folded(u, h, rng):
    first = u[:, 0]
    for name, shares in (
        ("in half", [0.5]),
        ("an edge", [rng.uniform(0.12, 0.3)]),
        ("in three", [0.33, 0.67]),
    ):
        yield name, np.column_stack([creased(first, shares), u[:, 1:]])
    creased_and_stretched = np.column_stack([creased(first, [0.5]), between(rng, 2, 10) * u[:, 1:]])
    yield "and stretched", creased_and_stretched
    radius = 1 + (u[:, 1] - u[:, 1].min()) / np.ptp(u[:, 1])
    angle = rng.uniform(1.5, 3) * 2 * np.pi * first / np.ptp(first)
    yield (
        "wound up",
        np.column_stack([radius * np.cos(angle), radius * np.sin(angle), u[:, 2:] / np.ptp(first)]),
    )


def creased(values, shares):
    """Folded back at each of these quantiles."""
    for crease in np.quantile(values, shares):
        values = np.where(values > crease, 2 * crease - values, values)
    return values


def torn(u, h, rng):
    pieces = int(rng.integers(2, 6))
    strip = np.searchsorted(np.quantile(u[:, 0], np.arange(1, pieces) / pieces), u[:, 0])
    gap = np.ptp(u, axis=0).max() * rng.uniform(0.3, 1.5)
    yield "strips apart", u + np.eye(u.shape[1])[0] * (strip * gap)[:, None]
    order = rng.permutation(pieces)
    yield (
        "strips beside each other",
        u + np.eye(u.shape[1])[1] * (order[strip] * 1.5 * np.ptp(u[:, 1]))[:, None],
    )
    centers = u[rng.choice(len(u), pieces, replace=False)]
    cell = np.argmin(np.linalg.norm(u[:, None] - centers, axis=2), axis=1)
    y = np.empty_like(u)
    for i in range(pieces):
        y[cell == i] = turned(u[cell == i] - centers[i], rng) + 3 * centers[i]
    yield "patches turned", y


def collapsed(u, h, rng):
    v = turned(u, rng)
    t = v[:, 0] / abs(v[:, 0]).max()
    rest = v[:, 2:]
    for name, noise in (("to a line", 0), ("to a line, noise", rng.choice([1e-6, 0.01, 0.1]) * h)):
        yield name, np.column_stack([v[:, 0], noise * rng.normal(size=len(v)), rest])
    length = abs(v[:, 0]).max()
    yield "to a curve", np.column_stack([length * t, length * t**2, rest])
    arc = np.column_stack([np.cos(2.5 * t), np.sin(2.5 * t)]) * length / 2.5
    yield "to an arc, noise", np.column_stack([arc + 0.02 * h * rng.normal(size=arc.shape), rest])


def unrelated(u, h, rng):
    yield "random", rng.normal(size=u.shape)
    yield "shuffled", rng.permutation(u)
    mixed = rng.choice(len(u), round(rng.uniform(0.75, 1) * len(u)), replace=False)
    y = u.copy()
    y[np.sort(mixed)] = u[mixed]
    yield "mostly shuffled", y


def distorted(u, h, rng):
    yield "jittered", u + rng.uniform(0.3, 0.6) * h * rng.normal(size=u.shape)
    v = unit_box(u)
    bend, waves = rng.uniform(0.7, 0.95), rng.uniform(4, 7)
    y = turned(v, rng)
    first = y[:, 0] + bend / waves * np.sin(waves * y[:, 1])
    second = y[:, 1] + bend / waves * np.sin(waves * y[:, 0])
    yield "sheared in waves", np.column_stack([first, second, y[:, 2:]])
