"""Prompt, output and their sum: whichever a file leaves out, and rows that have no output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.columns import MAX_TOKENS, Place
from fairq.errors import InputError

__all__ = ["join_split"]

Ints = NDArray[np.int64]


def join_split(
    columns: dict[str, Any], place: Place, mend: bool, names: Mapping[str, str]
) -> NDArray[np.bool_]:
    """Make `tokens` and, where there is a split, `prompt_tokens` of what `columns` has; drop `output_tokens`.

    With `mend` a row without output tokens gets one.  `names` has the file's own columns by our names, for
    messages.

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
            prompt = _prompt(tokens, prompt, output, nothing, place, names)
        output = output + nothing
        total = np.asarray(prompt).astype(np.int64) + output
        _refuse(total > MAX_TOKENS, output, place, f"at most {MAX_TOKENS:,} with the prompt's")
        columns["tokens"], columns["prompt_tokens"] = total, prompt
    for name, choose in (("lower", np.minimum), ("upper", np.maximum)):
        if name in columns and nothing.any():
            bound = choose(columns[name], columns["tokens"])
            columns[name] = np.where(nothing, bound, columns[name])
    return np.asarray(nothing)


def _prompt(
    tokens: Ints, prompt: Ints | None, output: Ints, nothing: Any, place: Place, names: Mapping[str, str]
) -> Ints:
    """The prompt of a row that has its tokens too; a failed row's sum is not looked at."""
    total = f"{names['tokens']!r} of its row"
    _refuse((output > tokens) & ~nothing, output, place, f"at most {total}")
    if prompt is None:
        return tokens - output
    allowed = f"{total} less {names['prompt_tokens']!r}"
    _refuse((prompt + output != tokens) & ~nothing, output, place, allowed)
    return prompt


def _refuse(bad: NDArray[np.bool_], output: Ints, place: Place, allowed: str) -> None:
    if bad.any():
        index = int(bad.argmax())
        raise InputError(f"{place('output_tokens', index)} is {output[index]}: it must be {allowed}")
