"""Everything that writes files, on data so small that each run takes about a second at most."""

from __future__ import annotations

import json
import re
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

POINTS, CELL_POINTS = 120, 50
HIDDEN = re.compile(r"\.[^/]+\.[0-9a-f]{8}\.\w+|\.[^/]+\.[0-9a-f]{8}")
"""Names of temporary files, which a process that was killed leaves."""

RANDOM = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=nonce)[-=\"\w]{20,30}")
"""What is another on each page: the names of its elements, and the password of its scripts."""


@dataclass(frozen=True)
class Written:
    """A command: what runs in a folder of its own, and the results that it writes there."""

    name: str
    run: Callable[[Path, bool], int]  # Called with the folder of the inputs, and whether to replace results.
    results: tuple[str, ...]
    folder: str | None = None  # The checkpoints, from which a second run continues.


def command(name: str, line: str, *results: str, folder: str | None = None) -> Written:
    """Return a command of the prompt; the inputs in its line are those of `make_inputs`."""

    def run(inputs: Path, force: bool) -> int:
        from unbend.cli import main

        words = [str(inputs / word[1:]) if word.startswith("@") else word for word in line.split()]
        return main([*words, *["--force"] * force])

    return Written(name, run, results, folder)


def saved(inputs: Path, force: bool) -> int:
    """Save a model that was read, and an embedding."""
    import unbend as ub

    ub.load(inputs / "model").save("saved.unbend")
    return 0


def in_cells(inputs: Path, force: bool) -> int:
    """Embed in cells, with a folder of checkpoints."""
    import unbend as ub

    more = {"points_per_cell": CELL_POINTS, "parameters": {"random_state": 0}, "n_jobs": 1}
    ub.partition.embed(inputs / "x.npy", "y.npy", directory="parts", method="gp", force=force, **more)
    return 0


def measured_in_cells(inputs: Path, force: bool) -> int:
    """Measure in cells, with a folder of checkpoints, and write the result."""
    import unbend as ub
    from unbend.files import write_points

    files = inputs / "x.npy", inputs / "truth.npy"
    found = ub.partition.faithfulness(*files, points_per_cell=CELL_POINTS, directory="parts", n_jobs=1)
    write_points("r.npy", np.array([[found.r_n, found.lower_bound]]), force=force)
    return 0


COMMANDS = (
    command(
        "embed, with its model",
        "embed @x.npy -o y.npy --save model.unbend --jobs 1 --quiet",
        "y.npy",
        "model.unbend",
    ),
    command("embed to .csv", "embed @x.csv -o y.csv --method gp --jobs 1 --quiet", "y.csv"),
    command("embed to .npz", "embed @x.npy -o y.npz --method ltsa --jobs 1 --quiet", "y.npz"),
    command("embed to .parquet", "embed @x.npy -o y.parquet --method pca --jobs 1 --quiet", "y.parquet"),
    command("embed to .h5ad", "embed @x.h5ad:X -o y.h5ad --method pca --jobs 1 --quiet", "y.h5ad"),
    command(
        "embed, cut open",
        "embed @tube.npy -o y.npy --cut yes --cut-pairs p.csv --jobs 1 --quiet",
        "y.npy",
        "p.csv",
    ),
    command(
        "embed in cells",
        f"embed @x.npy -o y.npy --points-per-cell {CELL_POINTS} --jobs 1 --quiet",
        "y.npy",
        folder="y.npy.parts",
    ),
    command("transform", "transform @model @x.npy -o y.npy --jobs 1 --quiet", "y.npy"),
    command("align", "align @a.csv @b.csv -o c.csv --id name --quiet", "c.csv"),
    command("select", "select @x.npy -k 8 -d 2 --methods gp -o y.npy --jobs 1 --quiet", "y.npy"),
    command("report", "report @x.npy @truth.npy @shadow.npy -o r.html --jobs 1 --quiet", "r.html"),
    command(
        "diagnose, with a plot", "diagnose @x.npy --coordinates @truth.npy --plot p.png --jobs 1", "p.png"
    ),
    command("flatten to .obj", "flatten @mesh.obj -o flat.obj --jobs 1 --quiet", "flat.obj"),
    command(
        "flatten to .npz, with a plot",
        "flatten @mesh.obj -o f.npz --plot f.png --jobs 1 --quiet",
        "f.npz",
        "f.png",
    ),
    Written("save", saved, ("saved.unbend",)),
    Written("partition.embed", in_cells, ("y.npy",), "parts"),
    Written("partition.faithfulness", measured_in_cells, ("r.npy",), "parts"),
)


def content(path: Path) -> bytes | None:
    """Return what a file holds, without what is another each time; None if there is no file."""
    if not path.exists():
        return None
    if path.suffix == ".html":
        return RANDOM.sub(b"", path.read_bytes())
    if path.suffix != ".unbend" or not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("model.json"))
    del manifest["learnt"]["timings_"]
    return json.dumps(manifest).encode() + b"".join(members.values())


def make_inputs(folder: Path) -> None:
    """Write what the commands read; to be called in a process of its own, because it computes."""
    warnings.simplefilter("ignore")
    import unbend as ub
    from unbend.files import write_points

    x, truth = ub.datasets.swiss_roll(POINTS, random_state=0)
    np.save(folder / "x.npy", x)
    np.save(folder / "truth.npy", truth)
    np.save(folder / "shadow.npy", x[:, :2])
    np.save(folder / "tube.npy", ub.datasets.cylinder(POINTS, random_state=0)[0])
    for suffix in (".csv", ".h5ad"):
        write_points(folder / f"x{suffix}", x, name="X")
    names = np.array([f"point {i}" for i in range(POINTS)])
    write_points(folder / "a.csv", truth, ids=("name", names))
    write_points(folder / "b.csv", truth[50:, ::-1] + 3.0, ids=("name", names[50:]))
    ub.GreedyProcrustes(n_init=1, random_state=0).fit(x).save(folder / "model")
    across = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=2).reshape(-1, 2)
    corner = np.arange(11)[:, None] * 12 + np.arange(11)
    squares = np.stack([corner, corner + 1, corner + 13, corner + 12], axis=2).reshape(-1, 4) + 1
    lines = [f"v {u} {v} {0.3 * np.sin(u)}" for u, v in across]
    lines += [f"f {a} {b} {c}\nf {a} {c} {d}" for a, b, c, d in squares]
    (folder / "mesh.obj").write_text("\n".join(lines) + "\n")


def import_all() -> None:
    """Import whatever the commands need, so that each run begins at once."""
    import anndata  # noqa: F401
    import bokeh.io
    import bokeh.layouts
    import bokeh.plotting  # noqa: F401
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.backends.backend_agg
    import matplotlib.pyplot  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import trimesh  # noqa: F401
    import unbend as ub
    import unbend.cli
    import unbend.estimators.models
    import unbend.mesh.files
    import unbend.mesh.flatten
    import unbend.partition.embed
    import unbend.report.page
    import unbend.report.scene

    for name in ub.__all__:
        getattr(ub, name)


def carried_out(written: Written, inputs: Path, force: bool) -> int:
    """Run a command as its process would; return the exit code, and say on standard error what went wrong."""
    warnings.simplefilter("ignore")
    try:
        return written.run(inputs, force)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
