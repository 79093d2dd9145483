"""Queues that serve in batches, with an exact steady state: lockstep, fixed batches, speed by number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairq.theory.chains import binomial_masses, poisson_masses, stationary
from fairq.theory.queues import SteadyState, checked_load
from fairq.theory.service import Service, positive_number
from fairq.validation import finite_number, whole_number

__all__ = ["BatchState", "LockstepState", "batch_dependent", "lockstep", "static_batching"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState(SteadyState):
    """A steady state of a server that works on batches.

    Attributes:
        busy_fraction: share of the time in which somebody is served.
        batch_mean: mean batch; over the busy time, for `static_batching` over the batches.
    """

    busy_fraction: float
    batch_mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LockstepState(BatchState):
    """The steady state of a lockstep worker.

    Attributes:
        boundary_law: P(n present at a step's end, once those done have left and those come are counted).
    """

    boundary_law: Floats = field(repr=False)


def batch_dependent(
    arrival_rate: float, mean_length: float, batch_size: int, c: float = 1.0, b: float = 0.0
) -> BatchState:
    """Exponential lengths, n in service each at speed 1/(c + b·n): a birth-death queue.

    A lockstep worker with steps of c + b·|S| approaches it as lengths grow; the step in progress that an
    arrival waits for adds half a step at most to its wait.

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        mean_length: L > 0, in steps.
        batch_size: B >= 1; at most so many are in service.
        c, b: time of a step and of each request in it, >= 0, not both 0.

    Raises:
        InputError: a value that is not as above, or a load of 1 or more.

    Source: the birth-death queue with death rate m/(L(c + b·m)), m = min(n, B).

    >>> state = batch_dependent(5.5, 100, 16, c=0.01, b=0.001)
    >>> round(state.present_mean, 8), round(state.latency_mean, 8), round(state.wait_mean, 8)
    (16.61819346, 3.02148972, 0.67514297)
    """
    rate, length = positive_number("arrival_rate", arrival_rate), positive_number("mean_length", mean_length)
    batch_size = whole_number("batch_size", batch_size, at_least=1)
    active = np.arange(1, batch_size + 1)
    ratio = rate * length * _step_times(c, b, batch_size) / active
    load = checked_load(float(ratio[-1]))
    weight = np.concatenate(([1.0], np.cumprod(ratio)))  # n = 0 .. B; beyond, geometric with `load`
    beyond = float(weight[-1]) * load / (1 - load)
    total = float(weight.sum()) + beyond
    queued = beyond / (1 - load) / total
    served = (float(weight[1:] @ active) + beyond * batch_size) / total
    busy = 1 - 1 / total
    return BatchState(
        arrival_rate=rate, load=load, wait_mean=queued / rate, latency_mean=(queued + served) / rate,
        busy_fraction=busy, batch_mean=served / busy,
    )  # fmt: skip


def lockstep(
    arrival_rate: float, mean_length: float, batch_size: int, c: float = 1.0, b: float = 0.0
) -> LockstepState:
    """Geometric lengths on one lockstep worker with steps of c + b·|S|: exact, no half step to add.

    A request that is served is done at the end of each step with chance 1/L, so the number present at the
    ends of steps is a chain: n' = n − Bin(min(n, B), 1/L) + Poisson(lambda·step); from 0 the step begins
    with the arrival.  Any policy that is blind to sizes and fills free slots at once has this steady state
    (fcfs; not the order of waits, but their mean).

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        mean_length: L >= 1, in steps.
        batch_size: B >= 1.
        c, b: time of a step and of each request in it, >= 0, not both 0; 1 and 0 are the token clock.

    Raises:
        InputError: a value that is not as above, or a load of 1 or more (or nearly so).

    Source: the embedded chain; time averages by the renewal-reward theorem, a step that begins with n of
    length t holding n·t + lambda·t²/2 on average.

    >>> state = lockstep(0.5, 1.0, batch_size=1)  # lengths of one step, one at a time: M/D/1
    >>> round(state.wait_mean, 9), round(state.busy_fraction, 9)
    (0.5, 0.5)
    """
    rate = positive_number("arrival_rate", arrival_rate)
    length = finite_number("mean_length", mean_length, at_least=1)
    batch_size = whole_number("batch_size", batch_size, at_least=1)
    steps = _step_times(c, b, batch_size)
    load = checked_load(rate * length * float(steps[-1]) / batch_size)
    # Masses of a step with m served, from m done (all) to none done and most come.
    net = [
        np.convolve(binomial_masses(m, 1 / length)[::-1], poisson_masses(rate * float(steps[m - 1])))
        for m in range(1, batch_size + 1)
    ]

    def jump(n: int) -> tuple[int, Floats]:
        served = min(max(n, 1), batch_size)
        return max(n, 1) - served, net[served - 1]

    law = stationary(jump)
    present = np.maximum(np.arange(len(law)), 1)
    served = np.minimum(present, batch_size)
    time = steps[served - 1]
    cycle = float(law @ time) + float(law[0]) / rate
    in_system = float(law @ (present * time + rate * time**2 / 2)) / cycle
    in_service = float(law @ (served * time)) / cycle
    busy = float(law @ time) / cycle
    return LockstepState(
        arrival_rate=rate, load=load, wait_mean=(in_system - in_service) / rate,
        latency_mean=in_system / rate, busy_fraction=busy, batch_mean=in_service / busy, boundary_law=law,
    )  # fmt: skip


def static_batching(arrival_rate: float, batch_size: int, service: Service) -> BatchState:
    """Fixed batches, first come first served: the next begins when the longest of this one ends.

    `fcfs-static` on one worker on the token clock is this queue exactly, `service` being the law of
    lengths; `Exponential` is its limit for long geometric ones.  A batch takes whoever waits, at most B,
    and begins with the next arrival if nobody does.  `latency_mean` counts a request as done with its own
    last step, not with its batch.

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        batch_size: B >= 1.
        service: `Exponential` or `Lengths`.

    Raises:
        InputError: a value that is not as above, or a load of 1 or more (or nearly so): lambda times the
            mean of the longest of B, over B.

    Source: the chain at the ends of batches n' = n − k + arrivals during the longest of k, k = min(n, B);
    time averages by the renewal-reward theorem.

    >>> from fairq.theory import Exponential
    >>> state = static_batching(1.2, 4, Exponential(1.0))
    >>> round(state.wait_mean, 8), round(state.batch_mean, 6), round(state.busy_fraction, 2)
    (1.4546081, 1.983117, 0.84)
    """
    rate = positive_number("arrival_rate", arrival_rate)
    batch_size = whole_number("batch_size", batch_size, at_least=1)
    sizes = range(1, batch_size + 1)
    time = np.array([service.longest_moment(k, 1) for k in sizes])
    square = np.array([service.longest_moment(k, 2) for k in sizes])
    load = checked_load(rate * float(time[-1]) / batch_size)
    come = [service.arrivals_during_longest(k, rate) for k in sizes]

    def jump(n: int) -> tuple[int, Floats]:
        served = min(max(n, 1), batch_size)
        return max(n, 1) - served, come[served - 1]

    law = stationary(jump)
    present = np.maximum(np.arange(len(law)), 1)
    served = np.minimum(present, batch_size)
    busy_time = float(law @ time[served - 1])
    cycle = busy_time + float(law[0]) / rate
    queued = float(law @ ((present - served) * time[served - 1] + rate * square[served - 1] / 2)) / cycle
    return BatchState(
        arrival_rate=rate, load=load, wait_mean=queued / rate, latency_mean=queued / rate + service.mean,
        busy_fraction=busy_time / cycle, batch_mean=float(law @ served),
    )  # fmt: skip


def _step_times(c: float, b: float, batch_size: int) -> Floats:
    """Times of steps with 1 .. B requests."""
    c, b = finite_number("c", c, at_least=0), finite_number("b", b, at_least=0)
    positive_number("c + b", c + b)
    times: Floats = c + b * np.arange(1, batch_size + 1, dtype=np.float64)
    return times
