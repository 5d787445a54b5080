"""The members of types: what the log keeps, and what may hold a secret, is decided by them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from service.web.messages.members import Members, members_of


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
    assert members_of(Outer) == (frozenset({"inner", "properties", "password"}), False)
    assert members_of(Outer).sensitive


def test_a_dictionary_may_have_any_member_and_hides_no_other() -> None:
    assert members_of(Free) == (frozenset({"extra", "inner", "password"}), True)
    assert members_of(dict[str, int]).sensitive
    assert not members_of(int).sensitive


def test_joined_members_are_open_if_one_part_is() -> None:
    closed, free = Members(frozenset({"a"})), Members(frozenset({"b"}), True)
    assert closed.joined(closed) == closed
    assert closed.joined(free, closed) == (frozenset({"a", "b"}), True)


def test_a_type_that_json_does_not_have_is_refused() -> None:
    with pytest.raises((TypeError, NotImplementedError)):
        members_of(complex)
