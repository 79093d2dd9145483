"""The calendar rings alarms at absolute times and tells when an instant is over."""

import pytest

from fairq.timeline import Alarm, Calendar


@pytest.fixture
def calendar():
    return Calendar()


def sleeper(calendar, alarm, log, name):
    while True:
        yield alarm
        log.append((name, calendar.now))


def test_an_alarm_rings_at_the_very_time_it_was_set_to(calendar):
    """0.2 + (0.9 - 0.2) is not 0.9 in floats, so delays would miss it."""
    alarm, log = Alarm(calendar), []

    def process():
        alarm.set(0.2)
        yield alarm
        alarm.set(0.9)
        yield alarm
        log.append(calendar.now)

    assert 0.2 + (0.9 - 0.2) != 0.9
    calendar.process(process())
    calendar.run_instants(lambda: None)
    assert log == [0.9]


def test_a_moved_alarm_rings_once_and_leaves_no_instant_behind(calendar):
    alarm, log, closed = Alarm(calendar), [], []
    calendar.process(sleeper(calendar, alarm, log, "a"))
    alarm.set(5.0)
    alarm.set(9.0)
    alarm.set(2.0)
    calendar.run_instants(lambda: closed.append(calendar.now))
    assert log == [("a", 2.0)]
    assert closed == [0.0, 2.0]  # at 0 the process itself began


def test_an_instant_closes_after_everything_at_it(calendar):
    first, second, log = Alarm(calendar), Alarm(calendar), []
    calendar.process(sleeper(calendar, first, log, "first"))
    calendar.process(sleeper(calendar, second, log, "second"))
    first.set(3.0)
    second.set(3.0)
    calendar.run_instants(lambda: log.append(("closed", calendar.now)))
    assert log == [("closed", 0.0), ("first", 3.0), ("second", 3.0), ("closed", 3.0)]


def test_what_happens_at_until_still_happens_and_nothing_later(calendar):
    early, late, log = Alarm(calendar), Alarm(calendar), []
    calendar.process(sleeper(calendar, early, log, "at"))
    calendar.process(sleeper(calendar, late, log, "after"))
    early.set(4.0)
    late.set(4.5)
    calendar.end = 4.0
    calendar.run_instants(lambda: log.append(("closed", calendar.now)))
    assert log == [("closed", 0.0), ("at", 4.0), ("closed", 4.0)]


def test_closing_may_set_alarms(calendar):
    alarm, log = Alarm(calendar), []
    calendar.process(sleeper(calendar, alarm, log, "a"))

    def close():
        if len(log) < 3:
            alarm.set(calendar.now + 1)

    calendar.run_instants(close)
    assert log == [("a", 1.0), ("a", 2.0), ("a", 3.0)]
