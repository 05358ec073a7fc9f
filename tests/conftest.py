"""Settings of Hypothesis for all tests."""

import os

from hypothesis import settings

# Machines differ in speed, so no example has a deadline; in CI, every run tries the same examples.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
