"""Lengths from the distributions of scipy.stats: rounding, truncation, common random numbers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.streams import open_uniforms, stream

GAMMA = ("gamma", {"a": 1.0628, "scale": 118.556})


def grid(n: int) -> np.ndarray:
    """n uniforms that cut (0, 1) evenly: their quantiles are the law itself."""
    return (np.arange(n) + 0.5) / n


def test_a_discrete_law_gives_every_value_its_probability():
    lengths = LengthLaw("randint", {"low": 1, "high": 6}).tokens(grid(500))
    assert lengths.dtype == np.int64
    assert np.bincount(lengths)[1:].tolist() == [100] * 5


def test_a_continuous_law_is_rounded_to_the_nearest_whole_token_and_at_least_one():
    uniforms = grid(1000)
    values = scipy.stats.gamma(1.0628, scale=118.556).ppf(uniforms)
    lengths = LengthLaw(*GAMMA).tokens(uniforms)
    assert values[0] < 0.5
    assert lengths[0] == 1
    assert (np.abs(lengths - values) <= 0.5)[values >= 0.5].all()


@pytest.mark.parametrize(
    ("dist", "parameters", "low", "high"),
    [
        ("geom", {"p": 0.01}, 50, 400),
        ("poisson", {"mu": 3}, 1, 6),
        ("randint", {"low": 0, "high": 100}, 1, 10),
        ("geom", {"p": 0.01}, 4000, 4100),  # far in the upper tail, where cdf has no digits left
    ],
)
def test_truncation_of_a_discrete_law_conditions_it_on_both_ends_included(dist, parameters, low, high):
    n = 20_000
    lengths = LengthLaw(dist, parameters, (low, high)).tokens(grid(n))
    values = np.arange(low, high + 1)
    weights = np.exp(getattr(scipy.stats, dist)(**parameters).logpmf(values))
    expected = weights / weights.sum()
    assert lengths.min() == low
    assert lengths.max() == high
    shares = np.bincount(lengths, minlength=high + 1)[low:] / n
    assert np.abs(shares - expected).max() <= 1 / n + 1e-9  # a grid of n points misses a share by at most 1/n


@pytest.mark.parametrize(("low", "high"), [(1, 905), (200, 300), (2500, 4000)])
def test_truncation_of_a_continuous_law_conditions_it_and_never_clips(low, high):
    n = 20_000
    lengths = LengthLaw(*GAMMA, truncate=(low, high)).tokens(grid(n))
    law = scipy.stats.gamma(1.0628, scale=118.556)
    mass = law.sf(low) - law.sf(high)
    for cut in np.linspace(low, high, 7)[1:-1]:
        expected = (law.sf(low) - law.sf(np.floor(cut) + 0.5)) / mass
        assert (lengths <= cut).mean() == pytest.approx(expected, abs=1.5 / n)
    assert lengths.min() >= low
    assert lengths.max() <= high
    at_end = (law.sf(high - 0.5) - law.sf(high)) / mass
    assert (lengths == high).mean() <= at_end + 1.5 / n


@given(st.integers(1, 500), st.integers(0, 500))
@settings(max_examples=50, deadline=None)
def test_a_truncated_length_lies_in_its_range_at_every_uniform(low, more):
    uniforms = np.array([2.0**-53, 1e-9, 0.5, 1 - 1e-9, 1 - 2.0**-53])
    for law in (
        LengthLaw(*GAMMA, truncate=(low, low + more + 1)),
        LengthLaw("geom", {"p": 0.02}, (low, low + more)),
    ):
        lengths = law.tokens(uniforms)
        assert low <= lengths.min()
        assert lengths.max() <= law.truncate[1]


def test_laws_share_random_numbers():
    """The same uniform gives the same rank in every law, so a longer-tailed law is longer everywhere."""
    uniforms = open_uniforms(stream(1, 0, "lengths"), 1000)
    short = LengthLaw("gamma", {"a": 2, "scale": 50}).tokens(uniforms)
    long = LengthLaw("gamma", {"a": 2, "scale": 80}).tokens(uniforms)
    assert (long >= short).all()
    order = np.argsort(uniforms)
    assert (np.diff(short[order]) >= 0).all()


def test_a_law_of_another_family_needs_only_its_name():
    expected = np.maximum(np.rint(scipy.stats.lognorm(s=1.2, scale=300).ppf(grid(50))), 1)
    assert LengthLaw("lognorm", {"s": 1.2, "scale": 300}).tokens(grid(50)).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("dist", "parameters", "truncate", "words"),
    [
        ("gama", {}, None, "dist is 'gama': did you mean 'gamma'? It must be the name of"),
        ("describe", {}, None, "dist is 'describe': "),
        (3, {}, None, "dist is 3: "),
        ("gamma", {"a": 1, "scal": 2}, None, "unknown parameter 'scal' of gamma: did you mean 'scale'?"),
        ("randint", {"low": 1, "high": 3, "scale": 2}, None, "unknown parameter 'scale' of randint"),
        ("gamma", {}, None, "a is missing: 'gamma' needs a"),
        ("gamma", {"a": "1"}, None, "a is '1': it must be a finite number"),
        ("gamma", {"a": float("nan")}, None, "a is nan: it must be a finite number"),
        ("gamma", {"a": -1}, None, "dist is gamma(a=-1): scipy.stats does not allow these parameters"),
        ("gamma", {"a": 1, "scale": 0}, None, "dist is gamma(a=1, scale=0): scipy.stats does not allow"),
        ("randint", {"low": 5, "high": 2}, None, "dist is randint(low=5, high=2): scipy.stats does not"),
        (*GAMMA, (5, 1), "truncate is [5, 1]: it must be [lo, hi] with lo <= hi"),
        (*GAMMA, (-5, 0.5), "truncate is [-5, 0.5]: it must be [lo, hi]"),
        (*GAMMA, (5,), "truncate is (5,): it must be [lo, hi], two numbers"),
        (*GAMMA, 5, "truncate is 5: it must be [lo, hi], two numbers"),
        (*GAMMA, (1, float("inf")), "truncate.1 is inf: it must be a finite number"),
        (
            "randint",
            {"low": 1, "high": 10},
            (10, 20),
            "truncate is [10.0, 20.0]: randint(low=1, high=10) has no mass",
        ),
    ],
)
def test_what_is_no_law(dist, parameters, truncate, words):
    with pytest.raises(InputError) as caught:
        LengthLaw(dist, parameters, truncate)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("dist", "parameters", "uniform", "drew"),
    [
        ("randint", {"low": 0, "high": 2}, 0.25, "0.0"),
        ("uniform", {"loc": -4, "scale": 8}, 0.25, "-2.0"),
        ("uniform", {"loc": 0, "scale": 4e8}, 0.5, "200000000.0"),
        ("pareto", {"b": 0.001}, 0.999, "inf"),
    ],
)
def test_a_draw_that_is_no_length_is_refused_with_its_value(dist, parameters, uniform, drew):
    law = LengthLaw(dist, parameters)
    with pytest.raises(InputError, match=r": a length must be > 0 and at most 100,000,000 tokens") as caught:
        law.tokens(np.array([0.6, uniform]) if dist == "randint" else np.array([uniform]))
    assert str(caught.value).startswith(f"the law {law} drew {drew}: ")


def test_reading_a_workload_does_not_load_scipys_distributions():
    code = "import sys, fairq.lengths, fairq.scenario; print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
