"""Tables as files: exports in the format of imports."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal

import msgspec

from service.kernel.cells import escape_formula
from service.kernel.clock import now
from service.web.content.streams import Stream, attachment
from service.web.content.tables import CSV, Table, rows_of

Form = Literal["csv", "json"]
JSON: Final = "application/json"


def table_file(
    batches: AsyncGenerator[Sequence[object], None],
    kind: type[Table],
    form: Form,
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
    return Stream(_json(batches, rows.encode_name, columns), JSON, headers)


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


async def _json(
    batches: AsyncGenerator[Sequence[object], None], rows: str, columns: Mapping[str, str]
) -> AsyncGenerator[bytes, None]:
    opening = separator = f'{{"{rows}":['.encode()
    async with aclosing(batches):
        async for batch in batches:
            if batch or separator is opening:
                named = ({key: getattr(row, name) for key, name in columns.items()} for row in batch)
                yield separator + b",\n".join(map(msgspec.json.encode, named))
                separator = b",\n" if batch else b""
    yield b"]}\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape_formula(" ".join(value) if isinstance(value, tuple | list) else str(value))
