"""Parameters and schemas: what becomes of queries, paths and answers, and which rules have names."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from service.errors import ValidationFailed
from service.kernel.fields import camel
from service.kernel.value_rules import MAX_ID, whole
from service.web.messages.bodies import Query
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageQuery,
    Schema,
    envelope,
    moment,
)
from tests.support.cases import with_each
from tests.web.driver import Answer, ask
from tests.web.example_service import example

APP, _ = example()


async def read(path: str) -> Answer:
    return await ask(APP, "GET", path)


@with_each(
    ("query", "expected"),
    [
        ("", {"page": 1, "size": 20, "userName": "-", "colour": None, "deep": False}),
        ("page=2&size=200", {"page": 2, "size": 200}),
        ("userName=al%20ice", {"userName": "al ice"}),
        ("userName=al+ice", {"userName": "al ice"}),
        ("userName=%C3%A9", {"userName": "é"}),
        ("userName=", {"userName": ""}),
        ("userName=null", {"userName": "null"}),
        ("userName=a%26b%3Dc", {"userName": "a&b=c"}),
        ("user%4eame=x", {"userName": "x"}),
        ("colour=green", {"colour": "green"}),
        ("deep=true", {"deep": True}),
        ("deep=false", {"deep": False}),
    ],
)
async def test_parameters_become_types(query: str, expected: dict[str, Any]) -> None:
    answer = await ask(APP, "GET", f"/api/echo?{query}" if query else "/api/echo")
    assert answer.status == 200
    assert expected.items() <= answer.json["data"].items()


@with_each(
    ("query", "field"),
    [
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page=", "page"),
        ("page=one", "page"),
        ("page=1.5", "page"),
        ("page=%D9%A3", "page"),
        ("page=99999999999999999999", "page"),
        ("page=" + "9" * 5000, "page"),
        ("size=0", "size"),
        ("size=201", "size"),
        ("colour=mauve", "colour"),
        ("colour=null", "colour"),
        ("deep=perhaps", "deep"),
        ("page=1&page=1", "page"),
        ("page=1&p%61ge=2", "page"),
        ("unknown=1", "unknown"),
        ("user_name=x", "user_name"),
        ("dryRun=true", "dryRun"),
        ("=", "query"),
        ("&", "query"),
        ("page=1&", "query"),
        ("%3Cscript%3E=1", "query"),
        ("userName=%ff", "userName"),
        ("%ff=1", "query"),
        ("userName=%ed%a0%80", "userName"),
        ("userName=%00", "userName"),
        ("userName[]=x", "userName[]"),
        ("&".join(["a=1"] * 5000), "a"),
    ],
)
async def test_a_parameter_that_breaks_a_rule_is_named(query: str, field: str) -> None:
    answer = await ask(APP, "GET", f"/api/echo?{query}")
    assert (answer.status, answer.fields) == (422, [field])


class Since(Schema):
    """A query with a time."""

    since: Annotated[datetime, Meta(tz=True)] | None = None


@with_each("text", ["1700000000", "1e9", "0.5", "-1", "null", "2026-11-21", "2026-11-21T02:33:53"])
def test_a_time_is_taken_in_one_form_only(text: str) -> None:
    read = Query(Since).read
    assert read("since=2026-11-21T02:33:53Z") == Since(datetime(2026, 11, 21, 2, 33, 53, tzinfo=UTC))
    with pytest.raises(ValidationFailed):
        read(f"since={text}")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00%2B00:01"])
def test_a_time_without_a_year_in_utc_is_refused_with_its_field(text: str) -> None:
    read = Query(Since).read
    assert read("since=9999-12-31T23:59:59Z").since == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    with pytest.raises(ValidationFailed) as refused:
        read(f"since={text}")
    assert [fault["field"] for fault in refused.value.extra["errors"]] == ["since"]


async def test_no_value_of_a_parameter_is_echoed() -> None:
    for query in ("colour=hunter2", "page=hunter2", "hunter2%20=1", "%ff=hunter2", "userName=hunter2%00"):
        answer = await ask(APP, "GET", f"/api/echo?{query}")
        assert (answer.status, b"hunter2" in answer.body) == (422, False)


async def test_an_operation_without_parameters_refuses_any() -> None:
    answer = await ask(APP, "DELETE", "/api/thing/1?dryRun=true")
    assert (answer.status, answer.fields) == (422, ["dryRun"])


async def test_a_query_of_bytes_that_are_not_ascii_is_a_bad_request() -> None:
    answer = await ask(APP, "GET", b"/api/echo?userName=\xff")
    assert (answer.status, answer.code) == (400, "bad_request")


async def test_ids_become_integers() -> None:
    assert (await read(f"/api/thing/{MAX_ID}")).json["data"]["id"] == MAX_ID


@with_each(
    "id_",
    [
        "0",
        "-1",
        "+1",
        "01",
        "1.0",
        "1e3",
        "0x1",
        "one",
        "1_0",
        "1,2",
        "%D9%A3",
        "%20",
        "1%20",
        str(MAX_ID + 1),
        "9" * 2000,
    ],
)
async def test_what_is_no_id_is_named_by_its_parameter(id_: str) -> None:
    answer = await read(f"/api/thing/{id_}")
    assert (answer.status, answer.fields) == (422, ["id"])


async def test_path_parameters_of_text_have_their_rules() -> None:
    assert (await read("/api/thing/1/part/abc")).json == {"data": "1/abc"}
    answer = await read("/api/thing/1/part/abcd")
    assert (answer.status, answer.fields) == (422, ["name"])


@given(st.binary(max_size=100))
async def test_random_queries_never_fail_the_service(query: bytes) -> None:
    assert (await ask(APP, "GET", b"/api/echo?" + query.replace(b"?", b""))).status < 500


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


@with_each(
    ("name", "on_the_wire"),
    [("id", "id"), ("user_name", "userName"), ("a_b_c", "aBC"), ("last_refresh_time", "lastRefreshTime")],
)
def test_names_are_renamed_as_msgspec_renames_fields(name: str, on_the_wire: str) -> None:
    struct = msgspec.defstruct("S", [name], rename="camel")
    assert (on_the_wire, on_the_wire) == (camel(name), struct.__struct_encode_fields__[0])


@with_each("text", ["ab\n", "ab ", " ab", "abc", "a", "AB", "ab\r\n", "xx ab"])
def test_a_whole_pattern_matches_nothing_but_the_whole_text(text: str) -> None:
    kind = msgspec.json.Decoder(Annotated[str, msgspec.Meta(pattern=whole("[a-z]{2}|q"))])
    assert kind.decode(b'"ab"') == "ab"
    with pytest.raises(msgspec.ValidationError):
        kind.decode(msgspec.json.encode(text))
