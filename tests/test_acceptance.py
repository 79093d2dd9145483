"""Acceptance by length bucket, against the formula of Section 5.2 of the paper."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.acceptance import BucketedLinear
from fairq.errors import InputError
from fairq.streams import open_uniforms, stream


def by_the_paper(tokens: int, width: int) -> Fraction:
    """max(0, 1 - k_b p_i) with the paper's k_b and p_i = p0 o_i, p0 = 1/500, in exact arithmetic."""
    p0 = Fraction(1, 500)
    bucket = next(b for b in range(1, tokens + 1) if (b - 1) * width < tokens <= b * width)
    k_b = 1 / (p0 * (2 * bucket - 1) * width)
    return max(Fraction(0), 1 - k_b * p0 * tokens)


@given(st.integers(1, 1000), st.sampled_from([1, 7, 100, 250]))
def test_probability_is_the_papers(tokens, width):
    found = BucketedLinear(width).probability([tokens])[0]
    assert found == pytest.approx(float(by_the_paper(tokens, width)), abs=1e-15)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(1, 0.99), (50, 0.5), (100, 0.0), (101, 199 / 300), (150, 0.5), (1000, 900 / 1900)],
)
def test_buckets_begin_just_above_a_multiple_of_the_width(tokens, expected):
    assert BucketedLinear(100).probability([tokens])[0] == pytest.approx(expected, abs=1e-15)


def test_buckets_go_on_beyond_the_papers_ten():
    assert BucketedLinear(100).probability([1050, 1_000_050])[0] == 0.5
    assert 0 < BucketedLinear(100).probability([100_000_000])[0] < 0.5


def test_a_request_is_accepted_where_its_uniform_is_below_its_probability():
    accepted = BucketedLinear(100).accepted([50, 50, 100, 1], np.array([0.49, 0.5, 1e-300, 0.98]))
    assert accepted.tolist() == [True, False, False, True]


def test_the_share_accepted_is_the_mean_probability():
    """20,000 requests: within four standard errors, sqrt(p(1 - p)/n) at most 0.0036."""
    n = 20_000
    tokens = np.arange(n) % 1000 + 1
    rule = BucketedLinear(100)
    accepted = rule.accepted(tokens, open_uniforms(stream(11, 0, "acceptance"), n))
    assert abs(accepted.mean() - rule.probability(tokens).mean()) < 4 * np.sqrt(0.25 / n)


@pytest.mark.parametrize("width", [0, -1, 0.5, "100", True, float("nan")])
def test_a_width_is_a_whole_number_of_tokens(width):
    with pytest.raises(InputError, match=r"^width is .*: it must be a whole number >= 1$"):
        BucketedLinear(width)
