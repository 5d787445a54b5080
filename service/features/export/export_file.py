"""Export of entries to a file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from service.features.decision_log.appended_file import AppendedFile
from service.features.export.entry import Encoding, Entry, Failed, encoded_all


class ExportFile:
    """Lines of a file of mode 0600, synced to disk before the next batch. The file may be renamed."""

    def __init__(self, path: Path, encoding: Encoding, timeout: float) -> None:
        self._file = AppendedFile(path, durable=True)
        self._encoding = encoding
        self._timeout = timeout
        self._writing: asyncio.Future[int] | None = None

    async def send(self, entries: Sequence[Entry]) -> None:
        """Append ``entries``; see ``Receiver``. A full disk may truncate a line.

        While a write hangs, such as on an unreachable network file system, no second write starts.
        """
        if self._hangs():
            raise Failed("the file has not yet accepted earlier writes")
        lines = [line + b"\n" for line in await encoded_all(entries, self._encoding)]
        self._writing = asyncio.get_running_loop().run_in_executor(None, self._file.write, lines)
        try:
            async with asyncio.timeout(self._timeout):
                written = await asyncio.shield(self._writing)
        except TimeoutError:
            raise Failed(f"the file accepts no data within {self._timeout:g} s") from None
        except OSError as error:
            raise Failed(f"the file can't be written: {error.strerror}") from None
        if written < len(lines):
            raise Failed("the file accepted only a part: the disk is full, or a limit is reached")

    async def close(self) -> None:
        """Close the file, unless a write hangs."""
        if not self._hangs():
            await asyncio.to_thread(self._file.close)

    def _hangs(self) -> bool:
        return self._writing is not None and not self._writing.done()
