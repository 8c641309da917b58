"""Procrustes subspaces alignment: what it reaches, what it says, and what it refuses."""

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes
from sklearn.exceptions import ConvergenceWarning
from unbend import _core
from unbend.core.progress import Progress
from unbend.fit.problem import Problem
from unbend.fit.procrustes.conformal import scaled

N = 1600


def psa(x, **options):
    return ub.ProcrustesAlignment(**{"n_neighbors": 12, **options}).fit(x)


def roll(n=N, seed=0, **options):
    return ub.datasets.swiss_roll(n, random_state=seed, **options)


def disparity(truth, found):
    return procrustes(truth, found)[2]


def in_plane(coordinates, noise):
    """The noise within the surface alone, as a disparity."""
    return 2 * noise**2 / coordinates.var(axis=0).sum()


def around(n, seed=0):
    t, s = np.random.default_rng(seed).uniform(-1, 1, size=(2, n))
    return np.pi * t, s / 3


def moebius(n, seed=0, half_turns=1):
    t, s = around(n, seed)
    r = 1 + s * np.cos(half_turns * t / 2)
    return np.c_[r * np.cos(t), r * np.sin(t), s * np.sin(half_turns * t / 2)]


def rotation(q, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(q, q)))[0]


# What it reaches


@pytest.mark.parametrize("k", [6, 8, 9, 12])
def test_the_roll_is_unrolled(k):
    x, coordinates = roll()
    found = psa(x, n_neighbors=k)
    m = found.faithfulness_
    assert m.r_n <= 1.01 * m.lower_bound
    assert disparity(coordinates, found.embedding_) < 1e-4
    assert found.orientable_
    assert len(found.loops_) == 0
    assert m.overlap < 0.001


@pytest.mark.slow
@pytest.mark.parametrize(("k", "least"), [(6, 18), (8, 20), (9, 20), (10, 20), (12, 20)])
def test_nearly_every_roll_is_unrolled(k, least):
    good = 0
    for seed in range(20):
        x, coordinates = roll(seed=100 + seed)
        found = psa(x, n_neighbors=k)
        m = found.faithfulness_
        good += m.r_n <= 1.01 * m.lower_bound and disparity(coordinates, found.embedding_) < 1e-4
    assert good >= least


@pytest.mark.parametrize("noise", [0.3, 0.6])
def test_a_noisy_roll_is_known_as_well_as_its_noise_allows(noise):
    x, coordinates = roll(10_000, noise=noise)
    found = psa(x)
    assert found.tangent_neighbors_ > 12
    assert disparity(coordinates, found.embedding_) < 1.2 * in_plane(coordinates, noise)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("n", [20_000, 100_000])
def test_large_noisy_rolls(n, noise):
    x, coordinates = roll(n, noise=noise)
    assert disparity(coordinates, psa(x).embedding_) < 1.2 * in_plane(coordinates, noise)


@pytest.mark.slow
def test_a_large_roll():
    x, coordinates = roll(100_000)
    found = psa(x)
    m = found.faithfulness_
    assert m.r_n <= 1.001 * m.lower_bound
    assert disparity(coordinates, found.embedding_) < 1e-7


def test_small_noise_of_the_paper():
    x, coordinates = roll(2500, noise=0.4)
    assert disparity(coordinates, psa(x).embedding_) < 0.002


def test_flat_data_are_laid_out_as_they_are():
    plane = np.random.default_rng(0).normal(size=(500, 2))
    x = plane @ rotation(5)[:2] + 3
    found = psa(x)
    assert disparity(plane, found.embedding_) < 1e-14
    assert found.faithfulness_.r_n < 1e-14


def test_three_dimensions_and_one():
    rng = np.random.default_rng(0)
    solid = rng.uniform(size=(1500, 3)) * [4, 1, 1]
    x = np.c_[np.cos(solid[:, 0]), np.sin(solid[:, 0]), solid[:, 1:]] @ rotation(4)
    found = psa(x, n_components=3)
    assert disparity(solid, found.embedding_) < 1e-3
    t = np.sort(rng.uniform(0, 5, 400))
    line = psa(np.c_[np.cos(t), np.sin(t)], n_components=1)
    assert disparity(t[:, None], line.embedding_) < 1e-5


def test_wide_data():
    x, coordinates = roll(1200)
    frame = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 3)))[0]
    wide = psa(x @ frame.T)
    assert disparity(psa(x).embedding_, wide.embedding_) < 1e-10
    assert disparity(coordinates, wide.embedding_) < 1e-4


# Invariances


def test_motions_and_the_order_of_points():
    x, _ = roll()
    first = psa(x).embedding_
    order = np.random.default_rng(0).permutation(N)
    again = psa((x @ rotation(3) + [5, -2, 9])[order]).embedding_
    assert disparity(first[order], again) < 1e-9  # sweeps end a little elsewhere in another order
    assert disparity(first, psa(x @ rotation(3) + [5, -2, 9]).embedding_) < 1e-12
    assert disparity(first, psa(7 * x).embedding_) < 1e-12


@pytest.mark.parametrize("alignment", ["tree", "spectral"])
def test_same_bits_on_any_number_of_threads(alignment):
    x, _ = roll(3000, noise=0.3)
    one, two = (psa(x, alignment=alignment, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


@pytest.mark.parametrize("kind", ["float32", "Fortran", "strided", "read-only"])
def test_arrays_of_any_kind(kind):
    x, _ = roll(600)
    x = x.astype(np.float32).astype(np.float64)
    if kind == "float32":
        other = x.astype(np.float32)
    elif kind == "Fortran":
        other = np.asfortranarray(x)
    elif kind == "strided":
        other = np.repeat(x, 2, axis=0)[::2]
    else:
        other = x.copy()
        other.flags.writeable = False
    np.testing.assert_allclose(
        psa(other, n_neighbors=8).embedding_, psa(x, n_neighbors=8).embedding_, atol=1e-9
    )


# What cannot be laid flat


@pytest.mark.parametrize("n", [800, 3000])
def test_a_surface_with_one_side_is_known(n):
    with pytest.warns(ub.NotFlatWarning, match="only one side"):
        found = psa(moebius(n), cut=False)
    assert not found.orientable_
    assert np.isfinite(found.embedding_).all()


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda n: np.c_[moebius(n, half_turns=0)],
        lambda n: moebius(n, half_turns=2),
        lambda n: ub.datasets.cylinder(n, random_state=0)[0],
        lambda n: ub.datasets.hemisphere(n, random_state=0)[0],
        lambda n: ub.datasets.swiss_roll(n, random_state=0)[0],
    ],
    ids=["annulus", "full turn", "cylinder", "hemisphere", "roll"],
)
def test_surfaces_with_two_sides_are_known(make):
    assert psa(make(2000)).orientable_


def test_a_sphere_is_warned_of():
    points = np.random.default_rng(0).normal(size=(2000, 3))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    with pytest.warns(ub.NotFlatWarning, match="loops do not close"):
        found = psa(sphere, cut=False)
    assert found.orientable_
    assert len(found.loops_) > 0
    assert found.loops_.shape == (len(found.loops_), 2)


def test_a_hemisphere_is_not():
    x, _ = ub.datasets.hemisphere(2500, random_state=0)
    found = psa(x)
    assert found.faithfulness_.overlap < 0.05


# Parameters


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning")
def test_annealing():
    x, _ = ub.datasets.hemisphere(400, random_state=0)
    quick = {"tried": 60, "accepted": 20, "cooling": 0.9}
    found = psa(x, alignment="anneal", annealing=quick, random_state=0)
    again = psa(x, alignment="anneal", annealing=quick, random_state=0)
    other = psa(x, alignment="anneal", annealing=quick, random_state=1)
    np.testing.assert_array_equal(found.embedding_, again.embedding_)
    assert not np.array_equal(found.embedding_, other.embedding_)
    assert found.alignment_ == "anneal"
    tree = psa(x).trace_["tree"]["f"]
    for start in ("tree", "greedy"):
        kept = {"start": start, "acceptance": 1e-3, **quick}
        assert psa(x, alignment="anneal", annealing=kept, random_state=0).trace_["anneal"]["f"] <= 1.05 * tree


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning", "ignore::unbend.UntrustedWarning")
def test_annealing_of_the_paper_ends_where_its_moves_end():
    """Sweeps and rotations of clusters only lower eq. 9 further."""
    x, _ = ub.datasets.hemisphere(400, random_state=0)
    quick = {"tried": 100, "accepted": 30, "cooling": 0.9, "rounds": 1}
    options = {"annealing": quick, "random_state": 0, "refine": "paper", "cut": False, "candidates": False}
    alone, swept = (psa(x, alignment=method, **options) for method in ("paper", "anneal"))
    assert alone.alignment_ == "paper"
    assert swept.trace_["anneal"]["f"] < alone.trace_["paper"]["f"] < 0.5 * alone.trace_["paper"]["trace"][0]


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning", "ignore::unbend.UntrustedWarning")
def test_annealing_of_the_paper_has_the_tangents_of_the_neighborhoods():
    x, _ = ub.datasets.swiss_roll(1500, noise=0.5, random_state=0)
    options = {"refine": None, "cut": False, "candidates": False, "random_state": 0}
    options["annealing"] = {"tried": 2, "accepted": 1, "cooling": 0.5, "rounds": 1}
    assert psa(x, alignment="tree", **options).tangent_neighbors_ > 12
    assert psa(x, alignment="paper", **options).tangent_neighbors_ == 12


def test_projection_is_the_shadow_of_flat_data():
    x = np.random.default_rng(0).normal(size=(300, 2)) @ rotation(4)[:2]
    assert disparity(x @ rotation(4)[:2].T, psa(x, alignment="projection").embedding_) < 1e-20


@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning")
def test_auto_keeps_the_better_one():
    x, _ = ub.datasets.cylinder(800, random_state=0)
    found = psa(x, alignment="auto", refine=None)
    scores = {name: trace["r_n"] + trace["overlap"] for name, trace in found.trace_.items()}
    assert set(scores) == {"tree", "spectral", "projection"}
    assert found.alignment_ == min(scores, key=scores.get)
    alone = psa(x, alignment=found.alignment_, refine=None)
    np.testing.assert_array_equal(alone.embedding_, found.embedding_)


def test_what_is_said_of_the_alignment():
    x, _ = roll()
    trace = psa(x).trace_["tree"]
    assert trace["aligned"] == 1
    assert trace["trace"][-1] == pytest.approx(trace["f"])
    assert (np.diff(trace["trace"]) <= 1e-9 * trace["f"]).all()
    assert trace["converged"]
    assert 0 < trace["residual"] <= 1.01 * 2e-5
    assert trace["n_solve"] > 3


def test_a_solution_that_did_not_converge_is_said():
    x, _ = roll(800)
    with pytest.warns(ConvergenceWarning, match=r"solved to a residual of .*, not to solve_tol = 1e-30"):
        found = psa(x, solve_tol=1e-30, n_neighbors=8)
    assert not found.trace_["tree"]["converged"]


def test_noise_is_not_refined_away():
    x, _ = roll(4000, noise=0.3)
    assert psa(x).refinement_ is None
    assert psa(x, refine="global").refinement_ is not None
    assert psa(roll()[0]).refinement_ is not None


@pytest.mark.parametrize("alignment", ["tree", "spectral"])
def test_components_are_embedded_each(alignment):
    x, coordinates = roll(1200)
    pair = np.concatenate([x, x[:800] + 100, x[:8] - 200])
    with pytest.warns(ub.DisconnectedWarning):
        found = psa(pair, n_neighbors=7, alignment=alignment)
    assert np.isfinite(found.embedding_).all()
    if alignment == "tree":
        assert disparity(coordinates, found.embedding_[:1200]) < 1e-4


@pytest.mark.parametrize("kind", [ub.ProcrustesAlignment, ub.GreedyProcrustes])
def test_neighborhoods_without_the_point_itself(kind):
    x, coordinates = roll()
    nb = ub.neighborhoods(x, 10)
    found = kind(include_self=False, random_state=0).fit(x, neighborhoods=nb)
    measured = ub.faithfulness(x, found.embedding_, neighborhoods=nb, include_self=False)
    assert found.faithfulness_.r_n == measured.r_n
    assert measured.r_n < 1.05 * ub.metrics.lower_bound(x, 2, neighborhoods=nb, include_self=False)
    assert disparity(coordinates, found.embedding_) < 1e-4


def fishbowl(n):
    """Points even in a disk, on the sphere by the inverse of the stereographic projection: a conformal map."""
    rng = np.random.default_rng(1)
    radius, angle = 2.4 * np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    squares = (plane**2).sum(axis=1)
    return np.column_stack([2 * plane, squares - 1]) / (1 + squares)[:, None], plane


def exponential(n):
    """Points even in a rectangle, by the exponential map in the plane, rolled up: a conformal map."""
    plane = np.random.default_rng(2).random((n, 2)) * [1.5, 1.0]
    size, angle = np.exp(plane[:, 0]), plane[:, 1]
    x, y = size * np.cos(angle), size * np.sin(angle)
    return np.column_stack([2 * np.cos(x / 2), 2 * np.sin(x / 2), y]), plane


@pytest.mark.parametrize("surface", [fishbowl, exponential])
def test_conformal_maps_are_aligned(surface):
    x, plane = surface(800)
    nb = ub.neighborhoods(x, 8)
    found = ub.ProcrustesAlignment(objective="R_C").fit(x, neighborhoods=nb)
    truth = ub.faithfulness(x, plane, neighborhoods=nb).r_c
    assert found.faithfulness_.r_c == ub.faithfulness(x, found.embedding_, neighborhoods=nb).r_c
    assert found.faithfulness_.r_c < 2 * truth
    assert disparity(plane, found.embedding_) < 0.01
    assert found.alignment_ == "guess"
    assert found.refinement_.objective == "R_C"
    assert found.n_iter_ <= 10


def test_new_points_are_placed_with_the_scale_of_their_neighbors():
    x, plane = fishbowl(1000)
    model = ub.ProcrustesAlignment(objective="R_C", n_neighbors=8).fit(x[:800])
    both = np.vstack([model.embedding_, model.transform(x[800:])])
    fitted = disparity(plane[:800], model.embedding_)
    assert disparity(plane, both) < 1.5 * fitted + 1e-4


def test_scales_are_those_of_the_density():
    x = np.random.default_rng(3).random((40, 3))
    nb = ub.neighborhoods(x, 5)
    found = scaled(Problem(_core.Points(x), nb, 2, "R_C"), Progress())
    scales = np.array([np.linalg.norm(x[nb[i]] - x[i], axis=1).mean() for i in range(40)])
    scales = np.array([np.exp(np.log(scales[[i, *nb[i]]]).mean()) for i in range(40)])
    scales /= np.exp(np.log(scales).mean())
    lengths = np.linalg.norm(x[:, None] - x, axis=2) / np.sqrt(np.outer(scales, scales))
    y = np.random.default_rng(4).random((40, 2))
    expected = [scaled_residual(lengths[np.ix_(m, m)], y[m]) for m in ([i, *nb[i]] for i in range(40))]
    np.testing.assert_allclose(found.faithfulness(y).r_n, np.mean(expected), rtol=1e-8)


def scaled_residual(lengths, y):
    """R_N of a neighborhood whose coordinates follow from its distances, in as many dimensions as are real."""
    center = np.eye(len(y)) - 1 / len(y)
    values, vectors = np.linalg.eigh(-center @ lengths**2 @ center / 2)
    x, hy = vectors * np.sqrt(np.maximum(values, 0.0)), center @ y
    singular = np.linalg.svd(x.T @ hy, compute_uv=False).sum()
    return ((x**2).sum() + (hy**2).sum() - 2 * singular) / (x**2).sum()


def test_ragged_neighborhoods():
    x, coordinates = roll()
    nb = ub.neighborhoods(x, radius=2.4)
    assert not nb.component_labels.any()
    found = ub.ProcrustesAlignment().fit(x, neighborhoods=nb)
    assert disparity(coordinates, found.embedding_) < 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"alignment": "fast"},
            "alignment = 'fast' is unknown: use one of 'auto', 'tree', 'spectral', 'projection', 'anneal', ",
        ),
        ({"annealing": {"start": "cold"}}, r"annealing\['start'\] = 'cold' is unknown"),
        ({"annealing": {"heat": 2}}, "annealing has no 'heat': it takes start, acceptance, accepted"),
        ({"annealing": {"tried": 0}}, r"annealing\['tried'\] = 0 is too few"),
        ({"alignment": "anneal", "annealing": {"cooling": 1.5}}, "cooling = 1.5 is out of range"),
        ({"solve_tol": -1}, "solve_tol = -1 is out of range"),
        ({"overlap_penalty": float("nan")}, "overlap_penalty = nan is out of range"),
        ({"include_self": False, "partition": 20}, "include_self = False is not possible in cells"),
        (
            {"objective": "R_C", "cut": True},
            "cut = True is not possible with objective = 'R_C': leave cut out",
        ),
        (
            {"objective": "R_C", "alignment": "auto"},
            "alignment = 'auto' is not possible with objective = 'R_C'",
        ),
        ({"n_components": 4}, "n_components = 4 exceeds the 3 dimensions"),
        ({"n_neighbors": 50}, "n_neighbors = 50 needs at least 51 points, got n_samples = 50"),
        ({"tangent_neighbors": 50}, "tangent_neighbors = 50 needs at least 51 points"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        psa(np.random.default_rng(0).normal(size=(50, 3)), **options)


@pytest.mark.filterwarnings("ignore::unbend.EqualPointsWarning")
@pytest.mark.filterwarnings("ignore::unbend.NotFlatWarning", "ignore::unbend.DisconnectedWarning")
@pytest.mark.parametrize("alignment", ["tree", "spectral"])
@pytest.mark.parametrize(
    "x",
    [
        np.zeros((30, 3)),
        np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 6, axis=0),
        np.outer(np.arange(60.0), [1, 2, 3]),
        np.random.default_rng(0).normal(size=(3, 3)),
        np.random.default_rng(0).normal(size=(2, 3)),
        np.random.default_rng(0).normal(size=(100, 2)),
    ],
    ids=["one place", "heaps", "line", "three", "two", "flat"],
)
def test_odd_data_give_something_finite(x, alignment):
    found = psa(x, n_neighbors=min(5, len(x) - 1), alignment=alignment)
    assert np.isfinite(found.embedding_).all()


def test_stopping():
    x, _ = roll()
    for stop in ("tangents", "alignment", "assembly"):
        with pytest.raises(ub.Stopped):
            psa(x, callback=lambda stage, *_, stop=stop: stage == stop)
    stopped = psa(x, callback=lambda stage, *_: stage == "refine")
    assert stopped.refinement_.status == "stopped"


# The parts


def test_frames_of_an_embedding_lead_back_to_it():
    x = np.random.default_rng(0).normal(size=(300, 2)) @ rotation(3)[:2]
    nb = ub.neighborhoods(x, 8)
    problem = _core.Problem(_core.Points(x), nb.core, 2, "R", 1)
    tangents = problem.tangents(None, 0)
    y = x @ rotation(3).T[:, :2]
    right_hand_side, placed = tangents.equation(tangents.frames_of(y.ravel()))
    assert disparity(y, placed.reshape(-1, 2)) < 1e-20
    np.testing.assert_allclose(problem.apply(y.ravel()), right_hand_side, atol=1e-9)


def test_a_second_fit_has_its_own_surface():
    psa = ub.ProcrustesAlignment().fit(ub.datasets.swiss_roll(1500, random_state=0)[0])
    assert psa.euler_characteristic_ == 1
    psa.fit(ub.datasets.cylinder(1500, random_state=0)[0])
    assert psa.euler_characteristic_ == 0
