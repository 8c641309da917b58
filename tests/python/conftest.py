"""One hypothesis profile for everybody, the same examples on every run of the CI, and a random order if asked."""

import os
import random
from itertools import groupby

from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", **COMMON)
settings.register_profile("ci", **COMMON, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser):
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in random order"
    )


def pytest_collection_modifyitems(config, items):
    """Shuffle the files, and the tests in each: results of one file are shared by its tests."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    rng = random.Random(seed)
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    rng.shuffle(files)
    items[:] = [test for tests in files for test in rng.sample(tests, len(tests))]
