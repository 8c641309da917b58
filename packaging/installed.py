"""Checks an installed package, with the Python of an environment that holds only unbend.

With --in-process, the command runs in the same process, for emulated interpreters that cannot start others.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
import unbend as ub
from unbend.cli import main as run_command

FILES = ("py.typed", "_core.pyi", "report/page.html", "report/page.css", "report/page.js", "report/paint.js")


def command(*arguments: str) -> None:
    """Run the installed command, without its output."""
    if "--in-process" in sys.argv:
        assert run_command(arguments) == 0
    else:
        script = Path(sysconfig.get_path("scripts"), "unbend")
        subprocess.run([script, *arguments], check=True, stdout=subprocess.DEVNULL)


def check_files() -> None:
    """Check what the wheel holds besides code."""
    missing = [name for name in FILES if not files("unbend").joinpath(name).is_file()]
    assert not missing, f"the wheel lacks {missing}"
    assert version("unbend") == ub.__version__


def check_numbers(folder: Path) -> ub.Faithfulness:
    """Embed, save and load a roll; return how faithful its true coordinates are."""
    points, coordinates = ub.datasets.swiss_roll(5000, random_state=0)
    truth = ub.faithfulness(points, coordinates, n_neighbors=12)
    assert truth.r_n < 1.01 * truth.lower_bound, truth
    model = ub.ProcrustesAlignment(n_neighbors=12).fit(points)
    assert model.faithfulness_.r_n < 1.05 * truth.lower_bound, model.faithfulness_
    loaded = ub.load(model.save(folder / "roll.unbend"))
    assert np.array_equal(loaded.transform(points[:50]), model.transform(points[:50]))
    return truth


def main() -> None:
    """Check files, numbers and the command, and print one line."""
    check_files()
    with tempfile.TemporaryDirectory() as folder:
        truth = check_numbers(Path(folder))
        begin = time.perf_counter()
        command("demo", "-o", folder)
        seconds = time.perf_counter() - begin
    python = ".".join(map(str, sys.version_info[:3]))
    numbers = f"R_N {truth.r_n:.6f}, bound {truth.lower_bound:.6f}, unbend demo {seconds:.1f} s"
    print(f"Python {python}, numpy {np.__version__}: {numbers}")


if __name__ == "__main__":
    main()
