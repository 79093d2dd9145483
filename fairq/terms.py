"""What a class of requests pays, and what it is promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairq.errors import InputError, unknown_name
from fairq.validation import finite_number

if TYPE_CHECKING:
    from fairq.workload import Workload

__all__ = ["POOLED", "SLA_METRICS", "Terms", "with_terms"]

SLA_METRICS = ("latency", "wait", "ttft", "tpot", "normalised_latency")
"""What an SLA may limit, each for the single request."""

POOLED = "all"
"""The row of all requests in a table by class: no class with terms, or of a scenario, is called so."""


@dataclass(frozen=True)
class Terms:
    """Terms of one class.

    Parameters:
        price: revenue per billed token of a completed request, >= 0; None: that of `Cost`.
        sla: from metrics (`SLA_METRICS`) to the most that each may be, > 0, in the clock's time; a
            request meets it if it meets all.  None: there is none.

    Raises:
        InputError: a value that is not allowed, or an unknown metric (the nearest is named).

    >>> Terms(price=0.002, sla={"latency": 9, "ttft": 0.5}).sla["latency"]
    9.0
    """

    price: float | None = None
    sla: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.price is not None:
            object.__setattr__(self, "price", finite_number("price", self.price, at_least=0))
        if self.sla is not None:
            object.__setattr__(self, "sla", _checked_sla(self.sla))

    def __reduce__(self) -> tuple[type[Terms], tuple[float | None, dict[str, float] | None]]:
        # A read-only mapping cannot be pickled.
        return Terms, (self.price, None if self.sla is None else dict(self.sla))


def _checked_sla(sla: Mapping[str, float]) -> Mapping[str, float]:
    if not isinstance(sla, Mapping) or not sla:
        raise InputError(f"sla is {sla!r}: it must be a table of at least one limit, as {{ latency = 9.0 }}")
    for name in sla:
        if name not in SLA_METRICS:
            raise unknown_name("metric", name, SLA_METRICS, of="sla")
    return MappingProxyType(
        {name: finite_number(f"sla.{name}", value, above=0) for name, value in sla.items()}
    )


def with_terms(workload: Workload, terms: Mapping[str, Terms]) -> Workload:
    """The same requests, with terms for those of some labels.

    Raises:
        InputError: a label that no request has, ``"all"``, or what are no `Terms`.

    >>> import fairq
    >>> w = fairq.Workload.from_arrays([5, 9], label=["chat", "code"])
    >>> w.with_terms({"chat": Terms(price=0.001)}).terms["chat"].price
    0.001
    """
    labels = set(workload.label)
    for label, value in terms.items():
        if label not in labels:
            raise unknown_name("label", label, labels)
        if label == POOLED:
            raise InputError(
                f"terms.{label}: {POOLED!r} is the row of all requests together: use another label"
            )
        if not isinstance(value, Terms):
            raise InputError(f"terms.{label} is {value!r}: it must be fairq.Terms")
    return replace(workload, terms=dict(terms))
