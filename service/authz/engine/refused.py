"""Objects of a refusal, to find roles that would open it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from service.authz.engine.policy import Policy
from service.kernel.identity import Caller

MOST_ROLES: Final = 20
"""The most roles that are named."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Refused objects of layers: all of them must open, or any one of them."""

    objects: Sequence[tuple[str, str]]
    any_one: bool = False


Requestable: TypeAlias = Callable[[Policy, Caller, Refused], Awaitable[Sequence[str]]]
"""Returns the codes of at most ``MOST_ROLES`` roles that the caller may ask for, and that would open it."""
