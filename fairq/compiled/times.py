"""Heaps of workers by a number each (a time, a load), in flat arrays: set, remove, look at the least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.compiled.jit import compiled, record_reader

__all__ = ["holds", "key_of", "least", "make_heap", "put", "remove", "top"]

_ENTRY = np.dtype([("key", np.float64), ("member", np.int64), ("place", np.int64)], align=True)
"""By place: the member there.  By member: its key and its place (-1: not in).  The first holds the size."""

_entry = record_reader(_ENTRY)


def make_heap(members: int) -> NDArray[np.void]:
    """An empty indexed binary heap over the numbers 0 .. members − 1.  Compiled functions get its address."""
    heap = np.zeros(1 + members, dtype=_ENTRY)
    heap["place"][1:] = -1
    return heap


@compiled
def top(heap: Any) -> Any:
    """The member with the least key; of equal keys the lowest member.  The heap is not empty."""
    return _entry(heap, 1).member


@compiled
def key_of(heap: Any, member: Any) -> Any:
    """The key of a member that is in."""
    return _entry(heap, 1 + member).key


@compiled
def holds(heap: Any, member: Any) -> Any:
    """Whether a member is in."""
    return _entry(heap, 1 + member).place >= 0


@compiled
def least(heap: Any) -> Any:
    """The least key; infinity where the heap is empty."""
    return key_of(heap, top(heap)) if _entry(heap, 0).place > 0 else np.inf


@compiled
def put(heap: Any, member: Any, key: Any) -> None:
    """Let `member` have `key`, whether it is in or not."""
    entry, header = _entry(heap, 1 + member), _entry(heap, 0)
    place = entry.place
    if place < 0:
        place = header.place
        header.place = place + 1
    elif entry.key == key:
        return
    entry.key = key
    _sink(heap, member, _rise(heap, member, place))


@compiled
def remove(heap: Any, member: Any) -> None:
    """Take `member` out, if it is in."""
    entry, header = _entry(heap, 1 + member), _entry(heap, 0)
    place = entry.place
    if place < 0:
        return
    entry.place = -1
    header.place -= 1
    last = _entry(heap, 1 + header.place).member
    if last != member:
        _sink(heap, last, _rise(heap, last, place))


@compiled
def _before(heap: Any, one: Any, other: Any) -> Any:
    first, second = _entry(heap, 1 + one).key, _entry(heap, 1 + other).key
    return first < second or (first == second and one < other)


@compiled
def _rise(heap: Any, member: Any, place: Any) -> Any:
    """Move those above that come after `member` down; the place that this leaves for it."""
    while place > 0:
        above = _entry(heap, 1 + (place - 1) // 2).member
        if not _before(heap, member, above):
            break
        _set(heap, above, place)
        place = (place - 1) // 2
    return place


@compiled
def _sink(heap: Any, member: Any, place: Any) -> None:
    """Put `member` at `place`, or below it where others come first."""
    size = _entry(heap, 0).place
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        follower = _entry(heap, 1 + child).member
        if child + 1 < size:
            other = _entry(heap, 2 + child).member
            if _before(heap, other, follower):
                child, follower = child + 1, other
        if not _before(heap, follower, member):
            break
        _set(heap, follower, place)
        place = child
    _set(heap, member, place)


@compiled
def _set(heap: Any, member: Any, place: Any) -> None:
    _entry(heap, 1 + place).member = member
    _entry(heap, 1 + member).place = place
