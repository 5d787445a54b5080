"""Waits until replicas have the writes of a script."""

import asyncio
from typing import Any, Final

from redis.asyncio import ConnectionPool

from service.errors import Unavailable
from service.kernel.core_sentences import sentence

_WAIT_SHARE: Final = 0.6
"""The part of the remaining time that replicas have; the rest is for the way back.

A server ends the waiting up to 0.1 s late: it looks at it ten times a second (``hz``).
"""
_TOO_FEW: Final = sentence("too_few_replicas")


class Unconfirmed(Unavailable):
    """Something was written, and too few replicas have it; ``answer`` is what success would have returned."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__(_TOO_FEW)
        self.answer = answer


async def confirmed(
    pool: ConnectionPool,
    replicas: int,
    timeout: float,  # noqa: ASYNC109 - of the command and the replicas
    *words: Any,
    asking: bool = False,
) -> tuple[Any, bool]:
    """Run a script; return its reply, and whether that many replicas have its writes.

    A script without writes waits for no replica, so a missing replica does not fail it. The wait uses the
    connection of the writes, because WAIT in a script would return at once
    (https://valkey.io/commands/wait/). ``timeout`` is in seconds. With ``asking`` a server of a cluster takes
    the command for a slot that it is about to get. Raises the errors of redis-py.
    """
    until = asyncio.get_running_loop().time() + timeout
    connection = await pool.get_connection()  # type: ignore[no-untyped-call]  # redis-py's gap
    try:
        if asking:
            await connection.send_command("ASKING")
            await connection.read_response()
        await connection.send_command(*words)
        answer = await connection.read_response()
        if not _has_written(answer):
            return answer, True
        left = until - asyncio.get_running_loop().time()
        await connection.send_command(
            "WAIT", replicas, max(1, round(1000 * left * _WAIT_SHARE))
        )  # 0: for ever
        return answer, await connection.read_response() >= replicas
    finally:
        await pool.release(connection)


def _has_written(reply: Any) -> bool:
    """Return whether a script has written: session scripts then reply ``done``, others 1."""
    return reply[0] == b"done" if isinstance(reply, list) else bool(reply)
