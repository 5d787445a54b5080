"""A backup under load, restored elsewhere beside the session store and the files of the original."""

import asyncio
import re
import secrets
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis
from sqlalchemy import text

from service.features.embedded.stores import EmbeddedStores
from service.features.files.orphan_cleanup import OrphanCleanup
from service.features.operations.backup.archive import ArchiveReader
from service.features.operations.backup.manifest import DATABASE, Manifest
from service.features.operations.backup.programs import program_for
from service.features.operations.backup.restoring import RestoreError, require_place
from service.features.second_factors import totp
from service.files.object_store import object_store
from service.records.database.transactions import Database, engine
from service.settings import Objstore, load
from tests.features.notices.mail.conftest import LINK, invitation, mailing, outbox_of, rows
from tests.features.operations.backup.conftest import CHAIN_KEY, SECRET
from tests.features.second_factors.conftest import PASSWORD as PERSONS_PASSWORD
from tests.features.second_factors.conftest import SETTINGS, Person
from tests.files.forms import download, uploaded
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside, inside_published
from tests.support.running import Ended, portcullis
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually_here

LOGIN = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
PASSWORD = "Cardamom-7-lantern-oak"
NEW_BUTTON = {"menuType": "Button", "title": "New", "authMark": "gate:open"}
BEFORE, AFTER = b"before the backup\n", b"after the backup\n"


@dataclass
class Made:
    """What was acknowledged before, during and after the backup, and the restored service."""

    manifest: Manifest
    acknowledged: list[tuple[datetime, int]]
    highest: dict[str, int]
    revision: int
    tag: str
    tokens: dict[str, Any]
    api_key: str
    link: str
    person: Person
    files: dict[bytes, int]
    objects: set[str]
    folder: Path
    variables: dict[str, str]
    output: Ended
    new: Inside = field(repr=False)


async def write(service: Inside, until: asyncio.Event, acknowledged: list[tuple[datetime, int]]) -> None:
    """Make users one after another, and note when each was acknowledged, until told to stop."""
    while not until.is_set():
        order = {"userName": f"w{secrets.token_hex(6)}", "nickName": "W", "password": PASSWORD}
        made = await service.data("POST", "/api/user", order)
        acknowledged.append((datetime.now(UTC), made["id"]))
        await asyncio.sleep(0.05)


async def user(service: Inside, name: str) -> int:
    order = {"userName": name, "nickName": name, "password": PASSWORD}
    made: int = (await service.data("POST", "/api/user", order))["id"]
    return made


def highest(url: str) -> dict[str, int]:
    """Return the highest id of each table with ids of the database's own."""
    tables = ("user", "role", "menu", "resource", "file", "api_key", "operation_log", "login_log")
    with engine(url).connect() as connection:
        return {
            name: connection.execute(text(f'SELECT coalesce(max(id), 0) FROM sys."{name}"')).scalar_one()
            for name in tables
        }


def stored(folder: Path) -> set[str]:
    place = folder / "data" / "files"
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


async def reported(service: Inside) -> int:
    """Return the revision in force, once the watch of the service has reported it to the session store."""
    revision: int = (await service.data("GET", "/api/policy/permission-map"))["revision"]
    with Redis.from_url(service.redis_url) as client:

        def is_reported() -> bool:
            values = client.mget(client.keys("policy:witness:*"))
            return any(value is not None and value.startswith(b"%d " % revision) for value in values)

        assert await eventually_here(is_reported)
    return revision


async def leave_behind(url: str) -> None:
    """Let a mail wait, and changes of rights have numbers of a server with many more transactions."""
    async with Database(url) as left, left.transaction() as connection:
        await outbox_of(mailing()).put(connection, invitation(), LINK)
        await connection.execute(text("UPDATE sys.rights_change SET transaction = transaction + 1000000000"))


@pytest.fixture(scope="module")
async def made(
    stores: EmbeddedStores,
    published_template: str,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Made]:
    folder = tmp_path_factory.mktemp("place")
    own = {
        "PORTCULLIS_SERVER__DATA": str(folder / "data"),
        "PORTCULLIS_OPLOG__CHAIN_KEY": CHAIN_KEY,
        "JWT_SECRET": SECRET,
        **SETTINGS,
    }
    shared = own | {"REDIS_URL": module_redis_url, "PORTCULLIS_CONFIG": ""}
    archive = folder / "backup.tar"

    async def command(url: str, *arguments: str) -> Ended:
        return await asyncio.to_thread(portcullis, folder, *arguments, DATABASE_URL=url, **shared)

    with database(stores, published_template) as first, database(stores, "template1") as second:
        async with inside_published(first, module_redis_url, **own) as old:
            files = {BEFORE: (await uploaded(old, "before.txt", BEFORE))["id"]}
            link = (await old.data("POST", f"/api/file/{files[BEFORE]}/public-link", {}))["token"]
            account = await old.data(
                "POST", "/api/user", {"userName": "robot", "nickName": "R", "kind": "service"}
            )
            key = (await old.data("POST", f"/api/user/{account['id']}/keys", {"name": "one"}))["key"]
            body = {"userName": "careful", "nickName": "C", "password": PERSONS_PASSWORD}
            person = Person(old, (await old.data("POST", "/api/user", body))["id"], "careful")
            await person.log_in()
            await person.enrol_app()
            spared, banned = await user(old, "spared"), await user(old, "banned")
            await old.data("POST", f"/api/online/{banned}/ban", {"reason": "before"})

            await leave_behind(first)
            acknowledged: list[tuple[datetime, int]] = []
            until = asyncio.Event()
            writing = asyncio.create_task(write(old, until, acknowledged))
            assert await eventually_here(lambda: len(acknowledged) > 2)
            done = await command(first, "backup", str(archive))
            assert done.status == 0, done.errors
            count = len(acknowledged)
            assert await eventually_here(lambda: len(acknowledged) > count)
            until.set()
            await writing

            challenge = (await person.challenged())["challenge"]
            used = await person.second_step(challenge, "recovery_code", code=person.codes[0])
            assert used.status == 200
            await old.data("POST", f"/api/online/{spared}/ban", {"reason": "after"})
            files[AFTER] = (await uploaded(old, "after.txt", AFTER))["id"]
            await old.data(
                "POST", "/api/menu", {"menuType": "Button", "title": "New", "authMark": "gate:open"}
            )
            [auditor] = (await old.data("GET", "/api/role/list?roleCode=auditor"))["items"]
            edited = await old.ask("PATCH", f"/api/role/{auditor['id']}", {"description": "after"})
            tag = edited.header("ETag") or ""
            assert edited.status == 200, edited.body
            tokens = await old.data("POST", "/api/auth/login", LOGIN)
            old.token = tokens["accessToken"]
            assert (await old.ask("GET", "/api/user/info")).status == 200
            revision = await reported(old)
        ids, objects = highest(first), stored(folder)
        restored = await command(second, "restore", str(archive))
        assert restored.status == 0, restored.errors
        async with inside(second, module_redis_url, **own) as new:
            with ArchiveReader(archive) as reader:
                manifest = reader.manifest
            variables = shared | {"DATABASE_URL": second}
            yield Made(
                manifest,
                acknowledged,
                ids,
                revision,
                tag,
                tokens,
                key,
                link,
                person,
                files,
                objects,
                folder,
                variables,
                restored,
                new,
            )


def query(made: Made, statement: str, **values: Any) -> Any:
    with engine(made.new.database_url).connect() as connection:
        return connection.execute(text(statement), values).scalars().all()


async def test_every_write_acknowledged_before_the_snapshot_is_there(made: Made) -> None:
    before = {number for moment, number in made.acknowledged if moment <= made.manifest.snapshot_time}
    later = {
        number
        for moment, number in made.acknowledged
        if moment > made.manifest.snapshot_time + timedelta(seconds=1)
    }
    there = set(query(made, 'SELECT id FROM sys."user"'))
    assert before
    assert before <= there
    assert not later & there


async def test_tokens_and_refresh_tokens_of_before_are_refused_with_the_store_alive(made: Made) -> None:
    refused = await made.new.ask("GET", "/api/user/info", token=made.tokens["accessToken"])
    assert (refused.status, refused.json["code"]) == (401, "refresh_required")
    refused = await made.new.ask("POST", "/api/auth/refresh", {"refreshToken": made.tokens["refreshToken"]})
    assert (refused.status, refused.json["code"]) == (401, "refresh_rejected")
    online = await made.new.data("GET", "/api/online/list")
    assert online["total"] == 1  # the login of this test's own


async def test_new_ids_are_above_all_that_were_ever_given(made: Made) -> None:
    assert await user(made.new, "newcomer") > made.highest["user"]
    made_file = await uploaded(made.new, "new.txt", b"new\n")
    assert made_file["id"] > made.highest["file"]
    entries = query(made, "SELECT id FROM sys.operation_log WHERE action = 'restore'")
    assert min(entries) > made.highest["operation_log"]
    assert made.highest["user"] < 2**53 // 16


async def test_a_tag_of_after_the_backup_matches_no_edit_of_the_restored_record(made: Made) -> None:
    [number] = query(made, "SELECT id FROM sys.role WHERE role_code = 'auditor'")
    mine, theirs = {"description": "mine"}, {"description": "theirs"}
    await made.new.data("PATCH", f"/api/role/{number}", theirs)
    refused = await made.new.ask("PATCH", f"/api/role/{number}", mine, ("If-Match", made.tag))
    assert (refused.status, refused.json["code"]) == (412, "precondition_failed")


async def test_the_policy_is_newer_than_any_before(made: Made) -> None:
    assert (await made.new.data("GET", "/api/policy/permission-map"))["revision"] > made.revision


async def test_a_new_code_gets_a_bit_that_no_token_of_before_can_have(made: Made) -> None:
    before = max(query(made, "SELECT bit_position FROM sys.menu WHERE bit_position IS NOT NULL"))
    order = {"menuType": "Button", "title": "Other", "authMark": "other:open"}
    await made.new.data("POST", "/api/menu", order)
    bits = (await made.new.data("GET", "/api/policy/permission-map"))["bits"]
    assert bits["other:open"] > before + 1000


async def test_a_mail_that_waited_is_in_the_backup_without_its_link_in_clear_and_is_not_sent_after_it(
    made: Made,
) -> None:
    program = program_for(load(made.variables), "pg_restore", made.manifest.server)
    with ArchiveReader(made.folder / "backup.tar") as reader:
        dump = b"".join(reader.chunks(DATABASE))
    process = await asyncio.create_subprocess_exec(program, "-f", "-", stdin=PIPE, stdout=PIPE)
    dumped, _ = await process.communicate(dump)
    assert b"heron@example.org" in dumped
    assert not any(word in dumped for word in (b"V3ry", LINK.encode().hex().encode()))
    async with Database(made.new.database_url) as restored:
        (row,) = await rows(restored)
    assert (row["state"], row["sealed_link"]) == ("given_up", None)
    assert row["fault"] == "it was queued in a backup, and may have been sent since"
    assert re.search(r"^ +1 waiting mail$", made.output.output, re.MULTILINE)


async def test_api_keys_and_public_links_of_before_are_refused(made: Made) -> None:
    refused = await made.new.ask("GET", "/api/role/list", token=made.api_key)
    assert (refused.status, refused.json["code"]) == (401, "token_expired")
    assert (await made.new.as_anonymous("GET", f"/api/public/file/{made.link}")).status == 404


async def test_recovery_codes_and_shown_codes_of_apps_of_before_are_refused(made: Made) -> None:
    old = made.person
    person = Person(made.new, old.id, old.name, secret=old.secret)
    [begun] = query(made, "SELECT floor(extract(epoch FROM max(begin_time)))::bigint FROM sys.timeline")
    [step] = query(made, "SELECT last_step FROM sys.user_factor WHERE kind = 'totp'")
    assert step == begun // totp.PERIOD
    refusal = await person.challenged()
    assert refusal["methods"] == ["totp"]
    for code in old.codes[:2]:  # one that was used after the backup, and one that was not
        refused = await person.second_step(refusal["challenge"], "recovery_code", code=code)
        assert (refused.status, refused.json["code"]) == (401, "login_failed")
    await person.log_in_by_app()
    made_anew = await person.data("POST", "/api/user/profile/factors/recovery-codes")
    assert len(made_anew["recoveryCodes"]) == 10
    assert re.search(r"^ +10 recovery codes$", made.output.output, re.MULTILINE)


async def test_followers_are_not_sent_for_ever_what_another_server_has_numbered_higher(made: Made) -> None:
    later = "SELECT noun FROM sys.rights_change WHERE transaction > pg_current_xact_id()::text::bigint"
    assert query(made, later) == []
    assert query(made, "SELECT noun FROM sys.rights_change") != []  # what has changed since is there


async def test_bans_are_those_of_the_backup(made: Made) -> None:
    for name, status in (("spared", 200), ("banned", 403)):
        answer = await made.new.ask("POST", "/api/auth/login", {"userName": name, "password": PASSWORD})
        assert answer.status == status, answer.body
        if status == 200:
            token = answer.json["data"]["accessToken"]
            assert (await made.new.ask("GET", "/api/user/info", token=token)).status == 200


async def test_notices_are_those_of_the_backup(made: Made) -> None:
    statement = (
        "SELECT user_name FROM sys.notice JOIN sys.user one ON one.id = user_id WHERE notice.kind = 'banned'"
    )
    assert query(made, statement) == ["banned"]
    assert query(made, "SELECT count(*) FROM sys.account_token") == [0]


async def test_files_with_rows_exist_and_none_of_the_other_timeline_is_touched(made: Made) -> None:
    assert (await download(made.new, made.files[BEFORE])).body == BEFORE
    assert (await download(made.new, made.files[AFTER])).status == 404
    orphan = await uploaded(made.new, "orphan.txt", b"orphan\n")
    async with Database(made.new.database_url, pool_size=2) as place:
        async with place.transaction() as connection:
            await connection.execute(text("DELETE FROM sys.file WHERE id = :id"), {"id": orphan["id"]})
        swept = OrphanCleanup(place, object_store(Objstore(), made.folder / "data" / "files"))
        assert await swept.once() == 1
    assert (await made.new.ask("DELETE", f"/api/file/{made.files[BEFORE]}")).status in (200, 204)
    assert made.objects <= stored(made.folder)


async def test_a_restore_is_in_the_operation_log_and_in_the_timelines(made: Made) -> None:
    assert re.search(r"restore epoch +2 ", made.output.output)
    columns = "params->>'backup' || ' ' || (params->>'authenticated')"
    [entry] = query(made, f"SELECT {columns} FROM sys.operation_log WHERE action = 'restore'")
    assert entry == f"{made.manifest.id} true"
    assert re.search(r"origin +Sealed with oplog\.chain_key", made.output.output)
    names = query(made, "SELECT name FROM sys.timeline ORDER BY number")
    assert names[0] == made.manifest.restore_epochs[0].name
    assert len(set(names)) == 2


async def test_a_database_that_is_not_empty_is_refused_and_left_as_it_is(made: Made) -> None:
    before = query(made, "SELECT count(*) FROM sys.timeline")
    refused = await asyncio.to_thread(
        portcullis, made.folder, "restore", str(made.folder / "backup.tar"), **made.variables
    )
    assert refused.status == 1
    assert re.search("The database is not empty.* --data to a new data directory", refused.errors)
    assert query(made, "SELECT count(*) FROM sys.timeline") == before


async def test_an_archive_that_the_chain_key_does_not_prove_is_restored_only_if_that_is_asked_for(
    made: Made, stores: EmbeddedStores
) -> None:
    with database(stores, "template1") as empty, session_store(stores) as redis_url:
        variables = made.variables | {
            "DATABASE_URL": empty,
            "REDIS_URL": redis_url,
            "PORTCULLIS_OPLOG__CHAIN_KEY": CHAIN_KEY[::-1],
        }

        async def restored(*options: str) -> Ended:
            archive = str(made.folder / "backup.tar")
            return await asyncio.to_thread(portcullis, made.folder, "restore", archive, *options, **variables)

        refused = await restored()
        assert (refused.status, "sealed with another key" in refused.errors) == (1, True)
        with engine(empty).connect() as connection:
            statement = text("SELECT count(*) FROM pg_namespace WHERE nspname = 'sys'")
            assert connection.execute(statement).scalar_one() == 0
        done = await restored("--unauthenticated")
        assert done.status == 0, done.errors
        assert "Not checked: --unauthenticated" in done.output
        with engine(empty).connect() as connection:
            entry = text("SELECT params->'authenticated' FROM sys.operation_log WHERE action = 'restore'")
            assert connection.execute(entry).scalars().all() == [False]


async def test_an_audit_of_the_restored_logs_accounts_for_what_is_lost(made: Made) -> None:
    verified = await asyncio.to_thread(portcullis, made.folder, "audit", "verify", **made.variables)
    assert verified.status == 0, verified.output + verified.errors
    assert re.search(r"restore 2: .* from the backup " + made.manifest.id, verified.output)
    lost = re.search(r"operation_log [\d-]+: (\d+) entries were lost by restore 2", verified.output)
    assert lost is not None
    assert int(lost[1]) > 0
    # The seals of before are those of after, and a revision that came after the backup is accounted for too.
    assert re.search(r"policy revisions: \d+, unchanged", verified.output)
    assert "policy revisions: 1 reported revisions were lost in a restore" in verified.output


async def test_revisions_of_a_backup_are_sealed_on_after_its_restore(made: Made) -> None:
    revisions = (await made.new.data("GET", "/api/policy/revisions?size=200"))["items"]

    restored = next(
        revision for revision in revisions if revision["cause"].startswith("restored from the backup")
    )
    assert {revision["authenticity"] for revision in revisions} <= {"sealed", "unsealed"}
    assert restored["authenticity"] == "sealed"
    before = next(
        revision["revision"] for revision in revisions if revision["revision"] < restored["revision"]
    )
    compared = f"/api/policy/diff?from={before}&to={restored['revision']}"
    assert (await made.new.ask("GET", compared)).status == 200


async def test_a_second_restore_of_the_same_backup_accounts_for_the_first_and_keeps_what_it_is_told_to(
    made: Made, stores: EmbeddedStores
) -> None:
    await user(made.new, "forgotten")
    with database(stores, "template1") as third:
        variables = made.variables | {"DATABASE_URL": third}
        archive = str(made.folder / "backup.tar")

        async def command(*arguments: str) -> Ended:
            return await asyncio.to_thread(portcullis, made.folder, *arguments, **variables)

        kept = ("--keep-api-keys", "--keep-links", "--keep-recovery-codes")
        done = await command("restore", archive, *kept)
        assert done.status == 0, done.errors
        with engine(third).connect() as connection:
            for table, number in (
                ("api_key WHERE expire_time IS NULL", 1),
                ("file WHERE token_hash IS NOT NULL", 1),
                ("recovery_code", 10),
            ):
                counted = text(f"SELECT count(*) FROM sys.{table}")
                assert connection.execute(counted).scalar_one() == number, table
            [names] = connection.execute(text("SELECT ended FROM sys.timeline WHERE number = 2")).scalars()
        assert names == query(made, "SELECT name FROM sys.timeline WHERE number = 2")
        verified = await command("audit", "verify")
        assert verified.status == 0, verified.output + verified.errors


async def test_a_backup_of_a_later_version_is_refused_in_words(made: Made, stores: EmbeddedStores) -> None:
    with database(stores, "template1") as empty, ArchiveReader(made.folder / "backup.tar") as archive:
        async with Database(empty, pool_size=1) as place:
            later = msgspec.structs.replace(archive.manifest, schema="v9999", version="9.0.0")
            async with place.transaction() as connection:
                with pytest.raises(
                    RestoreError, match=r"schema v9999 of version 9\.0\.0, which is unknown to this version"
                ):
                    await require_place(connection, later)
                newer = msgspec.structs.replace(archive.manifest, server=990000)
                with pytest.raises(RestoreError, match="The backup is from PostgreSQL 99"):
                    await require_place(connection, newer)
                await require_place(connection, archive.manifest)
