"""How other packages' Procrustes measures fare on the conformance set: the tables of docs/conformance.md.

    pip install numpy zadu tensorflow-projection-qm
    python benches/python/conformance_peers.py

Peers choose their own neighbors, so only the cases whose neighborhoods are the k nearest points take part.
Each peer is compared with the measure it implements, R_N or R_C, on the neighborhoods it means to use.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))
import textbook

CASES = Path(__file__).parents[2] / "tests" / "data" / "faithfulness"
FAR = 100.0
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def main():
    cases = list(k_nearest_cases())
    for peer in (Zadu, ProjectionQM):
        try:
            measure = peer()
        except ImportError:
            print(f"{peer.package}: not installed, skipped\n")
            continue
        print(f"### {peer.package} {version(peer.package)}\n")
        table(cases, peer.columns, measure)


class Zadu:
    """R_N over the k neighbors, without the point itself."""

    package = "zadu"
    columns = ("R_N without the point", "`proc`", "`proc`, X's neighbors on both sides")

    def __init__(self):
        from zadu.measures import procrustes

        self.proc = procrustes.measure

    def __call__(self, x, y, neighbors):
        k = neighbors.shape[1]
        yield textbook.faithfulness(x, y, neighbors, include_self=False)["r_n"]
        yield attempt(lambda: self.proc(x, y, k)["procrustes"])
        yield attempt(lambda: self.proc(x, y, k, knn_info=(neighbors, neighbors))["procrustes"])


class ProjectionQM:
    """R_C with the point itself, which its k counts: k + 1 for k neighbors."""

    package = "tensorflow-projection-qm"
    columns = ("R_C", "`Procrustes(k + 1)`", f"Y moved by {FAR:g}", "one centered Y_i at a time")

    def __init__(self):
        from tensorflow_projection_qm.metrics import Procrustes

        self.procrustes = Procrustes

    def __call__(self, x, y, neighbors):
        measure = self.procrustes(k=neighbors.shape[1] + 1).measure
        groups = [np.r_[i, others] for i, others in enumerate(neighbors)]
        yield textbook.faithfulness(x, y, neighbors)["r_c"]
        yield attempt(lambda: measure(x, y))
        yield attempt(lambda: measure(x, y + FAR))
        yield attempt(lambda: np.mean([measure(x[g], textbook.center(y[g])) for g in groups]))


def k_nearest_cases():
    for path in sorted(CASES.glob("*.json")):
        case = json.loads(path.read_text())
        x, y, neighborhoods = np.array(case["x"]), np.array(case["y"]), case["neighborhoods"]
        if neighborhoods == textbook.nearest(x, len(neighborhoods[0]))[0].tolist():
            yield case["name"], x, y, np.array(neighborhoods)


def table(cases, columns, measure):
    agreeing = np.zeros(len(columns) - 1, int)
    print("| case | k |", " | ".join(columns), "|")
    print("|---|--:|" + "--:|" * len(columns))
    for name, x, y, neighbors in cases:
        truth, *values = measure(x, y, neighbors)
        agreeing += np.isclose(values, truth, rtol=1e-9, atol=1e-13)
        print(f"| {name} | {neighbors.shape[1]} |", " | ".join(map(show, [truth, *values])), "|")
    print(f"| **agree, of {len(cases)}** | | |", " | ".join(map(str, agreeing)), "|\n")


def attempt(measure):
    """The value, or nan where the package refuses the data."""
    try:
        return float(measure())
    except ValueError as error:
        print(f"refused: {error}", file=sys.stderr)
        return np.nan


def show(value):
    """Six digits; below 1e-13 there is nothing but rounding."""
    return "0" if abs(value) < 1e-13 else f"{value:.6g}"


if __name__ == "__main__":
    main()
