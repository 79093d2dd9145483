"""Who meets whom: the contests of the suite, by section.

A section makes its contests one by one, so that no more than one holds its workloads.  `requests` is how
many SimPy serves; what is compiled gets five times as many, lest it be over before it can be timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fairq
from benchmarks.contest import Contest, Contestant
from benchmarks.entrants import ENGINES, POLICIES, Served, entrants, floor_of, label
from benchmarks.peers import ciw_network, heap_loop, missing, oracle, textbook
from benchmarks.workloads import backlog, poisson, single_slots, stable_load

__all__ = ["BACKLOG", "MAIN", "POOL", "SECTIONS", "SINGLE", "WORKERS", "oracle_contest"]

MAIN = ("fcfs", "isjl")
OTHERS = ("sjf", "ljf-fair", "free-ride", "matched")
FACTOR = {"simpy": 1, "compiled": 5}

SINGLE = "M/M/8: B = 1, load 0.9"
POOL = "8 workers, B = 32, lmsys-like"
OTHER = "the other policies at 0.9 of what each carries, 8 workers, B = 32, lmsys-like"
BACKLOG = "backlogs, one worker, B = 32, lmsys-like"
WORKERS = "8 and 1,000 workers at 0.9 of what each policy carries, B = 32, lmsys-like"

PEERS = {
    "SimPy, process and Resource": textbook,
    "Ciw": ciw_network,
    "bare heap": heap_loop,
}


def single(requests: int) -> Iterator[Contest]:
    """One request at a time on each of eight workers, beside programs that can do no more than that."""
    workload = single_slots(requests)
    arrival, service = workload.arrival.tolist(), workload.tokens.astype(float).tolist()
    reason = missing("ciw")
    able = [
        Contestant(name, requests, lambda peer=peer: peer(arrival, service, 8))  # type: ignore[misc]
        for name, peer in PEERS.items()
        if name != "Ciw" or reason is None
    ]
    ours, skipped = entrants(
        Served(policy, engine, single_slots(requests * FACTOR[engine]), batch_size=1)
        for policy in ("fcfs", "sjf")
        for engine in ENGINES
    )
    skipped |= {} if reason is None else {"Ciw": reason}
    yield Contest(SINGLE, (floor_of(requests), *able, *ours), skipped)


def pool(requests: int) -> Iterator[Contest]:
    """Half of all slots busy at the least; then 0.5, 0.9 and 1.2 of what each policy carries."""

    def loads(policy: str) -> dict[str, float]:
        carried = stable_load(policy, POLICIES[policy], 8)[0]
        return {"0.5 of slots": 0.5} | {f"{part} of stable": part * carried for part in (0.5, 0.9, 1.2)}

    yield _against_floor(
        POOL,
        requests,
        (
            Served(policy, engine, _arrivals(requests * FACTOR[engine], load), note=note)
            for policy in MAIN
            for engine in ENGINES
            for note, load in loads(policy).items()
        ),
    )


def others(requests: int) -> Iterator[Contest]:
    """The other policies, on fewer requests."""
    few = max(requests // 4, 1)
    yield _against_floor(
        OTHER,
        requests,
        (
            Served(policy, engine, _near(policy, few * FACTOR[engine]))
            for policy in OTHERS
            for engine in ENGINES
        ),
    )


def backlogs(requests: int) -> Iterator[Contest]:
    """A twentieth, half and five times as many requests, all there at 0."""
    sizes = {"small": max(requests // 20, 1), "middle": max(requests // 2, 1), "large": requests * 5}
    yield _against_floor(
        BACKLOG,
        requests,
        (
            Served(policy, engine, backlog(count), workers=1, note=f"{note} backlog")
            for policy in MAIN
            for engine in ENGINES
            for note, count in sizes.items()
        ),
    )


def workers(requests: int) -> Iterator[Contest]:
    """So many requests that 1,000 workers have a hundred each."""
    yield _against_floor(
        WORKERS,
        requests,
        (
            Served(policy, engine, _near(policy, requests * 5, count), count, note=f"{count:,} workers")
            for policy in MAIN
            for engine in ENGINES
            for count in (8, 1000)
        ),
    )


def steps(requests: int) -> Iterator[Contest]:
    """The step-by-step oracle; it looks at all requests at every instant, so it gets few."""
    few = max(requests // 40, 1)
    for policy in MAIN:
        yield oracle_contest(policy, f"load 0.5, 8 workers: {label(policy)}", _arrivals(few, 0.5), 8)
        yield oracle_contest(policy, f"backlog, one worker: {label(policy)}", backlog(few), 1)


def oracle_contest(policy: str, what: str, workload: fairq.Workload, count: int) -> Contest:
    """The oracle and both engines on one workload; the fact is the mean length of a constant stretch."""
    ours = [Served(policy, engine, workload, count) for engine in ENGINES]
    able, skipped = entrants(ours)
    reason = missing("oracle")
    if reason is None:
        settings = {"alpha": POLICIES[policy], "workers": count, "batch_size": 32}
        able.insert(0, Contestant("oracle", len(workload), lambda: oracle(workload, policy, **settings)))
    else:
        skipped["oracle"] = reason
    stretches = ours[0].run("segments").segments["steps"]
    facts = {"mean stretch length": float(stretches.sum()) / len(stretches)}
    return Contest(f"oracle, B = 32, lmsys-like, {what}", tuple(able), skipped, facts=facts)


def growth(requests: int) -> Iterator[Contest]:
    """Three sizes each of N, G and B: time of a call as a power of it."""
    for policy in MAIN:
        for engine in ENGINES:
            many = requests * FACTOR[engine]
            counts = (max(many // 4, 1), max(many // 2, 1), many)
            yield _growing("N", [Served(policy, engine, _near(policy, n), size=n) for n in counts])
            pools = [Served(policy, engine, _near(policy, many, g), g, size=g) for g in (8, 32, 128)]
            yield _growing("G", pools)
            batches = [
                Served(policy, engine, _arrivals(many, 0.25, batch_size=b), batch_size=b, size=b)
                for b in (8, 32, 128)
            ]
            yield _growing("B", batches)


def _growing(grows: str, sizes: list[Served]) -> Contest:
    able, skipped = entrants(sizes)
    named = tuple(Contestant(f"{grows} = {c.size:,.0f}", c.requests, c.run, c.size) for c in able)
    return Contest(f"growth in {grows}: {sizes[0].name}", named, skipped, grows)


def _against_floor(name: str, requests: int, ours: Iterator[Served]) -> Contest:
    able, skipped = entrants(ours)
    return Contest(name, (floor_of(requests), *able), skipped)


def _arrivals(requests: int, load: float, *, count: int = 8, batch_size: int = 32) -> fairq.Workload:
    return poisson(requests, load=load, workers=count, batch_size=batch_size)


def _near(policy: str, requests: int, count: int = 8) -> fairq.Workload:
    return _arrivals(requests, 0.9 * stable_load(policy, POLICIES[policy], count)[0], count=count)


SECTIONS: dict[str, Callable[[int], Iterator[Contest]]] = {
    "single": single,
    "pool": pool,
    "others": others,
    "backlog": backlogs,
    "workers": workers,
    "oracle": steps,
    "growth": growth,
}
