"""Callers with tokens of agents: one round trip to the session store, rarely a query.

This process caches the stored facts of a delegation with the epochs of the rights of three accounts: the
person, the agent and the owner of the agent (see ``service.authn.key_callers``). Every change of one of them
ends its epoch before the change is answered; so does every change of the delegation and of a switch, which
ends that of the agent. Each request compares the epochs. If one differs, the epochs are set first, then the
database is read, and the epochs are compared again. So no request is decided by facts older than the last
change that was answered before it.
"""

import asyncio
import secrets
import time
from typing import Final

from service.authn.claims import DelegatedClaims
from service.authn.current_rights import CurrentRights
from service.authn.delegated_tokens import delegated_caller
from service.authn.verified import Authenticated
from service.errors import TokenInvalid, Unavailable
from service.features.agents import store_delegations
from service.features.agents.sentences import sentence
from service.features.agents.store_delegations import Standing
from service.kernel.identity import Caller
from service.kernel.tracing import current_span
from service.keyspace import BANNED, Answer, KeyPair, SessionStore
from service.records.database.transactions import Database

MOST_DELEGATIONS: Final = 4096
"""The number of delegations that a process caches; the oldest goes first."""
MOST_AGE: Final = 60.0
"""Seconds after which a delegation is read again without an announced change.

Manual changes in the database are not announced.
"""
_ATTEMPTS: Final = 5
_READERS: Final = 4
"""The number of parallel reads: requests with tokens of ended delegations must not take all connections."""
_PATIENCE: Final = 2.0
"""Seconds that a read waits for other reads."""


class _Known:
    """The cached facts of a delegation and an API key, as of the epochs of the three accounts."""

    __slots__ = ("_callers", "epochs", "pairs", "read_at", "standing", "until")

    def __init__(self, standing: Standing, pairs: tuple[KeyPair, ...], epochs: tuple[bytes, ...]) -> None:
        self.standing = standing
        self.pairs = pairs
        self.epochs = epochs
        self.read_at = time.monotonic()
        expiry = standing.key_expire_time
        self.until = standing.until.timestamp()
        if expiry is not None:
            self.until = min(self.until, expiry.timestamp())
        self._callers: dict[object, Caller] = {}

    def stands(self, answers: list[Answer]) -> bool:
        """Return True if the facts are current as of ``answers``, those of the store about the accounts."""
        return all(answer.value == epoch for answer, epoch in zip(answers, self.epochs, strict=True))

    def caller(self, claims: DelegatedClaims, person: Caller, agent: Caller) -> Caller:
        """Return the person within the ceilings; requests with the same token and rights share one caller."""
        key = (person, agent, claims.scope, claims.iat)
        caller = self._callers.get(key)
        if caller is None:
            if len(self._callers) >= _MOST_CALLERS:
                self._callers.clear()
            caller = self._callers[key] = delegated_caller(claims, self.standing.terms, person, agent)
        return caller


_MOST_CALLERS: Final = 16


class DelegatedCallers:
    """See ``AgentCallers``."""

    def __init__(self, database: Database, store: SessionStore, current: CurrentRights) -> None:
        self._database = database
        self._store = store
        self._current = current
        self._known: dict[tuple[int, int], _Known] = {}
        self._readers = asyncio.Semaphore(_READERS)

    async def person_of(self, agent_id: int, delegation_id: int) -> int:
        """Return the id of the person who delegated to that agent.

        Raises ``TokenInvalid`` for an unknown delegation and for one to another agent, and ``Unavailable``.
        """
        async with self._database.snapshot() as connection:
            parties = await store_delegations.parties(connection, delegation_id)
        if parties is None or parties[1] != agent_id:
            raise TokenInvalid
        return parties[0]

    async def of_token(self, claims: DelegatedClaims) -> Authenticated:
        """Return the person, within the ceilings of the agent and of the delegation.

        Raises ``TokenInvalid``: the delegation has ended, its agent, its person or the owner of the agent
        may not log in, the agent is switched off or suspended, its API key is gone, or the token belongs to
        another person, agent or delegation. One answer for all. Raises ``Unavailable``.
        """
        key = (int(claims.delegation), int(claims.client_id))
        for _ in range(_ATTEMPTS):
            known = self._known.get(key)
            if known is None or time.monotonic() - known.read_at > MOST_AGE:
                known = await self._read(*key)
            standing = known.standing
            if (str(standing.user_id), str(standing.agent_id)) != (claims.sub, claims.act.sub):
                raise TokenInvalid
            if known.until <= self._store.synchronized.now():
                raise TokenInvalid
            span = current_span()
            parties = (standing.user_id, standing.agent_id, standing.owner_id)
            callers, answers = await asyncio.gather(
                self._current.of(set(parties)),
                asyncio.gather(*(self._store.checks.ask(pair, span) for pair in known.pairs)),
            )
            if any(answer.marker == BANNED for answer in answers):
                raise TokenInvalid
            if not known.stands(answers):
                if self._known.get(key) is known:
                    del self._known[key]
                continue
            if any(user_id not in callers for user_id in parties):
                raise TokenInvalid
            person, agent = callers[standing.user_id], callers[standing.agent_id]
            if person.kind != "person" or agent.kind != "service":
                raise TokenInvalid
            caller = known.caller(claims, person, agent)
            announced = answers[0]
            expires = min(claims.exp, known.until)
            return Authenticated(caller, announced.revision, expires, announced.all_rights)
        raise Unavailable(sentence("delegation_being_changed"))

    async def _read(self, delegation_id: int, key_id: int) -> _Known:
        """Read a delegation from the database; raises ``TokenInvalid`` if it is not in force."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._readers.acquire()
        except TimeoutError:
            raise Unavailable(sentence("too_many_delegations")) from None
        try:
            return await self._load(delegation_id, key_id)
        finally:
            self._readers.release()

    async def _load(self, delegation_id: int, key_id: int) -> _Known:
        known = self._known.get((delegation_id, key_id))
        before = known.standing if known is not None else await self._standing(delegation_id, key_id)
        while True:
            parties = (before.user_id, before.agent_id, before.owner_id)
            # Set before the facts are read: a concurrent change removes them.
            epochs = await asyncio.gather(
                *(self._store.rights_epoch(str(user_id), secrets.token_hex(16)) for user_id in parties)
            )
            standing = await self._standing(delegation_id, key_id)
            if (standing.user_id, standing.agent_id, standing.owner_id) == parties:
                break
            before = standing  # the agent has another owner
        pairs = tuple(self._store.rights_keys(str(user_id)) for user_id in parties)
        self._known.pop((delegation_id, key_id), None)
        while len(self._known) >= MOST_DELEGATIONS:
            del self._known[next(iter(self._known))]
        read = self._known[delegation_id, key_id] = _Known(standing, pairs, tuple(epochs))
        return read

    async def _standing(self, delegation_id: int, key_id: int) -> Standing:
        standing = await store_delegations.standing(self._database, delegation_id, key_id)
        if standing is None:
            self._known.pop((delegation_id, key_id), None)
            raise TokenInvalid
        return standing
