"""When requests arrive: laws of arrival, each a process with a random stream of its own.

Every law makes the times of a run beforehand, in chunks of arrays; the pool's source process
releases them on SimPy's calendar.  A law also knows its own theory (rate, interval CV, variance of
counts), with which `fairq.realised` sets what was drawn beside what was asked for.
"""

from fairq.arrivals.batches import BatchPoisson
from fairq.arrivals.modulated import MarkovModulated
from fairq.arrivals.nonhomogeneous import Nonhomogeneous
from fairq.arrivals.process import MAX_REQUESTS, ArrivalLaw
from fairq.arrivals.renewal import Renewal
from fairq.arrivals.sinusoid import Sinusoid
from fairq.arrivals.steady import Backlog, Deterministic, Poisson

__all__ = [
    "MAX_REQUESTS",
    "ArrivalLaw",
    "Backlog",
    "BatchPoisson",
    "Deterministic",
    "MarkovModulated",
    "Nonhomogeneous",
    "Poisson",
    "Renewal",
    "Sinusoid",
]
