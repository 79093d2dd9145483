"""Which engine runs each cell of a study: decided once, before anything is simulated.

It depends on the scenario, on how many requests there are and on whether Numba is there; on nothing that a
process has done before, so the same study says the same whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairq.compiled import running
from fairq.errors import FairqError, InputError
from fairq.groups import per_worker, resolve_groups
from fairq.policy import plan_policy
from fairq.wording import cell_label

if TYPE_CHECKING:
    from fairq.scenario import Cell, Scenario
    from fairq.workload import Workload

__all__ = ["WORTH", "choose_engines", "engines_of", "engines_text"]

WORTH = 200_000
"""Requests, of all runs that the compiled engine can do, from which on ``"auto"`` takes it.

SimPy serves so many in the few seconds that processes take to load what is compiled.
"""

_NAMES = {"simpy": "SimPy", "compiled": "compiled"}
_MOST_NAMED = 4


def choose_engines(scenario: Scenario, workload: Workload) -> tuple[str, ...]:
    """The engine of each cell, ``"simpy"`` or ``"compiled"``, in their order.

    Parameters:
        scenario: what is to be run.
        workload: the requests of its first replication.

    Raises:
        InputError: `engine` is ``"compiled"``, and a cell cannot be run by it; the message says which and
            why.  Or a cell's policy cannot be made.

    >>> import fairq
    >>> from fairq.scenario import Scenario
    >>> scenario = Scenario.load("table1", ["policies=[{ name = 'fcfs' }]", "engine=simpy"])
    >>> choose_engines(scenario, scenario.draw(0))
    ('simpy',)
    """
    cells = scenario.cells()
    if scenario.engine == "simpy":
        return ("simpy",) * len(cells)
    reasons = _reasons(scenario, cells, workload)
    if scenario.engine == "compiled":
        _refuse(scenario, cells, [reason or running.fault_of_numba() for reason in reasons])
        return ("compiled",) * len(cells)
    requests = len(workload) * scenario.replications * reasons.count(None)
    worth_it = requests >= WORTH and running.fault_of_numba() is None
    return tuple("compiled" if worth_it and reason is None else "simpy" for reason in reasons)


def _reasons(scenario: Scenario, cells: Sequence[Cell], workload: Workload) -> list[str | None]:
    """Why the compiled engine cannot run each cell; None where it can."""
    pool = scenario.pool
    groups = resolve_groups(pool.groups(), pool.batch_size, scenario.step_time(), scenario.cost.cost())
    slots, laws = per_worker(groups)
    reasons = []
    for cell in cells:
        options = {name: value for name, value in cell.parameters.items() if name != "alpha"}
        try:
            plan = plan_policy(cell.policy, cell.parameters.get("alpha"), options, 1)
        except FairqError as error:
            error.add_note(f"in {cell_label(cell.policy, cell.parameters)}")
            raise
        reasons.append(running.unfit(plan, workload, slots, laws))
    return reasons


def _refuse(scenario: Scenario, cells: Sequence[Cell], reasons: Sequence[str | None]) -> None:
    """Raise for the first cell that the compiled engine cannot run, if there is one."""
    refused = [(cell, reason) for cell, reason in zip(cells, reasons, strict=True) if reason is not None]
    if not refused:
        return
    cell, reason = refused[0]
    which = f"cell {cell.index}, {cell_label(cell.policy, cell.parameters)}"
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    said = f"engine is 'compiled', which cannot run {which}: {reason}{more}"
    raise InputError(scenario.place(f"{said}; with 'auto' SimPy does what it cannot"))


def engines_of(manifest: Mapping[str, Any], cells: int) -> tuple[str, ...]:
    """The engine that ran each of so many cells, as a study's manifest has it.

    Raises:
        ValueError: it says nothing that can be.

    >>> engines_of({"engine": "simpy"}, 2), engines_of({"engines": ["compiled", "simpy"]}, 2)
    (('simpy', 'simpy'), ('compiled', 'simpy'))
    """
    engines = manifest.get("engines", [manifest.get("engine", "simpy")] * cells)
    if not isinstance(engines, list) or len(engines) != cells or not set(engines) <= set(_NAMES):
        raise ValueError(engines)
    return tuple(engines)


def engines_text(engines: Sequence[str], labels: Sequence[str]) -> str:
    """Which engine ran what, in words.

    >>> engines_text(["simpy", "simpy"], ["fcfs", "ljf"])
    'SimPy'
    >>> engines_text(["compiled", "simpy", "compiled"], ["fcfs", "matched", "ljf"])
    'compiled for 2 policies, SimPy for matched'
    """
    if len(set(engines)) == 1:
        return _NAMES[engines[0]]
    parts = []
    for engine, name in reversed(_NAMES.items()):
        whose = [label for label, ran in zip(labels, engines, strict=True) if ran == engine]
        many = engine == "compiled" or len(whose) > _MOST_NAMED
        of = f"{len(whose)} {'policy' if len(whose) == 1 else 'policies'}" if many else ", ".join(whose)
        parts.append(f"{name} for {of}")
    return ", ".join(parts)
