"""Intervals and ids that follow the clock."""

import time
from uuid import RFC_4122

import pytest

from service.kernel import clock
from service.kernel.clock import AtMostEvery, new_event_id


def test_it_is_due_at_once_and_again_when_the_time_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    line = AtMostEvery(10.0)
    due_by_time = {}
    for now in (0.0, 0.5, 9.9, 10.0, 10.1, 35.0, 44.9, 45.0):
        due_by_time[now] = line.due()

    assert [at for at, due in due_by_time.items() if due] == [0.0, 10.0, 35.0, 45.0]


def test_each_has_a_time_of_its_own() -> None:
    first, other = AtMostEvery(60.0), AtMostEvery(60.0)
    assert [first.due(), other.due(), first.due(), other.due()] == [True, True, False, False]


def test_ids_are_version_7_differ_and_follow_the_clock() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_event_id() for _ in range(1000)]
    after = time.time_ns() // 1_000_000
    assert {(event_id.version, event_id.variant) for event_id in made} == {(7, RFC_4122)}
    assert len(set(made)) == 1000
    stamps = [event_id.int >> 80 for event_id in made]
    assert stamps == sorted(stamps)
    assert before <= stamps[0] <= stamps[-1] <= after
