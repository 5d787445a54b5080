"""What the rows of a table of users ask for, against what is stored: looked at before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from service.administration import account_rules
from service.administration.account_rules import AccountValues
from service.administration.import_rows import RowFaults, once_each
from service.authn.password_rules import PasswordRules
from service.kernel.names import name_key
from service.records.user_list import User
from service.records.user_tables import Directory

_FIELDS: Final = {"nick_name": "nickName"}  # where it is not the name of the column
WITHOUT_PASSWORD: Final = "made disabled, since the row has no password"  # noqa: S105 - a note, no password


@dataclass(frozen=True, slots=True)
class UserRow:
    """What a row says of a user; ``values`` are all but the name, and what is left out stays as it is."""

    row: int
    user_name: str
    values: AccountValues
    role_codes: tuple[str, ...] | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """What the name is compared by."""
        return name_key(self.user_name)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a row asks for: of a user that there is, only what differs; ``role_ids`` None leaves the roles."""

    said: UserRow
    before: User | None
    values: AccountValues
    role_ids: tuple[int, ...] | None

    @property
    def changes(self) -> tuple[str, ...]:
        """The fields that would be different."""
        roles = () if self.role_ids is None else ("roles",)
        return (*(_FIELDS.get(name, name) for name in self.values), *roles)


def wanted_by(
    rows: Sequence[UserRow], known: Directory, rules: PasswordRules, faults: RowFaults
) -> list[Wanted]:
    """Return what each row asks for, and note what is wrong with the rows."""
    once_each(faults, "userName", ((one.row, one.key) for one in rows))
    found = []
    for one in rows:
        role_ids = _role_ids(one, known, faults)
        before = known.users.get(one.key)
        if before is None:
            found.append(_new(one, role_ids, rules, faults))
        else:
            found.append(_edit(one, before, role_ids, faults))
    return found


def _role_ids(one: UserRow, known: Directory, faults: RowFaults) -> tuple[int, ...] | None:
    if one.role_codes is None:
        return None
    for place, code in enumerate(one.role_codes):
        if code not in known.roles:
            faults.add(one.row, f"roles[{place}]", "There is no such role")
    return tuple(dict.fromkeys(known.roles[code] for code in one.role_codes if code in known.roles))


def _new(one: UserRow, role_ids: tuple[int, ...] | None, rules: PasswordRules, faults: RowFaults) -> Wanted:
    values = cast(AccountValues, {"user_name": one.user_name, **one.values})
    if "nick_name" not in values:
        faults.add(one.row, "nickName", "A new user needs one")
    with faults.of(one.row, "userName"):
        account_rules.check(values)
    if one.password is None:
        values["status"] = "disabled"
    else:
        context = (one.user_name, values.get("nick_name"), values.get("email"), values.get("phone"))
        with faults.of(one.row, "password"):
            rules.check("password", one.password, context)
    return Wanted(one, None, values, role_ids or ())


def _edit(one: UserRow, before: User, role_ids: tuple[int, ...] | None, faults: RowFaults) -> Wanted:
    if one.password is not None:
        faults.add(one.row, "password", "There is such a user already, whose password an import does not set")
    differing: dict[str, Any] = {
        name: value for name, value in one.values.items() if (value or "") != (getattr(before, name) or "")
    }
    with faults.of(one.row, "userName"):
        account_rules.check(differing)
    if role_ids is not None and set(role_ids) == {role.id for role in before.roles}:
        role_ids = None
    return Wanted(one, before, cast(AccountValues, differing), role_ids)
