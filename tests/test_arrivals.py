"""Laws of arrival: their theory within four standard errors, and what must hold to the last bit."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats

from fairq.arrivals import (
    Backlog,
    BatchPoisson,
    Deterministic,
    MarkovModulated,
    Nonhomogeneous,
    Poisson,
    Renewal,
    Sinusoid,
    process,
)
from fairq.distributions import Distribution
from fairq.errors import InputError
from fairq.streams import open_uniforms, stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairq.arrivals import ArrivalLaw

LAWS: dict[str, Callable[[float], ArrivalLaw]] = {
    "poisson": Poisson,
    "gamma, cv 0.5": lambda rate: Renewal(rate=rate, cv=0.5),
    "gamma, cv 3": lambda rate: Renewal(rate=rate, cv=3.0),
    "lognormal": lambda rate: Renewal("lognorm", {"s": 0.8}, rate=rate),
    "uniform": lambda rate: Renewal("uniform", {"loc": 0.5, "scale": 2}, rate=rate),
    "batches of 4": lambda rate: BatchPoisson(rate, 4),
    "geometric batches": lambda rate: BatchPoisson(rate, Distribution("geom", {"p": 0.25})),
    "two phases": lambda rate: MarkovModulated([1, 9], [0.1, 0.3], rate),
    "on and off": lambda rate: MarkovModulated([0, 5], [0.5, 0.2], rate),
    "three phases": lambda rate: MarkovModulated(
        [0.0, 2.0, 10.0], [[0, 0.2, 0.1], [0.5, 0, 0.1], [0.4, 0.6, -1.0]], rate
    ),
    "table": lambda rate: Nonhomogeneous(np.array([0, 3, 5, 11]) / rate, [2, 0, 1], rate=rate),
    "linear table": lambda rate: Nonhomogeneous(
        np.array([0, 2, 4, 5, 9]) / rate, [0, 3, 0, 0, 1], shape="linear", rate=rate
    ),
    "table to its end": lambda rate: Nonhomogeneous(
        np.array([0, 20, 30, 60]) / rate, [0, 5, 0.5], repeat=False, rate=rate
    ),
    "day": lambda rate: Sinusoid(rate, 1.0, 17 / rate),
}
ON_ITS_OWN = ("table to its end",)  # it has no long run


def near(value: float, estimates: np.ndarray) -> bool:
    """Whether `value` is within 4 standard errors of the mean of independent estimates."""
    error = estimates.std(ddof=1) / math.sqrt(len(estimates))
    return abs(estimates.mean() - value) <= 4 * error


def is_variance(value: float, sample: np.ndarray) -> bool:
    """Whether a variance is within 4 standard errors of the sample's, sqrt((m4 − m2²)/n)."""
    squares = (sample - sample.mean()) ** 2
    return near(value * (len(sample) - 1) / len(sample), squares)


def is_cv(value: float, gaps: np.ndarray, batches: int) -> bool:
    """The same of sqrt(m2/m1² − 1), by batch means and the delta method."""
    pieces = gaps.reshape(batches, -1)
    first, second = pieces.mean(axis=1), (pieces**2).mean(axis=1)
    m1, m2 = first.mean(), second.mean()
    # Linear in the batch means: the square of the CV is m2/m1² − 1.
    linear = m2 / m1**2 + (second - m2) / m1**2 - 2 * m2 / m1**3 * (first - m1)
    return near(value**2 + 1, linear)


SLOW_OR_FAST = [pytest.param(1e-3, marks=pytest.mark.slow), 1.0, pytest.param(1e4, marks=pytest.mark.slow)]


@pytest.mark.parametrize("rate", SLOW_OR_FAST)
@pytest.mark.parametrize("name", LAWS)
def test_mean_and_variance_of_counts(name: str, rate: float) -> None:
    law = LAWS[name](rate)
    assert law.mean_rate == pytest.approx(rate, rel=1e-12)
    time = 50.0 / rate
    counts = np.array([float(len(law.times(stream(11, k, "arrivals"), until=time))) for k in range(1500)])
    assert near(law.count_mean(time), counts)
    assert is_variance(law.count_variance(time), counts)


@pytest.mark.parametrize("rate", SLOW_OR_FAST)
@pytest.mark.parametrize("name", [name for name in LAWS if name not in ON_ITS_OWN])
def test_rate_interval_cv_and_dispersion_in_the_long_run(name: str, rate: float) -> None:
    law = LAWS[name](rate)
    times = law.times(stream(12, 0, "arrivals"), count=400_001)
    gaps = np.diff(times)
    assert near(1 / rate, gaps.reshape(200, -1).mean(axis=1))
    assert is_cv(law.interval_cv, gaps, 200)
    width = 1700 / rate  # 100 periods of the day
    if law.period:
        width = law.period * round(width / law.period)
    counts = np.diff(np.searchsorted(times, width * np.arange(1, int(times[-1] / width) + 1)))
    assert len(counts) > 200
    assert is_variance(law.dispersion * rate * width, counts)


def test_gamma_gaps_have_the_count_variance_of_their_sums() -> None:
    """P(N >= n) is the gamma law of the n-th sum: Cox's expansion against the sum over n."""
    law, time, n = Renewal(rate=2.0, cv=2.0), 60.0, np.arange(1, 2000)
    at_least = scipy.stats.gamma.cdf(time, n * 0.25, scale=2.0)
    mean, square = at_least.sum(), ((2 * n - 1) * at_least).sum()
    assert law.count_mean(time) == pytest.approx(mean, rel=1e-6)
    assert law.count_variance(time) == pytest.approx(square - mean**2, rel=1e-4)


def test_the_interval_cv_of_a_fine_table_is_that_of_what_it_approaches() -> None:
    day = Sinusoid(3.0, 0.7, 10.0)
    edges = np.linspace(0, 10, 2001)
    middle = 3 * (1 + 0.7 * np.sin(2 * np.pi * (edges[1:] + edges[:-1]) / 20))
    assert Nonhomogeneous(edges, middle).interval_cv == pytest.approx(day.interval_cv, rel=1e-6)
    corners = 3 * (1 + 0.7 * np.sin(2 * np.pi * edges / 10))
    line = Nonhomogeneous(edges[::10], np.maximum(corners[::10], 0), shape="linear")
    assert line.interval_cv == pytest.approx(day.interval_cv, rel=1e-3)


def test_one_phase_twice_is_poisson() -> None:
    law = MarkovModulated([4, 4], [1, 2])
    assert law.interval_cv == pytest.approx(1)
    assert law.dispersion == pytest.approx(1)
    assert law.count_variance(3.0) == pytest.approx(12)


@pytest.mark.parametrize("name", LAWS)
def test_same_state_same_bytes_and_another_seed_another_path(name: str) -> None:
    law = LAWS[name](2.0)
    first, again = (law.times(stream(5, 1, "arrivals"), until=20.0) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    for other in (stream(6, 1, "arrivals"), stream(5, 2, "arrivals")):
        assert first.tobytes() != law.times(other, until=20.0).tobytes()
    assert (np.diff(first) >= 0).all()
    assert first.dtype == np.float64


@pytest.mark.parametrize("name", LAWS)
def test_fewer_are_the_beginning_of_more_however_they_are_drawn(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = LAWS[name](2.0)
    many = law.times(stream(5, 0, "arrivals"), count=3000)
    assert law.times(stream(5, 0, "arrivals"), count=17).tobytes() == many[:17].tobytes()
    until = many[20]
    assert len(law.times(stream(5, 0, "arrivals"), until=until)) == np.searchsorted(many, until, "right")
    assert len(law.times(stream(5, 0, "arrivals"), count=5, until=until)) == 5
    monkeypatch.setattr(process, "_FIRST_CHUNK", 7)
    assert law.times(stream(5, 0, "arrivals"), count=3000).tobytes() == many.tobytes()


@pytest.mark.parametrize("rate", [1e-3, 0.3, 1.0, 2.0, 1e4])
@pytest.mark.parametrize(
    "name", [name for name in LAWS if name not in {"table", "linear table", "table to its end", "day"}]
)
def test_another_rate_is_the_same_stream_rescaled(name: str, rate: float) -> None:
    """Divided by the rate, one rounding a time: to the last bit where the rates' ratio is a power of two."""
    law = LAWS[name](1.0)
    times, scaled = (one.times(stream(5, 0, "arrivals"), count=5000) for one in (law, law.scaled(rate)))
    np.testing.assert_allclose(scaled * rate, times, rtol=4e-16)
    twice = law.scaled(rate).scaled(2 * rate).times(stream(5, 0, "arrivals"), count=5000)
    assert (twice * 2 == scaled).all()
    assert law.scaled(rate).interval_cv == pytest.approx(law.interval_cv, rel=1e-12)


@pytest.mark.parametrize("name", ["table", "linear table", "day"])
def test_another_rate_of_a_table_is_the_same_points_through_another_integral(name: str) -> None:
    law = LAWS[name](1.0)
    faster = law.scaled(5.0)
    assert faster.period == law.period
    for one in (law, faster):
        times = one.times(stream(5, 0, "arrivals"), count=5000)
        points = next(process.unit_points(stream(5, 0, "arrivals")))
        reached = [one.count_mean(float(time)) for time in times[: len(points)]]
        np.testing.assert_allclose(reached, points, rtol=1e-9, atol=1e-9)


def test_nothing_arrives_where_the_rate_is_zero() -> None:
    for law, idle in (
        (Nonhomogeneous([0, 1, 3, 4, 6, 7], [0, 2, 0, 5, 0]), ((0, 1), (3, 4), (6, 7))),
        (Nonhomogeneous([0, 1, 3, 4, 7], [0, 0, 9, 0, 0], shape="linear"), ((0, 1), (4, 7))),
    ):
        since = law.times(stream(1, 0, "arrivals"), until=7000.0) % 7
        assert len(since) > 5000
        for start, end in idle:
            assert not ((since > start + 1e-9) & (since < end - 1e-9)).any()


def test_a_table_may_end_or_go_on_for_ever() -> None:
    ends = Nonhomogeneous([0, 5, 10], [1, 3], repeat=False)
    times = ends.times(stream(1, 0, "arrivals"), count=1000)
    assert 5 < len(times) < 60
    assert times[-1] <= 10
    assert math.isnan(ends.interval_cv)
    assert ends.period == 0
    on = Nonhomogeneous([0, 5, 10], [1, 0, 3])
    assert on.mean_rate == 3
    times = on.times(stream(1, 0, "arrivals"), count=1000)
    assert len(times) == 1000
    assert not ((times > 5) & (times < 10)).any()
    assert on.count_mean(12.0) == pytest.approx(11)
    off = Nonhomogeneous([0, 5], [2, 0])
    assert off.times(stream(1, 0, "arrivals"), until=1e6)[-1] <= 5
    assert off.count_mean(1e6) == 10
    assert off.scaled(4).count_mean(1e6) == 20


def test_deterministic_and_backlog_are_exact() -> None:
    assert Deterministic(0.1).times(stream(0, 0, "arrivals"), until=30.0).tolist() == [10.0, 20.0, 30.0]
    assert Deterministic(0.1).count_mean(30.0) == 3
    assert Deterministic(8.0).count_variance(3.0) == 0
    assert not Backlog().times(stream(0, 0, "arrivals"), count=5).any()
    assert Backlog().scaled(3.0) == Backlog()
    assert Backlog().expected(5, 10.0) == 5
    assert math.isnan(Backlog().count_variance(1.0))


def test_gaps_are_the_inverse_of_the_law_at_the_streams_uniforms() -> None:
    uniforms = open_uniforms(stream(7, 0, "arrivals"), 100)
    gaps = scipy.stats.weibull_min(0.7).ppf(uniforms)
    times = Renewal("weibull_min", {"c": 0.7}).times(stream(7, 0, "arrivals"), count=100)
    assert times.tolist() == np.cumsum(gaps).tolist()


def test_all_of_a_batch_arrive_together() -> None:
    times = BatchPoisson(rate=3.0, size=5).times(stream(7, 0, "arrivals"), count=53)
    assert len(np.unique(times)) == 11
    assert (times[:50].reshape(10, 5) == times[:50:5][:, None]).all()
    other = BatchPoisson(rate=3.0, size=Distribution("randint", {"low": 1, "high": 10}))
    assert set(np.unique(times)[:5]) <= set(other.times(stream(7, 0, "arrivals"), count=200))


def test_large_batches_are_made_no_further_than_they_are_taken() -> None:
    """The first hundred lie in the first batch, after an exponential gap of mean size / rate."""
    law = BatchPoisson(rate=0.5, size=1_000_000)
    tracemalloc.start()
    times = law.times(stream(7, 0, "arrivals"), count=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    first = -math.log1p(-open_uniforms(stream(7, 0, "arrivals"), 1)[0]) * 1_000_000 / 0.5
    assert times.tolist() == pytest.approx([first] * 100)
    assert peak < 16 * 2**20


def test_batches_cut_into_pieces_are_whole() -> None:
    """Pieces of 262,144 end inside groups, and no request is lost or doubled."""
    law = BatchPoisson(rate=1.0, size=400_000)
    times = law.times(stream(7, 0, "arrivals"), count=1_300_000)
    assert np.unique(times, return_counts=True)[1].tolist() == [400_000] * 3 + [100_000]
    mixed = BatchPoisson(1.0, Distribution("randint", {"low": 100_000, "high": 300_001}))
    uniforms = open_uniforms(stream(7, 0, "arrivals"), 8).reshape(-1, 2)[:, 1]
    sizes = mixed._sizes(uniforms)
    times = mixed.times(stream(7, 0, "arrivals"), count=int(sizes.sum()))
    assert np.unique(times, return_counts=True)[1].tolist() == sizes.tolist()


def test_a_gap_of_no_mean_is_refused_without_a_word_from_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="its mean is 0"):
            Renewal("randint", {"low": 0, "high": 1})


def test_a_day_at_full_amplitude_is_inverted_where_its_rate_is_zero() -> None:
    day = Sinusoid(2.0, 1.0, 10.0)
    times = day.times(stream(3, 0, "arrivals"), count=100_000)
    points = np.concatenate(
        [c for _, c in zip(range(11), process.unit_points(stream(3, 0, "arrivals")), strict=False)]
    )
    reached = np.array([day.count_mean(float(t)) for t in times[::50]])
    np.testing.assert_allclose(reached, points[:100_000:50], rtol=1e-12, atol=1e-9)


def test_fast_phases_are_refused_before_they_are_drawn() -> None:
    law = MarkovModulated([1.0, 1e-9], [1e9, 1e9])
    assert law.expected(1000, None) > process.MAX_REQUESTS
    assert law.changes(1) == pytest.approx(2e9)


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "zero": (lambda: Poisson(0), "rate is 0: it must be a finite number > 0"),
    "negative": (lambda: Deterministic(-1), "rate is -1: it must be a finite number > 0"),
    "nan": (lambda: BatchPoisson(math.nan, 2), "rate is nan: it must be a finite number > 0"),
    "size": (lambda: BatchPoisson(1, 0), "size is 0: it must be a whole number >= 1"),
    "huge size": (lambda: BatchPoisson(1, 10**12), "whole number >= 1 and <= 200000000"),
    "size of 0": (
        lambda: BatchPoisson(1, Distribution("poisson", {"mu": 3})),
        "size is poisson(mu=3): it must be a discrete distribution of values >= 1",
    ),
    "both": (lambda: Renewal("expon", rate=1, cv=2), "dist is to be given, or rate and cv"),
    "neither": (lambda: Renewal(rate=1), "dist is to be given, or rate and cv"),
    "cv alone": (lambda: Renewal(cv=1), "rate is missing: cv needs it"),
    "cv and shape": (lambda: Renewal(parameters={"a": 1}, rate=1, cv=1), "a is a parameter of a dist"),
    "cv 0": (lambda: Renewal(rate=1, cv=0), "cv is 0: it must be a finite number > 0"),
    "negative gaps": (lambda: Renewal("norm", {"loc": 5}), "dist is norm(loc=5): its values can be negative"),
    "no mean": (lambda: Renewal("pareto", {"b": 1}), "its mean is inf; it must be a finite number > 0"),
    "no rates": (lambda: Nonhomogeneous([0, 1], []), "rates is []: it must be a list of at least one"),
    "no times": (lambda: Nonhomogeneous([], [1]), "times is []: it must be a list of at least one"),
    "rates below 0": (lambda: Nonhomogeneous([0, 1], [-2]), "rates.0 is -2: it must be a finite number >= 0"),
    "rate nan": (lambda: Nonhomogeneous([0, 1], [math.nan]), "rates.0 is nan: it must be a finite number"),
    "all 0": (lambda: Nonhomogeneous([0, 1], [0]), "rates is [0.0]: at least one must be > 0"),
    "late": (lambda: Nonhomogeneous([1, 2], [1]), "times.0 is 1.0: it must be 0"),
    "back": (lambda: Nonhomogeneous([0, 2, 2], [1, 1]), "times.2 is 2.0: it must be > 2.0"),
    "count": (lambda: Nonhomogeneous([0, 1, 2], [1]), "rates has 1 values and times 3"),
    "line": (lambda: Nonhomogeneous([0, 1, 2], [1, 1], "linear"), "that many times needs 3"),
    "point": (lambda: Nonhomogeneous([0], [1], "linear"), "at least one must be > 0, for some time"),
    "shape": (lambda: Nonhomogeneous([0, 1], [1], "constnt"), "did you mean 'constant'?"),
    "no end": (lambda: Nonhomogeneous([0, 1], [1, 1], repeat=True), "repeat is True: a table of as many"),
    "repeat": (lambda: Nonhomogeneous([0, 1], [1], repeat=3), "repeat is 3: it must be true or false"),
    "amplitude": (lambda: Sinusoid(1, 1.5, 10), "amplitude is 1.5: it must be a number from 0 to 1"),
    "period": (lambda: Sinusoid(1, 0.5, 0), "period is 0: it must be a finite number > 0"),
    "one phase": (lambda: MarkovModulated([1], [1]), "rates has 1 value: it must have one for each of"),
    "idle phases": (lambda: MarkovModulated([0, 0], [1, 1]), "rates is [0.0, 0.0]: at least one must be > 0"),
    "no exit": (lambda: MarkovModulated([1, 2], [1, 0]), "switch.1 is all 0: phase 1 has no exit"),
    "no exit either": (
        lambda: MarkovModulated([1, 2], [[0, 1], [0, 0]]),
        "switch.1 is all 0: phase 1 has no exit",
    ),
    "no return": (
        lambda: MarkovModulated([1, 2, 3], [[0, 1, 0], [0, 0, 1], [0, 1, 0]]),
        "switch leads from phase 1 never to phase 0",
    ),
    "switch": (lambda: MarkovModulated([1, 2], 3), "switch is 3: it must be a list of 2"),
    "switches": (lambda: MarkovModulated([1, 2], [1]), "switch is [1]: it must be a list of 2"),
    "row": (lambda: MarkovModulated([1, 2], [[0, 1], [1]]), "switch.1 has 1 values: it must have 2"),
    "rows": (lambda: MarkovModulated([1, 2], [[0, 1], 5]), "switch.1 is 5: it must be a list"),
    "entry": (lambda: MarkovModulated([1, 2], [[0, -1], [1, 0]]), "switch.0.1 is -1.0: it must be a finite"),
    "diagonal": (lambda: MarkovModulated([1, 2], [[7, 1], [1, 0]]), "switch.0.0 is 7.0: it must be 0, or"),
    "no number": (lambda: Poisson(1).times(stream(0, 0, "arrivals")), "count and until are None"),
    "too far": (lambda: Poisson(1e-320).times(stream(0, 0, "arrivals"), count=9), "every arrival time"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_allowed_is_one_line(name: str) -> None:
    make, words = BAD[name]
    with pytest.raises(InputError) as caught:
        make()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_before_the_end_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_REQUESTS", 5000)
    with pytest.raises(InputError, match=r"until is 1000000\.0: it must leave at most 5,000 requests"):
        Poisson(1.0).times(stream(0, 0, "arrivals"), until=1e6)
