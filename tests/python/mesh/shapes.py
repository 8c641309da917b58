"""Triangle meshes with known shapes."""

import numpy as np


def grid(a, b, around=False, both=False):
    """Return the triangles of a grid of a x b vertices, closed along the first or both directions."""
    i = np.arange(a * b).reshape(a, b)
    if around or both:
        i = np.concatenate([i, i[:1]], axis=0)
    if both:
        i = np.concatenate([i, i[:, :1]], axis=1)
    p, q, r, s = (part.ravel() for part in (i[:-1, :-1], i[:-1, 1:], i[1:, :-1], i[1:, 1:]))
    return np.concatenate([np.c_[p, r, s], np.c_[p, s, q]])


def over(f, u, v):
    """Return the points of a surface over a grid of parameters."""
    u, v = np.meshgrid(u, v, indexing="ij")
    return np.stack([np.broadcast_to(x, u.shape).ravel() for x in f(u, v)], axis=1).astype(float)


def cylinder_patch(a=40, b=15):
    return over(lambda u, v: (np.cos(u), np.sin(u), v), np.linspace(0, 2.5, a), np.linspace(0, 1, b)), grid(
        a, b
    )


def cone_patch(a=40, b=15):
    return over(
        lambda u, v: (v * np.cos(u), v * np.sin(u), 2 * v), np.linspace(0, 3, a), np.linspace(0.4, 1, b)
    ), grid(a, b)


def bump(a=30, b=30, height=0.4):
    def surface(u, v):
        return u, v, height * np.exp(-4 * (u * u + v * v))

    return over(surface, np.linspace(-1, 1, a), np.linspace(-1, 1, b)), grid(a, b)


def tube(a=24, b=20, length=3.0):
    u = np.arange(a) / a * 2 * np.pi
    return over(lambda u, v: (np.cos(u), np.sin(u), v), u, np.linspace(0, length, b)), grid(a, b, around=True)


def torus(a=36, b=18):
    u, v = np.arange(a) / a * 2 * np.pi, np.arange(b) / b * 2 * np.pi

    def surface(u, v):
        return (2 + 0.7 * np.cos(v)) * np.cos(u), (2 + 0.7 * np.cos(v)) * np.sin(u), 0.7 * np.sin(v)

    return over(surface, u, v), grid(a, b, both=True)


def two_tori(a=24, b=12):
    """Return two tori joined by a bridge between one triangle of each: a closed surface of genus 2."""
    points, faces = torus(a, b)
    middle = points[faces].mean(axis=1)[:, 0]
    first, second = int(np.argmax(middle)), int(np.argmin(middle))
    p, q = faces[first], faces[second][[0, 2, 1]] + len(points)
    bridge = [t for k in range(3) for t in ((p[k], q[k], p[k - 2]), (p[k - 2], q[k], q[k - 2]))]
    parts = np.delete(faces, first, axis=0), np.delete(faces, second, axis=0) + len(points), bridge
    return np.concatenate([points, points + np.array([5.6, 0, 0])]), np.concatenate(parts)


def sphere(n=600):
    """Return a sphere; its triangles have no common orientation."""
    from scipy.spatial import ConvexHull

    i = np.arange(n) + 0.5
    polar, around = np.arccos(1 - 2 * i / n), np.pi * (1 + 5**0.5) * i
    x = np.c_[np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)]
    return x, ConvexHull(x).simplices.astype(np.int64)


def moebius(a=60, b=7):
    points = over(
        lambda u, v: (
            (1 + v * np.cos(u / 2)) * np.cos(u),
            (1 + v * np.cos(u / 2)) * np.sin(u),
            v * np.sin(u / 2),
        ),
        np.arange(a) / a * 2 * np.pi,
        np.linspace(-0.3, 0.3, b),
    )
    i = np.arange(a * b).reshape(a, b)
    i = np.concatenate([i, i[:1, ::-1]], axis=0)
    p, q, r, s = (part.ravel() for part in (i[:-1, :-1], i[:-1, 1:], i[1:, :-1], i[1:, 1:]))
    return points, np.concatenate([np.c_[p, r, s], np.c_[p, s, q]])


def broken(seed):
    """Return a mesh with one to four kinds of damage."""
    rng = np.random.default_rng(seed)
    makers = (bump, lambda: torus(20, 12), lambda: tube(16, 10), lambda: sphere(150), cone_patch)
    points, faces = makers[rng.integers(len(makers))]()
    points, faces = points.copy(), faces.copy()
    for kind in rng.permutation(len(DAMAGES))[: rng.integers(1, 5)]:
        points, faces = DAMAGES[kind](points, faces, rng)
    return points, faces


def _holes(x, f, rng):
    return x, f[rng.random(len(f)) > rng.uniform(0.01, 0.3)]


def _collapsed(x, f, rng):
    rows = rng.integers(len(f), size=10)
    x[f[rows, 0]] = x[f[rows, 1]]
    return x, f


def _turned(x, f, rng):
    return x, np.where(rng.random(len(f))[:, None] < 0.2, f[:, [0, 2, 1]], f)


def _repeated(x, f, rng):
    return x, np.concatenate([f, f[rng.integers(len(f), size=len(f) // 10)]])


def _unreferenced(x, f, rng):
    return np.concatenate([x, rng.normal(size=(20, 3))]), f


def _random(x, f, rng):
    return x, np.concatenate([f, rng.integers(len(x), size=(rng.integers(1, 30), 3))])


def _two_cornered(x, f, rng):
    rows = rng.integers(len(f), size=10)
    f[rows, 1] = f[rows, 0]
    return x, f


def _slivers(x, f, rng):
    rows = rng.integers(len(f), size=20)
    x[f[rows, 0]] = (x[f[rows, 1]] + x[f[rows, 2]]) / 2 + 1e-9 * rng.normal(size=(20, 3))
    return x, f


def _copied(x, f, rng):
    return np.concatenate([x, x]), np.where(rng.random(f.shape) < 0.1, f + len(x), f)


def _scaled(x, f, rng):
    return x * 10.0 ** rng.integers(-12, 12), f


DAMAGES = (
    _holes,
    _collapsed,
    _turned,
    _repeated,
    _unreferenced,
    _random,
    _two_cornered,
    _slivers,
    _copied,
    _scaled,
)
