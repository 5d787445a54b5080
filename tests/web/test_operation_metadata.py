"""What operations declare of themselves, and the members of their types."""

from collections.abc import Callable
from itertools import permutations
from typing import Annotated, Any

import pytest
from msgspec import Meta, Struct, defstruct

from service.errors import NotFound
from service.web.messages.operation_metadata import (
    Logged,
    MetadataError,
    Responders,
    example_parameters,
    logged,
    login,
    metadata_of,
    needs,
    public,
    takes_file,
    writes,
)
from service.web.messages.schema import Members, members_of
from tests.support.cases import with_each


def responder() -> None: ...


MARKS: tuple[Callable[[Any], Any], ...] = (
    needs("a:b", "a:c", refuses=[NotFound]),
    writes("create", "INSERT", module="thing", keeps="params", created="/api/thing/{id}"),
    example_parameters(id=7),
    takes_file("file"),
)


@with_each("order", list(permutations(range(4))))
def test_marks_say_the_same_in_any_order(order: tuple[int, ...]) -> None:
    def function() -> None: ...

    for index in order:
        MARKS[index](function)
    metadata = metadata_of(function)
    assert metadata.access == ("a:b", "a:c")
    assert metadata.logged == Logged("thing", "create", "INSERT", params=True, response=False)
    assert metadata.refusals == (NotFound,)
    assert metadata.location == "/api/thing/{id}"
    assert (metadata.parameters, metadata.file) == ({"id": 7}, "file")


def test_a_function_without_marks_declares_nothing() -> None:
    assert metadata_of(responder).access == ()


def test_marks_return_the_function_itself() -> None:
    def function() -> None: ...

    assert public()(function) is function


@with_each(
    ("keeps", "params", "response"),
    [("all", True, True), ("params", True, False), ("response", False, True), ("nothing", False, False)],
)
def test_an_entry_keeps_the_named_parts_of_a_call(keeps: Any, *, params: bool, response: bool) -> None:
    def function() -> None: ...

    entry = metadata_of(logged("change", "UPDATE", keeps=keeps)(function)).logged
    assert entry == Logged("", "change", "UPDATE", params, response)


@with_each("outer", [public(), login(), needs("a:b")])
@with_each("inner", [public(), login(), needs("a:b")])
def test_two_marks_that_say_who_may_call_are_refused(outer: Any, inner: Any) -> None:
    def function() -> None: ...

    inner(function)
    with pytest.raises(MetadataError):
        outer(function)


def test_two_logged_are_refused() -> None:
    with pytest.raises(MetadataError):

        @logged("b", "QUERY")
        @writes("b", "UPDATE")
        def function() -> None: ...


def test_a_write_takes_keys_or_refuses_them() -> None:
    with pytest.raises(MetadataError, match="refuses it"):
        writes("b", "UPDATE", idempotent=responder, refuses_keys="its answer is a secret")


class Things(Responders, at="/api/thing"):
    """An endpoint."""


class MoreThings(Things):
    """An endpoint at the same template, with other responders."""


def test_an_endpoint_has_the_template_in_its_head_or_that_of_its_base() -> None:
    assert (Responders.at, Things.at, MoreThings.at) == ("", "/api/thing", "/api/thing")


@with_each(
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


class Inner(Struct):
    """A struct within another."""

    password: str


class Outer(Struct):
    """A struct with a member of its own, and one with members."""

    inner: list[Inner]
    properties: int


class Free(Struct):
    """A struct with a member of any form, and one after it."""

    extra: dict[str, Any]
    inner: Inner


def test_members_are_found_at_every_depth() -> None:
    assert members_of(Outer) == Members(frozenset({"inner", "properties", "password"}))
    assert members_of(Outer).sensitive


def test_a_dictionary_may_have_any_member_and_hides_no_other() -> None:
    assert members_of(Free) == Members(frozenset({"extra", "inner", "password"}), is_open=True)
    assert members_of(dict[str, int]).sensitive
    assert not members_of(int).sensitive


def test_an_object_that_is_shown_as_it_is_is_redacted_in_the_log_and_no_secret_otherwise() -> None:
    shown = Annotated[dict[str, Any], Meta(extra_json_schema={"propertyNames": {"pattern": "^a"}})]
    members = members_of(defstruct("Shown", [("meta", shown | None), ("sort", int)]))
    assert members == Members(frozenset({"meta", "sort"}), has_free_object=True)
    assert (members.sensitive, members.may_be_secret) == (True, False)
    assert Members().joined(members).sensitive


def test_joined_members_are_open_if_one_part_is() -> None:
    closed, free = Members(frozenset({"a"})), Members(frozenset({"b"}), True)
    assert closed.joined(closed) == closed
    assert closed.joined(free, closed) == Members(frozenset({"a", "b"}), is_open=True)


def test_a_type_that_json_does_not_have_is_refused() -> None:
    with pytest.raises((TypeError, NotImplementedError)):
        members_of(complex)
