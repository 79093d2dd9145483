"""Small, varied instances: drawn from a seeded generator, or by Hypothesis from the same description.

An instance is a dict: tokens, arrival, upper (None: no size bounds), size ("tokens" or "upper"),
prompt (None: no split), alpha, workers, batch_size, step (c, b, tau) and until (None: to the end).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

Instance = dict[str, Any]
Item = TypeVar("Item")
Pick = Callable[[Sequence[Any]], Any]

STEPS = (
    (1.0, 0.0, 0.0),
    (0.011, 0.0, 0.0005),
    (0.5, 0.25, 0.0625),
    (0.0, 0.5, 0.0),
    (0.0, 0.0, 0.125),
    (0.1, 0.03, 0.007),
)

LENGTHS = (
    range(1, 9),
    range(1, 25),
    range(5, 41),
    (3, 6),
    (1, 1, 2),
    (1,),
    (1, 1, 1, 30),
    range(9, 12),
    # Few long requests and many that fit into their packs, which is where cohorts have most to do.
    (1, 2, 3, 4, 16, 18),
    (1, 1, 2, 2, 3, 5, 20, 30),
    (4, 5, 6, 7, 8, 13, 21),
)


def draw_instance(pick: Pick) -> Instance:
    """One instance, by nothing but `pick`, which chooses an item of a sequence; simple items come first."""
    n = pick((*range(1, 17), *range(8, 17)))
    lengths = pick(LENGTHS)
    tokens = [pick(lengths) for _ in range(n)]
    step = pick(STEPS)
    arrival = draw_releases(pick, n, step)
    upper = None if pick((True, False)) else [o + pick((0, 0, 0, 1, 2, 5, 20)) for o in tokens]
    return {
        "tokens": tokens,
        "arrival": arrival,
        "upper": upper,
        "size": pick(("tokens", "upper")),
        "prompt": None if pick((True, False)) else [pick(range(o)) for o in tokens],
        "alpha": pick((2, 0, 1, 3, 4, 4, 5, 6, 7, 9, 0.0, 0.6, 1.5, 2.6, 3.5, 5.5, 7.9, 60, 1000.5)),
        "workers": pick((1, 1, 2, 3)),
        "batch_size": pick((2, 1, 2, 3, 3, 4, 5, 6)),
        "step": step,
        "until": draw_until(pick, step, arrival),
    }


def draw_releases(pick: Pick, n: int, step: tuple[float, float, float]) -> list[float]:
    """A backlog; one late burst; or times on a grid, which tie with each other and with boundaries."""
    kind = pick(("backlog", "grid", "grid", "burst"))
    if kind == "backlog":
        return [0.0] * n
    unit = pick(grids(step))
    if kind == "burst":
        return [unit * pick(range(30))] * n
    spread = pick((5, 30, 120))
    return [unit * pick(range(spread)) for _ in range(n)]


def draw_until(pick: Pick, step: tuple[float, float, float], arrival: list[float]) -> float | None:
    """None, or a time > 0: maybe on a boundary, after every completion, or before the first arrival."""
    if pick((True, False)):
        return None
    return float(pick((min(arrival), min(arrival), 0.0)) + pick(grids(step)) * pick(range(1, 60)))


def grids(step: tuple[float, float, float]) -> list[float]:
    """Units of time: round, dyadic, awkward in binary, and about a step (exactly, where only c counts)."""
    c, b, tau = step
    return [1.0, 0.25, 0.1, c + b + tau, 0.37 * (c + 2 * b + 10 * tau)]


def random_instance(rng: np.random.Generator) -> Instance:
    """An instance from a seeded generator.

    >>> random_instance(np.random.default_rng(0)) == random_instance(np.random.default_rng(0))
    True
    """
    return draw_instance(lambda items: items[int(rng.integers(len(items)))])


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """The Hypothesis strategy of the same instances."""
    return draw_instance(lambda items: draw(st.sampled_from(items)))
