"""One hypothesis profile for everybody, and the same examples on every run of the CI."""

import os

from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", **COMMON)
settings.register_profile("ci", **COMMON, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
