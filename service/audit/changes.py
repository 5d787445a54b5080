"""What the log keeps of the changes of one call: without secrets, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from service.audit.redaction import REDACTED, is_sensitive, kept, shortened
from service.kernel.change_record import FieldChange

MOST_CHANGES: Final = 65_536
"""Bytes of the changes of one entry; the last ones are left out if there are more."""
MOST_VALUES: Final = 200
"""How many removed values, and how many added ones, a change keeps; it counts all of them."""


def kept_changes(changes: Sequence[FieldChange]) -> msgspec.Raw:
    """Return as many of ``changes`` as ``MOST_CHANGES`` allows, as JSON.

    Values of fields with sensitive names are withheld.
    """
    lines: list[bytes] = []
    room = MOST_CHANGES - 2
    for change in changes:
        line = msgspec.json.encode(_kept(change))
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return msgspec.Raw(b"[%b]" % b",".join(lines))


def _kept(change: FieldChange) -> FieldChange:
    if is_sensitive(change.field):
        return replace(change, before=REDACTED, after=REDACTED)
    return replace(change, before=_value(change.before), after=_value(change.after))


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [shortened(element) for element in value[:MOST_VALUES]]
    if isinstance(value, dict):
        return kept(msgspec.json.encode(value), redact=True)
    return shortened(value) if isinstance(value, str) else value
