"""The command: what it prints, where, and with what exit code."""

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
import unbend as ub
from interrupting import IMPORT
from unbend.cli import COMMANDS, main, parser
from unbend.files import read_points
from unbend.judge.measures import finite

COUNT = 1500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a roll, its true coordinates, and others that are worse."""
    path = tmp_path_factory.mktemp("points")
    x, coordinates = ub.datasets.swiss_roll(COUNT, random_state=0)
    np.savez(
        path / "run.npz", X=x, true=coordinates, large=3 * coordinates, flat=x[:, :2], line=coordinates[:, :1]
    )
    np.save(path / "x.npy", x)
    np.save(path / "y.npy", coordinates)
    np.savetxt(path / "y.csv", coordinates, delimiter=",", header="u,v", comments="", fmt="%.17g")
    return path


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run the command in the folder; return its exit code and what it printed."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def rows(table):
    """Return the value of each measure in the table."""
    names = ("R_N", "lower bound", "R_N rescaled", "best scale", "R_C", "R", "R_PCA", "overlap")
    return {
        name: float(line[16:25])
        for line in table.splitlines()
        for name in names
        if line[2:16].strip() == name
    }


def refused(run, *arguments):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("unbend: error: ")
    assert err.count("\n") == 1
    return err


# Table


def test_table(run, folder):
    code, out, err = run("measure", "x.npy", "y.npy", "-k", 8)
    m = ub.faithfulness(np.load(folder / "x.npy"), np.load(folder / "y.npy"), 8)
    assert (code, err) == (0, "")
    expected = [m.r_n, m.lower_bound, m.r_n_scaled, m.scale, m.r_c, m.r, m.r_pca, m.overlap]
    names = ["R_N", "lower bound", "R_N rescaled", "best scale", "R_C", "R", "R_PCA", "overlap"]
    assert list(rows(out)) == names
    assert list(rows(out).values()) == pytest.approx(expected, rel=1e-3)
    assert "x.npy: 1,500 points in 3 dimensions" in out
    assert "1,500 neighborhoods, 8 neighbors each and the point itself" in out
    assert out.count("0 is perfect") == 6
    assert "95 %" not in out
    assert "left out" not in out


@pytest.mark.parametrize(
    "arguments", [(), ("--centers", 700), ("--radius", 4), ("--radius", 4, "--centers", 700)]
)
def test_table_fits_a_narrow_terminal(run, arguments):
    _, out, _ = run("measure", "run.npz", "run.npz:flat", *arguments)
    assert max(map(len, out.splitlines())) <= 80


def test_worst_points(run, folder):
    _, out, _ = run("measure", "run.npz", "run.npz:flat")
    data = np.load(folder / "run.npz")
    values = ub.faithfulness(data["X"], data["flat"]).per_point["r_n"]
    worst = np.argsort(-values, kind="stable")[:15]
    line = next(line for line in out.splitlines() if "worst 1 %" in line)
    assert f"15 points, mean R_N {values[worst].mean():.3g}; worst {', '.join(map(str, worst[:5]))}" in line


def test_sample(run):
    _, out, _ = run("measure", "run.npz", "run.npz:flat", "--centers", 700, "--seed", 3)
    assert "random sample of 700 neighborhoods, of 1,500 (seed 3)" in " ".join(out.split())
    assert "+- (95 %)" in out
    assert "7 points, mean" in out
    assert out == run("measure", "run.npz", "run.npz:flat", "--centers", 700, "--seed", 3)[1]
    assert out != run("measure", "run.npz", "run.npz:flat", "--centers", 700, "--seed", 4)[1]


def test_same_for_any_number_of_threads_and_any_kind_of_file(run):
    out = run("measure", "x.npy", "y.npy")[1]
    assert rows(run("measure", "x.npy", "y.npy", "--jobs", 1)[1]) == rows(out)
    assert rows(run("measure", "run.npz:X", "y.csv")[1]) == rows(out)


def test_without_self(run):
    out = run("measure", "x.npy", "y.npy", "--without-self")[1]
    assert "without the point itself" in out
    assert rows(out) != rows(run("measure", "x.npy", "y.npy")[1])


@pytest.mark.parametrize(
    ("y", "verdict"),
    [
        ("true", "The embedding is faithful: R_N is"),
        ("large", "Only the unit is wrong: multiply the embedding by 0.33"),
        ("line", "Distant points lie on each other: 38%"),
        ("flat", "Distant points lie on each other: 48%"),
    ],
)
def test_verdict(run, y, verdict):
    assert verdict in said(run("measure", "run.npz", f"run.npz:{y}")[1])


def said(out):
    """Return the statement of shape, and what to do next, in one line."""
    return " ".join(out.partition("\n  shape ")[2].split())


def test_verdict_on_a_fold(run, folder):
    y = np.load(folder / "y.npy")
    y[:, 0] = abs(y[:, 0] - np.median(y[:, 0]))
    np.save(folder / "fold.npy", y)
    out = run("measure", "x.npy", "fold.npy")[1]
    assert "Distant points lie on each other" in said(out)
    assert rows(out)["R_N"] < 0.05 < 0.3 < rows(out)["overlap"]
    record = json.loads(run("measure", "x.npy", "fold.npy", "--json")[1])
    assert record["overlap"] == pytest.approx(rows(out)["overlap"], rel=1e-3)
    assert (record["overlap_steps"], record["standard_error"]["overlap"]) == (4, 0)


def test_verdicts_on_the_rest(run, folder):
    x, y = ub.datasets.fishbowl(COUNT, random_state=0)
    np.savez(folder / "bowl.npz", X=x, y=y, noise=np.random.default_rng(0).normal(size=y.shape))
    assert "the scale varies from place to place" in said(run("measure", "bowl.npz", "bowl.npz:y")[1])
    assert "little to do with the data" in said(run("measure", "bowl.npz", "bowl.npz:noise")[1])
    torn = np.load(folder / "y.npy")
    torn[7] += 50
    np.save(folder / "torn.npy", torn)
    out = " ".join(run("measure", "x.npy", "torn.npy")[1].split())
    assert "; most of R_N dimensions 2 dimensions can show" in out
    assert "shape The embedding is torn" in out
    assert "most of R_N" not in run("measure", "x.npy", "y.npy")[1]
    sampled = said(run("measure", "bowl.npz", "bowl.npz:y", "--centers", 300, "--without-self")[1])
    assert "the scale varies from place to place" in sampled


def test_left_out_neighborhoods_are_counted(run, folder):
    x = np.load(folder / "x.npy")
    x[:20] = x[0]
    np.save(folder / "copies.npy", x)
    out = run("measure", "copies.npy", "y.npy")[1]
    assert "left out    20 neighborhoods" in out
    record = json.loads(run("measure", "copies.npy", "y.npy", "--json")[1])
    assert record["n_degenerate"] == 20
    assert not set(record["worst"]["points"]) & set(range(20))


def test_points_without_neighbors_are_counted(run, folder):
    x = np.load(folder / "x.npy")
    x[:3] += [[1e3], [2e3], [3e3]]
    np.save(folder / "far.npy", x)
    assert "alone       3 points" in run("measure", "far.npy", "y.npy", "--radius", 8)[1]
    assert json.loads(run("measure", "far.npy", "y.npy", "--radius", 8, "--json")[1])["n_alone"] == 3
    assert "alone" not in run("measure", "x.npy", "y.npy", "--radius", 8)[1]


def test_nothing_left(run, folder):
    np.save(folder / "spot.npy", np.zeros((COUNT, 3)))
    code, out, _ = run("measure", "spot.npy", "y.npy")
    assert code == 0
    assert "left out    1,500 neighborhoods" in out
    assert "worst" not in out
    assert "Nothing can be judged" in said(out)
    assert json.loads(run("measure", "spot.npy", "y.npy", "--json")[1])["worst"]["r_n"] is None


# Every measure


def test_all(run, folder):
    code, out, err = run("measure", "x.npy", "y.npy", "--all", "-k", 8)
    quality = ub.quality(np.load(folder / "x.npy"), np.load(folder / "y.npy"), n_neighbors=8, random_state=0)
    assert (code, out, err) == (0, f"{quality}\n", "")
    assert max(map(len, out.splitlines())) < 80
    known = json.loads(run("measure", "x.npy", "y.npy", "--all", "--coordinates", "y.csv", "--json")[1])
    assert known["measures"]["m_t"]["value"] < 1e-20
    sampled = ("measure", "x.npy", "y.npy", "--all", "--centers", 300, "--seed", 3, "--json")
    record = json.loads(run(*sampled)[1])
    assert record["n_centers"] == 300
    low, high = record["measures"]["r_n"]["interval"]
    assert low < record["measures"]["r_n"]["value"] < high
    assert json.loads(run(*sampled)[1]) == record


def test_compare(run, folder):
    names = ("large", "flat", "true")
    code, out, err = run("compare", "x.npy", *(f"run.npz:{name}" for name in names))
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) < 80
    first = out.splitlines()[0].split()
    assert first[:2] in (["true", "large"], ["large", "true"])  # R_C does not see the unit
    assert "> trustworthiness " in out
    assert "Only the unit is wrong" in out
    record = json.loads(run("compare", "x.npy", *(f"run.npz:{name}" for name in names), "--json")[1])
    assert record["by"] == "trustworthiness"
    assert record["ranks"]["r_n"] == {"true": 1, "flat": 2, "large": 3}
    assert record["ranks"]["r_c"] == {"true": 1, "large": 1, "flat": 3}


def test_compare_with_what_is_asked_for(run, folder):
    asked = ("--measures", "ranks,m_t", "--by", "continuity", "--coordinates", "y.npy", "--centers", "auto")
    code, out, err = run("compare", "x.npy", "y.csv", "run.npz:flat", *asked)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["y", "flat"]
    assert {line[2:20].strip() for line in out.splitlines()} >= {"continuity", "M_t"}
    assert "R_N" not in out.replace("R_NX", "")


def test_compare_takes_lists_as_people_write_them(run):
    _, spaced, _ = run("compare", "x.npy", "y.npy", "--measures", "r_c, q_nx")
    assert spaced == run("compare", "x.npy", "y.npy", "--measures", "r_c,q_nx")[1]
    assert run("compare", "x.npy", "y.npy", "--measures", "all") == run("compare", "x.npy", "y.npy")


def test_compare_says_which_file(run, folder):
    bad = np.load(folder / "y.npy")
    bad[3, 1] = np.nan
    np.save(folder / "hole.npy", bad)
    said = "hole.npy holds NaN at row 3, column 1"
    assert said in refused(run, "compare", "x.npy", "y.npy", "hole.npy")
    assert said in refused(run, "compare", "x.npy", "y.npy", "--coordinates", "hole.npy")
    far = np.load(folder / "x.npy")
    far[:700] += 1e5
    np.save(folder / "far.npy", far)
    assert "by = 'm_g' cannot be measured" in refused(run, "compare", "far.npy", "y.npy", "--by", "m_g")


def test_compare_sizes(run, folder):
    np.save(folder / "short.npy", np.zeros((10, 2)))
    assert "x.npy has 1500 rows, but short.npy has 10" in refused(
        run, "compare", "x.npy", "y.npy", "short.npy"
    )


# JSON


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((), {}),
        (("-k", 5, "--without-self"), {"n_neighbors": 5, "include_self": False}),
        (("--radius", 3), {"radius": 3}),
        (("--centers", 400, "--seed", 5), {"n_centers": 400, "random_state": 5}),
    ],
)
def test_json_is_faithfulness(run, folder, arguments, keywords):
    code, out, err = run("measure", "run.npz", "run.npz:flat", "--json", *arguments)
    data = np.load(folder / "run.npz")
    m = ub.faithfulness(data["X"], data["flat"], **keywords)
    record = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert {name: record[name] for name in m.to_dict()} == m.to_dict()
    assert record["interval"] == {name: list(m.interval(name)) for name in m.standard_error}
    assert record["worst"]["n_points"] == math.ceil(m.n_centers / 100)
    assert record["worst"]["points"][0] == m.centers[np.argmax(m.per_point["r_n"])]
    assert record["radius"] == keywords.get("radius")
    assert record["n_neighbors"] == (None if "radius" in keywords else keywords.get("n_neighbors", 12))
    assert record["version"] == ub.__version__


def test_json_has_null_for_what_is_not_finite():
    values = {"a": math.inf, "b": [math.nan, 1.5], "c": (-math.inf, 2), "d": "inf", "e": None}
    assert finite(values) == {"a": None, "b": [None, 1.5], "c": [None, 2], "d": "inf", "e": None}


# Diagnose


def test_diagnose(run, folder):
    code, out, err = run("diagnose", "x.npy", "--coordinates", "run.npz:true", "-k", 8)
    assert (code, err) == (0, "")
    found = ub.price_of_normalization(np.load(folder / "x.npy"), np.load(folder / "y.npy"), 8)
    lines = out.splitlines()
    assert lines[0] == "data         x.npy: 1,500 points in 3 dimensions"
    assert lines[1].startswith("coordinates  run.npz:true, sigma / tau = 4.")
    for name, verdict in found.verdicts.items():
        assert f"  {name}" in out
        assert " ".join(verdict.sentence.split()) in " ".join(out.split())
    assert max(map(len, lines)) < 80


def test_diagnose_finds_coordinates(run):
    code, out, err = run("diagnose", "x.npy")
    assert (code, err) == (0, "")
    assert "coordinates  found by Procrustes alignment, sigma / tau = 4." in out
    assert "LEM would collapse" in " ".join(out.split())


def test_diagnose_as_json(run, folder):
    code, out, _ = run("diagnose", "x.npy", "--coordinates", "y.npy", "--json")
    found = ub.price_of_normalization(np.load(folder / "x.npy"), np.load(folder / "y.npy"))
    assert code == 0
    assert json.loads(out) == json.loads(found.to_json())


def test_diagnose_draws(run, folder):
    pytest.importorskip("matplotlib").use("Agg")
    code, _, err = run("diagnose", "x.npy", "--coordinates", "y.npy", "--plot", "price.png")
    assert (code, err) == (0, "")
    assert (folder / "price.png").read_bytes().startswith(b"\x89PNG")
    assert "price.png" in refused(run, "diagnose", "x.npy", "--coordinates", "y.npy", "--plot", "price.png")
    assert run("diagnose", "x.npy", "--coordinates", "y.npy", "--plot", "price.png", "--force")[0] == 0


def test_diagnose_warns_of_doubtful_coordinates_in_one_line(run, folder):
    np.save(folder / "tube.npy", ub.datasets.cylinder(600, random_state=0)[0])
    code, _, err = run("diagnose", "tube.npy")
    assert code == 0
    (doubtful,) = [line for line in err.splitlines() if "Do not trust this embedding" not in line]
    assert doubtful.startswith("unbend: warning: the coordinates that were found are doubtful")


# Errors


def test_without_a_command_the_help_is_printed(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert [name for name in COMMANDS if f"\n    {name}" not in out] == []
    assert out == run("--help")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mesure",), "unknown command 'mesure': did you mean 'measure'? (see unbend --help)"),
        (("umap",), "unknown command 'umap': the commands are embed, transform, measure, compare, report,"),
        (("--verzion",), "unknown argument --verzion (see unbend --help)"),
        (("measure", "x.npy"), "required: Y (see unbend measure --help)"),
        (("measure", "x.npy", "y.npy", "-k", "many"), "invalid int value: 'many'"),
        (("measure", "x.npy", "y.npy", "-k", 3, "--radius", 2), "not allowed with"),
        (
            ("measure", "x.npy", "y.npy", "--neigbors", 3),
            "unknown argument --neigbors: did you mean '--neighbors'? (see unbend measure --help)",
        ),
        (("measure", "x.npy", "y.npy", "--jobbs=3"), "unknown argument --jobbs: did you mean '--jobs'?"),
        (("measure", "x.npy", "y.npy", "z.npy"), "unknown argument z.npy (see unbend measure --help)"),
        (("measure", "x.npy", "y.npy", "--xyz"), "unknown argument --xyz (see unbend measure --help)"),
        (("measure", "x.npy", "y.npy", "-k", 0), "n_neighbors = 0 is too few"),
        (("measure", "x.npy", "y.npy", "-k", 1500), "needs at least 1501 points, got 1500"),
        (("measure", "x.npy", "y.npy", "--radius", -1), "radius = -1"),
        (("measure", "x.npy", "y.npy", "--radius", 1e-9), "no point has a neighbor within radius = 1e-09"),
        (("measure", "x.npy", "y.npy", "--jobs", 0), "n_jobs = 0"),
        (("measure", "x.npy", "y.npy", "--centers", 0), "n_centers = 0"),
        (("measure", "x.npy", "y.npy", "--centers", 9, "--seed", -1), "random_state = -1"),
        (("measure", "none.npy", "y.npy"), "there is no file none.npy"),
        (("measure", "x.npy", "y.txt"), "its suffix '.txt' is none of"),
        (("measure", "run.npz:Z", "y.npy"), "it holds X, true, large, flat, line"),
        (("measure", "y.npy", "x.npy"), "give the data first, then the embedding"),
        (("measure", "x.npy", "y.npy", "--all", "--without-self"), "--all has no --without-self"),
        (("measure", "x.npy", "y.npy", "--coordinates", "y.npy"), "--coordinates is for --all"),
        (("measure", "x.npy", "y.npy", "--all", "--radius", 1e-9), "no point has a neighbor within radius"),
        (("measure", "x.npy", "y.npy", "--centers", "auto", "--half-width", 0), "half_width = 0"),
        (
            ("measure", "x.npy", "y.npy", "--centers", "few"),
            "--centers: 'few' is neither a whole number nor auto",
        ),
        (("compare", "x.npy"), "required: Y (see unbend compare --help)"),
        (("compare", "x.npy", "y.npy", "y.npy"), "y.npy is given twice: give each embedding once"),
        (("compare", "x.npy", "y.npy", "--by", "beauty"), "by = 'beauty' is none of the merits measured"),
        (("compare", "x.npy", "y.npy", "--measures", "ranks,beauty"), "'beauty' is no measure"),
        (("compare", "x.npy", "y.npy", "--measures", ""), "'' is no measure"),
        (("compare", "x.npy", "y.npy", "--radius", 1e-9), "no point has a neighbor within radius"),
        (("compare", "x.npy", "y.npy", "--centers", "auto", "--half-width", "thin"), "invalid float value"),
        (
            ("compare", "x.npy", "y.npy", "--measures", "ranks", "--by", "r_c"),
            "by = 'r_c' is none of the merits",
        ),
        (("diagnose",), "required: X (see unbend diagnose --help)"),
        (("diagnose", "x.npy", "--coordinates", "y.npy", "-d", 3), "leave -d out"),
        (("diagnose", "x.npy", "-k", 3, "--radius", 2), "not allowed with"),
        (("diagnose", "x.npy", "--coordinates", "line.npy"), "there is no file line.npy"),
        (("diagnose", "x.npy", "--coordinates", "run.npz:line"), "at least 2 are needed"),
        (("diagnose", "x.npy", "--plot", "price.txt"), "its suffix '.txt' is none of .png, .pdf, .svg"),
        (("demo", "--n", 5), "at least 13 points"),
    ],
)
def test_bad_usage(folder, arguments, message, run, capsys):
    code, out, err = run(*arguments)
    assert code == 2
    assert arguments[:1] == ("demo",) or out == ""
    assert message in err
    assert err.startswith("unbend: error: ")
    assert err.count("\n") == 1


def test_bad_points(run, folder):
    np.save(folder / "short.npy", np.zeros((10, 2)))
    assert "x.npy has 1500 rows, but short.npy has 10" in refused(run, "measure", "x.npy", "short.npy")
    y = np.load(folder / "y.npy")
    y[3, 1] = np.nan
    np.save(folder / "nan.npy", y)
    assert "nan.npy holds NaN at row 3, column 1" in refused(run, "measure", "x.npy", "nan.npy", "--json")


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "unbend: interrupted\n"),
        (MemoryError(), 1, "unbend: error: out of memory\n"),
        (MemoryError("the fit needs 3 GB"), 1, "unbend: error: the fit needs 3 GB\n"),
        (RuntimeError("two\nlines"), 1, "unbend: error: RuntimeError: two lines\n"),
        (
            OSError(28, "No space left on device"),
            1,
            "unbend: error: OSError: [Errno 28] No space left on device\n",
        ),
    ],
)
def test_failures(run, monkeypatch, failure, code, message):
    def fail(*_):
        raise failure

    monkeypatch.setattr("unbend.cli.measure.read_points", fail)
    assert run("measure", "x.npy", "y.npy") == (code, "", message)


def test_debugging_shows_where(run, monkeypatch):
    monkeypatch.setattr("unbend.cli.measure.read_points", lambda path: 1 / 0)
    monkeypatch.setenv("UNBEND_DEBUG", "1")
    code, _, err = run("measure", "x.npy", "y.npy")
    assert code == 1
    assert "Traceback" in err
    assert err.splitlines()[-1] == "unbend: error: ZeroDivisionError: division by zero"


# Embed


@pytest.fixture
def place(folder, tmp_path):
    """A folder for what is written."""
    return tmp_path


def align(x, **options):
    return ub.ProcrustesAlignment(random_state=0, **options).fit(x)


def greedy(x, **options):
    return ub.GreedyProcrustes(random_state=0, **options).fit(x)


def number(table, name):
    return next(float(line[16:25]) for line in table.splitlines() if line[2:16].strip() == name)


def test_embed(run, folder, place):
    code, out, err = run("embed", "x.npy", "-o", place / "y.npy", "--save", place / "m.unbend")
    assert (code, err) == (0, "")
    psa = align(np.load(folder / "x.npy"))
    np.testing.assert_array_equal(np.load(place / "y.npy"), psa.embedding_)
    np.testing.assert_array_equal(ub.load(place / "m.unbend").embedding_, psa.embedding_)
    assert sorted(os.listdir(place)) == ["m.unbend", "y.npy"]
    m = psa.faithfulness_
    for name, value in (("R_N", m.r_n), ("R_C", m.r_c), ("lower bound", m.lower_bound)):
        assert number(out, name) == pytest.approx(value, rel=1e-3)
    for stage in ("tangents", "alignment", "assembly", "refine", "faithfulness", "total"):
        assert number(out, stage) >= 0
    assert "x.npy: 1,500 points in 3 dimensions" in out
    text = " ".join(out.split())
    assert "Procrustes subspaces alignment (tree), 12 neighbors each; global refinement, " in text
    assert f"{psa.n_iter_} step" in text
    assert "  verdict    " in out


def test_embed_by_greedy_procrustes(run, folder, place):
    out = run("embed", "x.npy", "-o", place / "y.npy", "--method", "gp", "--save", place / "m.unbend")[1]
    gp = greedy(np.load(folder / "x.npy"))
    np.testing.assert_array_equal(np.load(place / "y.npy"), gp.embedding_)
    assert isinstance(ub.load(place / "m.unbend"), ub.GreedyProcrustes)
    text = " ".join(out.split())
    assert "greedy Procrustes (best of 4 starts), 12 neighbors each; global refinement, " in text
    for stage in ("greedy", "refine", "total"):
        assert number(out, stage) >= 0


def test_embed_opens_a_table_once(run, folder, place):
    np.savetxt(place / "x.csv", np.load(folder / "x.npy"), delimiter=",", header="a,b,c", comments="")
    opened = []
    sys.addaudithook(lambda event, found: opened.append(found[0]) if event == "open" else None)
    for more in ((), ("--max-memory", "1T")):
        opened.clear()
        assert run("embed", place / "x.csv", "-o", place / "y.csv", "--force", *more)[0] == 0
        assert opened.count(str(place / "x.csv")) + opened.count(place / "x.csv") == 1


@pytest.mark.parametrize(
    ("arguments", "model", "words"),
    [
        (
            ("isomap", "--landmarks", 60),
            ub.Isomap(n_landmarks=60, random_state=0),
            "Isomap from 60 landmarks",
        ),
        (("isomap", "-k", 9), ub.Isomap(n_neighbors=9), "Isomap, 9 neighbors each"),
        (("classical",), ub.ClassicalScaling(), "classical scaling"),
        (("pca", "-d", 1), ub.PCA(1), "principal components ("),
        (("random", "-d", 3), ub.RandomProjection(3, random_state=0), "random projection (gaussian"),
        (("lle",), ub.LocallyLinearEmbedding(), "locally linear embedding (tikhonov)"),
        (("mlle", "-d", 1), ub.ModifiedLLE(1), "modified locally linear embedding"),
        (("ltsa", "--rectify"), ub.LTSA(rectify=True), "local tangent space alignment"),
        (("hlle", "-k", 9), ub.HessianLLE(n_neighbors=9), "Hessian LLE, 9 neighbors each"),
        (("lem",), ub.LaplacianEigenmaps(), "Laplacian eigenmaps (window kernel)"),
        (("dfm",), ub.DiffusionMaps(), "diffusion maps (heat kernel)"),
    ],
)
@pytest.mark.filterwarnings("ignore::unbend.DistortionWarning")
def test_embed_by_other_methods(run, folder, place, arguments, model, words):
    x = np.load(folder / "x.npy")
    model.fit(x)
    command = ("embed", "x.npy", "-o", place / "y.npy", "--save", place / "m", "--method", *arguments)
    code, out, _ = run(*command)
    assert code == 0
    assert words in out
    np.testing.assert_array_equal(np.load(place / "y.npy"), model.embedding_)
    nb = ub.neighborhoods(x, 9 if "-k" in arguments else 12)
    r_n = ub.faithfulness(x, model.embedding_, neighborhoods=nb).r_n
    assert number(out, "R_N") == pytest.approx(r_n, rel=1e-3)
    record = json.loads(run(*command, "--force", "--json")[1])
    assert record["r_n"] == pytest.approx(r_n)
    assert record["n_components"] == model.embedding_.shape[1]
    assert run("transform", place / "m", "x.npy", "-o", place / "z.npy")[0] == 0
    np.testing.assert_array_equal(np.load(place / "z.npy"), model.embedding_)
    assert run("transform", place / "m", place / "z.npy", "-o", place / "b.npy", "--inverse")[0] == 0


def test_embed_refuses_landmarks_that_make_no_sense(run, place):
    arguments = ("embed", "x.npy", "-o", place / "y.npy", "--method")
    assert "--landmarks auto goes with" in refused(run, *arguments, "classical", "--landmarks", "auto")
    assert "n_landmarks = 2 is too few" in refused(run, *arguments, "isomap", "--landmarks", 2)


def test_embed_rectifies_what_was_normalized(run, place):
    message = refused(run, "embed", "x.npy", "-o", place / "y.npy", "--method", "gp", "--rectify")
    assert "--rectify goes with --method lle, mlle, ltsa, hlle, lem, dfm only, not gp" in message


def test_embed_fits_a_narrow_terminal(run):
    out = run("embed", "x.npy", "-o", "flat.npy", "--save", "m", "--tangent-neighbors", 30, "--force")[1]
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("-d", 3), {"n_components": 3}),
        (("-k", 9), {"n_neighbors": 9}),
        (("--method", "gp", "--refine", "none"), {"refine": None}),
        (("--refine", "pointwise", "--method", "gp", "--init", 1), {"refine": "pointwise", "n_init": 1}),
        (("--alignment", "auto"), {"alignment": "auto"}),
        (("--tangent-neighbors", 30, "--jobs", 1), {"tangent_neighbors": 30}),
    ],
)
def test_embed_options(run, folder, place, arguments, options):
    code, out, err = run("embed", "run.npz", "-o", place / "y.npy", *arguments)
    assert (code, err) == (0, "")
    fit = greedy if "gp" in arguments else align
    model = fit(np.load(folder / "x.npy"), **options)
    np.testing.assert_array_equal(np.load(place / "y.npy"), model.embedding_)
    assert ("refinement" in out) == (model.refinement_ is not None)
    assert ("one start" in out) == ("n_init" in options)


def test_embed_seed(run, place):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        more = ("--seed", seed, "--method", "gp", "--init", 1, "--refine", "none")
        run("embed", "x.npy", "-o", place / f"{name}.npy", *more)
    a, b, c = (np.load(place / f"{name}.npy") for name in "abc")
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".tsv", ".parquet"])
def test_embed_and_transform_write_every_kind(run, folder, place, suffix):
    from unbend.files import read_points

    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    psa = align(np.load(folder / "x.npy"))
    flat, back = place / f"y{suffix}", place / f"z{suffix}"
    assert run("embed", "x.npy", "-o", flat, "--save", place / "m", "--quiet") == (0, "", "")
    np.testing.assert_array_equal(read_points(flat), psa.embedding_)
    assert run("transform", place / "m", flat, "-o", back, "--inverse", "--quiet") == (0, "", "")
    np.testing.assert_array_equal(read_points(back), psa.X_fit_)


def test_embed_json(run, folder, place):
    code, out, err = run("embed", "x.npy", "-o", place / "y.npy", "--json")
    assert (code, err) == (0, "")
    record, psa = json.loads(out), align(np.load(folder / "x.npy"))
    assert {name: record[name] for name in psa.faithfulness_.to_dict()} == psa.faithfulness_.to_dict()
    stages = {"neighbors", "tangents", "alignment", "assembly", "refine", "evidence", "faithfulness"}
    assert set(record["seconds"]) - {"charts"} == stages
    assert (record["alignment"], record["orientable"], record["n_open_loops"]) == ("tree", True, 0)
    assert record["alignments"]["tree"]["converged"]
    assert record["refine_status"] == psa.refinement_.status
    assert (record["method"], record["n_neighbors"], record["n_components"]) == ("psa", 12, 2)
    assert record["n_connected_components"] == 1
    assert record["model"] is None
    record = json.loads(run("embed", "x.npy", "-o", place / "z.npy", "--json", "--refine", "none")[1])
    assert (record["refine"], record["refine_status"], record["n_iter"]) == (None, None, 0)


def test_embed_warns_in_lines(run, folder, place):
    x = np.load(folder / "x.npy")
    np.save(folder / "two.npy", np.concatenate([x, x[:700] + 500]))
    code, out, err = run("embed", "two.npy", "-o", place / "y.npy", "--json")
    assert (code, json.loads(out)["n_connected_components"]) == (0, 2)
    graph, verdict = err.splitlines()
    assert graph.startswith("unbend: warning: the neighborhood graph has 2 components, of 1,500, 700 points")
    assert verdict.startswith("unbend: warning: Do not trust this embedding as a whole: connected components")


def test_quiet_prints_no_warnings(run, folder, place, monkeypatch):
    x = np.load(folder / "x.npy")
    np.save(place / "two.npy", np.concatenate([x, x[:700] + 500]))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)  # progress is for terminals
    assert run("embed", place / "two.npy", "-o", place / "y.npy", "--quiet") == (0, "", "")
    assert "unbend: error: " in run("embed", place / "two.npy", "-o", place / "y.npy", "--quiet")[2]
    assert "warning: " in run("embed", place / "two.npy", "-o", place / "z.npy")[2]


def test_nothing_is_overwritten_without_force(run, folder, place, monkeypatch):
    for name in ("y.npy", "m"):
        (place / name).write_text("precious")
    for command in ("embed", "transform"):
        monkeypatch.setattr(f"unbend.cli.{command}.read_points", lambda path: pytest.fail("work has begun"))
    assert "y.npy: it exists already, use --force" in refused(run, "embed", "x.npy", "-o", place / "y.npy")
    arguments = ("embed", "x.npy", "-o", place / "z.npy", "--save", place / "m")
    assert "m: it exists already" in refused(run, *arguments)
    assert "y.npy: it exists already" in refused(run, "transform", "m", "x.npy", "-o", place / "y.npy")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    code, _, _ = run("embed", "x.npy", "-o", place / "y.npy", "--save", place / "m", "--force")
    assert code == 0
    assert np.load(place / "y.npy").shape == (COUNT, 2)
    assert run("transform", place / "m", "x.npy", "-o", place / "y.npy", "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("embed", "x.npy"), "required: -o/--output"),
        (("embed", "x.npy", "-o", "y.txt"), "its suffix '.txt' is none of .npy, .npz, .csv, .tsv, .parquet"),
        (("embed", "x.npy", "-o", "none/y.npy"), "there is no folder none"),
        (("embed", "x.npy", "-o", "q.npy", "--save", "none/m"), "there is no folder none"),
        (("embed", "x.npy", "-o", "q.npy", "--save", "./q.npy"), "both ./q.npy: give them different names"),
        (
            ("embed", "x.npy", "-o", "q.npy", "--method", "tsne"),
            "unknown --method 'tsne': the values are psa, gp,",
        ),
        (("embed", "x.npy", "-o", "q.npy", "--method", "isomop"), "'isomop': did you mean 'isomap'?"),
        (("embed", "x.npy", "-o", "q.npy", "--method", "umap"), "'umap': the values are psa, gp, isomap,"),
        (
            ("embed", "x.npy", "-o", "q.npy", "--refine", "much"),
            "unknown --refine 'much': the values are auto,",
        ),
        (("embed", "x.npy", "-o", "q.npy", "-d", 4), "n_components = 4 exceeds the 3 dimensions"),
        (("embed", "x.npy", "-o", "q.npy", "-k", 1500), "n_neighbors = 1500 needs at least 1501 points"),
        (("embed", "x.npy", "-o", "q.npy", "--method", "gp", "--init", 0), "n_init = 0"),
        (("embed", "x.npy", "-o", "q.npy", "--init", 2), "--init goes with --method gp only, not psa"),
        (
            ("embed", "x.npy", "-o", "q.npy", "--method", "gp", "--alignment", "tree"),
            "--alignment goes with --method psa only, not gp",
        ),
        (("embed", "x.npy", "-o", "q.npy", "--method", "gp", "--seed", -1), "random_state = -1"),
        (("embed", "x.npy", "-o", "q.npy", "--jobs", 0), "n_jobs = 0"),
        (("embed", "none.npy", "-o", "q.npy"), "there is no file none.npy"),
        (("embed", "run.npz:Z", "-o", "q.npy"), "it holds X, true"),
        (("transform", "none", "x.npy", "-o", "q.npy"), "there is no file none"),
        (("transform", "x.npy", "x.npy", "-o", "q.npy"), "x.npy: it is damaged, or no model"),
        (("transform", "run.npz", "x.npy", "-o", "q.npy"), "it holds no model.json"),
        (("transform", "m", "x.npy"), "required: -o/--output"),
    ],
)
def test_embed_and_transform_refuse(run, folder, arguments, message):
    before = sorted(os.listdir(folder))
    assert message in refused(run, *arguments)
    assert sorted(os.listdir(folder)) == before


def test_embed_names_the_bad_entry(run, folder, place):
    x = np.load(folder / "x.npy")
    x[3, 1] = np.nan
    np.save(folder / "hole.npy", x)
    assert "X holds NaN at row 3, column 1" in refused(run, "embed", "hole.npy", "-o", place / "y.npy")
    assert os.listdir(place) == []


def test_embed_without_memory(run, place, monkeypatch):
    monkeypatch.setattr("unbend.core.memory.available", lambda: 1000)
    code, out, err = run("embed", "x.npy", "-o", place / "y.npy")
    assert (code, out) == (1, "")
    assert "The fit needs about" in err
    assert os.listdir(place) == []


def test_a_disk_that_is_full_leaves_nothing(run, place, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    code, _, err = run("embed", "x.npy", "-o", place / "y.npy")
    assert code == 2
    assert "y.npy: No space left on device" in err
    assert os.listdir(place) == []


# Transform


def test_transform(run, folder, place):
    x = np.load(folder / "x.npy")
    psa = align(x[:1200])
    psa.save(place / "m")
    np.save(folder / "new.npy", x[1200:])
    code, out, err = run("transform", place / "m", "new.npy", "-o", place / "y.npy", "--jobs", 1)
    assert (code, err) == (0, "")
    placed, errors = psa.transform(x[1200:], return_error=True)
    np.testing.assert_array_equal(np.load(place / "y.npy"), placed)
    assert number(out, "mean error") == pytest.approx(errors.mean(), rel=1e-3)
    assert number(out, "worst error") == pytest.approx(errors.max(), rel=1e-3)
    assert f"point {errors.argmax()}" in out
    assert "new.npy: 300 points in 3 dimensions" in out
    run("transform", place / "m", place / "y.npy", "-o", place / "x.npy", "--inverse")
    np.testing.assert_array_equal(np.load(place / "x.npy"), psa.inverse_transform(placed))


def test_transform_of_other_columns(run, folder, place):
    align(np.load(folder / "x.npy")).save(place / "m")
    target = ("-o", place / "z.npy")
    message = refused(run, "transform", place / "m", "y.npy", *target)
    assert "y.npy has 2 columns" in message
    assert "has data of 3 dimensions" in message
    message = refused(run, "transform", place / "m", "x.npy", *target, "--inverse")
    assert "has an embedding of 2 dimensions" in message


# Help


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert "exit codes:" in out
    assert "\n  unbend " in out[out.index("example") :]
    assert max(map(len, out.splitlines())) <= 80
    assert command == [] or "--json" in out
    examples = re.findall(r"^  (unbend .*)$", out, re.MULTILINE)
    for example in examples:
        parser().parse_args(shlex.split(example)[1:])
    assert examples


def test_version(run):
    assert run("--version") == (0, f"unbend {ub.__version__}\n", "")


# As a process


def start(*arguments, **options):
    command = [sys.executable, "-m", "unbend", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


# Imports what commands need, and carries out each in a fork, with Ctrl-C in the midst of its work.
INTERRUPTED = """
import json, os
import unbend as ub, unbend.cli, unbend.report.page, unbend.report.scene
from unbend.estimators import models
for name in ub.__all__:
    getattr(ub, name)
for name, arguments in json.loads(sys.argv[1]).items():
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        for number, kind in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{name}.{kind}", os.O_CREAT | os.O_WRONLY), number)
        os.chdir(name)
        Strike(0.3).start()
        code = unbend.cli.main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""

LONG = {
    "embed": ("embed", "../x.npy", "-o", "y.npy", "--save", "m"),
    "measure": ("measure", "../x.npy", "../x.npy", "--all"),
    "compare": ("compare", "../x.npy", "../x.npy", "--json"),
    "report": ("report", "../x.npy", "../x.npy", "-o", "r.html"),
    "transform": ("transform", "../m", "../x.npy", "-o", "y.npy"),
}
"""Commands that would take seconds, each in a folder of its own."""


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """The folder in which commands were interrupted, and the exit code of each."""
    folder = tmp_path_factory.mktemp("interrupted")
    x = ub.datasets.swiss_roll(400_000, random_state=0)[0]
    x = np.column_stack([x, x**2, np.sin(x)])
    np.save(folder / "x.npy", x)
    ub.GreedyProcrustes(refine=None, n_init=1, random_state=0).fit(x[:2000]).save(folder / "m")
    for name in LONG:
        (folder / name).mkdir()
    command = [sys.executable, "-c", IMPORT + INTERRUPTED, json.dumps(LONG)]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert told.returncode == 0, told.stderr
    return folder, dict(line.split() for line in told.stdout.splitlines())


def test_process(folder):
    code, out, err = finish(start("measure", "x.npy", "y.npy", cwd=folder))
    assert (code, err) == (0, "")
    assert "R_PCA" in out


def test_process_refuses(folder):
    code, out, err = finish(start("measure", "x.npy", "none.npy", "--json", cwd=folder))
    assert (code, out, err) == (2, "", "unbend: error: there is no file none.npy\n")


def test_starts_at_once():
    modules = "import sys; from unbend.cli import main; main(['measure', '--help']); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", modules], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"matplotlib", "scipy", "sklearn", "pyarrow", "unbend.partition", "unbend.estimators"} & set(
        loaded
    )


def test_a_reader_that_leaves_is_no_error(folder):
    process = start("measure", "x.npy", "y.npy", cwd=folder)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=300) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("name", LONG)
def test_any_command_interrupted(interrupted, name):
    folder, codes = interrupted
    assert (codes[name], (folder / f"{name}.out").read_text()) == ("130", "")
    assert (folder / f"{name}.err").read_text() == "unbend: interrupted\n"
    assert os.listdir(folder / name) == []


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_progress_in_a_terminal(folder, tmp_path):
    import pty

    ours, theirs = pty.openpty()
    arguments = ["embed", "x.npy", "-o", str(tmp_path / "y.npy")]
    command = [sys.executable, "-m", "unbend", *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    out, _ = process.communicate(timeout=300)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert process.returncode == 0
    assert "R_N" in out
    for stage in ("neighbors", "alignment", "refine", "faithfulness"):
        assert f"\r  {stage} " in shown


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX")
def test_comparing_says_how_far_it_is(folder):
    import pty

    x = np.random.default_rng(0).normal(size=(2500, 9))
    np.savez(folder / "wide.npz", X=x, a=x[:, :2], b=x[:, :3])
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "unbend", "compare", "wide.npz:X", "wide.npz:a", "wide.npz:b"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    process.communicate(timeout=300)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert process.returncode == 0
    shares = [int(share) for share in re.findall(r"\r  measures +(\d+) %", shown)]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] == 75


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_interrupted(tmp_path):
    process = start("demo", "--n", 2_000_000, "-o", tmp_path, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout.readline().startswith("A swiss roll")
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert (code, err) == (130, "unbend: interrupted\n")
    assert os.listdir(tmp_path) == []


# Ids and columns


@pytest.fixture
def table(folder, place):
    """A table of a roll with a number and a name of each point."""
    x = np.load(folder / "x.npy")[:600]
    lines = [f"{i},p{i:03d},{','.join(f'{v:.17g}' for v in row)}" for i, row in enumerate(x)]
    (place / "cells.csv").write_text("number,cell,a,b,c\n" + "\n".join(lines) + "\n")
    np.save(place / "plain.npy", x)
    return place / "cells.csv"


def test_ids_are_carried_to_the_outputs(run, place, table):
    flat, placed, plain = place / "flat.csv", place / "placed.csv", place / "plain-flat.npy"
    code, out, err = run("embed", f"{table}:-number", "-o", flat, "--id", "cell", "--save", place / "m")
    assert (code, err) == (0, "")
    assert f"{flat}:-cell" in "".join(out.split())
    run("embed", place / "plain.npy", "-o", plain)
    assert flat.read_text().splitlines()[0] == "cell,y1,y2"
    assert [line.split(",")[0] for line in flat.read_text().splitlines()[1:4]] == ["p000", "p001", "p002"]
    np.testing.assert_array_equal(read_points(f"{flat}:-cell"), np.load(plain))
    assert run("transform", place / "m", f"{table}:3-", "-o", placed, "--id", "cell", "--quiet") == (
        0,
        "",
        "",
    )
    assert placed.read_text() == flat.read_text()


def test_ids_are_refused_before_work(run, place, table, monkeypatch):
    monkeypatch.setattr("unbend.cli.embed.estimator", lambda options: pytest.fail("work has begun"))
    where = "--id goes with an output in .csv, .tsv, .parquet, not"
    assert where in refused(run, "embed", table, "-o", place / "flat.npy", "--id", "cell")
    said = refused(run, "embed", table, "-o", place / "flat.csv", "--id", "cel")
    assert "cells.csv has no column 'cel': did you mean 'cell'?" in said
