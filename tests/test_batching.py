"""`matched`, `cluster` and `window`: what they choose, when they wait, and what an ask costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairq
from fairq.cluster import ByClass, Fullest, length_class
from fairq.matched import BestRun
from fairq.ranking import Ranking, RankSet


def best_run(sizes, batch_size):
    """All runs of B consecutive ones, with whole fractions."""
    shares = [Fraction(sum(sizes[i : i + batch_size]), sizes[i]) for i in range(len(sizes) - batch_size + 1)]
    return sizes[shares.index(max(shares))]


@pytest.mark.parametrize("seed", range(60))
def test_the_best_run_is_that_of_a_search_through_all(seed):
    rng = np.random.default_rng(seed)
    batch_size = int(rng.integers(1, 9))
    most = int(rng.choice([3, 12, 200, 10**12]))
    sizes = sorted(rng.integers(1, most + 1, size=80).tolist(), reverse=True)
    best, queue = BestRun(sizes, batch_size), set()
    looks = 0
    for _ in range(400):
        outside = sorted(set(range(80)) - queue)
        if outside and (not queue or rng.random() < 0.6):
            rank = int(rng.choice(outside))
            queue.add(rank)
            best.add(rank)
        else:
            rank = int(rng.choice(sorted(queue)))
            queue.remove(rank)
            best.discard(rank)
        if len(queue) >= batch_size and rng.random() < 0.4:
            looks += 1
            assert best.size() == best_run([sizes[i] for i in sorted(queue)], batch_size)
    assert looks > 50


def test_shares_that_floats_cannot_tell_apart():
    """(2n − 1)/n and (2n + 1)/(n + 1) differ by 1/(n(n + 1)), 1e-18 here, and so the larger n + 1 wins."""
    n = 10**9
    sizes = [2 * n + 2, n + 1, n, n - 1]  # runs of two: 0.75.., then (2n + 1)/(n + 1), then (2n − 1)/n
    best = BestRun(sizes, 2)
    for rank in range(4):
        best.add(rank)
    assert (2 * n + 1) / (n + 1) == (2 * n - 1) / n
    assert best.size() == best_run(sizes, 2) == n + 1


@pytest.mark.parametrize("seed", range(30))
def test_the_fullest_class_is_that_of_a_count(seed):
    rng = np.random.default_rng(seed)
    alpha = int(rng.integers(0, 5))
    size = rng.integers(1, 15, size=60)
    arrival = rng.integers(0, 20, size=60).astype(float)
    ranking = Ranking(ByClass(alpha), size, arrival)
    waiting = RankSet(60)
    fullest = Fullest(ranking, waiting, arrival.tolist(), alpha)
    queue = set()
    for _ in range(300):
        request = int(rng.integers(60))
        rank = ranking.rank[request]
        if request in queue:
            queue.remove(request)
            waiting.discard(rank)
            fullest.discard(rank)
        else:
            queue.add(request)
            waiting.add(rank)
            fullest.add(rank)
        if queue and rng.random() < 0.5:
            classes = {}
            for member in sorted(queue, key=lambda i: (arrival[i], i)):
                classes.setdefault(length_class(int(size[member]), alpha), []).append(member)
            wanted = min(classes.values(), key=lambda c: (-len(c), arrival[c[0]], c[0]))
            count, first = fullest.find()
            assert (count, ranking.ids[first]) == (len(wanted), wanted[0])


def test_matched_by_hand():
    """B = 2, sizes 9 8 5 4 4: 4 + 4 fills 8 of 8, 9 + 8 then 17 of 18 against 13 of 16; the 5 is left."""
    workload = fairq.Workload.from_arrays(tokens=[5, 4, 9, 8, 4])
    result = fairq.simulate(workload, "matched", batch_size=2)
    assert result.requests["start"].tolist() == [13, 0, 4, 4, 0]
    assert result.guarded
    assert np.isnan(result.summary["violations"])


def test_of_equal_shares_the_longer_run_starts_first():
    workload = fairq.Workload.from_arrays(tokens=[2, 2, 4, 4, 1])
    result = fairq.simulate(workload, "matched", batch_size=2)
    assert result.requests["start"].tolist() == [4, 4, 0, 0, 6]


def test_cluster_by_hand():
    """alpha 3, classes 1: ids 0 3, 2: ids 1 2 4; the fullest first, and of it the first two by arrival."""
    workload = fairq.Workload.from_arrays(tokens=[3, 4, 6, 1, 5])
    result = fairq.simulate(workload, "cluster", alpha=3.9, batch_size=2)
    assert result.requests["start"].tolist() == [6, 0, 0, 6, 9]


def test_cluster_waits_with_patience():
    """The first waits until 2 + 5 for a companion of its class, which comes at 6; the third till 9 + 5."""
    workload = fairq.Workload.from_arrays(tokens=[3, 2, 3, 9], arrival=[2, 6, 7, 7.5])
    result = fairq.simulate(workload, "cluster", alpha=3, batch_size=2, patience=5)
    assert result.requests["start"].tolist() == [6, 6, 14, 17 + 5]


def test_window_by_hand():
    """B = 3: the first two wait until 1 + 4; the last came while they ran, and waits until 8 + 4."""
    workload = fairq.Workload.from_arrays(tokens=[2, 3, 5], arrival=[1, 3, 6])
    result = fairq.simulate(workload, "window", window=4, base="fcfs-static", batch_size=3)
    assert result.requests["start"].tolist() == [5, 5, 12]
    ended = fairq.simulate(workload, "window", window=4, min_batch=2, base="fcfs-static", batch_size=3)
    assert ended.requests["start"].tolist() == [3, 3, 10]
    base = fairq.simulate(workload, "window", window=0, base="fcfs-static", batch_size=3)
    assert base.requests["start"].tolist() == [1, 3, 6]


def test_a_window_takes_its_promises_from_its_base():
    workload = fairq.Workload.from_arrays(tokens=[2, 9], upper=[8, 9])
    robust = fairq.simulate(workload, "window", alpha=3, window=1, base="robust-isjl", batch_size=2)
    assert robust.guarded
    assert not fairq.simulate(workload, "window", window=1, batch_size=2).guarded


def test_those_who_wait_too_long_go_first():
    """B = 1, ljf: at 9 the ages are 9, 8 and 1; only those above 7 count, and they go oldest first."""
    workload = fairq.Workload.from_arrays(tokens=[9, 1, 2, 8], arrival=[0, 0, 1, 8])
    plain = fairq.simulate(workload, "ljf", batch_size=1)
    assert plain.requests["start"].tolist() == [0, 19, 17, 9]
    aged = fairq.simulate(workload, "ljf", batch_size=1, max_wait=7)
    assert aged.requests["start"].tolist() == [0, 9, 10, 12]
    exact = fairq.simulate(workload, "ljf", batch_size=1, max_wait=9)  # an age of 9 does not exceed 9
    assert exact.requests["start"].tolist() == [0, 17, 18, 9]


def test_who_has_waited_too_long_starts_ahead_of_a_cohort():
    """B = 1: at 6 the 8 would lead a cohort of its own, but the 3 has waited for 5.5."""
    workload = fairq.Workload.from_arrays(tokens=[6, 3, 8], arrival=[0, 0.5, 1])
    plain = fairq.simulate(workload, "isjl", alpha=2, batch_size=1)
    aged = fairq.simulate(workload, "isjl", alpha=2, batch_size=1, max_wait=5)
    assert plain.requests["start"].tolist() == [0, 14, 6]
    assert aged.requests["start"].tolist() == [0, 6, 9]
    aged.check()


@pytest.mark.parametrize(
    ("policy", "options", "match"),
    [
        ("window", {}, "policy 'window' needs the option 'window'"),
        ("window", {"window": -1}, "window is -1: it must be a finite number >= 0"),
        ("window", {"window": float("nan")}, "window is nan"),
        ("window", {"window": 1, "min_batch": 0}, "min_batch is 0"),
        (
            "window",
            {"window": 1, "base": "fcsf"},
            "unknown base 'fcsf' of policy 'window': did you mean 'fcfs'",
        ),
        ("window", {"window": 1, "base": "window"}, "unknown base 'window'"),
        ("window", {"window": 1, "base": "isjl", "alpha": None}, "'window' on 'isjl' needs alpha"),
        ("window", {"window": 1, "pack_order": "ascending"}, "unknown option 'pack_order'"),
        ("cluster", {"alpha": None}, "'cluster' needs alpha"),
        ("cluster", {"patience": "long"}, "patience is 'long'"),
        ("matched", {"beta": 1}, "unknown option 'beta' of policy 'matched'"),
        ("ljf", {"max_wait": -0.5}, "max_wait is -0.5"),
        ("fcfs", {"max_wait": 1}, "unknown option 'max_wait' of policy 'fcfs'"),
    ],
)
def test_a_value_that_is_not_allowed_is_named(policy, options, match):
    workload = fairq.Workload.from_arrays(tokens=[3])
    with pytest.raises(fairq.InputError, match=match):
        fairq.simulate(workload, policy, batch_size=2, **{"alpha": 3, **options})
