"""Runs the Lua scripts: each is one atomic step of the store."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any, Final, Literal, get_args

from redis.exceptions import NoScriptError

from service.errors import Unavailable
from service.keyspace.connection import within
from service.keyspace.pipeline import PipelinedClient, traced_script

Name = Literal[
    "look",
    "open",
    "rotate",
    "release",
    "close",
    "ban",
    "ban_of",
    "unban",
    "mark",
    "challenge_set",
    "challenge_try",
    "sessions",
    "count_sessions",
    "count_online",
    "online",
    "log_add",
    "log_take",
    "log_done",
    "log_activity",
    "log_heads",
    "log_counts",
    "log_queue",
    "log_leave",
    "revision_raise",
    "revision_replace",
    "revision_witness",
]
_NAMES: tuple[Name, ...] = get_args(Name)
_CONFIRMED: Final[frozenset[Name]] = frozenset({"open", "rotate", "close", "ban", "mark"})
"""What a failover must not take back: sessions that were opened or refreshed, and all that ends them."""
_WAIT_SHARE: Final = 0.8
"""The part of the timeout that replicas have; the rest is for the script and the way back."""
_TOO_FEW: Final = (
    "Too few replicas of the session store have confirmed this in time. It was done, but may be lost if the "
    "primary fails now"
)


def text_of(name: Name) -> str:
    """Return the text of a script, with what its kind has in common before it."""
    folder = files("service.keyspace") / "scripts"
    before = "log_common" if _is_of_logs(name) else "common"
    return "".join((folder / f"{part}.lua").read_text("utf-8") for part in (before, name))


def _is_of_logs(name: Name) -> bool:
    return name.startswith("log_")


class Scripts:
    """The scripts of this package on one client."""

    def __init__(self, client: PipelinedClient, timeout: float, replicas: int = 0) -> None:
        """``replicas``: how many must have what opens, refreshes or ends sessions before ``run`` returns."""
        self._client = client
        self._timeout = timeout
        self._replicas = replicas
        self._texts = {name: text_of(name) for name in _NAMES}
        self._hashes = {
            name: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
            for name, text in self._texts.items()
        }

    async def run(self, name: Name, *arguments: str | bytes | int) -> Any:
        """Run a script and return its answer, with texts as bytes; raises ``Unavailable``.

        The script's text is sent only to a store that doesn't have it: a new or restarted one. Scripts of
        sessions are also given this machine's time, which they take off their arguments.
        """
        given = arguments if _is_of_logs(name) else (round(1000 * time.time()), *arguments)
        with traced_script(name):
            if not self._replicas or name not in _CONFIRMED:
                return await self._run(self._client.send, name, given)
            async with within(self._timeout):
                return await self._run(self._send_confirmed, name, given)

    async def _run(
        self, send: Callable[..., Awaitable[Any]], name: Name, arguments: Sequence[str | bytes | int]
    ) -> Any:
        try:
            return await send("EVALSHA", self._hashes[name], 0, *arguments)
        except NoScriptError:
            return await send("EVAL", self._texts[name], 0, *arguments)

    async def _send_confirmed(self, *words: str | bytes | int) -> Any:
        """Send a command, and wait for the replicas over the same connection: its writes count.

        WAIT in a script would return at once (https://valkey.io/commands/wait/).
        """
        pool = self._client.connection_pool
        connection = await pool.get_connection()  # type: ignore[no-untyped-call]  # redis-py's gap
        try:
            await connection.send_command(*words)
            answer = await connection.read_response()
            await connection.send_command("WAIT", self._replicas, round(1000 * self._timeout * _WAIT_SHARE))
            if await connection.read_response() < self._replicas:
                raise Unavailable(_TOO_FEW)
        finally:
            await pool.release(connection)
        return answer
