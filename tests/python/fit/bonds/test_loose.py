"""Groups that too few ties hold: they may be turned or mirrored, and a warning names the numbers."""

import warnings

import numpy as np
import pytest
import unbend as ub

N = 60
RNG = np.random.default_rng(0)
PLANE = RNG.random((N, 2)) * [3, 2]


def messages(*, copies=2, noise=0.0, **given):
    """The warnings of a fit of copies of a plane, each a group, or of the plane alone."""
    x = np.concatenate([PLANE + noise * RNG.normal(size=PLANE.shape) for _ in range(copies)])
    groups = np.repeat(["a", "b", "c", "d"][:copies], N)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ub.ProcrustesAlignment(n_neighbors=8).fit(x, groups=groups, **given)
    return [str(warning.message) for warning in found if warning.category is ub.DisconnectedWarning]


def pairs(one, other, *points):
    """Ties of some points of two copies."""
    return [(one * N + point, other * N + point) for point in points]


@pytest.mark.parametrize(
    ("points", "held"), [([0], 1), ([0, 0, 0], 1), ([0, 1], 2), ([0, 1, 0, 1, 1], 2), ([0, 1, 2], None)]
)
def test_a_group_needs_three_tied_points_in_the_plane(points, held):
    expected = [] if held is None else [f"group b (60 points) is held at {held} point"]
    found = messages(ties=pairs(0, 1, *points))
    assert len(found) == len(expected)
    for message, beginning in zip(found, expected, strict=True):
        assert message.startswith(beginning)
        assert "but 3 are needed in 2 dimensions" in message


def test_points_on_a_line_count_as_two():
    with_line = PLANE.copy()
    with_line[[3, 4, 5, 6], 1] = 1.0
    x, groups = np.concatenate([with_line, with_line + 9]), np.repeat([0, 1], N)
    with pytest.warns(ub.DisconnectedWarning, match="group 1 .60 points. is held at 2 points"):
        ub.ProcrustesAlignment(n_neighbors=8).fit(x, groups=groups, ties=pairs(0, 1, 3, 4, 5, 6))


def test_groups_that_hold_each_other_count_as_one():
    """Both pairs are rigid, and each group has enough ties; one tie joins the pairs."""
    within = pairs(0, 1, 0, 1, 2) + pairs(2, 3, 0, 1, 2)
    (message,) = messages(copies=4, ties=[*within, *pairs(0, 2, 7)])
    assert message.startswith("group c (120 points) is held at 1 point ")
    assert messages(copies=4, ties=[*within, *pairs(0, 2, 7), *pairs(1, 3, 8, 9)]) == []


def test_the_first_is_named_and_the_others_are_counted():
    (message,) = messages(copies=4, ties=pairs(0, 1, 0) + pairs(0, 2, 1) + pairs(0, 3, 2))
    assert message.startswith("group b")
    assert message.endswith("it may be turned or mirrored, and so may 2 others")
    # The second of a chain is held at both ends, and the largest, here the first, holds the others.
    (message,) = messages(copies=3, ties=pairs(0, 1, 0, 1) + pairs(1, 2, 2, 3))
    assert message.startswith("group c (60 points) is held at 2 points")


def test_fixed_points_hold_as_ties_do():
    def fixed(*rows):
        return {"fixed": (list(rows), PLANE[np.array(rows) % N])}

    (message,) = messages(copies=1, **fixed(0, 1))
    assert message.startswith("the component of point 0 (60 points) is held at 2 points in general position")
    assert messages(copies=1, **fixed(0, 1, 2)) == []
    assert messages(ties=pairs(0, 1, 0), **fixed(5, 6, 7, N + 5, N + 6)) == []
    (message,) = messages(ties=pairs(0, 1, 0), **fixed(5, 6, 7, N + 5))
    assert message.startswith("group b (60 points) is held at 2 points")


def test_a_line_needs_two():
    x, groups = np.linspace(0, 1, 30)[:, None] ** 1.1, np.repeat([0, 1], 30)
    line = ub.ProcrustesAlignment(n_components=1, n_neighbors=4)
    with pytest.warns(
        ub.DisconnectedWarning, match="held at 1 point in general .* 2 are needed in 1 dimension:"
    ):
        line.fit(np.concatenate([x, x]), groups=groups, ties=[(0, 30)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ub.DisconnectedWarning)
        line.fit(np.concatenate([x, x]), groups=groups, ties=[(0, 30), (9, 39)])
