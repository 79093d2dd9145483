"""A step-by-step simulator of the model, against which the engine is tested.

It is deliberately naive: every worker is advanced one step at a time, at every instant every
worker that is not inside a step is asked, and each policy (`oracle_policies`) sorts its list anew at
each ask.  It shares no code with the engine beyond `StepTime` and the streams of random numbers, so
that an error would have to be made twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, inf
from typing import Any

from oracle_policies import RULES, Ask, Cohort, cluster, isjl, matched, wait_in_window, with_age

from fairq.cost import StepTime
from fairq.streams import stream

__all__ = ["POLICIES", "OracleRun", "run"]


@dataclass
class OracleRun:
    """A finished run: lists by request, then whole-run counts and sums over the whole steps done."""

    start: list[float | None]
    finish: list[float | None]
    worker: list[int]
    start_step: list[int]
    progress: list[int]
    first_token: list[float | None]
    externality_paid: list[int]
    externality_caused: list[float]
    steps: int = 0  # busy steps
    requests: int = 0  # K1, the sum of |S|
    footprint: int = 0  # K2, the sum of |S|·m
    externality: int = 0
    intrinsic: int = 0  # Q, the sum of a(a + 1)/2
    extent_sum: int = 0
    max_extent: int = 0
    violations: int = 0  # busy steps whose extent exceeds floor(alpha); 0 where no alpha is given
    slot_time: float = 0.0  # sum of |S|·duration
    busy_time: float = 0.0
    arrived: int = 0
    completed: int = 0
    running_end: int = 0
    queued_end: int = 0
    rejected: list[int] = field(default_factory=list)  # request ids
    abandoned: list[int] = field(default_factory=list)


@dataclass
class Worker:
    index: int
    batch_size: int
    step: tuple[float, float, float]
    queue: list[int]  # its own, or the one that all share
    batch: list[int] = field(default_factory=list)
    steps: int = 0
    boundary: float | None = None  # the end of the step it is inside
    last_boundary: float | None = None
    base: float = 0.0
    n: int = 0  # N, K1, K2 since base
    k1: int = 0
    k2: int = 0
    cohort: Cohort | None = None
    idle_since: float = -inf
    wake: float | None = None  # when an idle worker wants to be asked again


@dataclass(frozen=True)
class Front:
    """How arrivals reach workers, and how long they stay."""

    dispatch: str = "central"
    queue_limit: float = inf
    abandon_after: float = inf
    seed: int = 0
    replication: int = 0


class Simulation:
    """The state of a run and the paragraph "One instant", sentence by sentence."""

    def __init__(
        self,
        tokens: Sequence[int],
        arrival: Sequence[float],
        sizes: Sequence[int],
        prompt: Sequence[int],
        ask: Ask,
        alpha: int | None,
        groups: Sequence[tuple[int, tuple[float, float, float]]],
        front: Front,
    ) -> None:
        n = len(tokens)
        self.tokens, self.arrival, self.sizes, self.prompt = tokens, arrival, sizes, prompt
        self.ask, self.alpha, self.front = ask, alpha, front
        shared: list[int] = []
        self.workers = [
            Worker(index, batch_size, step, shared if front.dispatch == "central" else [])
            for index, (batch_size, step) in enumerate(groups)
        ]
        self.unreleased = sorted(range(n), key=lambda i: (arrival[i], i))
        self.draws = stream(front.seed, front.replication, "dispatch").random((n, 2)).tolist()
        self.sent: dict[int, int] = {}  # the worker to whose queue each was dispatched
        self.turns = 0
        self.now = -inf
        self.done = OracleRun(
            [None] * n, [None] * n, [-1] * n, [-1] * n, [0] * n, [None] * n, [0] * n, [0.0] * n
        )

    def go(self, until: float | None) -> None:
        while (now := self.next_instant()) is not None:
            if until is not None and now > until:
                break
            self.now = now
            for worker in self.workers:
                if worker.boundary == now:
                    self.close_step(worker, now)
            while self.unreleased and self.arrival[self.unreleased[0]] <= now:
                self.dispatch(self.unreleased.pop(0))
            if until is not None and now >= until:
                break
            self.ask_until_none_comes_back(now)
            while self.abandon(now):
                self.ask_until_none_comes_back(now)
            for worker in self.workers:
                if worker.boundary is None and worker.batch:
                    self.begin_step(worker, now)

    def next_instant(self) -> float | None:
        times = [worker.boundary for worker in self.workers if worker.boundary is not None]
        times += [w.wake for w in self.workers if w.boundary is None and w.wake is not None]
        if self.unreleased:
            times.append(self.arrival[self.unreleased[0]])
        times += [self.arrival[i] + self.front.abandon_after for i in self.waiting()]
        return min((time for time in times if time < inf), default=None)

    # Who comes in and who leaves unserved.

    def waiting(self) -> list[int]:
        """Those that a worker's queue or reserve holds, by arrival."""
        lost = self.done.abandoned
        return self.by_arrival([i for i in self.sent if not self.started(i) and i not in lost])

    def dispatch(self, i: int) -> None:
        order = len(self.sent) + len(self.done.rejected)
        if len(self.waiting()) >= self.front.queue_limit:
            self.done.rejected.append(i)
            return
        index = self.choose(i, *self.draws[order])
        self.sent[i] = index
        self.workers[index].queue.append(i)

    def choose(self, i: int, first: float, second: float) -> int:
        count = len(self.workers)
        dispatch = self.front.dispatch
        if dispatch == "central":
            return 0
        if dispatch == "round-robin":
            self.turns += 1
            return (self.turns - 1) % count
        if dispatch == "length-class":
            assert self.alpha is not None
            return (-(-self.sizes[i] // self.alpha) if self.alpha else self.sizes[i]) % count
        if dispatch == "least-work":
            return min(range(count), key=self.work)
        one, other = floor(first * count), floor(second * (count - 1))
        other += other >= one
        two = [0] if count == 1 else sorted((one, other))
        among = {"random": [one], "power-of-two": two, "jsq": range(count)}[dispatch]
        return min(among, key=lambda w: len(self.unfinished(w)))

    def unfinished(self, w: int) -> list[int]:
        gone = self.done.abandoned
        return [i for i, to in self.sent.items() if to == w and not self.finished(i) and i not in gone]

    def work(self, w: int) -> int:
        return sum(self.sizes[i] - self.done.progress[i] for i in self.unfinished(w))

    def abandon(self, now: float) -> bool:
        """Let those go who have waited long enough; whether any of them was in a reserve."""
        kept = False
        for i in self.waiting():
            if self.arrival[i] + self.front.abandon_after > now:
                continue
            self.done.abandoned.append(i)
            for worker in self.workers:
                if i in worker.queue:
                    worker.queue.remove(i)
                    break
            else:
                kept = True
                for worker in self.workers:
                    if worker.cohort is not None:
                        worker.cohort.drop(i)
        return kept

    def begin_step(self, worker: Worker, now: float) -> None:
        if worker.last_boundary != now:
            worker.base, worker.n, worker.k1, worker.k2 = now, 0, 0, 0
        c, b, tau = worker.step
        largest = max(self.done.progress[i] for i in worker.batch) + 1
        worker.n += 1
        worker.k1 += len(worker.batch)
        worker.k2 += len(worker.batch) * largest
        worker.boundary = worker.base + (c * worker.n + b * worker.k1 + tau * worker.k2)
        worker.last_boundary = now

    def close_step(self, worker: Worker, now: float) -> None:
        assert worker.last_boundary is not None
        self.count_step(worker.batch, now - worker.last_boundary)
        worker.boundary, worker.last_boundary = None, now
        worker.steps += 1
        for i in list(worker.batch):
            self.done.progress[i] += 1
            if self.done.progress[i] == self.prompt[i] + 1:
                self.done.first_token[i] = now
            if self.done.progress[i] == self.tokens[i]:
                self.done.finish[i] = now
                worker.batch.remove(i)
                worker.idle_since = now

    def count_step(self, batch: list[int], duration: float) -> None:
        done = self.done
        m = [done.progress[i] + 1 for i in batch]
        largest = max(m)
        extent = largest - min(m)
        gap = len(m) * largest - sum(m)
        done.steps += 1
        done.requests += len(m)
        done.footprint += len(m) * largest
        done.externality += gap
        done.intrinsic += sum(m)
        done.extent_sum += extent
        done.max_extent = max(done.max_extent, extent)
        done.violations += self.alpha is not None and extent > self.alpha
        done.slot_time += len(m) * duration
        done.busy_time += duration
        if gap:
            share = gap / m.count(largest)
            for i, own in zip(batch, m, strict=True):
                done.externality_paid[i] += largest - own
                if own == largest:
                    done.externality_caused[i] += share

    def ask_until_none_comes_back(self, now: float) -> None:
        for _ in range(len(self.tokens) + 1):
            came_back = False
            for worker in self.workers:
                if worker.boundary is None:
                    running = len(worker.batch)
                    worker.wake = None
                    came_back |= self.ask(self, worker)
                    for i in worker.batch[running:]:
                        self.done.start[i] = now
            if not came_back:
                return
        raise RuntimeError("requests come back without end")

    # What a policy may look at and do.

    def free(self, worker: Worker) -> int:
        return worker.batch_size - len(worker.batch)

    def fair(self, worker: Worker) -> bool:
        """Whether the max progress of the batch is at most alpha."""
        assert self.alpha is not None
        return max((self.done.progress[i] for i in worker.batch), default=0) <= self.alpha

    def admit(self, worker: Worker, i: int) -> None:
        worker.batch.append(i)
        self.done.worker[i] = worker.index
        self.done.start_step[i] = worker.steps

    def started(self, i: int) -> bool:
        return self.done.worker[i] >= 0

    def finished(self, i: int) -> bool:
        return self.done.finish[i] is not None

    def by_arrival(self, requests: list[int]) -> list[int]:
        return sorted(requests, key=lambda i: (self.arrival[i], i))

    def smallest_first(self, requests: list[int]) -> list[int]:
        return sorted(requests, key=lambda i: (self.sizes[i], self.arrival[i], i))

    def largest_first(self, requests: list[int]) -> list[int]:
        return sorted(requests, key=lambda i: (-self.sizes[i], self.arrival[i], i))


POLICIES = (*RULES, "isjl", "robust-isjl", "matched", "cluster", "window")
"""The names that `run` knows."""


def ask_of(policy: str, options: dict[str, Any]) -> Ask:
    """The policy with its options, which are taken out."""
    max_wait = options.pop("max_wait", None)
    if policy in ("isjl", "robust-isjl"):
        return isjl(options.pop("pack_order", "ascending"), inf if max_wait is None else max_wait)
    if policy == "matched":
        return matched
    if policy == "cluster":
        return cluster(options.pop("patience", 0))
    return RULES[policy] if max_wait is None else with_age(policy, max_wait)


def run(
    tokens: Sequence[int],
    arrival: Sequence[float],
    policy: str,
    *,
    alpha: float | None,
    workers: int = 1,
    batch_size: int = 1,
    step: tuple[float, float, float] = (1.0, 0.0, 0.0),
    groups: Sequence[tuple[int, tuple[float, float, float]]] | None = None,
    upper: Sequence[int] | None = None,
    options: Mapping[str, Any] | None = None,
    until: float | None = None,
    prompt: Sequence[int] | None = None,
    **front: Any,
) -> OracleRun:
    """Simulate one run; `step` is (c, b, tau), `options` the policy's own and size.

    `groups` has the batch size and step of each worker, where they differ; `front` are the fields of `Front`.
    """
    options = dict(options or {})
    base = options.pop("base", "fcfs") if policy == "window" else policy
    size = options.pop("size", "upper" if base == "robust-isjl" else "tokens")
    window, min_batch = options.pop("window", None), options.pop("min_batch", None)
    ask = ask_of(base, options)
    if policy == "window":
        ask = wait_in_window(ask, window, min_batch)
    if options:
        raise ValueError(f"{policy} has no option {', '.join(options)}")
    sim = Simulation(
        tokens,
        [float(t) for t in arrival],
        tokens if upper is None or size == "tokens" else upper,
        [0] * len(tokens) if prompt is None else prompt,
        ask,
        None if alpha is None else floor(alpha),
        [(batch_size, checked(step))] * workers if groups is None else groups,
        Front(**front),
    )
    sim.go(until)
    done = sim.done
    lost = [*done.rejected, *done.abandoned]
    if until is None and any(finish is None for i, finish in enumerate(done.finish) if i not in lost):
        raise RuntimeError(f"{policy} left requests unserved")
    done.arrived = len(tokens) - len(sim.unreleased)
    done.completed = sum(finish is not None for finish in done.finish)
    done.running_end = sum(start is not None for start in done.start) - done.completed
    done.queued_end = done.arrived - done.completed - done.running_end - len(lost)
    return done


def checked(step: tuple[float, float, float]) -> tuple[float, float, float]:
    """The step time with the engine's own defaults and types."""
    time = StepTime(*step)
    return time.c, time.b, time.tau
