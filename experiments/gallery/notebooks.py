"""Runs the notebooks of docs/notebooks and writes what their cells print and draw.

python -m experiments.gallery.notebooks [NAME ...]        # for example table_to_map

Code cells are run in order in one namespace, as Jupyter does; figures that a cell leaves open are shown below
it. The cells use plain Python, so that no kernel is needed. The comment in the last line of a cell describes
its picture.
"""

import base64
import contextlib
import io
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from experiments.pictures.gallery import narrow

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
DPI = 80


def pictures(source):
    """Yield the open figures as outputs of a cell, and close them."""
    *_, last = source.splitlines()
    for number in plt.get_fignums():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "figure.png"
            plt.figure(number).savefig(path, dpi=DPI, bbox_inches="tight")
            narrow(path)
            image = base64.b64encode(path.read_bytes()).decode()
        words = last.removeprefix("#").strip()
        yield {"output_type": "display_data", "data": {"image/png": image}, "metadata": {"alt": words}}
    plt.close("all")


def run(notebook, name):
    """Run the code cells in place, and keep their outputs."""
    namespace, count = {"__name__": name}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        source, lines = "".join(cell["source"]), io.StringIO()
        with contextlib.redirect_stdout(lines):
            exec(compile(source, f"{name}, cell {count}", "exec"), namespace)
        text = lines.getvalue()
        printed = [{"output_type": "stream", "name": "stdout", "text": text.splitlines(True)}] if text else []
        cell["execution_count"], cell["outputs"] = count, [*printed, *pictures(source)]
    return notebook


def main():
    paths = [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        for path in paths:
            started = time.process_time()
            notebook = run(json.loads(path.read_text(encoding="utf-8")), path.stem)
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            seconds, size = time.process_time() - started, path.stat().st_size / 1e3
            print(f"{path.name}: {seconds:.0f} s of processor time, {size:.0f} kB")


if __name__ == "__main__":
    main()
