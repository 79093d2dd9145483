"""Prompt and output drawn together, with a rank correlation; and the named lengths of the paper's sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.validation import finite_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["JointLengths", "lmsys_like"]

_SMALLEST = 2.0**-53  # an inverse distribution function may be infinite at 0 and 1


@dataclass(frozen=True)
class JointLengths:
    """Laws of prompt and output, and how they go together.

    The two are joined by a Gaussian copula of parameter 2·sin(pi·correlation/6), under which the rank
    correlation of continuous laws is exactly `correlation` (rounding to whole tokens makes ties, and
    brings it nearer to 0 where lengths are a few tokens).  Each law alone is as it would be apart.

    Parameters:
        prompt, output: laws of whole tokens, each at least 1.
        correlation: Spearman's, from −1 to 1.

    Raises:
        InputError: `correlation` is not a number from −1 to 1.

    Source: the relation of the two correlations is K. Pearson's (1907); see W. H. Kruskal, Ordinal
    measures of association, J. Amer. Statist. Assoc. 53 (1958).

    >>> law = LengthLaw("randint", {"low": 1, "high": 11})
    >>> prompt, output = JointLengths(law, law, 1.0).tokens(np.array([[0.15, 0.9], [0.75, 0.2]]))
    >>> prompt.tolist(), output.tolist()
    ([2, 8], [2, 8])
    """

    prompt: LengthLaw
    output: LengthLaw
    correlation: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "correlation", _checked_correlation(self.correlation))

    def tokens(self, uniforms: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Prompts and outputs, one of each for each row of two uniforms; the first alone makes the prompt.

        Raises:
            InputError: a drawn value that is no length.
        """
        return self.prompt.tokens(uniforms[:, 0]), self.output.tokens(self._second(uniforms))

    def _second(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The uniforms of the outputs."""
        from scipy.special import ndtr, ndtri

        normal = 2 * math.sin(math.pi * self.correlation / 6)
        if self.correlation == 0:
            return uniforms[:, 1]
        if abs(self.correlation) == 1:
            return uniforms[:, 0] if self.correlation > 0 else 1 - uniforms[:, 0]
        mixed = normal * ndtri(uniforms[:, 0]) + math.sqrt(1 - normal**2) * ndtri(uniforms[:, 1])
        return np.clip(ndtr(mixed), _SMALLEST, 1 - _SMALLEST)


def _checked_correlation(value: object) -> float:
    number = finite_number("correlation", value)
    if abs(number) > 1:
        raise InputError(f"correlation is {value!r}: it must be a number from -1 to 1")
    return number


def lmsys_like() -> LengthLaw:
    """Total tokens like those of the paper's LMSYS sample: gamma of shape 1.0628 and scale 118.556.

    The sample is not public.  The law has its mean and variance (126 and 14,938 over 2,000 conversations)
    by the method of moments, and agrees with its median (90) and largest (905) within the spread of such
    samples; nothing is known of the rest of its shape.

    >>> law = lmsys_like()
    >>> int(law.tokens(np.array([0.5]))[0])
    89
    """
    return LengthLaw("gamma", {"a": 1.0628, "scale": 118.556})
