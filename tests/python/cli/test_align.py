"""`unbend align`: maps in files brought together."""

import json

import numpy as np
import pytest
import unbend as ub
from unbend.cli import main

MIRROR = np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """Coordinates of thirty sensors; a.csv has all, b.csv the last 25 mirrored and in another order, one wrong."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(30, 2))
    monkeypatch.chdir(tmp_path)
    other = (truth + rng.normal(scale=0.01, size=truth.shape)) @ MIRROR + 3
    other[7] += 2
    for name, y, rows in (("a", truth, range(30)), ("b", other, reversed(range(5, 30)))):
        lines = [f"s{i},{y[i, 0]:.17g},{y[i, 1]:.17g}" for i in rows]
        (tmp_path / f"{name}.csv").write_text("\n".join(["sensor,x,y", *lines]) + "\n")
    np.save(tmp_path / "a.npy", truth)
    np.save(tmp_path / "b.npy", (2 * truth @ MIRROR).astype(np.float32))
    return truth


def run(capsys, *arguments):
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_last_map_is_written_as_the_first_has_it(truth, capsys):
    code, out, err = run(capsys, "align", "a.csv", "b.csv", "-o", "c.csv", "--id", "sensor")
    assert (code, err) == (0, "")
    names = np.loadtxt("c.csv", delimiter=",", skiprows=1, usecols=0, dtype=str)
    placed = np.loadtxt("c.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    assert names.tolist() == [f"s{i}" for i in reversed(range(5, 30))]
    good = names != "s7"
    np.testing.assert_allclose(placed[good], truth[:4:-1][good], atol=0.05)
    assert "b.csv: reflected" in out
    assert out.count("1 suspect correspondences: s7") == 2
    assert max(map(len, out.splitlines())) <= 80


def test_the_consensus_has_every_point(truth, capsys):
    arguments = ("align", "a.csv", "b.csv", "-o", "c.csv", "--id", "sensor", "--consensus")
    assert run(capsys, *arguments, "--quiet") == (0, "", "")
    names = np.loadtxt("c.csv", delimiter=",", skiprows=1, usecols=0, dtype=str)
    assert sorted(names) == sorted(f"s{i}" for i in range(30))
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert "c.csv: it exists already" in err


def test_rows_are_points_without_ids(truth, capsys):
    code, out, _ = run(capsys, "align", "a.npy", "b.npy", "-o", "c.npy", "--scale", "--json")
    assert code == 0
    record = json.loads(out)
    np.testing.assert_allclose(np.load("c.npy"), truth, atol=1e-5)
    found = ub.align([np.load("a.npy"), np.load("b.npy")], scale=True)
    assert record["maps"][1]["scale"] == pytest.approx(0.5)
    assert record["maps"][1]["rotation"] == found.transforms[1].rotation.tolist()
    assert (record["n_points"], record["maps"][0]["n_common"]) == (30, 30)


def test_reflections_may_be_refused(truth, capsys):
    code, out, _ = run(
        capsys, "align", "a.npy", "b.npy", "-o", "c.npy", "--no-reflections", "--json", "--not-robust"
    )
    assert code == 0
    assert np.linalg.det(json.loads(out)["maps"][1]["rotation"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.csv", "-o", "c.csv"), "a.csv is one map: at least 2 are needed"),
        (
            ("a.csv:x,y", "b.csv:x,y", "-o", "c.csv"),
            "map 'a.csv:x,y' has 30 rows, but map 'b.csv:x,y' has 25",
        ),
        (("a.csv", "b.csv", "-o", "c.npy", "--id", "sensor"), "--id goes with an output in .csv"),
        (("a.npy", "none.npy", "-o", "c.npy"), "there is no file none.npy"),
    ],
)
def test_bad_input_is_refused(truth, capsys, arguments, message):
    code, out, err = run(capsys, "align", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("unbend: error: ")
    assert message in err
