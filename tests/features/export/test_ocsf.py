"""Events of OCSF, validated with its published schema."""

import json
from functools import cache
from typing import Any, get_args

import jsonschema
import msgspec
import pytest
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

from service.features.export.entry import Entry
from service.features.export.ocsf import VERSION, ocsf_event
from service.records.logs.events import OperationKind, SessionEvent
from tests.support.cases import with_each

CHAIN = {"day": "2026-11-22", "key": "", "number": 17, "hash": "00" * 32}
LOGIN = {
    "requestId": "2e692f292786a1a6",
    "userId": 7,
    "userName": "ann",
    "device": "phone",
    "loginIp": "192.0.2.7",
    "userAgent": "curl/8",
    "browser": "curl",
    "os": "Linux",
}
OPERATION = {
    "requestId": "2e692f292786a1a6",
    "userId": 7,
    "userName": "ann",
    "device": "phone",
    "module": "user",
    "action": "change a user",
    "method": "PUT",
    "url": "/api/user/7",
    "query": "dryRun=true",
    "clientIp": "2001:db8::7",
    "userAgent": "curl/8",
    "params": msgspec.Raw(b'{"body":{"nickName":"Ann"}}'),
    "response": msgspec.Raw(b'{"data":null}'),
    "status": 200,
    "elapsedMs": 1.25,
    "decision": "allow",
    "decisionId": "r1-3da7f473-1c6af0e42b51",
    "policyRevision": 1,
    "targets": ["user:ann", "resource:GET /api/report/{id}"],
    "changes": msgspec.Raw(b'[{"target":"user:ann","field":"nickName","before":"A","after":"Ann"}]'),
    "changeCount": 1,
}
DECISION = {
    "event": "decision",
    "time": "2026-11-22T02:48:43.956Z",
    "outcome": "deny",
    "decision": "r1-3da7f473-1c6af0e42b51",
    "revision": 1,
    "own_digest": "0" * 64,
    "request_id": "2e692f292786a1a6",
    "method": "GET",
    "route": "/api/user/{id}",
    "path": "/api/user/1",
    "user_id": 2,
    "codes": [],
    "layer": "resource",
    "object": "GET /api/user/{id}",
    "required": ["system:user:detail"],
}
EVALUATION = {
    **{
        name: DECISION[name]
        for name in ("time", "outcome", "decision", "revision", "own_digest", "request_id")
    },
    "event": "evaluation",
    "reason": "denied",
    "asked_by": 3,
    "subject_type": "user",
    "user_id": 2,
}


@cache
def schema(class_uid: int) -> jsonschema.Draft202012Validator:
    published = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=VERSION))
    name = published.lookup_class_name_from_uid(class_uid=class_uid)
    return jsonschema.Draft202012Validator(published.get_class_schema(class_name=name, profiles=[]))


def event(log: Any, members: dict[str, Any]) -> dict[str, Any]:
    """Return a valid event."""
    chain = None if log == "decisions" else CHAIN
    made = Entry("0193a4b0-0000-7000-8000-000000000001", log, "2026-11-22T02:48:43.956Z", members, chain)
    record: dict[str, Any] = json.loads(ocsf_event(made))
    assert [error.message for error in schema(record["class_uid"]).iter_errors(record)] == []
    assert record["type_uid"] == 100 * record["class_uid"] + record["activity_id"]
    assert record["metadata"]["uid"] == made.id
    assert record["time"] == 1_795_315_723_956
    return record


@with_each("outcome", ["success", "failure"])
@with_each("name", [*get_args(SessionEvent), "of a later version"])
def test_every_event_of_the_login_log_is_valid(name: str, outcome: str) -> None:
    record = event("logins", {**LOGIN, "event": name, "outcome": outcome, "reason": "invalid_credentials"})
    assert record["status_id"] == (1 if outcome == "success" else 2)
    assert record["src_endpoint"] == {"ip": "192.0.2.7"}
    assert record["user"] == {"uid": "7", "name": "ann"}
    assert record["metadata"]["sequence"] == 17


def test_events_have_the_classes_and_activities_that_the_page_lists() -> None:
    pairs = [
        (record["class_uid"], record["activity_id"])
        for name in ("login", "logout", "kick", "reuse", "lockout", "password_change", "ban", "unban")
        if (record := event("logins", {"event": name, "outcome": "success"}))
    ]
    assert pairs == [
        (3002, 1),
        (3002, 2),
        (3002, 2),
        (3002, 99),
        (3001, 9),
        (3001, 3),
        (3001, 5),
        (3001, 2),
    ]


def test_a_login_of_nobody_that_is_known_is_valid() -> None:
    record = event("logins", {"event": "login", "outcome": "failure", "reason": "invalid_credentials"})
    assert record["user"] == {"name": "unknown"}
    assert record["severity_id"] == 2


@with_each("kind", [*get_args(OperationKind), "of a later version"])
def test_every_kind_of_operation_is_valid(kind: str) -> None:
    record = event("operations", {**OPERATION, "kind": kind})
    assert record["class_uid"] == 6003
    assert record["api"]["request"]["data"] == {"body": {"nickName": "Ann"}}
    assert record["actor"]["authorizations"][0]["policy"]["uid"] == OPERATION["decisionId"]
    assert [resource["type"] for resource in record["resources"]] == ["user", "resource"]
    assert record["unmapped"]["changes"][0]["after"] == "Ann"


@with_each("kind", ["INSERT", "UPDATE", "DELETE", "IMPORT", "BAN"])
def test_a_preview_is_a_read_and_no_change(kind: str) -> None:
    done = event("operations", {**OPERATION, "kind": kind})
    preview = event("operations", {**OPERATION, "kind": kind, "dryRun": True})

    assert done["activity_id"] != 2
    assert (preview["activity_id"], preview["activity_name"]) == (2, "Read")
    assert (preview["metadata"]["event_code"], preview["unmapped"]["dryRun"]) == (kind, True)


def test_a_decision_about_a_preview_is_about_a_read() -> None:
    asked = {**DECISION, "method": "DELETE"}

    assert event("decisions", asked)["activity_id"] == 4
    preview = event("decisions", {**asked, "dry_run": True})
    assert (preview["activity_id"], preview["unmapped"]["dry_run"]) == (2, True)


def test_refused_reads_are_reads_that_failed_with_their_number() -> None:
    refused = {**OPERATION, "kind": "REFUSED_READ", "status": 403, "error": "permission_denied"}
    first, others = event("operations", refused), event("operations", {**refused, "repetitions": 12})

    for record in (first, others):
        assert (record["activity_id"], record["status_id"], record["severity_id"]) == (2, 2, 2)
    assert ("count" in first, others["count"]) == (False, 12)


@pytest.mark.parametrize(("status", "severity", "outcome"), [(204, 1, 1), (403, 2, 2), (500, 3, 2)])
def test_an_operation_with_the_least_is_valid(status: int, severity: int, outcome: int) -> None:
    members = {name: OPERATION[name] for name in ("module", "action", "method", "url", "elapsedMs")}
    record = event("operations", {**members, "kind": "QUERY", "status": status, "error": "forbidden"})
    assert (record["severity_id"], record["status_id"]) == (severity, outcome)
    assert record["src_endpoint"] == {"name": "unknown"}


@pytest.mark.parametrize("members", [DECISION, EVALUATION], ids=["decision", "evaluation"])
def test_decisions_are_valid(members: dict[str, Any]) -> None:
    for outcome in ("allow", "deny"):
        record = event("decisions", {**members, "outcome": outcome})
        assert record["actor"]["authorizations"][0]["decision"] == outcome
        assert record["unmapped"]["own_digest"] == "0" * 64
    without = {name: value for name, value in members.items() if name not in ("user_id", "decision")}
    event("decisions", without)


@with_each(
    ("log", "members"),
    [
        ("operations", {**OPERATION, "kind": "UPDATE", "error": "conflict", "dryRun": True}),
        ("operations", {**OPERATION, "kind": "REFUSED_READ", "repetitions": 1234}),
        ("logins", {**LOGIN, "event": "login", "outcome": "failure", "reason": "throttled"}),
        ("decisions", DECISION),
        ("decisions", EVALUATION),
    ],
)
def test_nothing_that_is_recorded_is_left_out(log: Any, members: dict[str, Any]) -> None:
    text = json.dumps(event(log, members))
    for name, value in members.items():
        if name in ("event", "kind", "outcome", "elapsedMs", "time"):
            continue  # told by numbers
        plain = msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value
        for element in plain if isinstance(plain, list) else [plain]:
            assert json.dumps(element).strip('"{}') in text, name
