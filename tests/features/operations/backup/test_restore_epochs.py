"""A running service whose database gets another restore epoch, and the versions of restored records."""

import asyncio
import secrets

import pytest
from sqlalchemy import text

from service.audit.seals import RevisionSeals
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import configured
from service.features.operations import store_restores
from service.operator.errors import UnpreparedError
from service.records.database.transactions import Database, engine
from service.records.installation.migrate import migrate
from service.records.migrations.versions import v0020_timelines
from service.server.prepare import publish_policy
from service.settings import Settings, load
from tests.support.inside import Inside
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

SECRET = {"JWT_SECRET": secrets.token_urlsafe(48)}
BEGIN = text("INSERT INTO sys.timeline (number, name) SELECT max(number) + 1, :name FROM sys.timeline")


async def begin_restore_epoch(service: Inside) -> None:
    """Do to the database what each restore does: name a new restore epoch, and publish a revision."""
    async with (
        Database(service.database_url, pool_size=1) as database,
        database.transaction(within=30) as connection,
    ):
        await connection.execute(BEGIN, {"name": secrets.token_hex(6)})
        await publish_if_changed(connection, configured(Settings()), RevisionSeals(), "restored", least=1000)


async def test_a_new_timeline_ends_access_tokens_and_refresh_tokens_of_a_running_service(
    service: Inside,
) -> None:
    credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    before = await service.data("POST", "/api/auth/login", credentials)
    service.token = before["accessToken"]
    assert (await service.ask("GET", "/api/user/info")).status == 200

    await begin_restore_epoch(service)
    for _ in range(200):
        refused = await service.ask("GET", "/api/user/info")
        if refused.status != 200:
            break
        await asyncio.sleep(0.02)
    assert (refused.status, refused.json["code"]) == (401, "refresh_required")

    answer = await service.ask("POST", "/api/auth/refresh", {"refreshToken": before["refreshToken"]})
    assert (answer.status, answer.json["code"], answer.json["reason"]) == (401, "refresh_rejected", "ended")

    service.token = await service.log_in()
    assert (await service.ask("GET", "/api/user/info")).status == 200


def test_a_database_in_use_goes_on_without_a_name_and_a_new_one_has_a_name_of_its_own(
    empty_database_url: str,
) -> None:
    migrate(empty_database_url, ())
    with engine(empty_database_url).begin() as connection:
        [name] = connection.execute(text("SELECT name FROM sys.timeline")).scalars()
        assert len(name) == 12
        connection.execute(text("DROP TABLE sys.timeline"))
        connection.execute(
            text(
                "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
                " VALUES ('ann', 'ann', 'Ann', 'x')"
            )
        )
        connection.execute(text(v0020_timelines.TIMELINES))
        assert connection.execute(text("SELECT name FROM sys.timeline")).scalars().all() == [""]


def test_a_start_refuses_a_database_whose_restore_was_not_completed(seeded_database_url: str) -> None:
    chosen = load(
        {"PORTCULLIS_CONFIG": "", "DATABASE_URL": seeded_database_url, "REDIS_URL": "redis://x"} | SECRET
    )
    with engine(seeded_database_url).begin() as connection:
        connection.execute(text("DELETE FROM sys.timeline"))
    with pytest.raises(UnpreparedError, match="has no restore epoch"):
        publish_policy(chosen, configured(chosen))


async def test_versions_rise_with_the_time_since_the_backup_and_stay_integers(
    seeded_database_url: str,
) -> None:
    versions = text("SELECT version FROM sys.role WHERE role_code IN ('user', 'auditor') ORDER BY version")
    high = text("UPDATE sys.role SET version = 2147483000 WHERE role_code = 'auditor'")
    async with (
        Database(seeded_database_url, pool_size=1) as database,
        database.transaction(within=30) as connection,
    ):
        await connection.execute(high)
        await store_restores.raise_versions(connection, 60.0)
        least = 1 + store_restores.LEAST_EDITS + 60 * store_restores.EDITS_A_SECOND
        assert (await connection.execute(versions)).scalars().all() == [
            least,
            2147483000 + 647 // store_restores.SHARE,
        ]
        for _ in range(40):
            await store_restores.raise_versions(connection, 1e9)
        assert max((await connection.execute(versions)).scalars()) < 2**31
