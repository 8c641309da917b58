"""How the benchmarks measure: competitors in turn, on the same number of threads, in one process."""

import os
import platform
import resource
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import numpy as np

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def use_threads(count):
    """Start the script again if some library was loaded without knowing how many threads to use."""
    wanted = dict.fromkeys(THREADS, str(count))
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        sys.stdout.flush()
        os.execv(sys.executable, sys.orig_argv)


def machine(threads, packages):
    """Say on what, and with which versions, the numbers were measured."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    where = f"{threads} threads of {cpus} CPUs ({processor()}), {platform.system()}"
    versions = [f"Python {platform.python_version()}", *(f"{p} {installed(p)}" for p in packages)]
    return f"{where}  \n{', '.join(versions)}\n"


def processor():
    """The name of the processor, where the system tells it."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def installed(package):
    """The version of a package, or that it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def interleaved(works, repeats):
    """Seconds of every round of every named work, as an array of `repeats` entries each.

    All run once untimed. Then each round runs all of them, starting with another one each time, so that
    whatever else the machine does is spread over all.
    """
    names = list(works)
    for work in works.values():
        work()
    seconds = {name: np.zeros(repeats) for name in names}
    for round_ in range(repeats):
        first = round_ % len(names)
        for name in names[first:] + names[:first]:
            start = time.perf_counter()
            result = works[name]()
            seconds[name][round_] = time.perf_counter() - start
            del result
    return seconds


def spread(ours, theirs):
    """The ratio of the best times, and the lowest and the highest ratio of any one round."""
    ratios = ours / theirs
    return f"{ours.min() / theirs.min():.2f} | {ratios.min():.2f} to {ratios.max():.2f}"


def row(*cells):
    """Print one row of a Markdown table, at once: some rows take minutes."""
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def peak_memory():
    """The highest resident size of this process so far, in bytes."""
    try:  # not getrusage first: on Linux it remembers the process that started this one
        with open("/proc/self/status") as file:
            (line,) = [line for line in file if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
