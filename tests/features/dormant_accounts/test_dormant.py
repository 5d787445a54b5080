"""Accounts that nobody uses: a notice, then they are disabled, and each step is in the operation log."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from service import settings
from service.features.dormant_accounts import settling as dormant_accounts
from service.features.dormant_accounts import store as dormant
from service.features.dormant_accounts.settling import settle
from service.kernel.notify import notices_of
from service.records.database.transactions import Database
from service.settings import Settings
from tests.features.permission_use.conftest import days_ago, store_uses
from tests.support.inside import Inside
from tests.support.members import Member, member
from tests.support.running import PATIENT
from tests.support.waiting import eventually_here


class House:
    """A service whose accounts were all used last 200 days ago; dormant after 60 days, told for 10."""

    def __init__(self, service: Inside, database: Database, chosen: Settings) -> None:
        self.service, self.database, self.settings = service, database, chosen

    async def settle(self) -> str:
        return await settle(self.database, self.settings, notices_of(self.settings))

    def change(self, statement: str, *values: Any) -> None:
        self.service.beside().execute(statement.encode(), values)

    def rows(self, query: str, *values: Any) -> list[Any]:
        return self.service.beside().execute(query.encode(), values).fetchall()

    def age(self) -> None:
        """Have everything be as old as the account."""
        self.change(
            "UPDATE sys.\"user\" SET create_time = now() - interval '200 days', update_time = create_time"
        )
        self.change("UPDATE sys.\"user\" SET update_time = now() - interval '200 days'")
        self.change("UPDATE sys.user_login SET last_login_time = now() - interval '200 days'")

    def told_for(self, days: int) -> None:
        self.change("UPDATE sys.notice SET create_time = now() - make_interval(days => %s)", days)

    def enabled(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT user_name FROM sys.\"user\" WHERE status = 'enabled'")}

    def noticed(self) -> set[str]:
        rows = self.rows(
            'SELECT user_name FROM sys.notice JOIN sys."user" ON "user".id = user_id WHERE notice.kind = %s',
            dormant.KIND,
        )
        return {name for (name,) in rows}

    def entries(self) -> list[tuple[str, str]]:
        """Return the actions of the job and what they were about."""
        rows = self.rows("SELECT action, targets FROM sys.operation_log WHERE method = 'JOB' ORDER BY id")
        return [(action, *targets) for action, targets in rows]


@pytest.fixture
async def place(service: Inside) -> AsyncIterator[House]:
    chosen = settings.load(
        {
            **PATIENT,
            "PORTCULLIS_CONFIG": "",
            "DATABASE_URL": service.database_url,
            "REDIS_URL": service.redis_url,
            "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
            "PORTCULLIS_AUTH__DORMANT_DAYS": "60",
            "PORTCULLIS_AUTH__DORMANT_GRACE": "10",
        }
    )
    async with Database(service.database_url, timeout=10, pool_size=3) as database:
        made = House(service, database, chosen)
        store_uses(service.database_url, {})
        yield made


@pytest.fixture
async def alice(place: House) -> Member:
    made = await member(place.service, "alice", "system:role:list")
    # The log notes logins a moment later.
    logins = "SELECT 1 FROM sys.user_login WHERE user_id IN (1, %s)"
    assert await eventually_here(lambda: len(place.rows(logins, made.user_id)) == 2)
    place.age()
    return made


async def test_an_account_is_told_and_disabled_later_and_each_step_is_logged(
    place: House, alice: Member
) -> None:
    assert await place.settle() == "2 accounts notified, 0 disabled, 0 kept"
    assert (place.noticed(), place.enabled()) == ({"admin", "alice"}, {"admin", "alice"})
    assert await place.settle() == "0 accounts notified, 0 disabled, 0 kept"

    place.told_for(9)
    assert await place.settle() == "0 accounts notified, 0 disabled, 0 kept"
    place.told_for(11)
    assert (await alice.ask("GET", "/api/role/list")).status == 200
    assert await place.settle() == "0 accounts notified, 1 disabled, 1 kept"
    assert place.enabled() == {"admin"}
    assert (await alice.ask("GET", "/api/role/list")).status in (401, 403)
    assert await eventually_here(lambda: len(place.entries()) == 3)
    assert sorted(place.entries(), reverse=True) == [
        ("tell a dormant account", "user:alice"),
        ("tell a dormant account", "user:admin"),
        ("disable a dormant account", "user:alice"),
    ]


async def test_the_last_administrator_is_never_disabled(place: House, alice: Member) -> None:
    await place.settle()
    place.told_for(50)
    await place.settle()

    assert "admin" in place.enabled()
    assert alice.name not in place.enabled()
    assert await place.settle() == "0 accounts notified, 0 disabled, 1 kept"


@pytest.mark.parametrize(
    "activity",
    [
        "UPDATE sys.user_login SET last_login_time = now() - interval '59 days' WHERE user_id = %s",
        "UPDATE sys.\"user\" SET update_time = now() - interval '59 days' WHERE id = %s",
        "INSERT INTO sys.api_key (user_id, key_name, hint, digest, created_by, last_use_time)"  # noqa: ISC004
        " VALUES (%s, 'ci', 'none', sha256('x'), 1, now() - interval '59 days')",
        "INSERT INTO sys.user_ban (user_id, reason, banned_by) VALUES (%s, 'No', 1)",
    ],
)
async def test_an_account_is_not_dormant_while_it_is_used_or_shut_anyway(
    place: House, alice: Member, activity: str
) -> None:
    place.change(activity, alice.user_id)
    await place.settle()

    assert place.noticed() == {"admin"}


async def test_what_a_directory_manages_is_left_to_it(place: House, alice: Member) -> None:
    known = "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    place.change(f"{known} VALUES ('okta', '', 'a', %s, true)", alice.user_id)
    assert await place.settle() == "1 accounts notified, 0 disabled, 0 kept"
    assert place.noticed() == {"admin"}

    place.change("UPDATE sys.directory_account SET managed = false")  # who signs in there is not managed
    await place.settle()
    assert place.noticed() == {"admin", "alice"}


async def test_accounts_that_are_kept_hold_up_no_others(
    place: House, alice: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dormant_accounts, "AT_ONCE", 1)
    await place.settle()
    await place.settle()
    place.told_for(11)
    # The administrator, whose id is lower, is kept.
    assert await place.settle() == "0 accounts notified, 1 disabled, 1 kept"
    assert alice.name not in place.enabled()


async def test_use_without_a_login_counts(place: House, alice: Member) -> None:
    store_uses(place.service.database_url, {alice.user_id: {"@login": days_ago(59)}})
    await place.settle()

    assert place.noticed() == {"admin"}


async def test_somebody_who_has_come_back_is_told_anew(place: House, alice: Member) -> None:
    await place.settle()
    place.told_for(70)  # and was used a little later, once

    assert await place.settle() == "2 accounts notified, 0 disabled, 0 kept"
    assert alice.name in place.enabled()


async def test_nobody_is_dormant_while_uses_are_not_recorded_for_so_long(place: House, alice: Member) -> None:
    store_uses(place.service.database_url, {}, since_days=59)

    assert await place.settle() == "0 accounts notified, 0 disabled, 0 kept"
    assert alice.name in place.enabled()


async def test_an_account_that_is_enabled_again_is_left_alone(place: House, alice: Member) -> None:
    await place.settle()
    place.told_for(11)
    await place.settle()
    place.service.token = await place.service.log_in()
    await place.service.data("PUT", f"/api/user/{alice.user_id}/status", {"status": "enabled"})

    assert (await place.settle()).startswith("0 accounts notified, 0 disabled, ")
    assert alice.name in place.enabled()


async def test_it_is_off_by_default(place: House, alice: Member) -> None:
    assert await settle(place.database, Settings(), notices_of(place.settings)) == "auth.dormant_days is 0"
    jobs = {job["name"]: job for job in (await place.service.data("GET", "/api/jobs"))["items"]}

    assert jobs["dormant-accounts"]["interval"] is None
    assert alice.name in place.enabled()


def test_the_grace_is_no_longer_than_the_days() -> None:
    chosen = {"PORTCULLIS_CONFIG": "", "PORTCULLIS_AUTH__DORMANT_DAYS": "10"}
    with pytest.raises(settings.SettingsError) as refused:
        settings.load(chosen)

    assert [fault.name for fault in refused.value.faults] == ["auth.dormant_grace"]
    assert settings.load(chosen | {"PORTCULLIS_AUTH__DORMANT_GRACE": "10"}).auth.dormant_grace == 10
