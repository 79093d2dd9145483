"""The tables of predictions: what a policy is told in place of a request's length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag, model_validator

from fairq import predictions
from fairq.fields import Amount, Count, Part, as_tuple, inside, one_of

__all__ = ["Predictions"]


class _Table(Part):
    """A table that a law of `fairq.predictions` is made from."""

    def law(self) -> predictions.Prediction:
        """The law that this table describes."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _allowed(self) -> _Table:
        inside(self.law)
        return self


class NoiseTable(_Table):
    """Intervals by multiplicative noise."""

    kind: Literal["noise"] = Field(description="From o/(1 + spread·V) to o·(1 + spread·W), V and W uniform.")
    spread: Amount = Field(description="Largest relative distance of an end from the truth.")

    def law(self) -> predictions.Noise:
        """The law that this table describes."""
        return predictions.Noise(self.spread)


class ClassesTable(_Table):
    """Intervals by classes of length."""

    kind: Literal["classes"] = Field(description="The class of length in which the truth lies.")
    edges: Annotated[tuple[Count, ...], Field(min_length=1), BeforeValidator(as_tuple)] = Field(
        description="Upper ends of the classes, increasing; the last at least the largest output."
    )

    def law(self) -> predictions.Classes:
        """The law that this table describes."""
        return predictions.Classes(self.edges)


class QuantileTable(_Table):
    """Intervals by calibrated quantiles of a forecast."""

    kind: Literal["quantile"] = Field(description="Quantiles of a forecast with a lognormal error.")
    level: float = Field(
        description="Probability that the upper end holds, and that the lower does; 0.5 to <1."
    )
    error: Amount = Field(description="Standard deviation of the logarithm of the forecast.")

    def law(self) -> predictions.Quantile:
        """The law that this table describes."""
        return predictions.Quantile(self.level, self.error)


class GlobalTable(_Table):
    """One upper bound for all."""

    kind: Literal["global"] = Field(description="One upper bound for every request (Remark 3.25).")
    upper: Count | None = Field(
        default=None, description="In output tokens; without it the largest output drawn."
    )

    def law(self) -> predictions.Global:
        """The law that this table describes."""
        return predictions.Global(self.upper)


_KINDS = ("noise", "classes", "quantile", "global")


def _kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return f"<{kind}>" if kind in _KINDS else None


Predictions = Annotated[
    Annotated[NoiseTable, Tag("<noise>")]
    | Annotated[ClassesTable, Tag("<classes>")]
    | Annotated[QuantileTable, Tag("<quantile>")]
    | Annotated[GlobalTable, Tag("<global>")],
    one_of(_kind, "a table with kind = 'noise', 'classes', 'quantile' or 'global'"),
]
"""What a policy is told."""
