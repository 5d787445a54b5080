from __future__ import annotations

import threading
from itertools import pairwise

from service.authz.engine.lines import Lines
from service.authz.engine.rules import Rule
from service.kernel.cooperative_yield import cooperatively

A, B = Rule("endpoint", "GET /a", "x:a"), Rule("endpoint", "GET /a", "x:b")
OTHER, RESOURCE = Rule("endpoint", "GET /b", "x:a"), Rule("resource", "GET /a", "x:a")


def test_lines_are_grouped_by_layer_and_object_and_keep_their_order_within() -> None:
    lines = Lines([B, OTHER, RESOURCE, A])

    assert list(lines) == [RESOURCE, B, A, OTHER]
    assert lines.of("endpoint", "GET /a") == (B, A)
    assert lines.codes("endpoint", "GET /a") == ("x:b", "x:a")


def test_grouped_lines_stay_as_they_are() -> None:
    lines = Lines([B, OTHER, RESOURCE, A])

    assert list(Lines(lines)) == list(lines)


def test_repeated_lines_are_one() -> None:
    assert len(Lines([A, B, A])) == 2


def test_what_has_no_line_has_no_codes() -> None:
    assert Lines([A]).codes("resource", "GET /a") == ()
    assert Lines([A]).codes("elsewhere", "GET /a") == ()
    assert list(Lines()) == []


def test_objects_are_those_of_one_layer() -> None:
    assert list(Lines([A, OTHER, RESOURCE]).objects("endpoint")) == ["GET /a", "GET /b"]


def test_cooperative_iteration_yields_every_item() -> None:
    assert list(cooperatively(range(100_000))) == list(range(100_000))
    assert list(cooperatively([])) == []


def test_cooperative_iteration_lets_another_thread_run_in_between() -> None:
    turns: list[str] = []
    ended = threading.Event()

    def other() -> None:
        while not ended.is_set():
            turns.append("other")

    def mine() -> None:
        for number in cooperatively(range(200_000)):
            turns.extend(["mine"] if number % 10_000 == 0 else [])

    thread = threading.Thread(target=other)
    thread.start()
    mine()
    ended.set()
    thread.join()
    assert sum(one != two for one, two in pairwise(turns)) > 10
