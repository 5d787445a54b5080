from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from service.errors import ValidationFailed
from service.kernel.value_rules import MAX_ID
from service.web.messages.queries import Query
from service.web.messages.schema import Schema
from tests.web.driver import Answer, ask
from tests.web.example_service import example

pytestmark = pytest.mark.anyio

APP, _ = example()


async def read(path: str) -> Answer:
    return await ask(APP, "GET", path)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "text", ["1700000000", "1e9", "0.5", "-1", "null", "2026-11-21", "2026-11-21T02:33:53"]
)
def test_a_time_is_taken_in_one_form_only(text: str) -> None:
    read = Query(Since).read
    assert read("since=2026-11-21T02:33:53Z") == Since(datetime(2026, 11, 21, 2, 33, 53, tzinfo=UTC))
    with pytest.raises(ValidationFailed):
        read(f"since={text}")


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


@pytest.mark.parametrize(
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
