"""What a new database starts with: the menu tree, the roles, and the first resources with their bindings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the administration interface; its Buttons (action, title) mean ``system:name:action``."""

    name: str
    title: str
    icon: str
    buttons: tuple[tuple[str, str], ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The permission codes of the page's Buttons."""
        return tuple(f"system:{self.name}:{action}" for action, _ in self.buttons)


@dataclass(frozen=True, slots=True)
class SeedRole:
    """A role, the codes of the Buttons that it holds, and whether it sees every page."""

    code: str
    name: str
    description: str
    codes: tuple[str, ...] = ()
    every_page: bool = False


@dataclass(frozen=True, slots=True)
class SeedResource:
    """A registered route and the codes it is bound to; bound to none it only asks for a login."""

    code: str
    name: str
    method: str
    path: str
    codes: tuple[str, ...] = ()


PAGES: Final = (
    Page(
        "user",
        "Users",
        "user",
        (
            ("list", "List users"),
            ("detail", "Read a user"),
            ("create", "Create users"),
            ("update", "Edit users"),
            ("delete", "Delete users"),
            ("reset-password", "Reset passwords"),
            ("export", "Export users"),
            ("import", "Create and edit users from a table"),
        ),
    ),
    Page(
        "role",
        "Roles",
        "shield",
        (
            ("list", "List roles"),
            ("create", "Create roles"),
            ("update", "Edit roles"),
            ("delete", "Delete roles"),
            ("permission", "Read and set the permissions of roles"),
            ("export", "Export roles"),
            ("import", "Create and edit roles from a table, permissions included"),
        ),
    ),
    Page(
        "menu",
        "Menus",
        "menu",
        (
            ("list", "List menus"),
            ("create", "Create menus"),
            ("update", "Edit menus"),
            ("delete", "Delete menus"),
        ),
    ),
    Page(
        "resource",
        "Resources",
        "link",
        (
            ("list", "List and read resources"),
            ("create", "Create resources"),
            ("update", "Edit resources"),
            ("delete", "Delete resources"),
            ("bind", "Bind Buttons and resources"),
        ),
    ),
    Page(
        "policy",
        "Policy",
        "scale",
        (("read", "Read and explain the policy"), ("reload", "Reload the policy")),
    ),
    Page(
        "online",
        "Online users",
        "activity",
        (("list", "List sessions"), ("kick", "End sessions"), ("ban", "Ban and unban users")),
    ),
    Page(
        "operation-log",
        "Operation log",
        "list",
        (("list", "List operations"), ("detail", "Read an operation"), ("export", "Export operations")),
    ),
    Page("login-log", "Login log", "log-in", (("list", "List logins"), ("export", "Export logins"))),
    Page(
        "file",
        "Files",
        "file",
        (
            ("list", "List files"),
            ("upload", "Upload files"),
            ("download", "Download files"),
            ("delete", "Delete files"),
            ("share", "Make and revoke public links"),
        ),
    ),
)

WILDCARDS: Final = (("*", "Everything"), ("system:*", "Everything below system"))

READING: Final = tuple(
    code
    for page in PAGES
    for code in page.codes
    if code.endswith((":list", ":detail")) or code == "system:policy:read"
)

ADMINISTRATOR: Final = "admin"
ADMINISTRATOR_ROLE: Final = "super"

ROLES: Final = (
    SeedRole(ADMINISTRATOR_ROLE, "Super administrator", "May do everything", ("*",), every_page=True),
    SeedRole("admin", "Administrator", "May do everything below system", ("system:*",), every_page=True),
    SeedRole("auditor", "Auditor", "May read lists, details and the policy", READING),
    SeedRole("user", "User", "May do what a login alone allows"),
)

# A parameter fits whatever no literal does: a {id} is registered only beside the literal paths that it would
# otherwise take over.
RESOURCES: Final = (
    SeedResource("user.info", "Own account", "GET", "/api/user/info"),
    SeedResource("user.list", "List users", "GET", "/api/user/list", ("system:user:list",)),
    SeedResource("user.detail", "Read a user", "GET", "/api/user/{id}", ("system:user:detail",)),
    SeedResource("user.export", "Export users", "GET", "/api/user/export", ("system:user:export",)),
    SeedResource("user.create", "Create a user", "POST", "/api/user", ("system:user:create",)),
    SeedResource(
        "role.list",
        "List roles",
        "GET",
        "/api/role/list",
        ("system:role:list", "system:user:create", "system:user:update"),
    ),
    SeedResource("role.create", "Create a role", "POST", "/api/role", ("system:role:create",)),
    SeedResource("role.update", "Edit a role", "PUT", "/api/role/{id}", ("system:role:update",)),
    SeedResource("role.delete", "Delete a role", "DELETE", "/api/role/{id}", ("system:role:delete",)),
    SeedResource("menu.list", "List menus", "GET", "/api/menu/list", ("system:menu:list",)),
    SeedResource("resource.list", "List resources", "GET", "/api/resource/list", ("system:resource:list",)),
    SeedResource("policy.read", "Read the policy", "GET", "/api/policy", ("system:policy:read",)),
)
