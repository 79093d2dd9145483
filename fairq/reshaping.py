"""What can be made of a workload: another rate, a piece of it, a backlog, prompts in chunks.

Most of these are the methods of `fairq.Workload` of the same names.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from fairq.columns import MAX_TOKENS
from fairq.errors import InputError
from fairq.source import amount, counted
from fairq.validation import finite_number, shown, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairq.workload import Workload

__all__ = [
    "arrival_rate", "as_backlog", "at_rate", "billed_after", "chunk_prompt", "in_steps", "noted", "positive",
    "prompt_model", "stretched", "window",
]  # fmt: skip


def arrival_rate(workload: Workload) -> float:
    """Arrivals per unit of time, (n − 1)/(last − first): one over the mean gap.

    Raises:
        InputError: all requests arrive at one time, or as good as.
    """
    span = float(np.ptp(workload.arrival)) if len(workload) else 0.0
    if span <= 0:
        raise InputError("the workload has no rate: all its requests arrive at one time")
    rate = (len(workload) - 1) / span
    if not isfinite(rate):
        raise InputError(f"the workload has no finite rate: its requests arrive within {span!r}")
    return rate


def stretched(workload: Workload, factor: float) -> Workload:
    """All times multiplied by `factor`, in a unit of time that is then the clock's own.

    Raises:
        InputError: the times are then no finite numbers, or all the same.
    """
    with np.errstate(all="ignore"):
        arrival = workload.arrival * factor
    _check_times(workload, arrival, f"a factor of {factor:g}")
    return replace(noted(workload, f"times multiplied by {factor:g}"), arrival=arrival, time_unit=None)


def _check_times(workload: Workload, arrival: NDArray[np.float64], what: str) -> None:
    """Refuse times beyond floating point: too large, or so small that they fall together."""
    largest = float(workload.arrival.max(initial=0.0))
    if not np.isfinite(arrival).all():
        raise InputError(f"{what} makes times of up to {largest:g} infinite: they must stay finite")
    if len(workload) and np.ptp(workload.arrival) > 0 and not np.ptp(arrival) > 0:
        raise InputError(f"{what} makes times of up to {largest:g} all the same: they must stay different")


def noted(workload: Workload, text: str) -> Workload:
    """The same workload, whose source says what was made of it."""
    return workload if workload.source is None else replace(workload, source=workload.source.then(text))


def as_backlog(workload: Workload) -> Workload:
    """The same requests, all there at time 0."""
    backlog = noted(workload, "all at time 0, a backlog")
    return replace(backlog, arrival=np.zeros(len(workload)), time_unit=None)


def at_rate(workload: Workload, rate: float) -> Workload:
    """Arrivals stretched so that `rate` come per unit of time, whatever the unit of the clock is.

    The rate of n arrivals is (n − 1)/(last − first).

    Raises:
        InputError: `rate` is not > 0, or so small or large that times would not be finite or not differ, or
            all requests arrive at one time.

    >>> import fairq
    >>> fairq.Workload.from_arrays([5, 9, 7], arrival=[0, 1, 4]).at_rate(2).arrival.tolist()
    [0.0, 0.25, 1.0]
    """
    given = positive("rate", rate)
    try:
        return stretched(workload, arrival_rate(workload) / given)
    except InputError as error:
        raise InputError(f"rate is {shown(rate)}: {error}") from None


def in_steps(workload: Workload, step_seconds: float) -> Workload:
    """Arrivals in seconds, counted in steps of `step_seconds` each, for the token clock.

    Raises:
        InputError: `step_seconds` is not > 0, or so small or large that times would not be finite or not
            differ, or the arrivals are in steps already.
    """
    seconds = positive("step_seconds", step_seconds)
    if workload.time_unit == "steps":
        raise InputError("the workload's arrivals are in steps already: in_steps needs them in seconds")
    with np.errstate(all="ignore"):
        arrival = workload.arrival / seconds
    _check_times(workload, arrival, f"step_seconds is {shown(step_seconds)}: counting in it")
    return replace(
        noted(workload, f"times counted in steps of {seconds:g} s"), arrival=arrival, time_unit="steps"
    )


def window(workload: Workload, start: float, end: float) -> Workload:
    """The requests with start <= arrival < end, their times counted from `start`.

    Raises:
        InputError: the ends are no finite numbers with 0 <= start < end, or nothing arrives between.
    """
    start = finite_number("start", start, at_least=0)
    end = finite_number("end", end)
    if end <= start:
        raise InputError(f"end is {end!r}: it must be above start, which is {start!r}")
    inside = (workload.arrival >= start) & (workload.arrival < end)
    if not inside.any():
        first, last = float(workload.arrival.min(initial=np.inf)), float(workload.arrival.max(initial=0))
        raise InputError(
            f"the window from {start!r} to {end!r} has no arrivals: it must meet those from {first!r} to "
            f"{last!r}"
        )
    piece = workload.subset(inside)
    text = (
        f"window from {amount(start)} to {amount(end)}: {len(piece):,} of {counted(len(workload), 'request')}"
    )
    return replace(noted(piece, text), arrival=piece.arrival - start)


def chunk_prompt(workload: Workload, size: int) -> Workload:
    """A prompt counts as ceil(prompt/size) steps, as a chunked prefill takes; 1 is the paper's model.

    `tokens`, `prompt_tokens`, `lower` and `upper` are then in steps, all less by the same number (but at
    least 1); `billed_tokens` stay.

    Raises:
        InputError: `size` is not a whole number from 1 to 100,000,000, or the prompt is in chunks of another
            size already.

    >>> import fairq
    >>> w = fairq.Workload.from_arrays([1003], prompt_tokens=[1000]).chunk_prompt(512)
    >>> w.tokens.tolist(), w.prompt_tokens.tolist(), w.billed_tokens.tolist()
    ([5], [2], [1003])
    """
    size = whole_number("size", size, at_least=1, at_most=MAX_TOKENS)
    if size == workload.prompt_chunk:
        return workload
    if workload.prompt_chunk != 1:
        raise InputError(
            f"size is {size}: the workload's prompts are in chunks of {workload.prompt_chunk} already"
        )
    steps = -(-workload.prompt_tokens // size)
    less = workload.prompt_tokens - steps
    return replace(
        noted(workload, f"prompts in chunks of {counted(size, 'token')}"),
        tokens=workload.tokens - less,
        prompt_tokens=steps,
        lower=np.maximum(workload.lower - less, 1),
        upper=workload.upper - less,
        prompt_chunk=size,
    )


def billed_after(workload: Workload, progress: NDArray[np.int64]) -> NDArray[np.int64]:
    """Billed tokens that are processed after `progress` steps of each request.

    A step of prompt does `prompt_chunk` tokens, the last one what is left; a step of output does one.
    """
    if workload.prompt_chunk == 1:
        return progress
    prompt = workload.billed_tokens - workload.output_tokens
    return np.where(
        progress < workload.prompt_tokens,
        progress * workload.prompt_chunk,
        prompt + progress - workload.prompt_tokens,
    )


def prompt_model(chunk: int) -> str:
    """What a prompt takes with chunks of `chunk` tokens, and what TTFT therefore is, in a sentence.

    >>> prompt_model(512)
    'A prompt is processed at 512 tokens a step (prompt_chunk = 512), each step as long as one of output.'
    """
    if chunk == 1:
        return (
            "A prompt is processed at one token a step (prompt_chunk = 1), as in the paper's model: "
            "TTFT is not a real machine's."
        )
    return (
        f"A prompt is processed at {chunk} tokens a step (prompt_chunk = {chunk}), each step as long as one "
        "of output."
    )


def positive(name: str, value: float) -> float:
    """`value` as a float, if it is a finite number > 0."""
    number = finite_number(name, value)
    if number <= 0:
        raise InputError(f"{name} is {value!r}: it must be a finite number > 0")
    return number
