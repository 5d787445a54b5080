"""Streamed answers: downloads and exports, of any length in little memory."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final, Literal, TypeVar, get_args
from urllib.parse import quote

import msgspec
import structlog
from msgspec import Meta, Struct

from service.kernel.clock import now
from service.kernel.feature import sole
from service.kernel.text import escape_formula
from service.web.messages.schema import Moment, Schema, json_text

_MARK: Final = "\ufeff"
_TOKEN: Final = "!#$&+-.^_`|~"  # noqa: S105 - RFC 8187 §3.2.1, attr-char beside letters and digits

ANY_TYPE: Final = "*/*"
"""The media type of a file's content in the OpenAPI document."""
ASKED_EVERY: Final = 1.0
"""Seconds after which a stream asks whether its caller may still have it."""

_log = structlog.get_logger()


class Stream(Struct, frozen=True):
    """An answer without a JSON envelope, whose ``chunks`` are made as the client reads them.

    The first chunk is made before anything is sent: exceptions until then become normal refusals. Later ones
    cut the connection, so that half a file never looks complete. The generator is closed when the client
    disconnects, and must then release its resources. ``length`` is the size of all chunks in bytes, None if
    unknown. A stream with ``stop`` waits for events: it checks its caller itself, and ``stop`` is called as
    soon as the client has disconnected, to end the wait.
    """

    chunks: AsyncGenerator[bytes, None]
    media_type: str
    headers: Mapping[str, str] = {}
    length: int | None = None
    status: int = 200
    stop: Callable[[], None] | None = None


async def nothing() -> AsyncGenerator[bytes, None]:
    """Return the chunks of an answer without content, such as a redirect."""
    chunks: tuple[bytes, ...] = ()
    for chunk in chunks:
        yield chunk


class ClientGone(Exception):  # noqa: N818 - not an error of this program
    """The client disconnected during a stream."""


class Sending:
    """The iterator over the chunks of a stream, with the ``close`` that Falcon calls at the end.

    ``gone`` returns when the client has disconnected; otherwise the server would go on making chunks.
    ``still``, asked about once a second, raises when the caller may have no further chunks. ``stop`` is
    called when the client has disconnected.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        gone: Callable[[], Awaitable[None]],
        still: Callable[[], Awaitable[None]] | None = None,
        stop: Callable[[], None] | None = None,
    ) -> None:
        self._chunks = chunks
        self._gone = gone
        self._still = still
        self._stop = stop
        self._asked = time.monotonic()
        self._first: bytes | None = None
        self._watching: asyncio.Future[None] | None = None

    async def begin(self) -> None:
        """Make the first chunk."""
        self._first = await anext(self._chunks, b"")

    def __aiter__(self) -> Sending:
        return self

    async def __anext__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            watching = self._watching = asyncio.ensure_future(self._gone())
            if (stop := self._stop) is not None:
                watching.add_done_callback(lambda _: stop())
            return first
        if self._watching is not None and self._watching.done():
            raise ClientGone
        try:
            await self._ask()
            return await anext(self._chunks)
        except StopAsyncIteration:
            raise
        except Exception as error:
            _log.warning("answer cut off", reason=type(error).__name__)
            raise

    async def _ask(self) -> None:
        if self._still is not None and time.monotonic() - self._asked >= ASKED_EVERY:
            await self._still()
            self._asked = time.monotonic()

    async def close(self) -> None:
        """Release the source of the chunks."""
        if self._watching is not None:
            self._watching.cancel()
        await self._chunks.aclose()


def attachment(file_name: str) -> str:
    """Return the Content-Disposition (RFC 6266) that saves an answer under ``file_name``, of any characters.

    Clients that don't support ``filename*`` get a name in which all characters except letters, digits, ``-``,
    ``.`` and ``_`` are replaced.
    """
    plain = "".join(
        character if character.isascii() and (character.isalnum() or character in "-._") else "_"
        for character in file_name
    )
    if plain == file_name:
        return f'attachment; filename="{plain}"'
    encoded = quote(file_name, safe=_TOKEN, errors="replace")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"


T = TypeVar("T")

Format = Literal["csv", "json", "jsonl", "xlsx"]
"""CSV (RFC 4180) in UTF-8 with a header, one JSON document, one JSON object per line, or a workbook."""
WithMark = Annotated[
    bool,
    Meta(description="Begin a CSV with a byte order mark, by which Excel recognizes UTF-8."),
]

CSV: Final = "text/csv; charset=utf-8"
JSON: Final = "application/json"
JSON_LINES: Final = "application/jsonl"
XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class TableFormat(Struct, frozen=True):
    """The format of an exported file; ``mark`` begins a CSV with a byte order mark."""

    form: Format
    mark: bool = False


def export(
    batches: AsyncGenerator[Sequence[Schema], None], kind: type[Schema], form: TableFormat, name: str
) -> Stream:
    """Return the rows of ``batches``, each a ``kind``, as a file; see ``file_of``.

    A list is JSON in its cell; JSON has the rows as ``items``.
    """

    def cells(row: Schema) -> list[Any]:
        return [_cell(value) for value in msgspec.structs.astuple(row)]

    columns = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    return file_of(batches, form, name, member="items", columns=columns, cells=cells, encode=json_text)


def file_of(
    batches: AsyncGenerator[Sequence[T], None],
    form: TableFormat,
    name: str,
    *,
    member: str,
    columns: Mapping[str, Any],
    cells: Callable[[T], Iterable[Any]],
    encode: Callable[[T], bytes],
    csv_type: str = CSV,
) -> Stream:
    """Return the rows of ``batches`` as a file named by ``name`` and the time.

    A CSV or a workbook (XLSX) has the ``columns``, with their types, and the ``cells`` of each row: texts,
    numbers and None. A JSON document has the rows in its ``member``, each as returned by ``encode``. The
    first batch, which may be empty, is read before anything is sent.
    """
    headers = {"Content-Disposition": attachment(f"{name}-{now():%Y%m%dT%H%M%SZ}.{form.form}")}
    if form.form == "json":
        return Stream(json_document(member, batches, encode), JSON, headers)
    if form.form == "jsonl":
        return Stream(_json_lines(batches, encode), JSON_LINES, headers)
    if form.form == "xlsx":
        return Stream(_workbook(batches, name, columns, cells), XLSX, headers)
    return Stream(_csv(batches, columns, cells, mark=form.mark), csv_type, headers)


async def json_document(
    name: str, batches: AsyncGenerator[Sequence[T], None], encode: Callable[[T], bytes]
) -> AsyncGenerator[bytes, None]:
    """Yield ``{"name": […]}`` in chunks, each row of ``batches`` encoded by ``encode``."""
    opening = separator = f'{{"{name}":['.encode()
    async with aclosing(batches):
        async for batch in batches:
            if batch or separator is opening:
                yield separator + b",\n".join(map(encode, batch))
                separator = b",\n" if batch else b""
    yield b"]}\n"


async def _json_lines(
    batches: AsyncGenerator[Sequence[T], None], encode: Callable[[T], bytes]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(batches):
        async for batch in batches:
            yield b"".join(encode(row) + b"\n" for row in batch)


async def _csv(
    batches: AsyncGenerator[Sequence[T], None],
    columns: Iterable[str],
    cells: Callable[[T], Iterable[Any]],
    *,
    mark: bool,
) -> AsyncGenerator[bytes, None]:
    header = [columns]
    beginning = _MARK if mark else ""
    async with aclosing(batches):
        async for batch in batches:
            text = io.StringIO()
            text.write(beginning)
            # Every cell is quoted: where ";" separates cells, one that isn't could be split before a formula.
            writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
            writer.writerows([*header, *([_uncomputed(cell) for cell in cells(row)] for row in batch)])
            header, beginning = [], ""
            yield text.getvalue().encode()


async def _workbook(
    batches: AsyncGenerator[Sequence[T], None],
    name: str,
    columns: Mapping[str, Any],
    cells: Callable[[T], Iterable[Any]],
) -> AsyncGenerator[bytes, None]:
    times = {column for column, kind in columns.items() if _is_time(kind)}
    texts = {column for column in columns if column == "id" or column.endswith("Id")}
    book = sole("workbook")(name, list(columns), times=times, texts=texts)
    chunk = await asyncio.to_thread(book.begin)
    async with aclosing(batches):
        async for batch in batches:
            rows = [[_distinct(cell) for cell in cells(row)] for row in batch]
            yield chunk + await asyncio.to_thread(book.add, rows)
            chunk = b""
    yield await asyncio.to_thread(book.end)


def _is_time(kind: Any) -> bool:
    return kind is Moment or any(map(_is_time, get_args(kind)))


def _distinct(cell: Any) -> Any:
    """Return a text as it is, unless it looks as if ``escape_formula`` had made it.

    A CSV that a spreadsheet has saved as a workbook has such texts: an import removes their apostrophe.
    """
    return escape_formula(cell) if isinstance(cell, str) and cell.startswith("'") else cell


def _uncomputed(cell: Any) -> Any:
    return escape_formula(cell) if isinstance(cell, str) else cell


def _cell(value: Any) -> Any:
    # A target may have any separator in it; true and false as in JSON.
    if isinstance(value, list | dict | bool):
        return json_text(value).decode()
    return value
