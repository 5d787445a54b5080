"""The request examples of the documentation, each sent to a seeded service."""

from typing import Any

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.inside_fixtures import service
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.without import is_served

__all__ = ["service"]


OPERATIONS = {
    operation.object: operation
    for operation in check_routes(read_shipped()).operations
    if operation.signature.body is not None
}
ORDER = (
    "POST /api/auth/login",
    "POST /api/user",
    "PUT /api/user/{id}",
    "PATCH /api/user/{id}",
    "PUT /api/user/{id}/status",
    "POST /api/user/{id}/roles",
    "PATCH /api/user/{id}/roles/{assignment_id}",
    "POST /api/user/bulk/status",
    "POST /api/user/bulk/role",
    "POST /api/user/bulk/end-sessions",
    "PUT /api/user/{id}/password",
    "POST /api/user/import",
    "POST /api/online/{login_id}/ban",
    "POST /api/role",
    "PUT /api/role/{id}",
    "PATCH /api/role/{id}",
    "POST /api/role/bulk/enabled",
    "PUT /api/role/{id}/permissions",
    "PUT /api/role/{id}/request-rule",
    "POST /api/role/import",
    "POST /api/menu",
    "PUT /api/menu/{id}",
    "PATCH /api/menu/{id}",
    "PUT /api/menu/{id}/resources",
    "POST /api/resource",
    "POST /api/resource/bulk/enabled",
    "PUT /api/resource/{id}",
    "PATCH /api/resource/{id}",
    "PUT /api/resource/{id}/enabled",
    "PUT /api/resource/{id}/buttons",
    "POST /api/service",
    "PUT /api/service/{id}",
    "PATCH /api/service/{id}",
    "POST /api/policy/explain",
    "POST /api/file/{id}/public-link",
    "PUT /api/jobs/{name}/paused",
)
"""Each as the one before has left the service; what a POST has made is what the next ones name."""
PROOFS = {
    "POST /api/auth/login/second-factor",
    "POST /api/auth/login/second-factor/options",
    "POST /api/auth/login/passkey",
    "POST /api/auth/step-up",
    "POST /api/user/profile/factors/totp",
    "POST /api/user/profile/factors/totp/{id}/confirm",
    "POST /api/user/profile/factors/passkey",
}
"""About a second factor: each needs a proof, or the answer to a challenge, that no example can have."""
LINKS = {
    "POST /api/auth/invitation",
    "POST /api/auth/password-reset",  # and no mail is sent
    "POST /api/auth/password-reset/options",
    "POST /api/auth/password-reset/confirm",
    "POST /api/auth/address",
    "POST /api/auth/address/undo",
    "POST /api/auth/sessions/end",
}
"""Opened by the token of a link, which no example can have."""
OF_DIRECTORIES = {
    name
    for name in OPERATIONS
    if name.split()[1].startswith(("/api/auth/oidc/", "/api/directory/", "/scim/"))
}
"""Of a provider, which no installation has at first, or of the service account of a directory."""
OTHERWISE = {
    "POST /access/v1/follow",
    "POST /api/auth/refresh",
    "POST /api/user/{id}/keys",
    "PUT /api/user/profile",
    "PUT /api/user/profile/password",
    "POST /api/user/profile/email/agreement",
    "POST /api/access-request/{id}/decision",  # of a request that somebody else has made
    "POST /api/access-request/{id}/closing",
    "POST /api/access-request",  # for a role that has a rule
    "POST /api/policy/revisions/{revision}/sign-off",  # of a revision that was published
    "POST /api/review/{id}/item/{item_id}/decision",  # about somebody else
    "POST /api/review/{id}/decision",
    "POST /api/key/leaked",  # of a key of the test
    "POST /api/user/{id}/erasure",  # with the tag of the preview
    *("PUT /api/agent/{id}", "PUT /api/agent/{id}/enabled"),  # of a service account
    "POST /api/user/profile/delegations",  # to an agent
    "POST /api/user/profile/approvals/{approval_id}",  # of a call of an agent
    "POST /api/webhook/{name}/replay",  # of a destination of the settings
    *PROOFS,
    *LINKS,
    *OF_DIRECTORIES,
}
"""Sent with a token or a password in place of the one that is shown, or about a service account."""

OTHERS = tuple(name for name in OPERATIONS if name not in {*ORDER, *OTHERWISE})
"""Sent last, in any order: they must not be about what another request has made."""


def test_every_operation_that_takes_json_has_an_example_and_is_sent_one() -> None:
    assert [name for name, operation in OPERATIONS.items() if operation.metadata.example is None] == []
    assert {*ORDER, *OTHERWISE} <= {*OPERATIONS}
    assert [name for name in OTHERS if "{" in name] == []


async def test_each_example_is_answered_with_success_and_harms_nobody(service: Inside) -> None:
    button = next(
        menu["id"]
        for menu in (await service.data("GET", "/api/menu/list?size=200&menuType=Button"))["items"]
        if menu["authMark"] == "system:role:list"
    )
    made: dict[str, Any] = {"file": await uploaded(service)}
    for name in filter(is_served, (*ORDER, *OTHERS)):
        method, template = name.split(" ")
        family = template.split("/")[2]
        known = button if name == "PUT /api/menu/{id}/resources" else made.get(family)
        target = template.format(
            id=known, login_id=made.get("user"), name="file-sweep", assignment_id=made.get("assignment")
        )
        answer = await service.ask(method, target, sent(name))
        assert answer.status == OPERATIONS[name].status, (name, answer.body)
        if name == "POST /api/auth/login":  # it has ended the session on the same device
            service.token = answer.json["data"]["accessToken"]
        if name == "POST /api/user/{id}/roles":
            made["assignment"] = answer.json["data"]["id"]
        elif OPERATIONS[name].status == 201 and family in ("user", "role", "menu", "resource", "service"):
            made[family] = answer.json["data"]["id"]

    users = (await service.data("GET", "/api/user/list"))["items"]
    assert {user["userName"]: user["status"] for user in users} == {
        "admin": "enabled",
        **({"egret": "enabled"} if is_served("POST /api/user/import") else {}),
        "heron": "disabled",  # by the example of the act on many users
    }


async def test_the_examples_that_hold_secrets_are_taken_with_real_ones(service: Inside) -> None:
    mine = {"userName": "wanda", "nickName": "Wanda", "password": "three wary herons"}
    await service.data("POST", "/api/user", mine)
    login = {name: mine[name] for name in ("userName", "password")}
    tokens = (await service.ask("POST", "/api/auth/login", login)).json["data"]

    renewed = await service.ask("POST", "/api/auth/refresh", {"refreshToken": tokens["refreshToken"]})
    token = renewed.json["data"]["accessToken"]
    example = OPERATIONS["PUT /api/user/profile/password"].metadata.example or {}
    changed = await service.ask(
        "PUT",
        "/api/user/profile/password",
        {**example, "currentPassword": mine["password"]},
        token=token,
    )

    assert set(OPERATIONS["POST /api/auth/refresh"].metadata.example or ()) == {"refreshToken"}
    assert (renewed.status, changed.status) == (200, 200)


async def test_the_example_of_an_api_key_is_taken_for_a_service_account(service: Inside) -> None:
    account = {"userName": "nightly", "nickName": "Nightly", "kind": "service", "roleIds": [1]}
    made = await service.data("POST", "/api/user", account)
    example = OPERATIONS["POST /api/user/{id}/keys"].metadata.example
    assert (await service.ask("POST", f"/api/user/{made['id']}/keys", example)).status == 201


@with_each("name", sorted(PROOFS))
async def test_the_example_of_a_second_factor_has_the_form_that_is_read(service: Inside, name: str) -> None:
    method, template = name.split(" ")
    answer = await service.ask(method, template.format(id=1), OPERATIONS[name].metadata.example)
    assert answer.status in (201, 401, 404, 409, 422), answer.body
    if answer.status == 422:
        assert {error["field"] for error in answer.json["errors"]} <= {"code", "credential"}, answer.body


def sent(name: str) -> Any:
    example = OPERATIONS[name].metadata.example
    assert example is not None
    mine = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    return {**example, **mine} if name == "POST /api/auth/login" else example


async def uploaded(service: Inside) -> int:
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'
    kind = ("Content-Type", "multipart/form-data; boundary=x")
    answer = await service.ask_raw("POST", "/api/file", body, kind)
    assert answer.status == 201, answer.body
    identity: int = answer.json["data"]["id"]
    return identity
