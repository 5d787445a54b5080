"""Events about rights: recorded with their cause, put in order, and read by one user."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import psycopg
import pytest

from service.features.agents.jobs import forget_delegations
from service.features.events import jobs, store
from service.features.events.store import RightsEvent
from service.records.database.transactions import Database
from service.server.prepare import check, publish_policy
from tests.support.databases import NewDatabase
from tests.support.inside import Inside, settings_of
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member, query

AGENT = """
WITH account AS (
    INSERT INTO sys.user (user_name, user_name_key, nick_name, kind)
    VALUES ('robot', 'robot', 'Robot', 'service') RETURNING id
)
INSERT INTO sys.agent (user_id, owner_id, created_by) SELECT id, 1, 1 FROM account RETURNING user_id
"""


@dataclass
class Recorded:
    """A service that records events, and its database."""

    site: Inside
    database: Database

    async def events(self, after: int = 0) -> list[RightsEvent]:
        """Put the recorded events in order, and return those after a position."""
        await jobs.put_in_order(self.database)
        async with self.database.snapshot() as connection:
            return await store.after(connection, after, 1_000)

    async def kinds(self, after: int = 0) -> list[tuple[str, int | None]]:
        """Return kinds and users of the events after a position."""
        return [(event.kind, event.user_id) for event in await self.events(after)]

    async def last(self) -> int:
        """Return the position of the last recorded event."""
        await jobs.put_in_order(self.database)
        async with self.database.snapshot() as connection:
            return await store.last(connection)


@pytest.fixture
async def recorded(service_with: ServiceWith) -> AsyncIterator[Recorded]:
    async with service_with() as site, Database(site.database_url, timeout=5.0) as database:
        async with database.transaction() as connection:
            await store.switch(connection, on=True)
        yield Recorded(site, database)


async def test_assignments_codes_and_accounts_leave_events_in_the_order_of_their_commits(
    recorded: Recorded,
) -> None:
    site = recorded.site
    kestrel = await member(site, "kestrel", "system:user:list")
    user_id = kestrel.user_id
    start = await recorded.last()
    role = await site.data("POST", "/api/role", {"roleName": "Night watch", "roleCode": "night"})
    given = await site.data("POST", f"/api/user/{user_id}/roles", {"roleId": role["id"]})
    shown = await site.ask(
        "PATCH", f"/api/user/{user_id}/roles/{given['id']}", {"until": "2099-01-01T00:00:00Z"}
    )
    assert shown.status == 200, shown.body
    await site.ask("DELETE", f"/api/user/{user_id}/roles/{given['id']}")
    await site.data("POST", f"/api/online/{user_id}/ban", {"seconds": 60, "reason": "A test"})
    await site.ask("DELETE", f"/api/online/{user_id}/ban")
    await site.ask("DELETE", f"/api/user/{user_id}")
    events = [event for event in await recorded.events(start) if event.user_id == user_id]
    assert [event.kind for event in events] == [
        "role.given",
        "role.changed",
        "role.taken",
        "user.banned",
        "user.unbanned",
        "user.deleted",
    ]
    first = events[0].data
    assert first == {
        "assignmentId": given["id"],
        "roleId": role["id"],
        "roleCode": "night",
        "roleName": "Night watch",
        "from": None,
        "until": None,
        "source": "direct",
    }
    assert events[1].data["until"].startswith("2099-01-01T00:00:00")
    assert "kestrel" not in repr(events)


async def test_a_delegation_leaves_events_when_it_is_made_ended_and_expired(recorded: Recorded) -> None:
    site = recorded.site
    person = await member(site, "kestrel", "system:role:list")
    ((agent_id,),) = await query(site, AGENT)
    order = {"agentId": agent_id, "codes": ["system:role:list"], "services": ["portcullis"], "expiresIn": 60}
    start = await recorded.last()
    first, second = [
        (await person.ask("POST", "/api/user/profile/delegations", order)).json["data"]["id"]
        for _ in range(2)
    ]
    assert (await person.ask("DELETE", f"/api/user/profile/delegations/{first}")).status == 200
    await forget_delegations(recorded.database)
    made, _, ended = await recorded.events(start)
    assert (made.kind, ended.kind) == ("delegation.made", "delegation.ended")
    assert {made.user_id, ended.user_id} == {person.user_id}
    until = made.data.pop("until")
    facts = {"delegationId": first, "agentId": agent_id}
    assert made.data == facts | {"codes": ["system:role:list"], "services": ["portcullis"]}
    assert ended.data == facts | {"until": until}
    last = await recorded.last()
    await query(site, "UPDATE sys.delegation SET until = now()")
    await forget_delegations(recorded.database)
    (expired,) = await recorded.events(last)
    assert (expired.kind, expired.data["delegationId"]) == ("delegation.ended", second)


async def test_a_rolled_back_change_and_a_dry_run_leave_none(recorded: Recorded) -> None:
    kestrel = await member(recorded.site, "kestrel")
    start = await recorded.last()
    await recorded.site.preview("DELETE", f"/api/user/{kestrel.user_id}")
    with psycopg.connect(recorded.site.database_url) as connection:
        connection.execute("UPDATE sys.user SET status = 'disabled' WHERE id = %s", [kestrel.user_id])
        assert await recorded.kinds(start) == []
        connection.rollback()
    assert await recorded.kinds(start) == []


async def test_an_event_that_is_committed_late_comes_later_and_is_not_missed(recorded: Recorded) -> None:
    kestrel, merlin = [await member(recorded.site, name) for name in ("kestrel", "merlin")]
    start = await recorded.last()
    with psycopg.connect(recorded.site.database_url) as slow:
        slow.execute("UPDATE sys.user SET status = 'disabled' WHERE id = %s", [kestrel.user_id])
        await query(recorded.site, f"UPDATE sys.user SET status = 'disabled' WHERE id = {merlin.user_id}")
        assert await recorded.kinds(start) == [("user.disabled", merlin.user_id)]
        read_until = await recorded.last()
    assert await recorded.kinds(read_until) == [("user.disabled", kestrel.user_id)]


async def test_an_assignment_that_begins_later_leaves_an_event_when_it_does(recorded: Recorded) -> None:
    kestrel = await member(recorded.site, "kestrel")
    role = await recorded.site.data("POST", "/api/role", {"roleName": "Night", "roleCode": "night"})
    start = await recorded.last()
    body = {"roleId": role["id"], "from": "2098-01-01T00:00:00Z", "until": "2099-01-01T00:00:00Z"}
    given = await recorded.site.data("POST", f"/api/user/{kestrel.user_id}/roles", body)
    await query(
        recorded.site,
        "UPDATE sys.user_role SET valid_from = now() + interval '0.1 s' WHERE id = %s",
        given["id"],
    )
    await asyncio.sleep(0.2)
    kinds = [kind for kind, _ in await recorded.kinds(start)]
    assert kinds == ["role.given", "role.changed", "role.begun"]
    assert await query(recorded.site, "SELECT * FROM sys.rights_event_due") == []


async def test_a_start_records_and_one_without_the_feature_deletes_all(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    disabled = "UPDATE sys.user SET status = 'disabled' WHERE id = 1"
    counted = "SELECT count(*) FROM sys.rights_event_new WHERE kind LIKE 'user.%'"
    for off, number in (("", 1), ("events", 0)):
        chosen = settings_of(url, redis_url, {"PORTCULLIS_FEATURES__OFF": off})
        await asyncio.to_thread(publish_policy, chosen, check(chosen))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(disabled)
            connection.execute(disabled.replace("disabled", "enabled"))
            connection.execute(disabled)
            assert connection.execute(counted).fetchall() == [(3 * number,)]


async def test_one_user_reads_what_concerns_the_account_alone(recorded: Recorded) -> None:
    kestrel, merlin = [
        await member(recorded.site, name, "system:file:list") for name in ("kestrel", "merlin")
    ]
    start = await recorded.last()
    for each in (kestrel, merlin):
        answer = await each.ask("POST", "/api/auth/logout/all")
        assert answer.status == 200, answer.body
        await query(recorded.site, "DELETE FROM sys.role_menu WHERE role_id = %s", each.role_id)
    until = await recorded.last()
    async with recorded.database.snapshot() as connection:
        of_users = await store.concerning(
            connection, {kestrel.user_id: start, merlin.user_id: until - 1}, until
        )
    read = [event for user_id, event in of_users if user_id == kestrel.user_id]
    assert len(of_users) == len(read) + 1
    assert [(event.kind, event.user_id) for event in read] == [
        ("sessions.ended", kestrel.user_id),
        ("role.codes_changed", None),
    ]
    changed = read[1].data
    assert (changed["roleId"], changed["removed"], changed["added"]) == (
        kestrel.role_id,
        ["system:file:list"],
        [],
    )
