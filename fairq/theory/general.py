"""Queues with any law of service and an exact steady state: M/G/1, shortest first, M/G/infinity.

Times are in the unit of the service times: steps for `Lengths`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairq.errors import InputError
from fairq.theory.queues import SteadyState, checked_load
from fairq.theory.service import Exponential, Lengths, Service, positive_number
from fairq.validation import whole_number

__all__ = ["MG1", "MGInfinity", "mg1", "mg_infinity", "shortest_first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MG1(SteadyState):
    """M/G/1.

    Attributes:
        wait_variance: of the wait, first come first served.
    """

    wait_variance: float


def mg1(arrival_rate: float, service: Service) -> MG1:
    """The steady state of M/G/1; the mean wait is the same for every order that is blind to sizes.

    One worker with B = 1 on the token clock is this queue exactly, `service` being the law of lengths.

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        service: `Exponential` or `Lengths`.

    Raises:
        InputError: a rate that is not above 0, or a load of 1 or more.

    Source: Pollaczek and Khinchine; E[W] = lambda·E[S²]/(2(1 − rho)), Var[W] = E[W]² +
    lambda·E[S³]/(3(1 − rho)).

    >>> mg1(0.008, Lengths.fixed(100)).wait_mean
    200.0...
    """
    rate = positive_number("arrival_rate", arrival_rate)
    load = checked_load(rate * service.mean)
    wait = rate * service.moment(2) / (2 * (1 - load))
    return MG1(
        arrival_rate=rate, load=load, wait_mean=wait, latency_mean=wait + service.mean,
        wait_variance=wait**2 + rate * service.moment(3) / (3 * (1 - load)),
    )  # fmt: skip


def shortest_first(arrival_rate: float, service: Service) -> SteadyState:
    """The steady state of M/G/1 when the shortest of those queued is served next, to its end (SJF).

    Parameters:
        arrival_rate: lambda > 0, per unit of time.
        service: `Exponential` or `Lengths`.

    Raises:
        InputError: a rate that is not above 0, or a load of 1 or more.

    Source: Cobham's priority queue with a class a length, and its continuous limit (Phipps): with
    rho(x) the load of requests up to x, W(x) = lambda·E[S²] / (2(1 − rho(x−))(1 − rho(x))).

    >>> round(shortest_first(0.8, Exponential(1.0)).wait_mean, 6)
    1.882219
    >>> round(shortest_first(0.8 / 20_000, Lengths.geometric(20_000)).wait_mean / 20_000, 3)
    1.882
    """
    rate = positive_number("arrival_rate", arrival_rate)
    load = checked_load(rate * service.mean)
    residual = rate * service.moment(2) / 2
    if isinstance(service, Exponential):
        wait = residual * _exponential_mean_factor(load)
    elif isinstance(service, Lengths):
        upto = rate * np.cumsum(service.values * service.probabilities)
        before = np.concatenate(([0.0], upto[:-1]))
        wait = residual * float(service.probabilities @ (1 / ((1 - before) * (1 - upto))))
    else:
        raise InputError(f"service is {type(service).__name__}: it must be Exponential or Lengths")
    return SteadyState(arrival_rate=rate, load=load, wait_mean=wait, latency_mean=wait + service.mean)


def _exponential_mean_factor(load: float) -> float:
    """The mean of 1/(1 − rho(x))² over exponential x, rho(x) = load·(1 − exp(−x)(1 + x))."""
    from scipy.integrate import quad

    def factor(x: float) -> float:
        return math.exp(-x) / (1 - load * (1 - math.exp(-x) * (1 + x))) ** 2

    return float(quad(factor, 0, 50)[0] + quad(factor, 50, np.inf)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class MGInfinity(SteadyState):
    """M/G/infinity: nobody waits, and the number present is Poisson."""

    def present_probability(self, count: int) -> float:
        """P(`count` are present).

        >>> round(mg_infinity(2.0, 0.5).present_probability(0), 9)  # exp(−1)
        0.367879441
        """
        count = whole_number("count", count, at_least=0)
        return math.exp(count * math.log(self.load) - self.load - math.lgamma(count + 1))


def mg_infinity(arrival_rate: float, service_mean: float) -> MGInfinity:
    """The steady state of M/G/infinity: Poisson with mean lambda·E[S], whatever the law of service.

    A pool whose workers or slots never run out is this queue; in a lockstep batch an arrival waits for the
    step in progress, which adds half a step at most (`fairq.theory.batches.lockstep` has the exact number).

    Raises:
        InputError: a rate or a mean that is not above 0.

    Source: Mirasol (1963).

    >>> mg_infinity(4.0, 2.5).present_mean
    10.0
    """
    rate, mean = positive_number("arrival_rate", arrival_rate), positive_number("service_mean", service_mean)
    return MGInfinity(arrival_rate=rate, load=rate * mean, wait_mean=0.0, latency_mean=mean)
