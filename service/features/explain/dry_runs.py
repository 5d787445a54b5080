"""Dry runs: make a write, compare the rights before and after, and roll it back."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, ENDPOINT, GRANT, RESOURCE, assured
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.sync import unrouted
from service.errors import Unavailable
from service.features.explain.sentences import sentence
from service.kernel.coded_sentences import Sentence, first_of
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, codes_asked
from service.kernel.origin import ORIGIN
from service.kernel.permission_catalogue import ADMINISTERING
from service.kernel.services import NO_DEMAND, PORTCULLIS
from service.kernel.write import OvertakenError, Write
from service.keyspace import SessionStore
from service.laboratory.analysis.impact import Difference, Move, Roles, Standing, differences, passing
from service.laboratory.proof.request_classes import registered
from service.records import role_holdings, role_rights
from service.records.database.transactions import Connection, Database
from service.records.giving_way import paced
from service.records.published import policy_revisions

_MOST_NAMED: Final = 20
_CODES_NAMED: Final = 10  # codes in a warning

ByRoles = Mapping[Roles, Iterable[int]]
"""Ids of users by their roles."""


@dataclass(frozen=True, slots=True)
class KeptOut:
    """Disabled or banned users, before and after a change, whom the change would otherwise affect.

    ``users`` is their number, ``user_names`` the first names in order; empty if the caller may not list
    users.
    """

    users: int
    user_names: tuple[str, ...]


NOBODY_KEPT_OUT: Final = KeptOut(0, ())


@dataclass(frozen=True, slots=True)
class DemandChange:
    """An object of the layer ``resource``, and its authentication demand before and after."""

    object: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def demands_between(before: Policy, after: Policy) -> tuple[DemandChange, ...]:
    """Return the demands on other callers that differ between ``before`` and ``after``, by object.

    Unregistered requests demand nothing.
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
    """Endpoints that users would gain and lose, the number of sessions to refresh, and warnings.

    ``demands`` are changed demands on authentication of callers whom both policies allow.
    """

    gains: Sequence[Difference]
    loses: Sequence[Difference]
    kept_out: KeptOut
    sessions: int
    warnings: tuple[Sentence, ...]
    demands: Sequence[DemandChange] = ()

    @property
    def warning_sentences(self) -> list[dict[str, Any]]:
        """The warnings with their codes and parameters."""
        return [warning.as_member() for warning in self.warnings]


def moves_of(before: ByRoles, after: ByRoles) -> dict[Move, list[int]]:
    """Return the users on both sides, by their roles before and after."""
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


_PATIENCE: Final = 2.0  # seconds for the newest revision to be in force here
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class _Seen:
    """The stored state at one moment, including locked-out users and the codes of the caller."""

    standing: Standing
    kept_out: dict[Roles, tuple[int, ...]]
    caller: HeldCodes


class DryRuns:
    """Makes writes that save nothing, and returns the changes that they would cause."""

    def __init__(
        self, database: Database, live: LivePolicy, store: SessionStore, concurrency: ConcurrencyLimit
    ) -> None:
        self._database = database
        self._live = live
        self._concurrency = concurrency
        self._store = store
        self._turn = asyncio.Lock()

    async def impact_of(self, caller: Caller, make: Callable[[Write], Awaitable[object]]) -> Impact:
        """Return the changes that the write of ``make`` would cause; raises as the real write does.

        It commits no transaction, puts no policy in force and touches no session. It locks only the rows that
        the write itself edits, until the rollback, so no other change waits. The comparison follows the
        rollback, off the event loop. One dry run is made at a time. Raises Unavailable if concurrent changes
        conflict again and again.
        """
        run = await self._made(caller, make)
        before, after = run.seen()
        async with self._concurrency.turn():
            moves = await self._concurrency.computed(moves_of, before.kept_out, after.kept_out)
            impact = await self._concurrency.computed(
                differences, before.standing, after.standing, moves=moves
            )
            warnings = (*run.warnings, *await self._concurrency.computed(_warnings, before, after))
            demands = await self._concurrency.computed(
                demands_between, before.standing.policy, after.standing.policy
            )
        kept_out = await self._kept_out(
            caller, [user_id for move in impact.altered for user_id in moves[move]]
        )
        sessions = await self._store.count_sessions(map(str, run.users))
        return Impact(impact.gains, impact.loses, kept_out, sessions, warnings, demands)

    async def _kept_out(self, caller: Caller, user_ids: list[int]) -> KeptOut:
        """Name users to a caller who may list users; count them for others."""
        policy, held = self._live.current, codes_asked(caller)
        origin = ORIGIN.get()
        if origin is None:  # the command line has no login
            lists = policy.judge_route(PORTCULLIS, "GET", _USERS, held)
        else:
            lists = policy.judge_request(PORTCULLIS, "GET", _USERS, held, origin.satisfied)
        if not lists.allowed:
            return KeptOut(len(user_ids), ())
        return await kept_out_named(self._database, user_ids)

    async def _made(self, caller: Caller, make: Callable[[Write], Awaitable[object]]) -> _Run:
        for _ in range(_TRIES):
            run = _Run(self._database, self._live, caller)
            async with self._turn:
                try:
                    await make(Write(caller, dry_run=run))
                except OvertakenError:
                    continue
            return run
        raise Unavailable(sentence("data_being_changed"))


class _Run:
    """One dry run and the edits that it would save; ``users`` would have to refresh."""

    def __init__(self, database: Database, live: LivePolicy, caller: Caller) -> None:
        self._database = database
        self._live = live
        self._caller = caller
        self._policy: Policy | None = None
        self._before: _Seen | None = None
        self._after: _Seen | None = None
        self.users: set[int] = set()
        self.warnings: list[Sentence] = []

    async def begin(self, connection: Connection) -> None:
        """Read the stored state; the snapshot stays the same until the rollback."""
        if self._before is not None:
            return
        latest = await policy_revisions.latest(connection)
        newest = latest.revision if latest else 0
        self._policy = await self._live.at_least(newest, within=_PATIENCE)
        if self._policy.revision > newest:
            raise OvertakenError
        self._before = await self._look(connection)

    async def end(self, connection: Connection) -> None:
        """Read the result, and yield to an urgent act meanwhile."""
        async with paced(self._database, connection, "bulk"):  # the rows that it has changed are its own
            self._after = await self._look(connection)

    def publish(self, policy: Policy) -> None:
        """Set the policy that would be in force."""
        self._policy = policy

    def warn(self, warnings: Iterable[Sentence]) -> None:
        """Add warnings about reasons that would prevent the change, and about its side effects."""
        self.warnings += warnings

    def refresh(self, user_ids: Iterable[int]) -> None:
        """Add users whose tokens would be rejected until they are refreshed."""
        self.users.update(user_ids)

    def seen(self) -> tuple[_Seen, _Seen]:
        """Return the state before and after the write."""
        assert self._before is not None  # noqa: S101 - every write runs in a transaction
        assert self._after is not None  # noqa: S101
        return self._before, self._after

    async def _look(self, connection: Connection) -> _Seen:
        assert self._policy is not None  # noqa: S101 - ``begin`` has set it
        holdings = await role_holdings.read(connection)
        held = await role_rights.of(connection, self._caller.user_id)
        standing = Standing(self._policy, holdings.codes, holdings.users)
        return _Seen(standing, await role_holdings.kept_out_by_roles(connection), HeldCodes(held.permissions))


_USERS: Final = "/api/user/list"


def _warnings(before: _Seen, after: _Seen) -> tuple[Sentence, ...]:
    """Return warnings for the caller: edits that the caller may not undo, and edits without effect."""
    warnings = []
    could, can = (passing(each.standing, each.caller, ADMINISTERING) for each in (before, after))
    if lost := sorted(could - can):
        warnings.append(sentence("would_lose_undo", **first_of(lost, _CODES_NAMED)))
    old, new = before.standing.policy, after.standing.policy
    if codes := sorted(code for code in before.caller.codes if _loses_grant(new, code, after.caller)):
        warnings.append(sentence("would_lose_grant", **first_of(codes, _CODES_NAMED)))
    routes = list(new.rules.objects(ENDPOINT))
    warnings += [
        sentence("resource_without_route", resource=name)
        for name in unrouted(sorted(registered(new) - registered(old)), routes)
    ]
    return tuple(warnings)


def _loses_grant(policy: Policy, code: str, held: HeldCodes) -> bool:
    return bool(policy.rules.codes(GRANT, code)) and not policy.judge(GRANT, code, held).allowed
