"""A workload made from arrays: what it keeps, and what it refuses in which words."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.errors import InputError
from fairq.workload import Workload


def test_a_request_is_its_place_in_the_arrays():
    w = Workload.from_arrays(tokens=[12, 8, 2], arrival=[3, 0.5, 0.5])
    assert len(w) == 3
    assert w.tokens.tolist() == [12, 8, 2]
    assert w.arrival.tolist() == [3.0, 0.5, 0.5]
    assert w.arrival.dtype == np.float64
    assert w.tokens.dtype == w.lower.dtype == w.upper.dtype == w.billed_tokens.dtype == np.int64


def test_what_is_not_given_is_a_backlog_without_split_interval_or_label():
    w = Workload.from_arrays([5, 7])
    assert w.arrival.tolist() == [0.0, 0.0]
    assert w.prompt_tokens.tolist() == [0, 0]
    assert w.output_tokens.tolist() == [5, 7]
    assert w.lower.tolist() == w.upper.tolist() == w.billed_tokens.tolist() == [5, 7]
    assert w.label.tolist() == ["", ""]
    assert w.time_unit is None


def test_everything_given_is_kept():
    w = Workload.from_arrays([5, 7], [0, 1], [4, 0], [1, 7], [5, 9], ["chat", None], time_unit="steps")
    assert w.output_tokens.tolist() == [1, 7]
    assert w.lower.tolist() == [1, 7]
    assert w.upper.tolist() == [5, 9]
    assert w.label.tolist() == ["chat", ""]
    assert w.time_unit == "steps"


@pytest.mark.parametrize(
    "tokens",
    [
        [5, 3],
        (5, 3),
        [5.0, 3],
        range(5, 1, -2),
        np.array([5, 3]),
        np.array([5, 3], dtype=np.uint8),
        np.array([5.0, 3.0], dtype=np.float32),
        np.array([5, 3], dtype=object),
        [np.int32(5), np.float64(3)],
        [Fraction(5), 3],
        pd.Series([5, 3], index=[9, 4]),
        pd.Series([5, 3], dtype="Int64"),
        pd.Index([5, 3]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_sequences_of_every_usual_kind_are_read_alike(tokens):
    assert Workload.from_arrays(tokens).tokens.tolist() == [5, 3]


@pytest.mark.parametrize("value", [0, -3, 0.5, 2.000001, float("nan"), float("inf"), 100_000_001, 10**400])
@pytest.mark.parametrize("kind", [list, np.array])
def test_a_token_count_that_is_none_is_named_with_its_index(value, kind):
    with pytest.raises(
        InputError, match=r"^tokens\[1\] is .*: it must be a whole number from 1 to 100,000,000$"
    ):
        Workload.from_arrays(kind([3, value, -1]))


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        ([3, "4"], "'4'"),
        ([3, True], "True"),
        (np.array([3, True], dtype=object), "True"),
        ([3, None], "None"),
        ([3, [4]], "[4]"),
        ([3, np.bool_(False)], "False"),
        ([3, 1 + 2j], "(1+2j)"),
    ],
)
def test_what_is_no_number_is_refused_with_its_index(tokens, shown):
    with pytest.raises(InputError, match=rf"^tokens\[1\] is {re.escape(shown)}: it must be a whole number"):
        Workload.from_arrays(tokens)


def test_a_missing_value_is_refused():
    with pytest.raises(InputError, match=r"^tokens\[1\] is (nan|<NA>): it must be a whole number"):
        Workload.from_arrays(pd.Series([3, None], dtype="Int64"))


def test_arrays_of_truth_values_and_of_text_are_refused():
    with pytest.raises(InputError, match=r"^tokens\[0\] is True"):
        Workload.from_arrays(np.array([True, True]))
    with pytest.raises(InputError, match=r"^tokens\[0\] is '5'"):
        Workload.from_arrays(np.array(["5"]))
    with pytest.raises(InputError, match=r"^tokens\[0\] is 1\.5: "):
        Workload.from_arrays(np.array([1.5]))


@pytest.mark.parametrize("tokens", ["123", b"12", 5, {1: 2}, {3, 4}, object])
def test_what_is_no_sequence_is_refused(tokens):
    with pytest.raises(
        InputError, match=r"^tokens is .*: it must be a list, tuple, numpy array or pandas series"
    ):
        Workload.from_arrays(tokens)


@pytest.mark.parametrize(
    ("tokens", "dimensions"), [(np.ones((2, 2)), 2), (np.array(5), 0), (pd.DataFrame({"a": [1]}), 2)]
)
def test_only_one_dimension_is_allowed(tokens, dimensions):
    with pytest.raises(InputError, match=f"^tokens has {dimensions} dimensions: it must have one$"):
        Workload.from_arrays(tokens)


@pytest.mark.parametrize("value", [-0.001, float("nan"), float("inf"), "1", True, None])
def test_an_arrival_that_is_no_time_is_refused(value):
    with pytest.raises(InputError, match=r"^arrival\[1\] is .*: it must be a finite number >= 0$"):
        Workload.from_arrays([1, 2], arrival=[0, value])


def test_negative_zero_is_zero():
    assert np.signbit(Workload.from_arrays([1], arrival=[-0.0]).arrival).tolist() == [False]


@pytest.mark.parametrize("name", ["arrival", "prompt_tokens", "lower", "upper", "label"])
def test_lengths_that_differ_are_named(name):
    with pytest.raises(InputError, match=f"^{name} has 1 values and tokens has 2: they must be as many$"):
        Workload.from_arrays([2, 2], **{name: ["1"] if name == "label" else [1]})


def test_the_prompt_must_leave_an_output_token():
    with pytest.raises(InputError, match=r"^prompt_tokens\[0\] is 5: it must be below tokens, which is 5"):
        Workload.from_arrays([5], prompt_tokens=[5])
    with pytest.raises(InputError, match=r"^prompt_tokens\[0\] is -1: it must be a whole number from 0"):
        Workload.from_arrays([5], prompt_tokens=[-1])


def test_the_true_size_must_lie_in_its_interval():
    with pytest.raises(InputError, match=r"^upper\[1\] is 4: it must be at least tokens, which is 5$"):
        Workload.from_arrays([3, 5], upper=[3, 4])
    with pytest.raises(InputError, match=r"^lower\[0\] is 4: it must be at most tokens, which is 3$"):
        Workload.from_arrays([3, 5], lower=[4, 4])
    with pytest.raises(InputError, match=r"^lower\[0\] is 0: it must be a whole number from 1"):
        Workload.from_arrays([3], lower=[0])


def test_a_label_is_text():
    with pytest.raises(InputError, match=r"^label\[1\] is 7: it must be text$"):
        Workload.from_arrays([3, 5], label=["a", 7])


@pytest.mark.parametrize("tokens", [[], (), np.array([]), pd.Series([], dtype=float)])
def test_no_requests_are_refused_from_arrays(tokens):
    with pytest.raises(InputError, match=r"^tokens is empty: a workload needs at least one request$"):
        Workload.from_arrays(tokens)


def test_tokens_must_be_given():
    with pytest.raises(InputError, match=r"^tokens is None"):
        Workload.from_arrays(None)


@pytest.mark.parametrize("unit", ["ms", "", 1, True])
def test_the_unit_of_time_is_seconds_or_steps_or_not_known(unit):
    with pytest.raises(InputError, match=r"^time_unit is .*: it must be 's', 'steps' or None$"):
        Workload.from_arrays([1], time_unit=unit)


def test_a_drawn_workload_may_be_empty():
    w = Workload.empty(time_unit="s")
    assert len(w) == 0
    assert w.time_unit == "s"
    assert len(w.frame) == 0
    assert w.output_tokens.tolist() == []


def test_arrays_are_read_only_and_the_callers_own_stay_as_they_were():
    tokens = np.array([5, 3])
    w = Workload.from_arrays(tokens)
    tokens[0] = 99
    assert w.tokens.tolist() == [5, 3]
    for name in ("arrival", "tokens", "prompt_tokens", "lower", "upper", "label", "billed_tokens"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(w, name)[0] = 1
    with pytest.raises(AttributeError):
        w.tokens = tokens  # type: ignore[misc]


def test_the_frame_has_a_row_per_request_and_is_the_callers_to_change():
    w = Workload.from_arrays([5, 7], prompt_tokens=[4, 0], label=["a", "b"])
    frame = w.frame
    assert list(frame.columns) == (
        [
            "request",
            "arrival",
            "tokens",
            "prompt_tokens",
            "output_tokens",
            "lower",
            "upper",
            "label",
            "billed_tokens",
        ]
    )
    assert frame["request"].tolist() == [0, 1]
    assert frame["output_tokens"].tolist() == [1, 7]
    frame.loc[0, "tokens"] = 1
    assert w.frame["tokens"].tolist() == [5, 7]


def test_a_subset_keeps_order_and_unit_and_numbers_anew():
    w = Workload.from_arrays([5, 7, 9], arrival=[2, 1, 0], label=["a", "b", "c"], time_unit="s")
    kept = w.subset(np.array([True, False, True]))
    assert kept.frame[["request", "arrival", "tokens", "label"]].to_numpy().tolist() == [
        [0, 2.0, 5, "a"],
        [1, 0.0, 9, "c"],
    ]
    assert kept.time_unit == "s"
    assert len(w.subset(np.zeros(3, dtype=bool))) == 0


def test_a_workload_can_be_pickled():
    w = Workload.from_arrays([5, 7], arrival=[0.1, 0.2])
    assert pickle.loads(pickle.dumps(w)).frame.equals(w.frame)  # noqa: S301 -- our own bytes


@given(st.lists(st.tuples(st.integers(1, 10**8), st.floats(0, 1e12)), min_size=1))
def test_every_allowed_value_is_kept_to_the_last_bit(rows):
    tokens, arrival = zip(*rows, strict=True)
    w = Workload.from_arrays(tokens, arrival)
    assert w.tokens.tolist() == list(tokens)
    assert w.arrival.tolist() == list(arrival)
