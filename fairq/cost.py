"""Money and time of a step: `Cost`, `StepTime`, and the clock that a run keeps.

Both are linear in three integers counted over a worker's steps: N (steps), K1 (sum of
the batch sizes |S|) and K2 (sum of |S|·m, m the largest token index in the batch).
Another law of the step would be another feature in the place of K2.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeVar

from fairq.errors import InputError, unknown_name
from fairq.validation import finite_number

__all__ = ["TOKEN_CLOCK", "Cost", "StepTime", "max_feature", "resolve_clock"]

Count = TypeVar("Count")  # int in the engine, an integer array in the account


def max_feature(steps: Count, batch: Count, largest: Count) -> Count:
    """Growth of K2 over `steps` steps of a constant batch, `largest` the first step's m.

    The sum of |S|·(m + t) over t = 0 .. steps − 1, in whole numbers (or integer arrays).

    >>> max_feature(3, 2, 10)
    66
    """
    return batch * (steps * largest + steps * (steps - 1) // 2)  # type: ignore[operator, no-any-return]


@dataclass(frozen=True, slots=True)
class StepTime:
    """The time of one step, ``c + b·|S| + tau·|S|·m``, m the largest token index in the batch.

    Parameters:
        c: time of a step whatever its batch, in the clock's unit of time (seconds, or steps).
        b: time for each request in the batch.
        tau: time for each request and token of the longest progress in the batch.

    Raises:
        InputError: a coefficient is negative or not a finite number, or all are 0.

    Source: the cost (3) of the paper (Section 5) read as a duration, with a term per request.

    >>> StepTime(c=0.5, b=0.25, tau=0.0625).of(steps=1, requests=2, footprint=2 * 8)
    2.0
    """

    c: float = 0.0
    b: float = 0.0
    tau: float = 0.0

    def __post_init__(self) -> None:
        for name in ("c", "b", "tau"):
            object.__setattr__(self, name, finite_number(f"StepTime.{name}", getattr(self, name), at_least=0))
        if self.c == self.b == self.tau == 0:
            raise InputError("StepTime has c = b = tau = 0: at least one must be > 0, or time stands still")

    def of(self, steps: Any, requests: Any, footprint: Any) -> Any:
        """Time of `steps` steps with K1 = `requests` and K2 = `footprint` (ints or arrays).

        Evaluated in this order, always: engine, account and oracle agree to the last bit.
        """
        return self.c * steps + self.b * requests + self.tau * footprint

    @property
    def is_constant(self) -> bool:
        """Whether every step takes c, so that K1 and K2 do not matter."""
        return self.b == self.tau == 0

    def steps_within(self, time: float, batch: int, largest: int) -> int:
        """About how many whole steps of a constant batch fit into `time`, `largest` the first one's m.

        The positive root of c·n + b·|S|·n + tau·K2(n) = time (see `max_feature`), rounded down.  In floats
        it may be off by a step: the caller checks it against the boundary times themselves.

        >>> StepTime(c=1.0, tau=0.5).steps_within(10.0, batch=2, largest=1)  # steps of 2, 3, 4, ...
        3
        """
        if time <= 0:
            return 0
        if self.is_constant:
            return int(time / self.c)
        square = self.tau * batch / 2
        linear = self.c + self.b * batch + self.tau * batch * (largest - 0.5)
        return int(2 * time / (linear + sqrt(linear * linear + 4 * square * time)))


TOKEN_CLOCK = StepTime(c=1.0)
"""The clock of the paper's offline results: a step takes one unit of time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Money: a step costs ``c + tau·|S|·m``, a completed token earns `price`.

    Parameters:
        c: money per nonempty step.
        tau: money per request in the batch and token of the longest progress in it.
        price: revenue per token of a completed request.
        worker: money per worker and unit of time, busy or idle.

    The defaults are the baseline of Section 5.2 of the paper.

    Raises:
        InputError: a value is negative or not a finite number, or c and tau are both 0.

    >>> Cost(c=0.0005, tau=1e-6, price=0.002).worker
    0.0
    """

    c: float = 5e-4
    tau: float = 1e-6
    price: float = 2e-3
    worker: float = 0.0

    def __post_init__(self) -> None:
        for name in ("c", "tau", "price", "worker"):
            object.__setattr__(self, name, finite_number(f"Cost.{name}", getattr(self, name), at_least=0))
        if self.c == self.tau == 0:
            raise InputError("Cost has c = tau = 0: at least one of them must be > 0")


def resolve_clock(clock: str | StepTime, cost: Cost) -> StepTime:
    """The step time that `clock` names: ``"token"``, ``"cost"`` (c and tau of `cost`), a preset, or its own.

    Raises:
        InputError: another name, or something that is neither a name nor a `StepTime`.
    """
    if isinstance(clock, StepTime):
        return clock
    if not isinstance(clock, str):
        raise InputError(f"clock is {clock!r}: it must be 'token', 'cost', a preset or a fairq.StepTime")
    if clock == "token":
        return TOKEN_CLOCK
    if clock == "cost":
        return StepTime(c=cost.c, tau=cost.tau)
    from fairq.presets import PRESETS  # which are made of step times

    if clock in PRESETS:
        return PRESETS[clock].clock
    raise unknown_name("clock", clock, ["token", "cost", *PRESETS])
