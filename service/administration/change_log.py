"""Checks of edited values, and entries of edits for the operation log.

A record is named as a reader knows it: ``role:auditor``, ``user:alice``, ``resource:GET /api/report``,
``button:system:user:list``, ``menu:Users``.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from service.errors import ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.fields import audited_fields, field_faults
from service.kernel.origin import ORIGIN, ChangeRecord, FieldChange, field_changes
from service.records import rights_changes
from service.records.database.transactions import Connection
from service.records.menus import Menu, MenuValues
from service.records.openings import Opening
from service.records.resources import Resource, ResourceValues
from service.records.roles import RoleValues
from service.records.services import ServiceValues
from service.records.user_list import User, UserValues


def check_values(kind: type, values: Mapping[str, Any]) -> None:
    """Check some fields of ``kind``, by name; raises ValidationFailed with the faults of all of them.

    TypeError for a name that ``kind`` does not declare: nothing unknown is written.
    """
    if faults := list(field_faults(kind, values)):
        raise ValidationFailed(*faults)


def check_record(values: Any) -> None:
    """Check all fields of ``values``, a declared dataclass, as ``check_values`` does."""
    check_values(type(values), asdict(values))


def concerns(*targets: str) -> None:
    """Record the stored records that the current request is about, whatever its outcome."""
    if (record := _record()) is not None:
        record.concern(targets)


def saved(changes: Collection[FieldChange], *targets: str) -> None:
    """Record the saved ``changes`` with their records, and the further ``targets`` of the operation.

    Call it after the commit: new names come from the request body, and the log keeps nothing of the body of a
    rejected request.
    """
    if (record := _record()) is not None:
        record.concern(change.target for change in changes)
        record.concern(targets)
        record.changes += changes


def saving(changes: Sequence[FieldChange], *targets: str) -> None:
    """Record just before the commit the changes that ``saved`` records after it.

    The change then leaves a trace even if this process is killed in between.
    """
    if (record := _record()) is not None:
        record.save(changes, targets)


async def changes_rights(connection: Connection) -> None:
    """Record the number of the transaction, so that the answer can wait until followers have it."""
    if (record := _record()) is not None:
        record.transaction = await rights_changes.transaction_number(connection)


def warned(warnings: Sequence[Sentence]) -> None:
    """Add sentences about the saved change to the answer of the request; call it after the commit."""
    if (record := _record()) is not None:
        record.warnings += warnings


def role_target(role_code: str) -> str:
    return f"role:{role_code}"


def user_target(user_name: str) -> str:
    return f"user:{user_name}"


def menu_target(menu: Menu) -> str:
    """Return the name of a Menu or Button in the log."""
    return f"menu:{menu.title}" if menu.auth_mark is None else button_target(menu.auth_mark)


def button_target(auth_mark: str) -> str:
    return f"button:{auth_mark}"


def resource_target(resource: Resource) -> str:
    return f"resource:{requests_of(resource)}"


def requests_of(resource: Resource) -> str:
    """Return the object of a resource, such as ``GET /api/report/{id}`` or ``orders GET /orders/{id}``."""
    return resource.object


def role_fields(values: RoleValues, permissions: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of a role, with the codes of its Buttons if they are known."""
    return audited_fields(RoleValues, values) | {"permissions": frozenset(permissions)}


def user_fields(user: User) -> dict[str, Any]:
    """Return the fields of a user, with the codes of all roles."""
    return audited_fields(UserValues, user) | {"roles": frozenset(role.role_code for role in user.roles)}


def edited_user(before: User, after: User) -> list[FieldChange]:
    """Return the changes of an existing user."""
    return field_changes(user_target(before.user_name), user_fields(before), user_fields(after))


def imported_user(values: UserValues, role_codes: Iterable[str]) -> list[FieldChange]:
    """Return the changes that make a new user of ``values`` in roles."""
    fields = audited_fields(UserValues, values) | {"roles": frozenset(role_codes)}
    return field_changes(user_target(values.user_name), {}, fields)


def menu_fields(menu: Menu, parent: str | None = None) -> dict[str, Any]:
    """Return the fields of a menu, with the title of the Menu above it if it is known."""
    return audited_fields(MenuValues, menu) | {"parent": parent}


def resource_fields(resource: Resource, permissions: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of a resource, with the codes of the Buttons that open it if they are known."""
    return audited_fields(ResourceValues, resource) | {"permissions": frozenset(permissions)}


def service_target(name: str) -> str:
    return f"service:{name}"


def service_fields(values: ServiceValues) -> dict[str, Any]:
    return audited_fields(ServiceValues, values)


def opening_target(opening: Opening) -> str:
    return f"opening:{opening.object}"


def _record() -> ChangeRecord | None:
    """Return the record of the request that is being served; None outside one."""
    if (origin := ORIGIN.get()) is None:
        return None
    if origin.recorded is None:
        origin.recorded = ChangeRecord()
    return origin.recorded
