"""The catalogue of permission codes: the endpoints that each one opens, and the title of its Button.

To add a code: put it here, declare it on its endpoint with ``@needs``, and write its lines into
``policies/endpoints.csv``. A start compares the three. A new database is seeded with the Buttons of all
codes, and an upgraded one gets the Button of a new code once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Permission:
    """A code, the title of its Button, and the endpoints that it opens, such as ``GET /api/user/list``.

    A code that opens none is asked for by a line of ``policies/accounts.csv``.
    """

    code: str
    title: str
    opens: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the administration interface: a Menu, and its permissions in the order of their Buttons.

    With ``own_root`` the Menu is at the top of the tree, and not below that of the service itself.
    """

    name: str
    title: str
    icon: str
    permissions: tuple[Permission, ...]
    own_root: bool = False


def _page(name: str, title: str, icon: str, *permissions: tuple[str, ...]) -> Page:
    """Return a page; each permission is given as its action, its title, and the endpoints that it opens."""
    return Page(
        name,
        title,
        icon,
        tuple(
            Permission(f"system:{name}:{action}", title, tuple(opens))
            for action, title, *opens in permissions
        ),
    )


CATALOGUE: Final = (
    _page(
        "user",
        "Users",
        "user",
        ("list", "List users", "GET /api/user/list", "GET /api/assignment/list"),
        (
            "detail",
            "Read a user",
            "GET /api/user/{id}",
            "GET /api/user/{id}/origins",
            "GET /api/user/{id}/roles",
            "GET /api/user/{id}/roles/{assignment_id}",
        ),
        (
            "create",
            "Create users",
            "POST /api/user",
            "POST /api/user/{id}/invitation",
            "GET /api/role/list",
        ),
        (
            "update",
            "Edit users",
            "PUT /api/user/{id}",
            "PATCH /api/user/{id}",
            "PUT /api/user/{id}/status",
            "POST /api/user/{id}/roles",
            "PATCH /api/user/{id}/roles/{assignment_id}",
            "DELETE /api/user/{id}/roles/{assignment_id}",
            "POST /api/user/bulk/status",
            "POST /api/user/bulk/role",
            "GET /api/role/list",
        ),
        ("delete", "Delete users", "DELETE /api/user/{id}"),
        (
            "reset-password",
            "Reset passwords",
            "PUT /api/user/{id}/password",
            "POST /api/user/{id}/password-reset",
            "POST /api/auth/oidc/{provider}/accounts",
        ),
        ("verify", "Declare addresses of users confirmed", "POST /api/user/{id}/email/verification"),
        ("export", "Export users", "GET /api/user/export"),
        ("import", "Create and edit users from a table", "POST /api/user/import"),
        (
            "factor",
            "See and reset second factors",
            "GET /api/user/{id}/factors",
            "DELETE /api/user/{id}/factors",
            "DELETE /api/user/{id}/origins/{source}",
        ),
        (
            "key",
            "List, make and delete API keys",
            "GET /api/user/{id}/keys",
            "POST /api/user/{id}/keys",
            "DELETE /api/user/{id}/keys/{key_id}",
        ),
    ),
    _page(
        "role",
        "Roles",
        "shield",
        (
            "list",
            "List and read roles",
            "GET /api/role/list",
            "GET /api/role/{id}",
            "GET /api/role/{id}/permissions",
            "GET /api/role/{id}/request-rule",
        ),
        ("create", "Create roles", "POST /api/role"),
        (
            "update",
            "Edit roles",
            "PUT /api/role/{id}",
            "PATCH /api/role/{id}",
            "POST /api/role/bulk/enabled",
            "PUT /api/role/{id}/request-rule",
            "DELETE /api/role/{id}/request-rule",
        ),
        ("delete", "Delete roles", "DELETE /api/role/{id}"),
        ("permission", "Set the permissions of roles", "PUT /api/role/{id}/permissions"),
        ("export", "Export roles", "GET /api/role/export"),
        ("import", "Create and edit roles from a table, permissions included", "POST /api/role/import"),
    ),
    _page(
        "menu",
        "Menus",
        "menu",
        (
            "list",
            "List and read menus",
            "GET /api/menu/list",
            "GET /api/menu/{id}",
            "GET /api/menu/{id}/resources",
        ),
        ("create", "Create menus", "POST /api/menu"),
        ("update", "Edit menus", "PUT /api/menu/{id}", "PATCH /api/menu/{id}"),
        ("delete", "Delete menus", "DELETE /api/menu/{id}"),
    ),
    _page(
        "resource",
        "Resources",
        "link",
        (
            "list",
            "List and read resources",
            "GET /api/resource/list",
            "GET /api/resource/{id}",
            "GET /api/resource/{id}/buttons",
            "GET /api/opening/list",
            "GET /api/opening/{id}",
        ),
        ("create", "Create resources", "POST /api/resource"),
        (
            "update",
            "Edit resources",
            "PUT /api/resource/{id}",
            "PATCH /api/resource/{id}",
            "POST /api/resource/bulk/enabled",
            "PUT /api/resource/{id}/enabled",
        ),
        ("delete", "Delete resources", "DELETE /api/resource/{id}"),
        (
            "bind",
            "Bind Buttons and resources",
            "PUT /api/resource/{id}/buttons",
            "PUT /api/menu/{id}/resources",
        ),
        (
            "open",
            "Open what other services have without a permission",
            "POST /api/opening",
            "DELETE /api/opening/{id}",
        ),
    ),
    _page(
        "service",
        "Services",
        "server",
        ("list", "List and read other services", "GET /api/service/list", "GET /api/service/{id}"),
        ("create", "Register other services", "POST /api/service"),
        ("update", "Edit other services", "PUT /api/service/{id}", "PATCH /api/service/{id}"),
        ("delete", "Delete other services", "DELETE /api/service/{id}"),
        (
            "resources",
            "Administer the resources of single services",
            "GET /api/service/list",
            "GET /api/service/{id}",
            "GET /api/resource/list",
            "GET /api/resource/{id}",
            "GET /api/resource/{id}/buttons",
            "POST /api/resource",
            "PUT /api/resource/{id}",
            "PATCH /api/resource/{id}",
            "POST /api/resource/bulk/enabled",
            "PUT /api/resource/{id}/enabled",
            "DELETE /api/resource/{id}",
            "PUT /api/resource/{id}/buttons",
            "GET /api/opening/list",
            "GET /api/opening/{id}",
            "POST /api/opening",
            "DELETE /api/opening/{id}",
        ),
    ),
    _page(
        "policy",
        "Policy",
        "scale",
        (
            "read",
            "Read and explain the policy",
            "GET /api/policy",
            "POST /api/policy/explain",
            "GET /api/policy/coverage",
            "GET /api/policy/revisions",
            "GET /api/policy/revisions/{revision}",
            "GET /api/policy/changes",
            "GET /api/policy/diff",
            "GET /api/policy/who",
            "GET /api/policy/who/users",
            "GET /api/policy/what",
            "GET /api/policy/what-if",
            "GET /api/policy/openings",
            "GET /api/policy/followers",
            "GET /api/policy/matrix",
            "GET /api/policy/unused",
            "GET /api/policy/permission-map",
            "POST /access/v1/search/subject",
            "POST /access/v1/search/resource",
            "POST /access/v1/search/action",
        ),
        (
            "evaluate",
            "Ask for decisions for other services",
            "POST /access/v1/evaluation",
            "POST /access/v1/evaluations",
            "GET /access/v1/forward/caddy/{service}",
            "GET /access/v1/forward/traefik/{service}",
            "GET /access/v1/forward/nginx/{service}",
            "GET /access/v1/forward/envoy/{service}",
            "POST /access/v1/requests",
            "GET /access/v1/requests/{id}",
            "POST /access/v1/requests/{id}/cancel",
        ),
        ("follow", "Follow the policy beside a service", "POST /access/v1/follow"),
        ("reload", "Reload the policy", "POST /api/policy/reload"),
        ("restore", "Restore past revisions", "POST /api/policy/revisions/{revision}/restore"),
        ("sign-off", "Sign revisions off", "POST /api/policy/revisions/{revision}/sign-off"),
    ),
    _page(
        "review",
        "Reviews",
        "list-checks",
        ("list", "Read reviews"),
        ("create", "Start and close reviews", "POST /api/review", "POST /api/review/{id}/close"),
        ("decide", "Decide in reviews"),
        ("evidence", "Export the evidence of reviews", "GET /api/review/{id}/evidence"),
    ),
    _page(
        "directory",
        "Directories",
        "contact",
        (
            "list",
            "Read directories and what they may hand out",
            "GET /api/directory/list",
            "GET /api/directory/{source}",
        ),
        (
            "update",
            "Set what directories may hand out",
            "PUT /api/directory/{source}",
            "DELETE /api/directory/{source}",
        ),
    ),
    _page(
        "scim",
        "Provisioning",
        "contact",
        (
            "read",
            "Read what is provisioned by SCIM",
            "GET /scim/v2/ServiceProviderConfig",
            "POST /scim/v2/.search",
            "GET /scim/v2/Schemas",
            "GET /scim/v2/Schemas/{uri}",
            "GET /scim/v2/ResourceTypes",
            "GET /scim/v2/ResourceTypes/{name}",
            "GET /scim/v2/Users",
            "GET /scim/v2/Users/{id}",
            "POST /scim/v2/Users/.search",
            "GET /scim/v2/Groups",
            "GET /scim/v2/Groups/{id}",
            "POST /scim/v2/Groups/.search",
        ),
        (
            "users",
            "Provision users by SCIM",
            "GET /scim/v2/Users",
            "GET /scim/v2/Users/{id}",
            "POST /scim/v2/Users/.search",
            "POST /scim/v2/Users",
            "PUT /scim/v2/Users/{id}",
            "PATCH /scim/v2/Users/{id}",
            "DELETE /scim/v2/Users/{id}",
        ),
        (
            "groups",
            "Provision groups by SCIM",
            "GET /scim/v2/Groups",
            "GET /scim/v2/Groups/{id}",
            "POST /scim/v2/Groups/.search",
            "POST /scim/v2/Groups",
            "PUT /scim/v2/Groups/{id}",
            "PATCH /scim/v2/Groups/{id}",
            "DELETE /scim/v2/Groups/{id}",
        ),
    ),
    _page(
        "online",
        "Online users",
        "activity",
        ("list", "List sessions", "GET /api/online/list"),
        (
            "kick",
            "End sessions",
            "DELETE /api/online/{login_id}",
            "DELETE /api/online/{login_id}/{device}",
            "POST /api/user/bulk/end-sessions",
        ),
        (
            "ban",
            "Ban and unban users",
            "POST /api/online/{login_id}/ban",
            "DELETE /api/online/{login_id}/ban",
        ),
        ("introspect", "Introspect tokens", "POST /oauth/introspect"),
    ),
    _page(
        "operation-log",
        "Operation log",
        "list",
        ("list", "List operations", "GET /api/operation-log/list"),
        (
            "detail",
            "Read an operation",
            "GET /api/operation-log/{id}",
            "GET /api/operation-log/changes",
        ),
        ("export", "Export operations", "GET /api/operation-log/export"),
    ),
    _page(
        "login-log",
        "Login log",
        "log-in",
        ("list", "List logins", "GET /api/login-log/list"),
        ("export", "Export logins", "GET /api/login-log/export"),
    ),
    _page(
        "file",
        "Files",
        "file",
        ("list", "List files", "GET /api/file/list"),
        ("upload", "Upload files", "POST /api/file"),
        ("download", "Download files", "GET /api/file/{id}"),
        ("delete", "Delete files", "DELETE /api/file/{id}"),
        (
            "share",
            "Make and revoke public links",
            "POST /api/file/{id}/public-link",
            "DELETE /api/file/{id}/public-link",
        ),
    ),
    _page(
        "job",
        "Jobs",
        "clock",
        ("list", "List jobs and their runs", "GET /api/jobs"),
        ("run", "Run jobs now", "POST /api/jobs/{name}/run"),
        ("update", "Pause and resume jobs", "PUT /api/jobs/{name}/paused"),
    ),
    _page("mail", "Mails", "mail", ("list", "List mails", "GET /api/mail/list")),
    _page(
        "doctor",
        "Doctor",
        "stethoscope",
        (
            "read",
            "Read what is wrong with the installation",
            "GET /api/system/findings",
            "GET /api/system/first-steps",
        ),
    ),
    _page(
        "activity",
        "Activity",
        "activity",
        ("list", "Read sign-ins and refusals by hour", "GET /api/system/activity"),
    ),
    _page(
        "access-request",
        "Access requests",
        "hand",
        ("list", "Read the requests for roles of all"),
    ),
)
"""All pages, in the order of the menu."""


def permissions(pages: Iterable[Page] = CATALOGUE) -> dict[str, Permission]:
    """Return all permissions by code, in the order of the catalogue."""
    return {permission.code: permission for page in pages for permission in page.permissions}


def codes_by_endpoint(pages: Iterable[Page] = CATALOGUE) -> dict[str, frozenset[str]]:
    """Return, by endpoint, the codes that open it; any one of them is enough."""
    by_endpoint: dict[str, set[str]] = {}
    for permission in permissions(pages).values():
        for endpoint in permission.opens:
            by_endpoint.setdefault(endpoint, set()).add(permission.code)
    return {endpoint: frozenset(codes) for endpoint, codes in by_endpoint.items()}


_ADMINISTERING_PAGES: Final = ("role", "menu", "resource", "service", "policy")
# What exports, imports and bulk acts do can still be done one by one, and to ask is not to administer.
_SPARED: Final = ("export", "import", "evaluate")


def _administering() -> Iterator[str]:
    """Yield the endpoints of the pages above, and the endpoints that give roles to users."""
    for page in CATALOGUE:
        if page.name in _ADMINISTERING_PAGES:
            for permission in page.permissions:
                if permission.code.rpartition(":")[2] not in _SPARED:
                    yield from permission.opens
    yield from ("GET /api/user/list", "GET /api/user/{id}", "PUT /api/user/{id}", "PATCH /api/user/{id}")


ADMINISTERING: Final = frozenset(_administering())
"""The endpoints that administer the policy: resources, bindings, menus, roles, users' roles, the policy.

No change is published that would close one of them to a caller who may do everything.
"""


def markdown() -> str:
    """Return the catalogue as the table of the documentation."""
    lines = ["| Code | Button | Opens |", "| --- | --- | --- |"]
    lines += [
        f"| `{code.code}` | {page.title}: {code.title} | {', '.join(f'`{name}`' for name in code.opens)} |"
        for page in CATALOGUE
        for code in page.permissions
    ]
    return "\n".join(lines) + "\n"
