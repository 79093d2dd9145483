"""Prompt, output and their sum: whichever a file leaves out, and rows that have no output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.columns import MAX_TOKENS, Place
from fairq.errors import InputError

__all__ = ["join_split"]

Ints = NDArray[np.int64]


def join_split(columns: dict[str, Any], place: Place, mend: bool) -> NDArray[np.bool_]:
    """Make `tokens` and, where there is a split, `prompt_tokens` of what `columns` has; drop `output_tokens`.

    With `mend` a row without output tokens gets one.

    Returns:
        which rows had no output tokens (all false without `mend`).

    Raises:
        InputError: the three of a row do not add up, or add up to too much.
    """
    tokens = columns.pop("tokens", None)
    prompt, output = columns.get("prompt_tokens"), columns.pop("output_tokens", None)
    if output is None:
        output = np.asarray(tokens if prompt is None else tokens - prompt)
        nothing = (output == 0) & mend
        output = output + nothing
        columns["tokens"] = (output if prompt is None else prompt + output).astype(np.int64)
    else:
        nothing = (output == 0) & mend
        if tokens is not None:
            prompt = _prompt(tokens, prompt, output, nothing, place)
        output = output + nothing
        total = np.asarray(prompt).astype(np.int64) + output
        _refuse(total > MAX_TOKENS, output, place, f"at most {MAX_TOKENS:,} with the prompt's")
        columns["tokens"], columns["prompt_tokens"] = total, prompt
    for name, choose in (("lower", np.minimum), ("upper", np.maximum)):
        if name in columns and nothing.any():
            bound = choose(columns[name], columns["tokens"])
            columns[name] = np.where(nothing, bound, columns[name])
    return np.asarray(nothing)


def _prompt(tokens: Ints, prompt: Ints | None, output: Ints, nothing: Any, place: Place) -> Ints:
    """The prompt of a row that has its tokens too; a failed row's sum is not looked at."""
    _refuse((output > tokens) & ~nothing, output, place, "at most the row's tokens")
    if prompt is None:
        return tokens - output
    _refuse((prompt + output != tokens) & ~nothing, output, place, "tokens - prompt_tokens of its row")
    return prompt


def _refuse(bad: NDArray[np.bool_], output: Ints, place: Place, allowed: str) -> None:
    if bad.any():
        index = int(bad.argmax())
        raise InputError(f"{place('output_tokens', index)} is {output[index]}: it must be {allowed}")
