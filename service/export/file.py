"""Appends entries to a file, one line of JSON each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from service.export.appended_file import AppendedFile
from service.export.encoding import Encoding, encoded_all
from service.export.entry import Entry
from service.export.outcomes import Failed


class ExportFile:
    """Lines of a file of mode 0600, on the disk before the next batch. It may be renamed at any time."""

    def __init__(self, path: Path, encoding: Encoding, timeout: float) -> None:
        self._file = AppendedFile(path, durable=True)
        self._encoding = encoding
        self._timeout = timeout

    async def send(self, entries: Sequence[Entry]) -> None:
        """Append ``entries``; see ``Receiver``. A disk that becomes full may cut a line off."""
        lines = [line + b"\n" for line in await encoded_all(entries, self._encoding)]
        try:
            async with asyncio.timeout(self._timeout):
                written = await asyncio.to_thread(self._file.write, lines)
        except TimeoutError:
            raise Failed(f"the file takes nothing within {self._timeout:g} s") from None
        except OSError as error:
            raise Failed(f"the file can't be written: {error.strerror}") from None
        if written < len(lines):
            raise Failed("the file took a part only: the disk is full, or a limit is reached")

    async def close(self) -> None:
        """Close the file."""
        await asyncio.to_thread(self._file.close)
