"""JSON as a token may hold it: one reading only.

Parsers differ about what JSON leaves open, and a check by one reading is no check of another: a member given
twice, NaN, a text in UTF-16 (RFC 8725 §2.4, RFC 7515 §4).
"""

from __future__ import annotations

import json
from typing import Any, NoReturn


def strict_object(text: bytes) -> dict[str, Any]:
    """Return the JSON object in ``text``; ValueError for anything else, duplicate members included."""
    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - it is the value that is wrong, not our caller
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is given twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
