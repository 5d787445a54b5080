"""Seeds the Menus, Buttons and resources of this version's catalogue and of extensions, each of them once.

``sys.seeded`` records all seeded rows, so that rows deleted by an administrator stay deleted.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Table, insert, null, or_, select, tuple_
from sqlalchemy.dialects.postgresql import insert as upsert

from service.kernel.extension import Extension, SeedResource, pages_with
from service.kernel.permission_catalogue import CATALOGUE, Page, codes_by_endpoint, permissions
from service.kernel.services import BoundResource
from service.records.schema.installation import seeded
from service.records.schema.rights import action_resource, menu, resource, role, role_menu
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
    for code in permissions(CATALOGUE)
    if code.endswith((":list", ":detail", "-log:export", "policy:read", "doctor:read", "review:evidence"))
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


ROOT: Final = "system"
"""The name of the Menu above all pages."""

Extensions = Sequence[Extension]

Covered = Callable[[Collection[str], Sequence[str]], tuple[str, ...]]
"""Returns those of some codes, the second argument, that the codes of the first cover, wildcards included."""

Key = tuple[str, str]
"""The kind and the code of a seeded record, as in ``sys.seeded``."""


@dataclass(frozen=True, slots=True)
class Additions:
    """Additions of this version: permission codes, and resources such as ``GET /api/user/list``.

    ``gained_by`` maps the codes of enabled roles to the added codes that their wildcards grant.
    """

    codes: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    gained_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.codes or self.resources)


def pending(connection: Connection, covered: Covered, extensions: Extensions) -> Additions:
    """Return this version's additions: never seeded in this database, and absent. Changes nothing."""
    known = _known(connection)
    present = _buttons(connection)
    codes = [code for code in _titles(extensions) if ("button", code) not in known and code not in present]
    new_resources = [
        seed_resource
        for seed_resource in _resources(extensions)
        if ("resource", seed_resource.code) not in known
    ]
    taken = _taken(connection, new_resources)
    brought = (
        f"{seed_resource.method} {seed_resource.path}"
        for seed_resource in new_resources
        if seed_resource.code not in taken
    )
    return Additions(tuple(codes), tuple(brought), _gained_by(connection, codes, covered))


def bring(connection: Connection, covered: Covered, extensions: Extensions) -> Additions:
    """Write and remember ``pending``; the caller holds the locks of the policy and of rights.

    A Button is placed below the Menu of its page. If that Menu was deleted, it is placed below the root, or
    at the top for an extension. A new page is shown to the roles whose wildcards grant one of its codes; that
    grants no right. A resource without a remaining Button for its codes is left out: without a binding all
    logged-in users could reach it.
    """
    additions = pending(connection, covered, extensions)
    known = _known(connection)
    menus = _bring_menus(connection, known, additions.gained_by, extensions)
    _bring_buttons(connection, additions.codes, menus, extensions)
    _bring_resources(connection, additions.resources, extensions)
    rows = [{"kind": kind, "code": code} for kind, code in _all(extensions) if (kind, code) not in known]
    if rows:
        connection.execute(upsert(seeded).on_conflict_do_nothing(), rows)
    return additions


def seeded_resources() -> tuple[BoundResource, ...]:
    """Return the resources of a new installation without extensions, each with the Buttons bound to it."""
    opened_by = codes_by_endpoint(CATALOGUE)
    return tuple(
        BoundResource(seed_resource.method, seed_resource.path, [(code, True) for code in sorted(codes)])
        for seed_resource in RESOURCES
        for codes in [opened_by.get(f"{seed_resource.method} {seed_resource.path}", frozenset())]
    )


def lacking(connection: Connection, extensions: Extensions) -> list[str]:
    """Return the codes of the catalogue that no enabled Button carries."""
    enabled = select(menu.c.auth_mark).where(menu.c.menu_type == "Button", menu.c.enabled)
    carried = set(connection.execute(enabled).scalars())
    return [code for code in permissions(pages_with(extensions)) if code not in carried]


def is_complete(connection: Connection, extensions: Extensions) -> bool:
    """True if everything in this version's catalogue and in ``extensions`` has been seeded."""
    return set(_all(extensions)) <= _known(connection)


def _resources(extensions: Extensions) -> tuple[SeedResource, ...]:
    return (*RESOURCES, *(resource for extension in extensions for resource in extension.resources))


def _all(extensions: Extensions) -> Iterator[Key]:
    yield from (("menu", name) for name in (ROOT, *(page.name for page in pages_with(extensions))))
    yield from (("button", code) for code in _titles(extensions))
    yield from (("resource", seed_resource.code) for seed_resource in _resources(extensions))


def _titles(extensions: Extensions) -> dict[str, str]:
    """Return the title of each Button by its code, wildcards first."""
    return {
        **dict(WILDCARDS),
        **{code: permission.title for code, permission in permissions(pages_with(extensions)).items()},
    }


def _known(connection: Connection) -> set[Key]:
    return {(row.kind, row.code) for row in connection.execute(select(seeded.c.kind, seeded.c.code))}


def _buttons(connection: Connection) -> dict[str, int]:
    statement = select(menu.c.auth_mark, menu.c.id).where(menu.c.menu_type == "Button")
    return {row.auth_mark: row.id for row in connection.execute(statement)}


def _taken(connection: Connection, resources: Collection[SeedResource]) -> set[str]:
    """Return the codes of ``resources`` for which a resource with the same code or requests exists."""
    shapes = {
        (seed_resource.method, re.sub(r"\{[^/]*\}", "{}", seed_resource.path)): seed_resource.code
        for seed_resource in resources
    }
    same = or_(
        resource.c.resource_code.in_([seed_resource.code for seed_resource in resources]),
        tuple_(resource.c.method, resource.c.shape).in_(list(shapes)),
    )
    rows = connection.execute(
        select(resource.c.resource_code, resource.c.method, resource.c.shape).where(same)
    )
    return {code for row in rows for code in (row.resource_code, shapes.get((row.method, row.shape))) if code}


def _gained_by(connection: Connection, codes: Sequence[str], covered: Covered) -> dict[str, tuple[str, ...]]:
    if not codes:
        return {}
    given = (
        select(role.c.role_code, menu.c.auth_mark)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
        .where(role.c.enabled, menu.c.menu_type == "Button", menu.c.enabled)
        .order_by(role.c.role_code)
    )
    held: dict[str, set[str]] = {}
    for row in connection.execute(given):
        held.setdefault(row.role_code, set()).add(row.auth_mark)
    granted = {name: covered(marks, codes) for name, marks in held.items()}
    return {name: gained for name, gained in granted.items() if gained}


def _bring_menus(
    connection: Connection,
    known: Collection[Key],
    gained_by: Mapping[str, Collection[str]],
    extensions: Extensions,
) -> dict[str, int]:
    """Write the new Menus; return the ids of the Menus of the catalogue that exist, by name."""
    named = select(menu.c.name, menu.c.id).where(menu.c.menu_type == "Menu", menu.c.name.is_not(None))
    menus = {row.name: row.id for row in connection.execute(named.order_by(menu.c.id.desc()))}
    if ("menu", ROOT) not in known and ROOT not in menus:
        menus[ROOT] = _menu(connection, None, title="System", name=ROOT, path="/system", icon="settings")
    for sort, page in enumerate(pages_with(extensions)):
        if ("menu", page.name) in known or page.name in menus:
            continue
        place = page.name if page.own_root else f"system/{page.name}"
        menus[page.name] = _menu(
            connection,
            None if page.own_root else menus.get(ROOT),
            title=page.title,
            name=page.name,
            path=f"/{place}",
            component=f"{place}/index",
            icon=page.icon,
            sort=sort,
        )
        _show(connection, page, menus[page.name], gained_by)
    return menus


def _show(connection: Connection, page: Page, menu_id: int, gained_by: Mapping[str, Collection[str]]) -> None:
    """Show a new page to the roles that have gained one of its codes."""
    codes = {permission.code for permission in page.permissions}
    roles = [name for name, gained in gained_by.items() if codes & set(gained)]
    ids = connection.execute(select(role.c.id).where(role.c.role_code.in_(roles))).scalars()
    _join(connection, role_menu, [{"role_id": role_id, "menu_id": menu_id} for role_id in ids])


def _bring_buttons(
    connection: Connection, codes: Collection[str], menus: Mapping[str, int], extensions: Extensions
) -> None:
    root = menus.get(ROOT)
    places = {code: (root, sort) for sort, (code, _) in enumerate(WILDCARDS)}
    for page in pages_with(extensions):
        above = menus.get(page.name, None if page.own_root else root)
        places |= {permission.code: (above, sort) for sort, permission in enumerate(page.permissions)}
    titles = _titles(extensions)
    for code in codes:
        parent, sort = places[code]
        button = {"parent_id": parent, "title": titles[code], "auth_mark": code, "sort": sort}
        insert_row(connection, menu, menu_type="Button", **button)


def _bring_resources(connection: Connection, brought: Collection[str], extensions: Extensions) -> None:
    buttons = _buttons(connection)
    opened_by = codes_by_endpoint(pages_with(extensions))
    for seed_resource in _resources(extensions):
        codes = opened_by.get(f"{seed_resource.method} {seed_resource.path}", frozenset())
        bound = sorted(buttons[code] for code in codes if code in buttons)
        if f"{seed_resource.method} {seed_resource.path}" not in brought or (codes and not bound):
            continue
        values = {
            "resource_code": seed_resource.code,
            "resource_name": seed_resource.name,
            "method": seed_resource.method,
        }
        resource_id = insert_row(connection, resource, **values, path=seed_resource.path)
        rows = [{"resource_id": resource_id, "menu_id": menu_id} for menu_id in bound]
        _join(connection, action_resource, rows)


def _menu(connection: Connection, parent: int | None, **values: Any) -> int:
    return insert_row(connection, menu, parent_id=parent, menu_type="Menu", bit_position=null(), **values)


def insert_row(connection: Connection, table: Table, **values: Any) -> int:
    """Write a row without an editor, and return its id."""
    written = insert(table).values(**values, updated_by=None).returning(table.c.id)
    made: int = connection.execute(written).scalar_one()
    return made


def _join(connection: Connection, table: Table, rows: list[dict[str, int]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def describe_additions(additions: Additions) -> Iterator[str]:
    """Yield a sentence for each kind of addition of the next start, and for each role that gains codes."""
    if additions.codes:
        yield f"The next start adds the Buttons of {', '.join(additions.codes)}."
    if additions.resources:
        yield f"The next start registers {', '.join(additions.resources)}."
    for role_code, codes in additions.gained_by.items():
        yield f"The role {role_code} gains by its wildcards: {', '.join(codes)}."
