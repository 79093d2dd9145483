"""Settings for every test: figures never open a window, and Hypothesis draws the same each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ["MPLBACKEND"] = "Agg"  # inherited by the commands that tests start

# A run of the tests is a fact about the code, not about the hour: the same examples on every machine, and
# no deadline, for a busy machine is no bug.  To explore further: pytest --hypothesis-profile=explore
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("repeatable")
