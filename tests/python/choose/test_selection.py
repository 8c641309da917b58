"""Sweeps over neighbors, dimensions and methods, and what is chosen."""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import unbend as ub
from scipy.spatial import procrustes
from unbend.choose.methods import SWEPT
from unbend.choose.selection import _Run, chosen
from unbend.choose.sweep import SCORE, Candidate, Sweep
from unbend.cli import main
from unbend.cli.select import sizes
from unbend.judge.measures import Value
from unbend.metrics.sampling import standard_error

SIZES = (6, 9, 12)


@pytest.fixture(scope="module")
def roll():
    return ub.datasets.swiss_roll(1200, random_state=0)


@pytest.fixture(scope="module")
def found(roll):
    return ub.select(roll[0], SIZES, [1, 2, 3], exhaustive=True, random_state=0)


# ---------------------------------------------------------------------------- the sweep


def test_every_embedding_is_made_once(found):
    keys = [c.key for c in found.candidates]
    assert sorted(keys) == sorted((m, k, d) for m in ("gp", "psa") for k in SIZES for d in (1, 2, 3))
    assert all(d == 2 for _, _, d in keys[:6])  # the likeliest dimension first
    assert found.complete
    assert found.left_out == ()
    assert found.common == 24


def test_numbers_are_those_of_the_library(roll, found):
    x, _ = roll
    for c in found.candidates:
        own = ub.faithfulness(x, c.embedding, c.n_neighbors)
        assert c["r_n"].value == own.r_n
        assert c["r_c"].value == own.r_c
        assert c["lower_bound"].value == own.lower_bound
        assert c["m_l"].value == ub.metrics.nieqa_local(x, c.embedding, c.n_neighbors)
        shared = ub.faithfulness(x, c.embedding, 24)
        assert c["overlap"].value == shared.overlap
        capped = np.minimum(shared.per_point["r_n"], 1).mean()
        assert np.isclose(c["score"].value, capped + shared.overlap, rtol=1e-12)
        assert c["least"].value == shared.lower_bound
        assert c["least"].value <= c["score"].value + 1e-15


@pytest.mark.filterwarnings("ignore:.*cannot be laid flat")
def test_embeddings_are_those_of_the_estimators(roll, found):
    for c in found.candidates:
        model = getattr(ub, SWEPT[c.method])(c.n_components, c.n_neighbors, random_state=0)
        assert np.array_equal(model.fit_transform(roll[0]), c.embedding), c.key


def test_the_model_is_that_of_the_choice(roll, found):
    assert np.array_equal(found.model.embedding_, found.embedding)
    assert found.model.n_neighbors_ == found.n_neighbors
    assert found.model.callback is None
    assert found.model.transform(roll[0][:3]).shape == (3, 2)


def test_bounds_of_all_sizes(roll, found):
    for k, grid in found.grids.items():
        exact = [ub.metrics.lower_bound(roll[0], d, k) for d in (1, 2, 3)]
        assert np.allclose(grid.bound[:2], exact[:2], rtol=0.2)
        assert exact[2] == 0


def test_samples_have_intervals():
    x, _ = ub.datasets.s_curve(1500, noise=0.05, random_state=0)
    few = ub.select(x, [9], 2, methods=["psa"], n_centers=300, random_state=0)
    score = few.candidates[0]["score"]
    low, high = score.interval
    assert few.n_centers == len(score.units) == 300
    assert low < score.value < high
    whole = ub.select(x, [9], 2, methods=["psa"], random_state=0).candidates[0]["score"]
    assert whole.half_width == 0
    assert abs(score.value - whole.value) < 3 * score.half_width


def test_torn_neighbors(roll):
    x, coordinates = roll

    class Torn(ub.PCA):
        """The truth, cut in the middle."""

        def __init__(self, n_components=2, n_neighbors=12, n_jobs=None, callback=None):
            super().__init__(n_components, callback=callback)
            self.n_neighbors, self.n_jobs = n_neighbors, n_jobs

        def fit(self, X, neighborhoods=None):
            self.embedding_ = coordinates + 200 * (coordinates[:, :1] > 45)
            return self

    one = ub.select(x, [8], 2, methods={"cut": Torn()}, random_state=0).candidates[0]
    graph = ub.neighborhoods(x, 16)
    lists = graph.indices.reshape(-1, 16)
    side = coordinates[:, 0] > 45
    assert one["torn"].value == pytest.approx((side[lists] != side[:, None]).mean(), abs=1e-12)
    assert one["torn"].value > 0


# ---------------------------------------------------------------------------- the choice


@pytest.mark.parametrize("share", [0, 0.5])
def test_the_choice_is_near_the_best(share):
    for seed in range(2):
        x, coordinates = ub.datasets.swiss_roll(4000, random_state=seed)
        radius = np.median(ub.neighborhoods(x, 12).distances.reshape(len(x), -1)[:, -1])
        x = x + share * radius * np.random.default_rng(seed).normal(size=x.shape)
        found = ub.select(x, range(8, 25, 8), exhaustive=True, random_state=seed)
        assert found.n_components == 2
        away = {c.key: procrustes(coordinates, c.embedding)[2] for c in found.candidates}
        nearest = next(c for c in found.candidates if away[c.key] == min(away.values()))
        assert found.best["score"].value <= 1.1 * nearest["score"].value
        assert away[found.best.key] < 0.01


def test_rule_one_step_at_a_time(found):
    d2 = [c for c in found.candidates if c.n_components == 2]
    least = min(c["score"].value for c in d2)
    same = [c for c in d2 if c["score"].value <= 1.02 * least]
    fewest = min(c.n_neighbors for c in same)
    assert found.best.n_neighbors == fewest
    assert found.best.method == next(c.method for c in same if c.n_neighbors == fewest)


def test_flagged_sizes_are_left_out(found):
    flagged = {k: replace(g, fragmented=k == 6, short_circuited=k == 9) for k, g in found.grids.items()}
    assert chosen(found.candidates, flagged, 2, found.methods).n_neighbors == 12
    all_bad = {k: replace(g, short_circuited=True) for k, g in found.grids.items()}
    assert chosen(found.candidates, all_bad, 2, found.methods).key == found.best.key


def test_the_nearest_dimension_is_taken(roll):
    found = ub.select(roll[0], [9], [1, 3], methods=["psa"], random_state=0)
    assert found.dimension.value == 2
    assert found.n_components == 3


def test_too_many_neighbors_are_known():
    x, _ = ub.datasets.swiss_roll(600, random_state=0)
    found = ub.select(x, [8, 12, 32], 2, methods=["gp"], random_state=0)
    assert found.short_circuited == [32]
    assert found.common < 64
    assert found.n_neighbors < 32


def test_too_few_neighbors_are_known():
    x = np.random.default_rng(0).random((700, 2))
    found = ub.select(x, [2, 3, 12], 2, methods=["gp"], random_state=0)
    assert 2 in found.fragmented
    assert 12 not in found.fragmented
    assert found.n_neighbors == 12 or found.n_neighbors not in found.fragmented
    assert found.grids[2].n_pieces == ub.neighborhoods(x, 2).n_connected_components


# ---------------------------------------------------------------------------- what is not embedded


def shared(found):
    """Numbers of candidates that another selection of the same data has, too."""
    return {c.key: {name: value.to_dict() for name, value in c.items()} for c in found.candidates}


@pytest.mark.parametrize(
    ("name", "share"),
    [("swiss_roll", 0), ("swiss_roll", 0.5), ("s_curve", 0), ("s_curve", 0.1), ("hemisphere", 0)],
)
def test_what_is_left_out_could_not_have_been_chosen(name, share):
    x, _ = getattr(ub.datasets, name)(1000, random_state=1)
    radius = np.median(ub.neighborhoods(x, 12).distances.reshape(len(x), -1)[:, -1])
    x = x + share * radius * np.random.default_rng(1).normal(size=x.shape)
    short = ub.select(x, [6, 10, 16, 40], [2, 3], random_state=0)
    whole = ub.select(x, [6, 10, 16, 40], [2, 3], exhaustive=True, random_state=0)
    assert short.complete
    assert short.best.key == whole.best.key
    assert np.array_equal(short.embedding, whole.embedding)
    made, every = shared(short), shared(whole)
    assert all(every[key] == numbers for key, numbers in made.items())
    assert sorted((*made, *short.left_out)) == sorted(every)


def test_one_embedding_is_enough_where_none_can_be_better():
    x, _ = ub.datasets.swiss_roll(10_000, random_state=0)
    found = ub.select(x, range(6, 25), random_state=0)
    assert [c.key for c in found.candidates] == [("gp", 6, 2)]
    best = found.best
    assert best["score"].value <= 1.02 * best["least"].value
    assert len(found.left_out) == 2 * 19 - 1
    assert "1 of 38 embeddings were made" in " ".join(str(found).split())
    assert json.loads(found.to_json())["left_out"][0] == ["psa", 6, 2]


def test_flagged_sizes_are_tried_where_there_is_nothing_else():
    x = np.random.default_rng(0).random((700, 2))
    found = ub.select(x, [2, 3, 12], 2, methods=["gp"], random_state=0)
    assert ("gp", 2, 2) in found.left_out
    pieces = np.concatenate([x[:350], x[350:] + 9])
    only = ub.select(pieces, [2], 2, methods=["gp"], random_state=0)
    assert only.n_neighbors == 2


def test_what_fails_makes_way_for_the_next(roll):
    found = ub.select(roll[0], [4, 8], 2, methods=["hlle"], random_state=0)
    assert [c.error is None for c in found.candidates] == [False, True]
    # four neighbors are too few for two dimensions and enough for one, which nobody would choose otherwise
    other = ub.select(roll[0], [4], [1, 2], methods=["hlle"], random_state=0)
    assert [(c.n_components, c.error is None) for c in other.candidates] == [(2, False), (1, True)]
    assert other.n_components == 1


def test_the_rest_can_be_made_later(roll, found):
    short = ub.select(roll[0], SIZES, [1, 2, 3], random_state=0)
    assert len(short.candidates) < len(found.candidates)
    whole = ub.select(roll[0], SIZES, [1, 2, 3], exhaustive=True, resume=short)
    assert shared(whole) == shared(found)
    assert [c.key for c in whole.candidates] == [c.key for c in found.candidates]
    assert whole.best.key == short.best.key == found.best.key


def test_a_method_added_later_may_be_chosen():
    x, _ = ub.datasets.swiss_roll(3000, random_state=0)
    alone = ub.select(x, [6, 9], 2, methods=["psa"], random_state=0)
    fresh = ub.select(x, [6, 9], 2, methods=["gp", "psa"], random_state=0)
    for exhaustive in (False, True):
        both = ub.select(x, [6, 9], 2, methods=["gp", "psa"], exhaustive=exhaustive, resume=alone)
        assert both.best.key == fresh.best.key == ("gp", 6, 2)
        assert np.array_equal(both.model.embedding_, both.embedding)
    other = {"psa": ub.ProcrustesAlignment(solve_tol=1e-3)}
    with pytest.raises(ValueError, match=r"another 'psa': ProcrustesAlignment\(.*solve_tol=1e-08"):
        ub.select(x, [6, 9], 2, methods=other, resume=alone)


def test_the_method_named_first_is_chosen_though_it_failed_before(roll):
    class Failing(ub.ProcrustesAlignment):
        """Fails where neighborhoods are small."""

        def fit(self, X, y=None, *, neighborhoods=None):
            if self.n_neighbors < 4:
                raise ValueError("too few")
            return super().fit(X, neighborhoods=neighborhoods)

    x = np.random.default_rng(0).random((700, 3)) * [9, 9, 0.3]
    methods = {"a": Failing(), "b": ub.ProcrustesAlignment()}
    found = [
        ub.select(x, [2, 12, 20], 2, methods=methods, exhaustive=exhaustive, random_state=0)
        for exhaustive in (False, True)
    ]
    assert found[1].fragmented == [2]
    for one in found:
        assert one.best.key == ("a", 12, 2)
        assert np.array_equal(one.model.embedding_, one.embedding)


def test_perfect_embeddings_are_not_told_apart_by_rounding():
    x = (
        np.random.default_rng(0).random((2000, 2))
        @ np.linalg.qr(np.random.default_rng(1).random((3, 2)))[0].T
    )
    found = ub.select(x, methods=["gp"], random_state=0)
    assert [c.key for c in found.candidates] == [("gp", 6, 2)]
    whole = ub.select(x, methods=["gp"], exhaustive=True, random_state=0)
    assert whole.best.key == ("gp", 6, 2)


def test_a_sample_that_cannot_tell_goes_on():
    """What comes later may be the least, beside which one before the choice is as good as the choice."""

    def candidate(k, units):
        score = Value(SCORE, units.mean(), standard_error(units, 0.1), None, units, 0.1)
        return Candidate("gp", k, 2, {"score": score, "least": replace(score, value=1.0)})

    noise = np.random.default_rng(0).normal(size=200) * 0.01
    first, second, third = candidate(6, 1.045 + noise), candidate(8, 1.018 + noise), 1.0175 + noise
    third[0] += 4.0
    third = candidate(10, third - 4.0 / 200)
    grid = SimpleNamespace(fragmented=False, short_circuited=False)
    sweep = SimpleNamespace(grids={6: grid, 8: grid, 10: grid}, sizes=(6, 8, 10))
    run = _Run(sweep, {"gp": None}, SimpleNamespace(value=2), (2,), None, False)
    run.made = [first, second]
    assert run._best() is second
    assert run._can_be_chosen(("gp", 10, 2))
    run.made.append(third)
    assert run._best() is first
    exact = [
        Candidate(c.method, c.n_neighbors, 2, {**c, "score": replace(c["score"], standard_error=0.0)})
        for c in run.made
    ]
    run.made = exact[:2]
    assert not run._can_be_chosen(("gp", 10, 2))


@pytest.mark.parametrize("by", ["r_n", "r_n_scaled", "r_c"])
def test_what_the_score_is_made_of(roll, by):
    x, _ = roll

    class Large(ub.ProcrustesAlignment):
        """In other units."""

        def fit(self, X, y=None, *, neighborhoods=None):
            super().fit(X, neighborhoods=neighborhoods)
            self.embedding_ = 3 * self.embedding_
            return self

    found = ub.select(x, [8], 2, methods={"large": Large()}, by=by, n_centers=500, random_state=0)
    score, least = found.best["score"], found.best["least"]
    assert least.value <= score.value
    assert (np.asarray(least.units) <= np.asarray(score.units) + 1e-12).all()
    assert (score.value > 0.9) == (by == "r_n")
    assert found.by in str(found.to_dict())


def test_pieces_are_counted_for_every_size():
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(12, 2)) * 6
    x = np.concatenate([center + rng.normal(size=(size, 2)) for size, center in enumerate(centers, 20)])
    sizes = tuple(range(2, 60, 3))
    sweep = Sweep(x, ub.neighborhoods(x, 60), sizes, "r_n", len(x), 0, None)
    for k, (count, outside) in sweep._pieces.items():
        counts = np.bincount(ub.neighborhoods(x, k).component_labels)
        assert (count, outside) == (len(counts), 1 - counts.max() / len(x))
    assert len({count for count, _ in sweep._pieces.values()}) > 3


def test_times_of_the_parts(found):
    assert set(found.timings) == {"neighbors", "dimension", "graphs", "embeddings", "measures"}
    assert found.timings["embeddings"] == pytest.approx(sum(c.seconds for c in found.candidates))
    assert all(seconds > 0 for seconds in found.timings.values())


# ---------------------------------------------------------------------------- ways it can end


def test_a_callback_ends_it_and_it_goes_on(roll):
    x, _ = roll
    whole = ub.select(x, SIZES, 2, exhaustive=True, random_state=3)
    seen = []

    def stop(stage, done, total, best):
        seen.append((stage, done, total, best))
        return done == 3

    part = ub.select(x, SIZES, 2, exhaustive=True, random_state=3, callback=stop)
    assert not part.complete
    assert [c.key for c in part.candidates] == [c.key for c in whole.candidates[:3]]
    assert "Interrupted: 3 of 6" in str(part)
    assert {total for _, _, total, _ in seen} == {6}
    assert seen[0] == ("gp, k = 6, d = 2", 0, 6, None)
    best = part.best["score"].value
    assert seen[-1] == ("psa, k = 9, d = 2", 3, 6, best)
    again = []
    watch = {"callback": lambda *told: again.append(told[1])}
    rest = ub.select(x, SIZES, 2, exhaustive=True, resume=part, **watch)
    assert min(again) == 3
    assert rest.complete
    assert rest.seed == 3
    assert rest.best.key == whole.best.key
    for one, other in zip(rest.candidates, whole.candidates, strict=True):
        assert one.key == other.key
        assert np.array_equal(one.embedding, other.embedding)
    assert np.array_equal(rest.model.embedding_, whole.model.embedding_)


def test_lines_are_shown(roll, capsys):
    ub.select(roll[0], [6, 9], 2, methods=["psa"], exhaustive=True, verbose=1, random_state=0)
    shown = [line.rsplit(maxsplit=2)[0].strip() for line in capsys.readouterr().err.splitlines()]
    assert shown == ["neighbors", "dimension", "graphs", "psa, k = 6, d = 2", "psa, k = 9, d = 2"]


def test_before_any_embedding_it_raises(roll):
    with pytest.raises(ub.Stopped, match="gp, k = 6, d = 2"):
        ub.select(roll[0], SIZES, 2, callback=lambda *told: True)


def test_resume_asks_for_the_same_data(found, roll):
    with pytest.raises(ValueError, match="other data"):
        ub.select(roll[0] + 1, SIZES, 2, resume=found)
    with pytest.raises(ValueError, match="other data, or with other settings"):
        ub.select(roll[0], [6, 9], 2, resume=found)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_returns_what_there_is():
    code = """
import os, signal, threading, time
import unbend as ub
X, _ = ub.datasets.swiss_roll(4000, random_state=0)
sent = []
def watch(stage, done, total, best):
    if done == 2 and not sent:
        sent.append(time.perf_counter())
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
found = ub.select(X, range(6, 25), 2, exhaustive=True, callback=watch, random_state=0)
print(len(found.candidates), found.complete, time.perf_counter() - sent[0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    count, complete, seconds = done.stdout.split()
    assert 2 <= int(count) < 38
    assert complete == "False"
    assert float(seconds) < 5


def test_a_method_that_fails_is_a_row(roll):
    found = ub.select(roll[0], [4, 9], 2, methods=["hlle", "gp"], exhaustive=True, random_state=0)
    failed = [c for c in found.candidates if c.error]
    assert [(c.method, c.n_neighbors) for c in failed] == [("hlle", 4)]
    assert failed[0].error in found.candidates[0].to_dict()["error"]
    assert "hlle" in str(found)
    with pytest.raises(ValueError, match="no embedding could be made"):
        ub.select(roll[0], [4], 2, methods=["hlle"])


def test_warnings_are_kept(recwarn):
    x = np.random.default_rng(0).random((300, 2))
    x[:150] += 5
    found = ub.select(x, [8], 2, methods=["gp"], random_state=0)
    assert "components" in found.candidates[0].warnings[0]
    assert found.fragmented == []
    assert not recwarn.list


# ---------------------------------------------------------------------------- what it takes and gives


def test_neighbors_may_be_given(roll, found):
    graph = ub.neighborhoods(roll[0], 30)
    given = ub.select(roll[0], SIZES, 2, neighborhoods=graph, random_state=0)
    assert given.common == found.common
    assert given.best.key == found.best.key
    with pytest.raises(ValueError, match="at least 12"):
        ub.select(roll[0], SIZES, 2, neighborhoods=ub.neighborhoods(roll[0], 9))


def test_prefixes_are_searches():
    x = np.random.default_rng(0).integers(0, 4, size=(300, 3)).astype(float)  # full of ties
    wide = ub.neighborhoods(x, 20)
    for k in (1, 7, 20):
        near, searched = wide.nearest(k), ub.neighborhoods(x, k)
        assert np.array_equal(near.indices, searched.indices)
        assert np.array_equal(near.distances, searched.distances)
    with pytest.raises(ValueError, match="hold 20 each"):
        wide.nearest(21)
    with pytest.raises(ValueError, match="differ in size"):
        ub.neighborhoods(x, radius=1.0).nearest(2)


def test_estimators_are_methods(roll):
    lean = ub.GreedyProcrustes(n_init=1, refine=None)
    methods = {"lean": lean, "ltsa": "ltsa"}
    found = ub.select(roll[0], [9], 2, methods=methods, exhaustive=True, random_state=0)
    assert [c.method for c in found.candidates] == ["lean", "ltsa"]
    assert lean.n_neighbors is None
    assert not hasattr(lean, "embedding_")
    assert found.candidates[1]["r_n"].value < 0.01  # rectified


def test_the_same_for_any_number_of_threads(roll):
    one, four = (ub.select(roll[0], [6, 9], exhaustive=True, random_state=0, n_jobs=jobs) for jobs in (1, 4))
    for left, right in zip(one.candidates, four.candidates, strict=True):
        assert {name: value.to_dict() for name, value in left.items()} == {
            name: value.to_dict() for name, value in right.items()
        }
    assert one.best.key == four.best.key


def test_table_frame_and_json(found):
    text = str(found)
    marked = next(line for line in text.splitlines() if line.startswith("> "))
    assert marked.split()[1:4] == [found.method, str(found.n_neighbors), "2"]
    assert max(map(len, text.splitlines())) <= 100
    assert found.rule in " ".join(text.split())
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(found.candidates)
    assert frame.loc[frame.chosen, "n_neighbors"].tolist() == [found.n_neighbors]
    assert (frame["score"] == [c["score"].value for c in found.candidates]).all()
    held = json.loads(found.to_json())
    chosen_one = {"method": found.method, "n_neighbors": found.n_neighbors, "n_components": 2}
    assert held["chosen"] == chosen_one
    assert [c["score"]["value"] for c in held["candidates"]] == frame["score"].tolist()
    assert held["dimension"]["value"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["gp", "umap"]}, "'umap' is no method"),
        ({"methods": []}, "methods is empty"),
        ({"methods": {"pca": ub.PCA()}}, "has no n_neighbors"),
        ({"n_neighbors": []}, "n_neighbors is empty"),
        ({"n_neighbors": [5, 40]}, "n_neighbors = 40 is too large"),
        ({"n_components": 4}, "n_components = 4 is too large"),
        ({"n_neighbors": [0]}, "n_neighbors"),
        ({"by": "stress"}, "by = 'stress' is unknown"),
        ({"n_centers": 0}, "n_centers"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ub.select(np.random.default_rng(0).random((30, 3)), **options)


@pytest.mark.parametrize("n", [3, 5, 14])
def test_few_points(n):
    found = ub.select(np.random.default_rng(0).random((n, 2)), methods=["gp"], random_state=0)
    assert max(found.grids) <= n - 1
    assert found.embedding.shape[0] == n


# ---------------------------------------------------------------------------- the command


def command(*arguments):
    return main(["select", *map(str, arguments)])


@pytest.fixture
def file(tmp_path, roll):
    np.save(tmp_path / "roll.npy", roll[0])
    return tmp_path / "roll.npy"


def test_the_command_prints_the_table(file, capsys, roll):
    assert command(file, "-k", "6:12:3", "-d", "1:2") == 0
    out = capsys.readouterr().out
    found = ub.select(roll[0], SIZES, [1, 2], random_state=0)
    assert found.rule in " ".join(out.split())
    best = f"--method {found.method} -k {found.n_neighbors} -d 2 --seed 0"
    assert out.splitlines()[-1] == f"unbend embed {file} -o Y.npy {best}"


def test_the_command_prints_json_and_writes(file, tmp_path, capsys):
    assert command(file, "-k", "9", "--methods", "psa", "--json", "-o", tmp_path / "flat.npy") == 0
    held = json.loads(capsys.readouterr().out)
    assert held["chosen"] == {"method": "psa", "n_neighbors": 9, "n_components": 2}
    model = ub.ProcrustesAlignment(2, 9).fit(np.load(file))
    assert np.array_equal(np.load(tmp_path / "flat.npy"), model.embedding_)
    assert command(file, "-k", "9", "-o", tmp_path / "flat.npy") == 2
    assert "flat.npy" in capsys.readouterr().err


def test_the_command_keeps_what_there_is_when_interrupted(file, tmp_path, capsys, monkeypatch):
    embed, made = Sweep.embed, []

    def interrupted(self, *task):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(task)
        return embed(self, *task)

    monkeypatch.setattr(Sweep, "embed", interrupted)
    assert command(file, "-k", "6,9", "-d", "2", "--exhaustive", "-o", tmp_path / "flat.npy") == 130
    said = capsys.readouterr()
    assert "Interrupted: 2 of 4 embeddings were made." in said.out
    assert said.err == "unbend: interrupted\n"
    assert np.load(tmp_path / "flat.npy").shape == (len(np.load(file)), 2)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("6:12:3", [6, 9, 12]),
        ("6:11:3", [6, 9]),
        ("4:6", [4, 5, 6]),
        ("8", [8]),
        ("6,8,12:16:2", [6, 8, 12, 14, 16]),
    ],
)
def test_lists_of_numbers(text, numbers):
    assert sizes(text, "-k") == numbers


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "six"], "--neighbors six is no list"),
        (["-k", "9:6"], "--neighbors 9:6 is no list"),
        (["-k", "6:9:0"], "is no list"),
        (["-k", "6:9:1:1"], "is no list"),
        (["-d", "a:b"], "--dimensions a:b is no list"),
        (["--methods", "umap"], "'umap' is no method"),
        (["-k", "5000"], "n_neighbors = 5000 is too large"),
    ],
)
def test_the_command_refuses(file, capsys, arguments, message):
    assert command(file, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
