"""A TCP proxy before a store, which can refuse connections and hold back every answer."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

_PIECE = 65_536  # bytes read at once
_T = TypeVar("_T")


class Proxy:
    """Forwards connections from ``port`` on loopback to a Unix socket or to a port on loopback.

    It runs in a thread of its own until ``close``. ``delay`` is how many seconds each piece of an answer is
    held back; it may be changed at any time, and the order of the pieces is kept.
    """

    def __init__(self, target: Path | int) -> None:
        self.delay = 0.0
        self.port = 0
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self.accept()

    def accept(self) -> None:
        """Listen, on the same port as before."""
        self._run(self._listen())

    def refuse(self) -> None:
        """Stop listening: new connections are refused, as by a machine on which no server runs."""
        self._run(self._end_listening())

    def close(self) -> None:
        """Stop listening, and end the thread with all connections."""
        self.refuse()
        self._run(self._end_connections())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _end_listening(self) -> None:
        self._server.close()

    async def _end_connections(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            store_reader, store_writer = await self._connected()
        except OSError:
            writer.transport.abort()
            return
        pumps = [
            asyncio.create_task(self._pump(reader, store_writer, delayed=False)),
            asyncio.create_task(self._pump(store_reader, writer, delayed=True)),
        ]
        try:
            # When either side is gone, so is the other: no store that we use half-closes.
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            for side in (writer, store_writer):
                side.transport.abort() if side.transport.get_write_buffer_size() else side.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._target, int):
            return await asyncio.open_connection("127.0.0.1", self._target)
        return await asyncio.open_unix_connection(self._target)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, delayed: bool
    ) -> None:
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sending = asyncio.create_task(self._send(pieces, writer))
        try:
            while piece := await reader.read(_PIECE):
                due = self._loop.time() + (self.delay if delayed else 0.0)
                pieces.put_nowait((due, piece))
            await pieces.join()
        except OSError:
            pass
        finally:
            sending.cancel()

    async def _send(self, pieces: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(due - self._loop.time())
            writer.write(piece)
            pieces.task_done()
