"""Expiry of held codes: a grant lasts at most until the granter's own right expires."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT
from service.kernel.codes import HeldCodes

FOR_GOOD: Final = datetime.max.replace(tzinfo=UTC)
"""The expiry of an assignment without an end."""


class Holding(NamedTuple):
    """Codes that a caller holds by the token and by the database, and the expiries of temporary codes."""

    by_token: HeldCodes | None
    by_database: HeldCodes
    ends: Mapping[str, datetime]

    @property
    def now(self) -> tuple[HeldCodes | None, HeldCodes]:
        """Codes that the caller holds now, by the token and by the database."""
        return self.by_token, self.by_database

    def until(self, end: datetime | None) -> tuple[HeldCodes | None, HeldCodes]:
        """Return the codes that the caller holds now and until ``end``; None asks about now alone."""
        return (
            self.by_token,
            self.by_database if end is None else codes_valid_until(self.by_database, self.ends, end),
        )

    def expiry(self, policy: Policy, denied: Collection[str], end: datetime | None) -> datetime | None:
        """Return when the caller's right to grant one of ``denied`` expires before ``end``; None else."""
        if end is None:
            return None
        ending = [
            ends
            for held, ends in self.ends.items()
            for code in denied
            if policy.judge(GRANT, code, HeldCodes([held])).allowed
        ]
        return min(ending, default=None)


def codes_valid_until(held: HeldCodes, ends: Mapping[str, datetime], end: datetime) -> HeldCodes:
    """Return those of the ``held`` codes that go on until ``end``."""
    if not ends:
        return held
    return HeldCodes(code for code in held.codes if ends.get(code, FOR_GOOD) >= end)
