"""Answers of the hub to followers: see docs/explanation/decisions-beside-services.md."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from service.administration.older_nodes import is_known
from service.authn.tokens import Tokens
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT
from service.authz.publishing.revisions import PublishedRevisions
from service.errors import PermissionDenied, Unavailable
from service.features.follower import protocol
from service.features.follower import store as rights_changes
from service.features.follower.followers import FollowerFacts, listed
from service.features.follower.position import Position, position_in
from service.features.follower.protocol import Changes, Followed, PolicyPart, SetDigest
from service.features.follower.rights import ChangedRights
from service.features.follower.rights import checked as rights_compared
from service.features.follower.signals import LOOK_EVERY, Signals
from service.features.follower.store import FIRST
from service.kernel.account_acts import FOLLOW_BY_PERSON, refusal_of, where
from service.kernel.identity import Caller
from service.keyspace import SessionStore
from service.records.database.transactions import Connection, Database
from service.records.followed_delegations import ReadDelegations
from service.records.published import bit_positions, policy_history, policy_revisions
from service.records.published.policy_history import Difference, Part
from service.records.published.policy_workers import AGENTS
from service.settings import Auth

_REVOKED_ANEW: Final = 600.0  # seconds after which all revocations are sent again
_MOST_LINES: Final = 10_000  # maximum changed lines of a difference; beyond it, all lines are sent


@dataclass(frozen=True, slots=True)
class Renewal:
    """A follower's request: see the page of the protocol.

    ``instance`` distinguishes processes of the same name. The hub lists followers that set ``decides``. Those
    that set ``acting`` are sent agents and delegations.
    """

    follower: str
    services: frozenset[str]
    nonce: str
    names: bytes
    position: str | None
    wait: float
    lease: float
    instance: str = ""
    decides: bool = True
    acting: bool = False


class Hub:
    """Answers renewals. All data of an answer was read after its renewal had arrived."""

    def __init__(
        self,
        database: Database,
        store: SessionStore,
        revisions: PublishedRevisions,
        tokens: Tokens,
        auth: Auth,
        *,
        patience: float = 0.0,
        delegations: ReadDelegations | None = None,
    ) -> None:
        """Create the hub; ``patience`` is the maximum wait of ``followed`` in seconds.

        Without ``delegations``, followers refuse tokens of agents.
        """
        self._database = database
        self._store = store
        self._revisions = revisions
        self._tokens = tokens
        self._auth = auth
        self._patience = patience
        self._delegations = delegations
        self._signals = Signals(store)
        self._digests: WeakKeyDictionary[Policy, dict[Followed, str]] = WeakKeyDictionary()

    def require(self, policy: Policy, asking: Caller, services: frozenset[str]) -> None:
        """Raise PermissionDenied if the account may not follow ``services``."""
        by_person = asking.kind == "person"
        names = (f"follow {where(asking.service, service)}" for service in sorted(services))
        for name in (FOLLOW_BY_PERSON,) if by_person else names:
            decision = policy.decide(ACCOUNT, name, asking)
            if not decision.allowed:
                raise PermissionDenied(refusal_of(name), decision)

    async def changes(self, asking: Caller, renewal: Renewal) -> Changes:
        """Return the data that a follower lacks, or wait for a change. Raises ``Unavailable``."""
        position = position_in(renewal.position)
        seen = await self._signals.now() if renewal.wait else None
        changes = await self._read(asking, renewal, position)
        news = changes.has_news or changes.acting != position.acting
        if renewal.wait and not news and await self._signals.after(seen, renewal.wait):
            changes = await self._read(asking, renewal, position)
        return changes

    def now(self) -> float:
        """Return the time of leases in seconds since the epoch."""
        return self._store.synchronized.now()

    async def followers(self) -> list[FollowerFacts]:
        """Return the present and former followers, by name; raises ``Unavailable``.

        A process without a lease is omitted if a later one has its name.
        """
        kept = listed(await self._store.followers.all(), self.now())
        await self._store.followers.forget(*kept.over)
        return kept.shown

    async def followed(self, revision: int, transaction: int) -> bool:
        """Wait until each follower with a lease has a revision and a transaction; return false on timeout.

        Followers then also have all earlier revocations. A lease is recorded before its data is read, so that
        every lease that began before this call is included.
        """
        with suppress(TimeoutError, Unavailable):
            async with asyncio.timeout(self._patience):
                revoked = await self._store.revocations.last()
                while True:
                    now = self.now()
                    living = [each for each in await self.followers() if each.may_decide(now)]
                    if all(each.has(revision, transaction, revoked) for each in living):
                        return True
                    await asyncio.sleep(LOOK_EVERY)
        return False

    async def _read(self, asking: Caller, renewal: Renewal, position: Position) -> Changes:
        if renewal.decides:
            await self._note(asking, renewal, position)
        now = self.now()
        anew = not position.revoked or now > position.revoked_since + _REVOKED_ANEW
        revoked = await self._store.revocations.behind(None if anew else position.revoked)
        announced = (await self._store.check_rights(asking.login_id)).revision
        policy = await self._revisions.announced(announced)
        restore_epoch, scope = self._tokens.restore_epoch.name or "", _scope(renewal)
        async with self._database.snapshot() as connection:
            place = await rights_changes.place(connection)
            read = await self._reader(connection, renewal)
            followed = Followed(renewal.services, read is not None)
            same = (position.restore_epoch, position.timeline, position.scope, position.acting is not None)
            reset = position.rights is None and position.towards is None
            if not reset and same != (restore_epoch, place.timeline, scope, followed.acting):
                position, reset = Position(), True
                anew = True
                revoked = await self._store.revocations.behind(None)
            rights = await ChangedRights.read(connection, position, place, read)
            if rights is None:  # a table was emptied
                position, reset = Position(), True
                anew = True
                revoked = await self._store.revocations.behind(None)
                rights = await ChangedRights.read(connection, position, place, read)
                assert rights is not None  # noqa: S101 - an empty position always has changes
            part = await self._policy_part(connection, position, policy, followed)
            life = await bit_positions.longest_life(connection)
            whole = rights.base == place.snapshot
            checked = await rights_compared(connection, position, renewal.names, read) if whole else None
        digest = await self._digest(policy, followed)
        bits = protocol.bits_digest(policy.permission_map.positions)
        # Earlier parts may have changed since, so the follower asks for these changes first.
        more = rights.towards is not None or position.towards is not None or revoked.more
        reached = Position(
            scope, policy.revision, policy.own_digest, bits, restore_epoch, place.timeline,
            rights.base, rights.towards, *rights.after, revoked.place, position.decided if more else None,
            position.checked if checked is None else checked.last or FIRST,
            now if anew else position.revoked_since,
            rights.acting,
        )  # fmt: skip
        shown = rights.base or ""
        return Changes(
            nonce=renewal.nonce,
            time=self._store.synchronized.now(),
            position=msgspec.json.encode(reached).decode(),
            revision=policy.revision,
            rights=int(shown.partition(":")[0] or 0),
            snapshot=shown,
            digest=digest,
            tokens=self._token_rules(restore_epoch, life),
            account=_account(asking),
            reset=reset,
            more=more,
            policy=part,
            **rights.records(renewal.names),
            marked=[entry.text for entry in revoked.entries if entry.kind == "marked"],
            ended=[entry.text for entry in revoked.entries if entry.kind == "ended"],
            whole_since=None if revoked.complete and not anew else revoked.whole_since,
            checked=checked,
            acting=rights.acting,
        )

    async def _reader(self, connection: Connection, renewal: Renewal) -> ReadDelegations | None:
        """Return the reader of agents; None if none are sent, and the follower refuses their tokens.

        Beside a node of an older version none are sent: a position from there does not know of agents.
        """
        known = renewal.acting and self._delegations is not None and await is_known(connection, AGENTS)
        return self._delegations if known else None

    async def _note(self, asking: Caller, renewal: Renewal, position: Position) -> None:
        """Record the lease before any data is read, so that callers waiting for leases miss none."""
        now = self._store.synchronized.now()
        decided = position.decided
        facts = FollowerFacts(
            renewal.follower,
            asking.user_id,
            asking.user_name,
            tuple(sorted(renewal.services)),
            decided.revision,
            decided.rights,
            int(decided.rights.partition(":")[0] or 0),
            now,
            renewal.lease,
            decided.revoked,
            renewal.instance,
        )
        await self._store.followers.note(facts.key, _encode(facts))

    async def _digest(self, policy: Policy, followed: Followed) -> str:
        """Return the digest of the lines of the services; computed once per policy."""
        digests = self._digests.setdefault(policy, {})
        if followed not in digests:
            lines = await asyncio.to_thread(followed.of, policy.written)
            digests[followed] = await asyncio.to_thread(lambda: SetDigest(lines).text)
        return digests[followed]

    async def _policy_part(
        self, connection: Connection, position: Position, policy: Policy, followed: Followed
    ) -> PolicyPart | None:
        bits = policy.permission_map.positions
        given = None if position.bits == protocol.bits_digest(bits) else bits
        before, after = position.revision, policy.revision
        own = policy.own_digest
        if (before, position.own_digest) == (after, own) and given is None:
            return None
        if position.own_digest == own and before <= after:
            lines = await _difference(connection, before, after)
            if lines is not None:
                came, went = (
                    [(*line,) for line in changed if followed.concerns(line.layer, line.object)]
                    for changed in (lines.added, lines.removed)
                )
                return PolicyPart(after, own, added=came, removed=went, bits=given)
        lines_now = await asyncio.to_thread(followed.of, policy.written)
        return PolicyPart(after, own, policy.model_text, lines_now, bits=bits)

    def _token_rules(self, restore_epoch: str, life: int) -> protocol.TokenRules:
        auth = self._auth
        return protocol.TokenRules(
            auth.jwt_algorithm,
            auth.jwt_issuer,
            auth.jwt_audience,
            auth.jwt_leeway,
            max(auth.access_timeout, life),
            restore_epoch,
            [dict(key) for key in self._tokens.public_keys()],
        )


async def _difference(connection: Connection, before: int, after: int) -> Difference | None:
    """Return the lines added and removed between two revisions; None if unknown, or too many."""
    if before != after and not await policy_revisions.all_recorded(connection, before + 1, after):
        return None
    lines = await policy_history.difference(connection, before, after, Part(_MOST_LINES, 0))
    return None if lines.more else lines


def _account(asking: Caller) -> protocol.Account:
    return protocol.Account(
        asking.user_id, asking.user_name, asking.service, tuple(sorted(asking.held.codes))
    )


def _scope(renewal: Renewal) -> str:
    """Return the scope of a position: the services, and the key of the names."""
    return f"{','.join(sorted(renewal.services))} {protocol.name_digest('', renewal.names).hex()}"


_encode: Final[Callable[[object], bytes]] = msgspec.json.encode
