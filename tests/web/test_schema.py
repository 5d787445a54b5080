from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.kernel.fields import camel
from service.kernel.value_rules import MAX_ID, whole
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageQuery,
    Schema,
    envelope,
    moment,
)

AT = datetime(2026, 11, 21, 2, 33, 53, 123456, tzinfo=UTC)


@dataclass(frozen=True)
class RoleRecord:
    id: int
    role_name: str


@dataclass(frozen=True)
class UserRecord:
    id: int
    user_name: str
    password_hash: str
    create_time: datetime
    last_login_time: datetime | None = None
    roles: list[RoleRecord] = field(default_factory=list)


class Role(Schema):
    id: Id
    role_name: str


class User(Schema):
    id: Id
    user_name: str
    create_time: Moment
    last_login_time: Moment | None
    roles: list[Role]


def test_an_answer_is_made_from_the_attributes_of_a_record() -> None:
    record = UserRecord(7, "alice", "secret", AT, None, [RoleRecord(1, "super")])
    expected = (
        b'{"data":{"id":7,"userName":"alice","createTime":"2026-11-21T02:33:53.123Z",'
        b'"lastLoginTime":null,"roles":[{"id":1,"roleName":"super"}]}}'
    )
    assert expected == envelope(User.of(record))


def test_a_moment_is_in_utc_wherever_it_was() -> None:
    at = AT.astimezone(timezone(timedelta(hours=8)))
    assert moment(at) == "2026-11-21T02:33:53.123Z"


def test_a_record_that_does_not_fit_is_a_fault() -> None:
    with pytest.raises(msgspec.ValidationError):
        User.of(UserRecord(7, "alice", "secret", "yesterday"))  # type: ignore[arg-type]  # the fault


def test_nothing_is_null() -> None:
    assert envelope(None) == b'{"data":null}'


def test_an_answer_of_a_type_that_json_does_not_have_is_a_fault() -> None:
    with pytest.raises(TypeError):
        envelope(object())


def test_a_page_keeps_the_names_of_the_contract() -> None:
    page = Page(items=[Role(1, "super")], page=2, size=20, total=21)
    assert envelope(page) == b'{"data":{"items":[{"id":1,"roleName":"super"}],"page":2,"size":20,"total":21}}'


@given(st.integers(1, 1_000_000_000), st.integers(1, 200))
def test_the_offset_of_a_page_fits_the_database(page: int, size: int) -> None:
    assert 0 <= PageQuery(page=page, size=size).offset <= MAX_ID


@pytest.mark.parametrize(
    ("name", "on_the_wire"),
    [("id", "id"), ("user_name", "userName"), ("a_b_c", "aBC"), ("last_refresh_time", "lastRefreshTime")],
)
def test_names_are_renamed_as_msgspec_renames_fields(name: str, on_the_wire: str) -> None:
    struct = msgspec.defstruct("S", [name], rename="camel")
    assert (on_the_wire, on_the_wire) == (camel(name), struct.__struct_encode_fields__[0])


@pytest.mark.parametrize("text", ["ab\n", "ab ", " ab", "abc", "a", "AB", "ab\r\n", "xx ab"])
def test_a_whole_pattern_matches_nothing_but_the_whole_text(text: str) -> None:
    kind = msgspec.json.Decoder(Annotated[str, msgspec.Meta(pattern=whole("[a-z]{2}|q"))])
    assert kind.decode(b'"ab"') == "ab"
    with pytest.raises(msgspec.ValidationError):
        kind.decode(msgspec.json.encode(text))
