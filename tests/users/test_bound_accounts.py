"""A service account that is bound to a service can't get hold of an account that is not."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import pytest

from service.endpoints.users import UserBody, UserEdit
from service.features.tables.api_tables import ImportedUser
from service.kernel.fields import camel
from service.records.schema.all_tables import metadata
from service.records.schema.rights import user
from tests.support.inside import Inside
from tests.support.unstarted import SHIPPED
from tests.users.people import execute, made, role_id
from tests.users.writes import WRITES, Request, World

SERVICE = "orders"
KEYS = "/api/user/{id}/keys"
ERASURE = "/api/user/{id}/erasure"

HARMLESS_COLUMNS: Final = {
    "user": {
        *("user_name", "user_name_key", "nick_name", "nick_name_key", "nick_name_folded"),
        *("gender", "avatar", "language", "time_zone", "status"),
        *("version", "create_time", "update_time", "updated_by"),
    },
    "api_key": {"last_use_time", "last_use_ip", "networks", "remind_time", "needed_codes"},
}
HARMLESS_TABLES: Final = {
    "user_role": "what an account may do, and not who logs in as it",
    "user_ban": "keeps out, and lets nobody in",
    "idempotency_key": "answers that the account itself was given",
    "file": "who has uploaded it",
}
"""What of an account nobody logs in by. All else counts, also columns and tables that are made later."""

VALUES: Final[dict[str, list[Any]]] = {
    "user_name": ["renamed"],
    "nick_name": ["Edited"],
    "email": ["thief@example.org"],
    "phone": ["+49 30 1234567"],
    "gender": ["other"],
    "avatar": ["/thief.png"],
    "language": ["zh-CN"],
    "time_zone": ["Asia/Shanghai"],
    "status": ["disabled", "enabled"],
    "service": [None, "shop", SERVICE],
    "kind": ["person", "service"],
    "password": ["four wary herons"],
    "invite": [True],
    "role_ids": [[]],
    "roles": [[]],
}
"""Values to try for each member of a user in a body."""


@dataclass(frozen=True)
class House:
    """A service, with an account that is bound to one service, may do everything, and has a key."""

    service: Inside
    connection: psycopg.Connection[Any]
    key: str

    async def ask(self, request: Request) -> Any:
        """Send one request as the bound account."""
        method, path, body = request
        return await self.service.ask(method, path, body, token=self.key)

    def ways_in(self) -> set[tuple[Any, ...]]:
        """Return all by which one could log in as accounts that are not bound to the service."""
        return set(self.connection.execute(WAYS_IN.encode(), {"service": SERVICE}))


def _ways_in() -> Iterator[str]:
    for table in metadata.sorted_tables:
        owners = [
            foreign_key.parent.name for foreign_key in table.foreign_keys if foreign_key.column.table is user
        ]
        if table.name in HARMLESS_TABLES or not (owners or table is user):
            continue
        harmless = HARMLESS_COLUMNS.get(table.name, set())
        of = "id" if table is user else owners[0]
        columns = ", ".join(f'one."{column.name}"' for column in table.columns if column.name not in harmless)
        yield (
            f"SELECT '{table.name}', jsonb_build_array({columns})::text"
            f' FROM sys."{table.name}" one JOIN sys."user" who ON who.id = one."{of}"'
            " WHERE who.service IS DISTINCT FROM %(service)s"
        )


WAYS_IN: Final = " UNION ALL ".join(_ways_in())


@pytest.fixture
async def bound(house: Inside) -> AsyncIterator[House]:
    """An account that is bound to a service, holds everything, and has come by its key."""
    account = await robot(house, "gateway", SERVICE, role_id(house, "super"))
    key = (await house.data("POST", KEYS.format(id=account), {"name": "job"}))["key"]
    with psycopg.connect(house.database_url, autocommit=True) as connection:
        yield House(house, connection, key)


async def targets(house: Inside) -> dict[str, int]:
    """Return the ids of accounts that are not bound to the service: a person, a program, one of another."""
    return {
        "person": (await made(house, "heron"))["id"],
        "unbound": await robot(house, "robot", None),
        "of another service": await robot(house, "shopper", "shop"),
    }


async def robot(house: Inside, name: str, service: str | None, *role_ids: int) -> int:
    """Create a service account as the administrator; return its id."""
    body = {"userName": name, "nickName": name, "kind": "service", "service": service}
    return int((await house.data("POST", "/api/user", body | {"roleIds": list(role_ids)}))["id"])


def test_every_member_of_a_user_is_tried() -> None:
    bodies = {name for body in (UserBody, UserEdit, ImportedUser) for name in body.__struct_fields__}
    assert set(VALUES) == bodies


def test_every_route_that_acts_on_an_account_is_walked() -> None:
    """A start fails when these lines are not exactly the routes, so a new route is in neither list."""
    on_accounts = {
        route
        for route in SHIPPED.routes
        if not route.startswith("GET ")
        if "{login_id}" in route or route.partition(" ")[2].startswith(("/api/user/{id}", "/api/user/import"))
    } | {"POST /api/user"}

    walked = {f"POST {KEYS}", f"DELETE {KEYS}/{{key_id}}", f"POST {ERASURE}"}
    assert on_accounts <= {write.endpoint for write in WRITES} | walked


@pytest.mark.extended
async def test_no_write_lets_it_log_in_as_somebody_who_is_not_bound(bound: House) -> None:
    before, world = None, World(bound.connection)
    for write in WRITES:
        request = write.aim(world, "low")
        before = bound.ways_in()
        await bound.ask(request)
        assert bound.ways_in() <= before, write
    assert before


async def test_no_value_of_a_user_lets_it_log_in_as_somebody_who_is_not_bound(bound: House) -> None:
    people = await targets(bound.service)
    before = bound.ways_in()
    for who, user_id in people.items():
        await bound.ask(("PUT", f"/api/user/{user_id}/password", {"newPassword": "five wary herons"}))
        await bound.ask(("POST", KEYS.format(id=user_id), {"name": "mine"}))
        erasure = await bound.ask(("POST", ERASURE.format(id=user_id), {"reason": "gone"}))
        assert (erasure.status, erasure.json["layer"]) == (403, "assurance")
        for name, values in VALUES.items():
            stored = await bound.service.data("GET", f"/api/user/{user_id}")
            for value in values:
                member = {camel(name): value}
                row = {"userName": stored["userName"], **member}
                await bound.ask(("PATCH", f"/api/user/{user_id}", member))
                await bound.ask(("PUT", f"/api/user/{user_id}", replacement(stored) | member))
                await bound.ask(("POST", "/api/user/import", {"users": [row]}))
                assert bound.ways_in() <= before, (who, member)


def replacement(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the body that replaces a user by itself."""
    names = [camel(name) for name in UserEdit.__struct_fields__ if name != "role_ids"]
    return {name: stored[name] for name in names} | {"roleIds": [role["id"] for role in stored["roles"]]}


@pytest.mark.feature("tables")
@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({}, 201),
        ({"kind": "service"}, 201),
        ({"service": SERVICE}, 201),
        ({"kind": "service", "service": SERVICE}, 201),
        ({"service": None}, 403),
        ({"kind": "service", "service": None}, 403),
        ({"kind": "service", "service": "shop"}, 403),
        ({"kind": "person", "password": "four wary herons"}, 403),
        ({"password": "four wary herons"}, 422),
    ],
)
async def test_what_it_creates_is_a_service_account_of_the_same_service(
    bound: House, values: dict[str, Any], status: int
) -> None:
    before = bound.ways_in()
    single = await bound.ask(("POST", "/api/user", {"userName": "one", "nickName": "One", **values}))
    row = {"userName": "two", "nickName": "Two", **values}
    table = await bound.ask(("POST", "/api/user/import", {"users": [row]}))

    assert (single.status, table.status) == (status, {201: 200, 403: 422}.get(status, status))
    assert bound.ways_in() == before
    stored = execute(
        bound.service,
        "SELECT kind, service, status FROM sys.user WHERE user_name IN ('one', 'two')",
    )
    assert stored == [("service", SERVICE, "enabled")] * (2 if status == 201 else 0)
    if status == 403:
        (fault,) = table.json["errors"]
        for refusal in (single.json, fault):
            assert (refusal["code"], refusal["layer"], refusal["required"]) == (
                "permission_denied",
                "account",
                [],
            )
            assert (refusal["field"], "decisionId" in refusal) == ("service", True)


@pytest.mark.feature("tables")
async def test_all_denied_rows_of_a_table_are_told_and_none_is_saved(bound: House) -> None:
    people = await targets(bound.service)
    rows = [
        {"userName": "new", "nickName": "New", "kind": "person", "password": "four wary herons"},
        {"userName": "fine", "nickName": "Fine"},
        {"userName": "heron", "email": "thief@example.org"},
        {"userName": "shopper", "service": SERVICE},
    ]

    answer = await bound.ask(("POST", "/api/user/import", {"users": rows}))

    denials = [(error["row"], error["field"], error["layer"]) for error in answer.json["errors"]]
    assert denials == [(1, "service", "account"), (3, "email", "account"), (4, "service", "account")]
    assert execute(bound.service, "SELECT 1 FROM sys.user WHERE user_name IN ('new', 'fine')") == []
    assert (await bound.service.data("GET", f"/api/user/{people['person']}"))["email"] is None


async def test_it_administers_accounts_of_its_own_service_and_does_the_rest_to_others(bound: House) -> None:
    people = await targets(bound.service)
    colleague = await bound.ask(("POST", "/api/user", {"userName": "colleague", "nickName": "Colleague"}))
    mine = f"/api/user/{colleague.json['data']['id']}"
    contact = {"email": "team@example.org", "nickName": "Team"}

    assert (await bound.ask(("PATCH", mine, contact))).status == 200
    assert (await bound.ask(("PATCH", mine, {"service": None}))).status == 403
    assert (await bound.ask(("DELETE", mine, None))).status == 200
    heron = f"/api/user/{people['person']}"
    assert (await bound.ask(("PATCH", heron, {"nickName": "Edited"}))).status == 200
    assert (await bound.ask(("PUT", f"{heron}/status", {"status": "disabled"}))).status == 200
    assert (await bound.ask(("DELETE", heron, None))).status == 200
