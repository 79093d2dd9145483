"""What the tables of a scenario are built from, and how a bad field is put in one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from fairq.errors import InputError, unknown_name
from fairq.validation import finite_number, whole_number

__all__ = [
    "POSITIVE",
    "Amount",
    "Count",
    "Part",
    "Positive",
    "Seed",
    "Span",
    "as_tuple",
    "beneath",
    "explain",
    "inside",
    "one_of",
]

_NAMES_A_FIELD = re.compile(r"[\w.]+ is ")


class Part(BaseModel):
    """A table of a scenario: frozen, and a field that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and cls.model_config.get("extra") == "forbid":
            for key in data:
                if key not in cls.model_fields:
                    raise PydanticCustomError(
                        "fairq_unknown", "{key}", {"key": str(key), "known": list(cls.model_fields)}
                    )
        return data


def inside(check: Callable[..., Any], *arguments: Any) -> Any:
    """`check(*arguments)`; its `InputError` is about something inside the field being checked."""
    try:
        return check(*arguments)
    except InputError as error:
        raise PydanticCustomError("fairq_inside", "{text}", {"text": str(error)}) from None


def beneath(field: str, message: str) -> str:
    """`message` about something inside `field`: joined by a dot where it begins with a field's name.

    >>> beneath("pool", "workers is 0: it must be >= 1")
    'pool.workers is 0: it must be >= 1'
    """
    if not field:
        return message
    return f"{field}.{message}" if _NAMES_A_FIELD.match(message) else f"{field}: {message}"


def _whole(at_least: int) -> Callable[[Any], Any]:
    return lambda value: _same_words(whole_number, value, at_least)


def _amount(at_least: float) -> Callable[[Any], Any]:
    return lambda value: _same_words(finite_number, value, at_least)


def _same_words(check: Callable[..., Any], value: Any, at_least: float) -> Any:
    """Check `value`; what is allowed goes on to `explain`, which knows the field's dotted name."""
    try:
        return check("", value, at_least=at_least)
    except InputError as error:
        allowed = str(error).rpartition(": it must be ")[2]
        raise PydanticCustomError("fairq_allowed", "{allowed}", {"allowed": allowed}) from None


# The bounds stand before the validator: so they reach the JSON Schema by its own words.
Seed = Annotated[int, Field(ge=0), BeforeValidator(_whole(0))]
"""A whole number >= 0."""

POSITIVE = BeforeValidator(_whole(1))
"""Checks a whole number >= 1 in our own words."""

Count = Annotated[int, Field(ge=1), POSITIVE]
"""A whole number >= 1 (8.0 counts as 8, text and truth values do not)."""

Amount = Annotated[float, Field(ge=0), BeforeValidator(_amount(0))]
"""A finite number >= 0."""


def _above_zero(value: Any) -> Any:
    if not _is_time(value) or value == 0:
        raise PydanticCustomError("fairq_allowed", "{allowed}", {"allowed": "a finite number > 0"})
    return float(value)


Positive = Annotated[float, Field(gt=0), BeforeValidator(_above_zero)]
"""A finite number > 0."""


def _span(value: Any) -> Any:
    ends = value if isinstance(value, (list, tuple)) else ()
    if len(ends) != 2 or not all(_is_time(end) for end in ends) or not ends[0] < ends[1]:
        allowed = "[start, end], two finite numbers with 0 <= start < end"
        raise PydanticCustomError("fairq_allowed", "{allowed}", {"allowed": allowed})
    return tuple(float(end) for end in ends)


def _is_time(value: Any) -> bool:
    try:
        finite_number("", value, at_least=0)
    except InputError:
        return False
    return True


Span = Annotated[tuple[float, float], BeforeValidator(_span)]
"""Two times, start below end."""


def as_tuple(value: Any) -> Any:
    """A list as a tuple, anything else as it is: a frozen table holds no lists."""
    return tuple(value) if isinstance(value, list) else value


def one_of(choose: Callable[[Any], str | None], allowed: str) -> Discriminator:
    """A union whose member `choose` tells by a tag ``<...>``; None from it is not allowed."""
    # Without a context: a Discriminator that holds one cannot be hashed, so not be joined to None.
    return Discriminator(choose, custom_error_type="fairq_choice", custom_error_message=allowed)


def explain(error: ValidationError, source: str, overrides: Mapping[str, str]) -> InputError:
    """The first problem of `error` in one line: source, dotted field, value, what is allowed."""
    problems = _causes(error.errors(include_url=False))
    first = problems[0]
    # A tag of a union is written <tag>, so that it can be told from a field and left out.
    field = ".".join(str(part) for part in first["loc"] if not str(part).startswith("<"))
    if first["type"] == "fairq_unknown":
        key = first["ctx"]["key"]
        field = f"{field}.{key}" if field else key
        line = str(unknown_name("field", field, [])).partition(": ")[0]
        line += ": " + str(unknown_name("field", key, first["ctx"]["known"])).partition(": ")[2]
    else:
        line = _line(first, field)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return InputError(f"{source}{_origin(field, overrides)}: {line}{more}".replace("\n", "\\n"))


def _causes(problems: list[Any]) -> list[Any]:
    """Without what only follows from another problem deeper inside: a list of one bad entry is not short."""
    places = [problem["loc"] for problem in problems]
    return [
        problem
        for problem, place in zip(problems, places, strict=True)
        if not any(len(other) > len(place) and other[: len(place)] == place for other in places)
    ]


def _line(problem: Any, field: str) -> str:
    kind, context, message = problem["type"], problem.get("ctx", {}), problem["msg"]
    if kind == "fairq_inside":
        return beneath(field, message)
    if kind == "value_error":
        return f"{field}: {context['error']}" if field else str(context["error"])
    if kind == "missing":
        return f"{field} is missing: it must be given (at the command: --set {field}=VALUE)"
    allowed = _ALLOWED[kind].format_map(context) if kind in _ALLOWED else message
    allowed = allowed.removeprefix("Input should be ").removeprefix("String should ")
    return f"{field or 'the scenario'} is {_short(problem['input'])}: it must be {allowed}"


_ALLOWED = {
    "fairq_allowed": "{allowed}",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dict_type": "a table",
    "tuple_type": "a list",
    "string_type": "text",
    "too_short": "a list of at least {min_length}",
    "string_too_short": "text, not empty",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "text of letters, digits, spaces, . _ + -, and begin with a letter or digit",
    "literal_error": "{expected}",
    "greater_than_equal": ">= {ge}",
    "less_than_equal": "<= {le}",
}


def _short(value: Any) -> str:
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _origin(field: str, overrides: Mapping[str, str]) -> str:
    """The --set assignment that made the field, or something inside it, if one did."""
    for path, assignment in overrides.items():
        if field == path or field.startswith(f"{path}."):
            return f" (--set {assignment})"
    for path, assignment in overrides.items():
        if path.startswith(f"{field}."):
            return f" (with --set {assignment})"
    return ""
