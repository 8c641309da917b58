"""Data with true coordinates: surfaces whose flat shape is known, so that an embedding can be judged.

Every function returns ``(X, coordinates)``, both float64 with one row a point. Where the surface can be laid
flat, ``coordinates`` are its arc lengths: distances in them are distances along the surface. Elsewhere they
are the natural parameters, and the docstring says so.

The same ``random_state`` gives the same bits for any number of threads, and a longer sample begins with the
shorter one. Noise is added to ``X`` only, and leaves the points under it where they were without it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from . import _core
from .core.random import RandomState, seed_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "cylinder",
    "fishbowl",
    "gaussian_bump",
    "grid",
    "hemisphere",
    "rotating_ball",
    "s_curve",
    "strip",
    "swiss_roll",
    "swiss_roll_wittman",
    "three_peaks",
]


def swiss_roll(
    n_samples: int,
    *,
    noise: float = 0.0,
    stretch: float = 1.0,
    hole: bool = False,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw a rolled-up rectangle, even in area. Isometric to its coordinates.

    A point is ``(t cos t, h, t sin t)`` with ``1.5 pi <= t <= 4.5 pi`` and ``0 <= h <= 21 stretch``. The
    rectangle is 89.4 long, not ``3 pi``: ``t`` is an angle, the coordinate is the arc length belonging to it.

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    stretch : float, default 1
        Factor on the height 21. Below 1 the rectangle becomes a longer strip.
    hole : bool, default False
        Whether the middle third of the length times the middle third of the height is missing.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        Arc length along the spiral, from 0, and height.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.swiss_roll(1000, random_state=0)
    >>> X.shape, coordinates.shape
    ((1000, 3), (1000, 2))
    """
    return _core.swiss_roll(_count("n_samples", n_samples), noise, stretch, hole, seed_from(random_state))


def swiss_roll_wittman(
    n_samples: int,
    *,
    noise: float = 0.0,
    stretch: float = 1.0,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw Wittman's swiss roll, even in the angle and so denser inside. Isometric to its coordinates.

    The sample that Goldberg and Ritov (2009) and Goldberg et al. (2008) use. It differs from
    :func:`swiss_roll` only in its density.

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    stretch : float, default 1
        Factor on the height 21.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        Arc length along the spiral, from 0, and height.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.swiss_roll_wittman(1600, random_state=0)
    >>> X.shape, coordinates.shape
    ((1600, 3), (1600, 2))
    """
    return _core.swiss_roll_wittman(_count("n_samples", n_samples), noise, stretch, seed_from(random_state))


def s_curve(
    n_samples: int, *, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw two arcs joined to an S, 2 wide, even in area. Isometric to its coordinates.

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        Arc length from the middle of the S, -1.5 pi to 1.5 pi, and width, 0 to 2.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.s_curve(1000, random_state=0)
    >>> X.shape, coordinates.shape
    ((1000, 3), (1000, 2))
    """
    return _core.s_curve(_count("n_samples", n_samples), noise, seed_from(random_state))


def hemisphere(
    n_samples: int, *, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the upper half of the unit sphere, even in area. Not isometric: no map of a sphere is.

    The coordinates are azimuthal equidistant. They keep every distance to the pole; circles around it
    come out too long, by a factor of ``pi / 2`` at the rim.

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        ``(theta cos phi, theta sin phi)`` for the angle ``theta`` from the pole and the longitude ``phi``.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.hemisphere(2500, random_state=0)
    >>> X.shape, coordinates.shape
    ((2500, 3), (2500, 2))
    """
    return _core.hemisphere(_count("n_samples", n_samples), noise, seed_from(random_state))


def cylinder(
    n_samples: int, *, height: float = 3.0, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw a cylinder of radius 1, even in area. Isometric to its coordinates but for one seam.

    No map into the plane is isometric all around: the coordinates are cut open at longitude 0.

    Parameters
    ----------
    n_samples : int
        Number of points.
    height : float, default 3
        Height of the cylinder.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        Longitude in radians, 0 to 2 pi, which is also the arc length; and height.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.cylinder(800, random_state=0)
    >>> X.shape, coordinates.shape
    ((800, 3), (800, 2))
    """
    return _core.cylinder(_count("n_samples", n_samples), height, noise, seed_from(random_state))


def fishbowl(
    n_samples: int,
    *,
    stretch: float = 1.0,
    rim: float = 0.7,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the unit sphere without a cap around its north pole. Not isometric; conformal if not stretched.

    The coordinates are the stereographic projection from the missing pole: they keep angles, not lengths.
    ``stretch`` multiplies the first column of the finished ``X`` and of the coordinates.

    Parameters
    ----------
    n_samples : int
        Number of points, even in area on the sphere before it is stretched.
    stretch : float, default 1
        Factor on the first dimension. Goldberg et al. (2008) show 1 and 4.
    rim : float, default 0.7
        The sphere is cut off above this height, between -1 and 1.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        ``(stretch * x, y) / (1 - z)`` for the point ``(x, y, z)`` of the sphere.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.fishbowl(2400, random_state=0)
    >>> X.shape, coordinates.shape
    ((2400, 3), (2400, 2))
    """
    return _core.fishbowl(_count("n_samples", n_samples), stretch, rim, noise, seed_from(random_state))


def strip(
    n_samples: int,
    *,
    length: float = 6.0,
    width: float = 1.0,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw a flat strip, even in area. Isometric to its coordinates: without noise they are the points.

    Parameters
    ----------
    n_samples : int
        Number of points.
    length, width : float, default 6 and 1
        Extent of the first and of the second dimension.
    noise : float, default 0
        Standard deviation of the normal noise in a third dimension, which is there only if this is above 0.
        Goldberg et al. (2008, Fig. 1C) have 0.01.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 2), or (n_samples, 3) if there is noise
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        Position along the length and across the width.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.strip(1000, random_state=0)
    >>> X.shape, bool((X == coordinates).all())
    ((1000, 2), True)
    >>> X, coordinates = datasets.strip(1000, noise=0.01, random_state=0)
    >>> X.shape, coordinates.shape
    ((1000, 3), (1000, 2))
    """
    return _core.strip(_count("n_samples", n_samples), length, width, noise, seed_from(random_state))


def grid(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """List the integer points of a rectangle, row by row. They are their own coordinates.

    Parameters
    ----------
    rows, columns : int
        Number of points in each direction.

    Returns
    -------
    X : ndarray of shape (rows * columns, 2)
        Row and column, from 0.
    coordinates : ndarray of shape (rows * columns, 2)
        The same.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.grid(2, 3)
    >>> X.tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    """
    return _core.grid(_count("rows", rows), _count("columns", columns))


def gaussian_bump(
    n_samples: int, *, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the density of the normal distribution as a surface. Not isometric, but within 0.5 %.

    A point is ``(u, v, exp(-(u^2 + v^2) / 2) / (2 pi))``, even in ``u`` and ``v`` (Zhang, Ren, Zhang 2011).

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        The foot ``(u, v)`` of each point, in ``[-3, 3]^2``.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.gaussian_bump(1000, random_state=0)
    >>> X.shape, coordinates.shape
    ((1000, 3), (1000, 2))
    """
    return _core.gaussian_bump(_count("n_samples", n_samples), noise, seed_from(random_state))


def three_peaks(
    n_samples: int, *, noise: float = 0.0, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw a plane with three narrow peaks, one up and two down. Not isometric on their flanks.

    Between the peaks lengths are those of the coordinates; on the flanks they are up to 2.9 times as long
    (Zhang and Wang 2006).

    Parameters
    ----------
    n_samples : int
        Number of points, even in their feet.
    noise : float, default 0
        Standard deviation of the normal noise in each of the three dimensions.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        The points.
    coordinates : ndarray of shape (n_samples, 2)
        The foot of each point, in ``[-1.5, 1.5]^2``.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.three_peaks(1225, random_state=0)
    >>> X.shape, coordinates.shape
    ((1225, 3), (1225, 2))
    """
    return _core.three_peaks(_count("n_samples", n_samples), noise, seed_from(random_state))


def rotating_ball(
    n_samples: int,
    *,
    resolution: int = 16,
    pan: tuple[float, float] = (-45.0, 45.0),
    tilt: tuple[float, float] = (-30.0, 60.0),
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Render grey pictures of a textured ball that turns two ways. Not isometric: coordinates are angles.

    Near angles give near pictures, and no two angles within the default ranges give the same.
    After the globe of Goldberg et al. (2008, Fig. 6C and 9), whose angles are the defaults.

    Parameters
    ----------
    n_samples : int
        Number of pictures, even in both angles.
    resolution : int, default 16
        Width and height of a picture in pixels, 2 to 4096.
    pan : (float, float), default (-45, 45)
        Lowest and highest longitude that faces the viewer, in degrees, within -180 and 180.
    tilt : (float, float), default (-30, 60)
        Lowest and highest latitude that faces the viewer, in degrees, within -90 and 90. Three times narrower
        than ``pan`` it gives a strip of pictures such as the paper's 30 x 10.
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState, default None
        Seed, 0 to 2**64 - 1; None takes a fresh one.

    Returns
    -------
    X : ndarray of shape (n_samples, resolution ** 2)
        Grey values in [0, 1], row by row from the top left.
    coordinates : ndarray of shape (n_samples, 2)
        Pan and tilt in degrees.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.rotating_ball(300, tilt=(0, 30), random_state=0)
    >>> X.shape, coordinates.shape
    ((300, 256), (300, 2))
    """
    return _core.rotating_ball(
        _count("n_samples", n_samples),
        _count("resolution", resolution),
        _ends("pan", pan),
        _ends("tilt", tilt),
        seed_from(random_state),
    )


def _count(name: str, value: int) -> int:
    """Refuse in the core's words what does not fit into its 64 bits without a sign."""
    count = operator.index(value)
    if not 0 <= count < 2**64:
        raise ValueError(f"{name} = {count} is out of range: at least 1 is needed, less than 2**64")
    return count


def _ends(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Take two numbers out of any sequence."""
    values = tuple(float(end) for end in ends)
    if len(values) != 2:
        raise ValueError(f"{name} = {ends!r} is no range: two numbers are needed, got {len(values)}")
    return values[0], values[1]
