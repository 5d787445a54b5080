"""A directory that is provisioned twice: the second run writes nothing; large groups cost few statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import quote

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tests.features.scim.scim_client import GROUP, USER, ScimClient, roles_of, scim_client
from tests.support.inside import Inside
from tests.support.members import query

USERS: Final = 300
GROUPS: Final = 20
MEMBERS: Final = 120
LOGS: Final = (
    *("login_log", "operation_log", "operation_intent", "permission_use", "api_key", "log_chain"),
    *("policy_worker", "job", "token_life"),
)
"""Tables that a request writes which changes nothing: that it was made, and by whom; and those of workers."""

_COUNTING: Final = ContextVar("counting", default=False)
"""True in the requests whose statements are noted; what the service does by itself has another context."""


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


async def put(client: ScimClient, kind: str, name: str, body: dict[str, Any]) -> str:
    """Create a resource, or replace the one of that name; returns its id."""
    text = quote(f'{name} eq "{body[name]}"')
    listed = (await client.data("GET", f"/{kind}?filter={text}"))["Resources"]
    method, path = ("PUT", f"/{kind}/{listed[0]['id']}") if listed else ("POST", f"/{kind}")
    return str((await client.data(method, path, body))["id"])


async def run(client: ScimClient) -> list[str]:
    ids = []
    for number in range(USERS):
        name = f"user-{number}@example.org"
        body = {"schemas": [USER], "userName": name, "externalId": f"id-{number}", "active": number % 9 > 0}
        body |= {"displayName": f"User {number}", "emails": [{"value": name, "type": "work"}]}
        ids.append(await put(client, "Users", "userName", body))
    for number in range(GROUPS):
        chosen = [ids[(number * 7 + place) % USERS] for place in range(MEMBERS)]
        name = ("Readers", "Both")[number] if number < 2 else f"group-{number}"
        members = [{"value": user_id} for user_id in chosen]
        await put(
            client, "Groups", "displayName", {"schemas": [GROUP], "displayName": name, "members": members}
        )
    return ids


async def rows(house: Inside) -> dict[str, Any]:
    """Return which versions of which rows there are, by table: a row that is written again has another."""
    tables = await query(
        house,
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_schema = 'sys' AND table_type = 'BASE TABLE' ORDER BY 1",
    )
    made = {}
    for (table,) in tables:
        if not table.startswith(LOGS):
            versions = "string_agg(xmin::text || ctid::text, ',' ORDER BY ctid)"
            statement = f'SELECT count(*), md5({versions}) FROM sys."{table}"'
            made[table] = await query(house, statement)
    return made


@pytest.mark.extended
async def test_a_second_run_writes_nothing(house: Inside, entra: ScimClient) -> None:
    ids = await run(entra)
    assert await roles_of(house, ids[8]) == {"reader", "lister"}
    before = await rows(house)
    (between,) = await query(house, "SELECT clock_timestamp()")

    assert await run(entra) == ids

    assert await rows(house) == before
    page = await house.data("GET", "/api/operation-log/list?module=scim&size=200")
    again = [each for each in page["items"] if each["kind"] == "UPDATE"]
    assert len(again) > 0
    assert {each["action"] for each in again} <= {"replace a user", "replace a group"}
    changed = await query(
        house,
        "SELECT count(*) FROM sys.operation_log WHERE create_time > %s AND module = 'scim'"
        " AND jsonb_array_length(coalesce(changes, '[]')) > 0",
        between[0],
    )
    assert changed == [(0,)]


@contextmanager
def counted() -> Iterator[list[str]]:
    """Note every statement of the requests made meanwhile, and none that the service makes by itself."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if _COUNTING.get():
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    token = _COUNTING.set(True)
    try:
        yield seen
    finally:
        _COUNTING.reset(token)
        event.remove(Engine, "before_cursor_execute", note)


async def test_the_members_of_a_group_are_followed_by_as_many_statements_whatever_their_number(
    house: Inside, entra: ScimClient
) -> None:
    ids = [await entra.user(f"bird-{number}") for number in range(40)]
    group = await entra.group("Both")
    counts = []
    for size in (2, 38):
        members = [{"value": user_id} for user_id in ids[:size]]
        for listed in (members, []):
            with counted() as seen:
                body = {"schemas": [GROUP], "displayName": "Both", "members": listed}
                await entra.data("PUT", f"/Groups/{group}", body)
            counts.append(len(seen))
            expected = {"reader", "lister"} if listed else set()
            assert await roles_of(house, ids[size - 1]) == expected
    assert counts[2] <= counts[0], counts
    assert counts[3] <= counts[1], counts


async def test_what_is_sent_again_takes_no_lock_of_rights(entra: ScimClient) -> None:
    heron = await entra.user("heron")
    group = await entra.group("Readers", heron)
    bodies: dict[str, dict[str, Any]] = {
        f"/Users/{heron}": {"schemas": [USER], "userName": "heron"},
        f"/Groups/{group}": {"schemas": [GROUP], "displayName": "Readers", "members": [{"value": heron}]},
    }
    for path, body in bodies.items():
        with counted() as seen:
            await entra.data("PUT", path, body)
        assert [each for each in seen if "advisory" in each or "UPDATE sys" in each] == []
    with counted() as seen:
        await entra.data("PUT", f"/Users/{heron}", bodies[f"/Users/{heron}"] | {"displayName": "New"})
    assert [each for each in seen if "advisory" in each] != []


async def test_members_are_not_read_where_nobody_asks_for_them(entra: ScimClient) -> None:
    group = await entra.group("Readers", await entra.user("heron"))
    for path in (f"/Groups/{group}", "/Groups"):
        for query_text, reads in (("", True), ("?excludedAttributes=members", False)):
            with counted() as seen:
                await entra.data("GET", f"{path}{query_text}")
            assert any("scim_member" in each for each in seen) is reads, (path, query_text)
