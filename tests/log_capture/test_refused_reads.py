"""A read that the policy refuses is in the operation log, once, with the number of its repetitions."""

import asyncio
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from service.audit.key_chain import Chain
from service.features.audit_proof.days import Audit
from service.features.decision_log.decision_event import DecisionEvent, decoded
from service.records.database.transactions import Database
from tests.log_capture.conftest import Logged, Row, watched
from tests.support.inside import denial_log, inside_published


async def refused(logged: Logged, target: str, token: str | None = None) -> tuple[Any, Row]:
    """Send a read that is refused; return its answer and its entry."""
    answer, entry = await logged.entry_of("GET", target, token=token)
    assert (answer.status, answer.code) == (403, "permission_denied")
    return answer, entry


async def test_the_entry_of_a_refused_read_says_who_asked_what_and_by_which_decision(logged: Logged) -> None:
    person = await logged.person("user")
    token = await logged.log_in(person)

    answer, entry = await refused(logged, "/api/user/7?secret=swordfish", token)

    expected = {
        "module": "user",
        "action": "getUser",
        "kind": "REFUSED_READ",
        "method": "GET",
        "url": "/api/user/7",
        "query": "",
        "client_ip": ip_address("192.0.2.7"),
        "user_id": person.id,
        "user_name": person.name,
        "device": "web",
        "status": 403,
        "error": "permission_denied",
        "decision": "deny",
        "decision_id": answer.json["decisionId"],
        "policy_revision": int(answer.header("x-policy-revision")),
        "params": None,
        "response": None,
        "dry_run": None,
        "repetitions": None,
    }
    assert {name: entry[name] for name in expected} == expected


async def test_what_is_asked_otherwise_or_by_somebody_else_is_another_first_refusal(logged: Logged) -> None:
    people = [await logged.person("user") for _ in range(2)]
    for person in people:
        token = await logged.log_in(person)
        for target in ("/api/user/list", "/api/role/list", "/api/user/7"):
            _, entry = await refused(logged, target, token)
            assert entry["repetitions"] is None


async def test_what_is_not_refused_by_the_policy_or_to_nobody_known_leaves_no_entry(logged: Logged) -> None:
    person = await logged.person("user")
    token = await logged.log_in(person)
    silent = [
        (200, await logged.ask("GET", "/api/user/info", token=token)),
        (401, await logged.ask("GET", "/api/user/list", token="nobody's")),
        (404, await logged.ask("GET", "/api/nowhere", token=token)),
        (404, await logged.ask("GET", "/api/user/999999")),
        (422, await logged.ask("GET", "/api/user/list?size=x")),
    ]
    _, last = await refused(logged, "/api/user/list", token)

    assert [answer.status for _, answer in silent] == [status for status, _ in silent]
    for _, answer in silent:  # entries of one worker are written in their order
        entries = await logged.rows("operation_log", str(answer.header("x-request-id")), 0)
        assert entries == [], last


async def test_a_refused_write_is_no_refused_read(logged: Logged) -> None:
    token = await logged.log_in(await logged.person("user"))

    entries = [(await logged.entry_of("DELETE", "/api/user/1", token=token))[1] for _ in range(2)]

    assert [(entry["kind"], entry["status"], entry["repetitions"]) for entry in entries] == [
        ("DELETE", 403, None)
    ] * 2


async def test_repetitions_are_counted_and_all_logs_agree(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    settings = denial_log(path) | {"PORTCULLIS_OPLOG__CHAIN_KEY": "k" * 48}
    started = inside_published(published_database_url, redis_url, **settings)
    async with started as running, watched(running, redis_url) as logged:
        token = await logged.log_in(await logged.person("user"))
        answers = [await logged.ask("GET", f"/api/user/{number}", token=token) for number in range(1, 6)]
        first = await logged.entry(answers[0])
        preview, previewed = await logged.entry_of("DELETE", "/api/user/1?dryRun=true", token=token)
    # The service has ended: what it had counted is entered, before the minute is over.
    async with Database(published_database_url) as database:
        async with database.transaction() as connection:
            rows = await connection.exec_driver_sql(
                "SELECT url, request_id, decision_id, repetitions FROM sys.operation_log"
                " WHERE kind = 'REFUSED_READ' ORDER BY id"
            )
            entered = [tuple(row) for row in rows]
        faults = [
            fault
            async for day in Audit(database=database, keys=[Chain("k" * 48), Chain()]).days()
            for fault in day.faults
        ]

    decision = answers[0].json["decisionId"]
    named = [str(answer.header("x-request-id")) for answer in answers]
    assert entered == [
        ("/api/user/1", named[0], decision, None),
        ("/api/user/2", named[1], decision, 4),
    ]
    assert (first["request_id"], first["repetitions"]) == (named[0], None)
    events = [decoded(line) for line in (await asyncio.to_thread(path.read_bytes)).splitlines()]
    denials = [event for event in events if isinstance(event, DecisionEvent) and event.outcome == "deny"]
    assert [(denial.request_id, denial.decision, denial.dry_run) for denial in denials] == [
        *((name, decision, False) for name in named),
        (preview.header("x-request-id"), previewed["decision_id"], True),
    ]
    assert faults == []
