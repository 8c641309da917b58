"""One hypothesis profile for everybody, the same examples on every run of the CI, and a random order if asked."""

import os
import random
from itertools import groupby

from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", **COMMON)
settings.register_profile("ci", **COMMON, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

LONGEST = (
    "test_docs.py",
    "test_cli.py",
    "test_threads.py",
    "test_partition.py",
    "test_report.py",
    "test_package.py",
)
"""Files that take longest. They come first, so that no process is left with one of them at the end."""


def pytest_addoption(parser):
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in random order"
    )


def pytest_collection_modifyitems(config, items):
    """Run long files first, or shuffle files, and the tests in each: results of one are shared by its tests."""
    seed = config.getoption("--shuffle")
    if seed is None:
        items.sort(
            key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST)
        )
        return
    rng = random.Random(seed)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    rng.shuffle(files)
    items[:] = [test for tests in files for test in rng.sample(tests, len(tests))]
