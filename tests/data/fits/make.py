"""Digests of some thirty fits: what a change of structure must not change.

    python tests/data/fits/make.py --write           record the digests of this version
    python tests/data/fits/make.py             compare this version with the record

Bits depend on the processor and on the versions of NumPy and SciPy: digests of two versions of the code are
compared on one machine: record with the old version, compare with the new one. The numbers beside them (R_N,
its bound, ...) hold on any machine, to rounding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import unbend as ub

RECORD = Path(__file__).with_name("digests.json")


def roll(n: int, **options: Any) -> Any:
    return ub.datasets.swiss_roll(n, random_state=0, **options)[0]


def cylinder(n: int) -> Any:
    return ub.datasets.cylinder(n, random_state=0)[0]


def sphere(n: int) -> Any:
    points = np.random.default_rng(0).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def moebius(n: int) -> Any:
    t, s = np.random.default_rng(0).uniform(-1, 1, size=(2, n))
    r = 1 + s / 3 * np.cos(t * np.pi / 2)
    return np.c_[r * np.cos(t * np.pi), r * np.sin(t * np.pi), s / 3 * np.sin(t * np.pi / 2)]


def flat_torus(n: int) -> Any:
    a, b = np.random.default_rng(0).uniform(0, 2 * np.pi, size=(2, n))
    return np.c_[np.cos(a), np.sin(a), np.cos(b), np.sin(b)]


def pieces() -> Any:
    """Three components, one of them tiny."""
    return np.concatenate([roll(900), roll(500) + 200.0, roll(30) * 0.01 - 300.0])


def wide(n: int) -> Any:
    rng = np.random.default_rng(0)
    return roll(n) @ rng.normal(size=(3, 60)) + 0.01 * rng.normal(size=(n, 60))


def body(n: int) -> Any:
    """A bent three-dimensional body in five dimensions."""
    u = np.random.default_rng(0).uniform(size=(n, 3))
    return np.c_[np.cos(2 * u[:, 0]), np.sin(2 * u[:, 0]), np.cos(u[:, 1]), np.sin(u[:, 1]), u[:, 2]]


def strip(n: int) -> Any:
    return ub.datasets.strip(n, length=2.0, noise=0.01, random_state=0)[0]


PSA, GP = ub.ProcrustesAlignment, ub.GreedyProcrustes

CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "gp roll": (lambda: roll(2000), lambda: GP(random_state=0)),
    "gp roll float32": (lambda: roll(2000).astype(np.float32), lambda: GP(random_state=0)),
    "gp overlap tangents": (lambda: roll(2000), lambda: GP(tangent="overlap", random_state=0)),
    "gp unrefined, one start": (lambda: roll(3000), lambda: GP(n_init=1, start=5, refine=None)),
    "gp renumbered": (lambda: roll(60000), lambda: GP(n_init=2, random_state=0)),
    "gp renumbered, given start": (lambda: roll(52000), lambda: GP(n_init=1, start=77, refine=None)),
    "gp pointwise": (lambda: roll(2000), lambda: GP(refine="pointwise", refine_max_iter=8, random_state=0)),
    "gp cylinder, cut": (lambda: cylinder(2000), lambda: GP(random_state=0)),
    "gp noise": (lambda: roll(3000, noise=0.4), lambda: GP(random_state=0)),
    "gp pieces": (pieces, lambda: GP(n_neighbors=8, random_state=0)),
    "psa roll": (lambda: roll(2000), lambda: PSA()),
    "psa roll float32": (lambda: roll(2000).astype(np.float32), lambda: PSA()),
    "psa hole, objective R": (lambda: roll(2500, hole=True), lambda: PSA(objective="R")),
    "psa renumbered": (lambda: roll(60000), lambda: PSA()),
    "psa renumbered, noise": (
        lambda: roll(52000, noise=0.2),
        lambda: PSA(refine="global", refine_max_iter=3),
    ),
    "psa noise": (lambda: roll(3000, noise=0.4), lambda: PSA()),
    "psa auto": (lambda: roll(1500), lambda: PSA(alignment="auto")),
    "psa spectral": (lambda: cylinder(1500), lambda: PSA(alignment="spectral", cut=False)),
    "psa anneal": (
        lambda: roll(600),
        lambda: PSA(alignment="anneal", annealing={"start": "greedy", "acceptance": 0.05}, random_state=0),
    ),
    "psa pieces": (pieces, lambda: PSA(n_neighbors=8)),
    "psa wide": (lambda: wide(1500), lambda: PSA()),
    "psa body": (lambda: body(3000), lambda: PSA(n_components=3)),
    "psa circle": (lambda: sphere(900)[:, :2] / np.hypot(*sphere(900)[:, :2].T)[:, None], lambda: PSA(1)),
    "psa moebius, cut": (lambda: moebius(2000), lambda: PSA()),
    "psa sphere, cut": (lambda: sphere(2500), lambda: PSA()),
    "psa torus, cut": (lambda: flat_torus(2500), lambda: PSA(cut=True)),
    "psa cylinder renumbered, cut": (lambda: cylinder(52000), lambda: PSA(refine_max_iter=3)),
    "psa cells": (lambda: roll(12000), lambda: PSA(partition=3000)),
    "isomap": (lambda: roll(1200), lambda: ub.Isomap()),
    "isomap landmarks, pieces": (
        pieces,
        lambda: ub.Isomap(n_neighbors=8, n_landmarks=60, conformal=True, random_state=0),
    ),
    "isomap radius": (lambda: roll(900), lambda: ub.Isomap(radius=5.0)),
    "lle": (lambda: strip(1500), lambda: ub.LocallyLinearEmbedding(weights="ldr")),
    "mlle rectified": (lambda: roll(1500), lambda: ub.ModifiedLLE(rectify=True)),
    "ltsa linear, pieces": (pieces, lambda: ub.LTSA(n_neighbors=8, rectify="linear")),
    "hessian lle": (lambda: strip(1500), lambda: ub.HessianLLE(rectify="linear")),
    "laplacian eigenmaps": (lambda: strip(1500), lambda: ub.LaplacianEigenmaps(kernel="heat")),
    "diffusion maps": (lambda: strip(1500), lambda: ub.DiffusionMaps(rectify=True)),
    "pca": (lambda: wide(1000), lambda: ub.PCA()),
    "classical scaling": (lambda: wide(600), lambda: ub.ClassicalScaling()),
    "random projection": (lambda: wide(600), lambda: ub.RandomProjection(5, random_state=0)),
}

LEARNT = ("embedding_", "cut_pairs_", "loops_", "component_labels_", "landmarks_", "eigenvalues_")
"""Arrays that enter a digest, where there are such."""


def digest(model: Any) -> dict[str, Any]:
    """Return a digest of what a fit learnt, with numbers that people can compare."""
    held = hashlib.blake2b(digest_size=16)
    for name in LEARNT:
        if getattr(model, name, None) is not None:
            held.update(name.encode() + np.ascontiguousarray(getattr(model, name)).tobytes())
    row: dict[str, Any] = {}
    if hasattr(model, "faithfulness_"):
        m = model.faithfulness_
        row = {"r_n": m.r_n, "lower_bound": m.lower_bound, "overlap": m.overlap}
        held.update(np.ascontiguousarray(m.per_point["r_n"]).tobytes())
    if hasattr(model, "surface_"):
        row |= {"surface": model.surface_, "seams": len(model.seams_), "n_iter": model.n_iter_}
    new = model.transform(model.X_fit_[:50] * 1.001) if hasattr(model, "X_fit_") else model.embedding_[:1]
    held.update(np.ascontiguousarray(new).tobytes())
    return row | {"digest": held.hexdigest()}


def machine() -> dict[str, str]:
    """Return what bits depend on."""
    flags = Path("/proc/cpuinfo")
    lines = flags.read_text().splitlines() if flags.exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": name or platform.processor(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def made(names: list[str]) -> dict[str, Any]:
    rows = {}
    for name in names:
        points, model = CASES[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows[name] = digest(model().fit(points()))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", help="some of the cases; all by default")
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file of digests")
    options = parser.parse_args()
    rows = made(options.cases or list(CASES))
    if options.write:
        options.record.write_text(json.dumps({"machine": machine(), "fits": rows}, indent=1) + "\n")
        print(f"recorded {len(rows)} fits in {options.record}")
        return 0
    known = json.loads(options.record.read_text())
    differing = [name for name, row in rows.items() if row != known["fits"].get(name)]
    for name in differing:
        print(f"{name}:\n  was {known['fits'].get(name)}\n  is  {rows[name]}")
    if known["machine"] != machine():
        print(f"recorded on another machine: {known['machine']}")
    print(f"{len(rows) - len(differing)} of {len(rows)} fits have the same bits")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
