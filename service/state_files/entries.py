"""What the objects of a state file may say, by the names that the file has for the fields of a state."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, Final, get_type_hints

from msgspec import UNSET

from service.administration.state import RECORDS, STATES, Kind, short_name
from service.kernel.fields import ITS_TYPE, Rule, camel, fields_of
from service.web.messages.record_schemas import kind_of

FORMAT: Final = 1
"""The version of the file's format that is written and read."""

SECTIONS: Final[dict[Kind, str]] = {
    "menu": "menus",
    "button": "buttons",
    "service": "services",
    "resource": "resources",
    "role": "roles",
}
"""The top-level key of each kind."""

OPTIONAL: Final = frozenset({"services"})
"""Sections that a file may leave out: those that files of earlier versions do not have."""

_DEFAULTS: Final = {("menu", "name"): UNSET, ("resource", "buttons"): MISSING}
"""What a field is that is left out, where that is not the default of the state.

Without ``name`` a Menu is called by the last part of its key. A resource without ``buttons`` would be open to
everybody who is logged in, so they must be given.
"""


@dataclass(frozen=True, slots=True)
class Member:
    """What objects of a kind may say: ``key`` in the file, for the field ``name`` of their state.

    ``default`` is its value when it is left out, MISSING if it must be given, and UNSET for one that then has
    the value that is stored, or in the key.
    """

    name: str
    key: str
    kind: Any
    rule: Rule
    default: Any


@cache
def members_of(kind: Kind) -> tuple[Member, ...]:
    """Return what objects of a kind may say, in the order in which it is written."""
    record, hints = RECORDS[kind], get_type_hints(STATES[kind])
    declared = fields_of(record)
    members = []
    for field in fields(STATES[kind]):
        name, key = field.name, camel(short_name(kind, field.name))
        default = _DEFAULTS.get((kind, name), field.default)
        if name in declared:
            default = UNSET if declared[name].late else default
            members.append(Member(name, key, kind_of(record, name), declared[name].rule, default))
        else:
            members.append(Member(name, key, hints[name], ITS_TYPE, default))
    return tuple(members)
