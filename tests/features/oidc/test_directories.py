"""What directories may hand out: the ceiling is asked of the enforcer, whoever rules the directory."""

import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from service import settings
from service.administration.accounts import Accounts
from service.administration.unit_of_work import UnitOfWork
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import Revocations
from service.authz.publishing.shipped import configured
from service.errors import Conflict, NotFound, PermissionDenied
from service.features.directories.directory import Directories, Outcome
from service.features.directories.store import add_origin
from service.features.notices.notices import Notices
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.operator.units import operator, units_of_work
from service.records.database.transactions import Connection, Database
from tests.support.inside import Inside
from tests.support.members import Member, member, until_row
from tests.users.test_grants import logged

ENTRA = "/api/directory/entra"
BODY: dict[str, Any] = {
    "kind": "oidc",
    "mapping": [{"group": "Readers", "roles": ["reader"]}, {"group": "Both", "roles": ["reader", "lister"]}],
    "ceiling": ["system:file:list", "system:role:list"],
}
SOON = datetime(2099, 1, 1, tzinfo=UTC)


async def _unchanged_address(*_: object) -> None:
    """Nothing follows."""


@asynccontextmanager
async def unit_of(house: Inside) -> AsyncIterator[tuple[Directories, UnitOfWork]]:
    """Yield directories and a unit of the operator: whoever calls, the ceiling is what is asked."""
    environ = {
        "DATABASE_URL": house.database_url,
        "REDIS_URL": house.redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
    }
    chosen = settings.load({"PORTCULLIS_CONFIG": "", **environ})
    database, store = Database(house.database_url), SessionStore(chosen.redis, chosen.auth)
    revocations, passwords = Revocations(database, store), Passwords(chosen.password)
    notices = Notices(None)
    try:
        await store.clock()
        async with units_of_work(chosen, database, configured(chosen)) as units:
            accounts = Accounts(
                units,
                revocations,
                passwords,
                PasswordRules(chosen.password),
                address_changed=_unchanged_address,
                notices=notices,
            )
            made = Directories(units, accounts, revocations, notices, store.synchronized.now, providers=())
            async with units.of_rights(Write(operator())) as unit:
                yield made, unit
    finally:
        passwords.close()
        await revocations.finish()
        await store.close()
        await database.close()


async def known(connection: Connection, user: Member, source: str = "entra") -> None:
    await add_origin(connection, source, "", f"id-{user.user_id}", user.user_id, managed=source == "okta")


async def set_roles(
    house: Inside, user: Member, groups: Collection[str], *, source: str = "entra", strict: bool = True
) -> Outcome:
    async with unit_of(house) as (directories, unit):
        await known(unit.connection, user, source)
        until = SOON if source == "entra" else None
        outcomes = await directories.follow(unit, source, {user.user_id: groups}, until=until, strict=strict)
        return outcomes[user.user_id]


async def roles_of(house: Inside, user: Member) -> list[tuple[str, str, str | None]]:
    page = await house.data("GET", f"/api/user/{user.user_id}/roles")
    return sorted(((each["roleCode"], each["source"], each["until"]) for each in page["items"]), key=str)


@pytest.fixture(autouse=True)
async def _paused(house: Inside) -> None:
    """The scheduler would take away what these tests give beside a client that provisions."""
    await house.data("PUT", "/api/jobs/directory-members/paused", {"paused": True})


@pytest.fixture
async def alice(house: Inside) -> Member:
    """A user without rights, and the roles ``reader`` and ``lister``, which ``entra`` may hand out."""
    await member(house, "reader", "system:file:list")
    await member(house, "lister", "system:role:list")
    await house.data("PUT", ENTRA, BODY)
    return await member(house, "alice")


async def test_groups_give_their_roles_until_the_end_and_losing_them_takes_these_away(
    house: Inside, alice: Member
) -> None:
    first = await set_roles(house, alice, ["Both", "Strangers"])
    assert (first.given, first.denied, first.ended) == (["lister", "reader"], {}, [])
    assert ("reader", "directory", "2099-01-01T00:00:00.000Z") in await roles_of(house, alice)

    again = await set_roles(house, alice, ["Both"])
    assert (again.given, again.renewed, again.ended) == ([], [], [])

    fewer = await set_roles(house, alice, ["Readers"])
    assert fewer.ended == ["lister"]
    assert [role for role, _, until in await roles_of(house, alice) if until] == ["reader"]


async def test_two_directories_give_the_same_role_and_each_takes_its_own_away(
    house: Inside, alice: Member
) -> None:
    await house.data("POST", "/api/user", {"userName": "feed", "nickName": "Feed", "kind": "service"})
    await house.data("PUT", "/api/directory/okta", BODY | {"kind": "scim", "client": "feed"})
    await set_roles(house, alice, ["Readers"], source="okta")
    await set_roles(house, alice, ["Readers"])
    assert len([1 for role, _, _ in await roles_of(house, alice) if role == "reader"]) == 2

    await set_roles(house, alice, [], source="okta")
    assert [until for role, _, until in await roles_of(house, alice) if role == "reader"] == [
        "2099-01-01T00:00:00.000Z"
    ]


async def test_a_role_that_has_come_to_give_more_than_the_ceiling_is_denied(
    house: Inside, alice: Member
) -> None:
    page = await house.data("GET", "/api/role/list?roleCode=reader")
    (role,) = page["items"]
    await house.data(
        "PUT",
        f"/api/role/{role['id']}/permissions",
        {"permissions": ["system:file:list", "system:file:delete"]},
    )

    with pytest.raises(PermissionDenied) as refusal:
        await set_roles(house, alice, ["Readers"])
    assert refusal.value.extra["required"] == ["system:file:delete"]

    outcome = await set_roles(house, alice, ["Both"], strict=False)
    assert outcome.given == ["lister"]
    assert outcome.denied["reader"].layer == "grant"
    assert not outcome.denied["reader"].allowed


async def test_who_holds_more_by_others_is_not_edited_but_what_it_gave_it_takes_back(
    house: Inside, alice: Member
) -> None:
    strong = await member(house, "strong", "system:user:delete")
    with pytest.raises(PermissionDenied) as refusal:
        await set_roles(house, strong, ["Readers"])
    assert refusal.value.extra["required"] == ["system:user:delete"]

    await set_roles(house, alice, ["Both"])
    lowered = BODY | {"mapping": [], "ceiling": ["system:file:list", "system:role:list"]}
    await house.data("PUT", ENTRA, lowered)
    assert [role for role, source, _ in await roles_of(house, alice) if source == "directory"] == []


@pytest.mark.usefixtures("alice")
async def test_nobody_sets_a_ceiling_beyond_what_they_may_grant(house: Inside) -> None:
    setter = await member(house, "setter", "system:directory:update", "system:file:list")
    refused = await setter.ask("PUT", "/api/directory/other", BODY | {"mapping": []})
    assert (refused.status, refused.code) == (403, "permission_denied")
    assert refused.json["required"] == ["system:role:list"]
    assert refused.json["decisionId"]

    smaller = BODY | {"mapping": [], "ceiling": ["system:file:list"]}
    assert (await setter.ask("PUT", "/api/directory/other", smaller)).status == 200
    # Also to narrow what others have set.
    assert (await setter.ask("PUT", ENTRA, smaller)).status == 403
    assert (await setter.ask("DELETE", ENTRA)).status == 403


@pytest.mark.usefixtures("alice")
async def test_a_mapping_gives_no_role_beyond_its_ceiling(house: Inside) -> None:
    refused = await house.ask("PUT", ENTRA, BODY | {"ceiling": ["system:file:list"]})
    assert refused.status == 422
    assert refused.json["errors"][0]["field"] == "mapping[1].roles[1]"
    unknown = await house.ask("PUT", ENTRA, BODY | {"ceiling": ["system:no:such"], "mapping": []})
    assert unknown.status == 422


async def test_what_a_directory_manages_is_read_only_elsewhere(house: Inside, alice: Member) -> None:
    await member(house, "feeder")
    await house.data("POST", "/api/user", {"userName": "feed", "nickName": "Feed", "kind": "service"})
    await house.data("PUT", "/api/directory/okta", BODY | {"kind": "scim", "client": "feed"})
    await set_roles(house, alice, ["Readers"], source="okta")
    user = f"/api/user/{alice.user_id}"
    edits: list[tuple[str, str, Any]] = [
        ("PATCH", user, {"nickName": "Other"}),
        ("PUT", f"{user}/status", {"status": "disabled"}),
        ("DELETE", user, None),
        ("PATCH", user, {"roleIds": []}),
    ]
    page = await house.data("GET", f"{user}/roles")
    (given,) = [each["id"] for each in page["items"] if each["source"] == "directory"]
    edits += [
        ("DELETE", f"{user}/roles/{given}", None),
        ("PATCH", f"{user}/roles/{given}", {"until": "2098-01-01T00:00:00Z"}),
    ]
    for method, target, body in edits:
        sent = ("Content-Type", "application/merge-patch+json")
        refused = await house.ask(method, target, body, *([sent] if method == "PATCH" else []))
        assert (refused.status, refused.json.get("rule")) == (409, "directory"), (
            method,
            target,
            refused.body,
        )
        assert refused.json["directory"] == "okta"

    await house.ask("DELETE", "/api/directory/okta")
    assert (await house.ask("DELETE", user)).status == 200


@pytest.mark.usefixtures("alice")
async def test_deprovisioning_disables_anybody_but_the_last_administrator(house: Inside) -> None:
    strong = await member(house, "strong", "system:user:delete")
    async with unit_of(house) as (directories, unit):
        with pytest.raises(NotFound):
            await directories.deprovision(unit, "entra", strong.user_id)
        await known(unit.connection, strong)
        assert (await directories.deprovision(unit, "entra", strong.user_id)).status == "disabled"
    assert (await strong.ask("GET", "/api/user/info")).status == 403

    async def deprovision(user_id: int) -> None:
        async with unit_of(house) as (directories, unit):
            await add_origin(unit.connection, "entra", "", "root", user_id, managed=False)
            await directories.deprovision(unit, "entra", user_id)

    with pytest.raises(Conflict) as refusal:
        await deprovision(1)
    assert refusal.value.extra["rule"] == "last_administrator"


async def test_a_directory_that_is_cut_off_gives_nothing_and_takes_nothing(
    house: Inside, alice: Member
) -> None:
    await house.data("PUT", ENTRA, BODY | {"enabled": False})
    with pytest.raises(Conflict) as refusal:
        await set_roles(house, alice, ["Readers"])
    assert refusal.value.extra == {"rule": "directory", "directory": "entra"}


async def test_who_provisions_is_told_by_the_operation_log(house: Inside) -> None:
    for name in ("feed", "other-feed"):
        await house.data("POST", "/api/user", {"userName": name, "nickName": "Feed", "kind": "service"})
    body = {"kind": "scim", "mapping": [], "ceiling": [], "client": "feed"}
    await house.data("PUT", "/api/directory/okta", body)
    changed = await house.ask("PUT", "/api/directory/okta", body | {"client": "other-feed"})
    entry = await logged(house, changed.header("x-request-id") or "")
    (change,) = (await house.data("GET", f"/api/operation-log/{entry['id']}"))["changes"]
    assert (change["field"], change["before"], change["after"]) == ("client", "feed", "other-feed")


@pytest.mark.usefixtures("alice")
async def test_edits_of_directories_are_told_by_the_operation_log(house: Inside) -> None:
    statement = "SELECT targets FROM sys.operation_log WHERE module = 'directory'"
    await until_row(house, statement, (["directory:entra"],))  # entries are written a moment after the answer


@pytest.mark.usefixtures("alice")
async def test_a_directory_changes_by_its_tag_and_one_made_anew_has_another(house: Inside) -> None:
    tag = str((await house.ask("GET", ENTRA)).header("etag"))
    smaller = BODY | {"mapping": []}
    changed = await house.ask("PUT", ENTRA, smaller, ("If-Match", tag))
    assert (changed.status, (await house.ask("PUT", ENTRA, BODY, ("If-Match", tag))).status) == (200, 412)
    assert (await house.ask("GET", ENTRA)).header("etag") == changed.header("etag") != tag

    await house.data("DELETE", ENTRA)
    anew = await house.ask("PUT", ENTRA, smaller, ("If-Match", '"0"'))
    assert (anew.status, anew.json["data"]["version"]) == (200, 1)
    assert (await house.ask("PUT", ENTRA, BODY, ("If-Match", tag))).status == 412
    assert (await house.data("GET", ENTRA))["mapping"] == []
