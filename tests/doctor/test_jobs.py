"""What the doctor says of jobs, and of API keys that expire soon."""

from __future__ import annotations

import asyncio

from service.diagnosis.findings import Finding
from service.diagnosis.installation import Installation
from service.diagnosis.job_checks import jobs_in_time
from service.records.database.server_facts import ServerFacts
from service.records.database.transactions import Database
from service.records.schema_revision import SchemaStanding
from service.settings import Settings
from tests.doctor.conftest import LookAt, execute, no_routes


def test_a_failing_job_is_a_fault_and_one_that_nobody_runs_a_warning(database_url: str) -> None:
    def judged(statement: str) -> tuple[str, str]:
        execute(database_url, statement)
        finding = asyncio.run(diagnosed(database_url))
        return finding.state, finding.message

    assert judged("DELETE FROM sys.job") == (
        "ok",
        "none yet: the first service that runs here adds them",
    )
    new = "INSERT INTO sys.job (job_name, due_time) VALUES ('file-sweep', now() - interval '10 minutes')"
    assert judged(new) == ("ok", "1 job, none failing or overdue")
    overdue = "UPDATE sys.job SET due_time = now() - interval '2 hours'"
    assert judged(overdue) == ("warning", "nobody has run file-sweep when due")
    assert judged("UPDATE sys.job SET failing = true") == ("fault", "the last run has failed of file-sweep")
    paused = "1 job, none failing or overdue; paused: file-sweep"
    assert judged("UPDATE sys.job SET paused = true") == ("ok", paused)


async def diagnosed(url: str) -> Finding:
    database = Database(url, pool_size=1)
    try:
        server = ServerFacts(18_00_04, 0.0, SchemaStanding("v0004", "v0004", known=True))
        return await jobs_in_time(Installation({}, Settings(), no_routes, database, server))
    finally:
        await database.close()


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
    execute(database_url, "UPDATE sys.\"user\" SET status = 'disabled' WHERE user_name = 'robot'")
    assert look_at("api-keys").state == "ok"
