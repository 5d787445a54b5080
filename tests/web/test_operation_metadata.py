from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from service.errors import Conflict, NotFound
from service.web.messages.operation_metadata import (
    Logged,
    MetadataError,
    created,
    logged,
    login,
    metadata_of,
    needs,
    public,
    refuses,
)


def responder() -> None: ...


MARKS: tuple[Callable[[Any], Any], ...] = (
    needs("a:b", "a:c"),
    logged("thing", "create", "INSERT", response=False),
    refuses(NotFound),
    created("/api/thing/{id}"),
)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_marks_say_the_same_in_any_order(order: tuple[int, ...]) -> None:
    def function() -> None: ...

    for index in order:
        MARKS[index](function)
    metadata = metadata_of(function)
    assert metadata.access == ("a:b", "a:c")
    assert metadata.logged == Logged("thing", "create", "INSERT", params=True, response=False)
    assert metadata.refusals == (NotFound,)
    assert metadata.location == "/api/thing/{id}"


def test_a_function_without_marks_declares_nothing() -> None:
    assert metadata_of(responder).access == ()


def test_marks_return_the_function_itself() -> None:
    def function() -> None: ...

    assert public(function) is function


def test_refusals_of_several_marks_add_up() -> None:
    @refuses(NotFound)
    @refuses(Conflict)
    def function() -> None: ...

    assert metadata_of(function).refusals == (Conflict, NotFound)


@pytest.mark.parametrize("outer", [public, login, needs("a:b")])
@pytest.mark.parametrize("inner", [public, login, needs("a:b")])
def test_two_marks_that_say_who_may_call_are_refused(outer: Any, inner: Any) -> None:
    def function() -> None: ...

    inner(function)
    with pytest.raises(MetadataError):
        outer(function)


def test_two_logged_are_refused() -> None:
    with pytest.raises(MetadataError):

        @logged("a", "b", "QUERY")
        @logged("a", "b", "QUERY")
        def function() -> None: ...


@pytest.mark.parametrize(
    "codes",
    [
        (),
        ("",),
        ("Thing:list",),
        ("thing list",),
        ("thing:*",),
        ("*",),
        ("@login",),
        ("a:b", "a:b"),
        ("a:b\n",),
    ],
)
def test_needs_refuses_what_no_endpoint_can_require(codes: tuple[str, ...]) -> None:
    with pytest.raises(MetadataError):
        needs(*codes)
