"""The outcome of a dry run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, RESOURCE, assured
from service.authz.review.impact import Difference, Move, Roles
from service.kernel.services import NO_DEMAND
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
class DemandChange:
    """An object of the layer ``resource``, and the words that it demanded and would demand."""

    object: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def demands_between(before: Policy, after: Policy) -> tuple[DemandChange, ...]:
    """Return what ``after`` demands of other callers than ``before`` does, by object.

    What is not registered demands nothing.
    """
    prefix = assured(RESOURCE, "")
    had, has = (policy.rules.by_object[ASSURANCE] for policy in (before, after))
    changed = (
        DemandChange(name.removeprefix(prefix), had.get(name, NO_DEMAND), has.get(name, NO_DEMAND))
        for name in {**had, **has}
        if had.get(name, NO_DEMAND) != has.get(name, NO_DEMAND)
    )
    return tuple(sorted(changed, key=attrgetter("object")))


@dataclass(frozen=True, slots=True)
class Impact:
    """Who would gain and lose which endpoint, how many sessions would have to refresh, and warnings.

    ``demands`` are the demands on authentication that would change for those who pass before and after.
    """

    gains: Sequence[Difference]
    loses: Sequence[Difference]
    kept_out: KeptOut
    sessions: int
    warnings: tuple[str, ...]
    demands: Sequence[DemandChange] = ()


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
