"""Runs the Lua scripts: each is one atomic step of the store."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, Literal

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from service.keyspace.connection import within

Name = Literal["open", "rotate", "close", "ban", "ban_of", "unban", "mark", "sessions", "online"]
_NAMES: tuple[Name, ...] = ("open", "rotate", "close", "ban", "ban_of", "unban", "mark", "sessions", "online")


class Scripts:
    """The scripts of this package on one client; ``run`` answers within ``timeout`` seconds."""

    def __init__(self, client: Redis, timeout: float) -> None:
        folder = files("service.keyspace") / "scripts"
        common = (folder / "common.lua").read_text("utf-8")
        self._client = client
        self._timeout = timeout
        self._texts = {name: common + (folder / f"{name}.lua").read_text("utf-8") for name in _NAMES}
        self._hashes = {
            name: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
            for name, text in self._texts.items()
        }

    async def run(self, name: Name, *arguments: str | bytes | int) -> Any:
        """Run a script and return its answer, texts as bytes; raises ``Unavailable``.

        The text itself is sent only to a store that doesn't know it: a new one, or one that was restarted.
        """
        async with within(self._timeout):
            try:
                return await self._send("EVALSHA", self._hashes[name], 0, *arguments)
            except NoScriptError:
                return await self._send("EVAL", self._texts[name], 0, *arguments)

    async def _send(self, *words: str | bytes | int) -> Any:
        return await self._client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py's gap
