"""The policies of the oracle: each sorts its list anew at each ask, and says nothing to the engine's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oracle import Simulation, Worker

__all__ = ["RULES", "Ask", "Cohort", "cluster", "isjl", "matched", "wait_in_window", "with_age"]


@dataclass
class Cohort:
    """What Phase ONE of isjl or free-ride decided, and how far it has come."""

    leader: int
    own: list[int]  # o_2 .. o_M, for Phase TWO, not yet started
    lanes: list[list[int]]  # by lane, in the order of running, not yet started
    delay: int
    first_step: int
    running: list[int | None] = field(default_factory=list)  # by lane, the last one started
    headless: bool = False  # its leader left before it could start

    def waits(self, sim: Simulation) -> bool:
        """Whether it still waits for its leader to start."""
        return not self.headless and not sim.started(self.leader)

    def holds(self, sim: Simulation) -> bool:
        """Whether it keeps anything for its worker."""
        return self.waits(sim) or self.own != [] or any(self.lanes)

    def drop(self, i: int) -> None:
        """Request i has left."""
        self.headless |= i == self.leader
        self.own = [k for k in self.own if k != i]
        self.lanes = [[k for k in lane if k != i] for lane in self.lanes]


Ask = Callable[["Simulation", "Worker"], bool]  # answers whether requests came back
Order = Callable[["Simulation", list[int]], list[int]]


def late(sim: Simulation, max_wait: float, requests: list[int]) -> list[int]:
    """Those older than `max_wait`, oldest first."""
    return sim.by_arrival([i for i in requests if sim.now - sim.arrival[i] > max_wait])


def rule(order: Order, when: str, guard: bool, max_wait: float = inf) -> Ask:
    def ask(sim: Simulation, worker: Worker) -> bool:
        if when == "empty" and worker.batch:
            return False
        while sim.free(worker) and worker.queue and (not guard or sim.fair(worker)):
            first = (late(sim, max_wait, worker.queue) + order(sim, worker.queue))[0]
            worker.queue.remove(first)
            sim.admit(worker, first)
        return False

    return ask


PhaseOne = Callable[["Simulation", "Worker"], "Cohort | None"]


def cohorts(phase_one: PhaseOne, max_wait: float = inf) -> Ask:
    """The agent shared by isjl, robust-isjl and free-ride: "Order within one ask", in that order."""

    def ask(sim: Simulation, worker: Worker) -> bool:
        assert sim.alpha is not None
        came_back = False
        cohort = worker.cohort
        if cohort is not None and not cohort.waits(sim):
            over = sim.done.progress[cohort.leader] >= sim.alpha + 1
            if over or cohort.headless or sim.finished(cohort.leader):
                came_back |= give_back(worker, cohort)
        if not worker.batch and (cohort is None or not cohort.waits(sim)):
            if cohort is not None:
                came_back |= give_back(worker, cohort)
            skipped = late(sim, max_wait, worker.queue) != []
            worker.cohort = cohort = None if skipped else phase_one(sim, worker)
        if cohort is not None:
            start_leader_if_due(sim, worker, cohort)
            start_packs(sim, worker, cohort)
        if cohort is None or not cohort.waits(sim):
            phase_two(sim, worker, cohort, max_wait)
        return came_back

    return ask


def give_back(worker: Worker, cohort: Cohort) -> bool:
    """Return what the cohort reserved and has not started to the undone; whether that was anything."""
    reserved = cohort.own + [i for lane in cohort.lanes for i in lane]
    worker.queue.extend(reserved)
    cohort.own = []
    cohort.lanes = [[] for _ in cohort.lanes]
    return reserved != []


def start_leader_if_due(sim: Simulation, worker: Worker, cohort: Cohort) -> None:
    if not cohort.waits(sim):
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


def phase_two(sim: Simulation, worker: Worker, cohort: Cohort | None, max_wait: float) -> None:
    while sim.fair(worker):
        kept = 0 if cohort is None else len(idle_lanes(sim, cohort))
        own = [] if cohort is None else cohort.own
        if sim.free(worker) <= kept or not own + worker.queue:
            return
        candidates = own + worker.queue
        first = (late(sim, max_wait, candidates) + sim.largest_first(candidates))[0]
        (own if first in own else worker.queue).remove(first)
        sim.admit(worker, first)


def reserve(sim: Simulation, worker: Worker, leader: int, own: list[int], lanes: list[list[int]]) -> Cohort:
    for i in [leader, *own, *(i for lane in lanes for i in lane)]:
        worker.queue.remove(i)
    return Cohort(leader, own, lanes, 0, worker.steps, [None] * len(lanes))


def fill_lanes(sim: Simulation, undone: list[int], m: int, batch_size: int) -> list[list[int]]:
    """Lanes 2..B with what the scan after o_m gives them, in order of packing."""
    assert sim.alpha is not None
    alpha, o = sim.alpha, sim.sizes
    o_1, o_m = o[undone[0]], o[undone[m - 1]]
    lanes: dict[int, list[int]] = {j: [] for j in range(2, batch_size + 1)}

    def takes(j: int, i: int) -> bool:
        pack = [o[k] for k in lanes[j]] + [o[i]]
        if j > m:
            return sum(pack) <= alpha
        cap = min(2 * alpha, o_1 - o[undone[j - 1]] + alpha)
        return sum(pack) <= cap and sum(pack) - max(pack) <= alpha

    for i in undone[m:]:
        if o[i] > min(2 * alpha, o_1 - o_m + alpha):
            continue
        for j in [*range(m + 1, batch_size + 1), *range(m, 1, -1)]:
            if takes(j, i):
                lanes[j].append(i)
                break
    return list(lanes.values())


def isjl(pack_order: str, max_wait: float = inf) -> Ask:
    if pack_order not in ("ascending", "descending"):
        raise ValueError(f"pack_order is {pack_order!r}")

    def phase_one(sim: Simulation, worker: Worker) -> Cohort | None:
        assert sim.alpha is not None
        undone = sim.largest_first(worker.queue)
        if len(undone) < 2 or sim.sizes[undone[1]] <= sim.alpha:
            return None
        m = min(worker.batch_size, sum(sim.sizes[i] > sim.alpha for i in undone))
        packs = fill_lanes(sim, undone, m, worker.batch_size)
        if pack_order == "ascending":
            packs = [sim.smallest_first(pack) for pack in packs]
        cohort = reserve(sim, worker, undone[0], undone[1:m], packs)
        totals = [sum(sim.sizes[i] for i in pack) for pack in packs]
        cohort.delay = max([0, *(total - sim.alpha for total in totals)])
        return cohort

    return cohorts(phase_one, max_wait)


def free_ride_phase_one(sim: Simulation, worker: Worker) -> Cohort | None:
    assert sim.alpha is not None
    alpha, o = sim.alpha, sim.sizes
    undone = sim.largest_first(worker.queue)
    if len(undone) < 2 or o[undone[1]] <= alpha:
        return None
    last = undone[1 : worker.batch_size]  # o_2 .. o_B, one to end each lane
    packs: list[list[int]] = [[] for _ in last]
    for i in undone[worker.batch_size :]:
        for pack, end in zip(packs, last, strict=True):
            if sum(o[k] for k in pack) + o[i] <= min(alpha, o[undone[0]] - o[end]):
                pack.append(i)
                break
    lanes = [[*sim.smallest_first(pack), end] for pack, end in zip(packs, last, strict=True)]
    return reserve(sim, worker, undone[0], [], lanes)


def with_age(policy: str, max_wait: float) -> Ask:
    """A largest-first policy in which those older than `max_wait` go first."""
    if policy == "free-ride":
        return cohorts(free_ride_phase_one, max_wait)
    return rule(lambda sim, queue: sim.largest_first(queue), *LARGEST[policy], max_wait)


def gather_until(sim: Simulation, worker: Worker, patience: float) -> bool:
    """Whether an idle worker goes on waiting for its queue to grow; it is asked when that has been enough."""
    due = max(min(sim.arrival[i] for i in worker.queue), worker.idle_since) + patience
    if sim.now < due:
        worker.wake = due
    return sim.now < due


def run_all(sim: Simulation, worker: Worker, batch: list[int]) -> bool:
    for i in batch:
        worker.queue.remove(i)
        sim.admit(worker, i)
    return False


def wait_in_window(base: Ask, window: float, min_batch: int | None) -> Ask:
    def ask(sim: Simulation, worker: Worker) -> bool:
        if not worker.batch and (worker.cohort is None or not worker.cohort.holds(sim)):
            if not worker.queue:
                return False
            few = len(worker.queue) < (worker.batch_size if min_batch is None else min_batch)
            if few and gather_until(sim, worker, window):
                return False
        return base(sim, worker)

    return ask


def cluster(patience: float) -> Ask:
    def ask(sim: Simulation, worker: Worker) -> bool:
        assert sim.alpha is not None
        if worker.batch or not worker.queue:
            return False
        classes: dict[int, list[int]] = {}
        for i in sim.by_arrival(worker.queue):
            label = ceil(Fraction(sim.sizes[i], sim.alpha)) if sim.alpha else sim.sizes[i]
            classes.setdefault(label, []).append(i)
        fullest = max(classes.values(), key=len)  # the first of equal ones: that of the earliest head
        if len(fullest) < worker.batch_size and gather_until(sim, worker, patience):
            return False
        return run_all(sim, worker, fullest[: worker.batch_size])

    return ask


def matched(sim: Simulation, worker: Worker) -> bool:
    if worker.batch or not worker.queue:
        return False
    undone, b = sim.largest_first(worker.queue), worker.batch_size
    runs = [undone[k : k + b] for k in range(max(1, len(undone) - b + 1))]
    best = max(runs, key=lambda r: Fraction(sum(sim.sizes[i] for i in r), b * sim.sizes[r[0]]))
    return run_all(sim, worker, best)


LARGEST = {"ljf": ("empty", False), "ljf-fair": ("slot", True)}

RULES: dict[str, Ask] = {
    "fcfs": rule(lambda sim, queue: sim.by_arrival(queue), "slot", guard=False),
    "fcfs-static": rule(lambda sim, queue: sim.by_arrival(queue), "empty", guard=False),
    "fcfs-fair": rule(lambda sim, queue: sim.by_arrival(queue), "slot", guard=True),
    "sjf": rule(lambda sim, queue: sim.smallest_first(queue), "slot", guard=False),
    "ljf": rule(lambda sim, queue: sim.largest_first(queue), "empty", guard=False),
    "ljf-fair": rule(lambda sim, queue: sim.largest_first(queue), "slot", guard=True),
    "free-ride": cohorts(free_ride_phase_one),
}
