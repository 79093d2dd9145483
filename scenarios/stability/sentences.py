"""What the study says in words, computed from its table, and where lines cross."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cells import Cell, Found

from fairq.policy import POLICIES

__all__ = ["Crossing", "crossing", "curve", "headlines", "interval", "leaders", "pooling", "turn"]


def interval(found: Found) -> str:
    """The largest stable token rate, as text.

    A search that no rate stopped ends at offered load 1.
    """
    return f"{found.rate_low:.2f} to {found.rate_high:.2f}"


def curve(found: Mapping[Cell, Found], label: str) -> list[Found]:
    """The rows of the map of one policy, by x."""
    return sorted(
        (one for cell, one in found.items() if cell.part == "map" and cell.label == label),
        key=lambda one: one.cell.x,
    )


@dataclass(frozen=True)
class Crossing:
    """Where one policy's line crosses another's.

    Attributes:
        after: the last x of the grid at which `other` surely carries less; None where it never does.
        about: where the middles cross.
        by: the first x from which on it surely carries more.
        other: who overtakes.
    """

    after: float | None
    about: float
    by: float
    other: str

    def __str__(self) -> str:
        return f"near x = {self.about:.2f}, surely by {self.by:g}"


def crossing(first: Sequence[Found], other: Sequence[Found]) -> Crossing | None:
    """Where `other` overtakes `first`, both at the x that they share.

    Surely: the intervals do not overlap.  Between two x of the grid the logarithm of the ratio of the middles
    is taken as linear.  None where it does not happen on the grid.
    """
    by_x = {one.cell.x: one for one in first}
    pairs = [(by_x[one.cell.x], one) for one in other if one.cell.x in by_x]
    xs = [one.cell.x for one, _ in pairs]
    lead = [math.log(b.middle / a.middle) for a, b in pairs]
    below = [x for x, (a, b) in zip(xs, pairs, strict=True) if a.surely_above(b)]
    places = [i for i in range(1, len(lead)) if lead[i - 1] < 0 <= lead[i]]
    after = max(below, default=None)
    above = [x for x, (a, b) in zip(xs, pairs, strict=True) if b.surely_above(a) and x > (after or 0.0)]
    if not (above and places):
        return None
    i = places[-1]
    about = xs[i - 1] + (xs[i] - xs[i - 1]) * -lead[i - 1] / (lead[i] - lead[i - 1])
    return Crossing(after, about, min(above), other[0].cell.label)


def leaders(
    found: Mapping[Cell, Found], among: Callable[[Cell], bool] = lambda _: True
) -> dict[float, list[Found]]:
    """By x of the map, the policies that may carry most, most first: nobody is surely above them.

    Parameters:
        among: which policies are looked at; an x at which one of them was not searched is left out.
    """
    rows: dict[float, list[Found]] = {}
    for cell, one in found.items():
        if cell.part == "map" and among(cell):
            rows.setdefault(cell.x, []).append(one)
    whole = max(map(len, rows.values()), default=0)
    return {
        x: sorted(
            (one for one in row if not any(other.surely_above(one) for other in row)),
            key=lambda one: -one.middle,
        )
        for x, row in sorted(rows.items())
        if len(row) == whole
    }


def turn(found: Mapping[Cell, Found]) -> Crossing | None:
    """Where the policy that carries most, by the middles, is first overtaken as x grows."""
    most = [row[0].cell.label for row in leaders(found).values()]
    after = next((label for label in most if label != most[0]), None)
    return None if after is None else crossing(curve(found, most[0]), curve(found, after))


def headlines(found: Mapping[Cell, Found]) -> list[str]:
    """The findings, in a sentence or two each; one that the table does not bear out is left out."""
    region = {(cell.label, cell.workers): one for cell, one in found.items() if cell.part == "region"}
    single = {label: one for (label, workers), one in region.items() if workers == 1}
    said = [_most(found), _paper(found), _backlogs(single), _order(single), _pooling(region)]
    return [sentence for sentence in said if sentence]


def _spans(most: Mapping[float, Sequence[Found]], name: Callable[[Cell], str]) -> list[str]:
    """Who may carry most from which x to which, as ``"fcfs at x = 0 to 0.2"``."""
    named = [(x, tuple(dict.fromkeys(name(one.cell) for one in row))) for x, row in most.items()]
    spans: list[tuple[tuple[str, ...], float, float]] = []
    for x, names in named:
        if spans and set(spans[-1][0]) == set(names):
            spans[-1] = (spans[-1][0], spans[-1][1], x)
        else:
            spans.append((names, x, x))
    return [
        f"{' or '.join(names)} {f'at x = {first:g}' if first == last else f'from x = {first:g} to {last:g}'}"
        for names, first, last in spans
    ]


def _most(found: Mapping[Cell, Found]) -> str:
    most = leaders(found)
    if len(most) < 2:
        return ""
    place = turn(found)
    said = f" ({place.other} takes the lead {place})" if place is not None else ""
    return (
        f"Which policy carries most: {'; '.join(_spans(most, lambda cell: cell.label))}{said}. "
        "x = tau·B·E[o]/c is how much the longest request adds to a step: 0 on the token clock."
    )


def _paper(found: Mapping[Cell, Found]) -> str:
    """The same among the policies of the paper."""
    most = leaders(found, lambda cell: POLICIES[cell.policy].source != "ours")
    others = any(cell.part == "map" and POLICIES[cell.policy].source == "ours" for cell in found)
    if not others or len(most) < 2:
        return ""
    fair = [[POLICIES[one.cell.policy].guarded for one in row] for row in most.values()]
    said = " To be fair as they are costs capacity where x is small and buys some where it is large."
    return (
        f"Among the paper's own policies: {'; '.join(_spans(most, lambda cell: cell.policy))}."
        f"{said if all(fair[-1]) and not any(fair[0]) else ''}"
    )


def _backlogs(single: Mapping[str, Found]) -> str:
    gaps = _gaps(single)
    widest = max(gaps, key=lambda label: gaps[label], default=None)
    if widest is None or gaps[widest] < 0.2:
        return ""
    cohorts = [label for label in gaps if label.startswith("isjl")]
    isjl = max(cohorts, key=lambda label: single[label].middle, default=widest)
    parts = [
        f"{label} works one off at load {one.backlog:.2f} but keeps up with {interval(one)}"
        for label, one in ((label, single[label]) for label in dict.fromkeys([isjl, widest]))
    ]
    return f"A backlog hides what longest-first policies lose: {', '.join(parts)} (x = 0)."


def _gaps(single: Mapping[str, Found]) -> dict[str, float]:
    """How far below the load of a backlog each policy surely stops that nearly fills its slots on one."""
    return {
        label: one.backlog - one.rate_high
        for label, one in single.items()
        if one.backlog is not None and one.backlog >= 0.97
    }


def _order(single: Mapping[str, Found]) -> str:
    fair = [label for label in single if label.startswith("isjl")]
    if "matched" not in single or not all(single["matched"].surely_above(single[label]) for label in fair):
        return ""
    return (
        "The loss is the order's, not fairness's: matched never mixes requests of different progress and yet "
        f"keeps up with a load of {interval(single['matched'])}."
    )


def _moves(region: Mapping[tuple[str, int], Found]) -> tuple[int, int, dict[str, float]]:
    """The smallest and the largest pool, and by how much each policy's load surely differs between them."""
    sizes = sorted({workers for _, workers in region})
    labels = dict.fromkeys(label for label, _ in region)
    moved = {}
    for label in labels:
        small, large = region[label, sizes[0]], region[label, sizes[-1]]
        if small.surely_above(large) or large.surely_above(small):
            moved[label] = large.middle - small.middle
    return sizes[0], sizes[-1], moved


def _listed(moved: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{label} {change:+.2f}" for label, change in moved)


def _pooling(region: Mapping[tuple[str, int], Found]) -> str:
    if len({workers for _, workers in region}) < 2:
        return ""
    first, last, moved = _moves(region)
    if not moved:
        return f"{last} workers on one queue carry the load of {first}: every policy's intervals overlap."
    up = _listed((label, change) for label, change in moved.items() if change > 0)
    down = _listed((label, change) for label, change in moved.items() if change < 0)
    parts = [f"{way} for {said}" for way, said in (("up", up), ("down", down)) if said]
    sizes = [abs(change) for change in moved.values()]
    single = {label: one for (label, workers), one in region.items() if workers == first}
    gaps = {label: gap for label, gap in _gaps(single).items() if label in moved}
    beside = ""
    if gaps and max(sizes) < min(gaps.values()):
        beside = f" That is little beside what these lack to a backlog, {_range(gaps.values())}."
    return (
        f"Pooling {last} workers instead of {first} moves the load by {_range(sizes)}: {'; '.join(parts)}; "
        f"the others' intervals overlap.{beside}"
    )


def _range(values: Iterable[float]) -> str:
    low, high = min(values := list(values)), max(values)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def pooling(found: Mapping[Cell, Found]) -> str:
    """What this says of the paper's argument that pooling helps; nothing where the table says otherwise."""
    region = {(cell.label, cell.workers): one for cell, one in found.items() if cell.part == "region"}
    if "That is little beside" not in _pooling(region):
        return ""
    return (
        "This answers half of the paper's pooling argument, that a larger pool of pending requests makes "
        "batches of like sizes possible. That is so, but it takes no servers: a single overloaded worker has "
        "a large pool too, and a policy that looks for like sizes (matched) finds them there. More workers "
        "do not make a longest-first policy look for them. What pooling may still shorten is the wait."
    )
