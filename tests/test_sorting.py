"""Orders and searches of whole columns, against what NumPy and plain Python say."""

from __future__ import annotations

import numpy as np
import pytest

from fairq.sorting import last_beyond, stable_order


@pytest.mark.parametrize("largest", [0, 3, 10**6, 2**62])
@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 1000])
def test_order_is_numpy_s_stable_one(count: int, largest: int) -> None:
    values = np.random.default_rng(count + 1).integers(0, largest, count, endpoint=True)
    assert (stable_order(values) == np.argsort(values, kind="stable")).all()


def test_numbers_below_zero_are_sorted_too() -> None:
    values = np.array([3, -1, 0, -1])
    assert stable_order(values).tolist() == [1, 3, 2, 0]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 100, 1001])
def test_last_beyond_is_what_a_walk_finds(count: int) -> None:
    rng = np.random.default_rng(count)
    values = rng.integers(0, 50, count)
    values[rng.integers(count)] = 60
    before = rng.integers(1, count, 300, endpoint=True)
    limit = np.array([rng.integers(0, values[:k].max(), endpoint=True) - 1 for k in before])
    walked = [max(j for j in range(k) if values[j] > low) for k, low in zip(before, limit, strict=True)]
    assert last_beyond(values, before, limit).tolist() == walked


def test_one_giant_far_back_is_found_in_few_looks() -> None:
    """A walk would take 50,000 looks for each of 50,000 questions."""
    values = np.ones(50_001, dtype=np.int64)
    values[0] = 10
    before = np.arange(1, 50_002)
    assert (last_beyond(values, before, np.full(50_001, 5)) == 0).all()
