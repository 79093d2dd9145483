"""A step-by-step simulator of the model, against which the engine is tested.

It is deliberately naive: every worker is advanced one step at a time, at every instant every
worker that is not inside a step is asked, and each policy sorts its list anew at each ask.  It
shares no code with the engine beyond `StepTime`, so that an error would have to be made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any

from fairq.cost import StepTime

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


@dataclass
class Cohort:
    """What Phase ONE of isjl or free-ride decided, and how far it has come."""

    leader: int
    own: list[int]  # o_2 .. o_M, for Phase TWO, not yet started
    lanes: list[list[int]]  # by lane, in the order of running, not yet started
    delay: int
    first_step: int
    running: list[int | None] = field(default_factory=list)  # by lane, the last one started


@dataclass
class Worker:
    index: int
    batch: list[int] = field(default_factory=list)
    steps: int = 0
    boundary: float | None = None  # the end of the step it is inside
    last_boundary: float | None = None
    base: float = 0.0
    n: int = 0  # N, K1, K2 since base
    k1: int = 0
    k2: int = 0
    cohort: Cohort | None = None


class Simulation:
    """The state of a run and the paragraph "One instant", sentence by sentence."""

    def __init__(
        self,
        tokens: Sequence[int],
        arrival: Sequence[float],
        sizes: Sequence[int],
        prompt: Sequence[int],
        ask: Callable[[Simulation, Worker], bool],
        alpha: int | None,
        workers: int,
        batch_size: int,
        step: tuple[float, float, float],
    ) -> None:
        n = len(tokens)
        self.tokens, self.arrival, self.sizes, self.prompt = tokens, arrival, sizes, prompt
        self.ask, self.alpha, self.batch_size, self.step = ask, alpha, batch_size, step
        self.workers = [Worker(index) for index in range(workers)]
        self.unreleased = sorted(range(n), key=lambda i: (arrival[i], i))
        self.queue: list[int] = []
        self.done = OracleRun(
            [None] * n, [None] * n, [-1] * n, [-1] * n, [0] * n, [None] * n, [0] * n, [0.0] * n
        )

    def go(self, until: float | None) -> None:
        while (now := self.next_instant()) is not None:
            if until is not None and now > until:
                break
            for worker in self.workers:
                if worker.boundary == now:
                    self.close_step(worker, now)
            while self.unreleased and self.arrival[self.unreleased[0]] <= now:
                self.queue.append(self.unreleased.pop(0))
            if until is not None and now >= until:
                break
            self.ask_until_none_comes_back(now)
            for worker in self.workers:
                if worker.boundary is None and worker.batch:
                    self.begin_step(worker, now)

    def next_instant(self) -> float | None:
        times = [worker.boundary for worker in self.workers if worker.boundary is not None]
        if self.unreleased:
            times.append(self.arrival[self.unreleased[0]])
        return min(times, default=None)

    def begin_step(self, worker: Worker, now: float) -> None:
        if worker.last_boundary != now:
            worker.base, worker.n, worker.k1, worker.k2 = now, 0, 0, 0
        c, b, tau = self.step
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
                    came_back |= self.ask(self, worker)
                    for i in worker.batch[running:]:
                        self.done.start[i] = now
            if not came_back:
                return
        raise RuntimeError("requests come back without end")

    # What a policy may look at and do.

    def free(self, worker: Worker) -> int:
        return self.batch_size - len(worker.batch)

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


Ask = Callable[[Simulation, Worker], bool]  # answers whether requests came back
Order = Callable[[Simulation, list[int]], list[int]]


def rule(order: Order, when: str, guard: bool) -> Ask:
    def ask(sim: Simulation, worker: Worker) -> bool:
        if when == "empty" and worker.batch:
            return False
        while sim.free(worker) and sim.queue and (not guard or sim.fair(worker)):
            first = order(sim, sim.queue)[0]
            sim.queue.remove(first)
            sim.admit(worker, first)
        return False

    return ask


PhaseOne = Callable[[Simulation, Worker], "Cohort | None"]


def cohorts(phase_one: PhaseOne) -> Ask:
    """The agent shared by isjl, robust-isjl and free-ride: "Order within one ask", in that order."""

    def ask(sim: Simulation, worker: Worker) -> bool:
        assert sim.alpha is not None
        came_back = False
        cohort = worker.cohort
        if cohort is not None and sim.started(cohort.leader):
            over = sim.done.progress[cohort.leader] >= sim.alpha + 1
            if over or sim.finished(cohort.leader):
                came_back |= give_back(sim, cohort)
        if not worker.batch and (cohort is None or sim.started(cohort.leader)):
            if cohort is not None:
                came_back |= give_back(sim, cohort)
            worker.cohort = cohort = phase_one(sim, worker)
        if cohort is not None:
            start_leader_if_due(sim, worker, cohort)
            start_packs(sim, worker, cohort)
        if cohort is None or sim.started(cohort.leader):
            phase_two(sim, worker, cohort)
        return came_back

    return ask


def give_back(sim: Simulation, cohort: Cohort) -> bool:
    """Return what the cohort reserved and has not started to the undone; whether that was anything."""
    reserved = cohort.own + [i for lane in cohort.lanes for i in lane]
    sim.queue.extend(reserved)
    cohort.own = []
    cohort.lanes = [[] for _ in cohort.lanes]
    return reserved != []


def start_leader_if_due(sim: Simulation, worker: Worker, cohort: Cohort) -> None:
    if sim.started(cohort.leader):
        return
    packs_finished = all(
        not lane and (last is None or sim.finished(last))
        for lane, last in zip(cohort.lanes, cohort.running, strict=True)
    )
    if worker.steps >= cohort.first_step + cohort.delay or packs_finished:
        sim.admit(worker, cohort.leader)


def idle_lanes(sim: Simulation, cohort: Cohort) -> list[int]:
    """The lanes that have pack requests left but none running."""
    idle = []
    for j, (lane, last) in enumerate(zip(cohort.lanes, cohort.running, strict=True)):
        if lane and (last is None or sim.finished(last)):
            idle.append(j)
    return idle


def start_packs(sim: Simulation, worker: Worker, cohort: Cohort) -> None:
    for j in idle_lanes(sim, cohort):
        if sim.fair(worker):
            first = cohort.lanes[j].pop(0)
            cohort.running[j] = first
            sim.admit(worker, first)


def phase_two(sim: Simulation, worker: Worker, cohort: Cohort | None) -> None:
    while sim.fair(worker):
        kept = 0 if cohort is None else len(idle_lanes(sim, cohort))
        own = [] if cohort is None else cohort.own
        if sim.free(worker) <= kept or not own + sim.queue:
            return
        largest = sim.largest_first(own + sim.queue)[0]
        (own if largest in own else sim.queue).remove(largest)
        sim.admit(worker, largest)


def reserve(sim: Simulation, worker: Worker, leader: int, own: list[int], lanes: list[list[int]]) -> Cohort:
    for i in [leader, *own, *(i for lane in lanes for i in lane)]:
        sim.queue.remove(i)
    return Cohort(leader, own, lanes, 0, worker.steps, [None] * len(lanes))


def fill_lanes(sim: Simulation, undone: list[int], m: int) -> list[list[int]]:
    """Lanes 2..B with what the scan after o_m gives them, in order of packing."""
    assert sim.alpha is not None
    alpha, o = sim.alpha, sim.sizes
    o_1, o_m = o[undone[0]], o[undone[m - 1]]
    lanes: dict[int, list[int]] = {j: [] for j in range(2, sim.batch_size + 1)}

    def takes(j: int, i: int) -> bool:
        pack = [o[k] for k in lanes[j]] + [o[i]]
        if j > m:
            return sum(pack) <= alpha
        cap = min(2 * alpha, o_1 - o[undone[j - 1]] + alpha)
        return sum(pack) <= cap and sum(pack) - max(pack) <= alpha

    for i in undone[m:]:
        if o[i] > min(2 * alpha, o_1 - o_m + alpha):
            continue
        for j in [*range(m + 1, sim.batch_size + 1), *range(m, 1, -1)]:
            if takes(j, i):
                lanes[j].append(i)
                break
    return list(lanes.values())


def isjl(pack_order: str) -> Ask:
    if pack_order not in ("ascending", "descending"):
        raise ValueError(f"pack_order is {pack_order!r}")

    def phase_one(sim: Simulation, worker: Worker) -> Cohort | None:
        assert sim.alpha is not None
        undone = sim.largest_first(sim.queue)
        if len(undone) < 2 or sim.sizes[undone[1]] <= sim.alpha:
            return None
        m = min(sim.batch_size, sum(sim.sizes[i] > sim.alpha for i in undone))
        packs = fill_lanes(sim, undone, m)
        if pack_order == "ascending":
            packs = [sim.smallest_first(pack) for pack in packs]
        cohort = reserve(sim, worker, undone[0], undone[1:m], packs)
        totals = [sum(sim.sizes[i] for i in pack) for pack in packs]
        cohort.delay = max([0, *(total - sim.alpha for total in totals)])
        return cohort

    return cohorts(phase_one)


def free_ride_phase_one(sim: Simulation, worker: Worker) -> Cohort | None:
    assert sim.alpha is not None
    alpha, o = sim.alpha, sim.sizes
    undone = sim.largest_first(sim.queue)
    if len(undone) < 2 or o[undone[1]] <= alpha:
        return None
    last = undone[1 : sim.batch_size]  # o_2 .. o_B, one to end each lane
    packs: list[list[int]] = [[] for _ in last]
    for i in undone[sim.batch_size :]:
        for pack, end in zip(packs, last, strict=True):
            if sum(o[k] for k in pack) + o[i] <= min(alpha, o[undone[0]] - o[end]):
                pack.append(i)
                break
    lanes = [[*sim.smallest_first(pack), end] for pack, end in zip(packs, last, strict=True)]
    return reserve(sim, worker, undone[0], [], lanes)


RULES: dict[str, Ask] = {
    "fcfs": rule(Simulation.by_arrival, "slot", guard=False),
    "fcfs-static": rule(Simulation.by_arrival, "empty", guard=False),
    "fcfs-fair": rule(Simulation.by_arrival, "slot", guard=True),
    "sjf": rule(Simulation.smallest_first, "slot", guard=False),
    "ljf": rule(Simulation.largest_first, "empty", guard=False),
    "ljf-fair": rule(Simulation.largest_first, "slot", guard=True),
    "free-ride": cohorts(free_ride_phase_one),
}

POLICIES = (*RULES, "isjl", "robust-isjl")
"""The names that `run` knows."""


def run(
    tokens: Sequence[int],
    arrival: Sequence[float],
    policy: str,
    *,
    alpha: float | None,
    workers: int,
    batch_size: int,
    step: tuple[float, float, float],
    upper: Sequence[int] | None = None,
    options: Mapping[str, Any] | None = None,
    until: float | None = None,
    prompt: Sequence[int] | None = None,
) -> OracleRun:
    """Simulate one run on a central queue; `step` is (c, b, tau), `options` pack_order and size."""
    options = dict(options or {})
    size = options.pop("size", "upper" if policy == "robust-isjl" else "tokens")
    ask = isjl(options.pop("pack_order", "ascending")) if policy in ("isjl", "robust-isjl") else RULES[policy]
    if options:
        raise ValueError(f"{policy} has no option {', '.join(options)}")
    time = StepTime(*step)
    sim = Simulation(
        tokens,
        [float(t) for t in arrival],
        tokens if upper is None or size == "tokens" else upper,
        [0] * len(tokens) if prompt is None else prompt,
        ask,
        None if alpha is None else floor(alpha),
        workers,
        batch_size,
        (time.c, time.b, time.tau),
    )
    sim.go(until)
    if until is None and any(finish is None for finish in sim.done.finish):
        raise RuntimeError(f"{policy} left requests unserved")
    done = sim.done
    done.arrived = len(tokens) - len(sim.unreleased)
    done.completed = sum(finish is not None for finish in done.finish)
    done.running_end = sum(start is not None for start in done.start) - done.completed
    done.queued_end = done.arrived - done.completed - done.running_end
    return done
