"""What has become of requests by the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.schedule import Schedule
from fairq.workload import Workload

__all__ = ["OUTCOMES", "as_categories", "ended_as", "outcome_codes"]

OUTCOMES = ("completed", "running", "queued", "rejected", "abandoned", "unreleased")
"""What may have become of a request."""

_CATEGORIES = pd.CategoricalDtype(list(OUTCOMES))


def outcome_codes(schedule: Schedule, workload: Workload, until: float | None) -> NDArray[np.int8]:
    """What has become of each request, by request id, as a place in `OUTCOMES`."""
    codes = np.full(len(workload), OUTCOMES.index("queued"), dtype=np.int8)
    if until is not None:
        codes[workload.arrival > until] = OUTCOMES.index("unreleased")
    codes[schedule.request] = OUTCOMES.index("running")
    codes[schedule.request[~np.isnan(schedule.finish)]] = OUTCOMES.index("completed")
    codes[schedule.rejected] = OUTCOMES.index("rejected")
    codes[schedule.abandoned] = OUTCOMES.index("abandoned")
    return codes


def as_categories(codes: NDArray[np.int8]) -> Any:
    """`codes` as the Categorical that the requests table shows.

    >>> list(as_categories(np.array([0, 3], dtype=np.int8)))
    ['completed', 'rejected']
    """
    return pd.Categorical.from_codes(codes, dtype=_CATEGORIES)


def ended_as(requests: Mapping[Any, Any] | pd.DataFrame, *names: str) -> NDArray[np.bool_]:
    """Which rows of a requests table, or of its columns by name, ended as one of `names`."""
    column = requests["outcome"]
    codes = column if isinstance(column, np.ndarray) else column.cat.codes.to_numpy()
    found: NDArray[np.bool_] = np.isin(codes, [OUTCOMES.index(name) for name in names])
    return found
