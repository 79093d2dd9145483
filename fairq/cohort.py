"""Planning a cohort: Phase ONE of the paper's Algorithm 3 as a pure function of sizes.

Written in the part of Python that Numba compiles, and compiled from here by `fairq.compiled`: flat lists
of whole numbers, no objects but `waiting`, which needs only ``first_at_or_after(rank)``, and no defaults or
keywords between these functions.  Ranks order requests by decreasing size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["CohortPlan", "first_at_most", "plan_cohort", "running_order"]


class Waiting(Protocol):
    """The undone requests, as a set of ranks."""

    def first_at_or_after(self, rank: int) -> int:
        """The least rank in the set that is >= `rank`; −1 where there is none."""
        ...


class CohortPlan(NamedTuple):
    """A cohort by ranks; ``leader == -1`` says that there is none.

    Attributes:
        leader: rank of o_1.
        own: ranks of o_2 .. o_M (for free-ride o_2 .. o_B), longest first.
        packed: ranks of the packed short requests, in order of packing.
        lane: the lane 2 .. B of each of `packed`.
        delay: steps from the cohort's first one to the start of o_1.
    """

    leader: int
    own: list[int]
    packed: list[int]
    lane: list[int]
    delay: int


def first_at_most(sizes: Sequence[int], limit: int, start: int) -> int:
    """The least rank >= `start` whose size is <= `limit`, sizes decreasing; ``len(sizes)`` if none.

    >>> first_at_most([9, 7, 7, 2], 7, 0), first_at_most([9, 7, 7, 2], 1, 0)
    (1, 4)
    """
    low, high = start, len(sizes)
    while low < high:
        middle = (low + high) // 2
        if sizes[middle] <= limit:
            high = middle
        else:
            low = middle + 1
    return low


def plan_cohort(
    sizes: Sequence[int], waiting: Waiting, batch_size: int, alpha: int, free_ride: bool
) -> CohortPlan:
    """Plan the next cohort of ISJL (or of `free_ride`) from the `waiting` ranks.

    Parameters:
        sizes: size by rank in tokens, decreasing.
        waiting: the undone requests.
        batch_size: B, slots of the worker.
        alpha: whole tokens, ``floor(alpha)``.
        free_ride: caps and lanes of `free-ride` in place of those of ISJL.

    Source: Algorithm 3, lines 3 to 16, in the reading of this package: where the paper's prose and
    pseudo-code differ, or would break (1), we depart.  A lane j <= M takes a request only while its
    total without its largest stays <= alpha (ours: so that a pack run smallest first starts every
    request within alpha of the cohort's beginning), and o_2 .. o_M are never packed.

    Every lane's rule is one number, the room it has left: once it holds its largest, what may still
    be added is the lesser of cap − total and alpha − (total − largest), and both fall with each
    request.  Since the scan is by decreasing size, a request that no lane takes lets it jump to the
    largest size that some lane still takes.

    >>> from fairq.ranking import RankSet
    >>> waiting = RankSet(4)
    >>> for rank in range(4): waiting.add(rank)
    >>> plan_cohort([4, 4, 2, 2], waiting, batch_size=3, alpha=2, free_ride=False)
    CohortPlan(leader=0, own=[1], packed=[2, 3], lane=[3, 2], delay=0)
    """
    leader = waiting.first_at_or_after(0)
    rank = waiting.first_at_or_after(leader + 1) if leader >= 0 else -1
    own = [0][:0]
    packed = [0][:0]
    lane = [0][:0]
    if rank < 0 or sizes[rank] <= alpha:
        return CohortPlan(-1, own, packed, lane, 0)
    while rank >= 0 and len(own) < batch_size - 1 and (free_ride or sizes[rank] > alpha):
        own.append(rank)
        rank = waiting.first_at_or_after(rank + 1)
    lanes, rooms = _empty_lanes(sizes, leader, own, batch_size, alpha, free_ride)
    totals = [0] * len(lanes)
    tree = _tree_of(rooms)
    while rank >= 0 and len(lanes) > 0:
        size = sizes[rank]
        if tree[1] < size:
            rank = waiting.first_at_or_after(first_at_most(sizes, tree[1], rank + 1))
            continue
        place = _first_with_room(tree, size)
        packed.append(rank)
        lane.append(lanes[place])
        totals[place] += size
        _set_room(tree, place, min(tree[len(tree) // 2 + place] - size, alpha))
        rank = waiting.first_at_or_after(rank + 1)
    delay = 0 if free_ride or len(lanes) == 0 else max(0, max(totals) - alpha)
    return CohortPlan(leader, own, packed, lane, delay)


def running_order(
    sizes: Sequence[int], plan: CohortPlan, free_ride: bool, descending: bool
) -> tuple[list[int], list[int]]:
    """The pack requests of a cohort and the lane of each, every lane's in the order in which it runs them.

    Parameters:
        sizes: size by rank in tokens, decreasing.
        plan: what `plan_cohort` answered.
        free_ride: each lane ends in one of o_2 .. o_B.
        descending: lanes run in order of packing; else by increasing size, ties by rank.

    >>> plan = CohortPlan(leader=0, own=[1], packed=[2, 3, 4], lane=[2, 2, 2], delay=0)
    >>> running_order([9, 8, 3, 1, 1], plan, free_ride=False, descending=False)
    ([3, 4, 2], [2, 2, 2])
    """
    ranks = [0][:0]
    lanes = [0][:0]
    end = len(plan.packed)
    while end > 0:  # runs of equal size from the last to the first, since the scan went by decreasing size
        begin = 0 if descending else end - 1
        while begin > 0 and sizes[plan.packed[begin - 1]] == sizes[plan.packed[begin]]:
            begin -= 1
        ranks.extend(plan.packed[begin:end])
        lanes.extend(plan.lane[begin:end])
        end = begin
    if free_ride:
        ranks.extend(plan.own)
        lanes.extend(range(2, 2 + len(plan.own)))
    return ranks, lanes


def _empty_lanes(
    sizes: Sequence[int], leader: int, own: list[int], batch_size: int, alpha: int, free_ride: bool
) -> tuple[list[int], list[int]]:
    """The lanes in the order in which a request tries them, and the room of each."""
    longest = sizes[leader]
    if free_ride:
        lanes = [2 + i for i in range(len(own))]
        rooms = [min(alpha, longest - sizes[rank]) for rank in own]
        return lanes, rooms
    last = len(own) + 1
    lanes = list(range(last + 1, batch_size + 1)) + list(range(last, 1, -1))
    rooms = [alpha for _ in range(last + 1, batch_size + 1)]
    for j in range(last, 1, -1):
        rooms.append(min(2 * alpha, longest - sizes[own[j - 2]] + alpha))
    return lanes, rooms


def _tree_of(rooms: list[int]) -> list[int]:
    """The largest room below each node of a binary tree over the lanes; node 1 is the root."""
    leaves = 1
    while leaves < len(rooms):
        leaves *= 2
    tree = [-1] * leaves + rooms + [-1] * (leaves - len(rooms))
    for node in range(leaves - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])
    return tree


def _first_with_room(tree: list[int], size: int) -> int:
    """The first lane whose room is at least `size`; there is one."""
    node = 1
    while 2 * node < len(tree):
        node = 2 * node if tree[2 * node] >= size else 2 * node + 1
    return node - len(tree) // 2


def _set_room(tree: list[int], place: int, room: int) -> None:
    node = len(tree) // 2 + place
    tree[node] = room
    while node > 1:
        node //= 2
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


COMPILED = (
    first_at_most, _tree_of, _first_with_room, _set_room, _empty_lanes, plan_cohort, running_order,
)  # fmt: skip
"""What `fairq.compiled` compiles, each after those it calls."""
