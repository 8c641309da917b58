"""What distances do not fix: loose points, hinges, reflections, and the words about them."""

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from unbend.fit.scaling.ambiguity import ambiguity_of, core_of
from unbend.fit.scaling.pairs import pairs_of
from unbend.fit.scaling.paths import TriangleInequalities
from unbend.fit.scaling.place import place
from unbend.fit.scaling.repair import reflected
from unbend.fit.scaling.verdict import Shape, verdict_of

FLAT = np.random.default_rng(0)
KEPT = TriangleInequalities(np.empty((0, 2), dtype=np.int64), np.empty(0), 0)


def disk(n, radius):
    points = FLAT.random((n, 2))
    return points, cKDTree(points).query_pairs(radius, output_type="ndarray")


def measured(points, ends):
    ends = np.asarray(ends)
    return pairs_of(
        ends, np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1), n_points=len(points)
    )


def joined(shared):
    """A large cluster and a small one, 4 to the right, that share the points 0, 1, ..., which lie in between."""
    large, small = FLAT.random((30, 2)), FLAT.random((12, 2)) + np.array([4.0, 0.0])
    middle = np.array([[2.0, 0.1], [2.2, 0.9], [1.9, 0.5]])[:shared]
    points = np.concatenate([middle, large, small])
    first = np.arange(shared + 30)
    second = np.concatenate([np.arange(shared), np.arange(shared + 30, len(points))])
    ends = [np.stack(np.triu_indices(len(part), 1), axis=1) for part in (first, second)]
    both = np.concatenate([first[ends[0]], second[ends[1]]])
    return points, both[~(both < shared).all(axis=1)], second[shared:]


def test_a_rigid_graph_fixes_all_points():
    points, ends = disk(80, 0.35)
    found = ambiguity_of(measured(points, ends), points)
    assert len(found.loose) == len(found.movable) == len(found.reflectable) == 0
    assert found.n_motions == found.n_reflections == 0
    assert found.redundancy == pytest.approx(len(ends) / (2 * 80 - 3))


def test_loose_points_are_found_again_and_again():
    points, ends = disk(80, 0.35)
    chain = [[0, 80], [1, 80], [80, 81], [2, 81], [81, 82]]
    points = np.concatenate([points, [[2.0, 0.0], [3.0, 0.0], [4.0, 0.0]]])
    pairs = measured(points, np.concatenate([ends, chain]))
    np.testing.assert_array_equal(ambiguity_of(pairs, points).loose, [80, 81, 82])
    assert not core_of(pairs, 2)[80:].any()


def test_a_part_behind_a_hinge_moves():
    points, ends, second = joined(1)
    found = ambiguity_of(measured(points, ends), points)
    np.testing.assert_array_equal(found.movable, second)
    assert found.n_motions == 1


def test_a_part_behind_two_points_is_reflected():
    points, ends, second = joined(2)
    found = ambiguity_of(measured(points, ends), points)
    assert len(found.movable) == 0
    np.testing.assert_array_equal(found.reflectable, second)
    assert found.n_reflections == 1


def test_a_part_behind_three_points_is_fixed():
    points, ends, _ = joined(3)
    found = ambiguity_of(measured(points, ends), points)
    assert len(found.movable) == len(found.reflectable) == 0


def test_regular_data_count_as_general():
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    found = ambiguity_of(measured(grid, cKDTree(grid).query_pairs(1.5, output_type="ndarray")), grid)
    assert len(found.loose) == len(found.movable) == len(found.reflectable) == 0


def test_rigidity_in_space():
    """A hinge in space is a line: two parts that share two points rotate about it."""
    points, ends, second = joined(2)
    deep = np.column_stack([points, FLAT.random(len(points))])
    found = ambiguity_of(measured(deep, ends), deep)
    np.testing.assert_array_equal(found.movable, second)
    assert found.n_motions == 1


def test_full_matrices_fix_their_points_however_few():
    for n in (2, 3, 40):
        points = FLAT.random((n, 2))
        found = ambiguity_of(measured(points, np.stack(np.triu_indices(n, 1), axis=1)), points)
        assert len(found.loose) == len(found.movable) == len(found.reflectable) == 0


def test_large_parts_are_not_examined(monkeypatch):
    monkeypatch.setattr("unbend.fit.scaling.ambiguity.MAX_OPERATIONS", 1e3)
    points, ends = disk(80, 0.35)
    found = ambiguity_of(measured(points, ends), points)
    assert found.movable is found.reflectable is None
    verdict = verdict_of(measured(points, ends), 0.01, 0.0, found, KEPT, [])
    assert verdict.trusted
    assert "whether parts can move was not examined" in verdict.sentence


# Words


def test_a_hinge_is_not_trusted():
    points, ends, second = joined(1)
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    with pytest.warns(
        ub.UntrustedWarning, match=f"{len(second)} of {len(points)} points, that can move while no distance"
    ):
        found = ub.GraphScaling(random_state=0).fit(ends, distances=lengths)
    assert not found.verdict_.trusted
    assert "motions" in [reason.name for reason in found.verdict_.reasons]
    assert found.verdict_.to_dict()["trusted"] is False
    assert "Not trusted" in found.verdict_._repr_html_()


def test_another_embedding_that_fits_as_well_is_not_trusted():
    points, ends = disk(80, 0.35)
    pairs = measured(points, ends)
    found = ambiguity_of(pairs, points)
    assert verdict_of(pairs, 0.01, 0.0, found, KEPT, [Shape(1.2, 0.5), Shape(1.01, 0.01)]).trusted
    verdict = verdict_of(pairs, 0.01, 0.0, found, KEPT, [Shape(1.01, 0.5)])
    assert [reason.name for reason in verdict.reasons] == ["starts"]


def test_large_residuals_are_not_trusted():
    """Distances of a cube's corners do not fit on a line."""
    corners = np.stack(np.meshgrid([0.0, 1.0], [0.0, 1.0], [0.0, 1.0]), axis=-1).reshape(-1, 3)
    with pytest.warns(ub.UntrustedWarning, match="miss the measured ones by"):
        found = ub.GraphScaling(1, random_state=0).fit(cdist(corners, corners))
    assert found.verdict_.error == found.normalized_stress_ > 0.2


# Places of single points


def test_trilateration_is_least_squares():
    """No step of any point lowers the sum of squared residuals."""
    rng = np.random.default_rng(0)
    known, new = rng.random((20, 2)), rng.random((6, 2)) * 2
    distances = cdist(new, known) * (1 + 0.05 * rng.normal(size=(6, 20)))
    ends = np.argwhere(np.ones((6, 20), dtype=bool))
    placed, errors = place(ends, distances.ravel(), np.arange(6), known)

    def values(y):
        return ((cdist(y, known) - distances) ** 2).sum(axis=1)

    np.testing.assert_allclose(errors, np.sqrt(values(placed) / 20))
    for step in 1e-4 * rng.normal(size=(20, 6, 2)):
        assert np.all(values(placed + step) > values(placed))


def test_a_point_on_the_wrong_side_comes_back():
    points, ends = disk(60, 0.4)
    pairs = measured(points, ends)
    assert reflected(pairs, points) is None
    few = int(np.argmin(pairs.degrees))
    wrong = points.copy()
    near = points[np.setdiff1d(pairs.ends[(pairs.ends == few).any(axis=1)], [few])]
    axis = np.linalg.svd(near - near.mean(axis=0))[2][1]
    wrong[few] -= 2 * ((points[few] - near.mean(axis=0)) @ axis) * axis
    repaired = reflected(pairs, wrong)
    assert repaired is not None
    assert np.linalg.norm(repaired[few] - points[few]) < 0.1 * np.linalg.norm(wrong[few] - points[few])
