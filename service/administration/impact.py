"""The outcome of a dry run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service.authz.review.impact import Difference, Move, Roles
from service.records import role_holdings
from service.records.database.transactions import Database

_MOST_NAMED: Final = 20

ByRoles = Mapping[Roles, Iterable[int]]
"""Ids of users by their roles."""


@dataclass(frozen=True, slots=True)
class KeptOut:
    """Users who are disabled or banned, before and after a change, and whom it would concern otherwise.

    ``users`` is their number, ``user_names`` the first of them by name; none if the caller may not know.
    """

    users: int
    user_names: tuple[str, ...]


NOBODY_KEPT_OUT: Final = KeptOut(0, ())


@dataclass(frozen=True, slots=True)
class Impact:
    """Who would gain and lose which endpoint, how many sessions would have to refresh, and warnings."""

    gains: Sequence[Difference]
    loses: Sequence[Difference]
    kept_out: KeptOut
    sessions: int
    warnings: tuple[str, ...]


def moves_of(before: ByRoles, after: ByRoles) -> dict[Move, list[int]]:
    """Return the users who are on both sides, by the roles that they had and have."""
    had = {user_id: roles for roles, ids in before.items() for user_id in ids}
    moves: defaultdict[Move, list[int]] = defaultdict(list)
    for has, ids in after.items():
        for user_id in ids:
            if (roles := had.get(user_id)) is not None:
                moves[roles, has].append(user_id)
    return moves


async def kept_out_named(database: Database, user_ids: Collection[int]) -> KeptOut:
    """Return these users with the first of their names."""
    if not user_ids:
        return NOBODY_KEPT_OUT
    async with database.snapshot() as connection:
        return KeptOut(len(user_ids), await role_holdings.user_names(connection, user_ids, _MOST_NAMED))
