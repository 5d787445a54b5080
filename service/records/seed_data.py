"""The seeds beside the catalogue of permissions: roles, wildcards, resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from service.kernel.extension import SeedResource
from service.kernel.permission_catalogue import permissions
from service.records.user_list import UserValues


@dataclass(frozen=True, slots=True)
class SeedRole:
    """A role, the codes of the Buttons that it holds, and whether it sees every page."""

    code: str
    name: str
    description: str
    codes: tuple[str, ...] = ()
    every_page: bool = False


WILDCARDS: Final = (("*", "Everything"), ("system:*", "Everything below system"))

READING: Final = tuple(
    code
    for code in permissions()
    if code.endswith((":list", ":detail", "-log:export", "policy:read", "doctor:read"))
)

ADMINISTRATOR: Final = UserValues(user_name="admin", nick_name="Administrator")
ADMINISTRATOR_ROLE: Final = "super"

ROLES: Final = (
    SeedRole(ADMINISTRATOR_ROLE, "Super administrator", "May do everything", ("*",), every_page=True),
    SeedRole("admin", "Administrator", "May do everything below system", ("system:*",), every_page=True),
    SeedRole("auditor", "Auditor", "May read lists, details and the policy, and export the logs", READING),
    SeedRole("user", "User", "May do what a login alone allows"),
)

# A parameter matches everything that no literal path does: a {id} is registered only together with the
# literal paths that it would otherwise cover.
RESOURCES: Final = (
    SeedResource("user.info", "Own account", "GET", "/api/user/info"),
    SeedResource("user.list", "List users", "GET", "/api/user/list"),
    SeedResource("user.detail", "Read a user", "GET", "/api/user/{id}"),
    SeedResource("user.export", "Export users", "GET", "/api/user/export"),
    SeedResource("user.create", "Create a user", "POST", "/api/user"),
    SeedResource("role.list", "List roles", "GET", "/api/role/list"),
    SeedResource("role.create", "Create a role", "POST", "/api/role"),
    SeedResource("role.update", "Edit a role", "PUT", "/api/role/{id}"),
    SeedResource("role.patch", "Change some values of a role", "PATCH", "/api/role/{id}"),
    SeedResource("role.delete", "Delete a role", "DELETE", "/api/role/{id}"),
    SeedResource("menu.list", "List menus", "GET", "/api/menu/list"),
    SeedResource("resource.list", "List resources", "GET", "/api/resource/list"),
    SeedResource("policy.read", "Read the policy", "GET", "/api/policy"),
    SeedResource("user.operations", "Own operations", "GET", "/api/user/operations"),
    SeedResource("user.profile", "Own profile", "GET", "/api/user/profile"),
)
