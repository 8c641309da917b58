"""The gallery of real data: runs the code of its pages, and writes what it prints, tables and pictures.

python -m experiments.gallery.pages --data FOLDER              # all pages whose files are there
python -m experiments.gallery.pages umap sphere                # camera, digits, sphere and umap need no files

Each page of docs/gallery names its files. They are looked for in FOLDER and in the folders right below it. A page
whose files are absent is skipped. What a block prints is written below it, the table of a page between its marks,
and the picture to docs/gallery, also as part of index.png. UMAP takes part if umap-learn is installed.
"""

import argparse
import contextlib
import importlib
import io
import os
import re
import tempfile
import textwrap
import time
import warnings
from pathlib import Path

from experiments.gallery.drawing import save, sheet
from experiments.gallery.tools import HAS_UMAP

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"
SUBJECTS = (
    *("wifi", "neurons", "walking", "surfaces", "colors", "molecules"),
    *("faces", "cells", "camera", "digits", "sphere", "umap"),
)
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<printed>\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE
)
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)
FILE = re.compile(r'np\.load\("(\w+\.npz)"\)')
WIDTH = 88


def printed(code, namespace):
    """Run a block, and return what it prints as a block of text."""
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        exec(compile(code, namespace["__name__"], "exec"), namespace)
    wrapped = [
        part
        for line in lines.getvalue().splitlines()
        for part in textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False) or [""]
    ]
    return "\n```text\n" + "\n".join(wrapped) + "\n```\n" if wrapped else ""


def run(text, name):
    """Return the page with what its blocks print, and the names that they define."""
    namespace = {"__name__": name}
    text = BLOCK.sub(
        lambda match: f"```python\n{match['code']}```\n" + printed(match["code"], namespace), text
    )
    return text, namespace


def link_files(folder, target):
    """Show the files of a folder, and of those right below it, in another."""
    for path in (*folder.glob("*.npz"), *folder.glob("*/*.npz")):
        (target / path.name).symlink_to(path.resolve())


def write(name):
    """Make a page again, in a folder that holds its files."""
    path = FOLDER / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    absent = [file for file in FILE.findall(text) if not Path(file).exists()]
    if absent:
        print(f"{name}: skipped, {', '.join(absent)} is absent")
        return
    started = time.perf_counter()
    text, page = run(text, name)
    table, figure = importlib.import_module(f"experiments.gallery.subjects.{name}").show(page)
    save(figure, FOLDER / f"{name}.png")
    path.write_text(TABLE.sub(lambda _: f"\n{table}\n\n", text), encoding="utf-8")
    size = (FOLDER / f"{name}.png").stat().st_size / 1e3
    print(f"{name}: {time.perf_counter() - started:.0f} s, picture of {size:.0f} kB\n{table}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUBJECTS))
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="folder of the files")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(SUBJECTS))
    if unknown:
        parser.error(f"no page is called {unknown[0]}; the pages are {', '.join(SUBJECTS)}")
    if not HAS_UMAP:
        print("UMAP is not installed: its rows and pictures are left out (pip install umap-learn)")
    with tempfile.TemporaryDirectory() as files, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.data:
            link_files(options.data, Path(files))
        os.chdir(files)
        for name in options.names or SUBJECTS:
            write(name)
    save(sheet([FOLDER / f"{name}.png" for name in SUBJECTS]), FOLDER / "index.png")


if __name__ == "__main__":
    main()
