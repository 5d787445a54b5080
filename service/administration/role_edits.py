"""Edits of roles within a unit of work."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.administration import change_log, suspended_rules
from service.administration.change_log import check_record, check_values
from service.administration.lasting import FOR_GOOD
from service.administration.request_rules import tell_change
from service.administration.unit_of_work import UnitOfWork, unconditionally
from service.errors import Conflict, ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.origin import FieldChange, field_changes, values_change
from service.records import assignments, request_rules, role_rights, roles
from service.records.database.transactions import Connection
from service.records.roles import GivenMenu, MenuTree, Role, RoleValues


@dataclass(frozen=True, slots=True)
class Given:
    """The menus of a role: ``menu_ids`` of all its menus and Buttons, ``permissions`` of all its Buttons.

    None means not given. One field is enough; both must name the same Buttons.
    """

    menu_ids: Sequence[int] | None = None
    permissions: Sequence[str] | None = None

    def __bool__(self) -> bool:
        return self.menu_ids is not None or self.permissions is not None


NO_BUTTON: Final = sentence("no_such_button")


async def menus_of(connection: Connection, given: Given, before: Collection[GivenMenu]) -> Sequence[int]:
    """Return the ids of all menus and Buttons of a role that gave ``before`` and is to give ``given``.

    Raises ValidationFailed for a code that no Button carries, and if ids and codes name different Buttons.
    """
    if given.permissions is None:
        return given.menu_ids or ()
    tree = await roles.menu_tree(connection)
    if places := unknown(tree, given.permissions):
        raise ValidationFailed(*((f"permissions[{place}]", NO_BUTTON) for place in places))
    if given.menu_ids is None:
        return with_buttons(tree, given.permissions, before)
    named = set(given.menu_ids) & set(tree.buttons.values())
    if named != {tree.buttons[code] for code in given.permissions}:
        raise ValidationFailed(
            (
                "permissions",
                sentence("codes_differ_from_menus"),
            )
        )
    return given.menu_ids


def unknown(tree: MenuTree, codes: Sequence[str]) -> list[int]:
    """Return the places of those ``codes`` that no Button carries."""
    return [place for place, code in enumerate(codes) if code not in tree.buttons]


def with_buttons(tree: MenuTree, codes: Collection[str], before: Collection[GivenMenu]) -> list[int]:
    """Return the ids of the Buttons with ``codes``, the Menus of ``before``, and those above new Buttons.

    So a role that is given by codes shows the pages of its Buttons, and keeps those that it has.
    """
    button_ids = {tree.buttons[code] for code in codes}
    had = {menu.id for menu in before if menu.auth_mark is not None}
    kept = {menu.id for menu in before if menu.auth_mark is None}
    return sorted(button_ids | kept | tree.with_menus_above(button_ids - had))


_CHANGED: Final = "The role was disabled, enabled or deleted"
_GIVING: Final = "/api/role/{id}/permissions"

LIST_USERS: Final = "GET /api/user/list"
"""Callers who may send this request see the users of a role and their number."""

NAMED: Final = 5
"""The number of users of a role that a refusal lists."""


async def create(unit: UnitOfWork, given: Mapping[str, Any]) -> Role:
    """Create a role with the ``role_code`` and the fields of ``RoleValues`` that are given.

    It gives the ``menu_ids`` and ``permissions``, and nothing without them. Raises ``ValidationFailed``, and
    ``Conflict`` for a taken name or code.
    """
    fields, gives = _parts(given)
    role_code = fields.pop("role_code")
    values = RoleValues(**fields)
    check_record(values)
    menu_ids: Sequence[int] = ()
    if gives:
        unit.require_request("PUT", _GIVING, 0)  # the id comes with the role
        menu_ids = await menus_of(unit.connection, gives, ())
        await unit.check.require_menus(unit.connection, menu_ids, until=FOR_GOOD)
    unit.authorized()
    made = await roles.create(unit.connection, role_code, values)
    target = change_log.role_target(role_code)
    unit.changes += field_changes(target, {}, change_log.role_fields(made))
    if menu_ids:
        await roles.set_menus(unit.connection, made.id, menu_ids)
        unit.changes += _given_changes(target, (), await roles.given(unit.connection, made.id))
    return made


async def update(
    unit: UnitOfWork, role_id: int, given: Mapping[str, Any], match: Callable[[Role], None]
) -> Role:
    """Store the given fields of ``RoleValues``, ``menu_ids`` and ``permissions``; all else is unchanged.

    A ``role_code`` that is given must be the current one. Raises ``NotFound``, ``ValidationFailed``, and
    ``Conflict`` for a taken name.
    """
    values, gives = _parts(given)
    role_code = values.pop("role_code", None)
    check_values(RoleValues, values)
    before, _ = await _for_change(unit, role_id, match)
    if role_code not in (None, before.role_code):
        raise ValidationFailed(("roleCode", sentence("role_code_fixed")))
    if values.get("enabled", before.enabled) != before.enabled:
        if await _has_lines(unit, role_id):
            await tell_change(unit, role_id, _CHANGED, lines=True, approvers=False)
        if not before.enabled:
            await unit.check.require_roles(unit.connection, [role_id], until=FOR_GOOD)
    saved = await roles.update(unit.connection, role_id, values)
    fields = (change_log.role_fields(role) for role in (before, saved))
    unit.changes += field_changes(change_log.role_target(saved.role_code), *fields)
    if (saved.enabled, saved.personal_keys) != (before.enabled, before.personal_keys):
        unit.refreshing.update(await role_rights.in_role(unit.connection, role_id))
    if gives:
        unit.require_request("PUT", _GIVING, role_id)
        await set_menus(unit, role_id, gives, unconditionally)
    return saved


async def delete(unit: UnitOfWork, role_id: int, match: Callable[[Role], None]) -> None:
    """Delete a role; raises ``NotFound``, and ``Conflict`` if users have it.

    And what listeners to the change raise.
    """
    before, permissions = await _for_change(unit, role_id, match)
    await require_unused(unit.connection, role_id, shows_users=unit.check.may_request(LIST_USERS))
    lines = await _has_lines(unit, role_id)
    await tell_change(unit, role_id, _CHANGED, lines=lines, approvers=True)
    await assignments.forget_ended_of_role(unit.connection, role_id)
    await roles.delete(unit.connection, role_id)
    fields = change_log.role_fields(before, permissions)
    unit.changes += field_changes(change_log.role_target(before.role_code), fields, {})


async def require_unused(connection: Connection, role_id: int, *, shows_users: bool) -> None:
    """Check that no user has the role; ``Conflict`` else.

    The refusal has the number of users and some names for callers who may list users (``shows_users``).
    """
    names, number = await roles.users_of(connection, role_id, NAMED)
    if number:
        users = {"users": names, "userCount": number} if shows_users else {}
        raise Conflict(sentence("role_in_use"), rule="in_use", **users)


async def _has_lines(unit: UnitOfWork, role_id: int) -> bool:
    """Return whether the role can be requested: then its policy lines change with it, and edits publish."""
    ruled = await request_rules.of_role(unit.connection, role_id) is not None
    if ruled:
        unit.require_publishing()
    return ruled


async def set_menus(
    unit: UnitOfWork, role_id: int, given: Given, match: Callable[[list[GivenMenu]], None]
) -> list[GivenMenu]:
    """Set the menus and Buttons of a role to those ``given``; return them, by id.

    Raises ``NotFound``, and ``ValidationFailed`` for ids that are not menus and as ``menus_of``.
    """
    stored = await roles.read(unit.connection, role_id)
    change_log.concerns(target := change_log.role_target(stored.role_code))
    reach = await unit.check.require_roles(unit.connection, [role_id])
    before = await roles.given(unit.connection, role_id)
    menu_ids = await menus_of(unit.connection, given, before)
    await unit.check.require_menus(unit.connection, menu_ids)
    given_ids = set(menu_ids).difference(menu.id for menu in before)
    await unit.check.require_menus(unit.connection, given_ids, until=FOR_GOOD)
    match(before)
    await roles.set_menus(unit.connection, role_id, menu_ids)
    saved = await roles.given(unit.connection, role_id)
    if saved != before:
        unit.refreshing.update(await role_rights.in_role(unit.connection, role_id))
        unit.changes += _given_changes(target, before, saved)
        await suspended_rules.suspend_if_unauthorized(unit, role_id, reach)
    return saved


def _parts(given: Mapping[str, Any]) -> tuple[dict[str, Any], Given]:
    """Return the fields of the role itself, and its new menus."""
    fields = dict(given)
    return fields, Given(fields.pop("menu_ids", None), fields.pop("permissions", None))


async def _for_change(unit: UnitOfWork, role_id: int, match: Callable[[Role], None]) -> tuple[Role, set[str]]:
    """Return the role, and the codes of its Buttons."""
    stored = await roles.read(unit.connection, role_id)
    change_log.concerns(change_log.role_target(stored.role_code))
    permissions = await unit.check.require_roles(unit.connection, [role_id])
    match(stored)
    return stored, permissions


def _given_changes(target: str, before: Sequence[GivenMenu], saved: Sequence[GivenMenu]) -> list[FieldChange]:
    """Return the changes of a role's menus: codes of Buttons, and titles of Menus."""
    had, has = set(before), set(saved)
    both = (had - has, has - had)
    codes = [[menu.auth_mark for menu in some if menu.auth_mark is not None] for some in both]
    titles = [[menu.title for menu in some if menu.auth_mark is None] for some in both]
    return values_change(target, "permissions", *codes) + values_change(target, "menus", *titles)
