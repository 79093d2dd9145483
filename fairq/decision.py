"""What a policy is: it sees a worker's `View` and answers with a `Decision`.

A policy is an agent of one worker (one object a worker).  It is asked at the worker's
step boundaries and says which requests to admit now, which to keep for this worker, which to
give back, and when it wants to be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from fairq.ranking import Order, Ranking, RankSet
    from fairq.worker import Worker

__all__ = ["NOTHING", "Decision", "InsideAgent", "InsideView", "Policy", "View"]


class Decision(NamedTuple):
    """A policy's answer; its parts are carried out in the order release, reserve, admit.

    Attributes:
        admit: request ids that join the batch now; from the queue or from this worker's reserve.
        reserve: queued request ids to keep for this worker alone.
        release: reserved request ids to give back to the queue.
        wake: be asked at this absolute time (later than now; inside a step: at its end).
        wake_steps: be asked after this many more steps of this worker (a whole number >= 1).

    Each answer replaces both `wake` and `wake_steps` of the one before.

    >>> Decision(admit=[3, 4])
    Decision(admit=[3, 4], reserve=(), release=(), wake=None, wake_steps=None)
    """

    admit: Sequence[int] = ()
    reserve: Sequence[int] = ()
    release: Sequence[int] = ()
    wake: float | None = None
    wake_steps: int | None = None


NOTHING = Decision()


@runtime_checkable
class Policy(Protocol):
    """Anything with ``decide(view) -> Decision``.

    It is asked when a request has reached the queue of its worker, at completions of its own, at the
    wakes it asked for, and when requests were given back; it must not count on being asked elsewhere.

    Beside `decide` it may have, and the engine then makes use of:
        guarded: True promises constraint (1), and ``result.check()`` raises where it is broken.
        needs_requests: True says that it answers nothing while neither the queue nor its reserve holds
            a request, so it is not asked then.
        heeds: a method of the view; False says that a request reaching the queue would change nothing at
            the running batch's next boundary, so it is not asked there.
    """

    def decide(self, view: View) -> Decision:
        """Answer for the worker that `view` shows, at the time that it shows."""
        ...


class InsideAgent(Protocol):
    """An agent of this package: a `Policy` that sees ranks."""

    @property
    def order(self) -> Order:
        """In which order the queue ranks its requests."""
        ...

    @property
    def guarded(self) -> bool:
        """Whether it promises constraint (1)."""
        ...

    def heeds(self, view: InsideView) -> bool:
        """Whether a request that reaches the queue could change the running batch's next boundary."""
        ...

    def decide(self, view: InsideView) -> Decision:
        """As `Policy.decide`."""
        ...


class View:
    """One worker as its policy sees it: live and read-only; unreleased requests are not in it."""

    __slots__ = ("_worker",)

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @property
    def now(self) -> float:
        """The time, in the clock's unit."""
        return self._worker.calendar.now

    @property
    def steps(self) -> int:
        """Steps this worker has run."""
        return self._worker.steps

    @property
    def worker(self) -> int:
        """Its index in the pool."""
        return self._worker.index

    @property
    def alpha(self) -> int | None:
        """The fairness budget in whole tokens, ``floor(alpha)``; None where none was given."""
        return self._worker.alpha

    @property
    def batch_size(self) -> int:
        """B, the slots of the worker."""
        return self._worker.batch_size

    @property
    def free(self) -> int:
        """Slots not taken."""
        worker = self._worker
        return worker.batch_size - len(worker.running)

    @property
    def max_progress(self) -> int:
        """The largest progress in the batch, in tokens; 0 for an empty batch."""
        return self._worker.max_progress()

    @property
    def running(self) -> Mapping[int, int]:
        """Request id -> progress in tokens, in order of admission."""
        worker = self._worker
        return {request: worker.steps - start for request, start in worker.running.items()}

    @property
    def queue(self) -> tuple[int, ...]:
        """Ids of the requests that wait in the worker's queue, by arrival."""
        queue = self._worker.queue
        ids = queue.ranking.ids
        requests = [ids[rank] for rank in queue.waiting]
        return tuple(requests) if queue.ranking.order == "arrival" else self._by_arrival(requests)

    @property
    def reserved(self) -> tuple[int, ...]:
        """Ids of the requests kept for this worker, by arrival."""
        return self._by_arrival(list(self._worker.reserved))

    def size(self, request: int) -> int:
        """Tokens of `request` as the policy is told them: o_i, or the upper bound u_i.

        Raises:
            KeyError: no such request has arrived.
        """
        ranking = self._worker.queue.ranking
        return ranking.sizes[ranking.rank[self._released(request)]]

    def arrival(self, request: int) -> float:
        """When `request` arrived, in the clock's unit.

        Raises:
            KeyError: no such request has arrived.
        """
        return self._worker.arrival[self._released(request)]

    def _by_arrival(self, requests: list[int]) -> tuple[int, ...]:
        arrival = self._worker.arrival
        return tuple(sorted(requests, key=lambda request: (arrival[request], request)))

    def _released(self, request: int) -> int:
        arrival = self._worker.arrival
        if 0 <= request < len(arrival) and arrival[request] <= self._worker.calendar.now:
            return request
        raise KeyError(f"request {request} is not in the view: no such request has arrived")


class InsideView(View):
    """What the policies of this package see besides: the engine's own queue and worker, not to be changed.

    Attributes:
        state: the worker itself, for what is looked at at every instant.
    """

    __slots__ = ("state",)

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker)
        self.state = worker

    @property
    def waiting(self) -> RankSet:
        """The queue as a set of ranks, for a policy that cannot afford to sort it."""
        return self._worker.queue.waiting

    @property
    def ranking(self) -> Ranking:
        """What the ranks of `waiting` mean."""
        return self._worker.queue.ranking

    @property
    def completed(self) -> list[int]:
        """Requests of this worker completed since its policy was last asked."""
        return self._worker.completed

    @property
    def abandoned(self) -> list[int]:
        """Requests kept for this worker that have left since its policy was last asked."""
        return self._worker.abandoned

    def is_running(self, request: int) -> bool:
        """Whether `request` is in the batch."""
        return request in self._worker.running

    def progress(self, request: int) -> int:
        """Tokens of the running `request` already processed."""
        worker = self._worker
        return worker.steps - worker.running[request]

    @property
    def arrivals(self) -> list[float]:
        """Arrival by request id, of all requests: a policy looks up those that it may know of."""
        return self._worker.arrival

    @property
    def idle_since(self) -> float:
        """When the (empty) batch last became empty; −infinity where the worker has run nothing yet."""
        return self._worker.idle_since

    def followed(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """What is kept about the queue under `name`, made at the first call; see `Queue.followed`."""
        return self._worker.queue.followed(name, make)

    def holds_reserve(self) -> bool:
        """Whether anything is kept for this worker."""
        return bool(self._worker.reserved)
