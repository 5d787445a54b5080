"""What a client in Python does that openapi-generator has made; takes a URL, a name and a password."""

from __future__ import annotations

import sys
from collections.abc import Callable

from openapi_generator_client import (
    ApiClient,
    ApiException,
    AuthApi,
    Configuration,
    Credentials,
    NewRole,
    PermissionDeniedProblem,
    PreconditionFailedProblem,
    RolePatch,
    UserApi,
    UserBody,
    UserSort,
)
from openapi_generator_client import RoleApi as Roles

PASSWORD = "three wary herons"


def client_of(url: str, token: str | None = None) -> ApiClient:
    return ApiClient(Configuration(host=url, access_token=token))


def token_of(url: str, name: str, password: str) -> str:
    token: str = (
        AuthApi(client_of(url)).log_in(Credentials(userName=name, password=password)).data.access_token
    )
    return token


def refusal_of(request: Callable[[], object]) -> ApiException:
    try:
        request()
    except ApiException as refusal:
        return refusal
    raise AssertionError("Nothing was refused")


def scenario(url: str, name: str, password: str) -> None:
    admin = client_of(url, token_of(url, name, password))
    roles, users = Roles(admin), UserApi(admin)

    listed = users.list_users(size=5, sort=UserSort.MINUS_CREATE_TIME).data.items
    names: list[str] = [user.user_name for user in listed]
    assert name in names

    made = roles.create_role(NewRole(roleCode="by-generator", roleName="Made"))
    number: int = made.data.id
    assert made.preview is None
    read = roles.get_role_with_http_info(number)
    assert read.headers is not None
    tag = {header.lower(): value for header, value in read.headers.items()}["etag"]  # by a plain dictionary

    dry = roles.patch_role(number, RolePatch(permissions=["system:user:list"]), dry_run=True)
    assert dry.preview is not None
    gained: list[str] = dry.preview.gains[0].access
    assert (dry.data.id, "GET /api/user/list" in gained) == (number, True)
    assert roles.get_role_permissions(number).data.permissions == []

    changed = roles.patch_role(number, RolePatch(roleName="Changed"), if_match=tag)
    assert changed.data.role_name == "Changed"
    late = refusal_of(lambda: roles.patch_role(number, RolePatch(roleName="Late"), if_match=tag))
    assert isinstance(late.data, PreconditionFailedProblem)
    assert (late.status, late.data.code) == (412, "precondition_failed")

    users.create_user(UserBody(userName="generated", nickName="Generated", password=PASSWORD))
    person = UserApi(client_of(url, token_of(url, "generated", PASSWORD)))
    denied = refusal_of(person.list_users)
    assert denied.data is not None
    problem = denied.data.actual_instance  # one of several with this status, told apart by the code
    assert isinstance(problem, PermissionDeniedProblem)
    required: list[str] = problem.required
    assert (denied.status, required) == (403, ["system:user:list"])

    assert roles.delete_role(number).data is None


if __name__ == "__main__":
    scenario(*sys.argv[1:])
