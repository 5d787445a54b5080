"""The members of each object in a state file, by the file's names for the fields of a state."""

from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, Final, get_type_hints

from msgspec import UNSET

from service.features.policy_history.state import TYPES, Kind, short_name
from service.kernel.fields import ITS_TYPE, Rule, camel, fields_of
from service.web.messages.record_schemas import kind_of

FORMAT: Final = 1
"""The version of the file format that is written and read."""

OPTIONAL: Final = frozenset({"services"})
"""Optional sections: files of earlier versions do not have them."""

_DEFAULTS: Final = {
    ("menu", "name"): UNSET,
    ("resource", "buttons"): MISSING,
    ("role", "request_rule"): UNSET,
}
"""Defaults of omitted fields that differ from the defaults of the state.

Without ``name`` a Menu is named by the last part of its key. A resource without ``buttons`` would be open to
every logged-in user, so ``buttons`` is required. Files of earlier versions have no request rules.
"""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the objects of a kind: ``key`` in the file, for the field ``name`` of their state.

    ``default`` is the value if the member is omitted. MISSING makes it required; UNSET uses the stored value
    or the one in the key.
    """

    name: str
    key: str
    kind: Any
    rule: Rule
    default: Any


@cache
def members_of(kind: Kind) -> tuple[Member, ...]:
    """Return the members of objects of a kind, in the order of writing."""
    state, record = TYPES[kind]
    declared, hints = fields_of(record), get_type_hints(state)
    members = []
    for field in fields(state):
        name, default = field.name, _DEFAULTS.get((kind, field.name), field.default)
        key, value = camel(short_name(kind, name)), hints[name]
        rule: Rule = ITS_TYPE
        if name in declared:
            value, rule = kind_of(record, name), declared[name].rule
            default = UNSET if declared[name].late else default
        members.append(Member(name, key, value, rule, default))
    return tuple(members)
