"""Who is disabled by SCIM has nothing left that opens the service, whichever way the client takes."""

from typing import Any, Final

import pytest

from tests.features.scim.scim_client import PATCH, USER, ScimClient, scim_client
from tests.support.inside import Inside
from tests.support.members import query, until_row
from tests.support.seeded import ADMINISTRATOR_PASSWORD

INACTIVE: Final = {"op": "replace", "path": "active", "value": False}
WAYS: Final[dict[str, tuple[str, Any]]] = {
    "patch": ("PATCH", {"schemas": [PATCH], "Operations": [INACTIVE]}),
    "put": ("PUT", {"schemas": [USER], "userName": "heron", "active": False}),
    "delete": ("DELETE", None),
}
REQUEST: Final = (
    "INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration, asked_decision_id,"
    " stage_codes, stage_approvals, grant_needed, create_time, deadline)"
    " SELECT %s, 'heron', id, role_code, 3600, 'r1-x', '{}', '{}', false, now(), now() + interval '1 day'"
    " FROM sys.role WHERE role_code = 'reader'"
)


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


@pytest.fixture(params=sorted(WAYS))
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def heron_of(house: Inside, entra: ScimClient) -> str:
    """Make the user ``heron``, who may log in with the password of the administrator."""
    user_id = await entra.user("heron")
    await entra.group("Readers", user_id)
    same = "SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1)"
    await query(house, f"UPDATE sys.user {same} WHERE id = %s", int(user_id))
    return user_id


async def disable(entra: ScimClient, user_id: str, way: str) -> None:
    method, body = WAYS[way]
    await entra.data(method, f"/Users/{user_id}", body)


async def test_all_sessions_end(house: Inside, entra: ScimClient, way: str) -> None:
    user_id = await heron_of(house, entra)
    tokens = [await house.log_in("heron"), await house.log_in("heron")]
    assert (await house.ask("GET", "/api/file/list", token=tokens[1])).status == 200
    await disable(entra, user_id, way)
    for token in tokens:
        assert (await house.ask("GET", "/api/file/list", token=token)).status in (401, 403)
    online = await house.data("GET", "/api/online/list?size=200")
    assert user_id not in {each["loginId"] for each in online["items"]}
    credentials = {"userName": "heron", "password": ADMINISTRATOR_PASSWORD}
    assert (await house.as_anonymous("POST", "/api/auth/login", body=credentials)).status == 403


async def test_api_keys_open_nothing_more(house: Inside, entra: ScimClient, way: str) -> None:
    """A person has no API keys: the account is one of a service that the directory has taken over."""
    account = {"userName": "heron", "nickName": "Heron", "kind": "service"}
    made = await house.data("POST", "/api/user", account)
    key = (await house.data("POST", f"/api/user/{made['id']}/keys", {"name": "own"}))["key"]
    await query(
        house,
        "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
        " VALUES ('entra', '', %s, %s, true)",
        str(made["id"]),
        made["id"],
    )
    await query(house, "INSERT INTO sys.scim_user (user_id, directory) VALUES (%s, 'entra')", made["id"])
    assert (await house.ask("GET", "/api/user/info", token=key)).status == 200
    await disable(entra, str(made["id"]), way)
    assert (await house.ask("GET", "/api/user/info", token=key)).status in (401, 403)


async def test_requests_that_wait_end(house: Inside, entra: ScimClient, way: str) -> None:
    user_id = await heron_of(house, entra)
    await query(house, REQUEST, int(user_id))
    await disable(entra, user_id, way)
    ended = await query(
        house, "SELECT state, ended_by FROM sys.access_request WHERE user_id = %s", int(user_id)
    )
    assert ended == [("failed", "entra-feed")]
    entry = (
        "SELECT each ->> 'after' FROM sys.operation_log, jsonb_array_elements(changes) AS each"
        " JOIN sys.access_request r ON each ->> 'field' = 'accessRequest ' || r.id"
    )
    await until_row(house, entry, ('["failed: Its author was disabled"]',))
