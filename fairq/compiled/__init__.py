"""The compiled engine: the twin of the SimPy engine for Rules and Cohorts, in machine code by Numba.

It knows no policy by name: it carries out a `fairq.rules.Rule` given as data, or plans cohorts with the
very `fairq.cohort.plan_cohort` that the SimPy engine runs, and it answers with the same `Schedule`, to
the last bit.  Numba comes with ``pip install 'fairq[fast]'``.
"""

from __future__ import annotations

from fairq.compiled.running import can_run, fault_of_numba, is_ready, run, unfit

__all__ = ["can_run", "fault_of_numba", "is_ready", "run", "unfit"]
