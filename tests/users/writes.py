"""Every write that concerns rights: what it takes to be allowed, and a fresh target for each attempt."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import psycopg

from tests.users.people import Row

LEVELS: Final = {"low": "system:role:", "middle": "system:online:", "high": "finance:"}
"""What the codes of targets begin with: some hold only the low ones, some the middle ones too, few all."""

PROVIDER: Final = {
    "PORTCULLIS_SERVER__PUBLIC_URL": "https://id.example.com",
    "PORTCULLIS_OIDC__PROVIDERS": '[{"name": "entra", "issuer": "https://login.example.com",'
    ' "client_id": "portcullis", "client_secret": "a secret"}]',
}
"""A provider to which accounts are handed over; nothing asks it."""
_numbers = count(1)

Request = tuple[str, str, Any]
"""Method, path and body."""


class World:
    """Fresh targets in the database of a service, written past it over a connection in autocommit."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def code(self, level: str) -> str:
        """Return a code that no Button carries yet."""
        return f"{LEVELS[level]}t{next(_numbers)}"

    def button(self, level: str) -> int:
        """Return a Button of its own."""
        return self._id(
            "INSERT INTO sys.menu (parent_id, menu_type, title, auth_mark)"
            " SELECT min(id), 'Button', 'Target', %s FROM sys.menu WHERE menu_type = 'Menu' RETURNING id",
            self.code(level),
        )

    def metadata_of(self, button: int) -> str:
        """Return the code of a Button."""
        ((metadata,),) = self._rows("SELECT auth_mark FROM sys.menu WHERE id = %s", button)
        return str(metadata)

    def page(self) -> int:
        """Return a Menu to put Buttons below."""
        return self._id("SELECT min(id) FROM sys.menu WHERE menu_type = 'Menu'")

    def role(self, *buttons: int) -> int:
        """Return a role that gives these Buttons."""
        name = f"target{next(_numbers)}"
        made = self._id(
            "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES (%s, %s, %s) RETURNING id",
            *(name, name, name),
        )
        for button in buttons:
            self._rows("INSERT INTO sys.role_menu VALUES (%s, %s)", made, button)
        return made

    def user(self, *roles: int, password: str | None = "x") -> int:
        """Return a user in these roles."""
        name = self.name()
        made = self._id(
            "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
            " VALUES (%s, %s, 'Target', %s) RETURNING id",
            *(name, name, password),
        )
        for role in roles:
            self._rows("INSERT INTO sys.user_role VALUES (%s, %s)", made, role)
        return made

    def confirm_address(self, user: int, *, recovery: str = "target@example.org") -> None:
        """Give a user an address, and let them have confirmed it, or another one."""
        changed = "UPDATE sys.user SET email = 'target@example.org', recovery_email = %s WHERE id = %s"
        self._rows(changed, recovery, user)

    def link(self, user: int) -> None:
        """Let a directory know a user."""
        known = "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
        self._rows(f"{known} VALUES ('entra', 'https://login.example.com', %s, %s, false)", str(user), user)

    def directory(self, name: str) -> None:
        """Have a directory that provisions, and may hand out everything."""
        stored = "INSERT INTO sys.directory (name, kind, mapping, ceiling) VALUES (%s, 'scim', '{}', %s)"
        self._rows(f"{stored} ON CONFLICT DO NOTHING", name, ["*"])

    def assignment_of(self, user: int) -> int:
        """Return the assignment of the only role of a user."""
        return self._id("SELECT id FROM sys.user_role WHERE user_id = %s", user)

    def name_of(self, user: int) -> str:
        """Return the name of a user."""
        ((name,),) = self._rows('SELECT user_name FROM sys."user" WHERE id = %s', user)
        return str(name)

    def resource(self, *buttons: int, below: str = "") -> int:
        """Return a resource that is bound to these Buttons."""
        path = f"/api/{self.name()}{below}"
        made = self._id(
            "INSERT INTO sys.resource (resource_name, resource_code, method, path)"
            " VALUES ('Target', %s, 'GET', %s) RETURNING id",
            *(path.translate({123: None, 125: None}), path),
        )
        for button in buttons:
            self._rows("INSERT INTO sys.action_resource VALUES (%s, %s)", made, button)
        return made

    def path_of(self, resource: int) -> str:
        """Return the path of a resource."""
        ((path,),) = self._rows("SELECT path FROM sys.resource WHERE id = %s", resource)
        return str(path)

    def code_of(self, role: int) -> str:
        """Return the code of a role."""
        ((code,),) = self._rows("SELECT role_code FROM sys.role WHERE id = %s", role)
        return str(code)

    def name(self) -> str:
        """Return a name that nothing has."""
        return f"target{next(_numbers)}"

    def stored(self) -> list[Row]:
        """Return something that is different when anything about rights is."""
        tables = ['"user"', "role", "menu", "resource", "user_role", "role_menu", "action_resource"]
        tables += ["account_token", "directory_account"]
        digest = "(SELECT md5(string_agg(one::text, '|' ORDER BY one::text)) FROM sys.{} one)"
        return self._rows(f"SELECT {', '.join(map(digest.format, tables))}")

    def _id(self, statement: str, *values: object) -> int:
        ((made,),) = self._rows(statement, *values)
        return int(made)

    def _rows(self, statement: str, *values: object) -> list[Row]:
        done = self._connection.execute(statement.encode(), values or None)
        return done.fetchall() if done.description else []


@dataclass(frozen=True)
class Write:
    """A write: its line in ``policies/endpoints.csv``, and how to aim it at a fresh target of a level."""

    endpoint: str
    what: str
    aim: Callable[[World, str], Request]

    def __str__(self) -> str:
        return f"{self.endpoint}: {self.what}"


def _new_user(world: World, level: str) -> Request:
    name = world.name()
    body = {"userName": name, "nickName": name, "password": "four wary herons"}
    return "POST", "/api/user", body | {"roleIds": [world.role(world.button(level))]}


def _user(method: str, below: str, body: Any) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        return method, f"/api/user/{world.user(world.role(world.button(level)))}{below}", body

    return aim


def _assign(world: World, level: str) -> Request:
    body = {"roleId": world.role(world.button(level)), "until": "2099-12-31T00:00:00Z"}
    return "POST", f"/api/user/{world.user()}/roles", body


def _assigned(method: str, body: Any) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        user = world.user(world.role(world.button(level)))
        return method, f"/api/user/{user}/roles/{world.assignment_of(user)}", body

    return aim


def _invite(world: World, level: str) -> Request:
    guest = world.user(world.role(world.button(level)), password=None)
    world.confirm_address(guest)
    return "POST", f"/api/user/{guest}/invitation", None


def _forgetful(world: World, level: str) -> Request:
    user = world.user(world.role(world.button(level)))
    world.confirm_address(user)
    return "POST", f"/api/user/{user}/password-reset", None


def _handed_over(world: World, level: str) -> Request:
    user = world.user(world.role(world.button(level)))
    body = {"userName": world.name_of(user), "subject": f"subject-{user}"}
    return "POST", "/api/auth/oidc/entra/accounts", body


def _adopted(world: World, level: str) -> Request:
    user = world.user(world.role(world.button(level)))
    world.directory("corp")
    return "POST", "/api/directory/corp/accounts", {"userName": world.name_of(user)}


def _linked(world: World, level: str) -> Request:
    user = world.user(world.role(world.button(level)))
    world.link(user)
    return "DELETE", f"/api/user/{user}/origins/entra", None


def _addressed(world: World, level: str) -> Request:
    user = world.user(world.role(world.button(level)))
    world.confirm_address(user, recovery="another@example.org")
    return "POST", f"/api/user/{user}/email/verification", None


def _edited_user(method: str, **changes: Any) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        role = world.role(world.button(level))
        user = world.user(role)
        return method, f"/api/user/{user}", _user_body(method, world.name_of(user), [role], changes)

    return aim


def _give(method: str) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        user = world.user()
        changes = {"roleIds": [world.role(world.button(level))]}
        return method, f"/api/user/{user}", _user_body(method, world.name_of(user), [], changes)

    return aim


def _user_body(method: str, name: str, roles: list[int], changes: dict[str, Any]) -> Any:
    whole = dict.fromkeys(("email", "phone", "gender", "avatar", "service"))
    whole |= {"userName": name, "nickName": "Target", "status": "enabled", "roleIds": roles}
    return whole | changes if method == "PUT" else changes


def _role(method: str, below: str, body: Callable[[World], Any]) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        return method, f"/api/role/{world.role(world.button(level))}{below}", body(world)

    return aim


def _fill(world: World, level: str) -> Request:
    return "PUT", f"/api/role/{world.role()}/permissions", {"menuIds": [world.button(level)]}


def _import_role(world: World, level: str) -> Request:
    name = world.name()
    row = {"roleCode": name, "roleName": name, "permissions": [world.metadata_of(world.button(level))]}
    return "POST", "/api/role/import", {"roles": [row]}


def _import_user(world: World, level: str) -> Request:
    role = world.role(world.button(level))
    row = {"userName": world.name(), "nickName": "Target", "roles": [world.code_of(role)]}
    return "POST", "/api/user/import", {"users": [row]}


def _reimport_user(world: World, level: str) -> Request:
    name = world.name_of(world.user(world.role(world.button(level))))
    return "POST", "/api/user/import", {"users": [{"userName": name, "nickName": "Edited"}]}


def _bulk(act: str, **body: Any) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        targets = [world.user(), world.user(world.role(world.button(level)))]
        return "POST", f"/api/user/bulk/{act}", {"ids": targets, **body}

    return aim


def _bulk_enabled(noun: str, target: Callable[[World, str], int]) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        ids = [target(world, "low"), target(world, level)]
        return "POST", f"/api/{noun}/bulk/enabled", {"ids": ids, "enabled": False}

    return aim


def _bulk_role(action: str) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        role = world.role(world.button(level))
        target = world.user() if action == "give" else world.user(role)
        return "POST", "/api/user/bulk/role", {"ids": [target], "roleId": role, "action": action}

    return aim


def _bulk_other_role(world: World, level: str) -> Request:
    method, target, body = _bulk("role", action="give")(world, level)
    return method, target, body | {"roleId": world.role(world.button("low"))}


def _online(method: str, below: str, body: Any = None) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        return method, f"/api/online/{world.user(world.role(world.button(level)))}{below}", body

    return aim


def _new_button(world: World, level: str) -> Request:
    body = {"menuType": "Button", "parentId": world.page(), "title": "New", "authMark": world.code(level)}
    return "POST", "/api/menu", body


def _button(method: str, **changes: Any) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        button = world.button(level)
        return method, f"/api/menu/{button}", _button_body(method, world, world.metadata_of(button), changes)

    return aim


def _recode(method: str) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        changes = {"authMark": world.code(level)}
        return method, f"/api/menu/{world.button('low')}", _button_body(method, world, "", changes)

    return aim


def _button_body(method: str, world: World, code: str, changes: dict[str, Any]) -> Any:
    whole = dict.fromkeys(("name", "path", "component", "icon"))
    whole |= {"parentId": world.page(), "title": "Edited", "authMark": code, "sort": 0, "enabled": True}
    return {"PUT": whole | changes, "PATCH": changes or {"title": "Edited"}}.get(method)


def _bind_buttons(world: World, level: str) -> Request:
    return "PUT", f"/api/resource/{world.resource()}/buttons", {"menuIds": [world.button(level)]}


def _unbind_buttons(world: World, level: str) -> Request:
    return "PUT", f"/api/resource/{world.resource(world.button(level))}/buttons", {"menuIds": []}


def _bind_resources(world: World, level: str) -> Request:
    return "PUT", f"/api/menu/{world.button(level)}/resources", {"resourceIds": [world.resource()]}


def _said(name: str, path: str) -> Any:
    return {"resourceName": "Edited", "resourceCode": name, "method": "GET", "path": path}


def _shadow(world: World, level: str) -> Request:
    taken = world.path_of(world.resource(world.button(level), below="/{id}"))
    return "POST", "/api/resource", _said(world.name(), taken.replace("{id}", "list"))


def _move(method: str) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        name = world.name()
        moved = {"path": f"/api/{name}"}
        whole = _said(name, moved["path"]) | {"description": None, "enabled": True}
        body = whole if method == "PUT" else moved
        return method, f"/api/resource/{world.resource(world.button(level))}", body

    return aim


def _resource(method: str, below: str, body: Any) -> Callable[[World, str], Request]:
    def aim(world: World, level: str) -> Request:
        return method, f"/api/resource/{world.resource(world.button(level))}{below}", body

    return aim


def _edited_role(method: str, *, enabled: bool = True) -> Callable[[World, str], Request]:
    def body(world: World) -> Any:
        changes = {"roleName": world.name(), "enabled": enabled}
        return changes | {"description": None} if method == "PUT" else changes

    return _role(method, "", body)


def _edits(method: str) -> tuple[Write, ...]:
    """Return the writes that ``PUT`` and ``PATCH`` make alike."""
    return (
        Write(f"{method} /api/user/{{id}}", "rename", _edited_user(method, nickName="Edited")),
        Write(f"{method} /api/user/{{id}}", "give a role", _give(method)),
        Write(f"{method} /api/user/{{id}}", "take a role", _edited_user(method, roleIds=[])),
        Write(f"{method} /api/user/{{id}}", "disable", _edited_user(method, status="disabled")),
        Write(f"{method} /api/role/{{id}}", "rename", _edited_role(method)),
        Write(f"{method} /api/role/{{id}}", "disable", _edited_role(method, enabled=False)),
        Write(f"{method} /api/menu/{{id}}", "retitle a Button", _button(method)),
        Write(f"{method} /api/menu/{{id}}", "disable a Button", _button(method, enabled=False)),
        Write(f"{method} /api/menu/{{id}}", "change the code of a Button", _recode(method)),
        Write(f"{method} /api/resource/{{id}}", "move", _move(method)),
    )


WRITES: Final = (
    Write("POST /api/user", "give the new user a role", _new_user),
    *_edits("PUT"),
    *_edits("PATCH"),
    Write("PUT /api/user/{id}/status", "disable", _user("PUT", "/status", {"status": "disabled"})),
    Write("POST /api/user/{id}/roles", "assign a role", _assign),
    Write(
        "PATCH /api/user/{id}/roles/{assignment_id}",
        "change an assignment",
        _assigned("PATCH", {"reason": "Target"}),
    ),
    Write("DELETE /api/user/{id}/roles/{assignment_id}", "end an assignment", _assigned("DELETE", None)),
    Write(
        "DELETE /api/user/{id}/factors",
        "reset the second factors",
        _user("DELETE", "/factors", None),
    ),
    Write("DELETE /api/user/{id}/origins/{source}", "unlink", _linked),
    Write(
        "PUT /api/user/{id}/password",
        "set the password",
        _user("PUT", "/password", {"newPassword": "four wary herons"}),
    ),
    Write("POST /api/user/{id}/invitation", "invite", _invite),
    Write("POST /api/user/{id}/password-reset", "send a link", _forgetful),
    Write("POST /api/auth/oidc/{provider}/accounts", "hand over to a provider", _handed_over),
    Write("POST /api/directory/{source}/accounts", "hand over to a directory", _adopted),
    Write("POST /api/user/{id}/email/verification", "declare the address confirmed", _addressed),
    Write(
        "POST /api/user/{id}/owner/verification",
        "confirm the owner",
        _user("POST", "/owner/verification", None),
    ),
    Write("DELETE /api/user/{id}", "delete", _user("DELETE", "", None)),
    Write("POST /api/user/import", "rename", _reimport_user),
    Write("POST /api/user/bulk/status", "disable", _bulk("status", status="disabled")),
    Write("POST /api/user/bulk/role", "give a role", _bulk_role("give")),
    Write("POST /api/user/bulk/role", "take a role", _bulk_role("take")),
    Write("POST /api/user/bulk/role", "give another role", _bulk_other_role),
    Write("POST /api/user/bulk/end-sessions", "kick", _bulk("end-sessions")),
    Write("DELETE /api/online/{login_id}", "kick", _online("DELETE", "")),
    Write("DELETE /api/online/{login_id}/{device}", "kick from a device", _online("DELETE", "/web")),
    Write("POST /api/online/{login_id}/ban", "ban", _online("POST", "/ban", {})),
    Write("DELETE /api/online/{login_id}/ban", "clear a ban", _online("DELETE", "/ban")),
    Write("DELETE /api/role/{id}", "delete", _role("DELETE", "", lambda _: None)),
    Write("PUT /api/role/{id}/permissions", "give a Button", _fill),
    Write(
        "PUT /api/role/{id}/permissions",
        "take a Button",
        _role("PUT", "/permissions", lambda _: {"menuIds": []}),
    ),
    Write("POST /api/user/import", "give a new user a role", _import_user),
    Write("POST /api/role/import", "give a Button", _import_role),
    Write("POST /api/menu", "make a Button", _new_button),
    Write("DELETE /api/menu/{id}", "delete a Button", _button("DELETE")),
    Write(
        "POST /api/role/bulk/enabled",
        "disable",
        _bulk_enabled("role", lambda world, level: world.role(world.button(level))),
    ),
    Write(
        "POST /api/resource/bulk/enabled",
        "disable",
        _bulk_enabled("resource", lambda world, level: world.resource(world.button(level))),
    ),
    Write("PUT /api/resource/{id}/buttons", "bind a Button", _bind_buttons),
    Write("PUT /api/resource/{id}/buttons", "open a resource", _unbind_buttons),
    Write("PUT /api/menu/{id}/resources", "bind a resource", _bind_resources),
    Write("POST /api/resource", "take requests from another", _shadow),
    Write("PUT /api/resource/{id}/enabled", "disable", _resource("PUT", "/enabled", {"enabled": False})),
    Write("DELETE /api/resource/{id}", "delete", _resource("DELETE", "", None)),
)

_CEILING: Final = "the ceiling of the directory decides: tests/features/scim/test_ceiling.py"
WITHOUT_TARGET: Final = {
    "POST /api/role": "a new role gives nothing",
    "POST /api/user/profile/keys": "the caller's own, with scopes",
    "DELETE /api/user/profile/keys/{key_id}": "the caller's own",
    "POST /api/user/profile/delegations": "the caller's own, within the caller's codes",
    "DELETE /api/user/profile/delegations/{delegation_id}": "the caller's own",
    "POST /api/user/profile/approvals/{approval_id}": "the caller's own",
    "POST /api/user/{id}/erasure": "two factors: tests/features/personal_data/test_erasures.py",
    "POST /api/key/leaked": "by the key itself, which it revokes",
    "POST /api/auth/login": "the caller's own, by password",
    "POST /api/auth/refresh": "the caller's own, by refresh token",
    "POST /api/auth/login/second-factor": "the caller's own, by password and second factor",
    "POST /api/auth/login/second-factor/options": "changes nothing",
    "POST /api/auth/login/passkey/options": "changes nothing",
    "POST /api/auth/login/passkey": "the caller's own, by passkey",
    "POST /api/auth/sessions/end": "the owner's own, by the token of a link",
    "POST /api/user/profile/notices/read": "the caller's own",
    "POST /api/auth/invitation": "the caller's own, by the token of a link",
    "POST /api/auth/password-reset": "notes a request, for the owner",
    "POST /api/auth/password-reset/options": "changes nothing",
    "POST /api/auth/password-reset/confirm": "the caller's own, by the token of a link",
    "POST /api/auth/address": "the caller's own, by the token of a link",
    "POST /api/auth/address/undo": "the owner's own, by the token of a link to the address before",
    "POST /api/user/profile/email/verification": "the caller's own address",
    "POST /api/user/profile/email/agreement": "the caller's own address, with the current password",
    "POST /api/auth/step-up/options": "changes nothing",
    "POST /api/auth/step-up": "the caller's own session",
    **dict.fromkeys(
        (
            "DELETE /api/user/profile/factors/{id}",
            "POST /api/user/profile/factors/totp",
            "POST /api/user/profile/factors/totp/{id}/confirm",
            "POST /api/user/profile/factors/passkey/options",
            "POST /api/user/profile/factors/passkey",
            "POST /api/user/profile/factors/recovery-codes",
        ),
        "the caller's own second factors",
    ),
    "DELETE /api/user/profile/origins/{source}": "the caller's own link with a provider",
    "POST /api/auth/logout": "the caller's own session",
    "POST /api/auth/logout/all": "the caller's own sessions",
    "DELETE /api/auth/sessions/{device}": "the caller's own session",
    "POST /api/auth/oidc/token": "the caller's own session, by a code of a sign-in",
    "POST /api/auth/oidc/logout": "the caller's own session",
    "POST /api/auth/oidc/{provider}/link": "begins a sign-in of the caller, and changes nothing",
    "POST /api/auth/oidc/{provider}/step-up": "begins a sign-in of the caller, and changes nothing",
    "POST /api/auth/oidc/{provider}/backchannel-logout": "ends sessions, by a token of the provider",
    "PUT /api/user/profile": "the caller's own account, never its roles",
    "PUT /api/user/profile/password": "the caller's own, with the current password",
    "POST /api/policy/explain": "changes nothing",
    "POST /api/policy/reload": "derives what is stored already",
    "POST /api/policy/revisions/{revision}/sign-off": "says that somebody has looked, and changes no right",
    "POST /api/file": "the codes alone decide about files",
    "DELETE /api/file/{id}": "the codes alone decide about files",
    "POST /api/file/{id}/public-link": "the codes alone decide about files",
    "DELETE /api/file/{id}/public-link": "the codes alone decide about files",
    "POST /api/webhook/{name}/test": "it sends a test event, and changes nothing",
    "POST /api/webhook/{name}/replay": "the codes alone decide about webhooks",
    "POST /api/chat/{name}/test": "it sends a test message, and changes nothing",
    "PUT /api/agent/{id}": "it gives no right: tests/features/agents/test_agents.py",
    "DELETE /api/agent/{id}": "the same",
    "PUT /api/agent/{id}/enabled": "a switch, which gives no right",
    "PUT /api/agent/switch": "the same",
    "DELETE /api/agent/delegation/{delegation_id}": "ends what its person has let an agent do, as a kick",
    "POST /api/jobs/{name}/run": "the codes alone decide about jobs",
    "PUT /api/jobs/{name}/paused": "the codes alone decide about jobs",
    "POST /access/v1/evaluation": "changes nothing",
    "POST /access/v1/evaluations": "changes nothing",
    "POST /access/v1/follow": "changes nothing",
    "POST /access/v1/search/action": "changes nothing",
    "POST /access/v1/search/resource": "changes nothing",
    "POST /access/v1/search/subject": "changes nothing",
    "POST /oauth/introspect": "changes nothing",
    "POST /oauth/token": "the caller's own, by API key",
    "POST /scim/v2/.search": "changes nothing",
    "POST /scim/v2/Groups/.search": "changes nothing",
    "POST /scim/v2/Users/.search": "changes nothing",
    "DELETE /scim/v2/Groups/{id}": _CEILING,
    "PATCH /scim/v2/Groups/{id}": _CEILING,
    "POST /scim/v2/Groups": _CEILING,
    "PUT /scim/v2/Groups/{id}": _CEILING,
    "DELETE /scim/v2/Users/{id}": _CEILING,
    "PATCH /scim/v2/Users/{id}": _CEILING,
    "POST /scim/v2/Users": _CEILING,
    "PUT /scim/v2/Users/{id}": _CEILING,
}
"""Every write that acts on no other user and changes nobody's rights, and why."""

WALKED_EXTERNAL: Final = {
    "POST /api/policy/revisions/{revision}/restore": "tests/features/policy_history/test_restore.py",
    **dict.fromkeys(
        ("PUT /api/role/{id}/request-rule", "DELETE /api/role/{id}/request-rule"),
        "tests/roles/test_request_rules.py",
    ),
    **dict.fromkeys(
        (
            *("POST /api/access-request", "DELETE /api/access-request/{id}"),
            "POST /api/access-request/{id}/decision",
        ),
        "tests/features/access_requests/test_requests.py",
    ),
    **dict.fromkeys(
        ("PUT /api/directory/{source}", "DELETE /api/directory/{source}"),
        "tests/features/oidc/test_directories.py",
    ),
    "POST /api/access-request/{id}/closing": "tests/features/access_requests/test_emergencies.py",
    **dict.fromkeys(
        (
            *("POST /api/review", "POST /api/review/{id}/close"),
            *("POST /api/review/{id}/item/{item_id}/decision", "POST /api/review/{id}/decision"),
        ),
        "tests/features/reviews/test_reviews.py",
    ),
    **dict.fromkeys(
        ("POST /api/user/{id}/keys", "DELETE /api/user/{id}/keys/{key_id}"),
        "tests/features/service_accounts/test_endpoints.py",
    ),
    **dict.fromkeys(
        (
            *("POST /api/service", "PUT /api/service/{id}", "PATCH /api/service/{id}"),
            *("DELETE /api/service/{id}", "POST /api/opening", "DELETE /api/opening/{id}"),
        ),
        "tests/features/services/test_administering.py",
    ),
}
"""Writes that need the right to each edit that they make, and the tests that hold it."""
