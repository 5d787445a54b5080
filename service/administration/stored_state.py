"""The state that is stored, with the ids of its objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service.administration.state import (
    ButtonState,
    Kind,
    MenuState,
    ResourceState,
    RoleState,
    ServiceState,
    State,
    identity,
    ordered,
    segment_of,
    state_of,
)
from service.authz.engine.rules import UNREGISTERED
from service.errors import Conflict
from service.kernel.services import object_of
from service.records import bindings, menus, openings, resources, roles, services
from service.records.database.transactions import Connection
from service.records.menus import Menu
from service.records.openings import OpenTo
from service.records.resources import Resource
from service.records.roles import Role
from service.records.services import StoredService

_MENU_FIELDS: Final = ("title", "name", "path", "component", "icon", "sort", "enabled")
_BUTTON_FIELDS: Final = ("title", "name", "icon", "sort", "enabled")

Pairs = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored; ``ids`` has the id of each object by kind and ``identity``."""

    state: State
    ids: dict[tuple[Kind, str], int]


async def read(connection: Connection) -> Stored:
    """Return all that is stored; only reads. Raises Conflict for a tree of menus that can't be written."""
    tree = await menus.every(connection)
    registered = await resources.every(connection)
    opened = {one.object: one.code for one in await openings.every(connection)}
    others = await services.every(connection)
    bound = await bindings.every(connection)
    known = await roles.every(connection)
    given = await roles.every_menu(connection)
    keys = _keys(tree)
    state = state_of(
        {
            "menu": _menus(tree, keys),
            "button": _buttons(tree, keys),
            "service": {one.name: _service(one, opened) for one in others},
            "resource": _resources(registered, bound, keys, opened),
            "role": _roles(known, given, keys),
        }
    )
    ids: dict[tuple[Kind, str], int] = {(kind, key): menu_id for menu_id, (kind, key) in keys.items()}
    ids |= {("resource", identity("resource", one.object)): one.id for one in registered}
    ids |= {("service", one.name): one.id for one in others}
    ids |= {("role", one.role_code): one.id for one in known}
    return Stored(state, ids)


Keys = Mapping[int, tuple[Kind, str]]


def _keys(tree: Sequence[Menu]) -> dict[int, tuple[Kind, str]]:
    """Return the kind and the key of each menu by id.

    Menus of one name below the same Menu are numbered by id, which no edit changes.
    """
    keys: dict[int, tuple[Kind, str]] = {
        one.id: ("button", one.auth_mark) for one in tree if one.menu_type == "Button" and one.auth_mark
    }
    waiting = sorted((one for one in tree if one.id not in keys), key=lambda one: one.id)
    numbers: Counter[tuple[int | None, str]] = Counter()
    while waiting:
        later = []
        for one in waiting:
            place = None if one.parent_id is None else keys.get(one.parent_id)
            if one.parent_id is not None and (place is None or place[0] == "button"):
                later.append(one)
                continue
            name = one.title if one.name is None else one.name
            numbers[one.parent_id, name] += 1
            segment = segment_of(name, numbers[one.parent_id, name])
            keys[one.id] = ("menu", segment if place is None else f"{place[1]}/{segment}")
        if len(later) == len(waiting):
            raise Conflict(
                f"Menu {later[0].id} is below a Button or below itself: correct that first", rule="consistent"
            )
        waiting = later
    return keys


def _menus(tree: Sequence[Menu], keys: Keys) -> dict[str, MenuState]:
    return {
        keys[one.id][1]: MenuState(**{name: getattr(one, name) for name in _MENU_FIELDS})
        for one in tree
        if keys[one.id][0] == "menu"
    }


def _buttons(tree: Sequence[Menu], keys: Keys) -> dict[str, ButtonState]:
    found = {}
    for one in tree:
        kind, code = keys[one.id]
        if kind == "button":
            place = None if one.parent_id is None else keys[one.parent_id]
            if place is not None and place[0] == "button":
                raise Conflict(f"Button {code} is below a Button: correct that first", rule="consistent")
            values = {name: getattr(one, name) for name in _BUTTON_FIELDS}
            found[code] = ButtonState(**values, menu=None if place is None else place[1])
    return found


def _service(one: StoredService, opened: Mapping[str, OpenTo]) -> ServiceState:
    return ServiceState(
        description=one.description,
        ignore_case=one.ignore_case,
        ignore_trailing_slash=one.ignore_trailing_slash,
        allow_preflight=one.allow_preflight,
        opened=opened.get(object_of(one.name, UNREGISTERED)),
    )


def _resources(
    registered: Sequence[Resource], bound: Pairs, keys: Keys, opened: Mapping[str, OpenTo]
) -> dict[str, ResourceState]:
    codes: dict[int, list[str]] = {one.id: [] for one in registered}
    for resource_id, menu_id in bound:
        codes[resource_id].append(keys[menu_id][1])
    return {
        one.object: ResourceState(
            code=one.resource_code,
            name=one.resource_name,
            description=one.description,
            enabled=one.enabled,
            opened=opened.get(one.object),
            buttons=tuple(sorted(codes[one.id])),
        )
        for one in registered
    }


def _roles(known: Sequence[Role], given: Pairs, keys: Keys) -> dict[str, RoleState]:
    gives: dict[int, list[tuple[Kind, str]]] = {one.id: [] for one in known}
    for role_id, menu_id in given:
        gives[role_id].append(keys[menu_id])
    return {
        one.role_code: RoleState(
            name=one.role_name,
            description=one.description,
            enabled=one.enabled,
            menus=tuple(ordered("menu", (key for kind, key in gives[one.id] if kind == "menu"))),
            buttons=tuple(sorted(key for kind, key in gives[one.id] if kind == "button")),
        )
        for one in known
    }
