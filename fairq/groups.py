"""Groups of equal workers, from which a pool is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairq.cost import TOKEN_CLOCK, Cost, StepTime, resolve_clock
from fairq.errors import InputError
from fairq.validation import whole_number

__all__ = ["MAX_BATCH", "MAX_WORKERS", "WorkerGroup", "per_worker", "resolve_groups"]

MAX_WORKERS = 100_000
MAX_BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """Some workers that are alike.

    Parameters:
        count: how many.
        batch_size: B of each; None: that of the run.
        clock: step time of each, or its name as `fairq.simulate` takes it (``"token"``, ``"cost"`` or a
            preset); None: that of the run.

    Raises:
        InputError: a count or batch size that is no whole number >= 1, a clock that is none.

    >>> WorkerGroup(count=4, batch_size=32, clock=StepTime(c=0.02))
    WorkerGroup(count=4, batch_size=32, clock=StepTime(c=0.02, b=0.0, tau=0.0))
    """

    count: int
    batch_size: int | None = None
    clock: StepTime | str | None = None

    def __post_init__(self) -> None:
        count = whole_number("WorkerGroup.count", self.count, at_least=1, at_most=MAX_WORKERS)
        object.__setattr__(self, "count", count)
        if self.batch_size is not None:
            slots = whole_number("WorkerGroup.batch_size", self.batch_size, at_least=1, at_most=MAX_BATCH)
            object.__setattr__(self, "batch_size", slots)
        if self.clock is not None:
            try:
                resolve_clock(self.clock, Cost())
            except InputError as error:
                raise InputError(f"WorkerGroup: {error}") from None

    @property
    def law(self) -> StepTime | None:
        """The step time, of a group whose clock is none of the run's and no name."""
        return self.clock if isinstance(self.clock, StepTime) else None


def resolve_groups(
    workers: Any, batch_size: Any, clock: str | StepTime, cost: Cost
) -> tuple[WorkerGroup, ...]:
    """The pool's groups, each with its own batch size and clock.

    Parameters:
        workers: a number of equal workers, or a sequence of `WorkerGroup`.
        batch_size: B of the workers whose group does not say; None where every group does.
        clock: that of those whose group does not say.
        cost: whose c and tau ``"cost"`` means.

    Raises:
        InputError: no workers, too many, a batch size that nobody gives, or a clock that is none.
    """
    law = resolve_clock(clock, cost)
    if isinstance(workers, Sequence) and not isinstance(workers, str):
        groups = tuple(workers)
        for place, group in enumerate(groups):
            if not isinstance(group, WorkerGroup):
                raise InputError(f"workers[{place}] is {group!r}: it must be a fairq.WorkerGroup")
        if not groups:
            raise InputError("workers is empty: a pool needs at least one worker")
    elif isinstance(workers, WorkerGroup):
        raise InputError(f"workers is {workers!r}: groups must stand in a list, as [fairq.WorkerGroup(2)]")
    else:
        count = whole_number("workers", workers, at_least=1, at_most=MAX_WORKERS)
        groups = (WorkerGroup(count),)
    if batch_size is not None or any(group.batch_size is None for group in groups):
        whole_number("batch_size", batch_size, at_least=1, at_most=MAX_BATCH)
    whole_number("workers", sum(group.count for group in groups), at_least=1, at_most=MAX_WORKERS)
    return tuple(
        WorkerGroup(
            group.count,
            group.batch_size or int(batch_size),
            law if group.clock is None else resolve_clock(group.clock, cost),
        )
        for group in groups
    )


def per_worker(groups: Sequence[WorkerGroup]) -> tuple[list[int], list[StepTime]]:
    """Batch size and step time of each worker, by index: the first group's workers come first."""
    slots = [group.batch_size or 1 for group in groups for _ in range(group.count)]
    laws = [group.law or TOKEN_CLOCK for group in groups for _ in range(group.count)]
    return slots, laws
