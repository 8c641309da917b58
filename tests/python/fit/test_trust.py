"""What a fit finds out about itself: evidence, other candidates, the verdict."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import unbend as ub
from scipy.spatial import procrustes
from threadpoolctl import threadpool_limits
from unbend import _core
from unbend.core.progress import Progress
from unbend.fit.problem import Problem
from unbend.fit.procrustes.alignment import AlignmentSettings
from unbend.fit.trust.candidates import Trial
from unbend.fit.trust.evidence import GEODESIC, REFINED_GEODESIC, evidence
from unbend.fit.trust.geodesics import majorized
from unbend.fit.trust.verdict import verdict_of
from unbend.graph.clean import pruned

PSA = ub.ProcrustesAlignment
BOTH = pytest.mark.parametrize("method", [PSA, lambda **kw: ub.GreedyProcrustes(random_state=0, **kw)])


def disparity(truth, y):
    return procrustes(truth, y)[2]


def roll(n, noise=0.0, seed=0):
    return ub.datasets.swiss_roll(n, noise=noise, random_state=seed)


def with_outliers(n, share, seed=0):
    x, truth = roll(n, seed=seed)
    rng = np.random.default_rng(seed)
    out = rng.choice(n, int(share * n), replace=False)
    x[out] = x.min(axis=0) + rng.random((len(out), 3)) * np.ptp(x, axis=0)
    return x, truth, np.setdiff1d(np.arange(n), out)


def before(method, x):
    """Return the fit that does not try other candidates; its warnings are not the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(candidates=False).fit(x)


@BOTH
def test_clean_data_are_embedded_once(method):
    x, truth = roll(2000)
    model = method().fit(x)
    (only,) = model.candidates_
    assert only.chosen
    assert only.name == "graph as it is"
    assert only.score < 0.005
    assert model.verdict_.trusted
    assert model.verdict_.reasons == []
    assert disparity(truth, model.embedding_) < 1e-5
    plain = method(candidates=False).fit(x)
    np.testing.assert_array_equal(plain.embedding_, model.embedding_)


@BOTH
def test_a_sparse_roll_is_laid_flat(method):
    wrong = 0
    for seed in range(6):
        x, truth = roll(400, seed=seed)
        wrong += disparity(truth, before(method, x).embedding_) > 0.05
        model = method().fit(x)
        assert disparity(truth, model.embedding_) < 0.05
        assert model.verdict_.trusted
    assert wrong > 1, "these rolls are no test"


def bent_sphere(n, bend, seed=0):
    """A sphere, and the same after each coordinate was rolled on an arc and all were mixed."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 3))
    truth /= np.linalg.norm(truth, axis=1, keepdims=True)
    mix = np.linalg.qr(rng.normal(size=(20, 6)))[0]
    return truth, np.hstack([np.cos(bend * truth), np.sin(bend * truth)]) / bend @ mix.T


def test_a_bent_sphere_is_not_cut_in_three_dimensions():
    truth, x = bent_sphere(1500, 2.4)
    first = before(lambda **kw: PSA(3, **kw), x)
    assert disparity(truth, first.embedding_) > 0.05, "this sphere is no test"
    model = PSA(3).fit(x)
    assert disparity(truth, model.embedding_) < 0.01
    assert next(one.name for one in model.candidates_ if one.chosen) == REFINED_GEODESIC
    assert len(model.cut_pairs_) == 0
    assert model.refinement_.n_iter > 0
    assert model.verdict_.trusted
    assert model.verdict_.reasons == []


def test_a_sphere_in_the_plane_stays_cut():
    _, x = bent_sphere(600, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PSA(2).fit(x)
    assert len(model.cut_pairs_) > 0
    assert next(one.name for one in model.candidates_ if one.chosen) != REFINED_GEODESIC


@BOTH
def test_outliers_are_set_aside(method):
    x, truth, inliers = with_outliers(1000, 0.05)
    first = before(method, x).embedding_
    model = method().fit(x)
    assert disparity(truth[inliers], first[inliers]) > 0.05
    assert disparity(truth[inliers], model.embedding_[inliers]) < 1e-3
    assert np.isfinite(model.embedding_).all()
    assert model.verdict_.n_outliers > 5
    assert model.verdict_.r_n_kept <= model.faithfulness_.r_n
    assert "outliers" in model.verdict_.sentence


def test_noise_is_smoothed():
    x, truth = roll(1000, noise=0.9, seed=2)
    assert disparity(truth, before(PSA, x).embedding_) > 0.05
    model = PSA().fit(x)
    (chosen,) = [c for c in model.candidates_ if c.chosen]
    assert chosen.name.startswith("smoothed")
    assert disparity(truth, model.embedding_) < 0.05
    assert model.verdict_.kept_share < 1


def test_other_embeddings_need_memory():
    x, _ = roll(1000, 1.0)
    fewest = PSA().memory_estimate(*x.shape)
    assert PSA(candidates=True).memory_estimate(*x.shape) > 1.1 * fewest
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = PSA(cut=False, max_memory=1.05 * fewest).fit(x)
    said = "Not trying other embeddings: trying them needs about "
    assert sum(str(warning.message).startswith(said) for warning in seen) == 1
    assert [tried.name for tried in model.candidates_] == ["graph as it is"]
    with pytest.raises(MemoryError, match="max_memory"):
        PSA(candidates=True, max_memory=1.05 * fewest).fit(x)


def test_many_noisy_points_are_smoothed_in_a_sample():
    x, truth = roll(8000, noise=0.8, seed=1)
    model = PSA().fit(x)
    assert disparity(truth, model.embedding_) < 0.01
    assert [c.name for c in model.candidates_ if c.chosen] != ["graph as it is"]


@BOTH
def test_pure_noise_is_not_trusted(method):
    x = np.random.default_rng(1).normal(size=(600, 12))
    with pytest.warns(ub.UntrustedWarning, match="no steady surface of dimension 2"):
        model = method().fit(x)
    assert not model.verdict_.trusted
    assert {reason.name for reason in model.verdict_.reasons} >= {"tangents"}
    assert [c.name for c in model.candidates_ if c.chosen] == [GEODESIC]
    assert str(model.verdict_) == model.verdict_.sentence
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method(candidates=False).fit(x)
    assert ub.UntrustedWarning in [warning.category for warning in caught], "never silent"


def test_a_needed_cut_is_kept():
    x, _ = ub.datasets.cylinder(2000, random_state=0)
    model = PSA().fit(x)
    assert len(model.cut_pairs_) > 20
    assert len(model.candidates_) > 1, "a cut is compared with embeddings without one"
    assert model.verdict_.trusted


def test_an_embedding_without_a_cut_is_preferred():
    """Short circuits keep a roll from lying flat; a cut hides them and leaves the rest wrong."""
    cut = 0
    for seed in range(10):
        x, truth = roll(600, seed=seed)
        first = before(PSA, x)
        cut += len(first.cut_pairs_) > 0
        if len(first.cut_pairs_):
            model = PSA().fit(x)
            assert len(model.cut_pairs_) == 0
            assert disparity(truth, model.embedding_) < 0.05
    assert cut > 0, "no roll was cut: this tests nothing"


@pytest.mark.parametrize("data", ["noise", "outliers", "wide"])
def test_threads_do_not_matter(data):
    if data == "noise":
        x = roll(900, noise=0.8, seed=3)[0]
    elif data == "outliers":
        x = with_outliers(700, 0.03)[0]
    else:
        x = np.random.default_rng(0).normal(size=(300, 20))
    with threadpool_limits(1):
        one = PSA(n_jobs=1, candidates=True).fit(x)
        three = PSA(n_jobs=3, candidates=True).fit(x)
    np.testing.assert_array_equal(one.embedding_, three.embedding_)
    assert one.candidates_ == three.candidates_
    assert one.verdict_.to_dict() == three.verdict_.to_dict()


def test_components_are_judged_side_by_side():
    x, _ = roll(1500)
    model = PSA(candidates=False).fit(x)
    with pytest.warns(ub.DisconnectedWarning):
        two = PSA().fit(np.concatenate([x, x + 500]))
    assert len(two.candidates_) == 1
    assert [reason.name for reason in two.verdict_.reasons] == ["components"]
    assert two.candidates_[0].overlap == pytest.approx(model.candidates_[0].overlap, abs=1e-3)


def test_new_points_follow_the_chosen_candidate():
    x, truth, inliers = with_outliers(1000, 0.05)
    model = PSA().fit(x)
    new, known = ub.datasets.swiss_roll(500, random_state=9)
    placed = model.transform(new)
    both = np.concatenate([model.embedding_[inliers], placed])
    assert disparity(np.concatenate([truth[inliers], known]), both) < 0.01


def test_models_keep_their_verdict(tmp_path):
    x, _, _ = with_outliers(800, 0.03)
    model = PSA().fit(x)
    model.save(tmp_path / "model")
    again = ub.load(tmp_path / "model")
    assert again.candidates_ == model.candidates_
    assert again.verdict_.to_dict() == model.verdict_.to_dict()


def test_a_callback_ends_the_search_not_the_fit():
    x, _ = roll(800, noise=0.9, seed=2)

    def stop(stage, done, total, best):
        return stage == "smoothing"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The first embedding is wrong.
        model = PSA(callback=stop).fit(x)
    assert model.embedding_.shape == (800, 2)
    assert len(model.candidates_) >= 1


def test_ctrl_c_keeps_the_first_embedding():
    x, _ = roll(800, noise=0.9, seed=2)

    def interrupt(stage, done, total, best):
        if stage == "smoothing":
            raise KeyboardInterrupt

    with pytest.raises(ub.RefinementInterrupted) as caught:
        PSA(callback=interrupt).fit(x)
    assert caught.value.embedding.shape == (800, 2)


def test_cells_are_judged():
    x, _ = roll(6000)
    model = PSA(partition=2000).fit(x)
    assert model.verdict_.trusted
    assert model.candidates_ == []


@pytest.mark.parametrize("n", [1, 2, 3, 5, 13, 40, 60])
@BOTH
def test_few_points_and_copies(method, n):
    k = max(1, min(4, n - 1))
    for x in (
        np.random.default_rng(n).normal(size=(n, 3)),
        np.ones((n, 3)),
        np.arange(3.0 * n).reshape(n, 3) // 9,
    ):
        if n < 3:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = method(n_neighbors=k, candidates=True).fit(x)
        assert np.isfinite(model.embedding_).all()
        assert isinstance(model.verdict_.trusted, bool)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (2, 2), (3, 2), (4, 3)])
@BOTH
def test_points_that_always_fit_are_not_trusted(method, n, d):
    x = np.random.default_rng(n).normal(size=(n, 5))
    with pytest.warns(ub.UntrustedWarning, match=rf"{n} points always fit into {d} dimension"):
        model = method(n_components=d).fit(x)
    first = model.verdict_.reasons[0]
    assert (first.name, first.value, first.limit) == ("points", n, d + 2)
    q = ub.quality(x, model)
    assert [finding.good for finding in q.findings] == [None]
    assert "Nothing can be judged" in str(q)


# ------------------------------------------------------------------------------------- short circuits


@BOTH
def test_short_circuits_and_outliers_are_known(method, tmp_path):
    x, _, _ = with_outliers(1000, 0.03)
    model = method().fit(x)
    verdict, m = model.verdict_, model.faithfulness_
    assert verdict.trusted
    assert len(model.outliers_) == verdict.n_outliers > 5
    assert (m.r_n, m.n_cut_pairs) == (verdict.r_n_kept, len(model.short_circuits_))
    assert m.r_n < 0.1 * m.whole.r_n
    joined = np.isin(model.neighborhoods_.indices, model.outliers_)
    left = ub.faithfulness(x, model.embedding_, 12, cut=model.short_circuits_)
    assert left == m == ub.faithfulness(x, model)
    assert joined.sum() <= 2 * len(model.short_circuits_)
    again = ub.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.short_circuits_, model.short_circuits_)
    np.testing.assert_array_equal(again.outliers_, model.outliers_)
    q = ub.quality(x, again)
    assert (q["r_n"].value, q["r_n"].whole.value) == (m.r_n, m.whole.r_n)
    assert q.statements == ub.quality(x, model).statements
    assert q.cut_sentence.endswith(f"with them R_N is {m.whole.r_n:.3g}.")
    assert ub.quality(x, again, cut=[]).n_cut_pairs == 0


def test_a_model_without_these_attributes_counts_all_pairs(tmp_path):
    """Files of older versions do not hold them."""
    x, _, _ = with_outliers(800, 0.03)
    model = PSA().fit(x)
    whole = model.faithfulness_.whole
    assert whole is not None
    del model.short_circuits_, model.outliers_
    again = ub.load(model.save(tmp_path / "model"))
    q = ub.quality(x, again)
    assert (q.n_cut_pairs, q["r_n"].value) == (0, whole.r_n)


def test_nothing_is_left_out_of_clean_data_nor_of_what_is_not_trusted():
    x, _ = roll(2000)
    noise = np.random.default_rng(1).normal(size=(600, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = PSA().fit(x), PSA().fit(noise)
    assert [model.verdict_.trusted for model in models] == [True, False]
    for model in models:
        assert len(model.short_circuits_) == len(model.outliers_) == model.faithfulness_.n_cut_pairs == 0


# ------------------------------------------------------------------------------------- cleaned graphs


def test_clean_is_what_pruning_finds():
    x, _, inliers = with_outliers(1000, 0.05)
    found = ub.clean(x, n_neighbors=12)
    graph = ub.neighborhoods(x, 12)
    assert len(found.neighborhoods.indices) == len(graph.indices) - found.n_dropped
    assert found.n_doubtful >= found.n_dropped > 0
    assert found.outliers[inliers].mean() < 0.01
    assert (found.neighborhoods.component_labels[~found.outliers] == 0).all() or found.outliers.any()
    moved = ub.clean(x, smoothing=12)
    assert moved.smoothing == 12
    assert np.linalg.norm(moved.points - x, axis=1).max() > 0
    assert found.points is not None


def test_large_planes_of_wide_data_take_away_as_much_noise():
    """Planes of more than 96 members are shaped by some of them: as smooth as if all shaped a smaller one."""
    rng = np.random.default_rng(0)
    across, along = rng.uniform(size=(2, 3000)) * 4
    surface = np.column_stack([2 * np.sin(across / 2), 2 * np.cos(across / 2), along])
    x = surface @ np.linalg.qr(rng.normal(size=(300, 3)))[0].T
    noisy = x + 0.05 * rng.normal(size=x.shape)
    rows = np.arange(0, 3000, 30, dtype=np.uint32)

    def error(k):
        lists, _ = _core.query(noisy, noisy[rows], k + 1, "auto", 2)
        others = np.ascontiguousarray(lists.reshape(len(rows), -1)[:, 1:]).ravel()
        moved = _core.settled(noisy, rows, others, k, 2, 2).reshape(len(rows), -1)
        return np.linalg.norm(moved - x[rows], axis=1).mean()

    before = np.linalg.norm(noisy[rows] - x[rows], axis=1).mean()
    assert error(96) < 0.2 * before
    assert error(288) < error(96)


def test_pruning_keeps_one_piece_of_each_component():
    x, _ = roll(600)
    y = np.concatenate([x, x + 500])
    graph = ub.neighborhoods(y, 10)
    found = pruned(ub._core.Points(y), graph, 2, None)
    for part in (slice(0, 600), slice(600, 1200)):
        assert (~found.outliers[part]).mean() > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_components": 4}, "n_components = 4"),
        ({"n_components": 0}, "n_components = 0"),
        ({"n_neighbors": 500}, "500"),
        ({"smoothing": -1}, "smoothing = -1"),
    ],
)
def test_clean_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        ub.clean(np.random.default_rng(0).normal(size=(100, 3)), **arguments)


# ------------------------------------------------------------------------------------------ geodesics


def stress(distances, y):
    return ((distances - np.linalg.norm(y[:, None] - y[None], axis=2)) ** 2).sum()


@pytest.mark.parametrize("n", [16, 20, 30, 50])
def test_few_points_of_a_bent_surface_are_not_trusted_and_of_a_flat_one_are(n):
    """Shortest paths among a few points are straight lines, and agree with a projection of the roll."""
    for seed in range(3):
        x, truth = ub.datasets.swiss_roll(n, random_state=seed)
        verdict = ub.ProcrustesAlignment().fit(x).verdict_
        assert not verdict.trusted
        flat = np.column_stack([truth, 0.01 * np.random.default_rng(seed).normal(size=n)])
        assert ub.ProcrustesAlignment().fit(flat).verdict_.trusted
    few = ub.ProcrustesAlignment().fit(ub.datasets.swiss_roll(20, random_state=0)[0]).verdict_
    assert [(one.name, one.value, one.limit) for one in few.reasons] == [("points", 20, 52)]


def test_majorization_lowers_the_stress():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 4))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    start = points[:, :2] + 0.3 * rng.normal(size=(60, 2))
    found = majorized(distances, start, Progress())
    assert stress(distances, found) < stress(distances, start)
    moved = rng.normal(scale=1e-3, size=found.shape)
    assert stress(distances, found) <= stress(distances, found + moved) * 1.001
    flat = points[:, :2]
    own = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    assert stress(own, majorized(own, flat + 0.01 * rng.normal(size=flat.shape), Progress())) < 1e-2


@pytest.mark.parametrize(
    ("smoothing", "score", "trusted"), [(0, 0.04, True), (12, 0.04, False), (12, 0.02, True)]
)
def test_smoothed_points_must_agree_better(smoothing, score, trusted):
    """Two halves of a loop can lie on each other once they are smoothed, and nearly fit."""
    x, _ = ub.datasets.swiss_roll(900, random_state=0)
    model = ub.ProcrustesAlignment(refine=None).fit(x)
    problem = Problem(_core.Points(x), ub.neighborhoods(x, 12), 2)
    found = AlignmentSettings(refine=None).embed(problem, Progress(0, None))
    seen = replace(
        evidence(problem, found.embedding, Progress(0, None)), disagreement=score, overlap=0.0, torn=0.0
    )
    trial = Trial("a candidate", found, seen, graph=ub.clean(x, 2, smoothing=smoothing))
    verdict = verdict_of(trial, problem, model.faithfulness_, np.zeros((0, 2), dtype=np.uint32))
    assert verdict.trusted == trusted
    assert [reason.limit for reason in verdict.reasons] == ([] if trusted else [0.03])
