"""Many servers with an exact steady state, exponential or fixed service: M/M/c and M/D/c.

Every function of this kind takes the total arrival rate of a Poisson stream and returns a `SteadyState`.
`fairq.theory.general` has other laws of service, `fairq.theory.batches` those that serve in batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairq.errors import InputError
from fairq.theory.chains import poisson_masses, stationary
from fairq.theory.service import positive_number
from fairq.validation import finite_number, whole_number

__all__ = ["MDC", "MMC", "SteadyState", "checked_load", "mdc", "mmc"]

_LONGEST_WAIT = 1e6  # in services; a quantile is not sought beyond


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """Means of a queue in steady state; the numbers follow by Little's law.

    Attributes:
        arrival_rate: requests per unit of time.
        load: share of the capacity that is needed; work per server, for infinitely many the work itself.
        wait_mean: from arrival to start.
        latency_mean: from arrival to completion.

    >>> state = SteadyState(arrival_rate=2.0, load=0.5, wait_mean=0.25, latency_mean=1.0)
    >>> state.queue_mean, state.present_mean
    (0.5, 2.0)
    """

    arrival_rate: float
    load: float
    wait_mean: float
    latency_mean: float

    @property
    def queue_mean(self) -> float:
        """Mean number that wait."""
        return self.arrival_rate * self.wait_mean

    @property
    def present_mean(self) -> float:
        """Mean number that wait or are served."""
        return self.arrival_rate * self.latency_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class MMC(SteadyState):
    """M/M/c: waiting is 0 or exponential.

    Attributes:
        servers: c.
        waiting_probability: Erlang's C, the share that waits at all.
        decay: c·mu − lambda; P(W > t) = C·exp(−decay·t).
    """

    servers: int
    waiting_probability: float
    decay: float

    def wait_tail(self, time: float) -> float:
        """P(W > time)."""
        return self.waiting_probability * math.exp(-self.decay * finite_number("time", time, at_least=0))

    def wait_quantile(self, probability: float) -> float:
        """The least t with P(W <= t) >= probability, 0 <= probability < 1."""
        beyond = 1 - _checked_probability(probability)
        return max(0.0, math.log(self.waiting_probability / beyond) / self.decay)


def mmc(arrival_rate: float, servers: int, service_mean: float = 1.0) -> MMC:
    """The steady state of M/M/c, first come first served.

    On the token clock geometric lengths of mean L with B = 1 approach it as L grows, time counted in
    units of L steps.

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        servers: c >= 1.
        service_mean: 1/mu > 0.

    Raises:
        InputError: a value that is not as above, or a load of 1 or more.

    Source: Erlang; B_k = a·B_(k−1)/(k + a·B_(k−1)), C = c·B/(c − a(1 − B)), a = lambda/mu.

    >>> queue = mmc(7.2, 8)
    >>> round(queue.waiting_probability, 10), round(queue.wait_mean, 10), round(queue.wait_quantile(0.99), 8)
    (0.7015329901, 0.8769162377, 5.31335354)
    """
    rate, mean = positive_number("arrival_rate", arrival_rate), positive_number("service_mean", service_mean)
    servers = whole_number("servers", servers, at_least=1)
    work = rate * mean
    load = checked_load(work / servers)
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = work * blocked / (k + work * blocked)
    waits = servers * blocked / (servers - work * (1 - blocked))
    decay = servers / mean - rate
    return MMC(
        arrival_rate=rate, load=load, wait_mean=waits / decay, latency_mean=waits / decay + mean,
        servers=servers, waiting_probability=waits, decay=decay,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MDC(SteadyState):
    """M/D/c: every service takes the same time.

    Attributes:
        servers: c.
        service_time: D.
        waiting_probability: the share that waits at all.
        present_law: P(n present), n = 0, 1, ...
    """

    servers: int
    service_time: float
    waiting_probability: float
    present_law: NDArray[np.float64] = field(repr=False)

    def wait_tail(self, time: float) -> float:
        """P(W > time), by Franx's formula (a sum of positive terms)."""
        time = finite_number("time", time, at_least=0)
        rounds = int(time // self.service_time) + 1
        by_queue = np.cumsum(self.present_law)[self.servers :]  # P(at most j queue), j = 0, 1, ...
        last = rounds * self.servers - 1
        terms = poisson_masses(self.arrival_rate * (rounds * self.service_time - time))[: last + 1]
        at_most = by_queue[np.minimum(last - np.arange(len(terms)), len(by_queue) - 1)]
        return max(0.0, 1 - float(terms @ at_most))

    def wait_quantile(self, probability: float) -> float:
        """The least t with P(W <= t) >= probability, 0 <= probability < 1, by halving."""
        beyond = 1 - _checked_probability(probability)
        if self.wait_tail(0.0) <= beyond:
            return 0.0
        low, high = 0.0, self.service_time
        while self.wait_tail(high) > beyond and high < _LONGEST_WAIT * self.service_time:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.wait_tail(middle) > beyond else (low, middle)
        return high


def mdc(arrival_rate: float, servers: int, service_time: float = 1.0) -> MDC:
    """The steady state of M/D/c, first come first served.

    Requests of one length with B = 1 are this queue exactly, on every clock.

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        servers: c >= 1.
        service_time: D > 0.

    Raises:
        InputError: a value that is not as above, or a load of 1 or more (or nearly so).

    Source: Crommelin's chain n' = max(n − c, 0) + Poisson(lambda·D) for the number present; waits by
    Franx, A simple solution for the M/D/c waiting time distribution, Oper. Res. Letters 29 (2001).

    >>> queue = mdc(0.8, 1)
    >>> round(queue.wait_mean, 9), round(queue.wait_quantile(0.95), 6), round(queue.wait_quantile(0.99), 6)
    (2.0, 6.620325, 10.355887)
    """
    rate, time = positive_number("arrival_rate", arrival_rate), positive_number("service_time", service_time)
    servers = whole_number("servers", servers, at_least=1)
    load = checked_load(rate * time / servers)
    come = poisson_masses(rate * time)
    law = stationary(lambda n: (max(n - servers, 0), come))
    queued = float(law[servers:] @ np.arange(len(law) - servers))
    return MDC(
        arrival_rate=rate, load=load, wait_mean=queued / rate, latency_mean=queued / rate + time,
        servers=servers, service_time=time, waiting_probability=1 - float(law[:servers].sum()),
        present_law=law,
    )  # fmt: skip


def checked_load(load: float) -> float:
    """`load`, if a steady state exists.

    Raises:
        InputError: 1 or more.
    """
    if not load < 1:
        raise InputError(f"load is {load:g}: a steady state needs a load < 1")
    return load


def _checked_probability(value: float) -> float:
    number = finite_number("probability", value, at_least=0)
    if number >= 1:
        raise InputError(f"probability is {value!r}: it must be >= 0 and < 1")
    return number
