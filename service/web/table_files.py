"""Tables as files: what an export sends is what an import takes."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal

import msgspec

from service.kernel.cells import shown
from service.kernel.clock import now
from service.web.streams import Stream, attachment
from service.web.tables import CSV, Table, rows_of
from service.web.wire import Wire

Form = Literal["csv", "json"]
JSON: Final = "application/json"


def table_file(
    batches: AsyncGenerator[Sequence[Wire], None], kind: type[Table], form: Form, name: str
) -> Stream:
    """Return the rows of ``batches``, which are of ``kind``, as a file called after ``name`` and the time.

    The first batch, which may be empty, is taken before anything is sent.
    """
    file_name = f"{name}-{now():%Y%m%dT%H%M%SZ}.{form}"
    headers = {"Content-Disposition": attachment(file_name)}
    if form == "csv":
        return Stream(_csv(batches, kind), f"{CSV}; charset=utf-8; header=present", headers)
    return Stream(_json(batches, kind), JSON, headers)


async def _csv(
    batches: AsyncGenerator[Sequence[Wire], None], kind: type[Table]
) -> AsyncGenerator[bytes, None]:
    lines: list[Iterable[str]] = [[column.encode_name for column in rows_of(kind)[2].fields]]
    async with aclosing(batches):
        async for batch in batches:
            text = io.StringIO()
            # Every cell is quoted: where ";" separates cells, one that isn't could be split before a formula.
            writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
            writer.writerows([*lines, *(_cells(row) for row in batch)])
            lines = []
            yield text.getvalue().encode()


async def _json(
    batches: AsyncGenerator[Sequence[Wire], None], kind: type[Table]
) -> AsyncGenerator[bytes, None]:
    opening = separator = f'{{"{rows_of(kind)[0].encode_name}":['.encode()
    async with aclosing(batches):
        async for batch in batches:
            if batch or separator is opening:
                yield separator + b",\n".join(map(msgspec.json.encode, batch))
                separator = b",\n" if batch else b""
    yield b"]}\n"


def _cells(row: Wire) -> Iterator[str]:
    return map(_cell, msgspec.structs.astuple(row))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return shown(" ".join(value) if isinstance(value, list) else str(value))
