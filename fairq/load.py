"""How much of a pool's capacity a stream of requests needs at the least: its offered load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.columns import MAX_TOKENS
from fairq.cost import Cost, StepTime
from fairq.errors import InputError
from fairq.groups import WorkerGroup, per_worker, resolve_groups
from fairq.lengths import LengthLaw
from fairq.validation import finite_number, shown, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Demand", "demand_of", "offered_load", "step_ratio"]

_STRATA = 200_000


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request asks of the workers, on average.

    Attributes:
        tokens: E[o], tokens.
        footprint: E[o(o + 1)/2], the sum of its token indices, tokens².

    >>> Demand(tokens=2.0, footprint=3.0).work(StepTime(c=1.0, tau=0.5), batch_size=4)
    2.0
    """

    tokens: float
    footprint: float

    def work(self, clock: StepTime, batch_size: int) -> float:
        """Worker time that a request takes at the least: its part of full batches without extent."""
        return self.tokens * (clock.c / batch_size + clock.b) + self.footprint * clock.tau


def demand_of(tokens: Any) -> Demand:
    """The demand of a law of lengths, or of a sample of them.

    Parameters:
        tokens: a `fairq.lengths.LengthLaw`, or whole lengths in an array.

    Raises:
        InputError: neither, or lengths that are not whole numbers from 1 to 100,000,000.

    A law's means are taken over 200,000 evenly spread quantiles of it.

    >>> demand_of([1, 3])
    Demand(tokens=2.0, footprint=3.5)
    """
    if isinstance(tokens, LengthLaw):
        lengths = tokens.tokens((np.arange(_STRATA) + 0.5) / _STRATA).astype(np.float64)
    else:
        lengths = checked_sample(tokens).astype(np.float64)
    return Demand(float(lengths.mean()), float((lengths * (lengths + 1) / 2).mean()))


def checked_sample(tokens: Any) -> NDArray[np.int64]:
    """`tokens` as an array of whole lengths.

    Raises:
        InputError: none at all, or a value that is not a whole number from 1 to 100,000,000.
    """
    try:
        values = np.asarray(tokens, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise InputError(f"tokens is {shown(tokens)}: it must be a LengthLaw or lengths") from None
    bad = ~((values >= 1) & (values <= MAX_TOKENS) & (values == np.floor(values)))
    if len(values) == 0 or bad.any():
        what = (
            "empty" if len(values) == 0 else f"{float(values[bad.argmax()])!r} at index {int(bad.argmax())}"
        )
        raise InputError(f"tokens is {what}: lengths must be whole numbers from 1 to {MAX_TOKENS:,}")
    return values.astype(np.int64)


def offered_load(
    rate: float,
    tokens: Any,
    *,
    batch_size: int | None = None,
    workers: int | Sequence[WorkerGroup] = 1,
    clock: str | StepTime = "token",
    cost: Cost | None = None,
) -> float:
    """The share of the pool's time that the requests need if every batch is full and without extent.

    A step of c + b·|S| + tau·|S|·max m with at most B requests takes at least the sum over its requests of
    c/B + b + tau·m_i, m_i the token each works on.  A request of o tokens therefore takes at least
    o(c/B + b) + tau·o(o + 1)/2 of worker time under every policy, and the offered load is its mean times
    the arrival rate over the number of workers.  **At 1 or more no policy is stable.**  Below 1 it depends
    on the policy, for batches are not full or not level: `fairq.stability.stable_rate` finds how far below.
    On the token clock it is the tokens that arrive over the B·G that the pool can do in a step.

    Workers that differ share the requests without regard to their lengths, each as many as it can do: the
    load is the rate over the sum of what the workers can do alone.  (With tau > 0 a dispatcher that sends
    the short ones to some workers may do a little better.)

    Parameters:
        rate: total arrival rate, > 0, per unit of the clock's time.
        tokens: lengths: a `fairq.lengths.LengthLaw`, or an array of a sample.
        batch_size, workers, clock, cost: as `fairq.simulate` takes them.

    Raises:
        InputError: a value that is not as above.

    Source: ours; the least work is the first two terms of Theorem 5.1 with T = O/B.

    >>> offered_load(0.5, [100], batch_size=32, workers=2)
    0.78125
    """
    number = finite_number("rate", rate)
    if not number > 0:
        raise InputError(f"rate is {rate!r}: it must be a finite number > 0")
    if cost is not None and not isinstance(cost, Cost):
        raise InputError(f"cost is {cost!r}: it must be a fairq.Cost")
    demand = demand_of(tokens)
    groups = resolve_groups(workers, batch_size, clock, Cost() if cost is None else cost)
    slots, laws = per_worker(groups)
    works = Counter(zip(laws, slots, strict=True))
    return number / sum(count / demand.work(law, size) for (law, size), count in works.items())


def step_ratio(tokens: float, *, batch_size: int, clock: StepTime) -> float:
    """How much the longest request of a full batch weighs in a step, beside the fixed part: x = tau·B·E[o]/c.

    This number decides which policy carries most load: where it is small, full batches count
    (first come first served); where it is large, level ones do (docs/stability.md has the map).

    Parameters:
        tokens: E[o], the mean length, > 0.
        batch_size: B >= 1.
        clock: the step time, c > 0.

    Raises:
        InputError: a value that is not as above.

    >>> step_ratio(125, batch_size=32, clock=StepTime(c=1.0, tau=0.00025))
    1.0
    """
    mean = finite_number("tokens", tokens)
    batch_size = whole_number("batch_size", batch_size, at_least=1)
    if not mean > 0 or not clock.c > 0:
        raise InputError(f"tokens is {tokens!r} and clock {clock!r}: E[o] and c must be > 0")
    return clock.tau * batch_size * mean / clock.c
