"""Streams: the same for the same (seed, replication, purpose), unrelated otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from fairq.errors import InputError
from fairq.streams import PURPOSES, open_uniforms, stream


def test_purposes_keep_their_numbers():
    """Results depend on these numbers: a change here changes every drawn workload."""
    assert dict(PURPOSES) == {
        "arrivals": 0,
        "lengths": 1,
        "predictions": 2,
        "acceptance": 3,
        "dispatch": 4,
        "policy": 5,
        "classes": 6,
    }


def test_a_stream_is_the_seed_sequence_of_replication_and_purpose():
    sequence = np.random.SeedSequence(2026, spawn_key=(3, PURPOSES["lengths"]))
    expected = np.random.Generator(np.random.PCG64(sequence)).random(5)
    assert stream(2026, 3, "lengths").random(5).tolist() == expected.tolist()


def test_streams_of_other_seed_replication_or_purpose_differ():
    keys = [(seed, replication, purpose) for seed in (0, 1) for replication in (0, 1) for purpose in PURPOSES]
    firsts = {stream(*key).random() for key in keys}
    assert len(firsts) == len(keys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 0, "lengths"), "seed is -1"),
        ((1.5, 0, "lengths"), "seed is 1.5"),
        ((0, -1, "lengths"), "replication is -1"),
        ((0, 0, "length"), "unknown purpose 'length': did you mean 'lengths'?"),
    ],
)
def test_a_stream_that_does_not_exist(arguments, words):
    with pytest.raises(InputError, match=f"^{words}".replace("?", r"\?")):
        stream(*arguments)


class Extreme:
    """A generator at the ends of what `random` may give: 0 and the largest float below 1."""

    def random(self, count):
        return np.array([0.0, np.nextafter(1.0, 0.0)])[:count]


def test_uniforms_are_never_zero_or_one():
    low, high = open_uniforms(Extreme(), 2)  # type: ignore[arg-type]
    assert low == 2.0**-53
    assert high == 1 - 2.0**-53


def test_each_uniform_takes_one_draw():
    whole = open_uniforms(stream(7, 0, "lengths"), 10)
    generator = stream(7, 0, "lengths")
    parts = np.concatenate([open_uniforms(generator, 4), open_uniforms(generator, 6)])
    assert whole.tolist() == parts.tolist()
    assert np.abs(whole - stream(7, 0, "lengths").random(10)).max() <= 2.0**-52
