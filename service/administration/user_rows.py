"""Compares the rows of a table of users with the stored users, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from service.administration import user_edits as account_rules
from service.administration.import_rows import RowFaults, once_each
from service.administration.table_import import TableRow
from service.administration.user_edits import AccountValues, created_by
from service.administration.value_check import check_values
from service.authn.password_rules import PasswordRules
from service.kernel.names import name_key
from service.records.user_list import Directory, User, UserValues

WITHOUT_PASSWORD: Final = "created disabled, since the row has no password"  # noqa: S105 - a note, no password


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes of a row: for an existing user, the differences only; ``role_ids`` None keeps the roles."""

    given: TableRow
    before: User | None
    values: AccountValues
    role_ids: tuple[int, ...] | None

    @property
    def key(self) -> str:
        """The key for comparing names."""
        return name_key(self.given.name)

    @property
    def is_person(self) -> bool:
        """Whether a new user is a person."""
        return bool(self.values.get("kind", "person") == "person")

    @property
    def changes(self) -> tuple[str, ...]:
        """The fields that would change."""
        return (*self.values, *(() if self.role_ids is None else ("roles",)))


def wanted_by(
    rows: Sequence[TableRow], known: Directory, faults: RowFaults, bound_to: str | None
) -> list[Wanted]:
    """Return the changes of each row, and add the faults of rows, except those of passwords.

    ``bound_to`` is the service that the caller is bound to, None for none.
    """
    once_each(faults, "userName", ((table_row.row, name_key(table_row.name)) for table_row in rows))
    users = []
    for table_row in rows:
        role_ids = _role_ids(table_row, known, faults)
        before = known.users.get(name_key(table_row.name))
        if before is None:
            users.append(_new(table_row, role_ids, faults, bound_to))
        else:
            users.append(_edit(table_row, before, role_ids, faults))
    return users


def check_passwords(users: Iterable[Wanted], rules: PasswordRules, faults: RowFaults) -> None:
    """Add a fault for each refused password of a new user; a thousand take some seconds."""
    for user in users:
        if user.before is None and user.given.password is not None:
            owner = UserValues(**{"nick_name": "", **user.values})  # without one, it is a fault of the row
            with faults.of(user.given.row, "password"):
                rules.check("password", user.given.password, owner)


def _role_ids(table_row: TableRow, known: Directory, faults: RowFaults) -> tuple[int, ...] | None:
    if table_row.codes is None:
        return None
    for place, code in enumerate(table_row.codes):
        if code not in known.roles:
            faults.add(table_row.row, f"roles[{place}]", "There is no such role")
    return tuple(dict.fromkeys(known.roles[code] for code in table_row.codes if code in known.roles))


def _new(
    table_row: TableRow, role_ids: tuple[int, ...] | None, faults: RowFaults, bound_to: str | None
) -> Wanted:
    values = {"user_name": table_row.name, **created_by(bound_to, table_row.values)}
    if "nick_name" not in values:
        faults.add(table_row.row, "nickName", "A new user needs one")
    with faults.of(table_row.row, "userName"):
        check_values(UserValues, values)
    kind = values.get("kind", "person")
    with faults.of(table_row.row, "service"):
        account_rules.require_kind(kind, values)
    if kind == "service" and table_row.password is not None:
        faults.add(table_row.row, "password", "A service account has API keys in place of a password")
    if kind == "person" and table_row.password is None:
        values["status"] = "disabled"
    return Wanted(table_row, None, values, role_ids or ())


def _edit(table_row: TableRow, before: User, role_ids: tuple[int, ...] | None, faults: RowFaults) -> Wanted:
    if table_row.password is not None:
        faults.add(
            table_row.row, "password", "There is such a user already, whose password an import does not set"
        )
    differing = table_row.differing(before)
    with faults.of(table_row.row, "userName"):
        check_values(UserValues, differing)
    with faults.of(table_row.row, "kind", "service"):
        account_rules.require_kind(before.kind, differing)
    if role_ids is not None and set(role_ids) == {role.id for role in before.roles}:
        role_ids = None
    return Wanted(table_row, before, differing, role_ids)
