"""The use of the scopes of an API key: unused ones, and fewer or narrower ones that suffice."""

from collections.abc import Collection
from typing import Final

from service.kernel.codes import HeldCodes

MOST_SCOPES: Final = 100
"""The maximum number of scopes of a key."""


def unused_scopes(scopes: Collection[str], needed: Collection[str]) -> list[str]:
    """Return the scopes that grant none of the ``needed`` codes."""
    return [scope for scope in scopes if not any(map(HeldCodes([scope]).holds, needed))]


def sufficient_scopes(scopes: Collection[str], needed: Collection[str]) -> list[str]:
    """Return the ``needed`` codes; if a key can't have that many scopes, the scopes that grant them."""
    if len(needed) <= MOST_SCOPES:
        return sorted(needed)
    unused = unused_scopes(scopes, needed)
    return [scope for scope in scopes if scope not in unused]
