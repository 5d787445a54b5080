"""The state of a follower: policy, rights and revocations, changed only by the hub's answers."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from math import ceil
from typing import Final, NamedTuple, TypeVar

import msgspec

from service.authn.token_verifying import Accepted, TokenVerifier, public_key
from service.authz.engine.lines import Lines, changes
from service.authz.engine.policy import Policy
from service.features.follower.followed_policy import FollowedPolicy
from service.features.follower.kept import Ended, Kept
from service.features.follower.lease import since_boot
from service.features.follower.protocol import (
    Account,
    AgentRecord,
    Changes,
    Checked,
    DelegationRecord,
    Followed,
    KeyRecord,
    PolicyPart,
    Record,
    RoleRecord,
    SetDigest,
    TokenRules,
    UserRecord,
    Window,
    name_digest,
    rights_digest,
)
from service.kernel.assurance import NAMED
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.restore_epoch import CurrentRestoreEpoch
from service.laboratory.lint.model import lint_model

FORM: Final = 4
"""The version of the file format."""
_MOST_CALLERS: Final = 20_000  # callers cached with their rights
_MOST_ENDED: Final = 200_000  # maximum revoked sessions, or users with revoked tokens
_ENDLESS: Final = float("inf")
_Name = TypeVar("_Name", int, str)


class DivergedError(Exception):
    """The follower's data differs from the hub's, and must be sent again."""


class Held(NamedTuple):
    """The codes that a user holds from ``since`` until before ``until``, in seconds since the epoch."""

    codes: HeldCodes
    since: float
    until: float


class FollowedState:
    """The followed data. ``position`` is None while there is none.

    ``complete`` is false without data, and while an answer is only partly applied.
    """

    def __init__(
        self,
        services: Iterable[str],
        names: bytes,
        now: Callable[[], float],
        clock: Callable[[], float] = since_boot,
    ) -> None:
        """Create the state; ``now`` returns the hub's time of expiries, ``clock`` the time since boot."""
        self.followed = Followed(frozenset(services))
        self.names = names
        self._now = now
        self._clock = clock
        self._latest = 0.0  # the latest of the hub's reported times
        self.restore_epoch = CurrentRestoreEpoch()
        self._forget()

    def _forget(self) -> None:
        self.position: str | None = None
        self.complete = False
        self.policy: Policy | None = None
        self.model = ""
        self.bits: dict[str, int] = {}
        self.lines = Lines()
        self.digest = SetDigest({})
        self.rights, self.snapshot = 0, ""
        self.roles: dict[int, tuple[str, ...]] = {}
        self.users: dict[int, UserRecord] = {}
        self.names_known: dict[bytes, int] = {}
        self.keys: dict[int, KeyRecord] = {}
        self.acting: bool | None = None
        self.agents: dict[int, AgentRecord] = {}
        self.delegations: dict[int, dict[int, DelegationRecord]] = {}  # by the user who has made them
        self.marked: dict[int, Ended] = {}
        self.ended: dict[str, Ended] = {}
        self.whole_since = 0
        self.tokens: TokenRules | None = None
        self.verifier: TokenVerifier | None = None
        self.account: Account | None = None
        self._held: dict[tuple[int, ...], HeldCodes] = {}
        self._callers: dict[int, tuple[Caller, float, float]] = {}
        self._shared: dict[tuple[object, ...], tuple[object, ...]] = {}

    def apply(self, change: Changes) -> None:
        """Apply an answer of the hub.

        Raises DivergedError if the lines, or the compared part of the rights, differ from the hub's: all data
        is then deleted, so that nothing is decided by it. After any other error the state is incomplete until
        the next answer.
        """
        self.complete = False
        if change.reset:
            self._forget()
        self._apply_tokens(change)
        self._apply_rights(change)
        self.acting = change.acting
        self._apply_revocations(change)
        if change.policy is not None:
            self._apply_policy(change.policy)
        self.account = change.account
        self.rights, self.snapshot = change.rights, change.snapshot
        self.position, self.complete = change.position, not change.more
        wrong = self.policy is None or self.policy.revision != change.revision
        if wrong or self.digest.text != change.digest or not self._is_as(change.checked):
            self._forget()
            raise DivergedError

    def _is_as(self, checked: Checked | None) -> bool:
        """Return true if a part of the rights matches the hub's digest."""
        if checked is None:
            return True
        keys, roles, users = (
            ids_between(records, noun, checked)
            for noun, records in (("key", self.keys), ("role", self.roles), ("user", self.users))
        )
        records: list[Record] = [
            *(self.keys[each] for each in keys),
            *(RoleRecord(each, self.roles[each]) for each in roles),
            *(self.users[each] for each in users),
        ]
        if rights_digest(records) != checked.digest:
            return False
        if checked.acting is None:
            return True
        acting: list[Record] = [self.agents[each] for each in users if each in self.agents]
        for each in users:
            acting += self.delegations.get(each, {}).values()
        return rights_digest(acting) == checked.acting

    def _apply_policy(self, part: PolicyPart) -> None:
        if part.bits is not None:
            self.bits = part.bits
        if part.lines is not None:
            if part.model is None:
                raise DivergedError
            lint_model(part.model, "the hub's model")
            self.model = part.model
            self.lines = Lines().changed(changes({}, part.lines))
            self.digest = SetDigest(self.lines.by_object)
        else:
            touched = {(layer, name) for layer, name, _ in (*part.added, *part.removed)}
            after = self.lines.edited(part.added, part.removed)
            for layer, name in touched:
                self.digest.add(layer, name, self.lines.codes(layer, name), -1)
                self.digest.add(layer, name, after.codes(layer, name))
            self.lines = after
        self._build(part.revision, part.own_digest)

    def _build(self, revision: int, own_digest: str) -> None:
        self.policy = FollowedPolicy(
            self.model, self.lines, self.bits, revision, own_digest=own_digest, like=self.policy
        )

    def _apply_rights(self, change: Changes) -> None:
        for key in change.keys:
            self.keys[key.id] = key
        for role in change.roles:
            self.roles[role.id] = role.codes
        for user in change.users:
            self._put(user)
        self._put_acting(change.agents, change.delegations)
        for noun, gone in change.gone:
            if noun == "user":
                self._drop(gone)
            (self.keys if noun == "key" else self.roles if noun == "role" else self.users).pop(gone, None)
        if change.roles or any(noun == "role" for noun, _ in change.gone):
            self._held.clear()
            self._callers.clear()

    def _put(self, user: UserRecord) -> None:
        self._drop(user.id)
        # Many users have the same roles: share one tuple.
        roles = self._shared.setdefault(user.roles, user.roles)
        self.users[user.id] = msgspec.structs.replace(user, roles=roles)
        self.names_known[user.name] = user.id

    def _put_acting(self, agents: Iterable[AgentRecord], delegations: Iterable[DelegationRecord]) -> None:
        """Add agents, and delegations in order; those of a user went with the former record of the user."""
        for agent in agents:
            self.agents[agent.id] = agent
        for delegation in delegations:
            self.delegations.setdefault(delegation.user_id, {})[delegation.id] = delegation

    def _drop(self, user_id: int) -> None:
        before = self.users.pop(user_id, None)
        self._callers.pop(user_id, None)
        self.agents.pop(user_id, None)
        self.delegations.pop(user_id, None)
        if before is not None and self.names_known.get(before.name) == user_id:
            del self.names_known[before.name]

    def _apply_revocations(self, change: Changes) -> None:
        if change.whole_since is not None:
            self.whole_since = change.whole_since
        read, life = self._clock(), change.tokens.life
        for text in change.marked:
            for each in text.split(" "):
                user, _, at = each.partition(":")
                mark = Ended(int(at), read, life)
                self.marked[int(user)] = max(mark, self.marked.get(int(user), mark))
        # No token of a session is issued after its end, so none is later than the latest time until now.
        self._latest = max(self._latest, change.time)
        new = Ended(ceil(1000 * self._latest), read, life)
        for name in change.ended:  # all are sent again from time to time
            self.ended.setdefault(name, new)
        self._forget_expired(change.time, read, life)

    def _forget_expired(self, *moment: float) -> None:
        """Delete expired revocations; for excess ones, reject all tokens issued before their time instead."""
        while self.ended:
            name, ended = next(iter(self.ended.items()))
            if not ended.is_over(*moment):
                if len(self.ended) <= _MOST_ENDED:
                    break
                self.whole_since = max(self.whole_since, ended.until)
            del self.ended[name]
        if len(self.marked) > _MOST_ENDED:
            self.marked = {user: mark for user, mark in self.marked.items() if not mark.is_over(*moment)}

    def _apply_tokens(self, change: Changes) -> None:
        if change.tokens != self.tokens or self.verifier is None:
            self._set_tokens(change.tokens)

    def _set_tokens(self, rules: TokenRules) -> None:
        accepted = Accepted(rules.algorithm, rules.issuer, rules.audience, rules.leeway)
        keys = [public_key(key) for key in rules.keys]
        self.verifier = TokenVerifier(accepted, keys, self._now, self.restore_epoch)
        # Only now, so that the next answer sets invalid rules again.
        self.tokens = rules
        self.restore_epoch.name = rules.restore_epoch

    def user_named(self, name_key: str) -> int | None:
        """Return the id of the user with that name key; None if unknown."""
        return self.names_known.get(name_digest(name_key, self.names))

    def caller(self, user_id: int, now: float) -> tuple[Caller, float] | None:
        """Return an active user at ``now`` with the rights at that time, and their expiry.

        None for an unknown, disabled or banned user.
        """
        known = self._callers.get(user_id)
        if known is not None and known[1] <= now < known[2]:
            return known[0], known[2]
        user = self.users.get(user_id)
        if user is None or not self.is_active(user, now):
            return None
        held = self.held(user, now)
        caller = Caller(
            user_id=user_id,
            login_id=str(user_id),
            user_name=user.service_name or "",
            nick_name="",
            device="",
            roles=(),
            held=held.codes,
            issued_at=0.0,
            kind="service" if user.is_service else "person",
            service=user.service,
            authentication=None if user.is_service else NAMED,
        )
        if len(self._callers) >= _MOST_CALLERS:
            self._callers.clear()
        self._callers[user_id] = caller, held.since, held.until
        return caller, held.until

    @staticmethod
    def is_active(user: UserRecord, now: float) -> bool:
        """Return true if a user is neither disabled nor banned at ``now``."""
        return user.enabled and 0 <= user.banned_until <= now

    def held(self, user: UserRecord, now: float) -> Held:
        """Return the codes of a user at ``now``."""
        roles = user.roles
        since, until = 0.0, _ENDLESS
        if user.windows:
            edges = sorted({edge for window in user.windows for edge in window_edges(window)})
            place = bisect_right(edges, now)
            since = edges[place - 1] if place else 0.0
            until = edges[place] if place < len(edges) else _ENDLESS
            others = {window.role for window in user.windows if in_force(window, now)}
            roles = tuple(sorted(others.union(roles)))
        codes = self._held.get(roles)
        if codes is None:
            given = frozenset(code for role in roles for code in self.roles.get(role, ()))
            codes = self._held[roles] = HeldCodes(given)
        return Held(codes, since, until)

    def kept(self) -> Kept:
        """Return the followed data for the file; later changes do not affect it."""
        assert self.policy is not None  # noqa: S101 - only complete data is kept
        assert self.tokens is not None  # noqa: S101 - only complete data is kept
        assert self.account is not None  # noqa: S101 - only complete data is kept
        return Kept(
            FORM,
            self.position or "",
            self.names,
            tuple(sorted(self.followed.services)),
            {layer: dict(objects) for layer, objects in self.lines.by_object.items()},
            self.bits,
            self.model,
            self.policy.revision,
            self.policy.own_digest,
            self.digest.text,
            self.rights,
            self.snapshot,
            self.tokens,
            self.account,
            list(self.roles.items()),
            list(self.users.values()),
            list(self.keys.values()),
            self.acting,
            list(self.agents.values()),
            [delegation for made in self.delegations.values() for delegation in made.values()],
            _moved(self.marked, self._clock()),
            _moved(self.ended, self._clock()),
            self.whole_since,
        )

    def restore(self, kept: Kept) -> None:
        """Restore the data of a file; raises ValueError unless this version wrote it for these services."""
        if kept.form != FORM or frozenset(kept.services) != self.followed.services:
            raise ValueError("it belongs to another version or other services")
        lint_model(kept.model, "the kept model")
        self._forget()
        self.names = kept.names
        self.model, self.bits = kept.model, kept.bits
        self.lines = Lines.trusted(kept.lines)
        self.digest = SetDigest(self.lines.by_object)
        if self.digest.text != kept.digest:
            raise ValueError("its lines do not match its digest")
        self._build(kept.revision, kept.own_digest)
        self._set_tokens(kept.tokens)
        self.account = kept.account
        self.position, self.complete = kept.position, True
        self.rights, self.snapshot = kept.rights, kept.snapshot
        self.roles = dict(kept.roles)
        for user in kept.users:
            self._put(user)
        self.keys = {key.id: key for key in kept.keys}
        self.acting = kept.acting
        self._put_acting(kept.agents, kept.delegations)
        self.marked, self.ended = (_moved(each, self._clock()) for each in (kept.marked, kept.ended))
        self.whole_since = kept.whole_since


def _moved(ended: Mapping[_Name, Ended], now: float) -> dict[_Name, Ended]:
    """Return revocations with their times of reading converted to ages at ``now``, or back."""
    return {name: each._replace(read=now - each.read) for name, each in ended.items()}


def ids_between(ids: Collection[int], noun: str, part: Checked) -> list[int]:
    """Return those of ``ids`` that a part of the rights contains, in order.

    Each renewal compares another part. For many ids, the ids of the part are looked up, because a scan of a
    hundred thousand would block questions for milliseconds.
    """
    first, last = part.after, part.last or ("~", 0)  # after all nouns
    if not first[0] <= noun <= last[0]:
        return []
    if first[0] == noun == last[0] and last[1] - first[1] < len(ids):
        return [each for each in range(first[1] + 1, last[1] + 1) if each in ids]
    return sorted(each for each in ids if first < (noun, each) <= last)


def window_edges(window: Window) -> list[float]:
    """Return the start and the expiry of an assignment."""
    return [edge for edge in (window.begins, window.ends) if edge is not None]


def in_force(window: Window, now: float) -> bool:
    """Return true if an assignment is in force at ``now``: half-open, its expiry excluded."""
    return (window.begins is None or window.begins <= now) and (window.ends is None or now < window.ends)
