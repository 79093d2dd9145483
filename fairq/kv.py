"""KV tokens held per worker: mean over its busy time and peak.

A step holds the cache of everything its batch has processed by its end, the sum of the m_i (in
prompt and output tokens, where a step of prompt does several).  The model's step time knows the
largest progress only; where these numbers outgrow a machine's memory, or its bandwidth, a worker is
no longer bound by compute and the model no longer holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairq.reshaping import billed_after
from fairq.schedule import Schedule
from fairq.stretches import Laws, Stretches
from fairq.workload import Workload

__all__ = ["Held", "kv_held"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """KV tokens that workers hold while they run; an entry per worker.

    Attributes:
        peak: the most held in any step, 0 for a worker that ran none (tokens).
        integral: sum over its steps of tokens held times the step's duration.
        busy: sum of the durations.
    """

    peak: Ints
    integral: Floats
    busy: Floats

    @property
    def mean(self) -> Floats:
        """Mean over each worker's busy time (tokens); NaN for one that ran no step."""
        nothing = np.full(len(self.busy), np.nan)
        means: Floats = np.divide(self.integral, self.busy, out=nothing, where=self.busy > 0)
        return means

    @property
    def pooled_mean(self) -> float:
        """Mean over the busy time of all workers together (tokens); NaN without a step."""
        busy = float(self.busy.sum())
        return float(self.integral.sum()) / busy if busy > 0 else np.nan


@dataclass(frozen=True, eq=False, slots=True)
class _Pieces:
    """Runs of steps in which the batch, and the tokens it gains in a step, are constant."""

    worker: Ints
    steps: Ints
    batch: Ints
    largest: Ints  # m of the first step
    held: Ints  # before the first step
    gain: Ints  # in each step


def kv_held(stretches: Stretches, schedule: Schedule, workload: Workload) -> Held:
    """KV tokens held per worker over the whole steps of a run.

    Parameters:
        stretches, schedule: a schedule and its constant stretches.
        workload: the requests it serves; a prompt that is processed in chunks is held in tokens.

    >>> import fairq
    >>> run = fairq.simulate(fairq.Workload.from_arrays([3, 1]), "fcfs", batch_size=2)
    >>> held = kv_held(run.stretches, run.schedule, run.workload)
    >>> held.peak.tolist(), held.pooled_mean  # the steps hold 1 + 1, 2 and 3 tokens
    ([3], 2.3333333333333335)
    """
    workers = len(stretches.origin)
    pieces = _pieces(stretches, schedule, workload)
    peak = np.zeros(workers, dtype=np.int64)
    np.maximum.at(peak, pieces.worker, pieces.held + pieces.gain * pieces.steps)
    integral, busy = np.zeros(workers), np.zeros(workers)
    times_held, times = _integrals(pieces, stretches.laws)
    np.add.at(integral, pieces.worker, times_held)
    np.add.at(busy, pieces.worker, times)
    return Held(peak, integral, busy)


def _integrals(pieces: _Pieces, laws: Laws) -> tuple[Floats, Floats]:
    """By piece, the sum of duration·held over its steps, and of duration.

    Step t = 0 .. n − 1 of a piece takes d + t·d' and holds k + t·k', all four constant.
    """
    law, n = laws.of(pieces.worker), pieces.steps.astype(np.float64)
    none = np.zeros_like(pieces.steps)
    first = law.of(none + 1, pieces.batch, pieces.batch * pieces.largest)
    held, gain = pieces.held + pieces.gain, pieces.gain
    ranks = n * (n - 1) / 2
    times_held, times = n * first * held + ranks * (first * gain), n * first
    growth = law.of(none, none, pieces.batch)
    if growth.any():
        squares = (n - 1) * n * (2 * n - 1) / 6
        times_held += ranks * (growth * held) + squares * growth * gain
        times += ranks * growth
    return times_held, times


def _pieces(stretches: Stretches, schedule: Schedule, workload: Workload) -> _Pieces:
    if workload.prompt_chunk == 1:
        held = stretches.batch * stretches.first - stretches.starts
        return _Pieces(
            stretches.worker, stretches.steps, stretches.batch, stretches.largest, held, stretches.batch
        )
    points, held, gain = _held_in_chunks(stretches, schedule, workload)
    steps, held, gain = np.diff(points), held[:-1], gain[:-1]
    index = np.searchsorted(stretches.first, points[:-1], side="right") - 1
    largest = points[:-1] - stretches.oldest[index] + 1
    return _Pieces(stretches.worker[index], steps, stretches.batch[index], largest, held, gain)


def _held_in_chunks(stretches: Stretches, schedule: Schedule, workload: Workload) -> tuple[Ints, Ints, Ints]:
    """Points of the axis between which gains are constant, tokens held there, and the gain from there on.

    A request gains `prompt_chunk` tokens a step, then what is left of its prompt in one, then one a step.
    """
    request = schedule.request[stretches.stays]
    begin, end = stretches.begin, stretches.end
    prompt_steps = workload.prompt_tokens[request]
    prompt = (workload.billed_tokens - workload.output_tokens)[request]
    chunk = np.minimum(workload.prompt_chunk, prompt)
    last = prompt - (prompt_steps - 1) * chunk  # what the last step of the prompt does
    turns = ((begin, np.where(prompt_steps > 1, chunk, np.where(prompt_steps == 1, last, 1))),
             (begin + prompt_steps - 1, np.where(prompt_steps > 1, last - chunk, 0)),
             (begin + prompt_steps, np.where(prompt_steps > 0, 1 - last, 0)))  # fmt: skip
    point = np.concatenate([at for at, _ in turns])
    change = np.concatenate([amount for _, amount in turns])
    kept = (point < np.concatenate([end] * len(turns))) & (change != 0)
    point, change = point[kept], change[kept]
    final = np.zeros(len(end), dtype=np.int64)  # each stay's gain in its last step
    stay = np.concatenate([np.arange(len(end))] * len(turns))[kept]
    np.add.at(final, stay, change)
    points, index = np.unique(np.concatenate((point, end)), return_inverse=True)
    changes = np.zeros(len(points), dtype=np.int64)
    np.add.at(changes, index, np.concatenate((change, -final)))
    drops = np.zeros(len(points), dtype=np.int64)
    done = billed_after(workload.subset(request), end - begin)
    np.add.at(drops, index[len(point) :], done)
    gain = np.cumsum(changes)
    grown = np.concatenate(([0], np.cumsum(gain[:-1] * np.diff(points))))
    return points, grown - np.cumsum(drops), gain
