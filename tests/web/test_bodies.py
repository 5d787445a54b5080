from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from service.errors import BadRequest, ValidationFailed
from service.features.decisions.messages import Evaluation
from service.features.decisions.questions import Subject
from service.web.messages.bodies import MAX_BODY, JsonBody, ProtocolBody
from service.web.messages.faults import faults_of
from service.web.messages.request import REQUEST_OPTIONS, Request
from service.web.messages.schema import Schema
from tests.support.cases import with_each
from tests.web.driver import JSON, Answer, ask
from tests.web.example_service import example

APP, _ = example()
ALICE = {"userName": "alice"}
DEEP = b"[" * 10_000 + b"]" * 10_000


async def post(body: bytes, *headers: tuple[str, str]) -> Answer:
    return await ask(APP, "POST", "/api/thing", *(headers or (JSON,)), body=body)


async def put(body: bytes) -> Answer:
    """Send a body to an endpoint that takes a member of any type."""
    return await ask(APP, "PUT", "/api/open", JSON, body=body)


async def test_a_good_body_is_taken() -> None:
    body = {**ALICE, "colour": "green", "count": 3, "parts": [{"partName": "leg"}], "labels": {"a": "b"}}
    answer = await post(json.dumps(body).encode())
    assert (answer.status, answer.json) == (
        201,
        {"data": {"id": 1, "userName": "alice", "colour": "green", "children": []}},
    )


@with_each(
    "body",
    [
        b'{"userName":"alice","userName":"mallory"}',
        b'{"userName":"alice","userName":"alice"}',
        b'{"userName":"alice","user\\u004eame":"mallory"}',
        b'{"userName":"alice","parts":[{"partName":"a","partName":"b"}]}',
        b'{"userName":"alice","labels":{"a":"1","a":"2"}}',
    ],
)
async def test_a_member_that_is_named_twice_is_a_bad_request(body: bytes) -> None:
    answer = await post(body)
    assert (answer.status, answer.code) == (400, "bad_request")


@pytest.mark.parametrize("body", [DEEP, b'{"anything":' + DEEP + b"}", b'{"anything":' + b'{"a":' * 10_000])
async def test_deep_nesting_is_refused(body: bytes) -> None:
    for answer in (await put(body), await post(body)):
        assert (answer.status, answer.code) == (400, "bad_request")


async def test_a_member_of_any_type_may_nest_within_reason() -> None:
    assert (await put(b'{"anything":' + b"[" * 50 + b"]" * 50 + b"}")).status == 200


@with_each(
    ("body", "field"),
    [
        (b"[]", "body"),
        (b"null", "body"),
        (b'"alice"', "body"),
        (b"{}", "userName"),
        (b'{"userName":1}', "userName"),
        (b'{"userName":null}', "userName"),
        (b'{"userName":""}', "userName"),
        (b'{"userName":"far too long"}', "userName"),
        (b'{"userName":"alice","colour":"mauve"}', "colour"),
        (b'{"userName":"alice","count":"1"}', "count"),
        (b'{"userName":"alice","count":-1}', "count"),
        (b'{"userName":"alice","count":1.5}', "count"),
        (b'{"userName":"alice","count":1e400}', "count"),
        (b'{"userName":"alice","count":' + b"9" * 5000 + b"}", "count"),
        (b'{"userName":"alice","admin":true}', "admin"),
        (b'{"userName":"alice","parts":[{"partName":"a"},{}]}', "parts[1].partName"),
        (b'{"userName":"alice","parts":[{"partName":"a","weight":"x"}]}', "parts[0].weight"),
        (b'{"userName":"alice","parts":[{"partName":"a","extra":1}]}', "parts[0].extra"),
        (b'{"userName":"alice","labels":{"k":1}}', "labels"),
        (b'{"userName":"alice","shortCode":"ab\\n"}', "shortCode"),
        (b'{"userName":"alice","count":13}', "body"),
    ],
)
async def test_json_that_breaks_a_rule_names_the_field(body: bytes, field: str) -> None:
    answer = await post(body)
    assert (answer.status, answer.fields) == (422, [field])


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"user_name":"alice"}', ["user_name", "userName"]),
        (
            b'{"userName":1,"count":"x","parts":[{"partName":"a","weight":"x"},{"more":1}]}',
            ["userName", "count", "parts[0].weight", "parts[1].more", "parts[1].partName"],
        ),
    ],
)
async def test_all_faults_of_a_body_come_together(body: bytes, fields: list[str]) -> None:
    answer = await post(body)
    assert (answer.status, sorted(answer.fields)) == (422, sorted(fields))


def test_items_behind_the_last_fault_that_is_told_are_not_read() -> None:
    class Items(list[Any]):
        read = 0

        def __iter__(self) -> Iterator[Any]:
            for item in super().__iter__():
                Items.read += 1
                yield item

    class Numbers(msgspec.Struct):
        numbers: list[int]

    value = {"numbers": Items(["no number"] * 5_000)}
    assert len(faults_of(value, Numbers)) == 100
    assert Items.read == 100


async def test_no_more_than_a_hundred_faults_of_a_body_are_named() -> None:
    body = json.dumps({"userName": "alice"} | {f"field{number}": number for number in range(200)}).encode()
    assert len((await post(body)).fields) == 100


@with_each(
    ("body", "field"),
    [
        (b'{"userName":"a\\u0000b"}', "userName"),
        (b'{"userName":"alice","parts":[{"partName":"\\u0000"}]}', "parts[0].partName"),
        (b'{"userName":"alice","labels":{"a":"b\\u0000"}}', "labels.a"),
        (b'{"userName":"alice","labels":{"\\u0000":"b"}}', "labels"),
    ],
)
async def test_a_nul_in_any_text_names_the_field(body: bytes, field: str) -> None:
    answer = await post(body)
    assert (answer.status, answer.fields) == (422, [field])


async def test_an_escaped_backslash_before_u0000_is_no_nul() -> None:
    assert (await post(rb'{"userName":"a\\u0000"}')).status == 201


class _Window(Schema):
    until: Annotated[datetime, Meta(tz=True)] | None = None
    text: str = ""
    parts: list[_Window] | None = None


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+00:01"])
def test_a_time_without_a_year_in_utc_names_the_field(time: str) -> None:
    parse = JsonBody(_Window)._parse
    assert parse(json.dumps({"until": "9999-12-31T23:59:59Z", "text": time}).encode()).text == time
    for text in (time, "".join(f"\\u{ord(each):04x}" for each in time)):
        body = json.dumps({"parts": [{"until": "TIME"}]}).replace("TIME", text)
        with pytest.raises(ValidationFailed) as refused:
            parse(body.encode())
        assert [fault["field"] for fault in refused.value.extra["errors"]] == ["parts[0].until"]


async def test_a_message_of_our_own_is_passed_on() -> None:
    answer = await post(b'{"userName":"alice","count":13}')
    text = "Thirteen things are bad luck"
    fault = {"field": "body", "code": "other", "params": {"sentence": text}, "message": text}
    assert answer.json["errors"] == [fault]


@with_each(
    "body",
    [
        b'{"userName":"alice","colour":"hunter2"}',
        b'{"userName":"hunter2-hunter2"}',
        b'{"userName":"alice","shortCode":"hunter2"}',
        b'{"userName":"alice","labels":{"hunter2":1}}',
        b'{"userName":"alice","hunter2 is it":1}',
        b'{"userName":"alice","x` - at `$.hunter2 is it":1}',
        b'{"userName":"alice","count":hunter2}',
        b'{"userName":"alice","labels":{"hunter2 ":"\\u0000"}}',
    ],
)
async def test_no_value_is_echoed(body: bytes) -> None:
    answer = await post(body)
    assert 400 <= answer.status < 500
    assert b"hunter2" not in answer.body


@with_each(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json ; charset="utf-8"',
        "application/json;",
    ],
)
async def test_json_in_utf_8_is_read(content_type: str) -> None:
    assert (await post(b'{"userName":"alice"}', ("Content-Type", content_type))).status == 201


@with_each(
    "headers",
    [
        [("X-None", "1")],
        [("Content-Type", "")],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "multipart/form-data; boundary=x")],
        [("Content-Type", "application/jsonp")],
        [("Content-Type", "application/json-patch+json")],
        [("Content-Type", "application/json, text/plain")],
        [("Content-Type", "application/json; charset=utf-16")],
        [("Content-Type", "application/json; charset=latin1")],
        [("Content-Type", "application/json\xff")],
        [JSON, ("Content-Encoding", "gzip")],
    ],
)
async def test_any_other_type_of_body_is_unsupported(headers: list[tuple[str, str]]) -> None:
    answer = await post(b'{"userName":"alice"}', *headers)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize("headers", [[], [JSON], [("Content-Length", "0")]])
async def test_no_body_stands_for_one_whose_members_are_all_left_out(headers: list[tuple[str, str]]) -> None:
    assert (await ask(APP, "PUT", "/api/open", *headers)).status == 200
    assert (await ask(APP, "PUT", "/api/open", *headers, body=[b"", b""])).status == 200


async def test_no_body_stands_for_nothing_where_a_member_is_needed() -> None:
    assert (await ask(APP, "POST", "/api/thing")).code == "unsupported_media_type"
    assert (await ask(APP, "POST", "/api/thing", JSON)).code == "bad_request"


async def test_a_body_without_a_type_is_never_taken_for_none() -> None:
    for body in ([b"{}"], [b"", b"{}"], [b" "]):
        assert (await ask(APP, "PUT", "/api/open", body=body)).code == "unsupported_media_type"
    assert (await ask(APP, "PUT", "/api/open", JSON, body=b" ")).code == "bad_request"
    assert (await ask(APP, "PUT", "/api/open", ("Content-Type", "text/plain"))).status == 415


def padded(size: int) -> bytes:
    return b'{"userName":"alice"}'.ljust(size)


async def test_a_body_of_a_mebibyte_is_read() -> None:
    assert (await post(padded(MAX_BODY))).status == 201


async def test_a_body_that_says_it_is_larger_is_refused_unread() -> None:
    answer = await ask(
        APP, "POST", "/api/thing", JSON, ("Content-Length", str(MAX_BODY + 1)), body=[b"", b"x"], ends=False
    )
    assert (answer.status, answer.code, answer.header("connection")) == (413, "too_large", "close")


async def test_a_body_that_turns_out_larger_is_refused_before_its_end() -> None:
    chunks = [padded(MAX_BODY), b" "]
    answer = await ask(APP, "POST", "/api/thing", JSON, body=chunks, ends=False)
    assert (answer.status, answer.code, answer.header("connection")) == (413, "too_large", "close")


async def test_a_single_message_that_is_larger_is_refused() -> None:
    assert (await post(padded(MAX_BODY + 1))).status == 413


async def test_a_body_in_pieces_is_put_together() -> None:
    answer = await ask(APP, "POST", "/api/thing", JSON, body=[b'{"user', b'Name":"al', b"", b'ice"}'])
    assert answer.status == 201


async def test_a_body_whose_sender_goes_away_is_not_taken_for_a_whole_one() -> None:
    answer = await ask(APP, "POST", "/api/thing", JSON, body=[b'{"userName":"alice"}'], ends=False)
    assert (answer.status, answer.code) == (400, "bad_request")


async def test_the_body_of_a_get_is_ignored() -> None:
    assert (await ask(APP, "GET", "/api/thing/1", body=b"{")).status == 200


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
async def test_random_bytes_never_fail_the_service(body: bytes) -> None:
    for answer in (await post(body), await put(body)):
        assert answer.status < 500


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(),
        lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
        max_leaves=8,
    )
)
async def test_random_json_never_fails_the_service(value: object) -> None:
    body = json.dumps({"userName": value, "anything": value}).encode()
    for answer in (await post(body), await put(json.dumps({"anything": value}).encode())):
        assert answer.status < 500


def test_a_body_is_kept_unless_a_token_names_its_subject_or_it_is_long() -> None:
    reader = ProtocolBody(Evaluation)
    for subject, id_, kept in (("token", "t", 0), ("user", "a" * 2_000, 0), ("user", "alice", 1)):
        question = {
            "subject": {"type": subject, "id": id_},
            "action": {"name": "GET"},
            "resource": {"type": "route", "id": "/x"},
        }
        bodies = [reader._parse(json.dumps(question).encode()) for _ in range(2)]
        assert [body.asked.subject for body in bodies] == [Subject(subject, id_)] * 2
        assert len(reader._kept) == kept


async def test_a_body_that_was_read_before_is_taken_only_where_it_is_sent_as_then() -> None:
    reader = ProtocolBody(Evaluation)
    raw = b'{"subject":{"type":"user","id":"a"},"action":{"name":"x"},"resource":{"type":"b","id":"c"}}'
    kept = reader._parse(raw)

    def request(*headers: tuple[bytes, bytes], body: bytes = raw, more: bool = False) -> Request:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b" ", "more_body": False}

        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": [*headers]}
        made = Request(scope, receive, None, REQUEST_OPTIONS)
        made.arrived = {"type": "http.request", "body": body, "more_body": more}
        return made

    plain = (b"content-type", b"application/json")
    whole = request(plain)
    assert await reader.read(whole) is kept
    assert (whole.body, whole.arrived) == (raw, None)
    assert await reader.read(request(plain, more=True)) is not kept  # it has another end
    for headers in ((), ((b"content-type", b"text/plain"),), (plain, (b"content-encoding", b"gzip"))):
        with pytest.raises(BadRequest):
            await reader.read(request(*headers))
    with pytest.raises(BadRequest):
        await reader.read(request(plain, body=raw[:-1]))
