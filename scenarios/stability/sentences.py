"""What the study says in words, computed from its table, and where lines cross."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cells import Cell, Found

__all__ = ["crossing", "curve", "headlines", "interval"]


def interval(found: Found) -> str:
    """The stable share of the slots, as text.

    A search that no rate stopped ends at offered load 1.
    """
    return f"{found.slots_low:.2f} to {found.slots_high:.2f}"


def curve(found: Mapping[Cell, Found], label: str) -> list[Found]:
    """The rows of the map of one policy, by x."""
    return sorted(
        (one for cell, one in found.items() if cell.part == "map" and cell.label == label),
        key=lambda one: one.cell.x,
    )


def crossing(first: Sequence[Found], other: Sequence[Found]) -> tuple[float, float, float] | None:
    """Where `other` overtakes `first`: the last x at which it surely carries less, about, the first of more.

    Surely: the intervals do not overlap.  Between two x of the grid the logarithm of the ratio of the middles
    is taken as linear.  None where it does not happen on the grid.
    """
    lead = [math.log(b.middle / a.middle) for a, b in zip(first, other, strict=True)]
    xs = [one.cell.x for one in first]
    below = [x for x, a, b in zip(xs, first, other, strict=True) if b.slots_high < a.slots_low]
    above = [x for x, a, b in zip(xs, first, other, strict=True) if b.slots_low > a.slots_high]
    places = [i for i in range(1, len(lead)) if lead[i - 1] < 0 <= lead[i]]
    if not (below and above and places):
        return None
    i = places[-1]
    about = xs[i - 1] + (xs[i] - xs[i - 1]) * -lead[i - 1] / (lead[i] - lead[i - 1])
    return max(below), about, min(x for x in above if x > max(below))


def headlines(found: Mapping[Cell, Found]) -> list[str]:
    """The findings, each in a sentence or two; one that the table does not bear out is left out."""
    region = {(cell.label, cell.workers): one for cell, one in found.items() if cell.part == "region"}
    single = {label: one for (label, workers), one in region.items() if workers == 1}
    said = [_loss(single), _backlogs(single), _order(single), _pooling(region), _turn(found)]
    return [sentence for sentence in said if sentence]


def _loss(single: Mapping[str, Found]) -> str:
    fair = [label for label in single if label.startswith("isjl")]
    if "fcfs" not in single or not all(single[label].slots_high < single["fcfs"].slots_low for label in fair):
        return ""
    parts = ", ".join(f"{label} {interval(single[label])}" for label in fair)
    return (
        f"On the token clock first come first served keeps up with a load of {interval(single['fcfs'])} "
        f"of the slots. The paper's ISJL stops far below: {parts}."
    )


def _backlogs(single: Mapping[str, Found]) -> str:
    hidden = {label: one for label, one in single.items() if one.backlog is not None and one.backlog >= 0.97}
    gaps = {label: one.backlog - one.slots_high for label, one in hidden.items() if one.backlog is not None}
    widest = max(gaps, key=lambda label: gaps[label], default=None)
    if widest is None or gaps[widest] < 0.2:
        return ""
    return (
        f"A backlog hides this: {', '.join(hidden)} fill at least 0.97 of the slots on one. The widest gap "
        f"is that of {widest}: {hidden[widest].backlog:.2f} on a backlog, {interval(hidden[widest])} under "
        "arrivals. With every size in store long requests find long company; under arrivals the long ones "
        "are served as they come, in thin batches, and the short ones starve."
    )


def _order(single: Mapping[str, Found]) -> str:
    fair = [label for label in single if label.startswith("isjl")]
    if "matched" not in single or any(
        single[label].slots_high > single["matched"].slots_low for label in fair
    ):
        return ""
    return (
        "The loss is the order's, not fairness's: matched never mixes requests of different progress (its "
        f"extent is 0) and yet keeps up with {interval(single['matched'])}. It takes requests of like sizes "
        "together instead of the longest first."
    )


def _pooling(region: Mapping[tuple[str, int], Found]) -> str:
    sizes = sorted({workers for _, workers in region})
    labels = list(dict.fromkeys(label for label, _ in region))
    gains = {label: region[label, sizes[-1]].middle - region[label, sizes[0]].middle for label in labels}
    widest = max(gains, key=lambda label: abs(gains[label]))
    if len(sizes) < 2 or abs(gains[widest]) > 0.1:
        return ""
    apart = [label for label in labels if _differ([region[label, size] for size in sizes])]
    said = f"all policies but {', '.join(apart)}" if apart else "every policy"
    return (
        f"Pools of {', '.join(map(str, sizes))} workers on one queue carry nearly the same share of slots: "
        f"for {said} the intervals overlap, and the largest change from {sizes[0]} to {sizes[-1]} workers is "
        f"{gains[widest]:+.2f} ({widest}). This answers half of the paper's pooling argument. It says that a "
        "larger pool of pending requests makes batches of like sizes possible. That is so, but it takes no "
        "servers: a single overloaded worker has a large pool too, and a policy that looks for like sizes "
        "finds them there. More workers do not make a longest-first policy look for them. What pooling may "
        "still shorten is the wait."
    )


def _differ(rows: Sequence[Found]) -> bool:
    return max(one.slots_low for one in rows) > min(one.slots_high for one in rows)


def _turn(found: Mapping[Cell, Found]) -> str:
    first = curve(found, "fcfs")
    labels = dict.fromkeys(cell.label for cell in found if cell.part == "map" and cell.label != "fcfs")
    places = {label: crossing(first, curve(found, label)) for label in labels}
    said = [
        f"{label} near {place[1]:.2f} (after {place[0]:g}, by {place[2]:g})"
        for label, place in places.items()
        if place is not None
    ]
    if not said:
        return ""
    return (
        "Where a step's time grows with its longest request, the order turns round. As x = tau·B·E[o]/c "
        f"grows, first come first served is overtaken by {', '.join(said)}. Only beyond does it buy capacity "
        "to be fair in this way."
    )
