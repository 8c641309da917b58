"""Synthetic files of the form that the pages of the gallery read, so that their code runs without the real ones.

python -m experiments.gallery.standins FOLDER

Numbers and pictures made from them say nothing about the real data. A file that is there already is left alone.
"""

import argparse
from pathlib import Path

import numpy as np
import unbend as ub

N = 600


def mixed(points, columns, rng):
    """Points of few dimensions in many columns, without stretching, and a little noise."""
    mix = np.linalg.qr(rng.normal(size=(columns, points.shape[1])))[0]
    return points @ mix.T + 0.002 * rng.normal(size=(len(points), columns))


def ring(columns, rng):
    angles = rng.uniform(0, 2 * np.pi, N)
    circle = np.column_stack([np.cos(angles), np.sin(angles), 0.1 * rng.normal(size=N)])
    return {"X": mixed(circle, columns, rng), "params": np.column_stack([angles, np.ones(N)])}


def floor(rng):
    x, truth = ub.datasets.s_curve(N, random_state=0)
    return {"X": mixed(x, 30, rng), "params": np.column_stack([truth, np.full(N, 1), np.full(N, 2)])}


def sheet(n=24):
    """A wavy mesh over a grid."""
    u, v = (part.ravel() for part in np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n), indexing="ij"))
    i = np.arange(n * n).reshape(n, n)
    a, b, c, d = (part.ravel() for part in (i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return {
        "X": np.column_stack([u, v, 0.05 * np.sin(6 * u)]),
        "faces": faces,
        "params": np.column_stack([u, v]),
    }


def two_sheets(rng):
    """A sphere, and a plane that cuts it in half; gaps on both sides of the circle where they meet."""
    sphere = rng.normal(size=(1500, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    plane = rng.uniform(-1.7, 1.7, (1500, 3)) * [1, 1, 0]
    from_circle = np.append(np.abs(sphere[:, 2]), np.abs(np.hypot(plane[:, 0], plane[:, 1]) - 1))
    solid = np.concatenate([sphere, plane])[(from_circle < 0.12) | (from_circle > 0.55)]
    return {"X": mixed(solid, 24, rng)}


def spectra(rng):
    solid = rng.uniform(-1, 1, (N, 3))
    lab = np.column_stack([50 + 40 * solid[:, 0], 50 * solid[:, 1:]])
    return {"X": mixed(solid, 85, rng), "cartesian": solid, "lab": lab}


def poses(rng):
    truth = rng.uniform(-1, 1, (N // 2, 3))
    return {"X": mixed(truth, 1024, rng), "params": truth}


def groups(rng):
    kinds = np.arange(N) % 5
    x = 6 * rng.normal(size=(5, 50))[kinds] + rng.normal(size=(N, 50))
    return {"X": x, "umap": x[:, :2], "labels": np.array(["A", "B", "C", "D", "E"])[kinds]}


def files(rng):
    """Yield the name of each file and its arrays."""
    yield "ujiindoorloc", floor(rng)
    yield "headdirection_mouse_thalamus", ring(19, rng)
    yield "mocap_walk_cmu35", ring(81, rng)
    yield "sheencloth_241x241", sheet()
    yield "cortex_fsaverage5_left_flat", sheet()
    yield "munsell_reflectance", spectra(rng)
    yield "cyclooctane_24", two_sheets(rng)
    yield "isomap_faces_32", poses(rng)
    yield "pbmc3k_pca50", groups(rng)


def write(folder):
    for name, arrays in files(np.random.default_rng(0)):
        path = Path(folder) / f"{name}.npz"
        if not path.exists():
            np.savez(path, **arrays)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    write(options.folder)


if __name__ == "__main__":
    main()
