"""A changed mapping reaches the members of a directory without their doing, and never beyond the ceiling."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from service.errors import Conflict
from service.features.directories import members as directory_members
from service.features.directories import store as directories
from service.features.directories.directory import Directories
from service.features.directories.members import update_member_roles
from service.features.directories.store import add_origin
from service.features.notices.notices import Notices
from service.features.oidc.store import note_groups
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from tests.features.access_requests.test_beginnings import settings_of
from tests.features.oidc.test_directories import BODY, ENTRA, roles_of, set_roles, unit_of
from tests.features.scim.scim_client import ScimClient, scim_client
from tests.features.scim.scim_client import roles_of as codes_of
from tests.support.inside import Inside
from tests.support.members import Member, member, query


@pytest.fixture
async def opened(house: Inside) -> AsyncIterator[Database]:
    async with Database(house.database_url, pool_size=3) as database:
        yield database


async def run(house: Inside, database: Database) -> str:
    """Run the job; nobody waits then."""
    detail = await update_member_roles(database, settings_of(house), Notices())
    async with database.snapshot() as connection:
        assert not await directories.some_wait(connection)
    return detail


async def signed_in(house: Inside, user: Member, *groups: str, hours: float = 12, ago: float = 0) -> None:
    """Let somebody have signed in with ``entra``, who is in these groups there."""
    async with unit_of(house) as (made, unit):
        place = ("entra", "", f"id-{user.user_id}")
        await add_origin(unit.connection, *place, user.user_id, managed=False)
        since = made.now() - timedelta(hours=ago)
        until = since + timedelta(hours=hours)
        await note_groups(unit.connection, place, groups, since, until)
        if until > made.now():
            await made.follow(unit, "entra", {user.user_id: groups}, until=until, since=since)


@pytest.fixture
async def mapped(house: Inside) -> None:
    await member(house, "reader", "system:file:list")
    await member(house, "lister", "system:role:list")
    await house.data("PUT", ENTRA, BODY)


async def given(house: Inside, user: Member) -> list[str]:
    return [role for role, source, _ in await roles_of(house, user) if source == "directory"]


def changed(**mapping: list[str]) -> dict[str, Any]:
    return BODY | {"mapping": [{"group": group, "roles": roles} for group, roles in mapping.items()]}


@pytest.mark.usefixtures("mapped")
async def test_members_get_what_their_groups_have_come_to_give_until_their_sign_in_is_over(
    house: Inside, opened: Database
) -> None:
    alice, gone, new = [await member(house, name) for name in ("alice", "gone", "new")]
    await signed_in(house, alice, "Readers")
    await signed_in(house, gone, "Readers", hours=1, ago=2)
    await signed_in(house, new, "Auditors")
    (before,) = [until for _, source, until in await roles_of(house, alice) if source == "directory"]

    await house.data("PUT", ENTRA, changed(Readers=["reader", "lister"], Auditors=["lister"]))
    await run(house, opened)
    assert await given(house, alice) == ["lister", "reader"]
    assert {until for _, source, until in await roles_of(house, alice) if source == "directory"} == {before}
    assert await given(house, new) == ["lister"]
    assert await given(house, gone) == []  # who signed in too long ago waits for the next time
    assert {"system:file:list", "system:role:list"} <= await alice.held()
    log = await house.data("GET", "/api/operation-log/list?module=directory")
    assert "give roles anew" in {entry["action"] for entry in log["items"]}


@pytest.mark.usefixtures("mapped")
async def test_members_lose_what_their_groups_give_no_more_with_the_next_request(
    house: Inside, opened: Database
) -> None:
    alice, bob = [await member(house, name) for name in ("alice", "bob")]
    await signed_in(house, alice, "Readers")
    await signed_in(house, bob, "Both")
    await alice.log_in()
    assert (await alice.ask("GET", "/api/file/list")).status == 200

    # No group gives this role any more: it has ended with the edit.
    await house.data("PUT", ENTRA, changed(Both=["lister"], Others=["reader"]))
    assert await given(house, bob) == ["lister", "reader"]  # the role is given by another group
    await run(house, opened)
    assert await given(house, alice) == []
    assert await given(house, bob) == ["lister"]
    assert (await alice.ask("GET", "/api/file/list")).status in (401, 403)
    assert await alice.held() == set()


@pytest.mark.usefixtures("mapped")
async def test_what_no_group_gives_has_ended_with_the_edit(house: Inside) -> None:
    alice = await member(house, "alice")
    await signed_in(house, alice, "Both")
    await house.data("PUT", ENTRA, changed(Both=["lister"]))
    assert await given(house, alice) == ["lister"]


@pytest.mark.usefixtures("mapped")
async def test_who_came_to_hold_more_than_the_ceiling_is_given_nothing_by_the_job(
    house: Inside, opened: Database
) -> None:
    strong = await member(house, "strong", "system:user:delete")
    await signed_in(house, strong, "Readers")
    await house.data("PUT", ENTRA, changed(Readers=["reader", "lister"]))
    await run(house, opened)
    assert await given(house, strong) == []
    assert [role for role, _, _ in await roles_of(house, strong)] == ["strong"]


@pytest.mark.usefixtures("mapped")
async def test_a_role_that_has_come_to_give_more_is_not_given_by_the_job(
    house: Inside, opened: Database
) -> None:
    alice = await member(house, "alice")
    await signed_in(house, alice, "Auditors")
    (role,) = (await house.data("GET", "/api/role/list?roleCode=lister"))["items"]
    await house.data("PUT", ENTRA, changed(Auditors=["reader", "lister"]))
    more = {"permissions": ["system:role:list", "system:user:delete"]}
    await house.data("PUT", f"/api/role/{role['id']}/permissions", more)
    await query(house, "UPDATE sys.directory SET waiting_after = 0")
    await run(house, opened)
    assert "lister" not in await given(house, alice)
    assert await given(house, alice) == ["reader"]


async def test_groups_of_scim_follow_the_mapping_in_units_that_are_resumed(
    house: Inside, opened: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = "/api/jobs/directory-members/paused"
    await house.data("PUT", paused, {"paused": True})
    entra: ScimClient = await scim_client(house)
    await run(house, opened)
    ids = [await entra.user(f"heron-{number}") for number in range(5)]
    await entra.group("Staff", *ids)
    monkeypatch.setattr(directory_members, "AT_ONCE", 2)
    follow, steps = Directories.follow, []

    async def stopping(self: Directories, unit: Any, source: str, groups: Any, **ends: Any) -> None:
        steps.append(groups)
        if len(steps) == 2:
            raise RuntimeError("the process ends")
        await follow(self, unit, source, groups, **ends)

    monkeypatch.setattr(Directories, "follow", stopping)
    body = {"kind": "scim", "client": "entra-feed", "ceiling": ["system:file:list"]}
    await house.data(
        "PUT", "/api/directory/entra", body | {"mapping": [{"group": "Staff", "roles": ["reader"]}]}
    )
    with pytest.raises(RuntimeError):
        await run(house, opened)
    assert [bool(await codes_of(house, each)) for each in ids] == [True, True, False, False, False]
    detail = await run(house, opened)
    assert "roles of 3 members of entra" in detail  # the first two are done
    assert [await codes_of(house, each) for each in ids] == [{"reader"}] * 5
    await house.data("PUT", paused, {"paused": False})


@pytest.mark.usefixtures("mapped")
async def test_a_member_whose_edit_is_refused_holds_up_nobody(
    house: Inside, opened: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [await member(house, f"p{number}") for number in range(3)]
    for each in people:
        await signed_in(house, each, "Auditors")
    follow = Directories.follow

    async def refusing(self: Directories, unit: Any, source: str, groups: Any, **ends: Any) -> None:
        await follow(self, unit, source, groups, **ends)
        if people[1].user_id in groups:
            raise Conflict(Sentence("It would break a statement"), rule="invariant")

    monkeypatch.setattr(Directories, "follow", refusing)
    await house.data("PUT", ENTRA, changed(Auditors=["lister"]))
    await run(house, opened)
    assert [await given(house, each) for each in people] == [["lister"], [], ["lister"]]


@pytest.mark.usefixtures("mapped")
async def test_a_role_that_lasts_a_limited_time_is_renewed_by_a_sign_in_and_not_by_the_job(
    house: Inside, opened: Database
) -> None:
    alice = await member(house, "alice")
    (role,) = (await house.data("GET", "/api/role/list?roleCode=reader"))["items"]
    await query(house, "UPDATE sys.role SET max_duration = 3600 WHERE id = %s", role["id"])
    await signed_in(house, alice, "Readers", ago=0.5)
    rows = "SELECT id, valid_until FROM sys.user_role WHERE user_id = %s AND role_id = %s"
    of_alice = (alice.user_id, role["id"])
    ((first, ends),) = await query(house, rows, *of_alice)

    await house.data("PUT", ENTRA, changed(Readers=["reader", "lister"]))
    await run(house, opened)
    assert await query(house, rows, *of_alice) == [(first, ends)]  # half an hour is left, as before

    await set_roles(house, alice, ["Readers"])
    ((second, later),) = await query(house, rows, *of_alice)
    assert second != first  # one that began anew: no assignment lasts longer than the role allows
    assert timedelta(minutes=29) < later - ends < timedelta(minutes=31)
    past = "SELECT count(*) FROM sys.ended_assignment WHERE user_id = %s"
    ((count,),) = await query(house, past, alice.user_id)
    assert count >= 1


async def test_what_provisions_maps_no_role_that_lasts_a_limited_time(house: Inside) -> None:
    entra = await scim_client(house)
    (role,) = (await house.data("GET", "/api/role/list?roleCode=reader"))["items"]
    heron = await entra.user("heron")
    await query(house, "UPDATE sys.role SET max_duration = 3600 WHERE id = %s", role["id"])
    await entra.group("Both", heron)
    assert await codes_of(house, heron) == {"lister"}  # left out where the role came to demand an end
    stored = await house.data("GET", "/api/directory/entra")
    body = {name: stored[name] for name in ("kind", "client", "mapping", "ceiling")}
    refused = await house.ask("PUT", "/api/directory/entra", body)
    assert refused.status == 422
    assert "longest duration" in refused.json["errors"][0]["message"]
