from __future__ import annotations

import time
from uuid import RFC_4122

from service.kernel.event_ids import new_event_id


def test_ids_are_version_7_differ_and_follow_the_clock() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_event_id() for _ in range(1000)]
    after = time.time_ns() // 1_000_000
    assert {(event_id.version, event_id.variant) for event_id in made} == {(7, RFC_4122)}
    assert len(set(made)) == 1000
    stamps = [event_id.int >> 80 for event_id in made]
    assert stamps == sorted(stamps)
    assert before <= stamps[0] <= stamps[-1] <= after
