"""Tables as files: exports in the format of imports."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from service.kernel.clock import now
from service.kernel.text import escape_formula
from service.web.content.exports import JSON, JSON_LINES, Format, json_document
from service.web.content.streams import Stream, attachment
from service.web.content.tables import CSV, Table, rows_of


def table_file(
    batches: AsyncGenerator[Sequence[object], None],
    kind: type[Table],
    form: Format,
    name: str,
    *,
    without: Collection[str] = (),
) -> Stream:
    """Return the records of ``batches`` as a file named by ``name`` and the time.

    Its columns are those of an import of ``kind``, except the fields ``without``; a record has an attribute
    for each. The first batch, which may be empty, is read before anything is sent.
    """
    file_name = f"{name}-{now():%Y%m%dT%H%M%SZ}.{form}"
    headers = {"Content-Disposition": attachment(file_name)}
    rows, _, row = rows_of(kind)
    columns = {column.encode_name: column.name for column in row.fields if column.name not in without}
    if form == "csv":
        return Stream(_csv(batches, columns), f"{CSV}; charset=utf-8; header=present", headers)

    def encode(record: object) -> bytes:
        return msgspec.json.encode({key: getattr(record, name) for key, name in columns.items()})

    if form == "jsonl":
        return Stream(_lines(batches, encode), JSON_LINES, headers)
    return Stream(json_document(rows.encode_name, batches, encode), JSON, headers)


async def _csv(
    batches: AsyncGenerator[Sequence[object], None], columns: Mapping[str, str]
) -> AsyncGenerator[bytes, None]:
    lines: list[Iterable[str]] = [columns]
    async with aclosing(batches):
        async for batch in batches:
            text = io.StringIO()
            # Every cell is quoted: where ";" separates cells, one that isn't could be split before a formula.
            writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
            writer.writerows(
                [*lines, *([_cell(getattr(row, name)) for name in columns.values()] for row in batch)]
            )
            lines = []
            yield text.getvalue().encode()


async def _lines(
    batches: AsyncGenerator[Sequence[object], None], encode: Callable[[object], bytes]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(batches):
        async for batch in batches:
            yield b"".join(encode(row) + b"\n" for row in batch)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape_formula(" ".join(value) if isinstance(value, tuple | list) else str(value))
