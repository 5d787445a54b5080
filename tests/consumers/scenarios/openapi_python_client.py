"""What a client does that openapi-python-client has made; takes a URL, a name and a password."""

from __future__ import annotations

import sys

from portcullis_api_client import AuthenticatedClient, Client
from portcullis_api_client.api.auth import log_in
from portcullis_api_client.api.role import (
    create_role,
    delete_role,
    get_role,
    get_role_permissions,
    patch_role,
)
from portcullis_api_client.api.user import create_user, list_users
from portcullis_api_client.models import (
    Credentials,
    EmptyWriteEnvelope,
    NewRole,
    PermissionDeniedProblem,
    PreconditionFailedProblem,
    RoleMenusEnvelope,
    RolePatch,
    RoleWriteEnvelope,
    TokenPairEnvelope,
    UserBody,
    UserPageEnvelope,
    ValidationFailedProblem,
)
from portcullis_api_client.types import Unset

PASSWORD = "three wary herons"


def client_of(url: str, name: str, password: str) -> AuthenticatedClient:
    answer = log_in.sync(client=Client(base_url=url), body=Credentials(user_name=name, password=password))
    assert isinstance(answer, TokenPairEnvelope)
    return AuthenticatedClient(base_url=url, token=answer.data.access_token)


def scenario(url: str, name: str, password: str) -> None:
    admin = client_of(url, name, password)

    listed = list_users.sync(client=admin, size=5)
    assert isinstance(listed, UserPageEnvelope)
    names: list[str] = [user.user_name for user in listed.data.items]
    assert name in names

    made = create_role.sync(client=admin, body=NewRole(role_code="by-client", role_name="Made"))
    assert isinstance(made, RoleWriteEnvelope)
    number: int = made.data.id
    assert isinstance(made.preview, Unset)
    tag = get_role.sync_detailed(number, client=admin).headers["ETag"]

    edit = RolePatch(permissions=["system:user:list"])
    dry = patch_role.sync(number, client=admin, body=edit, dry_run=True)
    assert isinstance(dry, RoleWriteEnvelope)
    assert not isinstance(dry.preview, Unset)
    gained: list[str] = dry.preview.gains[0].access
    assert (dry.data.id, "GET /api/user/list" in gained) == (number, True)
    kept = get_role_permissions.sync(number, client=admin)
    assert isinstance(kept, RoleMenusEnvelope)
    assert kept.data.permissions == []

    changed = patch_role.sync(number, client=admin, body=RolePatch(role_name="Changed"), if_match=tag)
    assert isinstance(changed, RoleWriteEnvelope)
    late = patch_role.sync_detailed(number, client=admin, body=RolePatch(role_name="Late"), if_match=tag)
    assert isinstance(late.parsed, PreconditionFailedProblem)
    assert (late.status_code, late.parsed.code) == (412, "precondition_failed")

    weak = create_user.sync(client=admin, body=UserBody(user_name="weak", nick_name="Weak", password="x"))
    assert isinstance(weak, ValidationFailedProblem)
    (fault,) = weak.errors
    code: str = fault.code
    assert (fault.field, code, sorted(fault.params.to_dict())) == ("password", "too_short", ["least", "most"])

    create_user.sync(client=admin, body=UserBody(user_name="parsed", nick_name="Parsed", password=PASSWORD))
    denied = list_users.sync_detailed(client=client_of(url, "parsed", PASSWORD))
    assert isinstance(denied.parsed, PermissionDeniedProblem)
    required: list[str] = denied.parsed.required
    assert (denied.status_code, required) == (403, ["system:user:list"])

    gone = delete_role.sync(number, client=admin)
    assert isinstance(gone, EmptyWriteEnvelope)
    assert gone.data is None


if __name__ == "__main__":
    scenario(*sys.argv[1:])
