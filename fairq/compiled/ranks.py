"""Sets of whole numbers that answer "first at or after": the `RankSet` of many queues, in flat arrays.

A set is a tree of 64-bit words.  A node of level 1 holds 64 words, that is 4,096 numbers; a node of
level l + 1 holds 64 nodes of level l; a mask in each node says which of its 64 are not empty.  Nodes
that become empty are used again, so memory follows what waits and not what could.  Words are signed,
since mixed signs would be floats: ``-1 << i`` masks the bits from i on.  Compiled functions are given the
address of the sets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload_method
from numpy.typing import NDArray

from fairq.compiled.jit import array_reader, compiled, trailing_zeros

__all__ = ["ROOT", "SetView", "add", "discard", "first_at_or_after", "has_none", "make_sets"]

Ints = NDArray[np.int64]


HEADER, ROOT = np.arange(2)
"""The row of `levels`, of the nodes to use again and of a scratch path; the row of the first set's root."""

_LEVELS, _FREE, _UNUSED, _PATH, _MASK = 0, 1, 2, 8, 64
_ROW = _MASK + 1
_words = array_reader(np.dtype(np.int64))


class SetView(NamedTuple):
    """One set, as `plan_cohort` looks at it."""

    sets: int  # the address
    root: int


def make_sets(count: int, capacity: int, members: int) -> Ints:
    """`count` empty sets of numbers below `capacity`, which hold `members` numbers together at most.

    A row is a node: 64 entries (words at level 1, rows of nodes above it), then the mask.  The roots come
    first.  Memory is claimed for the worst case and touched only where it is used.
    """
    levels = 1
    while 64 ** (levels + 1) < capacity:
        levels += 1
    rows = ROOT + count
    for level in range(1, levels):
        rows += min(members, count * (capacity // 64 ** (level + 1) + 1))
    sets = np.empty((rows, _ROW), dtype=np.int64)
    sets[ROOT : ROOT + count, _MASK] = 0
    sets[HEADER, [_LEVELS, _FREE, _UNUSED]] = levels, -1, ROOT + count
    return sets


@compiled
def has_none(sets: Any, root: Any) -> Any:
    """Whether the set is empty."""
    words = _words(sets, 0)
    return words[root * _ROW + _MASK] == 0


@compiled
def add(sets: Any, root: Any, number: Any) -> None:
    """Put in a number that is not there."""
    words = _words(sets, 0)
    node = root
    for level in range(words[_LEVELS], 0, -1):
        i = (number >> (6 * level)) & 63
        if not (words[node * _ROW + _MASK] >> i) & 1:
            words[node * _ROW + _MASK] |= 1 << i
            words[node * _ROW + i] = 0 if level == 1 else _new_node(words)
        if level == 1:
            words[node * _ROW + i] |= 1 << (number & 63)
        else:
            node = words[node * _ROW + i]


@compiled
def discard(sets: Any, root: Any, number: Any) -> None:
    """Take out a number that is there; nodes that it leaves empty are free to be used again."""
    words = _words(sets, 0)
    node = root
    for level in range(words[_LEVELS], 1, -1):
        words[_PATH + level] = node
        node = words[node * _ROW + ((number >> (6 * level)) & 63)]
    i = (number >> 6) & 63
    words[node * _ROW + i] ^= 1 << (number & 63)
    if words[node * _ROW + i] != 0:
        return
    words[node * _ROW + _MASK] ^= 1 << i
    level = 2
    while words[node * _ROW + _MASK] == 0 and level <= words[_LEVELS]:
        words[node * _ROW] = words[_FREE]
        words[_FREE] = node
        node = words[_PATH + level]
        words[node * _ROW + _MASK] ^= 1 << ((number >> (6 * level)) & 63)
        level += 1


@compiled
def first_at_or_after(sets: Any, root: Any, number: Any) -> Any:
    """The least number in the set that is not below `number`; −1 where there is none."""
    words = _words(sets, 0)
    level = words[_LEVELS]
    if number >> (6 * (level + 1)):
        return -1
    node = root
    branch, height, later = -1, 0, 0  # the lowest node on the way down with something after `number`
    while True:
        i = (number >> (6 * level)) & 63
        rest = words[node * _ROW + _MASK] & (-2 << i)
        if rest != 0:
            branch, height, later = node, level, rest
        if not (words[node * _ROW + _MASK] >> i) & 1:
            break
        if level == 1:
            word = words[node * _ROW + i] & (-1 << (number & 63))
            if word != 0:
                return (number >> 6 << 6) + trailing_zeros(word)
            break
        node = words[node * _ROW + i]
        level -= 1
    if branch < 0:
        return -1
    i = trailing_zeros(later)
    return _least_below(words, branch, height, i, (number >> (6 * (height + 1)) << 6) + i)


@compiled
def _least_below(words: Any, node: Any, level: Any, i: Any, prefix: Any) -> Any:
    """The least number below entry i of a node; `prefix` is what the numbers there have in common."""
    while level > 1:
        node = words[node * _ROW + i]
        level -= 1
        i = trailing_zeros(words[node * _ROW + _MASK])
        prefix = (prefix << 6) + i
    return (prefix << 6) + trailing_zeros(words[node * _ROW + i])


@compiled
def _new_node(words: Any) -> Any:
    """The row of an empty node."""
    node = words[_FREE]
    if node >= 0:
        words[_FREE] = words[node * _ROW]
    else:
        node = words[_UNUSED]
        words[_UNUSED] += 1
    words[node * _ROW + _MASK] = 0
    return node


def _method_of_view(view: Any, rank: Any) -> Any:  # noqa: ARG001 - the signature is what Numba matches
    """``waiting.first_at_or_after(rank)``, as `plan_cohort` writes it."""
    if view.instance_class is not SetView:
        return None

    def method(view: Any, rank: Any) -> Any:
        return first_at_or_after(view.sets, view.root, rank)

    return method


overload_method(types.NamedUniTuple, "first_at_or_after")(_method_of_view)
