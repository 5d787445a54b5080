"""Which codes a held code covers, written from the rules anew: what the service must agree with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache


def covers(held: Iterable[str], code: str) -> bool:
    """Tell whether any of ``held`` covers ``code``; a ``*`` in ``code`` is an ordinary segment.

    A ``*`` at the end of a held code stands for one segment or more, any other for exactly one.
    """
    return any(_pattern(held_code).fullmatch(code) for held_code in held)


@cache
def _pattern(held: str) -> re.Pattern[str]:
    *head, last = ["[^:]+" if segment == "*" else re.escape(segment) for segment in held.split(":")]
    return re.compile(":".join([*head, "[^:]+(?::[^:]+)*" if held.endswith("*") else last]))
