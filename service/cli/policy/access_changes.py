"""The text of what roles gain and lose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.kernel.text import counted
from service.web.messages.dry_run import AccessChange


def gains_and_losses(gains: Sequence[AccessChange], loses: Sequence[AccessChange]) -> Iterator[str]:
    """Yield a line for each role and request, ``+`` for a gain and ``-`` for a loss."""
    if not gains and not loses:
        yield "Nobody gains or loses anything."
    yield from (
        f"{sign} {one.role_code or 'no role'} ({counted(one.users, 'user')})  {name}"
        for sign, changes in (("-", loses), ("+", gains))
        for one in changes
        for name in one.access
    )
