"""embed, measure, compare and report say the same of the same embedding, cut or not, whatever holds it."""

import json
import re
import warnings

import numpy as np
import pytest
import unbend as ub
from unbend.cli import main

K = 10
QUICK = ("--measures", "procrustes,m_l,disagreement,trustworthiness,q_nx,geodesic_stress")
QUESTIONS = ("verdict", "dimensions", "neighbors", "distances", "shape", "next")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tube and a roll as files."""
    place = tmp_path_factory.mktemp("cut")
    tube, _ = ub.datasets.cylinder(1200, random_state=0)
    roll, _ = ub.datasets.swiss_roll(800, random_state=0)
    np.save(place / "tube.npy", tube)
    np.save(place / "roll.npy", roll)
    return place


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run the command in the folder; return its exit code and what it printed."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def flat(text):
    return " ".join(text.split())


def said(out):
    """Return the statements by their questions, and the sentence about what is left out, of any command."""
    found, last = {}, None
    for line in out.splitlines():
        head = re.match(rf" {{0,5}}({'|'.join(QUESTIONS)})  ?(?! *[\d.]+ s$)", line)
        if head:
            last = head[1]
            found[last] = line[head.end() :]
        elif last and line.startswith(" " * 12):
            found[last] += line
        else:
            last = None
    left_out = re.search(r"[\d,]+ pairs of neighbors that .*? left out .*? R_N is [\d.e+]+\.", flat(out))
    return {question: flat(text) for question, text in found.items()}, left_out and left_out[0]


def numbers(record):
    """Return the numbers of `--json` of embed and measure that compare prints as well."""
    names = ("r_n", "r_c", "lower_bound", "scale", "r_n_scaled", "overlap")
    whole = record["whole"] and {name: record["whole"][name] for name in names if name != "overlap"}
    return {name: record[name] for name in names}, whole


def compared(record):
    """Return the same numbers of one embedding of `--json` of compare and report."""
    names = ("r_n", "r_c", "lower_bound", "scale", "r_n_scaled", "overlap")
    measures = record["measures"]
    wholes = {name: measures[name]["whole"]["value"] for name in names if "whole" in measures[name]}
    return {name: measures[name]["value"] for name in names}, wholes or None


@pytest.mark.parametrize(
    ("data", "method", "more", "suffix"),
    [
        ("tube", "psa", (), ".npy"),
        ("tube", "psa", (), ".csv"),
        ("tube", "psa", (), ".npz"),
        ("tube", "gp", (), ".npy"),
        ("tube", "gp", ("--cut", "no"), ".npy"),
        ("roll", "psa", (), ".npy"),
        ("roll", "pca", (), ".npy"),
        ("roll", "isomap", (), ".csv"),
    ],
)
def test_all_four_say_the_same(run, folder, data, method, more, suffix):
    pytest.importorskip("bokeh")
    x, y, pairs, page = f"{data}.npy", f"flat{suffix}", f"pairs{suffix}", "page.html"
    paths = ("--cut-pairs", pairs) if method in ("psa", "gp") else ()
    embed = ("embed", x, "-o", y, "--save", "m.unbend", *paths, "--method", method, *more, "--force")
    embed += ("-k", K) if method not in ("pca",) else ()
    assert run(*embed)[0] == 0
    read = ("-k", K) if method not in ("pca",) else ()
    ways = {"model": ("m.unbend",), "file": (y, *paths, *read)}
    statements, cut = said(run(*embed)[1])
    assert {*QUESTIONS[1:5]} <= {*statements}
    known = json.loads(run(*embed, "--json")[1])
    expected, findings = numbers(known), known["findings"]
    assert {**statements, "verdict": ""} == {f["question"]: f["text"] for f in findings} | {"verdict": ""}
    assert (cut is None) == (expected[1] is None) == (data == "roll" or "no" in more)
    for name, way in ways.items():
        knows = {q: text for q, text in statements.items() if q != "verdict" or name == "model"}
        record = json.loads(run("measure", x, *way, "--json")[1])
        assert (numbers(record), record["findings"]) == (expected, findings)
        for command in (("measure", x, *way), ("measure", x, *way, "--all"), ("compare", x, *way, *QUICK)):
            code, out, _ = run(*command)
            assert code == 0
            assert said(out) == (knows, cut)
        for command in (("compare", x, *way), ("report", x, *way, "-o", page, "--force")):
            code, out, _ = run(*command, *QUICK, "--json")
            assert code == 0
            (record,) = json.loads(out)["embeddings"].values()
            assert (record["findings"], record["fit_sentence"]) == (findings, knows.get("verdict", ""))
            assert compared(record) == expected
        text = flat((folder / page).read_text(encoding="utf-8"))
        assert all(f"<dt>{question}</dt><dd>{said}</dd>" in text for question, said in knows.items())
        assert cut is None or cut in text


@pytest.mark.filterwarnings("ignore")
def test_short_circuits_travel_with_a_model(run, folder):
    x, _ = ub.datasets.swiss_roll(1000, random_state=0)
    rng = np.random.default_rng(0)
    out = rng.choice(len(x), 30, replace=False)
    x[out] = x.min(axis=0) + rng.random((len(out), 3)) * np.ptp(x, axis=0)
    np.save(folder / "dirty.npy", x)
    call = ("embed", "dirty.npy", "-o", "d.npy", "--save", "d.unbend", "--force")
    statements, left_out = said(run(*call)[1])
    model = ub.load(folder / "d.unbend")
    assert model.verdict_.trusted
    assert f"{len(model.short_circuits_):,} pairs of neighbors that are short circuits or join" in left_out
    assert f"one of {len(model.outliers_)} outliers are left out" in left_out
    assert said(run("measure", "dirty.npy", "d.unbend")[1]) == (statements, left_out)
    assert said(run("compare", "dirty.npy", "d.unbend", *QUICK)[1]) == (statements, left_out)
    record = json.loads(run("measure", "dirty.npy", "d.unbend", "--json")[1])
    assert record["r_n"] == model.verdict_.r_n_kept < 0.1 * record["whole"]["r_n"]
    bare = json.loads(run("measure", "dirty.npy", "d.npy", "--json")[1])
    assert (bare["n_cut_pairs"], bare["whole"]) == (0, None)
    assert bare["r_n"] == record["whole"]["r_n"]


def test_without_its_cut_a_sheet_is_torn(run):
    run("embed", "tube.npy", "-o", "t.npy", "--cut-pairs", "t-pairs.npy", "-k", K, "--force")
    cut, bare = (
        run("measure", "tube.npy", "t.npy", "-k", K, *more)[1]
        for more in (("--cut-pairs", "t-pairs.npy"), ())
    )
    assert "is faithful" in said(cut)[0]["shape"]
    assert "is torn" in said(bare)[0]["shape"]
    assert said(bare)[1] is None


def test_a_comparison_takes_a_cut_for_each(run):
    run("embed", "tube.npy", "-o", "a.npy", "--cut-pairs", "a-pairs.csv", "-k", K, "--force")
    run("embed", "tube.npy", "-o", "b.npy", "--cut", "no", "--cut-pairs", "b-pairs.csv", "-k", K, "--force")
    cuts = ("--cut-pairs", "a=a-pairs.csv", "--cut-pairs", "b=b-pairs.csv")
    code, out, _ = run(
        "compare", "tube.npy", "a.npy", "b.npy", *cuts, "-k", K, "--measures", "procrustes", "--json"
    )
    found = json.loads(out)["embeddings"]
    assert code == 0
    assert list(found) == ["a", "b"]
    assert found["a"]["n_cut_pairs"] == len(np.loadtxt("a-pairs.csv", skiprows=1, delimiter=","))
    assert found["b"]["n_cut_pairs"] == 0


def test_pairs_are_written_whole_or_not_at_all(run, folder):
    call = ("embed", "roll.npy", "-o", "r.npy", "--cut-pairs", "r-pairs.csv")
    assert run(*call)[0] == 0
    assert (folder / "r-pairs.csv").read_text() == "y1,y2\n"
    before = (folder / "r.npy").stat().st_mtime_ns
    (folder / "s.npy").unlink(missing_ok=True)
    code, _, err = run("embed", "roll.npy", "-o", "s.npy", "--cut-pairs", "r-pairs.csv")
    assert code == 2
    assert "cannot write r-pairs.csv: it exists already" in err
    assert not (folder / "s.npy").exists()
    assert (folder / "r.npy").stat().st_mtime_ns == before
    assert run(*call, "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("embed", "roll.npy", "-o", "q.npy", "--cut-pairs", "q.h5ad"),
            "its suffix '.h5ad' is none of .npy, .npz",
        ),
        (
            ("embed", "roll.npy", "-o", "q.npy", "--cut-pairs", "./q.npy"),
            "--output and --cut-pairs are both q.npy",
        ),
        (
            ("embed", "roll.npy", "-o", "q.npy", "--save", "m.npy", "--cut-pairs", "m.npy"),
            "--save and --cut-pairs are both m.npy: give them different names",
        ),
        (("embed", "roll.npy", "-o", "q.npy", "--cut-pairs", "no/p.npy"), "there is no folder no"),
        (
            ("embed", "roll.npy", "-o", "q.npy", "--cut-pairs", "p.npy", "--method", "pca"),
            "--cut-pairs goes with --method gp, psa only, not pca",
        ),
        (
            ("embed", "roll.npy", "-o", "q.npy", "--cut-pairs", "p.npy", "--points-per-cell", 200),
            "--cut-pairs has no pairs to write: data in cells are not cut",
        ),
        (("measure", "roll.npy", "roll.npy", "--cut-pairs", "none.npy"), "there is no file none.npy"),
        (
            ("measure", "roll.npy", "roll.npy", "--cut-pairs", "roll.npy"),
            "roll.npy has shape (800, 3): pairs have two columns",
        ),
        (
            ("measure", "roll.npy", "roll.npy", "--cut-pairs", "far.csv"),
            "far.csv, pair 2 holds 800, which is not the index of a point: give whole numbers from 0 to 799",
        ),
        (
            ("compare", "roll.npy", "roll.npy", "--cut-pairs", "halves.csv"),
            "halves.csv, pair 1 holds 0.5, which is not the index of a point",
        ),
        (
            ("compare", "roll.npy", "roll.npy", "tube.npy", "--cut-pairs", "far.csv"),
            "has 800 rows, but tube.npy has 1200",
        ),
        (
            ("compare", "roll.npy", "roll.npy", "again.npy", "--cut-pairs", "far.csv"),
            "--cut-pairs far.csv is not of the form NAME=FILE, where NAME is one of roll, again",
        ),
        (
            ("report", "roll.npy", "roll.npy", "-o", "p.html", *("--cut-pairs", "roll=near.csv") * 2),
            "--cut-pairs is given twice for roll",
        ),
    ],
)
def test_refused(run, folder, arguments, message):
    (folder / "far.csv").write_text("a,b\n0,1\n800,3\n")
    (folder / "halves.csv").write_text("a,b\n0.5,1\n")
    (folder / "near.csv").write_text("a,b\n0,1\n")
    np.save(folder / "again.npy", np.load(folder / "roll.npy"))
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in flat(err)
