"""Runs the Lua scripts: each is one atomic step of the store."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, Literal, get_args

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from service.keyspace.connection import within

Name = Literal[
    "open",
    "rotate",
    "release",
    "close",
    "ban",
    "ban_of",
    "unban",
    "mark",
    "sessions",
    "count_sessions",
    "online",
    "log_add",
    "log_take",
    "log_done",
    "log_counts",
    "log_leave",
    "revision_raise",
    "revision_replace",
]
_NAMES: tuple[Name, ...] = get_args(Name)


class Scripts:
    """The scripts of this package on one client; ``run`` answers within ``timeout`` seconds."""

    def __init__(self, client: Redis, timeout: float) -> None:
        folder = files("service.keyspace") / "scripts"

        def text(name: Name) -> str:
            before = "log_common" if name.startswith("log_") else "common"
            return "".join((folder / f"{part}.lua").read_text("utf-8") for part in (before, name))

        self._client = client
        self._timeout = timeout
        self._texts = {name: text(name) for name in _NAMES}
        self._hashes = {
            name: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
            for name, text in self._texts.items()
        }

    async def run(self, name: Name, *arguments: str | bytes | int) -> Any:
        """Run a script and return its answer, with texts as bytes; raises ``Unavailable``.

        The script's text is sent only to a store that doesn't have it: a new or restarted one.
        """
        async with within(self._timeout):
            try:
                return await self._send("EVALSHA", self._hashes[name], 0, *arguments)
            except NoScriptError:
                return await self._send("EVAL", self._texts[name], 0, *arguments)

    async def _send(self, *words: str | bytes | int) -> Any:
        return await self._client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py's gap
