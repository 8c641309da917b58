"""The program that makes faults on purpose: it finds what is planted, and counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[2] / "faults"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked, and files are limited")

# Commands that compute nothing: one writes its result in place, the other as the package does.
PLANTED = """
import os, random, sys
from pathlib import Path
import disks, kills
from commands import Written
from unbend.files import write_atomically

def parts(path):
    with open(path, "wb", buffering=0) as file:
        for _ in range(300):
            file.write(b"a line of the result\\n")
            if file.tell() == 21 * 150:
                os.truncate(file.fileno(), file.tell())  # a change in the midst, when it may be killed

def in_place(inputs, force):
    parts("a.txt")
    return 0

def whole(inputs, force):
    write_atomically("a.txt", parts, force=force)
    return 0

folder, rng = Path(sys.argv[1], "run"), random.Random(0)
for run in (in_place, whole):
    written = Written(run.__name__, run, ("a.txt",))
    known = kills.reference(written, folder, folder)
    def tried(case):
        found = [case(written, folder, folder, known, rng) for _ in range(40)]
        return [failure for tally in found if tally for failure in tally.failures]
    def partial(failures):
        return sum("is partial" in failure for failure in failures)
    dead, full = tried(kills.killed), tried(disks.too_large)
    print(run.__name__, partial(dead) > 0, partial(full) > 0, len(dead) + len(full))
"""


def run(*arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(FAULTS), *sys.path])}
    told = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stderr
    return told.stdout.splitlines()


def test_a_result_that_is_written_in_place_is_found(tmp_path):
    in_place, whole = run("-c", PLANTED, str(tmp_path))
    assert in_place.startswith("in_place True True ")
    assert whole == "whole False False 0"


def test_a_lost_interrupt_is_found():
    code = """
import interrupts, signal, sys, time
sys.path.insert(0, str(interrupts.HERE.parent / "python"))

def heedful():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        sum(range(10_000))

def deaf():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    heedful()

interrupts.TABLE.update(deaf=deaf, heedful=heedful)
print(*(interrupts.in_main_thread(name, 0.1)["kind"] for name in ("deaf", "heedful")))
"""
    assert run("-c", code) == ["lost obeyed"]


@pytest.mark.slow
def test_a_short_soak_grows_nothing():
    told = run(str(FAULTS / "soak.py"), "--minutes", "0", "--rounds", "5")
    assert told[-1] == "memory, threads and files are as they were"
