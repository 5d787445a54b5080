"""Time zones by their names in the IANA database, such as ``Asia/Shanghai``."""

import re
from datetime import UTC, tzinfo
from typing import Final

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence

MAX_ZONE: Final = 64
"""The longest name of a zone, in characters; the longest of the database has 38."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
# Entries of some systems that name no zone, or one that depends on the node.
_NO_ZONES: Final = ("Factory", "localtime", "posixrules", "posix", "right")


def zone_fault(name: str) -> Sentence | None:
    """Return why ``name`` is refused, half a sentence; None for a zone of the IANA database.

    Names are compared exactly: browsers name zones in the spelling of the database.
    """
    return None if _zone(name) else sentence("not_a_time_zone")


def zone_of(name: str | None) -> tzinfo:
    """Return the zone ``name``; UTC for None, and for a name that this node's database does not have."""
    return (_zone(name) if name else None) or UTC


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - few commands need it

    if len(name) > MAX_ZONE or not _NAME.fullmatch(name) or name.partition("/")[0] in _NO_ZONES:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):  # a folder of zones; another file beside them
        return None
