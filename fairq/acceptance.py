"""Which potential requests are accepted: the linear-price model of Section 5.2 of the paper.

A request of o tokens is quoted the price p0·o.  Lengths fall into buckets of `width`
tokens, b = ceil(o / width), and a customer of bucket b accepts with probability
``max(0, 1 - k_b·p0·o)``, ``k_b = 1/(p0·(2b - 1)·width)``: p0 cancels.  The paper has
ten buckets of 100 tokens; here the buckets go on for as long as lengths do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairq.validation import whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BucketedLinear"]


@dataclass(frozen=True)
class BucketedLinear:
    """Acceptance by length bucket, ``Pr(accept) = max(0, 1 - o/((2b - 1)·width))``, b = ceil(o/width).

    Within a bucket the probability falls linearly in the length; half way up a bucket it is
    1/2.  A request of exactly `width` tokens is never accepted (the paper's model as printed).

    Parameters:
        width: tokens per bucket, a whole number >= 1.

    Raises:
        InputError: `width` is not a whole number >= 1.

    Source: Section 5.2 of the paper, with its ten buckets of 100 continued.

    >>> BucketedLinear(width=100).probability([1, 50, 100, 150]).tolist()
    [0.99, 0.5, 0.0, 0.5]
    """

    width: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", whole_number("width", self.width, at_least=1))

    def probability(self, tokens: object) -> NDArray[np.float64]:
        """The probability that a request of that many tokens is accepted, for each of `tokens`."""
        lengths = np.asarray(tokens, dtype=np.int64)
        bucket = -(-lengths // self.width)
        return np.maximum(0.0, 1.0 - lengths / ((2 * bucket - 1) * self.width))

    def accepted(self, tokens: object, uniforms: NDArray[np.float64]) -> NDArray[np.bool_]:
        """True where the uniform is below the probability: one uniform a potential request.

        >>> BucketedLinear(width=100).accepted([1, 50, 100], np.array([0.9, 0.6, 0.1])).tolist()
        [True, False, False]
        """
        return uniforms < self.probability(tokens)
