"""Poisson arrivals whose rate is that of a hidden phase, which changes at random times.

Source of the theory: W. Fischer and K. Meier-Hellstern, The Markov-modulated Poisson process (MMPP)
cookbook, Performance Evaluation 18 (1993).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.arrivals.pieces import Pieces
from fairq.arrivals.process import MAX_REQUESTS, ArrivalLaw, chunk_sizes, exponentials, unit_points
from fairq.arrivals.tables import numbers
from fairq.errors import InputError
from fairq.streams import open_uniforms
from fairq.validation import finite_number, shown

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["MarkovModulated"]


@dataclass(frozen=True, init=False)
class MarkovModulated(ArrivalLaw):
    """A Markov-modulated Poisson process (MMPP) of any number of phases, in its steady state from time 0.

    The first phase is drawn from the stationary distribution of the phases, so that the mean number of
    arrivals in any time t is mean_rate·t.

    Parameters:
        rates: of arrival in each phase, >= 0, not all 0; at least two phases.
        switch: rates of change of the phase, per unit of time.  A matrix: ``switch[i][j]`` from i to j,
            its diagonal 0 or minus the sum of the row.  A list of numbers: ``switch[i]`` from i to the next
            phase, from the last one to the first.
        rate: mean rate of arrival; time is stretched to have it, the phases' too.  None: as it is.

    Raises:
        InputError: values that are not allowed, as many as do not fit, or phases without exit:
            every phase must lead, at last, to every other.

    >>> law = MarkovModulated(rates=[1, 9], switch=[0.1, 0.3])
    >>> law.mean_rate, round(law.interval_cv, 4), round(law.dispersion, 4)
    (3.0, 1.8311, 21.0)
    """

    rates: tuple[float, ...]
    switch: tuple[tuple[float, ...], ...]
    rate: float | None

    def __init__(self, rates: Sequence[float], switch: Sequence[Any], rate: float | None = None) -> None:
        object.__setattr__(self, "rates", numbers("rates", rates, at_least=0))
        object.__setattr__(self, "switch", _matrix(switch, len(self.rates)))
        object.__setattr__(self, "rate", None if rate is None else finite_number("rate", rate, above=0))
        if not any(self.rates):
            raise InputError(f"rates is {shown(list(self.rates))}: at least one must be > 0")
        _check_exits(np.array(self.switch))

    @cached_property
    def stationary(self) -> Times:
        """The share of time that each phase has."""
        rates = np.array(self.switch)
        last = len(rates) - 1
        # Grassmann, Taksar and Heyman (1985): elimination without a subtraction loses no digits.
        for k in range(last, 0, -1):
            rates[:k, k] /= rates[k, :k].sum()
            rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
        shares = np.ones(len(rates))
        for k in range(1, last + 1):
            shares[k] = shares[:k] @ rates[:k, k]
        return np.asarray(shares / shares.sum())

    @cached_property
    def _generator(self) -> Times:
        """The phases' generator matrix, rows summing to 0."""
        matrix = np.array(self.switch)
        return np.asarray(matrix - np.diag(matrix.sum(axis=1)))

    @property
    def _natural_rate(self) -> float:
        return float(self.stationary @ np.array(self.rates))

    @property
    def mean_rate(self) -> float:
        """Over all time."""
        return self._natural_rate if self.rate is None else self.rate

    @property
    def _pace(self) -> float:
        return 1.0 if self.rate is None else self.rate / self._natural_rate

    @property
    def interval_cv(self) -> float:
        """From the mean time to the next arrival, pi·(Lambda − Q)⁻¹·1, which is E[gap²]/(2·E[gap])."""
        rates = np.array(self.rates)
        ahead = np.linalg.solve(np.diag(rates) - self._generator, np.ones(len(rates)))
        return math.sqrt(max(2 * self._natural_rate * float(self.stationary @ ahead) - 1, 0.0))

    @cached_property
    def _deviation(self) -> Times:
        """The integral over all time of exp(Q·t) − 1·pi."""
        ones = np.outer(np.ones(len(self.rates)), self.stationary)
        return np.asarray(np.linalg.inv(ones - self._generator) - ones)

    @property
    def dispersion(self) -> float:
        """1 + 2·pi·Lambda·D·lambda / mean rate, with D the deviation matrix of the phases."""
        rates = np.array(self.rates)
        return 1 + 2 * float((self.stationary * rates) @ self._deviation @ rates) / self._natural_rate

    def count_mean(self, time: float) -> float:
        """mean_rate · time."""
        return self.mean_rate * time

    def count_variance(self, time: float) -> float:
        """The mean + 2·pi·Lambda·(D·t − D²·(I − exp(Q·t)))·lambda."""
        from scipy.linalg import expm

        natural, rates, deviation = time * self._pace, np.array(self.rates), self._deviation
        gone = np.eye(len(rates)) - expm(self._generator * natural)
        excess = deviation * natural - deviation @ deviation @ gone
        return self.count_mean(time) + 2 * float((self.stationary * rates) @ excess @ rates)

    def scaled(self, rate: float) -> MarkovModulated:
        """The same arrivals and phases with time stretched: interval CV and dispersion stay."""
        return MarkovModulated(self.rates, self.switch, rate)

    def changes(self, requests: float) -> float:
        """The expected number of changes of phase while `requests` arrive."""
        exits = -np.diag(self._generator)
        return requests * float(self.stationary @ exits) / self._natural_rate

    def expected(self, count: int | None, until: float | None) -> float:
        """The larger of the expected numbers of requests and of changes of phase, both being drawn."""
        requests = super().expected(count, until)
        return max(requests, self.changes(requests))

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        phases, arrivals = generator.spawn(2)
        points = unit_points(arrivals)
        waiting = np.zeros(0)
        for pieces in self._path(phases, until):
            while not len(waiting) or waiting[-1] <= pieces.masses[-1]:
                waiting = np.concatenate([waiting, next(points)])
            cut = int(np.searchsorted(waiting, pieces.masses[-1], side="right"))
            yield pieces.inverse(waiting[:cut])
            waiting = waiting[cut:]

    def _path(self, generator: np.random.Generator, until: float) -> Iterator[Pieces]:
        """The rate over time, in chunks of changes of phase; it ends once beyond `until`."""
        rates, exits = np.array(self.rates), -np.diag(self._generator)
        into = np.cumsum(np.array(self.switch) / exits[:, None], axis=1)
        into /= into[:, -1:]
        first = np.cumsum(self.stationary) / self.stationary.sum()
        phase = int(np.searchsorted(first, open_uniforms(generator, 1)[0]))
        time = mass = 0.0
        changed = 0
        for size in chunk_sizes():
            uniforms = open_uniforms(generator, 2 * size).reshape(-1, 2)  # how long, and where to
            path = _walk(into, uniforms[:, 1], phase)
            phase = path.pop()
            stays = exponentials(uniforms[:, 0]) / exits[path]
            edges = np.cumsum(np.concatenate([[time], stays]))
            pieces = Pieces.between(edges, rates[path], base=mass)
            time, mass = float(edges[-1]), float(pieces.masses[-1])
            yield pieces
            changed += size
            if time > until:
                return
            if changed > 2 * MAX_REQUESTS:
                raise InputError(f"switch: more than {MAX_REQUESTS:,} changes of phase would be drawn")


def _walk(into: Times, uniforms: Times, phase: int) -> list[int]:
    """The phases from `phase` on, one more than `uniforms`; row i of `into` sums up where i leads."""
    following = [np.searchsorted(row, uniforms, side="right").tolist() for row in into]
    path = [phase]
    for step in range(len(uniforms)):
        phase = following[phase][step]
        path.append(phase)
    return path


def _matrix(switch: Any, size: int) -> tuple[tuple[float, ...], ...]:
    """The rates of change as a matrix with an empty diagonal."""
    if size < 2:
        raise InputError("rates has 1 value: it must have one for each of at least two phases")
    rows = switch.tolist() if isinstance(switch, np.ndarray) else switch
    if not isinstance(rows, (list, tuple)) or len(rows) != size:
        raise InputError(f"switch is {shown(rows)}: it must be a list of {size}, as many as rates has")
    if not any(isinstance(row, (list, tuple)) for row in rows):
        leave = numbers("switch", rows, at_least=0)
        return tuple(
            tuple(leave[i] if j == (i + 1) % size else 0.0 for j in range(size)) for i in range(size)
        )
    return tuple(_row(f"switch.{i}", row, i, size) for i, row in enumerate(rows))


def _row(name: str, row: Any, phase: int, size: int) -> tuple[float, ...]:
    values = list(numbers(name, row))
    if len(values) != size:
        raise InputError(f"{name} has {len(values)} values: it must have {size}, as many as rates has")
    diagonal, values[phase] = values[phase], 0.0
    leaving = sum(values)
    if diagonal != 0 and not math.isclose(diagonal, -leaving, rel_tol=1e-9):
        raise InputError(f"{name}.{phase} is {diagonal!r}: it must be 0, or minus the sum of its row")
    return numbers(name, values, at_least=0)


def _check_exits(switch: Times) -> None:
    """Every phase must lead to every other: else the chain ends in a part of them."""
    for phase, leaving in enumerate(switch.sum(axis=1)):
        if leaving <= 0:
            raise InputError(
                f"switch.{phase} is all 0: phase {phase} has no exit, it must have a rate > 0 to another"
            )
    reached = np.linalg.matrix_power(np.eye(len(switch)) + (switch > 0), len(switch)) > 0
    if not reached.all():
        start, end = np.argwhere(~reached)[0].tolist()
        raise InputError(
            f"switch leads from phase {start} never to phase {end}: every phase must lead to every other"
        )
