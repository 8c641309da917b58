"""Cutting: what cannot lie flat is opened, what can is left whole, and the glue is known."""

import warnings

import numpy as np
import pytest
import unbend as ub
from unbend.fit.cut import Surface
from unbend.graph.cut import length_of

ESTIMATORS = (ub.ProcrustesAlignment, ub.GreedyProcrustes)


def torus(n, seed=0):
    a, b = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, n))
    return np.c_[np.cos(a), np.sin(a), np.cos(b), np.sin(b)]


def torus_of_revolution(n, seed=0):
    rng = np.random.default_rng(seed)
    t, s = rng.uniform(0, 2 * np.pi, (2, 4 * n))
    even = rng.uniform(0, 3, 4 * n) < 2 + np.cos(s)
    t, s = t[even][:n], s[even][:n]
    r = 2 + np.cos(s)
    return np.c_[r * np.cos(t), r * np.sin(t), np.sin(s)]


def moebius(n, seed=0):
    rng = np.random.default_rng(seed)
    t, w = rng.uniform(0, 2 * np.pi, n), rng.uniform(-0.3, 0.3, n)
    r = 1 + w * np.cos(t / 2)
    return np.c_[r * np.cos(t), r * np.sin(t), w * np.sin(t / 2)]


def klein(n, seed=0):
    t, s = np.random.default_rng(seed).uniform(0, 2 * np.pi, (2, n))
    r = 2 + np.cos(s)
    return np.c_[r * np.cos(t), r * np.sin(t), np.sin(s) * np.cos(t / 2), np.sin(s) * np.sin(t / 2)]


def sphere(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def fitted(x, estimator=ub.ProcrustesAlignment, **options):
    options = {"n_neighbors": 10, "random_state": 0, **options}
    return estimator(**options).fit(x)


@pytest.fixture(scope="module")
def tube():
    x, _ = ub.datasets.cylinder(2000, random_state=0)
    return fitted(x)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_cylinder_becomes_a_strip(estimator):
    x, _truth = ub.datasets.cylinder(2000, random_state=0)
    model = fitted(x, estimator)
    m = model.faithfulness_
    assert m.r_n < 1.02 * m.lower_bound
    assert m.overlap == 0
    assert 0 < m.cut_share < 0.06
    sides = np.ptp(model.embedding_, axis=0)
    assert sides == pytest.approx([2 * np.pi, 3], rel=0.1)
    assert model.orientable_
    assert not model.closed_
    assert model.surface_ == "open, orientable, Euler characteristic 0: looks like a cylinder or a ring"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.NotFlatWarning)
        whole = fitted(x, estimator, cut=False)
    assert whole.faithfulness_.r_n > 2 * m.r_n
    assert len(whole.cut_pairs_) == 0


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("make", "n", "said"),
    [
        (torus, 4000, "closed, orientable, Euler characteristic 0: looks like a torus"),
        (moebius, 2000, "open, non-orientable, Euler characteristic 0: looks like a Moebius strip"),
        (klein, 5000, "closed, non-orientable, Euler characteristic 0: looks like a Klein bottle"),
        (sphere, 3000, "closed, orientable, Euler characteristic 2: looks like a sphere"),
    ],
)
def test_surfaces_are_known(make, n, said, estimator):
    model = fitted(make(n), estimator)
    assert model.surface_ == said
    assert model.orientable_ == ("non-" not in said)
    assert model.closed_ == said.startswith("closed")
    m = model.faithfulness_
    assert m.overlap < 0.01
    assert m.cut_share < 0.25


def test_a_flat_torus_reaches_its_bound():
    m = fitted(torus(4000)).faithfulness_
    assert m.r_n < 1.02 * m.lower_bound
    # a square, cut along two circles; less by what the cut kept runs through gaps between points
    assert 1.6 < m.cut_length < 2.1


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "make",
    [
        lambda: ub.datasets.swiss_roll(2000, random_state=1)[0],
        lambda: ub.datasets.swiss_roll(2000, hole=True, random_state=1)[0],
        lambda: ub.datasets.swiss_roll(5000, noise=0.3, random_state=1)[0],
        lambda: ub.datasets.strip(2000, random_state=1)[0],
        lambda: ub.datasets.s_curve(2000, random_state=1)[0],
        lambda: ub.datasets.hemisphere(2500, random_state=1)[0],
    ],
)
def test_what_lies_flat_is_left_whole(make, estimator):
    x = make()
    model = fitted(x, estimator)
    assert len(model.cut_pairs_) == 0
    assert not model.cut_.any()
    assert model.seams_ == []
    assert model.orientable_
    assert not model.closed_
    m = model.faithfulness_
    assert m.overlap < 0.01
    assert (m.cut_share, m.cut_length) == (0, 0)


def test_what_lies_flat_is_as_without_a_cut():
    x, _ = ub.datasets.swiss_roll(2000, random_state=1)
    for estimator in ESTIMATORS:
        assert (fitted(x, estimator).embedding_ == fitted(x, estimator, cut=False).embedding_).all()


def test_a_fold_that_needs_no_cut_is_laid_whole():
    x, _ = ub.datasets.hemisphere(2500, random_state=1)
    with pytest.warns(ub.NotFlatWarning):
        folded = fitted(x, cut=False, candidates=False)
    whole = fitted(x)
    assert folded.faithfulness_.overlap > 0.1
    assert whole.faithfulness_.overlap < 0.01
    assert len(whole.cut_pairs_) == 0


def test_a_hole_is_told_from_none():
    ring = np.random.default_rng(0).uniform(-1, 1, size=(4000, 2))
    disc = fitted(ring)
    ring = ring[np.linalg.norm(ring, axis=1) > 0.5]
    assert fitted(ring).euler_characteristic_ == 0
    assert disc.euler_characteristic_ == 1


def test_impossible_numbers_are_not_told():
    assert Surface.told(2, True, (2, 1)) == Surface(2, True, True, 0)
    assert Surface.told(2, False, (2, 1)) == Surface(2, True, False, 0)
    assert Surface.told(2, True, (1, 1)).euler is None  # a closed surface with two sides has an even one
    assert Surface.told(2, False, (0, 0)).euler is None  # one side needs a loop
    assert Surface.told(2, True, (0, 2)).euler is None
    assert Surface.told(2, None, (1, 0)).euler is None
    assert Surface.told(3, True, (3, 3)) == Surface(3, None, True, None)


def test_the_shape_is_found_without_a_cut():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ub.NotFlatWarning)
        whole = fitted(sphere(3000), cut=False)
    assert whole.surface_ == "closed, orientable, Euler characteristic 2: looks like a sphere"


def test_what_lay_on_other_parts_is_laid_down_anew():
    x = torus_of_revolution(8000)
    m = fitted(x).faithfulness_
    assert m.r_n < 0.01
    assert m.overlap < 0.005


def test_a_closed_curve_is_cut_at_one_point():
    x = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    assert fitted(np.c_[np.cos(x), np.sin(x)], n_components=1).surface_ == "closed: looks like a circle"
    t = np.random.default_rng(0).permutation(500) / 500 * 2 * np.pi
    model = fitted(np.c_[np.cos(t), np.sin(t)], n_components=1)
    assert model.surface_ == "closed: looks like a circle"
    assert np.ptp(model.embedding_) == pytest.approx(2 * np.pi, rel=0.05)
    assert model.faithfulness_.cut_length == pytest.approx(1, rel=0.25)


def test_pairs_are_neighbors_and_points_are_marked(tube):
    lists = [set(tube.neighborhoods_[i].tolist()) for i in range(2000)]
    for i, j in tube.cut_pairs_:
        assert i < j
        assert j in lists[i] or i in lists[j]
    assert set(np.flatnonzero(tube.cut_)) == set(tube.cut_pairs_.ravel().tolist())
    y = tube.embedding_
    apart = np.linalg.norm(y[tube.cut_pairs_[:, 0]] - y[tube.cut_pairs_[:, 1]], axis=1)
    assert apart.min() > 5  # from one end of the strip to the other


def test_seams_run_along_each_other(tube):
    (seam,) = tube.seams_
    z = tube.X_fit_[:, 2]
    for side in (seam.points, seam.partners):
        assert abs(np.corrcoef(z[side], np.arange(len(side)))[0, 1]) > 0.95
    rising = [z[side[-1]] > z[side[0]] for side in (seam.points, seam.partners)]
    assert rising[0] == rising[1]
    assert not seam.reversed
    assert not seam.ends


def test_faithfulness_on_the_kept_parts(tube):
    x, y, k = tube.X_fit_, tube.embedding_, 10
    m = ub.faithfulness(x, y, neighborhoods=tube.neighborhoods_, cut=tube.cut_pairs_)
    assert m == tube.faithfulness_
    whole = ub.faithfulness(x, y, neighborhoods=tube.neighborhoods_)
    assert whole.r_n > 10 * m.r_n
    assert (whole.cut_share, whole.cut_length) == (0, 0)
    torn = {frozenset(pair) for pair in tube.cut_pairs_.tolist()}
    lost = [any(frozenset((i, int(j))) in torn for j in tube.neighborhoods_[i]) for i in range(len(x))]
    assert m.cut_share == np.mean(lost)
    left = np.flatnonzero(~np.array(lost))
    assert m.per_point["r_n"][left] == pytest.approx(whole.per_point["r_n"][left], rel=1e-9)
    everything = np.array([[i, j] for i in range(len(x)) for j in tube.neighborhoods_[i]])
    assert ub.faithfulness(x, y, k, cut=everything).cut_share == 1


def test_a_cut_length_is_that_of_lines():
    points = np.random.default_rng(0).random((20_000, 2))
    nb = ub.neighborhoods(points, 10)
    owners = np.repeat(np.arange(len(points)), 10)
    column = np.floor(points[:, 0] * 10)  # nine lines: what a single one crosses varies by 6 %
    torn = column[owners] != column[nb.indices]
    assert length_of(nb, torn, 2) == pytest.approx(9, rel=0.05)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (np.zeros((3, 3), dtype=int), "pairs of points"),
        (np.zeros((3, 2)), "pairs of points"),
        (np.array([[0, 2000]]), "holds points from 0 to 2000, but there are 2000"),
        (np.array([[-1, 3]]), "holds points from -1 to 3"),
    ],
)
def test_cuts_that_are_none(tube, cut, message):
    with pytest.raises(ValueError, match=message):
        ub.faithfulness(tube.X_fit_, tube.embedding_, neighborhoods=tube.neighborhoods_, cut=cut)


@pytest.mark.parametrize("cut", ["yes", None, 2, 1])
def test_a_parameter_that_is_none(cut):
    with pytest.raises(ValueError, match="cut = "):
        fitted(np.random.default_rng(0).normal(size=(50, 3)), cut=cut)


def test_new_points_come_to_their_side(tube):
    rng = np.random.default_rng(5)
    t, z = rng.uniform(0, 2 * np.pi, 4000), rng.uniform(0.1, 2.9, 4000)
    new = np.c_[np.cos(t), np.sin(t), z]
    placed, errors = tube.transform(new, return_error=True)
    low, high = tube.embedding_.min(axis=0) - 0.1, tube.embedding_.max(axis=0) + 0.1
    assert ((placed > low) & (placed < high)).all()
    nearest = np.linalg.norm(placed[:, None] - tube.embedding_[None], axis=2).min(axis=1)
    assert nearest.max() < 0.25  # none in between the two ends
    assert np.quantile(errors, 0.99) < 0.05
    back = tube.inverse_transform(placed)
    assert np.linalg.norm(back - new, axis=1).max() < 0.15
    assert (tube.transform(tube.X_fit_) == tube.embedding_).all()


def test_the_way_back_beside_a_cut_that_closes_up():
    x = sphere(3000)
    model = fitted(x)
    y = model.embedding_ + 1e-6
    away, spacing = np.linalg.norm(model.inverse_transform(y) - x, axis=1), np.sqrt(4 * np.pi / 3000)
    assert np.quantile(away, 0.999) < spacing
    assert away.max() < 4 * spacing  # at the tip of a petal


def test_a_saved_model_knows_its_cut(tube, tmp_path):
    again = ub.load(tube.save(tmp_path / "tube.unbend"))
    assert (again.cut_pairs_ == tube.cut_pairs_).all()
    assert (again.seams_[0].points == tube.seams_[0].points).all()
    assert again.surface_ == tube.surface_
    new = tube.X_fit_[:50] * 1.001
    assert (again.transform(new) == tube.transform(new)).all()
    assert again.faithfulness_ == tube.faithfulness_


def test_same_bits_on_any_number_of_threads():
    x = torus(3000, seed=3)
    one, two = (fitted(x, n_jobs=jobs) for jobs in (1, 3))
    assert (one.embedding_ == two.embedding_).all()
    assert (one.cut_pairs_ == two.cut_pairs_).all()


def test_pieces_are_cut_each():
    x, _ = ub.datasets.cylinder(1500, random_state=0)
    y, _ = ub.datasets.cylinder(1500, random_state=1)
    with pytest.warns(ub.DisconnectedWarning):
        model = fitted(np.concatenate([x, y + 50]))
    m = model.faithfulness_
    assert m.r_n < 1.05 * m.lower_bound
    assert len(model.seams_) == 2
    assert model.euler_characteristic_ is None


def test_stopping_in_the_cut():
    def stop(stage, done, total, best):
        return stage == "cut"

    with pytest.raises(ub.Stopped, match="cut"):
        fitted(torus(2000), callback=stop)


def test_what_is_said():
    assert Surface(2, None, None, None).sentence() == "of unknown shape"
    assert Surface(3, None, True, None).sentence() == "orientable"
    assert Surface(3, True, True, None).sentence() == "closed, orientable"
    assert Surface(2, True, True, -4).sentence() == "closed, orientable, Euler characteristic -4"
    assert Surface(1, False, True, None).sentence() == "open: looks like a line"
