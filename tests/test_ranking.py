"""Orders with their ties, and the set of ranks against Python's own set."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.ranking import Ranking, RankSet, order_keys


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("arrival", [3, 1, 2, 0]),  # ties at 1.0 by id
        ("smallest", [1, 2, 3, 0]),  # equal sizes 4: earlier arrival (1 and 2 tie, by id), then 3
        ("largest", [0, 1, 2, 3]),
    ],
)
def test_ties_go_to_the_earlier_arrival_and_then_to_the_lower_id(order, expected):
    size, arrival = np.array([9, 4, 4, 4]), np.array([2.0, 1.0, 1.0, 0.5])
    if order != "arrival":
        arrival[3] = 1.5
    assert order_keys(order, size, arrival).tolist() == expected


def test_a_ranking_inverts_itself():
    ranking = Ranking("largest", np.array([3, 9, 5]), np.zeros(3))
    assert ranking.ids == [1, 2, 0]
    assert [ranking.rank[request] for request in ranking.ids] == [0, 1, 2]
    assert ranking.sizes == [9, 5, 3]


@given(st.lists(st.tuples(st.integers(0, 2500), st.booleans()), max_size=80), st.integers(0, 2600))
def test_the_set_of_ranks_answers_as_a_sorted_set_does(moves, probe):
    capacity, ours, model = 2501, RankSet(2501), set()
    for rank, enter in moves:
        if enter and rank not in model:
            ours.add(rank)
            model.add(rank)
        elif not enter and rank in model:
            ours.discard(rank)
            model.discard(rank)
    assert list(ours) == sorted(model)
    assert len(ours) == len(model)
    assert ours.first_at_or_after(probe) == min((r for r in model if r >= probe), default=-1)
    assert (probe in model) == (probe < capacity and probe in ours)


def test_a_copy_is_a_set_of_its_own():
    ours = RankSet(10)
    ours.add(3)
    twin = ours.copy()
    twin.add(4)
    assert list(ours) == [3]
    assert list(twin) == [3, 4]
