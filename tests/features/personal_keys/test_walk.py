"""What a personal key reaches: a walk of all writes with a key of the administrator, of the widest scopes."""

import re
from collections.abc import AsyncIterator
from typing import Final

import psycopg
import pytest

from service.authz.engine.rules import ENDPOINT
from service.kernel.assurance import ANYONE
from tests.features.personal_keys.conftest import KEYS
from tests.support.inside import Inside
from tests.support.unstarted import SHIPPED
from tests.users.writes import PROVIDER, WRITES, World

CLOSED: Final = {
    # Keys.
    *("POST /api/user/profile/keys", "DELETE /api/user/profile/keys/{key_id}"),
    *("POST /api/user/{id}/keys", "DELETE /api/user/{id}/keys/{key_id}"),
    # Agents and delegations.
    *("PUT /api/agent/{id}", "DELETE /api/agent/{id}", "PUT /api/agent/{id}/enabled"),
    *("PUT /api/agent/switch", "DELETE /api/agent/delegation/{delegation_id}"),
    *("POST /api/user/profile/delegations", "DELETE /api/user/profile/delegations/{delegation_id}"),
    "POST /api/user/profile/approvals/{approval_id}",
    # The password, the address, the factors and the providers of the owner.
    *("PUT /api/user/profile/password", "POST /api/user/profile/email/verification"),
    *("POST /api/user/profile/email/agreement", "DELETE /api/user/profile/factors/{id}"),
    *("DELETE /api/user/profile/origins/{source}", "POST /api/user/profile/factors/totp"),
    *("POST /api/user/profile/factors/totp/{id}/confirm", "POST /api/user/profile/factors/passkey"),
    *("POST /api/user/profile/factors/passkey/options", "POST /api/user/profile/factors/recovery-codes"),
    *("POST /api/auth/oidc/{provider}/link", "POST /api/auth/oidc/{provider}/step-up"),
    *("POST /api/auth/step-up/options", "POST /api/auth/step-up"),
    # Those of others.
    *("POST /api/user/{id}/invitation", "PUT /api/user/{id}/password", "POST /api/user/{id}/password-reset"),
    *("POST /api/auth/oidc/{provider}/accounts", "POST /api/directory/{source}/accounts"),
    *("POST /api/user/{id}/email/verification", "POST /api/user/{id}/owner/verification"),
    *("DELETE /api/user/{id}/factors", "DELETE /api/user/{id}/origins/{source}"),
    "POST /api/user/{id}/erasure",
    # Sessions.
    *("POST /api/auth/logout", "POST /api/auth/logout/all", "DELETE /api/auth/sessions/{device}"),
    *("POST /api/auth/oidc/logout", "POST /api/user/bulk/end-sessions"),
    *("DELETE /api/online/{login_id}", "DELETE /api/online/{login_id}/{device}"),
    # Requests, approvals, reviews and sign-offs.
    *("POST /api/access-request", "DELETE /api/access-request/{id}"),
    *("POST /api/access-request/{id}/decision", "POST /api/access-request/{id}/closing"),
    *("POST /api/review", "POST /api/review/{id}/close", "POST /api/review/{id}/decision"),
    *("POST /api/review/{id}/item/{item_id}/decision",),
    "POST /api/policy/revisions/{revision}/sign-off",
    # What would hide a notice about the key.
    "POST /api/user/profile/notices/read",
    # Accounts, and what gives access.
    *("POST /api/user", "DELETE /api/online/{login_id}/ban"),
    *("POST /api/user/{id}/roles", "PATCH /api/user/{id}/roles/{assignment_id}"),
    "DELETE /api/user/{id}/roles/{assignment_id}",
    *("POST /api/role", "PUT /api/role/{id}", "PATCH /api/role/{id}", "POST /api/role/bulk/enabled"),
    *("DELETE /api/role/{id}", "PUT /api/role/{id}/permissions", "PUT /api/role/{id}/request-rule"),
    *("DELETE /api/role/{id}/request-rule", "POST /api/role/import"),
    *("POST /api/menu", "PUT /api/menu/{id}", "PATCH /api/menu/{id}", "DELETE /api/menu/{id}"),
    *("POST /api/resource", "PUT /api/resource/{id}", "PATCH /api/resource/{id}"),
    *("POST /api/resource/bulk/enabled", "PUT /api/resource/{id}/enabled", "DELETE /api/resource/{id}"),
    *("PUT /api/resource/{id}/buttons", "PUT /api/menu/{id}/resources"),
    "POST /api/policy/revisions/{revision}/restore",
    *("PUT /api/directory/{source}", "DELETE /api/directory/{source}"),
    *(
        f"{method} /scim/v2/{noun}/{{id}}"
        for method in ("PUT", "PATCH", "DELETE")
        for noun in ("Users", "Groups")
    ),
    *("POST /scim/v2/Users", "POST /scim/v2/Groups"),
    *("POST /api/service", "PUT /api/service/{id}", "PATCH /api/service/{id}", "DELETE /api/service/{id}"),
    *("POST /api/opening", "DELETE /api/opening/{id}"),
}
OPEN: Final = {
    # Within the codes of the person and the scopes of the key, as for a session. Of accounts: a new name or
    # picture, and what takes access away.
    *("PUT /api/user/profile", "POST /oauth/introspect", "PUT /api/user/{id}", "PATCH /api/user/{id}"),
    *("PUT /api/user/{id}/status", "DELETE /api/user/{id}", "POST /api/online/{login_id}/ban"),
    # Each account is decided by itself, and one that would get access is refused.
    *("POST /api/user/bulk/status", "POST /api/user/bulk/role", "POST /api/user/import"),
    *("POST /api/policy/explain", "POST /api/policy/reload", "POST /scim/v2/.search"),
    *("POST /scim/v2/Users/.search", "POST /scim/v2/Groups/.search"),
    *("POST /api/file", "DELETE /api/file/{id}"),
    *("POST /api/file/{id}/public-link", "DELETE /api/file/{id}/public-link"),
    *("POST /access/v1/evaluation", "POST /access/v1/evaluations", "POST /access/v1/follow"),
    *("POST /access/v1/search/subject", "POST /access/v1/search/resource", "POST /access/v1/search/action"),
    *("POST /api/jobs/{name}/run", "PUT /api/jobs/{name}/paused", "POST /api/chat/{name}/test"),
    *("POST /api/webhook/{name}/test", "POST /api/webhook/{name}/replay"),
}
BY_KEY: Final = "An API key of a person, or an agent, can't do this: log in"
WIDEST: Final = ["system:*", "finance:*"]


def test_each_write_is_open_or_closed_to_personal_keys() -> None:
    """A new write has to be listed in one of the two."""
    public = {rule.object for rule in SHIPPED.rules if rule.layer == ENDPOINT and rule.code == ANYONE}
    writes = {route for route in SHIPPED.routes if not route.startswith("GET ")} - public
    assert writes == CLOSED | OPEN
    assert not CLOSED & OPEN


@pytest.fixture
async def provided(service_with: object) -> AsyncIterator[Inside]:
    """A service with a provider, to which accounts could be handed over."""
    async with service_with(**PROVIDER) as running:  # type: ignore[operator]
        running.token = await running.log_in()
        yield running


async def test_a_key_with_the_widest_scopes_reaches_no_closed_write(provided: Inside) -> None:
    order = {"name": "wide", "scopes": WIDEST, "expiresIn": 600}
    key = (await provided.data("POST", KEYS, order))["key"]
    reached: dict[str, object] = {}
    with psycopg.connect(provided.database_url, autocommit=True) as connection:
        world = World(connection)
        aimed = {write.endpoint: write.aim for write in WRITES}
        for endpoint in sorted(CLOSED):
            if endpoint in aimed:
                method, path, body = aimed[endpoint](world, "low")
            else:
                method, _, template = endpoint.partition(" ")
                path, body = re.sub(r"\{\w+\}", "1", template), {}
            before = world.stored()
            answer = await provided.ask(method, path, body, token=key)
            layer = answer.json.get("layer") if answer.status == 403 else None
            if endpoint.partition(" ")[2].startswith("/scim/") and answer.json["detail"] == BY_KEY:
                layer = "account"  # SCIM errors have no layer
            # Some are closed by the demands on authentication before the layer "account" is asked.
            if layer not in ("account", "assurance") or world.stored() != before:
                reached[endpoint] = (answer.status, answer.body)
    assert reached == {}


async def test_a_key_changes_no_address_of_its_owner_or_of_others(provided: Inside) -> None:
    order = {"name": "wide", "scopes": WIDEST, "expiresIn": 600}
    key = (await provided.data("POST", KEYS, order))["key"]
    body = {"userName": "mia", "nickName": "Mia", "password": "four wary herons"}
    made = await provided.data("POST", "/api/user", body)
    profile = {
        "nickName": "Admin",
        "email": "thief@example.org",
        "phone": None,
        "gender": None,
        "avatar": None,
    }
    for method, path, change in (
        ("PATCH", f"/api/user/{made['id']}", {"email": "thief@example.org"}),
        ("PATCH", f"/api/user/{made['id']}", {"phone": "+49 30 1234567"}),
        ("PUT", "/api/user/profile", profile),
    ):
        refused = await provided.ask(method, path, change, token=key)
        assert (refused.status, refused.json["layer"]) == (403, "account"), refused.body
    assert (
        await provided.ask("PATCH", f"/api/user/{made['id']}", {"nickName": "M"}, token=key)
    ).status == 200


async def test_a_key_gives_nobody_access(provided: Inside) -> None:
    order = {"name": "wide", "scopes": WIDEST, "expiresIn": 600}
    key = (await provided.data("POST", KEYS, order))["key"]
    body = {"userName": "moa", "nickName": "Moa", "password": "four wary herons"}
    moa = (await provided.data("POST", "/api/user", body))["id"]
    off = (await provided.data("POST", "/api/user", body | {"userName": "off"}))["id"]
    await provided.data("PUT", f"/api/user/{off}/status", {"status": "disabled"})
    imported = {"users": [{"userName": "ivy", "nickName": "Ivy", "roles": ["super"]}]}
    with psycopg.connect(provided.database_url, autocommit=True) as connection:
        count = (
            "SELECT (SELECT count(*) FROM sys.user_role),"
            " (SELECT count(*) FROM sys.user WHERE status = 'enabled')"
        )
        before = connection.execute(count).fetchone()
        for method, path, change in (
            ("PATCH", f"/api/user/{moa}", {"roleIds": [1]}),
            ("POST", "/api/user/bulk/role", {"ids": [moa], "roleId": 1, "action": "assign"}),
            ("PUT", f"/api/user/{off}/status", {"status": "enabled"}),
            ("POST", "/api/user/bulk/status", {"ids": [off], "status": "enabled"}),
            ("POST", "/api/user/import", imported),
        ):
            refused = await provided.ask(method, path, change, token=key)
            assert refused.status in (403, 422), (path, refused.status, refused.body)
            assert connection.execute(count).fetchone() == before, path
        disabled = await provided.ask("PUT", f"/api/user/{moa}/status", {"status": "disabled"}, token=key)
        assert disabled.status == 200
