"""The stays of a finished run, copied from its records into the columns of a schedule in one go."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.jit import compiled, record_reader
from fairq.compiled.records import COMPLETED, RUNNING, request_at, word_at, worker_at

__all__ = ["STAYS", "write_stays"]

STAYS = np.dtype(
    [(name, np.int64) for name in ("request", "worker", "start_step", "steps", "start", "finish")],
    align=True,
)
"""The addresses of the columns; there is room for every request."""

_real_at = record_reader(np.dtype([("number", np.float64)]))


@compiled
def write_stays(run: Any, stays: Any) -> Any:
    """Write down who is or was in service, in request order; how many that are."""
    count = 0
    for i in range(run.count):
        request = request_at(run, i)
        if request.state in (RUNNING, COMPLETED):
            steps = request.tokens
            if request.state == RUNNING:
                steps = worker_at(run, np.int64(request.worker)).steps - request.start_step
            word_at(stays.request, count).word = i
            word_at(stays.worker, count).word = request.worker
            word_at(stays.start_step, count).word = request.start_step
            word_at(stays.steps, count).word = steps
            _real_at(stays.start, count).number = request.start
            _real_at(stays.finish, count).number = request.finish
            count += 1
    return count
