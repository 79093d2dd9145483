"""The account's pass over a worker's stays in machine code: the twin of stretches, totals and externality.

`fairq.stretches` cuts a schedule into constant stretches, arrays of several hundred bytes a request, and
`fairq.totals` and `fairq.account` take sums over them.  Here a worker's stays are gone through once, sorted
by begin and by end; a stretch is there while it is looked at, and every number is formed by the same formula
in the same order, so all that is reported has the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.jit import compiled, part, record_reader, shared
from fairq.compiled.records import word_at
from fairq.cost import max_feature

__all__ = ["ARRANGE", "BOOK", "GO_THROUGH", "SORT", "STAY", "STOCK", "take_stock"]

shared(max_feature)

_FEW = 100  # stays that are moved up one by one

BOOK = np.dtype(
    [
        ("c", np.float64),  # the step law, in the clock's unit of time
        ("b", np.float64),
        ("tau", np.float64),
        ("base", np.float64),  # when it last began to run after an idle gap; then N, K1 and K2 since
        ("n", np.int64),
        ("k1", np.int64),
        ("k2", np.int64),
        ("time", np.float64),  # at which the stretch begins
        ("batch", np.int64),  # of the stretch: requests, and the sum, least and largest of their starts
        ("starts", np.int64),
        ("oldest", np.int64),
        ("newest", np.int64),
        ("leads", np.int64),  # the sum of the oldest start over the steps so far
        ("front", np.int64),  # by begin: the place of the first that has not ended, which is the oldest
        ("group", np.int64),  # and the place after the last of those that began with it
        ("since", np.int64),  # the externality when it was last shared out, and what each of them has caused
        ("caused", np.float64),
        ("rest", np.float64),  # what the float before lacks (Kahan)
        ("steps", np.int64),  # from here on as in `fairq.totals.Totals`
        ("externality", np.int64),
        ("extent", np.int64),
        ("max_extent", np.int64),
        ("violations", np.int64),
        ("kv_peak", np.int64),
        ("slot_times", np.float64),
        ("busy_times", np.float64),
        ("extent_times", np.float64),
        ("kv_times", np.float64),
        ("kv_busy", np.float64),
    ],
    align=True,
)
"""A worker's clock, the stretch that is looked at, and the sums so far."""


STAY = np.dtype(
    [("begin", np.int64), ("end", np.int64), ("stay", np.int64), ("request", np.int64)], align=True
)
"""A stay that ran a step: its step counts, its place in the schedule, whose it is."""

STOCK = np.dtype(
    [
        ("task", np.int64),  # what is to be done: one of the next three constants
        ("workers", np.int64),  # how many, and how many stays the schedule has
        ("count", np.int64),
        ("longest", np.int64),  # more than the steps of any worker
        ("alpha", np.int64),  # the budget in whole tokens, -1 without one
        ("shares", np.bool_),  # whether the externality is told by request
        ("prompts", np.bool_),  # whether anybody has a prompt
        # Addresses: of the workers' books; and of where each one's stays begin in the orders
        ("books", np.int64),
        ("low", np.int64),
        ("order", np.int64),  # places in the schedule by worker and begin (ties: by end), for `ARRANGE`
        ("stays", np.int64),  # records of `STAY` in that order
        ("by_end", np.int64),  # places among these by worker and end
        ("ends", np.int64),  # and their ends, on an axis on which a worker's come after the last one's
        ("token_low", np.int64),  # by worker and when it is out: places in the schedule of those who reached
        ("by_token", np.int64),  # their first token; without prompts `stays` are in that order
        ("worker", np.int64),  # columns of the schedule
        ("begin", np.int64),
        ("steps", np.int64),
        ("start", np.int64),
        ("finish", np.int64),
        ("request", np.int64),
        ("prompt", np.int64),  # by request: prompt tokens, and what is written down
        ("first_token", np.int64),
        ("paid", np.int64),
        ("caused", np.int64),
        ("above", np.int64),  # room for those of the batch of whom nobody began later and ends later
    ],
    align=True,
)
"""What is gone through, and where what is found is written."""

SORT, ARRANGE, GO_THROUGH = np.arange(3, dtype=np.int64)

_book, _stay = record_reader(BOOK), record_reader(STAY)
_real_at = record_reader(np.dtype([("number", np.float64)]))


@compiled
def _word(address: Any, index: Any) -> Any:
    """The whole number of that index in the array there."""
    return word_at(address, index).word


@compiled
def _real(address: Any, index: Any) -> Any:
    """The float of that index in the array there."""
    return _real_at(address, index).number


@compiled
def take_stock(stock: Any) -> Any:
    """Do the task: put the stays in order, or go through every worker's; whether that was possible."""
    if stock.task == GO_THROUGH:
        for index in range(stock.workers):
            if _word(stock.low, index) < _word(stock.low, index + 1):
                _go_through(stock, index)
        return True
    if stock.task == ARRANGE:
        for place in range(_word(stock.low, stock.workers)):
            _put(stock, place, _word(stock.order, place))
    elif not _sort(stock):
        return False
    for index in range(stock.workers):
        for place in range(_word(stock.low, index), _word(stock.low, index + 1)):
            word_at(stock.ends, place).word = index * stock.longest + _stay(stock.stays, place).end
    return True


@compiled
def _sort(stock: Any) -> Any:
    """Put the stays of a schedule in order in which each worker's stand by begin; whether that is so.

    Under many policies those who come first start first.  Those that begin together are put in order of end,
    a few of them.
    """
    for index in range(stock.workers):
        _book(stock.books, index).front = _word(stock.low, index)
    for stay in range(stock.count):
        begin, steps = _word(stock.begin, stay), _word(stock.steps, stay)
        if steps == 0:
            continue
        index = _word(stock.worker, stay)
        book, low = _book(stock.books, index), _word(stock.low, index)
        place = book.front
        if place > low and _stay(stock.stays, place - 1).begin > begin:
            return False
        while place > low and _is_after(_stay(stock.stays, place - 1), begin, begin + steps):
            _put(stock, place, _stay(stock.stays, place - 1).stay)
            place -= 1
        if book.front - place > _FEW:
            return False
        _put(stock, place, stay)
        book.front += 1
    return True


@part
def _is_after(other: Any, begin: Any, end: Any) -> Any:
    return other.begin == begin and other.end > end


@compiled
def _put(stock: Any, place: Any, stay: Any) -> None:
    """Make the record at `place` that of the schedule's stay."""
    record, begin = _stay(stock.stays, place), _word(stock.begin, stay)
    record.begin = begin
    record.end = begin + _word(stock.steps, stay)
    record.stay = stay
    record.request = _word(stock.request, stay)


@compiled
def _go_through(stock: Any, index: Any) -> None:
    """One worker's stays, from each point at which some begin or end to the next one."""
    book = _book(stock.books, index)
    low, high = _word(stock.low, index), _word(stock.low, index + 1)
    begun, ended, token, height = low, low, _word(stock.token_low, index), 0
    book.front = low
    _take_lead(stock, book, high)
    next_begin, next_end = _begin_at(stock, low, high), _end_at(stock, low)
    while ended < high:
        now = min(next_begin, next_end)
        while ended < high and next_end == now:
            _let_out(stock, book, _stay(stock.stays, _word(stock.by_end, ended)))
            ended += 1
            next_end = _end_at(stock, ended) if ended < high else now
        while height > 0 and _above(stock, height).end <= now:
            height -= 1
        if begun < high and next_begin == now:
            if ended == begun and _has_idled(stock, low, begun):
                _open(book, _real(stock.start, _stay(stock.stays, begun).stay))
            while begun < high and next_begin == now:
                height = _let_in(stock, book, begun, height)
                begun += 1
                next_begin = _begin_at(stock, begun, high)
        _pass_lead(stock, book, now, high)
        if ended < begun:
            book.oldest = _stay(stock.stays, book.front).begin
            book.newest = _above(stock, height).begin
            until = min(next_begin, next_end) if begun < high else next_end
            token = _pass_tokens(stock, book, index, token, now, until)
            _pass_stretch(book, now, until - now, stock.alpha)


@compiled
def _end_at(stock: Any, place: Any) -> Any:
    """The step count at which the stay ends that has that place in the order of ends."""
    return _stay(stock.stays, _word(stock.by_end, place)).end


@compiled
def _begin_at(stock: Any, place: Any, high: Any) -> Any:
    """The step count at which the next stay begins; beyond all where there is none."""
    return _stay(stock.stays, place).begin if place < high else np.int64(2**62)


@compiled
def _above(stock: Any, height: Any) -> Any:
    """The last of so many in `above`."""
    return _stay(stock.stays, _word(stock.above, height - 1))


@part
def _pass_lead(stock: Any, book: Any, now: Any, high: Any) -> None:
    """Go on to the oldest that has not ended by now, and tell those before it what they have caused.

    Those that began together share in equal parts what the steps cost since the last of them has left, or
    since they are the oldest.
    """
    while book.front < high and _stay(stock.stays, book.front).end <= now:
        if stock.shares:
            more = (book.externality - book.since) / (book.group - book.front) - book.rest
            caused = book.caused + more
            book.rest = caused - book.caused - more
            book.caused = caused
            _real_at(stock.caused, _stay(stock.stays, book.front).request).number = caused
        book.since = book.externality
        book.front += 1
        if book.front == book.group:
            _take_lead(stock, book, high)


@compiled
def _take_lead(stock: Any, book: Any, high: Any) -> None:
    """The one at `front` is the first of those that began when it did."""
    book.group = book.front + 1
    book.caused = book.rest = 0.0
    begin = _begin_at(stock, book.front, high)
    while book.group < high and _begin_at(stock, book.group, high) == begin:
        book.group += 1


@part
def _has_idled(stock: Any, low: Any, place: Any) -> Any:
    """Whether the worker was idle before the stay at `place`, all before which have ended.

    Starting again at the very boundary at which the batch became empty is no gap.
    """
    if place == low:
        return True
    last = _stay(stock.stays, _word(stock.by_end, place - 1)).stay
    return _real(stock.start, _stay(stock.stays, place).stay) != _real(stock.finish, last)


@part
def _open(book: Any, start: Any) -> None:
    book.base = book.time = start
    book.n = book.k1 = book.k2 = 0


@part
def _let_in(stock: Any, book: Any, place: Any, height: Any) -> Any:
    """A stay begins; how many are then in `above`, each of which ends before the one below it."""
    stay = _stay(stock.stays, place)
    book.batch += 1
    book.starts += stay.begin
    if stock.shares:
        word_at(stock.paid, stay.request).word = book.leads  # so far; the rest when it ends
    while height > 0 and _above(stock, height).end <= stay.end:
        height -= 1
    word_at(stock.above, height).word = place
    return height + 1


@part
def _let_out(stock: Any, book: Any, stay: Any) -> None:
    """A stay ends; what it has paid is the sum over its steps of its start less the oldest one's."""
    book.batch -= 1
    book.starts -= stay.begin
    if stock.shares:
        leads = book.leads - _word(stock.paid, stay.request)
        word_at(stock.paid, stay.request).word = stay.begin * (stay.end - stay.begin) - leads


@part
def _time(book: Any, first: Any, steps: Any) -> Any:
    """The time at which so many steps of the stretch have ended."""
    n, k1 = book.n + steps, book.k1 + steps * book.batch
    k2 = book.k2 + max_feature(steps, book.batch, first - book.oldest + 1)
    return book.base + (book.c * n + book.b * k1 + book.tau * k2)


@part
def _pass_tokens(stock: Any, book: Any, index: Any, token: Any, now: Any, until: Any) -> Any:
    """Write down the first tokens that are out by the end of the stretch; the place of the next one."""
    last, time = np.int64(-1), 0.0
    while token < _word(stock.token_low, index + 1):
        if stock.prompts:
            stay = _word(stock.by_token, token)
            request = _word(stock.request, stay)
            point = _word(stock.begin, stay) + _word(stock.prompt, request) + 1
        else:
            request, point = _stay(stock.stays, token).request, _stay(stock.stays, token).begin + 1
        if point > until:
            break
        if point != last:
            last, time = point, _time(book, now, point - now)
        _real_at(stock.first_token, request).number = time
        token += 1
    return token


@part
def _pass_stretch(book: Any, first: Any, steps: Any, alpha: Any) -> None:
    """Add the stretch to the sums, and go to its end."""
    batch, extent, largest = book.batch, book.newest - book.oldest, first - book.oldest + 1
    held = batch * first - book.starts + batch
    time = _time(book, first, steps)
    duration = time - book.time
    book.leads += book.oldest * steps
    book.steps += steps
    book.externality += (book.starts - batch * book.oldest) * steps
    book.extent += extent * steps
    book.max_extent = max(book.max_extent, extent)
    if alpha >= 0 and extent > alpha:
        book.violations += steps
    book.slot_times += duration * batch
    book.busy_times += duration
    book.extent_times += duration * extent
    book.kv_peak = max(book.kv_peak, held + batch * (steps - 1))
    _hold(book, np.float64(steps), batch, largest, held)
    book.n += steps
    book.k1 += steps * batch
    book.k2 += max_feature(steps, batch, largest)
    book.time = time


@part
def _hold(book: Any, n: Any, batch: Any, largest: Any, held: Any) -> None:
    """Add the integral over n steps of the tokens held, of which the first step holds `held`.

    As in `fairq.kv`: step t takes d + t·d' and holds k + t·k'.
    """
    first = book.c * 1 + book.b * batch + book.tau * (batch * largest)
    ranks = n * (n - 1) / 2
    held_times, times = n * first * held + ranks * (first * batch), n * first
    growth = book.tau * batch
    if growth > 0:
        squares = (n - 1) * n * (2 * n - 1) / 6
        held_times += ranks * (growth * held) + squares * growth * batch
        times += ranks * growth
    book.kv_times += held_times
    book.kv_busy += times
