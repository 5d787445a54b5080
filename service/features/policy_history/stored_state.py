"""The stored state, with the ids of its objects."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from service.authz.engine.rules import UNREGISTERED
from service.errors import Conflict
from service.features.policy_history import state as states
from service.features.policy_history.sentences import sentence
from service.kernel.services import has_ended, object_of
from service.records import bindings, menus, openings, request_rules, resources, roles, services
from service.records.database.transactions import Connection
from service.records.menus import Menu
from service.records.resources import Resource
from service.records.roles import Role

Pairs = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored state; ``ids`` has the id of each object, and of openings, by kind and ``identity``."""

    state: states.State
    ids: dict[tuple[str, str], int]


async def read(connection: Connection) -> Stored:
    """Return the stored state; only reads. Raises Conflict for a menu tree that can't be written."""
    tree = await menus.every(connection)
    registered = await resources.every(connection)
    open_now = await openings.every(connection)
    now = time.time()
    opened = {item.object: item.word for item in open_now if not has_ended(item.word, now)}
    others = await services.every(connection)
    bound = await bindings.every(connection)
    known = await roles.every(connection)
    given = await roles.every_menu(connection)
    # A suspended rule has no lines; a file that has the rule puts it in force again.
    rules = {
        rule.role_code: states.RuleState.of(rule)
        for rule in await request_rules.every(connection)
        if not rule.suspended
    }
    keys = _keys(tree)
    state = states.state_of(
        {
            "menu": _menus(tree, keys),
            "button": _buttons(tree, keys),
            "service": {
                other.name: states.ServiceState(
                    **states.values_of("service", other),
                    opened=opened.get(object_of(other.name, UNREGISTERED)),
                )
                for other in others
            },
            "resource": _resources(registered, bound, keys, opened),
            "role": _roles(known, given, keys, rules),
        }
    )
    ids: dict[tuple[str, str], int] = {(kind, key): menu_id for menu_id, (kind, key) in keys.items()}
    ids |= {
        ("resource", states.identity("resource", resource.object)): resource.id for resource in registered
    }
    ids |= {("service", service.name): service.id for service in others}
    ids |= {("role", role.role_code): role.id for role in known}
    ids |= {("opening", item.object): item.id for item in open_now}
    return Stored(state, ids)


Keys = Mapping[int, tuple[states.Kind, str]]


def _keys(tree: Sequence[Menu]) -> dict[int, tuple[states.Kind, str]]:
    """Return the kind and the key of each menu by id.

    Menus with one name below the same Menu are numbered by id, which edits do not change.
    """
    keys: dict[int, tuple[states.Kind, str]] = {
        menu.id: ("button", menu.auth_mark) for menu in tree if menu.menu_type == "Button" and menu.auth_mark
    }
    waiting = sorted((menu for menu in tree if menu.id not in keys), key=lambda menu: menu.id)
    numbers: Counter[tuple[int | None, str]] = Counter()
    while waiting:
        later = []
        for menu in waiting:
            place = None if menu.parent_id is None else keys.get(menu.parent_id)
            if menu.parent_id is not None and (place is None or place[0] == "button"):
                later.append(menu)
                continue
            name = menu.title if menu.name is None else menu.name
            numbers[menu.parent_id, name] += 1
            segment = states.segment_of(name, numbers[menu.parent_id, name])
            keys[menu.id] = ("menu", segment if place is None else f"{place[1]}/{segment}")
        if len(later) == len(waiting):
            raise Conflict(sentence("menu_below_button", menu=later[0].id), rule="consistent")
        waiting = later
    return keys


def _menus(tree: Sequence[Menu], keys: Keys) -> dict[str, states.MenuState]:
    return {
        keys[item.id][1]: states.MenuState(**states.values_of("menu", item))
        for item in tree
        if keys[item.id][0] == "menu"
    }


def _buttons(tree: Sequence[Menu], keys: Keys) -> dict[str, states.ButtonState]:
    buttons = {}
    for menu in tree:
        kind, code = keys[menu.id]
        if kind == "button":
            place = None if menu.parent_id is None else keys[menu.parent_id]
            if place is not None and place[0] == "button":
                raise Conflict(sentence("button_below_button", code=code), rule="consistent")
            buttons[code] = states.ButtonState(
                **states.values_of("button", menu), menu=None if place is None else place[1]
            )
    return buttons


def _resources(
    registered: Sequence[Resource], bound: Pairs, keys: Keys, opened: Mapping[str, str]
) -> dict[str, states.ResourceState]:
    codes: dict[int, list[str]] = {resource.id: [] for resource in registered}
    for resource_id, menu_id in bound:
        codes[resource_id].append(keys[menu_id][1])
    return {
        resource.object: states.ResourceState(
            **states.values_of("resource", resource),
            opened=opened.get(resource.object),
            buttons=tuple(sorted(codes[resource.id])),
        )
        for resource in registered
    }


def _roles(
    known: Sequence[Role], given: Pairs, keys: Keys, rules: Mapping[str, states.RuleState]
) -> dict[str, states.RoleState]:
    gives: dict[int, list[tuple[states.Kind, str]]] = {role.id: [] for role in known}
    for role_id, menu_id in given:
        gives[role_id].append(keys[menu_id])
    return {
        role.role_code: states.RoleState(
            **states.values_of("role", role),
            menus=tuple(states.ordered("menu", (key for kind, key in gives[role.id] if kind == "menu"))),
            buttons=tuple(sorted(key for kind, key in gives[role.id] if kind == "button")),
            request_rule=rules.get(role.role_code),
        )
        for role in known
    }
