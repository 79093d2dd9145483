"""Planning a cohort, against instances worked by hand."""

from hypothesis import given
from hypothesis import strategies as st

from fairq.cohort import first_at_most, plan_cohort
from fairq.ranking import RankSet


def plan(sizes, *, batch_size, alpha, free_ride=False, waiting=None):
    ranks = RankSet(len(sizes))
    for rank in range(len(sizes)) if waiting is None else waiting:
        ranks.add(rank)
    return plan_cohort(sizes, ranks, batch_size, alpha, free_ride)


def test_no_cohort_without_a_second_request_longer_than_alpha():
    assert plan([9], batch_size=3, alpha=2).leader == -1
    assert plan([9, 2, 2], batch_size=3, alpha=2).leader == -1
    assert plan([], batch_size=3, alpha=2).leader == -1


def test_short_lanes_fill_before_the_lanes_of_long_requests():
    """B = 4, alpha = 3, sizes 10 8 2 2 1: M = 2, so lanes 3 and 4 (up to alpha = 3) come first.

    2 -> lane 3 (room 3, left 1); 2 -> lane 4 (left 1); 1 -> lane 3 (left 0).
    """
    cohort = plan([10, 8, 2, 2, 1], batch_size=4, alpha=3)
    assert cohort.leader == 0
    assert cohort.own == [1]
    assert list(zip(cohort.packed, cohort.lane, strict=True)) == [(2, 3), (3, 4), (4, 3)]
    assert cohort.delay == 0


def test_the_cap_of_a_long_lane_and_the_delay_of_its_overhang():
    """B = 2, alpha = 3, sizes 8 6 6 4 1 (design facts): cap_2 = min(6, 8 - 6 + 3) = 5.

    6 > 5 is passed over; 4 fits (room: min(5 - 4, 3) = 1); 1 fits. Total 5, so o_1 waits 5 - 3 = 2.
    """
    cohort = plan([8, 6, 6, 4, 1], batch_size=2, alpha=3)
    assert cohort.own == [1]
    assert list(zip(cohort.packed, cohort.lane, strict=True)) == [(3, 2), (4, 2)]
    assert cohort.delay == 2


def test_a_pack_without_its_largest_stays_within_alpha():
    """B = 2, alpha = 3, sizes 20 4 3 3: cap_2 = 6. After 3 (total less largest 0), 3 makes it 3: allowed.

    With sizes 20 4 2 2 2: cap 6, but 2 + 2 + 2 less its largest is 4 > 3: the third stays out.
    """
    assert plan([20, 4, 3, 3], batch_size=2, alpha=3).packed == [2, 3]
    assert plan([20, 4, 2, 2, 2], batch_size=2, alpha=3).packed == [2, 3]


def test_free_ride_fills_the_slack_before_each_long_request():
    """B = 3, alpha = 4, sizes 10 8 7 3 2 2: slacks min(4, 2) = 2 and min(4, 3) = 3; lanes in rising order.

    3 -> lane 3 (lane 2 has 2); 2 -> lane 2; the last 2 finds no room.
    """
    cohort = plan([10, 8, 7, 3, 2, 2], batch_size=3, alpha=4, free_ride=True)
    assert cohort.own == [1, 2]
    assert list(zip(cohort.packed, cohort.lane, strict=True)) == [(3, 3), (4, 2)]
    assert cohort.delay == 0


def test_a_batch_of_one_has_a_cohort_of_one():
    cohort = plan([9, 9, 1], batch_size=1, alpha=2)
    assert cohort.leader == 0
    assert (cohort.own, cohort.packed, cohort.delay) == ([], [], 0)


def test_only_waiting_requests_are_planned():
    cohort = plan([10, 9, 8, 2, 1], batch_size=2, alpha=3, waiting=[1, 2, 4])
    assert (cohort.leader, cohort.own, cohort.packed) == (1, [2], [4])


@given(
    st.lists(st.integers(1, 30), min_size=2, max_size=40).map(lambda sizes: sorted(sizes, reverse=True)),
    st.integers(1, 6),
    st.integers(0, 12),
)
def test_the_jumping_scan_packs_what_a_plain_scan_packs(sizes, batch_size, alpha):
    """The plain scan of design.md, its three conditions spelt out for every request and lane."""
    cohort = plan(sizes, batch_size=batch_size, alpha=alpha)
    if sizes[1] <= alpha:
        assert cohort.leader == -1
        return
    long = [rank for rank, size in enumerate(sizes) if size > alpha][:batch_size]
    last = len(long)
    packs = {lane: [] for lane in range(2, batch_size + 1)}
    cap = {j: min(2 * alpha, sizes[0] - sizes[j - 1] + alpha) for j in range(2, last + 1)}
    for size in sizes[last:]:
        for lane in range(last + 1, batch_size + 1):
            if sum(packs[lane]) + size <= alpha:
                packs[lane].append(size)
                break
        else:
            for lane in range(last, 1, -1):
                pack = [*packs[lane], size]
                if sum(pack) <= cap[lane] and sum(pack) - max(pack) <= alpha:
                    packs[lane] = pack
                    break
    ours = {lane: [] for lane in packs}
    for rank, lane in zip(cohort.packed, cohort.lane, strict=True):
        ours[lane].append(sizes[rank])
    assert ours == packs
    assert cohort.own == long[1:]
    assert cohort.delay == max([0, *(sum(pack) - alpha for pack in packs.values())])


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(0, 10), st.integers(0, 20))
def test_first_at_most_is_the_first(sizes, limit, start):
    sizes = sorted(sizes, reverse=True)
    start = min(start, len(sizes))
    expected = next((r for r in range(start, len(sizes)) if sizes[r] <= limit), len(sizes))
    assert first_at_most(sizes, limit, start) == expected
