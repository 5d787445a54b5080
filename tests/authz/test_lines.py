from __future__ import annotations

import gc

import pytest

from service.authz.lines import Lines
from service.authz.rules import Rule
from service.authz.undisturbed import undisturbed

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


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was_found(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with undisturbed():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
