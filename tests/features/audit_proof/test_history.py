"""The past of rights is sealed: a row of it that is changed by SQL is found."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from service.audit.key_chain import Chain
from service.features.audit_proof import store_history_facts as history_facts
from service.features.audit_proof.history import audit_history
from service.features.audit_proof.history_seals import HistoryForgedError, seal_history
from service.kernel.clock import rfc3339
from service.records.database.transactions import Database, engine
from tests.support.inside import Inside
from tests.support.running import Ended, portcullis
from tests.users.people import made, new_role

KEYED = [Chain("a key that only the service has, and an auditor")]
ADA = """
    INSERT INTO sys."user" (user_name, user_name_key, nick_name, create_time)
    VALUES ('ada', 'ada', 'Ada', now() - interval '1 year')
"""
OF_ADA = """(SELECT id FROM sys."user" WHERE user_name = 'ada')"""
ROLE = "(SELECT id FROM sys.role ORDER BY id LIMIT 1)"
ENDED = """
    INSERT INTO sys.ended_assignment (id, user_id, role_id, role_code, source, create_time, end_time, how)
    VALUES ({id}, {user}, {role}, 'auditor', 'direct', now() - interval '9 days', now() - interval '{ended}',
        'revoked')
"""
GIVEN = """
    INSERT INTO sys.user_role (user_id, role_id, create_time)
    VALUES ({user}, {role}, now() - interval '9 days')
"""
NEW = "INSERT INTO sys.user_role (user_id, role_id) VALUES (1, (SELECT max(id) FROM sys.role))"
USE = """
    INSERT INTO sys.permission_use (user_id, month, days)
    VALUES ({user}, date_trunc('month', now() - interval '40 days'), '{days}')
"""
ACT = """
    INSERT INTO sys.account_control (holder_id, account_id, act, act_time)
    VALUES (1, {account}, 'password', now() - interval '8 days')
"""
HISTORIES = (
    "INSERT INTO sys.binding_history (resource_id, menu_id, since, until) VALUES (1, 2, 1, 2)",
    "INSERT INTO sys.opening_history (opening_id, code, since, until) VALUES (1, '@login', 1, 2)",
    """INSERT INTO sys.service_history (service_id, name, ignore_case, ignore_trailing_slash, allow_preflight,
        since, until) VALUES (1, 'x', false, false, false, 1, 2)""",
    """INSERT INTO sys.resource_history (resource_id, resource_name, resource_code, method, path, enabled,
        since, until) VALUES (1, 'x', 'x', 'GET', '/x', true, 1, 2)""",
    """INSERT INTO sys.button_history (menu_id, title, sort, auth_mark, enabled, since, until)
        VALUES (1, 'x', 0, 'a:b:c', true, 1, 2)""",
    """INSERT INTO sys.request_rule_history (role_id, role_code, requestable_by, stage_codes, stage_approvals,
        max_duration, pending_timeout, reason_required, grant_needed, emergency, since, until)
        VALUES (1, 'x', '@login', '{a:b:c}', '{1}', 1, 1, false, true, false, 1, 2)""",
)
PAST = (
    ADA,
    ENDED.format(id=900, user=OF_ADA, role=ROLE, ended="5 days"),
    GIVEN.format(user=OF_ADA, role=ROLE),
    f"UPDATE sys.role SET enabled = false WHERE id = {ROLE}",
    USE.format(user=OF_ADA, days='{"system:role:list": 3}'),
    "INSERT INTO sys.use_recording (since_time) VALUES (now() - interval '50 days')",
    ACT.format(account=OF_ADA),
    *HISTORIES,
)
"""What has happened, of each source."""

BEGINNINGS, ENDS = "beginnings of assignments", "ends of assignments"
FORGERIES = [
    (ENDS, "UPDATE sys.ended_assignment SET end_time = end_time - interval '1 day'"),
    (ENDS, "UPDATE sys.ended_assignment SET reason = 'approved'"),
    (ENDS, "DELETE FROM sys.ended_assignment"),
    (ENDS, ENDED.format(id=901, user=1, role=ROLE, ended="5 days")),
    # One that ends only now says what was before as well.
    (BEGINNINGS, ENDED.format(id=901, user=1, role=ROLE, ended="0 days")),
    (BEGINNINGS, GIVEN.format(user=1, role="(SELECT max(id) FROM sys.role)")),
    (BEGINNINGS, f"UPDATE sys.user_role SET create_time = now() WHERE user_id = {OF_ADA}"),
    (BEGINNINGS, f"UPDATE sys.user_role SET created_by = 'mira' WHERE user_id = {OF_ADA}"),
    (BEGINNINGS, f"DELETE FROM sys.user_role WHERE user_id = {OF_ADA}"),
    (
        "beginnings of codes of roles",
        "UPDATE sys.role_code_life SET code = 'system:user:list' WHERE code = ''",
    ),
    ("beginnings of codes of roles", "DELETE FROM sys.role_code_life WHERE end_time IS NULL"),
    ("ends of codes of roles", "UPDATE sys.role_code_life SET end_time = NULL"),
    (
        "ends of codes of roles",
        "UPDATE sys.role_code_life SET end_time = '2026-01-01' WHERE end_time IS NULL",
    ),
    ("uses of permissions", """UPDATE sys.permission_use SET days = days || '{"system:role:add": 2}'"""),
    ("uses of permissions", "UPDATE sys.permission_use SET days = '{}'"),
    ("uses of permissions", "DELETE FROM sys.permission_use"),
    ("uses of permissions", USE.format(user=1, days='{"system:role:list": 3}')),
    ("acts on accounts of others", "UPDATE sys.account_control SET act_time = act_time - interval '1 day'"),
    ("acts on accounts of others", "UPDATE sys.account_control SET holder_id = 9"),
    ("acts on accounts of others", "DELETE FROM sys.account_control"),
    ("acts on accounts of others", ACT.format(account=9)),
    ("beginning of the recording of uses", "UPDATE sys.use_recording SET since_time = '2026-01-01'"),
    ("ended rows of binding_history", "UPDATE sys.binding_history SET menu_id = 3"),
    ("ended rows of opening_history", "UPDATE sys.opening_history SET since = 0"),
    ("ended rows of service_history", "DELETE FROM sys.service_history"),
    ("ended rows of resource_history", "UPDATE sys.resource_history SET resource_code = 'y'"),
    ("ended rows of button_history", "UPDATE sys.button_history SET until = NULL"),
    ("ended rows of request_rule_history", HISTORIES[-1].replace("'x'", "'y'")),
]
"""What somebody with SQL may write, and the source whose facts it changes."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_facts, "SETTLED", timedelta(0))


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    async with Database(url, pool_size=2) as database:
        yield database


def execute(url: str, *statements: str) -> None:
    with engine(url).begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


async def faults(database: Database, chains: list[Chain] = KEYED, **anchored: str) -> list[str]:
    kept = {int(number.removeprefix("n")): hash_ for number, hash_ in anchored.items()}
    return list((await audit_history(database, chains, kept)).faults)


@pytest.mark.parametrize(("source", "forgery"), FORGERIES)
async def test_a_row_of_the_past_that_is_written_by_sql_is_found(
    seeded_database_url: str, source: str, forgery: str
) -> None:
    execute(seeded_database_url, *PAST)
    async with opened(seeded_database_url) as database:
        await seal_history(database, KEYED)
        assert await faults(database) == []
        execute(seeded_database_url, forgery)
        assert any(fault.startswith(source) for fault in await faults(database))
        await seal_history(database, KEYED)  # what is sealed later does not hide it
        assert any(fault.startswith(source) for fault in await faults(database))


async def test_every_source_has_a_forgery() -> None:
    assert {source.name for source in history_facts.SOURCES} == {source for source, _ in FORGERIES}


async def test_what_the_service_does_later_is_no_forgery(seeded_database_url: str) -> None:
    used = USE.format(user=1, days='{"system:role:list": -3}').replace("40 days", "0 days")
    execute(seeded_database_url, *PAST, used)
    window = "valid_until = now() + interval '1 second'"
    async with opened(seeded_database_url) as database:
        await seal_history(database, KEYED)
        execute(seeded_database_url, f"UPDATE sys.user_role SET {window} WHERE user_id = {OF_ADA}")
        execute(
            seeded_database_url,
            """UPDATE sys.permission_use
            SET days = jsonb_build_object('system:role:list', extract(day FROM now())) WHERE user_id = 1""",
            f"UPDATE sys.role SET enabled = true WHERE id = {ROLE}",
            "UPDATE sys.account_control SET end_time = now()",
            "SELECT pg_sleep(1)",
        )
        await seal_history(database, KEYED)
        assert await faults(database) == []
        # An assignment that has ended by itself says the same before and after it is set aside.
        execute(
            seeded_database_url,
            f"""WITH gone AS (DELETE FROM sys.user_role WHERE user_id = {OF_ADA} RETURNING *)
            INSERT INTO sys.ended_assignment (id, user_id, role_id, role_code, valid_until, source,
                create_time, end_time, how)
            SELECT gone.id, user_id, role_id, role_code, valid_until, source, gone.create_time, valid_until,
                'expired' FROM gone JOIN sys.role ON role.id = role_id""",
        )
        assert await faults(database) == []
        # What is kept of a user goes with the user.
        execute(
            seeded_database_url,
            f"DELETE FROM sys.permission_use WHERE user_id = {OF_ADA}",
            f"""DELETE FROM sys."user" WHERE id = {OF_ADA}""",
        )
        assert await faults(database) == []


@pytest.mark.parametrize(("days", "is_missed"), [("900", False), ("100", True)])
async def test_what_is_older_than_it_is_kept_may_be_gone(
    seeded_database_url: str, days: str, *, is_missed: bool
) -> None:
    execute(
        seeded_database_url,
        ADA,
        USE.format(user=OF_ADA, days='{"system:role:list": 3}').replace("40 days", f"{days} days"),
        ACT.format(account=OF_ADA).replace("8 days", f"{days} days"),
    )
    async with opened(seeded_database_url) as database:
        await seal_history(database, KEYED)
        execute(seeded_database_url, "DELETE FROM sys.permission_use", "DELETE FROM sys.account_control")
        sources = {fault.partition(" of ")[0] for fault in await faults(database)}
        assert sources == ({"uses", "acts on accounts"} if is_missed else set())


async def test_seals_that_are_changed_or_made_anew_without_the_key_are_found(
    seeded_database_url: str,
) -> None:
    execute(seeded_database_url, *PAST)
    async with opened(seeded_database_url) as database:
        first = await seal_history(database, KEYED)
        execute(seeded_database_url, NEW)
        newest = await seal_history(database, KEYED)
        assert first is not None
        assert newest is not None
        assert newest.revision == first.revision + 1
        assert await faults(database, n2=newest.hash) == []

        execute(seeded_database_url, "DELETE FROM sys.history_seal WHERE number = 2")
        assert any(
            "is known to the session store" in fault for fault in await faults(database, n2=newest.hash)
        )
        with pytest.raises(HistoryForgedError):
            await seal_history(database, KEYED, {2: newest.hash})
        execute(seeded_database_url, "DELETE FROM sys.history_seal")
        await seal_history(database, [Chain("another key")])
        assert [fault for fault in await faults(database) if "uses a key that is not available" in fault]
        assert any(
            "differs from the seal in the session store" in fault
            for fault in await faults(database, n1=first.hash)
        )
        assert await seal_history(database, KEYED) is None  # it may be by the key of another node
        execute(seeded_database_url, "UPDATE sys.history_seal SET until_time = now() - interval '1 day'")
        with pytest.raises(HistoryForgedError):
            await seal_history(database, KEYED)


async def test_without_a_key_the_audit_says_what_protects(seeded_database_url: str) -> None:
    async with opened(seeded_database_url) as database:
        await seal_history(database, [Chain()])
        audit = await audit_history(database, [Chain()], {})
        assert not audit.faults
        (note,) = audit.notes
        assert "without a key (oplog.chain_key)" in note
        # A key that is set later seals all of it, and from then on none without it is good.
        execute(seeded_database_url, NEW)
        await seal_history(database, KEYED)
        assert await faults(database) == []
        execute(seeded_database_url, 'UPDATE sys.history_seal SET seals = \'{"": ""}\' WHERE number = 2')
        assert [fault for fault in await faults(database) if "was not made with the key" in fault]


async def test_a_transaction_that_has_not_ended_is_waited_for(seeded_database_url: str) -> None:
    execute(seeded_database_url, ADA)
    async with opened(seeded_database_url) as database:
        with engine(seeded_database_url).connect() as writer:
            writer.execute(text(f"INSERT INTO sys.user_role (user_id, role_id) VALUES ({OF_ADA}, {ROLE})"))
            await seal_history(database, KEYED)
            writer.commit()
        assert await faults(database) == []


async def test_edits_through_the_service_are_no_forgeries(service: Inside) -> None:
    heron, role = (await made(service))["id"], new_role(service, "guard", "system:user:list")
    given = f"/api/user/{heron}/roles"
    until, later = (rfc3339(datetime.now(UTC) + timedelta(hours=hours)) for hours in (1, 2))
    timed = await service.data("POST", given, {"roleCode": "guard", "until": until})
    endless = await service.data("POST", given, {"roleCode": "guard"})
    execute(service.database_url, "UPDATE sys.job SET paused = true WHERE job_name = 'history-seals'")
    steps: list[tuple[str, str, Any]] = [
        ("PUT", f"/api/role/{role}/permissions", {"menuIds": []}),
        ("PATCH", f"{given}/{timed['id']}", {"reason": "stands in"}),
        ("PATCH", f"{given}/{endless['id']}", {"until": later}),
        ("PATCH", f"/api/role/{role}", {"enabled": False}),
        ("DELETE", f"{given}/{timed['id']}", None),
        ("DELETE", f"{given}/{endless['id']}", None),
        ("DELETE", f"/api/role/{role}", None),
        ("DELETE", f"/api/user/{heron}", None),
    ]
    async with opened(service.database_url) as database:
        for method, path, body in steps:
            answer = await service.ask(method, path, body)
            assert answer.status < 300, answer.body
            await seal_history(database, KEYED)
            assert await faults(database) == []


def test_the_job_seals_and_the_audit_and_the_doctor_name_a_forgery(
    tmp_path: Path, seeded_database_url: str, redis_url: str
) -> None:
    execute(seeded_database_url, *PAST)
    variables = {
        "DATABASE_URL": seeded_database_url,
        "REDIS_URL": redis_url,
        "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9",
        "PORTCULLIS_OPLOG__CHAIN_KEY": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
    }

    def run(*words: str) -> Ended:
        return portcullis(tmp_path, *words, **variables)

    assert run("jobs", "run", "history-seals").status == 0
    assert "past rights: unchanged, up to" in run("audit", "verify").output
    execute(seeded_database_url, "DELETE FROM sys.ended_assignment")
    verified = run("audit", "verify")
    assert verified.status == 1
    assert "past rights: CHANGED after sealing" in verified.output
    assert "ends of assignments of user" in verified.output
    doctor = {check["check"]: check for check in json.loads(run("doctor", "--json").output)["checks"]}
    assert doctor["history"]["state"] == "fault"
    assert "ends of assignments of user" in doctor["history"]["message"]
