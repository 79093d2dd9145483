"""Who pays whose batching externality: the matrix of subsidies between classes of requests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.schedule import Schedule
from fairq.stretches import Stretches

__all__ = ["subsidy_matrix"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_PIECE = 1 << 18  # entries of a piece's table


def subsidy_matrix(stretches: Stretches, schedule: Schedule, index: Ints, count: int) -> Floats:
    """Externality by class of who pays (row) and who causes it (column), in tokens²; the sum is E.

    In each step a request pays (max m − m_i), and those that attain the maximum cause that in equal
    parts.  Row sums are the classes' `externality_paid`, column sums their `externality_caused`; what
    stands on the diagonal stays within a class, what a row holds elsewhere is a subsidy to others.

    Parameters:
        stretches, schedule: a schedule and its constant stretches.
        index: the class of each request, 0 .. `count` − 1.
        count: number of classes.

    Source: equation (6) of the paper; the split among those at the maximum is ours (see docs/model.md).
    """
    books = _Books(stretches, index[schedule.request[stretches.stays]], count)
    matrix = np.zeros((count, count))
    piece = max(_PIECE // max(count, 1), 1)
    for low in range(0, len(stretches.first), piece):
        at = slice(low, min(low + piece, len(stretches.first)))
        matrix += np.einsum("ks,ls->kl", books.paid(at).astype(np.float64), books.shares(at))
    return matrix


class _Books:
    """What each class pays and causes in a run of stretches, a row a class, a column a stretch.

    Runs must be asked for in order: the batch at the beginning of one is that at the end of the last.
    """

    def __init__(self, stretches: Stretches, group: Ints, count: int) -> None:
        self._stretches, self._group, self._count = stretches, group, count
        self._eldest, self._upto = _eldest(stretches)
        self._positions = [np.flatnonzero(group == k) for k in range(count)]
        by_end = np.argsort(stretches.end, kind="stable")
        begins_at = np.searchsorted(stretches.first, stretches.begin)
        ends_at = np.searchsorted(stretches.first, stretches.end[by_end])
        self._comings = (begins_at, group, stretches.begin)
        self._goings = (ends_at, group[by_end], stretches.begin[by_end])
        self._members = np.zeros(count, dtype=np.int64)  # of the batch, by class
        self._starts = np.zeros(count, dtype=np.int64)  # and the sum of their starts

    def paid(self, at: slice) -> Ints:
        """The sum over a stretch's steps, and the class's members, of (start − oldest start)."""
        members: Ints = np.zeros((self._count, at.stop - at.start), dtype=np.int64)
        starts: Ints = np.zeros_like(members)
        for sign, (place, group, begin) in ((1, self._comings), (-1, self._goings)):
            here = slice(*np.searchsorted(place, [at.start, at.stop]))
            where = (group[here], place[here] - at.start)
            np.add.at(members, where, sign)
            np.add.at(starts, where, sign * begin[here])
        members[:, 0] += self._members
        starts[:, 0] += self._starts
        np.cumsum(members, axis=1, out=members)
        np.cumsum(starts, axis=1, out=starts)
        self._members, self._starts = members[:, -1].copy(), starts[:, -1].copy()
        paid: Ints = self._stretches.steps[at] * (starts - members * self._stretches.oldest[at])
        return paid

    def shares(self, at: slice) -> Floats:
        """The class's part of those that attain the maximum."""
        eldest, upto = self._eldest[at], self._upto[at]
        shares: Floats = np.zeros((self._count, len(eldest)))
        shares[self._group[eldest], np.arange(len(eldest))] = 1
        tied = np.flatnonzero(upto - eldest > 1)
        low, high = eldest[tied], upto[tied]
        for k, positions in enumerate(self._positions):
            causing = np.searchsorted(positions, high) - np.searchsorted(positions, low)
            shares[k, tied] = causing / (high - low)
        return shares


def _eldest(stretches: Stretches) -> tuple[Ints, Ints]:
    """For each stretch, where in start order those at the maximum begin, and end.

    Stays are sorted by start, and by end among equals, so of those that started first the ones that are
    still in service stand together, last of their equals.
    """
    eldest = np.searchsorted(np.maximum.accumulate(stretches.end), stretches.first, side="right")
    return eldest, np.searchsorted(stretches.begin, stretches.oldest, side="right")
