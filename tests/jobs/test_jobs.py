"""The jobs of the service do what their page says, and are listed, run and paused."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from service.administration.jobs import all_jobs
from service.audit.entries import encode
from service.audit.key_chain import Chain
from service.audit.seals import sealed
from service.features.audit_proof import store_chain as chain
from service.features.audit_proof.checkpoints import AnchoredCheckpoint
from service.features.audit_proof.verification import Anchors, TamperedError, verify_again
from service.features.audit_proof.writer import Writing
from service.features.service_accounts.jobs import forget_keys, remind_of_keys
from service.jobs.housekeeping import forget_bans
from service.kernel.coded_sentences import OTHER, Sentence
from service.records.database.transactions import Database
from service.records.installation import restore_epochs
from service.records.installation.restore_epochs import RecoveryPointHead, RestoreEpoch
from service.records.schema import base
from service.settings import Oplog, load
from tests.audit.conftest import operation
from tests.service.conftest import variables_for
from tests.support.inside import Inside
from tests.support.running import ROOT, Ended, portcullis
from tests.support.shifted import shift_dates

TODAY = date(2026, 11, 20)


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    async with Database(seeded_database_url, pool_size=2) as opened:
        yield opened


async def execute(database: Database, *statements: str) -> list[tuple[object, ...]]:
    async with database.transaction() as connection:
        for statement in statements:
            cursor = await connection.execute(text(statement))
        return [tuple(row) for row in cursor] if cursor.returns_rows else []


WITH_MAIL = "5 s, or 1 h without mail"
BY_SETTING = {
    "file-sweep": "`upload.sweep_interval`",
    "password-resets": WITH_MAIL,
    "dormant-accounts": "24 h; never with `auth.dormant_days` 0",
    "mail": WITH_MAIL,
    "chat": "5 s, or 1 h without destinations",
}


def test_the_page_names_all_jobs_with_their_intervals_and_bounds(tmp_path: Path) -> None:
    settings = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(tmp_path)})
    page = (ROOT / "docs/reference/jobs.md").read_text()
    table = page.partition("<!-- jobs:start -->")[2].partition("<!-- jobs:end -->")[0]
    documented = re.findall(r"^\| `([\w-]+)` \| (.+) \| (.+) \| (.+) \|$", table, re.MULTILINE)
    units = {
        5.0: "5 s",
        30.0: "30 s",
        120.0: "2 min",
        300.0: "5 min",
        3600.0: "1 h",
        86_400.0: "24 h",
        600.0: "10 min",
        1920.0: "32 min",
    }
    expected = [
        (
            job.name,
            BY_SETTING.get(job.name) or units[job.interval or 0],
            units[job.within],
            job.title,
        )
        for job in all_jobs(settings)
    ]
    assert documented == expected


async def test_every_job_of_the_service_does_its_work_on_a_new_database(
    database: Database, redis_url: str, tmp_path: Path
) -> None:
    stores = {"REDIS_URL": redis_url, "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9"}
    settings = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(tmp_path)} | stores)
    for job in all_jobs(settings):
        result = await job.work(database)
        assert result, job.name
        assert Sentence.of(result).code != OTHER, job.name


async def test_a_sweep_interval_of_0_leaves_the_sweep_without_a_schedule() -> None:
    variables = {"PORTCULLIS_CONFIG": "", "PORTCULLIS_UPLOAD__SWEEP_INTERVAL": "0"}
    settings = load(variables)
    (cleanup,) = [job for job in all_jobs(settings) if "sweep" in job.name]
    assert cleanup.interval is None


async def test_only_bans_that_ended_a_day_ago_are_deleted(database: Database) -> None:
    await execute(
        database,
        "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
        " SELECT n, n, n, 'x' FROM unnest(ARRAY['over', 'lately', 'for-ever']) n",
        "INSERT INTO sys.user_ban (user_id, until, reason, banned_by) SELECT id, CASE user_name WHEN 'over'"
        " THEN now() - interval '25 hours' WHEN 'lately' THEN now() - interval '1 hour' END, '', 1"
        " FROM sys.user WHERE user_name <> 'admin'",
    )
    with pytest.MonkeyPatch.context() as patch:
        shift_dates(patch, base, timedelta(hours=-2))  # the database's clock is ahead, as it seems here
        assert await forget_bans(database) == "0 bans deleted"
    assert await forget_bans(database) == "1 bans deleted"
    left = "SELECT user_name FROM sys.user JOIN sys.user_ban ON user_id = id ORDER BY 1"
    assert await execute(database, left) == [("for-ever",), ("lately",)]


async def test_keys_are_told_before_they_expire_and_deleted_long_after(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    await execute(
        database,
        "INSERT INTO sys.user (user_name, user_name_key, nick_name, kind)"
        " VALUES ('robot', 'robot', 'R', 'service')",
        "INSERT INTO sys.api_key (user_id, key_name, hint, digest, expire_time, created_by)"
        " SELECT u.id, k.name, 'pck', sha256('x'), now() + k.ends, 1 FROM sys.user u, (VALUES"
        " ('long gone', interval '-31 days'), ('gone', interval '-1 day'), ('soon', interval '13 days'),"
        " ('later', interval '15 days'), ('never', NULL)) AS k (name, ends) WHERE u.user_name = 'robot'",
    )
    assert await remind_of_keys(database) == "1 API keys expire within 14 days"
    output = capsys.readouterr().err
    assert "an API key expires soon" in output
    assert "soon" in output
    assert "robot" in output
    assert await forget_keys(database) == "1 API keys deleted"
    left = [name for (name,) in await execute(database, "SELECT key_name FROM sys.api_key ORDER BY id")]
    assert left == ["gone", "soon", "later", "never"]


async def write_on(database: Database, key: str, *days: int) -> None:
    for day in days:
        moment = datetime(2026, 11, day, 12, tzinfo=UTC)
        line = encode(operation(action=f"on {day}", create_time=moment))
        await Writing(database, Chain(key)).write("operation_log", [line])


DAYS = "{} days of the logs and 0 policy revisions are unchanged"


async def test_a_change_of_a_late_day_is_found_at_once_and_of_an_older_one_within_as_many_days(
    database: Database,
) -> None:
    settings = Oplog(chain_key="k" * 40)
    await write_on(database, settings.chain_key, 10, 11, 12, 20)
    assert await verified(database) == {}
    assert await verify_again(database, settings, TODAY) == DAYS.format(2)
    assert await verified(database) == {"operation_log": (2, 0), "login_log": (0, 0)}

    await execute(database, "UPDATE sys.operation_log SET url = '/another' WHERE action = 'on 11'")
    results = []
    for day in (20, 21, 22):
        try:
            await verify_again(database, settings, date(2026, 11, day))
        except TamperedError as error:
            results.append(str(error))
    assert len(results) == 1
    assert all("operation_log 2026-11-11;" in message for message in results)

    await execute(database, "UPDATE sys.operation_log SET url = '/another' WHERE action = 'on 20'")
    with pytest.raises(TamperedError, match=r"operation_log 2026-11-20.*portcullis audit verify"):
        await verify_again(database, settings, TODAY)
    assert (await verified(database))["operation_log"][1] >= 1


async def verified(database: Database) -> dict[str, tuple[int, int]]:
    """Return how many days of each log the last verification has read, and how many were faulty."""
    async with database.transaction() as connection:
        states = await chain.latest_verifications(connection)
    return {state.log: (state.day_count, state.faulty_count) for state in states}


async def test_days_of_a_key_that_is_no_longer_set_are_left_out(database: Database) -> None:
    await write_on(database, "o" * 40, 19)
    await write_on(database, "n" * 40, 20)
    report = await verify_again(database, Oplog(chain_key="n" * 40), TODAY)
    assert report == DAYS.format(1) + "; 1 days of the logs were skipped, because their key is not set"


KEY = "k" * 40
OLD_DAY = {"operation_log": "create_time::date", "log_chain": "day"}
GONE = [f"DELETE FROM sys.{table} WHERE {day} = '2026-11-11'" for table, day in OLD_DAY.items()]
UNKNOWN = (
    "INSERT INTO sys.log_chain (log, day, key_id, number, hash, seal)"
    " VALUES ('operation_log', '2026-11-{}', 'deadbeef', 1, 'x', 'x')"
)


@pytest.mark.parametrize(
    "statements",
    [
        GONE,
        [GONE[0], "UPDATE sys.log_chain SET dropped = true WHERE day = '2026-11-11'"],
        [UNKNOWN.format(20), "UPDATE sys.operation_log SET url = '/another' WHERE action = 'on 20'"],
        [UNKNOWN.format(15)],
    ],
)
async def test_an_older_day_that_is_gone_and_one_with_a_forged_head_are_found_at_once(
    database: Database, statements: list[str]
) -> None:
    await write_on(database, KEY, 8, 9, 10, 11, 12, 20)
    await execute(database, *statements)
    with pytest.raises(TamperedError, match=r"operation_log 2026-11-"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY)


async def test_an_older_day_that_only_the_session_store_knows_is_found_at_once(database: Database) -> None:
    await write_on(database, KEY, 11, 20)
    kept = await checkpoint(database, 12)
    with pytest.raises(TamperedError, match="operation_log 2026-11-12"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY, anchors=Anchors([kept], {}, {}))


@pytest.mark.parametrize("seal", [None, Chain()])
async def test_a_restore_that_is_claimed_without_the_key_accounts_for_nothing(
    database: Database, seal: Chain | None
) -> None:
    await write_on(database, KEY, 11, 20)
    kept = await checkpoint(database, 20)
    moment = datetime(2026, 11, 1, tzinfo=UTC)
    claimed = RestoreEpoch(
        number=2, name="two", begin_time=moment, backup_id="b", snapshot_time=moment, operator="ann"
    )
    async with database.transaction() as connection:
        await restore_epochs.add(connection, [claimed if seal is None else sealed(seal, claimed)])
    with pytest.raises(TamperedError, match="operation_log 2026-11-20"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY, anchors=Anchors([kept], {}, {}))
    await execute(database, "UPDATE sys.timeline SET begin_time = '2026-11-20', seal = NULL WHERE number = 2")
    with pytest.raises(TamperedError, match="restore 2: its record was changed"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY)
    assert (await verified(database))["operation_log"][1] == 1


@pytest.mark.parametrize("moment", ["9999-12-31 12:00Z", "infinity", "0044-03-15Z BC"])
@pytest.mark.parametrize("table", ["operation_log", "log_chain"])
async def test_a_row_of_a_time_that_no_log_has_fails_each_verification_and_counts(
    database: Database, table: str, moment: str
) -> None:
    await write_on(database, KEY, 9, 10, 20)
    column = "day" if table == "log_chain" else "create_time"
    of = "day" if table == "log_chain" else "create_time::date"
    await execute(
        database,
        f"CREATE TEMPORARY TABLE forged AS SELECT * FROM sys.{table} WHERE {of} = '2026-11-20'",
        f"UPDATE forged SET {column} = '{moment}'",
        *([] if column == "day" else ["UPDATE forged SET id = id + 1000, event_id = gen_random_uuid()"]),
        f"INSERT INTO sys.{table} OVERRIDING SYSTEM VALUE TABLE forged",
        "DROP TABLE forged",
    )
    for today in (TODAY, TODAY + timedelta(days=1)):
        with pytest.raises(
            TamperedError, match=r"1 days of the logs .* operation_log (9999-12-31|0001-01-02)"
        ):
            await verify_again(database, Oplog(chain_key=KEY), today)
        assert (await verified(database))["operation_log"][1] == 1


async def test_a_day_that_can_not_be_read_counts_as_faulty(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise OverflowError

    await write_on(database, KEY, 20)
    monkeypatch.setattr("service.features.audit_proof.walk.Walk.end", unreadable)
    with pytest.raises(TamperedError, match="operation_log 2026-11-20"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY)
    assert (await verified(database))["operation_log"] == (1, 1)


async def test_heads_of_another_database_in_the_session_store_are_a_fault_after_all_was_verified(
    database: Database,
) -> None:
    await write_on(database, KEY, 20)
    foreign = AnchoredCheckpoint("other", "operation_log", date(2026, 11, 20), Chain(KEY).key_id, 7, "aa")
    with pytest.raises(TamperedError, match="restore epoch other: 1 heads"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY, anchors=Anchors([foreign], {}, {}))
    assert await verified(database) == {"operation_log": (1, 1), "login_log": (0, 0)}


async def test_a_forged_time_of_a_restore_keeps_nobody_from_reading_the_logs(database: Database) -> None:
    await write_on(database, KEY, 20)
    await execute(database, "UPDATE sys.timeline SET begin_time = 'infinity'")
    assert await verify_again(database, Oplog(chain_key=KEY), TODAY) == DAYS.format(1)
    await execute(database, "UPDATE sys.operation_log SET url = '/another' WHERE action = 'on 20'")
    with pytest.raises(TamperedError, match="operation_log 2026-11-20"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY)


@pytest.mark.parametrize(
    "heads",
    [
        5,
        "heads",
        {"a": 1},
        [5],
        [["operation_log", "2026-11-20", "k"]],
        [["operation_log", "the 20th", "k", 1]],
        [["operation_log", "2026-11-20", None, None]],
    ],
)
async def test_forged_heads_of_a_restore_are_a_fault_after_all_was_verified(
    database: Database, heads: object
) -> None:
    await write_on(database, KEY, 10, 20)
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    head = RecoveryPointHead("operation_log", date(2026, 11, 20), Chain(KEY).key_id, 1)
    restored = RestoreEpoch(
        number=2, name="two", begin_time=moment, backup_id="b", snapshot_time=moment, heads=(head,)
    )
    async with database.transaction() as connection:
        await restore_epochs.add(connection, [sealed(Chain(KEY), restored)])
    assert await verify_again(database, Oplog(chain_key=KEY), TODAY) == DAYS.format(2)
    await execute(database, f"UPDATE sys.timeline SET heads = '{json.dumps(heads)}' WHERE number = 2")
    with pytest.raises(TamperedError, match="restore 2: its record was changed"):
        await verify_again(database, Oplog(chain_key=KEY), TODAY)
    assert (await verified(database))["operation_log"] == (2, 1)


async def test_a_first_key_may_come_to_one_worker_after_the_other_across_midnight(
    database: Database,
) -> None:
    await write_on(database, KEY, 10)
    await write_on(database, "", 10, 11, 12)
    assert await verify_again(database, Oplog(chain_key=KEY), TODAY) == DAYS.format(1)
    await write_on(database, "", 13)
    for today in (TODAY, TODAY + timedelta(days=1)):
        with pytest.raises(TamperedError, match=r"1 days of the logs .* operation_log 2026-11-13"):
            await verify_again(database, Oplog(chain_key=KEY), today)


async def checkpoint(database: Database, day: int) -> AnchoredCheckpoint:
    """Return a kept head of another entry than was written on ``day``."""
    async with database.transaction() as connection:
        name = await restore_epochs.current(connection)
    return AnchoredCheckpoint(name or "", "operation_log", date(2026, 11, day), Chain(KEY).key_id, 1, "aa")


async def job(service: Inside, name: str) -> dict[str, Any]:
    items = (await service.data("GET", "/api/jobs"))["items"]
    (listed_job,) = [entry for entry in items if entry["name"] == name]
    return dict(listed_job)


async def test_a_job_that_is_asked_for_runs_at_once_for_who_asked(service: Inside) -> None:
    before = await job(service, "expired-bans")
    assert (before["runs"], before["paused"], before["interval"]) == ([], False, 86_400)
    asked = await service.data("POST", "/api/jobs/expired-bans/run")
    assert asked["requestedBy"] == "admin"
    async with asyncio.timeout(20):
        while not (now := await job(service, "expired-bans"))["successTime"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (run,) = now["runs"]
    assert (run["outcome"], run["detail"], run["userName"]) == ("done", "0 bans deleted", "admin")
    assert (now["requestedBy"], now["failing"]) == (None, False)


async def test_a_job_is_paused_and_resumed(service: Inside) -> None:
    for paused in (True, False):
        state = await service.data("PUT", "/api/jobs/file-sweep/paused", {"paused": paused})
        assert state["paused"] is paused
        assert (await job(service, "file-sweep"))["paused"] is paused


async def test_an_unknown_job_is_not_found(service: Inside) -> None:
    assert (await service.ask("POST", "/api/jobs/nothing/run")).status == 404
    assert (await service.ask("PUT", "/api/jobs/nothing/paused", {"paused": True})).status == 404


def test_operators_list_run_pause_and_resume_jobs(
    tmp_path: Path, redis_url: str, seeded_database_url: str
) -> None:
    def jobs(*arguments: str) -> Ended:
        variables = variables_for(seeded_database_url, redis_url)
        return portcullis(tmp_path, "jobs", *arguments, "--data", str(tmp_path / "data"), **variables)

    ran = jobs("run", "expired-keys")
    assert (ran.status, ran.output) == (0, "expired-keys: 0 API keys deleted\n"), ran.errors
    assert jobs("pause", "key-reminders").status == 0
    listed = {entry["name"]: entry for entry in json.loads(jobs("list", "--json").output)["items"]}
    assert listed["key-reminders"]["paused"] is True
    assert [run["outcome"] for run in listed["expired-keys"]["runs"]] == ["done"]
    assert jobs("resume", "key-reminders").status == 0
    with psycopg.connect(seeded_database_url) as connection:
        entered = connection.execute("SELECT module, action, url FROM sys.operation_log ORDER BY id")
    assert entered.fetchall() == [
        ("job", "run", "portcullis jobs run expired-keys"),
        ("job", "pause or resume", "portcullis jobs pause key-reminders"),
        ("job", "pause or resume", "portcullis jobs resume key-reminders"),
    ]
    shown = jobs("list").output
    assert "paused" not in shown
    assert "0 API keys deleted" in shown
    unknown = jobs("run", "nothing")
    assert unknown.status == 1
    assert "the job 'nothing' does not exist: the jobs are log-maintenance," in unknown.errors
