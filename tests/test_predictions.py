"""What a policy is told: intervals by every law, and what becomes of those that miss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fairq
from fairq.errors import InputError
from fairq.predictions import Classes, Global, Noise, Quantile, predicted
from fairq.scenario import Scenario
from fairq.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable

LAWS = {
    "noise": Noise(0.4),
    "classes": Classes([50, 200, 1000, 200_000]),
    "quantile": Quantile(0.9, 0.3),
    "global": Global(200_000),
    "largest": Global(),
}


def drawn(count: int = 20_000, low: int = 1, high: int = 100_000) -> fairq.Workload:
    tokens = stream(1, 0, "lengths").integers(low, high, size=count)
    return fairq.Workload.from_arrays(tokens + 7, prompt_tokens=np.full(count, 7))


@pytest.mark.parametrize("name", LAWS)
def test_every_interval_holds_and_counts_the_prompt(name: str) -> None:
    w = drawn()
    told = predicted(w, LAWS[name], stream(2, 0, "predictions"))
    assert (told.lower <= told.tokens).all()
    assert (told.upper >= told.tokens).all()
    assert (told.lower >= 8).all()
    assert told.tokens.tolist() == w.tokens.tolist()
    again = predicted(w, LAWS[name], stream(2, 0, "predictions"))
    assert (told.lower == again.lower).all()
    assert (told.upper == again.upper).all()


def test_noise_is_uniform_between_nothing_and_the_spread() -> None:
    w = drawn(low=10_000)
    told = predicted(w, Noise(0.4), stream(2, 0, "predictions"))
    o = w.output_tokens
    for share in ((told.upper - 7) / o - 1, o / (told.lower - 7) - 1):
        assert abs(share.mean() - 0.2) <= 4 * 0.4 / math.sqrt(12 * len(o)) + 1e-4  # ends are whole
        assert share.max() <= 0.4 + 2e-4
    assert not told.widened.any()  # type: ignore[union-attr]
    exact = predicted(w, Noise(0), stream(2, 0, "predictions"))
    assert (exact.lower == w.tokens).all()
    assert (exact.upper == w.tokens).all()


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_a_quantile_is_calibrated_and_widened_where_it_misses(level: float) -> None:
    w = drawn(low=10_000)
    told = predicted(w, Quantile(level, 0.5), stream(2, 0, "predictions"))
    at_upper, at_lower = (told.upper == w.tokens).mean(), (told.lower == w.tokens).mean()
    error = 4 * math.sqrt(level * (1 - level) / len(w)) + 1e-4  # an end equal to the truth by rounding
    assert abs(at_upper - (1 - level)) <= error
    assert abs(at_lower - (1 - level)) <= error
    assert told.widened is not None
    assert abs(told.widened.mean() - 2 * (1 - level)) <= 2 * error
    assert (told.upper > w.tokens).any() or level == 0.5


def test_a_sharper_quantile_is_inside_a_blunter_one() -> None:
    w = drawn()
    sharp, blunt = (predicted(w, Quantile(0.9, e), stream(2, 0, "predictions")) for e in (0.0, 0.5))
    assert (sharp.lower == w.tokens).all()
    assert (sharp.upper == w.tokens).all()
    assert (blunt.upper - blunt.lower).mean() > 1000


def test_classes_and_one_bound_for_all() -> None:
    w = fairq.Workload.from_arrays([1, 50, 51, 200, 201])
    told = predicted(w, Classes([50, 200, 1000]), stream(2, 0, "predictions"))
    assert told.lower.tolist() == [1, 1, 51, 51, 201]
    assert told.upper.tolist() == [50, 50, 200, 200, 1000]
    assert predicted(w, Global(), stream(2, 0, "predictions")).upper.tolist() == [201] * 5
    assert predicted(w, Global(999), stream(2, 0, "predictions")).lower.tolist() == [1] * 5


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "spread": (lambda: Noise(-1), "spread is -1: it must be a finite number >= 0"),
    "no edges": (lambda: Classes([]), "edges is []: it must be a list of at least one whole number"),
    "edge": (lambda: Classes([0]), "edges.0 is 0: it must be a whole number >= 1"),
    "edges": (lambda: Classes([5, 5]), "edges.1 is 5: it must be > 5"),
    "level": (lambda: Quantile(1.0, 1), "level is 1.0: it must be a number from 0.5 to below 1"),
    "low level": (lambda: Quantile(0.2, 1), "level is 0.2: it must be a number from 0.5 to below 1"),
    "error": (lambda: Quantile(0.9, -1), "error is -1: it must be a finite number >= 0"),
    "upper": (lambda: Global(0), "upper is 0: it must be a whole number >= 1"),
    "beyond": (
        lambda: predicted(fairq.Workload.from_arrays([9]), Classes([5, 8]), stream(0, 0, "predictions")),
        "edges.1 is 8: it must be at least the largest output, which is 9",
    ),
    "above": (
        lambda: predicted(fairq.Workload.from_arrays([9]), Global(8), stream(0, 0, "predictions")),
        "upper is 8: it must be at least the largest output, which is 9",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_allowed_is_one_line(name: str) -> None:
    make, words = BAD[name]
    with pytest.raises(InputError) as caught:
        make()
    assert words in str(caught.value)


def test_a_scenarios_predictions_leave_its_requests_as_they_are() -> None:
    plain = Scenario.load("table1")
    for table in ("{ kind = 'noise', spread = 0.5 }", "{ kind = 'quantile', level = 0.8, error = 0.4 }"):
        told = Scenario.load("table1", [f"workload.predictions={table}"])
        first, second = plain.draw(3), told.draw(3)
        assert first.tokens.tolist() == second.tokens.tolist()
        assert (second.upper > second.tokens).any()
        assert Scenario.from_dict(told.to_dict()).draw(3).upper.tolist() == second.upper.tolist()
        result = told.simulate(told.cells()[0], 3)
        share = result.summary.attrs["arrivals"]["widened"]
        assert second.widened is not None
        assert share == second.widened.mean()
