"""Random streams: one per seed, replication and purpose, so that arms share random numbers.

Every draw of fairq comes from a stream made here.  Two policies, two alphas or two pools
of one replication therefore face the same requests (common random numbers), and a
replication is the same whichever process works it out.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fairq.errors import unknown_name
from fairq.validation import whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["PURPOSES", "open_uniforms", "stream"]

PURPOSES: Mapping[str, int] = MappingProxyType(
    {"arrivals": 0, "lengths": 1, "predictions": 2, "acceptance": 3, "dispatch": 4, "policy": 5, "classes": 6}
)
"""What a stream is for, and its number in the spawn key.

A number once given is never changed: results depend on it.
"""

_CELLS = float(2**52)  # the midpoints of 2**52 equal cells of (0, 1) are all floats, and none is 0 or 1


def stream(seed: int, replication: int, purpose: str, part: int | None = None) -> np.random.Generator:
    """The generator of one (seed, replication, purpose, part), always in the same state.

    Parameters:
        seed: the scenario's root seed, a whole number >= 0.
        replication: the replication's number, from 0.
        purpose: a key of `PURPOSES`.
        part: the number of a class of requests, from 0, where each has a stream of its own.

    Raises:
        InputError: a seed, replication or part that is negative or not whole, or an unknown purpose.

    >>> stream(2026, 0, "lengths").random() == stream(2026, 0, "lengths").random()
    True
    """
    if purpose not in PURPOSES:
        raise unknown_name("purpose", purpose, PURPOSES)
    key: tuple[int, ...] = (whole_number("replication", replication, at_least=0), PURPOSES[purpose])
    if part is not None:
        key += (whole_number("part", part, at_least=0),)
    sequence = np.random.SeedSequence(whole_number("seed", seed, at_least=0), spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))


def open_uniforms(generator: np.random.Generator, count: int) -> NDArray[np.float64]:
    """`count` uniforms strictly inside (0, 1), each from one draw of `generator`.

    An inverse distribution function may be infinite at 0 and 1; these are never met.

    >>> u = open_uniforms(stream(1, 0, "lengths"), 3)
    >>> bool((u > 0).all() and (u < 1).all())
    True
    """
    return (np.floor(generator.random(count) * _CELLS) + 0.5) / _CELLS
