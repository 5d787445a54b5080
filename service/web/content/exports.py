"""Lists as files: JSON, JSON Lines, and CSV without cells that spreadsheets would run as formulas."""

import csv
import io
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal, TypeVar

import msgspec

from service.kernel.clock import now
from service.kernel.text import escape_formula
from service.web.content.streams import Stream, attachment
from service.web.messages.schema import Schema, json_text

T = TypeVar("T")

Format = Literal["csv", "json", "jsonl"]
"""CSV (RFC 4180) in UTF-8 with a header, one JSON document, or one JSON object per line."""

CSV: Final = "text/csv; charset=utf-8"
JSON: Final = "application/json"
JSON_LINES: Final = "application/jsonl"


def export(
    batches: AsyncGenerator[Sequence[Schema], None], kind: type[Schema], form: Format, name: str
) -> Stream:
    """Return the rows of ``batches``, each a ``kind``, as a file named by ``name`` and the time.

    A list is JSON in its cell of a CSV; JSON has the rows as ``items``. The first batch, which may be empty,
    is read before anything is sent.
    """
    file_name = f"{name}-{now():%Y%m%dT%H%M%SZ}.{form}"
    headers = {"Content-Disposition": attachment(file_name)}
    if form == "json":
        return Stream(json_document("items", batches, json_text), JSON, headers)
    encode = _csv(kind) if form == "csv" else _json_lines
    return Stream(_chunks(batches, encode), CSV if form == "csv" else JSON_LINES, headers)


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


async def _chunks(
    batches: AsyncGenerator[Sequence[Schema], None], encode: Callable[[Sequence[Schema]], bytes]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(batches):
        async for batch in batches:
            yield encode(batch)


def _json_lines(batch: Sequence[Schema]) -> bytes:
    return b"".join(json_text(row) + b"\n" for row in batch)


def _csv(kind: type[Schema]) -> Callable[[Sequence[Schema]], bytes]:
    """Return an encoder of batches, which writes the header before the first one."""
    header: list[Iterable[Any]] = [[field.encode_name for field in msgspec.structs.fields(kind)]]

    def encode(batch: Sequence[Schema]) -> bytes:
        text = io.StringIO()
        # Every cell is quoted: where ";" separates cells, an unquoted one could be split before a formula.
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerows(header)
        header.clear()
        writer.writerows([_cell(value) for value in msgspec.structs.astuple(row)] for row in batch)
        return text.getvalue().encode()

    return encode


def _cell(value: Any) -> Any:
    if isinstance(value, list | bool):  # a target may have any separator in it; true and false as in JSON
        value = json_text(value).decode()
    return escape_formula(value) if isinstance(value, str) else value
