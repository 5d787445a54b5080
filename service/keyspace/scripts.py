"""Runs the Lua scripts: each is one atomic step of the store, and is given the keys that it touches."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, Protocol, get_args
from weakref import WeakValueDictionary

from msgspec import json
from redis.exceptions import NoScriptError

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.tracing import current_span
from service.keyspace import keys
from service.keyspace.confirming import Unconfirmed
from service.keyspace.connection import within
from service.keyspace.pipeline import PipelinedClient, packed, traced_script

OfSessions = Literal[
    "look", "open", "rotate", "release", "close", "ban", "ban_of", "unban", "mark", "sessions"
]
"""Scripts that ask for the keys which they turn out to need: see ``scripts/common.lua``."""
Timed = Literal["count_sessions", "online", "index", "ahead", "moment", "stream_join"]
Plain = Literal[
    "attempt",
    "challenge_set",
    "challenge_try",
    "rights_replace",
    "revision_raise",
    "revision_replace",
    "revision_witness",
]
OfLogs = Literal[
    "log_add",
    "log_take",
    "log_done",
    "log_activity",
    "log_heads",
    "log_counts",
    "log_queue",
    "log_leave",
]
OfRevocations = Literal["revocations", "revoke"]
Name = OfSessions | Timed | Plain | OfLogs | OfRevocations
_KINDS: Final = (OfSessions, Timed, Plain, OfLogs, OfRevocations)
_CONFIRMED: Final[frozenset[Name]] = frozenset(
    {"open", "rotate", "close", "ban", "mark", "rights_replace", "revoke"}
)
"""Scripts that a failover must not undo: opened or refreshed sessions, and all ends of sessions.

Their replies include whether they have written anything: see ``confirming``.
"""
_ROUNDS: Final = 10
"""Maximum number of rounds in which a script may ask for further keys: values may change meanwhile."""


@cache
def text_of(name: Name) -> str:
    """Return the text of a script, with what its kind has in common."""
    folder = files("service.keyspace") / "scripts"

    def read(part: str) -> str:
        return (folder / f"{part}.lua").read_text("utf-8")

    if name in get_args(OfSessions):
        before = read("revocation_list") + read("common")
        return f"{before}local function main()\n{read(name)}end\n{read('common_end')}"
    if name in get_args(OfRevocations):
        return read("revocation_list") + read("revocations_common") + read(name)
    common = "clock" if name in get_args(Timed) else "log_common" if name in get_args(OfLogs) else ""
    return (read(common) if common else "") + read(name)


Revoked = tuple[str, str, int]
"""A revocation: ``marked`` and a user, or ``ended`` and a session; and until when it ends tokens (ms)."""


class Elsewhere(Protocol):
    """Effects of a script on other servers of a cluster than the user's."""

    async def revoke(self, key: str, revoked: Sequence[Revoked]) -> None:
        """Announce the coming revocations of the script with that ``key``; raises ``Unavailable``."""

    async def tell(self, key: str, ahead: int, changes: bytes) -> None:
        """Pass on, soon, an instant that was ahead, and changes of indexes; ``key`` was the script's."""

    async def end_rights(self) -> None:
        """Replace the epoch of all rights; raises ``Unavailable``."""


class Scripts:
    """The scripts of this package on one client."""

    def __init__(
        self,
        client: PipelinedClient,
        timeout: float,
        replicas: int = 0,
        names: keys.Names | None = None,
    ) -> None:
        """``replicas``: number of replicas that must have the writes for sessions before ``run`` returns."""
        self._client = client
        self._timeout = timeout
        self._replicas = replicas
        self.names = names or keys.Names()
        self.elsewhere: Elsewhere | None = None
        """Set on a cluster."""
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._texts: dict[Name, str] = {name: text_of(name) for kind in _KINDS for name in get_args(kind)}
        self._hashes = {
            name: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
            for name, text in self._texts.items()
        }

    async def run(
        self,
        name: Timed | Plain | OfLogs | OfRevocations,
        names: Sequence[str],
        *arguments: str | bytes | int,
    ) -> Any:
        """Run a script on ``names``, which are keys; return its answer, with texts as bytes.

        Raises ``Unavailable``, and ``Unconfirmed`` where it was run. The script's text is sent only to a
        server that doesn't have it: a new or restarted one.
        """
        reply, is_confirmed = await self._traced(name, names, arguments)
        if not is_confirmed:
            raise Unconfirmed(reply)
        return reply

    async def of_sessions(
        self, name: OfSessions, names: Iterable[str], *arguments: str | bytes | int, rights: bool = True
    ) -> Any:
        """Run a script of sessions, on keys with the documented ``names``; return its answer.

        It is run again while it needs other keys, or has unannounced revocations: until then it has written
        nothing. Without ``rights``, the caller ends the epoch of all rights on a cluster. Raises
        ``Unavailable``; after all its effects ``Unconfirmed``, with its answer.
        """
        if self.elsewhere is None:
            given = (round(1000 * time.time()), 0, *arguments)
            reply, is_confirmed = await self._traced(name, (keys.AHEAD, *names), given)
            answer = reply[1] if len(reply) > 1 else None
        else:
            declared = list(dict.fromkeys(names))
            with traced_script(name):
                answer, is_confirmed = await self._declaring(name, declared, arguments, rights=rights)
        if not is_confirmed:
            raise Unconfirmed(answer)
        return answer

    async def _declaring(
        self, name: OfSessions, declared: list[str], arguments: Sequence[str | bytes | int], *, rights: bool
    ) -> tuple[Any, bool]:
        """Run a script on a cluster until it needs nothing further; a script that does waits for its turn.

        Return its answer, and whether replicas have confirmed it, with the announcements made before.
        """
        assert self.elsewhere is not None  # noqa: S101 - it is a cluster
        revoked: list[Revoked] = []
        are_told = True
        async with AsyncExitStack() as stack:
            for number in range(_ROUNDS):
                actual = [self.names.of(documented) for documented in declared]
                text = json.encode(revoked) if revoked else ""
                given = (round(1000 * time.time()), 1, text, *declared, *arguments)
                (outcome, *reply), is_confirmed = await self._confirmed(name, actual, given)
                if outcome != b"need":
                    answer, ahead, ended, changes = reply
                    await self.elsewhere.tell(actual[0], ahead, changes)
                    if ended and rights:
                        is_confirmed &= await _is_confirmed(self.elsewhere.end_rights())
                    return answer, is_confirmed and are_told
                ahead, untold, *needed = reply
                await self.elsewhere.tell(actual[0], ahead, b"")
                if untold:
                    rows = json.decode(untold, type=list[Revoked])
                    are_told &= await _is_confirmed(self.elsewhere.revoke(actual[0], rows))
                    revoked += rows
                declared += map(bytes.decode, needed)
                if number == 0:
                    turn = self._turns.setdefault(actual[0], asyncio.Lock())
                    await stack.enter_async_context(turn)
        raise Unavailable(sentence("sessions_being_changed"))

    def packed(self, name: Timed, names: Sequence[str], *arguments: str | bytes | int) -> bytes:
        """Return the command that runs a script known to the server."""
        return packed("EVALSHA", self._hashes[name], len(names), *names, *arguments)

    def _traced(
        self, name: Name, names: Sequence[str], arguments: Sequence[str | bytes | int]
    ) -> Awaitable[tuple[Any, bool]]:
        """Do what ``_confirmed`` does, as a span of a traced request."""
        if current_span() is None:
            return self._confirmed(name, names, arguments)
        return self._spanned(name, names, arguments)

    async def _spanned(
        self, name: Name, names: Sequence[str], arguments: Sequence[str | bytes | int]
    ) -> tuple[Any, bool]:
        with traced_script(name):
            return await self._confirmed(name, names, arguments)

    async def _confirmed(
        self, name: Name, names: Sequence[str], arguments: Sequence[str | bytes | int]
    ) -> tuple[Any, bool]:
        """Return the reply of a script, and whether the required replicas have its writes."""
        words = (self._hashes[name], len(names), *names, *arguments)
        if self._replicas and name in _CONFIRMED:
            return await self._by_replicas(name, words)
        try:
            return await self._client.ask("EVALSHA", *words), True
        except NoScriptError:
            return await self._client.ask("EVAL", self._texts[name], *words[1:]), True

    async def _by_replicas(self, name: Name, words: Sequence[str | bytes | int]) -> tuple[Any, bool]:
        limits = (self._replicas, self._timeout)
        async with within(self._timeout):
            try:
                return await self._client.confirmed(*limits, "EVALSHA", *words)
            except NoScriptError:
                return await self._client.confirmed(*limits, "EVAL", self._texts[name], *words[1:])


async def _is_confirmed(work: Awaitable[None]) -> bool:
    """Return whether replicas have what ``work`` writes; raises ``Unavailable`` if it was not written."""
    try:
        await work
    except Unconfirmed:
        return False
    return True
