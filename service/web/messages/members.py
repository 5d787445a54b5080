"""The names of the members that a type has in JSON, at every depth."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import msgspec

from service.audit.redaction import is_sensitive
from service.web.messages.schema import schema_of


class Members(NamedTuple):
    """Names of members; ``is_open`` says that there may be others, known only at run time.

    ``has_free_object``: others are in an object that is stored and shown as it is, by a rule for its names
    (``propertyNames``), such as the ``meta`` of a menu.
    """

    names: frozenset[str] = frozenset()
    is_open: bool = False
    has_free_object: bool = False

    @property
    def sensitive(self) -> bool:
        """True if a member may hold a secret, by its name or because its name is not known."""
        return self.has_free_object or self.may_be_secret

    @property
    def may_be_secret(self) -> bool:
        """True if ``sensitive`` for more than an object that is stored and shown as it is anyway."""
        return self.is_open or any(map(is_sensitive, self.names))

    def joined(self, *others: Members) -> Members:
        """Return these members and those of ``others``."""
        names = self.names.union(*(other.names for other in others))
        return Members(
            names,
            any(members.is_open for members in (self, *others)),
            any(members.has_free_object for members in (self, *others)),
        )


@cache
def members_of(kind: Any) -> Members:
    """Return the members of the type ``kind``; TypeError or NotImplementedError if JSON has no such type.

    Results are cached: it takes milliseconds, and every start asks two or three times about most types.
    """
    schemas, components = msgspec.json.schema_components([kind], schema_hook=schema_of)
    names: set[str] = set()
    free: list[Any] = []
    is_open = _read([*schemas, *components.values()], names, free)
    return Members(frozenset(names), is_open, bool(free))


def _read(schema: Any, names: set[str], free: list[Any]) -> bool:
    """Add the names in ``schema`` to ``names``, its free objects to ``free``; True if it allows others."""
    if isinstance(schema, list):
        below, is_open = schema, False
    elif isinstance(schema, dict) and "propertyNames" in schema:
        free.append(schema)
        return False
    elif isinstance(schema, dict):
        properties = schema.get("properties", {})
        names.update(properties)
        below = [*properties.values(), *(value for name, value in schema.items() if name != "properties")]
        # A dictionary or Any: its names are known only at run time. One of Any is an object, and no more.
        unnamed = schema.get("type") == "object" and "properties" not in schema
        is_open = not schema or schema.get("additionalProperties", unnamed) is not False
    else:
        return False
    for each in below:
        is_open |= _read(each, names, free)
    return is_open
