"""What the doctor says of logs, of jobs, of API keys that expire soon, and of a reviewed state file."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis

from service.audit.key_chain import Chain
from service.features.audit_proof.maintenance import AHEAD, Upkeep
from service.features.operations.commands_doctor import diagnose
from service.features.operations.diagnosis.upkeep_checks import jobs_in_time
from service.features.policy_history.commands_state_export import exported
from service.operator.findings import Finding, Installation
from service.records.database.server_facts import ServerFacts
from service.records.database.transactions import Database
from service.records.installation.schema_revision import SchemaStanding
from service.settings import Settings, load
from tests.features.operations.doctor.conftest import LookAt, execute, no_routes, variables_of


@pytest.mark.parametrize(
    ("counts", "state", "message"),
    [
        ({}, "ok", "0 accepted, 0 written, 0 in progress"),
        ({"written": 9}, "ok", "9 accepted, 9 written, 0 in progress"),
        ({"written": 7, "dropped": 3}, "warning", "10 accepted, 7 written, 0 in progress, 3 dropped"),
        (
            {"set_aside": 1},
            "warning",
            "1 accepted, 0 written, 0 in progress, 1 set aside because the database rejected them",
        ),
    ],
    ids=["none", "all written", "dropped", "set aside"],
)
def test_entries_that_are_in_no_log_are_counted(
    look_at: LookAt, redis_url: str, counts: dict[str, int], state: str, message: str
) -> None:
    with redis.Redis.from_url(redis_url) as store:
        for name, number in ({"accepted": sum(counts.values())} | counts).items():
            store.hset("auth:log:counts", name, number)

    finding = look_at("log-entries")

    assert (finding.state, finding.message) == (state, message)


def test_months_without_a_partition_are_told_until_they_have_one(look_at: LookAt, database_url: str) -> None:
    async def keep() -> None:
        async with Database(database_url, timeout=30) as database:
            await Upkeep(database, Chain(""), {"operation_log": 0, "login_log": 0}).months(today)

    today = datetime.now(UTC).date()
    execute(database_url, f"DROP TABLE sys.login_log_{today:%Y_%m}, sys.operation_log_{today:%Y_%m}")
    before = look_at("log-months")
    asyncio.run(keep())
    after = look_at("log-months")
    execute(database_url, f"DROP TABLE sys.login_log_{today:%Y_%m}")

    assert (before.state, after.state, AHEAD) == ("warning", "ok", 2)
    assert look_at("log-months").message == f"missing partitions of login_log for {today:%Y-%m}"


def test_a_failing_job_is_a_fault_and_one_that_nobody_runs_a_warning(database_url: str) -> None:
    def judged(statement: str) -> tuple[str, str]:
        execute(database_url, statement)
        finding = asyncio.run(diagnosed(database_url))
        return finding.state, finding.message

    assert judged("DELETE FROM sys.job") == (
        "ok",
        "none yet: the first start of the service adds them",
    )
    new = "INSERT INTO sys.job (job_name, due_time) VALUES ('file-sweep', now() - interval '10 minutes')"
    assert judged(new) == ("ok", "1 job, none failing or overdue")
    overdue = "UPDATE sys.job SET due_time = now() - interval '2 hours'"
    assert judged(overdue) == ("warning", "overdue: file-sweep")
    assert judged("UPDATE sys.job SET failing = true") == ("fault", "the last run failed: file-sweep")
    paused = "1 job, none failing or overdue; paused: file-sweep"
    assert judged("UPDATE sys.job SET paused = true") == ("ok", paused)


async def diagnosed(url: str) -> Finding:
    async with Database(url, pool_size=1) as database:
        server = ServerFacts(18_00_04, 0.0, SchemaStanding("v0004", "v0004", known=True))
        return await jobs_in_time(Installation({}, Settings(), no_routes, database, server))


def test_keys_that_expire_within_14_days_are_named_and_those_of_disabled_accounts_are_not(
    look_at: LookAt, database_url: str
) -> None:
    execute(
        database_url,
        """
        WITH account AS (
            INSERT INTO sys."user" (user_name, user_name_key, nick_name, kind)
            VALUES ('robot', 'robot', 'R', 'service') RETURNING id
        )
        INSERT INTO sys.api_key (user_id, key_name, hint, digest, expire_time, created_by)
        SELECT id, 'key ' || days, 'x', decode(repeat('00', 32), 'hex'), now() + days * interval '1 day', 1
        FROM account, unnest(ARRAY[-1, 13, 15]) AS days
        """,
    )
    finding = look_at("api-keys")
    assert finding.state == "warning"
    assert finding.message.startswith("1 key expires within 14 days: key 13 of robot (")
    assert [name for _, name in finding.users] == ["robot"]
    execute(database_url, "UPDATE sys.\"user\" SET status = 'disabled' WHERE user_name = 'robot'")
    assert look_at("api-keys").state == "ok"


def test_what_is_not_as_in_a_given_file_is_named(database_url: str, redis_url: str, tmp_path: Path) -> None:
    variables = variables_of(database_url, redis_url, tmp_path / "data")
    file = tmp_path / "state.yaml"
    file.write_text(exported(load(variables)), "utf-8")

    def diagnosed() -> Finding:
        return dict(diagnose(variables, file))["state-file"]

    same = diagnosed()
    execute(database_url, "UPDATE sys.role SET description = 'x' WHERE role_code = 'user'")
    execute(database_url, "INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'B', 'x:y')")
    execute(
        database_url,
        "DELETE FROM sys.role_menu WHERE role_id = (SELECT id FROM sys.role WHERE role_code = 'auditor')",
    )
    drifted = diagnosed()
    file.write_text("format: 1\n", "utf-8")
    faulty = diagnosed()

    assert (same.state, same.message) == (
        "ok",
        "roles, menus, resources and bindings match state.yaml",
    )
    named = "button x:y (not in the file), role auditor (changed), role user (changed)"
    assert (drifted.state, drifted.message) == ("warning", f"3 objects different from state.yaml: {named}")
    assert faulty.state == "fault"
    assert f"{file}:1: menus: is required" in faulty.message
    assert "state-file" not in dict(diagnose(variables))
