import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from service.audit.collector import Collector
from service.audit.entries import MOST_JSON, PLAIN, encode
from service.audit.redaction import MOST_CHANGES, MOST_VALUES, kept_changes
from service.features.audit_proof.rows import read
from service.kernel.origin import FieldChange, values_change
from service.records.logs.events import LoginEvent, OperationEvent
from tests.audit.conftest import operation
from tests.support.cases import with_each

HOSTILE = "\r\n\x1b[31m\"'\\,;=cmd|' /C calc'!A0\u2028\u202e"


def encoded(**fields: Any) -> dict[str, Any]:
    line = encode(operation(**fields))
    assert b"\n" not in line
    event: dict[str, Any] = json.loads(line)
    return event


def test_what_text_may_hold_is_kept_to_the_character() -> None:
    event = encoded(user_agent=HOSTILE, url="/" + HOSTILE, params={HOSTILE: [HOSTILE]})
    assert (event["user_agent"], event["url"], event["params"]) == (
        HOSTILE,
        "/" + HOSTILE,
        {HOSTILE: [HOSTILE]},
    )


def test_what_no_text_can_hold_is_replaced() -> None:
    event = encoded(user_agent="a\0b\ud800c", params={"k\0": ["v\udfff", "\0"]})
    assert (event["user_agent"], event["params"]) == ("a\ufffdb\ufffdc", {"k\ufffd": ["v\ufffd", "\ufffd"]})


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    event = encoded(user_agent="M" * 1_000_000, module="m" * 300, error="e" * 5000)
    assert len(event["user_agent"]) == 512
    assert event["user_agent"].endswith("… (1000000 characters)")
    assert (len(event["module"]), len(event["error"])) == (256, 1024)


def test_only_the_beginning_of_a_huge_value_is_kept() -> None:
    event = encoded(params={"list": ["x" * 100] * 10_000}, response={"small": 1})
    assert event["params"]["cut"].startswith('{"list":["xxx')
    assert event["params"]["length"] > MOST_JSON
    assert event["response"] == {"small": 1}
    assert len(json.dumps(event)) < PLAIN * 2


def test_values_that_json_does_not_know_are_told_by_their_type() -> None:
    endless: list[Any] = []
    endless.append(endless)
    event = encoded(params={"a": object(), 7: {1, 2}, "b": endless})
    assert (event["params"]["a"], event["params"]["7"]) == ("object", "set")
    assert json.dumps(event["params"]["b"]).count("[") < 40


def test_an_entry_that_can_not_be_encoded_is_dropped_and_counted_and_disturbs_nobody() -> None:
    collector = Collector(2**20)
    collector.operation(operation(status=object()))
    collector.operation(operation(1))
    assert (collector.counts.accepted, collector.counts.dropped, collector.waiting) == (2, 1, 1)


def test_more_than_the_limit_is_dropped_and_counted() -> None:
    collector = Collector(5 * len(encode(operation(1))) + 5)
    for number in range(1, 8):
        collector.operation(operation(number))
    assert (collector.counts.accepted, collector.counts.dropped, collector.waiting) == (7, 2, 5)
    assert collector.bundle() is collector.bundle()
    collector.handed_on()
    assert (collector.waiting, collector.bundle()) == (0, None)
    collector.operation(operation(8))
    assert collector.counts.dropped == 2


_FIXED: dict[str, Any] = {"event_id": operation().event_id, "create_time": operation().create_time}


@with_each(
    ("first", "other"),
    [
        ({"params": {"n": 100}}, {"params": {"n": 100.0}}),
        ({"params": {"n": 1e22}}, {"params": {"n": 10**22}}),
        ({"params": {"n": -0.0}}, {"params": {"n": 0}}),
        ({"params": {"a": 1, "b": 2}}, {"params": {"b": 2, "a": 1}}),
        ({"client_ip": "2001:DB8:0::1"}, {"client_ip": "2001:db8::1"}),
        ({"client_ip": "192.0.2.7"}, {"client_ip": "192.0.2.7/32"}),
        ({"elapsed_ms": 3}, {"elapsed_ms": 3.0}),
    ],
)
def test_the_chain_vouches_for_values_however_they_are_written(
    first: dict[str, Any], other: dict[str, Any]
) -> None:
    rows = [
        read("operation_log", encode(operation(**_FIXED | fields))).canonical for fields in (first, other)
    ]
    assert rows[0] == rows[1]


@with_each(
    ("first", "other"),
    [
        ({"params": {"n": 1}}, {"params": {"n": "1"}}),
        ({"params": {"n": 10**30}}, {"params": {"n": 10**30 + 1}}),
        ({"params": {"n": 0.1}}, {"params": {"n": 0.10000000000000002}}),
        ({"params": None}, {"params": "null"}),
        ({"query": None}, {"query": ""}),
        ({"query": "a", "error": None}, {"query": None, "error": "a"}),
        ({"params": [1, 2]}, {"params": [2, 1]}),
        ({"targets": ("a", "b")}, {"targets": ("a,b",)}),
        ({"targets": None}, {"targets": ()}),
        ({"targets": ("a",)}, {"targets": None, "changes": ["a"]}),
        ({"change_count": None}, {"change_count": 1}),
        ({"trace_id": None}, {"trace_id": "a"}),
        ({"dry_run": None}, {"dry_run": True}),
        ({"dry_run": True}, {"dry_run": False}),
        ({"repetitions": None}, {"repetitions": 1}),
        ({"dry_run": None, "repetitions": 1}, {"dry_run": True, "repetitions": None}),
        ({"client_ip": "10.0.0.1"}, {"client_ip": "10.0.0.1/8"}),
    ],
)
def test_the_chain_tells_different_values_apart(first: dict[str, Any], other: dict[str, Any]) -> None:
    rows = [
        read("operation_log", encode(operation(**_FIXED | fields))).canonical for fields in (first, other)
    ]
    assert rows[0] != rows[1]


def test_an_entry_without_changes_has_the_bytes_that_were_hashed_before_entries_had_any() -> None:
    event = OperationEvent(
        module="role",
        action="create",
        kind="INSERT",
        method="POST",
        url="/api/role",
        status=200,
        elapsed_ms=3.25,
        client_ip="2001:DB8::0:1",
        params={"body": {"roleCode": "a"}},
        policy_revision=12,
        event_id=UUID(int=7),
        create_time=datetime(2026, 3, 15, 1, 2, 3, 4, UTC),
    )
    assert read("operation_log", encode(event)).canonical == (
        b'["2026-03-15T01:02:03.000004Z","00000000-0000-0000-0000-000000000007",null,null,null,null,"role",'
        b'"create","INSERT","POST","/api/role",null,"2001:db8::1/128",null,{"body":{"roleCode":"a"}},null,200,'
        b"null,3.25,null,null,12]"
    )


def test_an_entry_without_later_columns_has_the_bytes_that_were_hashed_before_entries_had_any() -> None:
    changed = read("operation_log", encode(operation(targets=("role:a",), change_count=2))).canonical
    assert changed.endswith(b',["role:a"],null,2]')
    traced = read("operation_log", encode(operation(trace_id="4bf9"))).canonical
    assert traced.endswith(b',null,null,null,"4bf9"]')
    event = LoginEvent(event="login", outcome="success", os="Linux")
    assert read("login_log", encode(event)).canonical.endswith(b',"Linux"]')


def test_an_entry_that_says_null_has_the_bytes_of_one_that_leaves_it_out() -> None:
    short = encode(operation(response={"a": 1}))
    empty = dict.fromkeys(OperationEvent.__struct_fields__)
    full = json.dumps({**empty, **json.loads(short)}).encode()
    assert b"null" in full
    assert b"null" not in short
    assert read("operation_log", short).canonical == read("operation_log", full).canonical


def test_changes_are_bounded_and_those_of_secret_fields_withheld() -> None:
    many = [f"code:{number:05}" for number in range(2_000)]
    (change,) = values_change("role:a", "permissions", [], many)
    secret = FieldChange("user:a", "newPassword", "swordfish", "swordfish 2")
    line = kept_changes([change, secret, *[change] * 100])
    kept = json.loads(bytes(line))

    assert kept[0]["after"] == many[:MOST_VALUES]
    assert (kept[0]["removed"], kept[0]["added"]) == (0, 2_000)
    assert kept[1]["before"] == kept[1]["after"] == "[redacted]"
    assert 2 < len(kept) < 102
    assert MOST_CHANGES * 0.9 < len(bytes(line)) <= MOST_CHANGES
    assert encoded(changes=line)["changes"] == kept
