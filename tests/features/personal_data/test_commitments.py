"""Personal values of log entries are chained as salted commitments, and erased without a broken chain."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import redis
from sqlalchemy import text, update

from service.audit.key_chain import Chain
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof.commitments import GONE, opens
from service.features.audit_proof.days import Audit
from service.features.audit_proof.rows import COLUMNS, opened
from service.features.personal_data.erasing import erase
from service.records.logs.events import LoginEvent
from service.records.logs.inserts import TABLES, Log
from tests.audit.conftest import Place, operation
from tests.support.cases import with_each

KEY = "a key that only the service has, and an auditor"
ODD = {"n": [1e22, -0.0, 100.0, 0.1, 10**30 + 1, 1e-7, True, None], "z": "ä\x7f\u2028", "name": "hera"}
CHANGES = [
    {"target": "user:hera", "field": "email", "before": "hera@example.org", "after": 1e22},
    {"target": "user:hera", "field": "roles", "before": [], "after": ["auditor"]},
    {"target": "role:auditor", "field": "roleName", "before": "A", "after": 0.1},
    {"target": "user:zeus", "field": "phone", "before": None, "after": "+30 1"},
]
ACTOR = {"user_id": 7, "user_name": "zeus", "user_agent": "Olympus/1"}


async def fill(place: Place) -> None:
    """Write two operations of zeus, the first about hera, one of hers, and a login, to empty logs."""
    for table in ("operation_log", "login_log", "log_chain"):
        await change(place, f"DELETE FROM sys.{table}")
    with redis.Redis.from_url(place.redis_url) as client:
        client.delete("auth:log:heads")
    await write(place)


async def write(place: Place) -> None:
    async with place.journal("one", chain_key=KEY) as journal:
        targets = ("user:hera", "role:auditor", "user:zeus")
        about = operation(1, params=ODD, targets=targets, changes=CHANGES, change_count=4, **ACTOR)
        journal.collector.operation(about)
        journal.collector.operation(operation(2, **ACTOR))
        journal.collector.operation(operation(3, user_id=12, user_name="hera", client_ip="2001:DB8::0:1"))
        login = LoginEvent(
            event="login", outcome="success", user_id=12, user_name="hera", login_ip="192.0.2.7"
        )
        journal.collector.login(login)


async def faults(place: Place) -> list[str]:
    audit = Audit(database=place.database, keys=[Chain(KEY), Chain()])
    return [fault async for day in audit.days() for fault in day.faults]


async def erase_all(
    place: Place, user_id: int, has_data: Callable[[str], bool], key: str = KEY
) -> dict[Log, int]:
    """Erase a person in both logs; return the number of changed entries of each."""
    erased: dict[Log, int] = {}
    for log, table in TABLES.items():
        rows = []
        async with place.database.transaction() as connection:
            for day in await log_chain.days_with_entries(connection, log):
                rows += [row async for row in log_chain.entries(connection, log, day, COLUMNS[log])]
        erased[log] = 0
        for row in rows:
            values = erase(log, row._asdict(), user_id, has_data, Chain(key))
            if values is None:
                continue
            if isinstance(values.get("changes"), str):
                values["changes"] = text("CAST(:changes AS jsonb)").bindparams(changes=values["changes"])
            async with place.database.transaction() as connection:
                await connection.execute(update(table).where(table.c.id == row.id).values(values))
            erased[log] += 1
    return erased


async def change(place: Place, statement: str, **values: Any) -> None:
    async with place.database.transaction() as connection:
        await connection.execute(text(statement), values)


async def test_an_erasure_takes_the_person_out_and_the_chain_verifies(place: Place) -> None:
    await fill(place)
    assert await faults(place) == []

    assert await erase_all(place, 12, lambda value: "hera" in value) == {"operation_log": 2, "login_log": 1}

    assert await faults(place) == []
    about, other, own = await place.rows()
    (login,) = await place.logins()
    assert "hera" not in f"{about}{other}{own}{login}"
    assert (about.user_name, about.params, about.targets) == (
        "zeus",
        None,
        ["user:#12", "role:auditor", "user:zeus"],
    )
    assert about.changes == [
        {"target": "user:#12", "field": "email", "erased": True},
        {"target": "user:#12", "field": "roles", "before": [], "after": ["auditor"]},
        *CHANGES[2:],
    ]
    assert (own.user_id, own.user_name, own.client_ip, own.params) == (12, None, None, {"status": "disabled"})
    assert (login.user_id, login.user_name, login.login_ip) == (12, None, None)
    assert other.params == {"status": "disabled"}

    assert (await erase_all(place, 7, lambda value: "zeus" in value))["operation_log"] == 2
    assert await faults(place) == []
    assert "zeus" not in f"{await place.rows()}"
    assert (await erase_all(place, 12, lambda value: "hera" in value))["operation_log"] == 0


_FORGED = hashlib.sha256(b"forged").hexdigest()


@with_each(
    ("number", "assignment"),
    [
        (2, "user_name = 'eve'"),
        (2, "user_name = NULL, client_ip = NULL, user_agent = NULL"),
        (2, "salts = NULL"),
        (2, "salts = salts || decode('00', 'hex')"),
        (2, "erased = '{}'"),
        (3, "user_name = 'eve'"),
        (3, "user_id = 13"),
        (3, "erased = NULL"),
        (3, 'erased = erased || \'{"seal": "00"}\''),
        (3, 'erased = erased || \'{"keyId": ""}\''),
        (3, f"erased = jsonb_set(erased, '{{commitments,0}}', '\"{_FORGED}\"')"),
        (1, "targets[1] = 'user:#13'"),
        (1, "targets[1] = 'user:hera'"),
        (1, "changes = jsonb_set(changes, '{1,after}', '[]')"),
        (1, "changes = jsonb_set(changes, '{0,after}', '1')"),
    ],
)
async def test_a_changed_value_and_a_forged_erasure_are_found(
    place: Place, number: int, assignment: str
) -> None:
    await fill(place)
    await erase_all(place, 12, lambda value: "hera" in value)
    assert await faults(place) == []
    await change(place, f"UPDATE sys.operation_log SET {assignment} WHERE action = 'action {number}'")
    messages = await faults(place)
    assert len(messages) == 1, messages
    assert messages[0].endswith("was changed or moved")


async def test_an_erasure_without_the_key_of_the_chain_is_found(place: Place) -> None:
    for stolen in ("", "a key that is not the one"):
        await fill(place)
        await erase_all(place, 7, lambda value: "zeus" in value, key=stolen)
        assert len(await faults(place)) == 2


async def test_while_a_node_of_an_older_version_runs_entries_have_its_form(place: Place) -> None:
    facts = msgspec.json.encode({"version": "0.3.0", "settings": {}, "parts": {}}).decode()
    older = (
        "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('older', 1, CAST(:facts AS jsonb))"
    )
    await change(place, older, facts=facts)
    await fill(place)
    assert {row.salts for row in await place.rows()} == {None}
    assert await erase_all(place, 12, lambda value: "hera" in value) == {"operation_log": 0, "login_log": 0}
    await change(place, "DELETE FROM sys.policy_worker")
    await write(place)
    assert {row.salts is None for row in await place.rows()} == {True, False}
    assert await faults(place) == []


async def test_salts_are_random_and_differ_from_those_of_erased_values(place: Place) -> None:
    await fill(place)
    salts = [row.salts[at : at + 16] for row in await place.rows() for at in range(0, len(row.salts), 16)]
    assert len({*salts}) == len(salts)
    assert GONE not in salts


async def test_opened_values_are_those_of_the_commitments(place: Place) -> None:
    await fill(place)
    await erase_all(place, 12, lambda value: "hera" in value)
    async with place.database.transaction() as connection:
        (day,) = await log_chain.days_with_entries(connection, "operation_log")
        entries = log_chain.entries(connection, "operation_log", day, COLUMNS["operation_log"])
        (_, _, _, _, salts, erased, *values), *_ = [row async for row in entries]
    canonical, commitments = opened("operation_log", values, salts, erased)
    openings = commitments.openings
    text_of = canonical.decode()
    assert "zeus" not in text_of
    assert any("zeus" in value for _, value in openings)
    assert opens(text_of, openings)
    for forged in ([(salt, value.replace("zeus", "eve")) for salt, value in openings], openings[1:]):
        assert not opens(text_of, forged)
