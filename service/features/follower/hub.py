"""Answers of the hub to followers: see docs/explanation/decisions-beside-services.md."""

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from service.authn.tokens import Tokens
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT
from service.authz.publishing.revisions import PublishedRevisions
from service.errors import PermissionDenied, Unavailable
from service.features.follower import protocol
from service.features.follower import store as rights_changes
from service.features.follower.followers import FollowerFacts, listed
from service.features.follower.protocol import Changes, Checked, Followed, PolicyPart, SetDigest
from service.features.follower.signals import LOOK_EVERY, Signals
from service.features.follower.store import FIRST, Concerned, Place
from service.kernel.account_acts import FOLLOW_BY_PERSON, refusal_of, where
from service.kernel.identity import Caller
from service.keyspace import SessionStore
from service.records.database.transactions import Connection, Database
from service.records.published import bit_positions, policy_history, policy_revisions
from service.records.published.policy_history import Difference, Part
from service.settings import Auth

_CHECKED: Final = 200
"""Records compared per answer; a hundred thousand users thus take about ten minutes."""
_REVOKED_ANEW: Final = 600.0  # seconds after which all revocations are sent again
_MOST_LINES: Final = 10_000  # maximum changed lines of a difference; beyond it, all lines are sent
_REVOKED: Final = re.compile(r"([0-9]{1,20}-[0-9]{1,20}(,[0-9]{1,20}-[0-9]{1,20})*)?")


class Decided(Struct, array_like=True, frozen=True):
    """The basis of a follower's decisions: a revision, a snapshot of the rights, and a revocation place."""

    revision: int = 0
    rights: str = ""
    revoked: str = ""


class Position(Struct, array_like=True, frozen=True):
    """The state of a follower; all data visible in the snapshot ``rights`` is there, None for none.

    While the follower reads missing data in parts, ``towards`` is the target snapshot, and ``noun`` and
    ``id`` are the progress. ``before`` is the basis of its decisions until the last part, None if this
    position is the basis. ``checked`` is the progress of the comparison of rights. ``revoked_since`` is the
    time, by the hub, at which all revocations were last sent.
    """

    scope: str = ""
    revision: int = 0
    own_digest: str = ""
    bits: str = ""
    restore_epoch: str = ""
    timeline: str = ""
    rights: str | None = None
    towards: str | None = None
    noun: str = ""
    id: int = 0
    revoked: str | None = None
    before: Decided | None = None
    checked: tuple[str, int] = FIRST
    revoked_since: float = 0.0

    @property
    def decided(self) -> Decided:
        """Return the basis of decisions at this position."""
        return self.before or Decided(self.revision, self.rights or "", self.revoked or "")


_NOWHERE: Final = Position()


@dataclass(frozen=True, slots=True)
class Renewal:
    """A follower's request: see the page of the protocol.

    ``instance`` distinguishes processes of the same name. The hub lists followers that set ``decides``.
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
    ) -> None:
        """Create the hub; ``patience`` is the maximum wait of ``followed`` in seconds."""
        self._database = database
        self._store = store
        self._revisions = revisions
        self._tokens = tokens
        self._auth = auth
        self._patience = patience
        self._signals = Signals(store)
        self._digests: WeakKeyDictionary[Policy, dict[frozenset[str], str]] = WeakKeyDictionary()

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
        position = _read(renewal.position)
        seen = await self._signals.now() if renewal.wait else None
        changes = await self._read(asking, renewal, position)
        if renewal.wait and not changes.has_news and await self._signals.after(seen, renewal.wait):
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
        followed = Followed(renewal.services)
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
            same = (position.restore_epoch, position.timeline, position.scope)
            reset = position.rights is None and position.towards is None
            if not reset and same != (restore_epoch, place.timeline, scope):
                position, reset = Position(), True
                anew = True
                revoked = await self._store.revocations.behind(None)
            rights = await _Rights.read(connection, position, place)
            if rights is None:  # a table was emptied
                position, reset = Position(), True
                anew = True
                revoked = await self._store.revocations.behind(None)
                rights = await _Rights.read(connection, position, place)
                assert rights is not None  # noqa: S101 - an empty position always has changes
            part = await self._policy_part(connection, position, policy, followed)
            life = await bit_positions.longest_life(connection)
            whole = rights.base == place.snapshot
            checked = await _checked(connection, position, renewal.names) if whole else None
        digest = await self._digest(policy, followed)
        bits = protocol.bits_digest(policy.permission_map.positions)
        # Earlier parts may have changed since, so the follower asks for these changes first.
        more = rights.towards is not None or position.towards is not None or revoked.more
        reached = Position(
            scope, policy.revision, policy.own_digest, bits, restore_epoch, place.timeline,
            rights.base, rights.towards, *rights.after, revoked.place, position.decided if more else None,
            position.checked if checked is None else checked.last or FIRST,
            now if anew else position.revoked_since,
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
        )

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
        if followed.services not in digests:
            lines = await asyncio.to_thread(followed.of, policy.written)
            digests[followed.services] = await asyncio.to_thread(lambda: SetDigest(lines).text)
        return digests[followed.services]

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


@dataclass(frozen=True, slots=True)
class _Rights:
    """Users, roles and keys that were read, and the position reached with them."""

    concerned: list[Concerned]
    stored: rights_changes.Records
    base: str | None
    towards: str | None
    after: Concerned

    @classmethod
    async def read(cls, connection: Connection, position: Position, place: Place) -> "_Rights | None":
        """Return the next part of the changes since ``position``; None if all data has changed."""
        most, after = protocol.MOST_RECORDS, Concerned(position.noun, position.id)
        concerned = await rights_changes.concerned(connection, position.rights, after, most + 1)
        if position.rights is not None and any(each.noun == rights_changes.ALL for each in concerned):
            return None
        more, concerned = len(concerned) > most, concerned[:most]
        stored = await rights_changes.records(connection, concerned)
        towards = position.towards or place.snapshot
        if more:
            return cls(concerned, stored, position.rights, towards, concerned[-1])
        return cls(concerned, stored, towards, None, FIRST)

    def records(self, names: bytes) -> Mapping[str, Any]:
        """Return the members of an answer."""
        shown = _shown(self.stored, names)
        of_noun = {
            noun: [record for (its_noun, _), record in shown.items() if its_noun == noun]
            for noun in ("key", "role", "user")
        }
        gone = [tuple(each) for each in self.concerned if each not in shown]
        return {f"{noun}s": records for noun, records in of_noun.items()} | {"gone": gone}


def _shown(stored: rights_changes.Records, names: bytes) -> dict[tuple[str, int], protocol.Record]:
    """Return the records in the form of the protocol, by noun and id."""
    keys, roles, users = stored
    shown: dict[tuple[str, int], protocol.Record] = {}
    for key in keys:
        shown["key", key.id] = protocol.KeyRecord(key.id, key.user_id, _tuple(key.scopes), key.ends)
    for role in roles:
        shown["role", role.id] = protocol.RoleRecord(role.id, tuple(role.codes or ()))
    for user in users:
        shown["user", user.id] = _user(user, names)
    return shown


async def _checked(connection: Connection, position: Position, names: bytes) -> Checked:
    """Return the digest of the next records after those compared last; the first ones after the end."""
    after = Concerned(*position.checked)
    records = await rights_changes.behind(connection, after, _CHECKED)
    shown = _shown(await rights_changes.records(connection, records), names)
    in_order = [shown[each] for each in records if each in shown]
    last = records[-1] if len(records) == _CHECKED else None
    return Checked(after, last, protocol.rights_digest(in_order))


def _user(user: rights_changes.UserRow, names: bytes) -> protocol.UserRecord:
    return protocol.UserRecord(
        user.id,
        user.enabled,
        user.is_service,
        user.service,
        -1.0 if user.banned_until == float("inf") else user.banned_until,  # -1 has another digest
        protocol.name_digest(user.name_key, names),
        user.service_name,
        tuple(user.roles),
        tuple(protocol.Window(*window) for window in user.windows or ()),
    )


def _tuple(scopes: list[str] | None) -> tuple[str, ...] | None:
    return None if scopes is None else tuple(scopes)


def _account(asking: Caller) -> protocol.Account:
    return protocol.Account(
        asking.user_id, asking.user_name, asking.service, tuple(sorted(asking.held.codes))
    )


def _scope(renewal: Renewal) -> str:
    """Return the scope of a position: the services, and the key of the names."""
    return f"{','.join(sorted(renewal.services))} {protocol.name_digest('', renewal.names).hex()}"


def _read(position: str | None) -> Position:
    """Parse a position issued by the hub; an invalid one becomes the start, which sends all data."""
    try:
        read = _NOWHERE if position is None else msgspec.json.decode(position, type=Position)
    except msgspec.MsgspecError:
        return _NOWHERE
    decided = read.decided
    given = (
        snapshot for snapshot in (read.rights, read.towards, decided.rights or None) if snapshot is not None
    )
    revoked = (read.revoked or "", decided.revoked)
    good = all(map(protocol.is_snapshot, given)) and all(map(_REVOKED.fullmatch, revoked))
    return read if good else _NOWHERE


_encode: Final[Callable[[object], bytes]] = msgspec.json.encode
