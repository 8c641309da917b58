"""Sweeps over neighbors, dimensions and methods, and what is chosen."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import unbend as ub
from scipy.spatial import procrustes
from unbend.choose.choice import choice_of
from unbend.choose.methods import SWEPT
from unbend.choose.sweep import SCORE, Candidate, Sweep
from unbend.cli import main
from unbend.cli.select import sizes
from unbend.judge.measures import Value

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


def test_numbers_are_those_of_the_library(roll, found):
    x, _ = roll
    for c in found.candidates:
        own = ub.faithfulness(x, c.embedding, c.n_neighbors)
        assert c["r_n"].value == own.r_n
        assert c["r_c"].value == own.r_c
        assert c["lower_bound"].value == own.lower_bound
        assert c["m_l"].value == ub.metrics.nieqa_local(x, c.embedding, c.n_neighbors)
        parts = c["disagreement"].value + c["overlap"].value + 0.1 * c["torn"].value
        assert c["closest"].value == pytest.approx(parts)
        assert c["closest"].value <= c["score"].value


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


def test_torn_and_folded_embeddings_have_large_scores(roll):
    x, coordinates = roll

    class Given(ub.PCA):
        """An embedding that is passed in."""

        def __init__(self, n_components=2, n_neighbors=12, n_jobs=None, callback=None, change=None):
            super().__init__(n_components, callback=callback)
            self.n_neighbors, self.n_jobs, self.change = n_neighbors, n_jobs, change

        def fit(self, X, neighborhoods=None):
            self.embedding_ = self.change(coordinates)
            return self

    changes = {
        "true": lambda y: y,
        "torn": lambda y: y + 200 * (y[:, :1] > 45),
        "folded": lambda y: np.abs(y - [45, 0]),
        "shadow": lambda y: x[:, :2],
    }
    methods = {name: Given(change=change) for name, change in changes.items()}
    made = ub.select(x, [8], 2, methods=methods, random_state=0).candidates
    scores = {c.method: c["score"].value for c in made}
    assert scores["true"] < 0.02
    assert min(scores["torn"], scores["folded"], scores["shadow"]) > 0.1
    assert {c.method: c["torn"].value > 0 for c in made}["torn"]


# ---------------------------------------------------------------------------- the choice


@pytest.mark.parametrize("share", [0, 0.5])
def test_the_choice_is_near_the_best(share):
    for seed in range(2):
        x, coordinates = ub.datasets.swiss_roll(4000, random_state=seed)
        radius = np.median(ub.neighborhoods(x, 12).distances.reshape(len(x), -1)[:, -1])
        x = x + share * radius * np.random.default_rng(seed).normal(size=x.shape)
        found = ub.select(x, range(8, 25, 8), exhaustive=True, random_state=seed)
        assert found.n_components == 2
        assert not found.is_guess
        swept = coordinates[found.rows]
        away = {c.key: procrustes(swept, c.embedding)[2] for c in found.candidates}
        assert away[found.best.key] <= 1.2 * min(away.values()) + 1e-4
        assert procrustes(coordinates, found.embedding)[2] < 0.01


def candidate(name, embedding, score, closest):
    numbers = {"score": Value(SCORE, score), "closest": Value(SCORE, closest)}
    return Candidate(name, 8, 2, numbers, embedding)


def test_of_good_embeddings_the_usual_one_is_chosen():
    rng = np.random.default_rng(0)
    truth = rng.random((200, 2))
    near = {f"{i}": truth + 0.01 * rng.normal(size=truth.shape) for i in range(4)}
    made = [candidate(name, y, 0.003 + 0.001 * float(name), 0.003) for name, y in near.items()]
    made += [candidate("exact", truth, 0.008, 0.008)]
    made += [candidate("odd", truth + 0.1 * rng.normal(size=truth.shape), 0.002, 0.002)]
    assert choice_of(made, 2).method == "exact"
    bad = [replace(c, numbers={**c.numbers, "closest": Value(SCORE, 0.3)}) for c in made]
    assert choice_of(bad, 2).method == "odd"  # no embedding is good: the least score
    worse = [replace(c, numbers={**c.numbers, "score": Value(SCORE, 0.5)}) for c in made[4:5]]
    assert choice_of([*made[:4], *worse, *made[5:]], 2).method != "exact"


def test_the_nearest_dimension_is_taken(roll):
    found = ub.select(roll[0], [9], [1, 3], methods=["psa"], random_state=0)
    assert found.dimension.value == 2
    assert found.n_components == 3


def test_a_closed_curve_needs_two_dimensions():
    angle = np.linspace(0, 2 * np.pi, 700, endpoint=False)
    x = np.c_[np.cos(angle), np.sin(angle), np.zeros((700, 3))]
    x = x + 0.02 * np.random.default_rng(0).normal(size=x.shape)
    found = ub.select(x, [12, 20], methods=["psa"], random_state=0)
    assert found.dimension.value == 1
    assert found.n_components == 2
    assert "closed" in found.reason
    assert found.is_guess


def test_the_largest_dimension_is_that_of_a_picture():
    x = np.random.default_rng(0).random((600, 6)) @ np.random.default_rng(1).normal(size=(6, 20))
    found = ub.select(x, [12], methods=["psa"], random_state=0)
    assert found.dimension.value == 6
    assert found.n_components == 3
    assert "the data need about 6 dimensions; the best of at most 3 is 3" in " ".join(str(found).split())
    wider = ub.select(x, [12], methods=["psa"], max_dim=6, random_state=0)
    assert wider.n_components == 6
    assert "need about" not in wider.reason


def test_noise_without_dimension_is_a_guess():
    x = np.random.default_rng(0).normal(size=(400, 8))
    found = ub.select(x, [12], methods=["psa"], random_state=0)
    assert found.is_guess
    assert "a guess" in str(found)
    assert not found.model.verdict_.trusted
    assert found.model.verdict_.sentence in " ".join(str(found).split())


def test_too_many_neighbors_are_known():
    x, _ = ub.datasets.swiss_roll(600, random_state=0)
    found = ub.select(x, [8, 12, 48], 2, methods=["gp"], random_state=0)
    assert 48 in found.short_circuited
    assert ("gp", 48, 2) in found.left_out
    assert found.n_neighbors < 48


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


def test_what_is_left_out_can_be_made_later(roll):
    short = ub.select(roll[0], [6, 12, 60], 2, random_state=0)
    whole = ub.select(roll[0], [6, 12, 60], 2, exhaustive=True, random_state=0)
    assert short.complete
    assert set(short.left_out) == {("psa", 60, 2), ("gp", 60, 2)}
    assert sorted((*shared(short), *short.left_out)) == sorted(shared(whole))
    later = ub.select(roll[0], [6, 12, 60], 2, exhaustive=True, resume=short)
    assert shared(later) == shared(whole)
    assert later.best.key == whole.best.key
    assert np.array_equal(later.embedding, whole.embedding)


def test_geodesic_distances_are_embedded_once():
    x = np.random.default_rng(0).normal(size=(500, 10))
    found = ub.select(x, [12], 2, random_state=0)
    assert [c.key for c in found.candidates] == [("psa", 12, 2)]
    assert found.left_out == (("gp", 12, 2),)


# ---------------------------------------------------------------------------- many points, little time


def test_of_many_points_a_sample_is_swept():
    x, coordinates = ub.datasets.swiss_roll(1200, random_state=0)
    found = ub.select(x, [8, 12], 2, max_points=500, random_state=0)
    assert len(found.rows) == 500
    assert all(c.embedding.shape == (500, 2) for c in found.candidates)
    assert found.embedding.shape == (1200, 2)
    assert procrustes(coordinates, found.embedding)[2] < 1e-3
    assert "500 of them, drawn at random" in str(found)
    assert found.model.n_neighbors_ == found.n_neighbors
    alone = ub.select(x[found.rows], [8, 12], 2, random_state=found.seed)
    assert shared(alone) == shared(found)
    whole = ub.select(x, [8, 12], 2, max_points=None, random_state=0)
    assert whole.rows is None


def test_without_time_the_first_embedding_is_the_choice(roll):
    found = ub.select(roll[0], SIZES, max_time=1e-9, random_state=0)
    assert found.ending == "out of time"
    assert not found.complete
    assert [c.key for c in found.candidates] == [("psa", 12, 2)]
    assert "Out of time: 1 of 6" in str(found)
    assert found.embedding.shape == (1200, 2)
    rest = ub.select(roll[0], SIZES, resume=found)
    whole = ub.select(roll[0], SIZES, random_state=0)
    assert rest.complete
    assert shared(rest) == shared(whole)
    assert np.array_equal(rest.embedding, whole.embedding)


def test_without_time_all_points_are_embedded():
    x, _ = ub.datasets.swiss_roll(900, random_state=0)
    found = ub.select(x, SIZES, 2, max_points=400, max_time=1e-9, random_state=0)
    assert found.ending == "out of time"
    assert found.embedding.shape == (900, 2)


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
    assert [(c.n_components, c.error is None) for c in other.candidates] == [(1, True), (2, False)]
    assert other.n_components == 1


def test_a_method_added_later(roll):
    x = roll[0]
    alone = ub.select(x, [6, 9], 2, methods=["psa"], random_state=0)
    fresh = ub.select(x, [6, 9], 2, methods=["gp", "psa"], random_state=0)
    both = ub.select(x, [6, 9], 2, methods=["gp", "psa"], resume=alone)
    assert both.best.key == fresh.best.key
    assert np.array_equal(both.model.embedding_, both.embedding)
    other = {"psa": ub.ProcrustesAlignment(solve_tol=1e-3)}
    with pytest.raises(ValueError, match=r"another 'psa': ProcrustesAlignment\(.*solve_tol=2e-05"):
        ub.select(x, [6, 9], 2, methods=other, resume=alone)


def test_pieces_are_counted_for_every_size():
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(12, 2)) * 6
    x = np.concatenate([center + rng.normal(size=(size, 2)) for size, center in enumerate(centers, 20)])
    found = ub.select(x, range(2, 60, 3), 2, methods={"pca-like": Rotated()}, random_state=0)
    for k, grid in found.grids.items():
        counts = np.bincount(ub.neighborhoods(x, k).component_labels)
        assert (grid.n_pieces, grid.outside) == (len(counts), 1 - counts.max() / len(x))
        assert grid.fragmented == (len(counts) > found.grids[59].n_pieces)
    assert len({grid.n_pieces for grid in found.grids.values()}) > 3


class Rotated(ub.PCA):
    """Principal components, whatever the neighbors."""

    def __init__(self, n_components=2, n_neighbors=12, n_jobs=None, callback=None):
        super().__init__(n_components, callback=callback)
        self.n_neighbors, self.n_jobs = n_neighbors, n_jobs

    def fit(self, X, neighborhoods=None):
        return super().fit(X)


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
    assert {c.n_neighbors for c in part.candidates} == {9, 12}
    assert "Interrupted: 3 of 6" in str(part)
    assert {total for _, _, total, _ in seen} == {6}
    assert seen[0] == ("psa, k = 12, d = 2", 0, 6, None)
    best = part.best["score"].value
    assert seen[-1] == ("gp, k = 9, d = 2", 3, 6, best)
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
    assert shown == ["neighbors", "dimension", "graphs", "psa, k = 9, d = 2", "psa, k = 6, d = 2"]


def test_before_any_embedding_it_raises(roll):
    with pytest.raises(ub.Stopped, match="psa, k = 12, d = 2"):
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
        sent.append(time.process_time())
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
found = ub.select(X, range(6, 25), 2, exhaustive=True, callback=watch, random_state=0)
print(len(found.candidates), found.complete, (time.process_time() - sent[0]) / os.cpu_count())
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


def test_neighbors_may_be_given(roll):
    graph = ub.neighborhoods(roll[0], 30)
    given = ub.select(roll[0], SIZES, 2, neighborhoods=graph, random_state=0)
    searched = ub.select(roll[0], SIZES, 2, random_state=0)
    assert shared(given) == shared(searched)
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
    assert max(map(len, text.splitlines())) < 80
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
        ({"n_neighbors": [6.0, 8.0]}, "n_neighbors = 6.0 is not a whole number"),
        ({"n_neighbors": "12"}, "n_neighbors = '12' is not a whole number"),
        ({"n_neighbors": ["8"]}, "n_neighbors = '8' is not a whole number"),
        ({"n_neighbors": np.array([6.5])}, "n_neighbors = .*6.5.* is not a whole number"),
        ({"n_components": True}, "n_components = True is not a whole number"),
        ({"n_centers": 0}, "n_centers"),
        ({"max_dim": 0}, "max_dim = 0"),
        ({"max_time": 0}, "max_time = 0 is not a number of seconds above 0"),
        ({"max_time": "60"}, "max_time = '60'"),
        ({"max_time": float("nan")}, "max_time = nan"),
        ({"max_points": 2}, "max_points = 2 is too few"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ub.select(np.random.default_rng(0).random((30, 3)), **options)


@pytest.mark.parametrize("x", [np.zeros((0, 3)), np.zeros((9, 0)), np.zeros((0, 0))])
def test_empty_data_are_refused(x):
    with pytest.raises(ValueError, match="X is empty"):
        ub.select(x)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_small_integers_are_numbers_of_neighbors(dtype):
    x = np.random.default_rng(0).random((300, 2))
    found = ub.select(x, np.array([100, 110], dtype=dtype), dtype(2), methods=["psa"], random_state=0)
    assert list(found.grids) == [100, 110]
    one = ub.select(x, np.array(100, dtype=dtype), dtype(2), methods=["psa"], random_state=0)
    assert list(one.grids) == [100]


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
    best = f"--method {found.method} -k {found.n_neighbors} -d {found.n_components} --seed 0"
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
    assert said.err.endswith("\nunbend: interrupted\n")
    assert np.load(tmp_path / "flat.npy").shape == (len(np.load(file)), 2)


def test_progress_is_shown_without_a_terminal(file, capsys):
    assert command(file, "-k", "6,9", "-d", "2", "--methods", "psa") == 0
    assert "psa, k = 9, d = 2" in capsys.readouterr().err
    assert command(file, "-k", "6,9", "-d", "2", "--methods", "psa", "--quiet") == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_limits_of_the_command(file, tmp_path, capsys):
    output = tmp_path / "flat.npy"
    limits = ["--max-time", "0.000001", "--max-points", "300", "--max-dim", "1"]
    assert command(file, *limits, "-o", output, "--json") == 0
    held = json.loads(capsys.readouterr().out)
    assert held["ending"] == "out of time"
    assert held["n_swept"] == 300
    assert held["chosen"]["n_components"] == 1
    assert "the data need about 2 dimensions; the best of at most 1 is 1" in held["reason"]
    assert np.load(output).shape == (1200, 1)


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
        (["--max-time", "-1"], "max_time = -1.0 is not a number of seconds above 0"),
        (["--max-dim", "0"], "max_dim = 0"),
        (["-k", "5000"], "n_neighbors = 5000 is too large"),
    ],
)
def test_the_command_refuses(file, capsys, arguments, message):
    assert command(file, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
