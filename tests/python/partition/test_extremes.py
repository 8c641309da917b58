"""Data in cells at the ends of the number range, with copies, and parameters of every type."""

import warnings

import numpy as np
import pytest
import unbend as ub
from unbend import partition

ROLL = ub.datasets.swiss_roll(600, random_state=0)[0]
FIELDS = ("r", "r_n", "r_c", "r_pca", "lower_bound", "scale", "r_n_scaled", "n_degenerate")


@pytest.mark.parametrize("exponent", [-1000, -500, -330, 330])
def test_units_that_single_precision_cannot_hold_are_refused(exponent):
    with pytest.raises(ValueError, match=r"but cells need data that extend over 1e-30 to 1e\+30: rescale"):
        partition.embed(np.ldexp(ROLL, exponent), points_per_cell=200)


@pytest.mark.parametrize("exponent", [-90, 90])
def test_smaller_and_larger_units_change_no_bit(exponent):
    usual = partition.embed(ROLL, points_per_cell=200)
    scaled = partition.embed(np.ldexp(ROLL, exponent), points_per_cell=200)
    assert np.array_equal(scaled.embedding, np.ldexp(usual.embedding, exponent))
    assert scaled.faithfulness.r_n == usual.faithfulness.r_n


def test_entries_that_are_too_large_are_named():
    with pytest.raises(ValueError, match=r"only 0 hold nothing but finite entries up to 1e\+150"):
        partition.embed(ROLL * 1e200, points_per_cell=200)
    x = ROLL.copy()
    x[3, 1] = 1e200
    with pytest.warns(partition.PartWarning, match=r"\(rows 3\) or hold entries beyond 1e\+150: left out"):
        found = partition.embed(x, points_per_cell=200)
    assert np.flatnonzero(np.isnan(found.embedding).any(axis=1)).tolist() == [3]


def copies():
    """Clouds with more copies of a point than it has neighbors."""
    return {
        "one point": np.ones((300, 3)),
        "twenty points": np.repeat(ROLL[:20], 15, axis=0),
        "in a plane": np.random.default_rng(6).normal(size=(18, 2))[np.arange(150) % 18],
        "in space": np.random.default_rng(5).normal(size=(18, 3))[
            np.random.default_rng(5).integers(18, size=150)
        ],
        "half": np.concatenate([ROLL[:150], np.zeros((150, 3))]),
    }


@pytest.mark.parametrize("name", copies())
@pytest.mark.parametrize("image", ["noise", "one point", "columns"])
def test_copies_count_in_cells_as_they_do_at_once(name, image):
    x = copies()[name]
    noise = np.random.default_rng(0).normal(size=(len(x), 2))
    y = {"noise": noise, "one point": np.zeros((len(x), 2)), "columns": x[:, :2].copy()}[image]
    at_once, in_cells = ub.faithfulness(x, y), partition.faithfulness(x, y, points_per_cell=100)
    expected = [getattr(at_once, field) for field in FIELDS]
    assert [getattr(in_cells, field) for field in FIELDS] == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", copies())
def test_overlaps_of_copies_are_finite(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = partition.embed(copies()[name], points_per_cell=20)
        ub.ProcrustesAlignment(partition=20, random_state=0).fit(copies()[name])
    assert np.isfinite(found.embedding).all()
    assert np.isfinite(found.overlap_error).all()
    assert np.isfinite(found.trust).all()


def test_numbers_of_numpy_are_numbers():
    own = {"n_components": 2, "n_neighbors": 10, "tangent_neighbors": 14, "passes": 2, "points_per_cell": 100}
    parameters = {"solve_tol": np.float32(0.5), "overlap_penalty": np.int64(1)}
    usual = partition.embed(ROLL, **own, parameters={"solve_tol": 0.5, "overlap_penalty": 1})
    narrow = {name: np.int8(value) for name, value in own.items()}
    assert np.array_equal(partition.embed(ROLL, **narrow, parameters=parameters).embedding, usual.embedding)


def test_a_generator_as_a_seed_is_drawn_from_once():
    drawn = int(np.random.default_rng(3).integers(0, 2**64, dtype=np.uint64))
    some = {"points_per_cell": 200, "method": "gp"}
    usual = partition.embed(ROLL, **some, parameters={"random_state": drawn})
    found = partition.embed(ROLL, **some, parameters={"random_state": np.random.default_rng(3)})
    assert np.array_equal(found.embedding, usual.embedding)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nonsense": 3}, "parameters has no 'nonsense': it takes n_init"),
        ({"solve_tol": "a"}, r"parameters\['solve_tol'\] = 'a' is not a number"),
        ({"alignment": "x"}, r"parameters\['alignment'\] = 'x' is unknown"),
        ({"refine": "pointwise"}, "parameters has 'refine', which the partition sets itself"),
        ([1], r"parameters = \[1\] is not a dict"),
    ],
)
def test_parameters_are_checked_before_any_work(parameters, message):
    with pytest.raises(ValueError, match=message):
        partition.embed(ROLL, parameters=parameters)


@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_empty_data_are_refused(shape):
    with pytest.raises(ValueError, match="X is empty"):
        partition.embed(np.empty(shape))
    with pytest.raises(ValueError, match="X is empty"):
        partition.faithfulness(np.empty(shape), np.empty(shape))
