"""The pictures of docs/gallery.md: runs the blocks of the page, and writes what each has drawn.

python -m experiments.pictures.gallery [NAME ...]        # of some pictures alone, as gallery-roll

A block that writes a page instead of drawing is shown as a browser shows it, if there is a Chromium.
"""

import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image

from tests.python.browser import MISSING, Browser, chromium

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/gallery.md"
PART = re.compile(r"^```python\n(.*?)^```\n+!\[[^\]]*\]\(([^)]+)\)", re.DOTALL | re.MULTILINE)
DPI, COLORS = 80, 96


def shoot(page, path):
    if chromium() is None:
        raise SystemExit(MISSING)
    with Browser(1000, 700) as browser:
        browser.open(page.resolve())
        browser.run("document.getElementById('controls').scrollIntoView()")
        browser.run("new Promise(done => setTimeout(done, 1000))")
        browser.screenshot(path)


def narrow(path):
    """Keep a picture small: few colors, one byte for each pixel."""
    with Image.open(path) as held:
        few = held.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main():
    wanted, held = sys.argv[1:], {"__name__": "gallery"}
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        for block, link in PART.findall(text):
            path = PAGE.parent / link
            exec(compile(block, path.name, "exec"), held)
            if wanted and path.stem not in wanted:
                plt.close("all")
                continue
            if plt.get_fignums():
                plt.gcf().savefig(path, dpi=DPI)
                plt.close("all")
            else:
                shoot(held["page"].path, path)
            narrow(path)
            print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
