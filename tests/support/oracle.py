"""Which codes a held code covers, written from the rules anew: what the service must agree with."""

from __future__ import annotations

import re
from collections.abc import Iterable


def covers(held: Iterable[str], code: str) -> bool:
    """Tell whether any of ``held`` covers ``code``; a ``*`` in ``code`` is an ordinary segment.

    A ``*`` at the end of a held code stands for one segment or more, any other for exactly one.
    """
    return any(re.fullmatch(_pattern(one), code) for one in held)


def _pattern(held: str) -> str:
    *head, last = ["[^:]+" if segment == "*" else re.escape(segment) for segment in held.split(":")]
    return ":".join([*head, "[^:]+(?::[^:]+)*" if held.endswith("*") else last])
