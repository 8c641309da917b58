"""The program of the paper's section 5: it runs, counts as the paper does, and says what is missing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import unbend as ub

from experiments.papers import local_procrustes as paper

ROOT = Path(__file__).parents[3]


def program(*command):
    """Run a program from the top of the project, as the documents do."""
    command = [sys.executable, *command]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def sample():
    x, coordinates = ub.datasets.swiss_roll(200, random_state=0)
    return paper.Sample("Swissroll", x, 2, coordinates, coordinates[:, 0])


def test_minima_are_each_over_k():
    roll = sample()
    truth = paper.Method("truth", "GP", lambda roll, k: roll.truth * (2 if k == 6 else 1))
    outcomes = paper.run(roll, [truth], (6, 12))["truth"]
    judged = {
        k: ub.faithfulness(roll.x, roll.truth * scale, k, include_self=False)
        for k, scale in ((6, 2), (12, 1))
    }
    assert judged[6].r_n > judged[12].r_n
    assert judged[6].r_c < judged[12].r_c
    assert paper.minima(outcomes) == f"{judged[12].r_n:.4f} [{judged[6].r_c:.4f}]"


def test_failures_are_printed_as_such():
    def singular(roll, k):
        if k == 6:
            raise np.linalg.LinAlgError("Singular matrix. Nobody knows why.")
        return np.full((200, 2), np.nan)

    roll, method = sample(), paper.Method("LTSA", "LTSA", singular)
    outcomes = paper.run(roll, [method], (6, 12))
    assert paper.minima(outcomes["LTSA"]) == "failed"
    assert paper.detail(roll, method, outcomes["LTSA"])[1:3] == ["failed", "failed"]
    assert list(paper.remarks([method], outcomes)) == [
        "- LTSA, k = 6, 12: failed: Singular matrix",
    ]


def test_warnings_stay_out_of_the_table():
    def loud(roll, k):
        ub.GreedyProcrustes(2, k, random_state=0).fit(np.r_[roll.x, roll.x + 999])
        return roll.truth

    roll, method = sample(), paper.Method("GP", "GP", loud)
    found = paper.remarks([method], paper.run(roll, [method], (6, 12)))
    (remark,) = [line for line in found if "UntrustedWarning" not in line]
    assert remark.startswith("- GP, k = 6, 12: DisconnectedWarning: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "-m experiments.papers.nieqa",
            "in order M_L agrees with M_t: of the four LTSA is the best and LE the worst",
        ),
        ("-m experiments.judging.interval_coverage", "| geodesic_stretch |"),
        ("benches/python/bench_ranks.py", "| unbend: all, every k |"),
        ("benches/python/bench_geodesic.py", "| 2000 |"),
    ],
)
def test_programs_run(name, words):
    finished = program(*name.split(), "--quick")
    assert finished.returncode == 0, finished.stderr
    assert words in " ".join(finished.stdout.split())


@pytest.mark.slow
def test_quick_run_without_data(tmp_path):
    table = tmp_path / "table2.md"
    options = ["--quick", "--anneal", "--data", tmp_path, "--markdown", table]
    finished = program("-m", "experiments.papers.local_procrustes", *options)
    assert finished.returncode == 0, finished.stderr
    assert "Faces is skipped: there is no frey_faces.npz" in finished.stdout
    assert "Twos is skipped: there is no usps_9298.npz" in finished.stdout
    text = table.read_text()
    rows = {
        cells[1].strip(): cells[2:-1]
        for cells in map(lambda s: s.split("|"), text.splitlines())
        if len(cells) > 6
    }
    assert [cell.strip() for cell in rows["PSA, paper"]][2] == "0.02 [0.01]"
    swissroll, *_, faces, twos, twos_again = (cell.strip() for cell in rows["Best of GP and PSA"])
    assert float(swissroll.split()[0]) < 1.05 * float(rows["Lower bound"][0])
    assert faces == twos == twos_again == "-"
