"""The command: what it prints, where, and with what exit code."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import unbend as ub
from unbend import cli
from unbend.cli import main

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
    names = ("R_N", "lower bound", "R_N rescaled", "best scale", "R_C", "R", "R_PCA")
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
    expected = [m.r_n, m.lower_bound, m.r_n_scaled, m.scale, m.r_c, m.r, m.r_pca]
    assert list(rows(out)) == ["R_N", "lower bound", "R_N rescaled", "best scale", "R_C", "R", "R_PCA"]
    assert list(rows(out).values()) == pytest.approx(expected, rel=1e-3)
    assert "x.npy: 1,500 points in 3 dimensions" in out
    assert "1,500 neighbourhoods, 8 neighbours each and the point itself" in out
    assert out.count("0 is perfect") == 5
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
    assert "700 neighbourhoods drawn from 1,500 (seed 3)" in " ".join(out.split())
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
    ("y", "reading"),
    [
        ("true", "as faithful as an embedding of this dimension can be"),
        ("large", "the scale is off by x0.33"),
        ("line", "X is not flat enough for this dimension"),
        ("flat", "both shapes and sizes of neighbourhoods are distorted"),
    ],
)
def test_reading(run, y, reading):
    last = run("measure", "run.npz", f"run.npz:{y}")[1].splitlines()[-1]
    assert last.startswith("  reading ")
    assert reading in last


def test_readings_of_the_rest(run, folder):
    x, y = ub.datasets.fishbowl(COUNT, random_state=0)
    np.savez(folder / "bowl.npz", X=x, y=y, noise=np.random.default_rng(0).normal(size=y.shape))
    assert "R_C is far below R_N" in run("measure", "bowl.npz", "bowl.npz:y")[1]
    assert "almost nothing" in run("measure", "bowl.npz", "bowl.npz:noise")[1]
    torn = np.load(folder / "y.npy")
    torn[7] += 50
    np.save(folder / "torn.npy", torn)
    assert "a few points make up most of R_N" in run("measure", "x.npy", "torn.npy")[1]


def test_left_out_neighbourhoods_are_counted(run, folder):
    x = np.load(folder / "x.npy")
    x[:20] = x[0]
    np.save(folder / "copies.npy", x)
    out = run("measure", "copies.npy", "y.npy")[1]
    assert "left out   20 neighbourhoods" in out
    record = json.loads(run("measure", "copies.npy", "y.npy", "--json")[1])
    assert record["n_degenerate"] == 20
    assert not set(record["worst"]["points"]) & set(range(20))


def test_points_without_neighbours_are_counted(run, folder):
    x = np.load(folder / "x.npy")
    x[:3] += [[1e3], [2e3], [3e3]]
    np.save(folder / "far.npy", x)
    assert "alone      3 points" in run("measure", "far.npy", "y.npy", "--radius", 8)[1]
    assert json.loads(run("measure", "far.npy", "y.npy", "--radius", 8, "--json")[1])["n_alone"] == 3
    assert "without any neighbour" not in run("measure", "x.npy", "y.npy", "--radius", 8)[1]


def test_nothing_left(run, folder):
    np.save(folder / "spot.npy", np.zeros((COUNT, 3)))
    code, out, _ = run("measure", "spot.npy", "y.npy")
    assert code == 0
    assert "left out   1,500 neighbourhoods" in out
    assert "worst" not in out
    assert "nothing to compare" in out
    assert json.loads(run("measure", "spot.npy", "y.npy", "--json")[1])["worst"]["r_n"] is None


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
    assert cli._finite(values) == {"a": None, "b": [None, 1.5], "c": [None, 2], "d": "inf", "e": None}


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a command, measure or demo"),
        (("mesure",), "invalid choice: 'mesure'"),
        (("measure", "x.npy"), "required: Y (see unbend measure --help)"),
        (("measure", "x.npy", "y.npy", "-k", "many"), "invalid int value: 'many'"),
        (("measure", "x.npy", "y.npy", "-k", 3, "--radius", 2), "not allowed with"),
        (("measure", "x.npy", "y.npy", "--cent", 3), "unrecognized arguments: --cent"),
        (("measure", "x.npy", "y.npy", "-k", 0), "n_neighbors = 0 is too few"),
        (("measure", "x.npy", "y.npy", "-k", 1500), "needs at least 1501 points, got 1500"),
        (("measure", "x.npy", "y.npy", "--radius", -1), "radius = -1"),
        (("measure", "x.npy", "y.npy", "--radius", 1e-9), "no point has a neighbour within radius = 1e-09"),
        (("measure", "x.npy", "y.npy", "--jobs", 0), "n_jobs = 0"),
        (("measure", "x.npy", "y.npy", "--centers", 0), "n_centers = 0"),
        (("measure", "x.npy", "y.npy", "--centers", 9, "--seed", -1), "random_state = -1"),
        (("measure", "none.npy", "y.npy"), "there is no file none.npy"),
        (("measure", "x.npy", "y.txt"), "its suffix '.txt' is none of"),
        (("measure", "run.npz:Z", "y.npy"), "it holds X, true, large, flat, line"),
        (("measure", "y.npy", "x.npy"), "give the data first, then the embedding"),
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
    assert "x.npy has 1500 points, but short.npy has 10" in refused(run, "measure", "x.npy", "short.npy")
    y = np.load(folder / "y.npy")
    y[3, 1] = np.nan
    np.save(folder / "nan.npy", y)
    assert "Y holds NaN at row 3, column 1" in refused(run, "measure", "x.npy", "nan.npy", "--json")


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "unbend: interrupted\n"),
        (MemoryError(), 1, "unbend: error: out of memory\n"),
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

    monkeypatch.setattr("unbend.files.read_points", fail)
    assert run("measure", "x.npy", "y.npy") == (code, "", message)


def test_debugging_shows_where(run, monkeypatch):
    monkeypatch.setattr("unbend.files.read_points", lambda path: 1 / 0)
    monkeypatch.setenv("UNBEND_DEBUG", "1")
    code, _, err = run("measure", "x.npy", "y.npy")
    assert code == 1
    assert "Traceback" in err
    assert err.splitlines()[-1] == "unbend: error: ZeroDivisionError: division by zero"


# Help


@pytest.mark.parametrize("command", [[], ["measure"], ["demo"]])
def test_help(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run(*command, "--help")
    assert (code, err) == (0, "")
    assert "exit codes:" in out
    assert "\n  unbend " in out[out.index("example") :]
    assert max(map(len, out.splitlines())) <= 80


def test_version(run):
    assert run("--version") == (0, f"unbend {ub.__version__}\n", "")


# As a process


def start(*arguments, **options):
    command = [sys.executable, "-m", "unbend", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finish(process):
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


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
    assert not {"matplotlib", "scipy", "pyarrow", "unbend.demo", "unbend.files"} & set(loaded)


def test_a_reader_that_leaves_is_no_error(folder):
    process = start("measure", "x.npy", "y.npy", cwd=folder)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=30) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_interrupted(tmp_path):
    process = start("demo", "--n", 2_000_000, "-o", tmp_path, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout.readline().startswith("A swiss roll")
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert (code, err) == (130, "unbend: interrupted\n")
    assert os.listdir(tmp_path) == []
