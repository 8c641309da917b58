"""Difficult data with a known truth, for `bench_hard.py`, `bench_select.py` and the experiments.

A case is a function (n, rng) -> (X, truth, pieces). The truth is isometric to the surface, unless the case says
otherwise. `pieces` is None, or the number of the connected piece of each point, which is -1 for an outlier.
"""

import numpy as np
from scipy.spatial import procrustes


def disparity(truth, embedding, pieces=None):
    """The mean over connected pieces; outliers do not count."""
    if pieces is None:
        return procrustes(truth, embedding)[2]
    parts = [pieces == piece for piece in range(pieces.max() + 1)]
    return float(np.mean([procrustes(truth[rows], embedding[rows])[2] for rows in parts]))


class Curve:
    """A plane curve by arc length: a polygon of 20,000 edges."""

    def __init__(self, function, start, stop):
        parameters = np.linspace(start, stop, 20_001)
        self.function, self.parameters = function, parameters
        edges = np.diff(self.points(parameters), axis=0)
        self.lengths = np.append(0, np.cumsum(np.hypot(*edges.T)))
        self.length = self.lengths[-1]

    def points(self, parameters):
        return np.column_stack(self.function(parameters))

    def at(self, lengths):
        return self.points(np.interp(lengths, self.lengths, self.parameters))

    def sheet(self, truth):
        """The sheet over this curve, at arc lengths and heights."""
        plane = self.at(truth[:, 0])
        return np.column_stack([plane[:, 0], truth[:, 1], plane[:, 1]])


def u_turn(s):
    """A straight line of length 10, a half circle of radius 1, and the line back."""
    turn = np.clip(s - 10, 0, np.pi)
    x = np.minimum(s, 10) + np.sin(turn) - np.maximum(s - 10 - np.pi, 0)
    return x, 1 - np.cos(turn)


def s_shape(t):
    return np.sin(t), np.sign(t) * (np.cos(t) - 1)


ROLL = Curve(lambda t: (t * np.cos(t), t * np.sin(t)), 1.5 * np.pi, 4.5 * np.pi)
S_CURVE = Curve(s_shape, -1.5 * np.pi, 1.5 * np.pi)
U_TURN = Curve(u_turn, 0, 20 + np.pi)
WAVES = Curve(lambda t: (t, 0.3 * np.sin(6 * t)), 0, 10)
OPEN_TUBE = Curve(lambda t: (3 * np.cos(t), 3 * np.sin(t)), 0.15, 2 * np.pi - 0.15)
HEIGHT = 21.0
SHEET = np.array([ROLL.length, HEIGHT])


def evenly(n, rng):
    return rng.random((n, 2)) * SHEET


def roll(truth):
    return ROLL.sheet(truth), truth, None


def accepted(accept, n, rng):
    """Points of the unit square that `accept` takes, stretched to the sheet of the roll."""
    unit = rng.random((20 * n, 2))
    return unit[accept(unit[:, 0], unit[:, 1])][:n] * SHEET


def with_noise(x, sd, rng):
    return x + sd * rng.standard_normal(x.shape)


def clean(n, rng):
    return roll(evenly(n, rng))


def noisy(sd):
    def case(n, rng):
        x, truth, _ = clean(n, rng)
        return with_noise(x, sd, rng), truth, None

    return case


def uneven(power, sd=0.0):
    """Most points are at the inner end of the roll."""

    def case(n, rng):
        x, truth, _ = roll(rng.random((n, 2)) ** [power, 1] * SHEET)
        return with_noise(x, sd, rng), truth, None

    return case


def clumps(n, rng):
    """Seven points of ten are in 25 round clumps."""
    centers = evenly(25, rng)
    truth = centers[rng.integers(25, size=5 * n)] + 1.5 * rng.standard_normal((5 * n, 2))
    inside = ((truth > 0) & (truth < SHEET)).all(axis=1)
    n_clumped = 7 * n // 10
    return roll(np.concatenate([truth[inside][:n_clumped], evenly(n - n_clumped, rng)]))


def outliers(share):
    """Some points are anywhere in the box around the data."""

    def case(n, rng):
        x, truth, _ = clean(n, rng)
        rows = rng.permutation(n)[: round(share * n)]
        x[rows] = rng.uniform(x.min(axis=0), x.max(axis=0), (len(rows), 3))
        pieces = np.zeros(n, dtype=int)
        pieces[rows] = -1
        return x, truth, pieces

    return case


def hole(n, rng):
    return roll(accepted(lambda u, v: np.maximum(abs(u - 0.5), abs(v - 0.5)) > 1 / 6, n, rng))


def c_shape(n, rng):
    """Two long arms, joined at one end."""
    return roll(accepted(lambda u, v: (u < 0.12) | (abs(v - 0.5) > 0.3), n, rng))


def thin_strip(n, rng):
    return roll(rng.random((n, 2)) * [ROLL.length, 1])


def saddle(n, rng):
    """Curved, so that no flat truth is exact: the truth is the shadow."""
    truth = rng.uniform(-1, 1, (n, 2))
    return np.column_stack([truth, truth**2 @ [0.5, -0.5]]), truth, None


def bump(n, rng):
    """Curved, so that no flat truth is exact: the truth is the shadow."""
    truth = rng.uniform(-2, 2, (n, 2))
    return np.column_stack([truth, 1.5 * np.exp(-2 * (truth**2).sum(axis=1))]), truth, None


def corrugated(n, rng):
    truth = rng.random((n, 2)) * [WAVES.length, 5]
    return WAVES.sheet(truth), truth, None


def other_unit(n, rng):
    """The height is in a unit that makes its numbers four times as large."""
    return roll(evenly(n, rng) * [1, 4])


def growing_noise(n, rng):
    x, truth, _ = clean(n, rng)
    sd = 0.02 + 1.2 * (truth[:, :1] / ROLL.length) ** 2
    return with_noise(x, sd, rng), truth, None


def noisy_columns(n, rng):
    """Noise in the columns of the roll, and in 47 more that hold nothing else."""
    x, truth, _ = clean(n, rng)
    return with_noise(np.hstack([x, np.zeros((n, 47))]), 0.3, rng), truth, None


def box(sd):
    """A product of three arcs in six columns, rotated."""

    def case(n, rng):
        truth = rng.random((n, 3)) * [2, 1.5, 1]
        rotation = np.linalg.qr(np.random.default_rng(7).standard_normal((6, 6)))[0]
        x = np.hstack([np.sin(truth), 1 - np.cos(truth)]) @ rotation
        return with_noise(x, sd, rng), truth, None

    return case


def heavy_tails(n, rng):
    """Student's noise with two degrees of freedom: few points are moved far."""
    x, truth, _ = clean(n, rng)
    return x + 0.2 * rng.standard_t(2, x.shape), truth, None


def one_noisy_column(n, rng):
    x, truth, _ = clean(n, rng)
    x[:, 2] += rng.standard_normal(n)
    return x, truth, None


def rounded(n, rng):
    """Whole numbers only, so that some points are equal."""
    x, truth, _ = clean(n, rng)
    return np.round(x), truth, None


def repeated(n, rng):
    """Half of the points are exact copies of 30 others."""
    truth = evenly(n // 2, rng)
    return roll(np.concatenate([truth, truth[rng.integers(30, size=n - n // 2)]]))


def s_curve(n, rng):
    truth = rng.random((n, 2)) * [S_CURVE.length, 4]
    return with_noise(S_CURVE.sheet(truth), 0.15, rng), truth, None


def spiral(n, rng):
    """One dimension."""
    truth = rng.random((n, 1)) * ROLL.length
    return with_noise(ROLL.at(truth[:, 0]), 0.3, rng), truth, None


def gap(n, rng):
    """A stripe is missing across the roll; the neighborhoods barely reach over it."""
    return roll(accepted(lambda u, v: abs(u - 0.6) > 0.014, n, rng))


def bridge(n, rng):
    """Outliers in a straight line between two parallel sheets that are joined at one end only."""
    truth = rng.random((n, 2)) * [U_TURN.length, 5]
    x, pieces = U_TURN.sheet(truth), np.zeros(n, dtype=int)
    n_outliers = n // 50
    pieces[:n_outliers] = -1
    ends = np.array([[3, 2.5, 0], [3, 2.5, 2]])
    x[:n_outliers] = ends[0] + np.linspace(0, 1, n_outliers)[:, None] * (ends[1] - ends[0])
    x[:n_outliers] += 0.1 * rng.standard_normal((n_outliers, 3))
    return x, truth, pieces


def two_rolls(n, rng):
    """Two rolls far apart, one with five times the points of the other; each is scored alone."""
    x, truth, _ = clean(n, rng)
    pieces = (np.arange(n) >= 5 * n // 6).astype(int)
    return x + pieces[:, None] * [0, 60, 0], truth, pieces


def scan_lines(n, rng):
    """The heights have only 15 values, and along these lines the points are dense."""
    truth = evenly(n, rng)
    truth[:, 1] = np.round(truth[:, 1] / HEIGHT * 14) * HEIGHT / 14
    return roll(truth)


def tracks(n, rng):
    """Ten random walks on the roll, as of devices that move while they measure."""
    steps = rng.standard_normal((10, n // 10, 2)).cumsum(axis=1) * 0.8
    position = (evenly(10, rng)[:, None] + steps).reshape(-1, 2) % (2 * SHEET)
    x, truth, _ = roll(np.minimum(position, 2 * SHEET - position))
    return with_noise(x, 0.1, rng), truth, None


def cap(n, rng):
    """A sphere up to 50 degrees from its pole: no flat truth is exact; this one keeps distances to the pole."""
    polar = np.arccos(1 - rng.random(n) * (1 - np.cos(np.radians(50))))
    turn = rng.random(n) * 2 * np.pi
    around = np.column_stack([np.cos(turn), np.sin(turn)])
    x = np.column_stack([np.sin(polar)[:, None] * around, np.cos(polar)])
    return x, polar[:, None] * around, None


def offset(n, rng):
    """Single precision, a million away from the origin."""
    x, truth, _ = clean(n, rng)
    return (x + 1e6).astype(np.float32), truth, None


def imputed(n, rng):
    """One value of 50 was missing, and is the mean of its column."""
    x, truth, _ = clean(n, rng)
    missing = rng.random(x.shape) < 0.02
    pieces = -missing.any(axis=1).astype(int)
    return np.where(missing, x.mean(axis=0), x), truth, pieces


def batches(n, rng):
    """Half of the points were measured by a device that adds the same to all."""
    x, truth, _ = clean(n, rng)
    second = rng.random((n, 1)) < 0.5
    return x + second * [0.8, 0.0, 0.8], truth, None


def open_tube(n, rng):
    """A tube that a narrow slit opens; neighborhoods reach over the slit."""
    truth = rng.random((n, 2)) * [OPEN_TUBE.length, 10]
    return OPEN_TUBE.sheet(truth), truth, None


CASES = {
    "clean, 400 points": (clean, 400),
    "clean, 600 points": (clean, 600),
    "clean, 1,000 points": (clean, 1000),
    "noise 0.3": (noisy(0.3), 1000),
    "noise 0.6": (noisy(0.6), 1000),
    "noise 1.0": (noisy(1.0), 1000),
    "growing noise": (growing_noise, 1000),
    "heavy tails": (heavy_tails, 1000),
    "one noisy column": (one_noisy_column, 1000),
    "noise in 50 columns": (noisy_columns, 1000),
    "S curve, noise": (s_curve, 1000),
    "spiral, d = 1, noise": (spiral, 500),
    "box, d = 3": (box(0), 1000),
    "box, d = 3, noise": (box(0.05), 1000),
    "density u^4": (uneven(4), 1000),
    "density u^2, noise 0.3": (uneven(2, 0.3), 1000),
    "clumps": (clumps, 1000),
    "scan lines": (scan_lines, 1000),
    "tracks": (tracks, 1000),
    "rounded": (rounded, 1000),
    "repeated points": (repeated, 1000),
    "gap": (gap, 1000),
    "hole": (hole, 1000),
    "C shape": (c_shape, 1000),
    "thin strip": (thin_strip, 1000),
    "two rolls": (two_rolls, 1500),
    "open tube": (open_tube, 1000),
    "outliers 1 %": (outliers(0.01), 1000),
    "outliers 5 %": (outliers(0.05), 1000),
    "bridge of outliers": (bridge, 1000),
    "missing values imputed": (imputed, 1000),
    "two batches": (batches, 1000),
    "saddle": (saddle, 1000),
    "bump": (bump, 1000),
    "spherical cap": (cap, 1000),
    "corrugated": (corrugated, 1000),
    "one axis in another unit": (other_unit, 1000),
    "float32, large offset": (offset, 1000),
}


def pure_noise(n, rng):
    return rng.standard_normal((n, 10))


def clusters(n, rng):
    centers = 20 * rng.standard_normal((8, 10))
    return centers[rng.integers(8, size=n)] + rng.standard_normal((n, 10))


def cube(n, rng):
    return rng.random((n, 3)) * 10


LIMITS = {
    "pure noise in 10 columns": (pure_noise, 1000),
    "roll, 200 points": (lambda n, rng: clean(n, rng)[0], 200),
    "roll, 60 points": (lambda n, rng: clean(n, rng)[0], 60),
    "eight clusters in 10 columns": (clusters, 1000),
    "solid cube, embedded with d = 2": (cube, 1000),
}
