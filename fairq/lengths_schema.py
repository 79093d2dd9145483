"""The tables of request lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, Tag, model_validator

from fairq.fields import Part, as_tuple, inside, one_of
from fairq.joint import JointLengths, lmsys_like
from fairq.lengths import LengthLaw
from fairq.sources_schema import LengthPool

__all__ = ["JointTable", "Lengths", "LmsysLike", "Tokens"]


class Lengths(Part):
    """Token counts from a distribution of scipy.stats; its parameters stand beside `dist`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[
        str, Annotated[int | float, Field(description="A parameter of the distribution, by scipy's name.")]
    ]

    dist: str = Field(description="Name of the distribution in scipy.stats, such as 'randint' or 'gamma'.")
    truncate: Annotated[tuple[float, float] | None, BeforeValidator(as_tuple)] = Field(
        default=None,
        description="[lo, hi] in tokens: the distribution given that its value lies in that range.",
    )

    @model_validator(mode="before")
    @classmethod
    def _a_law(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "dist" in data:
            given = {key: value for key, value in data.items() if key not in ("dist", "truncate")}
            inside(LengthLaw, data["dist"], given, data.get("truncate"))
        return data

    def law(self) -> LengthLaw:
        """The law that this table describes."""
        return LengthLaw(self.dist, dict(self.__pydantic_extra__ or {}), self.truncate)


class LmsysLike(Part):
    """The paper's LMSYS sample, as far as it is known."""

    kind: Literal["lmsys-like"] = Field(
        description="Gamma of shape 1.0628 and scale 118.556: mean 126 tokens."
    )

    def law(self) -> LengthLaw:
        """The law that this table describes."""
        return lmsys_like()


class JointTable(Part):
    """Prompt and output drawn together."""

    prompt: Lengths = Field(description="Tokens of the prompt: a distribution.")
    output: Lengths = Field(description="Tokens of the output: a distribution.")
    correlation: float = Field(default=0.0, description="Rank correlation (Spearman's), from -1 to 1.")

    @model_validator(mode="before")
    @classmethod
    def _within(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "correlation" in data:
            unit = LengthLaw("randint", {"low": 1, "high": 2})
            inside(JointLengths, unit, unit, data["correlation"])
        return data

    def law(self) -> JointLengths:
        """The law that this table describes."""
        return JointLengths(self.prompt.law(), self.output.law(), self.correlation)


def _which(value: Any) -> str | None:
    """Which table of lengths `value` is, as a tag of the union."""
    if not isinstance(value, (Mapping, Part)):
        return None
    found = value if isinstance(value, Mapping) else value.__dict__
    if "kind" in found:
        return {"trace": "<pool>", "lmsys-like": "<named>"}.get(found["kind"])
    return "<joint>" if found.keys() & {"prompt", "output", "correlation"} else "<law>"


Tokens = Annotated[
    Annotated[Lengths, Tag("<law>")]
    | Annotated[JointTable, Tag("<joint>")]
    | Annotated[LmsysLike, Tag("<named>")]
    | Annotated[LengthPool, Tag("<pool>")],
    one_of(
        _which, "a table with dist, with prompt and output, or with kind = 'lmsys-like' or kind = 'trace'"
    ),
]
"""How long requests are."""
