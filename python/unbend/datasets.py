"""Data with true coordinates: surfaces whose flat shape is known, so that an embedding can be judged.

Every function returns ``(X, coordinates)``, both float64 with one row per point. If the surface can be laid
flat, ``coordinates`` are its arc lengths: distances in them are distances along the surface. Otherwise they
are the natural parameters, and the docstring says so.

The same ``random_state`` gives the same bits for any number of threads, and a longer sample begins with the
shorter one. Noise is added to ``X`` only, and does not change the points that it is added to.

Examples
--------
>>> from unbend import datasets
>>> X, coordinates = datasets.s_curve(500, random_state=0)
>>> X.shape, coordinates.shape
((500, 3), (500, 2))
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from .core.parameters import documented, entries, table
from .core.random import RandomState, seed_from

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

Sample = tuple[NDArray[np.float64], NDArray[np.float64]]
Maker = TypeVar("Maker", bound=Callable[..., Sample])

PARAMETERS = table(
    *entries(
        """
        n_samples : int
            Number of points.
        noise : float
            Standard deviation of the normal noise in each of the three dimensions.
        stretch : float
            Factor on the height 21. Below 1 the rectangle becomes a longer strip.
        hole : bool
            If True, the middle third of the length times the middle third of the height is missing.
        random_state : None, int, numpy.random.Generator or numpy.random.RandomState
            Seed, 0 to 2**64 - 1. None takes a fresh one.
        """
    )
)

SECTIONS = """

Returns
-------
X : ndarray of shape (n_samples, 3)
    The points.
coordinates : ndarray of shape (n_samples, 2)
    {coordinates}

Examples
--------
>>> from unbend import datasets
>>> X, coordinates = datasets.{name}(1000, random_state=0)
>>> X.shape, coordinates.shape
((1000, 3), (1000, 2))
"""


def _surface(coordinates: str) -> Callable[[Maker], Maker]:
    """Return a decorator that adds the sections of the docstring that all surfaces in space share."""

    def decorate(maker: Maker) -> Maker:
        documented(PARAMETERS)(maker)
        if maker.__doc__:
            maker.__doc__ += SECTIONS.format(coordinates=coordinates, name=maker.__name__)
        return maker

    return decorate


@_surface("Arc length along the spiral, from 0, and height.")
def swiss_roll(
    n_samples: int,
    *,
    noise: float = 0.0,
    stretch: float = 1.0,
    hole: bool = False,
    random_state: RandomState = None,
) -> Sample:
    """Draw a rolled-up rectangle, uniform in area. Isometric to its coordinates.

    A point is ``(t cos t, h, t sin t)`` with ``1.5 pi <= t <= 4.5 pi`` and ``0 <= h <= 21 stretch``. The
    rectangle is 89.4 long, not ``3 pi``: ``t`` is an angle, the coordinate is the arc length belonging to it.
    """
    return _core.swiss_roll(
        _count("n_samples", n_samples),
        _number("noise", noise),
        _number("stretch", stretch),
        hole,
        seed_from(random_state),
    )


@_surface("Arc length along the spiral, from 0, and height.")
def swiss_roll_wittman(
    n_samples: int, *, noise: float = 0.0, stretch: float = 1.0, random_state: RandomState = None
) -> Sample:
    """Draw Wittman's swiss roll, uniform in the angle, so denser inside. Isometric to its coordinates.

    The sample that Goldberg and Ritov (2009) and Goldberg et al. (2008) use. It differs from
    :func:`swiss_roll` only in its density.
    """
    return _core.swiss_roll_wittman(
        _count("n_samples", n_samples),
        _number("noise", noise),
        _number("stretch", stretch),
        seed_from(random_state),
    )


@_surface("Arc length from the middle of the S, -1.5 pi to 1.5 pi, and width, 0 to 2.")
def s_curve(n_samples: int, *, noise: float = 0.0, random_state: RandomState = None) -> Sample:
    """Draw two arcs joined to an S, 2 wide, uniform in area. Isometric to its coordinates."""
    return _core.s_curve(_count("n_samples", n_samples), _number("noise", noise), seed_from(random_state))


@_surface(
    "``(theta cos phi, theta sin phi)`` for the angle ``theta`` from the pole and the longitude ``phi``."
)
def hemisphere(n_samples: int, *, noise: float = 0.0, random_state: RandomState = None) -> Sample:
    """Draw the upper half of the unit sphere, uniform in area. Not isometric: no map of a sphere is.

    The coordinates are azimuthal equidistant. They keep every distance to the pole. Circles around it are too
    long, by a factor of ``pi / 2`` at the boundary.
    """
    return _core.hemisphere(_count("n_samples", n_samples), _number("noise", noise), seed_from(random_state))


@_surface("Longitude in radians, 0 to 2 pi, which is also the arc length; and height.")
def cylinder(
    n_samples: int, *, height: float = 3.0, noise: float = 0.0, random_state: RandomState = None
) -> Sample:
    """Draw a cylinder of radius 1, uniform in area. Isometric to its coordinates except at one seam.

    No map into the plane is isometric all around: the coordinates are cut open at longitude 0.

    Parameters
    ----------
    height : float, default 3
        Height of the cylinder.
    """
    return _core.cylinder(
        _count("n_samples", n_samples),
        _number("height", height),
        _number("noise", noise),
        seed_from(random_state),
    )


@_surface("``(stretch * x, y) / (1 - z)`` for the point ``(x, y, z)`` of the sphere.")
def fishbowl(
    n_samples: int,
    *,
    stretch: float = 1.0,
    rim: float = 0.7,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> Sample:
    """Draw the unit sphere without a cap around its north pole. Not isometric; conformal if not stretched.

    The coordinates are the stereographic projection from the missing pole: they keep angles, not lengths.
    ``stretch`` multiplies the first column of the finished ``X`` and of the coordinates. Points are uniform in
    area on the sphere before it is stretched.

    Parameters
    ----------
    stretch : float, default 1
        Factor on the first dimension. Goldberg et al. (2008) show 1 and 4.
    rim : float, default 0.7
        Height above which the sphere is cut off, between -1 and 1.
    """
    return _core.fishbowl(
        _count("n_samples", n_samples),
        _number("stretch", stretch),
        _number("rim", rim),
        _number("noise", noise),
        seed_from(random_state),
    )


@documented(PARAMETERS)
def strip(
    n_samples: int,
    *,
    length: float = 6.0,
    width: float = 1.0,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> Sample:
    """Draw a flat strip, uniform in area. Isometric to its coordinates: without noise they are the points.

    Parameters
    ----------
    length, width : float, default 6 and 1
        Extent of the first and of the second dimension.
    noise : float, default 0
        Standard deviation of the normal noise in a third dimension, which exists only if this is above 0.
        Goldberg et al. (2008, Fig. 1C) have 0.01.

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
    return _core.strip(
        _count("n_samples", n_samples),
        _number("length", length),
        _number("width", width),
        _number("noise", noise),
        seed_from(random_state),
    )


def grid(rows: int, columns: int) -> Sample:
    """List the integer points of a rectangle, row by row. They are their own coordinates.

    Parameters
    ----------
    rows, columns : int
        Number of points in each direction.

    Returns
    -------
    X, coordinates : ndarray of shape (rows * columns, 2)
        Row and column, from 0, twice.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.grid(2, 3)
    >>> X.tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    """
    return _core.grid(_count("rows", rows), _count("columns", columns))


@_surface("Coordinates ``(u, v)`` of each point in the plane, in ``[-3, 3]^2``.")
def gaussian_bump(n_samples: int, *, noise: float = 0.0, random_state: RandomState = None) -> Sample:
    """Draw the density of the normal distribution as a surface. Not isometric, but within 0.5 %.

    A point is ``(u, v, exp(-(u^2 + v^2) / 2) / (2 pi))``, uniform in ``u`` and ``v`` (Zhang, Ren, Zhang 2011).
    """
    return _core.gaussian_bump(
        _count("n_samples", n_samples), _number("noise", noise), seed_from(random_state)
    )


@_surface("Coordinates of each point in the plane, in ``[-1.5, 1.5]^2``.")
def three_peaks(n_samples: int, *, noise: float = 0.0, random_state: RandomState = None) -> Sample:
    """Draw a plane with three narrow peaks, one up and two down. Not isometric on their flanks.

    Points are uniform in the plane. Between the peaks lengths are those of the coordinates; on the flanks they
    are up to 2.9 times as long (Zhang and Wang 2006).
    """
    return _core.three_peaks(_count("n_samples", n_samples), _number("noise", noise), seed_from(random_state))


@documented(PARAMETERS)
def rotating_ball(
    n_samples: int,
    *,
    resolution: int = 16,
    pan: tuple[float, float] = (-45.0, 45.0),
    tilt: tuple[float, float] = (-30.0, 60.0),
    random_state: RandomState = None,
) -> Sample:
    """Render gray pictures of a textured ball that rotates. Not isometric: coordinates are angles.

    Pictures are uniform in both angles. Similar angles give similar pictures, and no two angles within the default
    ranges give the same. The defaults are those of the globe of Goldberg et al. (2008, Fig. 6C and 9).

    Parameters
    ----------
    resolution : int, default 16
        Width and height of a picture in pixels, 2 to 4096.
    pan : (float, float), default (-45, 45)
        Lowest and highest longitude that faces the viewer, in degrees, within -180 and 180.
    tilt : (float, float), default (-30, 60)
        Lowest and highest latitude that faces the viewer, in degrees, within -90 and 90. Three times narrower
        than ``pan`` it gives a strip of pictures such as the paper's 30 x 10.

    Returns
    -------
    X : ndarray of shape (n_samples, resolution ** 2)
        Gray values in [0, 1], row by row from the top left.
    coordinates : ndarray of shape (n_samples, 2)
        Pan and tilt in degrees.

    Examples
    --------
    >>> from unbend import datasets
    >>> X, coordinates = datasets.rotating_ball(300, tilt=(0, 30), random_state=0)
    >>> X.shape, coordinates.shape
    ((300, 256), (300, 2))
    """
    count, pixels = _count("n_samples", n_samples), _count("resolution", resolution)
    return _core.rotating_ball(count, pixels, _ends("pan", pan), _ends("tilt", tilt), seed_from(random_state))


def _count(name: str, value: int) -> int:
    """Refuse a value that is no whole number, or does not fit into 64 bits without a sign, as the core does."""
    try:
        count = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} = {value!r} is not a whole number") from None
    if not 0 <= count < 2**64:
        raise ValueError(f"{name} = {count} is out of range: at least 1 is needed, less than 2**64")
    return count


def _number(name: str, value: Any) -> float:
    """Return a number as the core takes it; refuse others by name."""
    if not isinstance(value, str | bytes):  # float() reads text
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise ValueError(f"{name} = {value!r} is not a number")


def _ends(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Return the two numbers of any sequence."""
    try:
        values = tuple(float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {ends!r} is no range: two numbers are needed") from None
    if len(values) != 2:
        raise ValueError(f"{name} = {ends!r} is no range: two numbers are needed, got {len(values)}")
    return values[0], values[1]
