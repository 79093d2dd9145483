"""Draws from the requests of a workload: a block bootstrap of it, and its lengths apart from their times.

Both are methods of `fairq.Workload` of the same names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.columns import as_sequence, times
from fairq.errors import InputError
from fairq.reshaping import as_backlog, noted, positive
from fairq.source import amount, counted

if TYPE_CHECKING:
    from fairq.workload import Workload

__all__ = ["bootstrap", "lengths"]

_MOST_PIECES = 1_000_000
"""Pieces that a bootstrap may cut a trace into."""


def bootstrap(workload: Workload, generator: np.random.Generator, block: float) -> Workload:
    """Another trace of the same span: a block bootstrap, for replications of one recorded trace.

    The span is cut into equal pieces of about `block` time; as many are drawn with replacement and put
    one after another, each with its requests, their gaps, ties and lengths.  There may be fewer or
    more requests than before, and none at all.

    Raises:
        InputError: `block` is not > 0, longer than the span, or so short that there would be more than
            1,000,000 pieces.
    """
    block = positive("block", block)
    first = float(workload.arrival.min(initial=np.inf))
    span = float(np.ptp(workload.arrival)) if len(workload) else 0.0
    if span < block:
        raise InputError(f"block is {block!r}: it must be at most the span of the arrivals, {span!r}")
    if block < span / _MOST_PIECES:
        raise InputError(
            f"block is {block!r}: it must be at least {span / _MOST_PIECES:g}, the span of the arrivals "
            f"divided by {_MOST_PIECES:,}"
        )
    pieces = max(1, round(span / block))
    width = span / pieces
    since = workload.arrival - first
    piece = np.minimum(np.floor(since / width), pieces - 1).astype(np.int64)
    order = np.argsort(since, kind="stable")
    ends = np.searchsorted(piece[order], np.arange(pieces + 1))
    drawn = generator.integers(pieces, size=pieces)
    chosen = [order[ends[one] : ends[one + 1]] for one in drawn]
    request = np.concatenate(chosen)
    place = np.repeat(np.arange(pieces), [len(part) for part in chosen])
    offset = np.maximum(since[request] - piece[request] * width, 0.0)
    arrival = np.minimum(place * width + offset, (place + 1) * width)  # rounding moves nobody out of a piece
    sample = workload.subset(request)
    text = (
        f"resampled in {counted(pieces, 'piece')} of {amount(width)}: {len(sample):,} for "
        f"{counted(len(workload), 'request')}"
    )
    return replace(noted(sample, text), arrival=np.asarray(first + arrival, dtype=np.float64))


def lengths(workload: Workload, uniforms: Any) -> Workload:
    """A backlog with a request drawn from these for each uniform: lengths apart from their times.

    Parameters:
        workload: what to draw from.
        uniforms: numbers from 0 to below 1, as a sequence.

    Raises:
        InputError: there is nothing to draw from, or a value is no such number.

    >>> import fairq
    >>> fairq.Workload.from_arrays([5, 9]).lengths([0.5, 0.25, 0.75]).tokens.tolist()
    [9, 5, 9]
    """
    values = as_sequence("uniforms", uniforms)
    if len(workload) == 0:
        raise InputError("the workload is empty: it must have a request to draw")
    places = np.array(
        [] if len(values) == 0 else times(values, lambda _, index: f"uniforms[{index}]"), dtype=np.float64
    )
    above = places >= 1
    if above.any():
        index = int(above.argmax())
        raise InputError(f"uniforms[{index}] is {float(places[index])!r}: it must be from 0 to below 1")
    chosen = np.minimum((places * len(workload)).astype(np.int64), len(workload) - 1)
    sample = workload.subset(chosen)
    return as_backlog(noted(sample, f"{counted(len(sample), 'request')} drawn from {len(workload):,}"))
