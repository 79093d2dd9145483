"""Heaps of workers by a number each (a time, a load): set, remove and look at the least, in one flat array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.compiled.jit import compiled, part

__all__ = ["holds", "key_of", "least", "make_heaps", "put", "remove", "top"]

_ENTRY = np.dtype([("key", np.float64), ("member", np.int64), ("place", np.int64)])
"""By member: its key and its place in the heap (−1: not in).  By place: the member there."""


def make_heaps(heaps: int, members: int) -> NDArray[np.void]:
    """Empty indexed binary heaps over the numbers 0 .. members − 1; a row each, its size in the last entry."""
    made = np.zeros((heaps, members + 1), dtype=_ENTRY)
    made["place"][:, :members] = -1
    return made


@compiled
def top(heaps: Any, h: Any) -> Any:
    """The member with the least key; of equal keys the lowest member.  The heap is not empty."""
    return heaps[h, 0].member


@compiled
def key_of(heaps: Any, h: Any, member: Any) -> Any:
    """The key of a member that is in."""
    return heaps[h, member].key


@compiled
def least(heaps: Any, h: Any) -> Any:
    """The least key; infinity where the heap is empty."""
    return heaps[h, heaps[h, 0].member].key if heaps[h, heaps.shape[1] - 1].place > 0 else np.inf


@compiled
def put(heaps: Any, h: Any, member: Any, key: Any) -> None:
    """Let `member` have `key`, whether it is in or not."""
    place = heaps[h, member].place
    if place < 0:
        place = heaps[h, heaps.shape[1] - 1].place
        heaps[h, heaps.shape[1] - 1].place = place + 1
    elif heaps[h, member].key == key:
        return
    heaps[h, member].key = key
    _sink(heaps, h, member, _rise(heaps, h, member, place))


@compiled
def remove(heaps: Any, h: Any, member: Any) -> None:
    """Take `member` out, if it is in."""
    place = heaps[h, member].place
    if place < 0:
        return
    heaps[h, member].place = -1
    size = heaps[h, heaps.shape[1] - 1].place - 1
    heaps[h, heaps.shape[1] - 1].place = size
    last = heaps[h, size].member
    if last != member:
        _sink(heaps, h, last, _rise(heaps, h, last, place))


@compiled
def _before(heaps: Any, h: Any, one: Any, other: Any) -> Any:
    first, second = heaps[h, one].key, heaps[h, other].key
    return first < second or (first == second and one < other)


@compiled
def _rise(heaps: Any, h: Any, member: Any, place: Any) -> Any:
    """Move those above that come after `member` down; the place that this leaves for it."""
    while place > 0:
        above = heaps[h, (place - 1) // 2].member
        if not _before(heaps, h, member, above):
            break
        heaps[h, place].member = above
        heaps[h, above].place = place
        place = (place - 1) // 2
    return place


@compiled
def _sink(heaps: Any, h: Any, member: Any, place: Any) -> None:
    """Put `member` at `place`, or below it where others come first."""
    size = heaps[h, heaps.shape[1] - 1].place
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(heaps, h, heaps[h, child + 1].member, heaps[h, child].member):
            child += 1
        follower = heaps[h, child].member
        if not _before(heaps, h, follower, member):
            break
        heaps[h, place].member = follower
        heaps[h, follower].place = place
        place = child
    heaps[h, place].member = member
    heaps[h, member].place = place
