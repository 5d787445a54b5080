"""How long a connection and a stop may take, by a clock that the tests turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.server.http.deadlines import Deadlines, Limits, Overdue, Phase
from service.server.stop_times import GRACE, with_stop_grace
from service.settings import Database, Redis, Server, Settings

LIMITS = Limits(head=10, body=10, write=10, keep_alive=60, rate=100)


def watch(deadlines: Deadlines, *, until: int, a_second: int = 0, paused: bool = False) -> dict[int, Overdue]:
    """Look once a second, while ``a_second`` bytes come each time; return what was overdue, and when."""
    noticed = {}
    for now in range(1, until + 1):
        deadlines.taken += a_second
        if late := deadlines.overdue(now, paused=paused, unsent=0):
            noticed[now] = late
    return noticed


def test_a_connection_that_says_nothing_is_closed() -> None:
    assert watch(Deadlines(LIMITS, 0), until=11) == {11: Overdue.IDLE}


def test_a_head_is_timed_as_a_whole_however_steadily_it_comes() -> None:
    assert watch(Deadlines(LIMITS, 0), until=11, a_second=1000) == {11: Overdue.REQUEST}


def test_the_application_may_take_as_long_as_it_needs() -> None:
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.BUSY, 0)
    assert watch(deadlines, until=1000) == {}


def test_a_kept_connection_is_closed_after_its_own_time() -> None:
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.IDLE, 0)
    assert watch(deadlines, until=61) == {61: Overdue.IDLE}


def body() -> Deadlines:
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.BODY, 0)
    return deadlines


def test_a_silent_body_is_late() -> None:
    assert watch(body(), until=11)[11] is Overdue.REQUEST


def test_a_body_that_trickles_is_late() -> None:
    assert watch(body(), until=10, a_second=99) == {10: Overdue.REQUEST}


def test_a_body_that_comes_as_fast_as_it_must_is_not_late() -> None:
    assert watch(body(), until=1000, a_second=100) == {}


def test_a_body_that_stops_after_a_fast_start_is_late() -> None:
    deadlines = body()
    deadlines.taken += 1_000_000
    late = watch(deadlines, until=30)
    assert min(late) == 12  # noticed after a second, and then silent for more than ten


def test_what_the_service_does_not_read_is_nobodys_fault() -> None:
    deadlines = body()
    assert watch(deadlines, until=100, paused=True) == {}
    assert deadlines.overdue(109, paused=False, unsent=0) is None
    assert deadlines.overdue(110, paused=False, unsent=0) is Overdue.REQUEST


def unsent(*sizes: int) -> list[int]:
    """Return at which seconds the reader was overdue, when so much was unsent at each."""
    deadlines = Deadlines(LIMITS, 0)
    deadlines.begin(Phase.BUSY, 0)
    noticed = [deadlines.overdue(now, paused=False, unsent=size) for now, size in enumerate(sizes)]
    return [now for now, late in enumerate(noticed) if late is Overdue.READER]


def test_a_reader_that_takes_nothing_is_late() -> None:
    assert unsent(*[5000] * 12) == [11]


def test_a_reader_that_takes_too_little_is_late() -> None:
    assert unsent(*range(50_000, 50_000 - 12 * 90, -90)) == [11]


def test_a_reader_that_takes_enough_is_not_late() -> None:
    assert unsent(*range(100_000, 0, -100)) == []


def test_a_reader_who_is_given_more_has_taken_something() -> None:
    assert unsent(*range(5000, 5100)) == []


def test_a_reader_that_has_taken_all_begins_anew() -> None:
    assert unsent(*[5000] * 9, 0, *[5000] * 10) == []


DATABASE, STORE = Database(url="postgresql://h/d"), Redis(url="redis://h")


@pytest.mark.parametrize(
    ("settings", "grace"),
    [
        (Settings(), 0.0),
        (Settings(database=DATABASE), GRACE),
        (Settings(redis=STORE), GRACE),
        (Settings(database=DATABASE, redis=STORE), GRACE),
    ],
)
def test_without_a_setting_only_nodes_beside_which_others_may_run_have_a_grace(
    settings: Settings, grace: float
) -> None:
    assert with_stop_grace(settings).server.stop_grace == grace
    for chosen in (0.0, 7.0):
        given = replace(settings, server=Server(stop_grace=chosen))
        assert with_stop_grace(given) == given
