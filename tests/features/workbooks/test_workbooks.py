"""Workbooks that are written: read by a library that others use, and made in bounded memory."""

import io
import tracemalloc
import zipfile
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import openpyxl
import pytest

from service.features.workbooks import workbooks
from service.features.workbooks.workbooks import MOST_CHARACTERS, Workbook, cut
from service.web.content.streams import TableFormat, export
from service.web.messages.schema import Moment, Schema
from tests.support.cases import with_each


class Entry(Schema):
    """An entry of the tests."""

    id: int
    create_time: Moment
    user_id: int | None
    phone: str
    text: str
    took: float
    done: bool


def entry(number: int) -> Entry:
    at = Moment("2026-11-30T17:00:00.123Z")
    return Entry(number, at, 12_345_678_901_234_567, "0049301", f"=1+{number} 鹭 بلشون 🪶", 1.5, True)


async def made(rows: list[Entry], *, size: int = 500) -> bytes:
    async def batches() -> AsyncIterator[list[Entry]]:
        for first in range(0, max(len(rows), 1), size):
            yield rows[first : first + size]

    stream = export(batches(), Entry, TableFormat("xlsx"), "entries")  # type: ignore[arg-type]
    return b"".join([chunk async for chunk in stream.chunks])


def sheets(body: bytes) -> list[Any]:
    return list(openpyxl.load_workbook(io.BytesIO(body)).worksheets)


async def test_ids_and_texts_are_texts_times_are_times_and_the_head_is_frozen() -> None:
    (sheet,) = sheets(await made([entry(7)]))
    assert (sheet.title, sheet.freeze_panes) == ("entries", "A2")
    heads = ["id", "createTime (UTC)", "userId", "phone", "text", "took", "done"]
    assert [cell.value for cell in sheet[1]] == heads
    at = datetime(2026, 11, 30, 17, 0, 0, 123_000)  # noqa: DTZ001 - the cells of a workbook have no zone
    values = ["7", at, "12345678901234567", "0049301", "=1+7 鹭 بلشون 🪶", 1.5, "true"]
    assert [cell.value for cell in sheet[2]] == values
    assert [cell.data_type for cell in sheet[2]] == ["s", "d", "s", "s", "s", "n", "s"]
    texts = [cell.number_format for cell in sheet[2] if cell.data_type == "s"]
    assert set(texts) == {"@"}
    assert sheet.column_dimensions["A"].width > 10


async def test_an_empty_table_has_its_head_alone() -> None:
    (sheet,) = sheets(await made([]))
    assert sheet.max_row == 1


async def test_more_rows_than_a_sheet_holds_follow_in_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbooks, "SHEET_ROWS", 3)
    parts = sheets(await made([entry(number) for number in range(7)], size=2))
    assert [sheet.title for sheet in parts] == ["entries", "entries 2", "entries 3"]
    read = [[row[0].value for row in sheet.iter_rows(min_row=2)] for sheet in parts]
    assert read == [["0", "1", "2"], ["3", "4", "5"], ["6"]]


@with_each(
    ("text", "written"),
    [
        ("_x0041_", "_x005F_x0041_"),
        ("a\rb", "a_x000D_b"),
        ("\x01", "_x0001_"),
        ("\ufffe", "_xFFFE_"),
        ("<&>\"'", "&lt;&amp;&gt;\"'"),
        ("_x004_ \t\n", "_x004_ \t\n"),
    ],
)
def test_what_xml_can_not_hold_is_escaped(text: str, written: str) -> None:
    assert workbooks.escaped(text) == written


@with_each(
    ("text", "end"),
    [
        ("x" * MOST_CHARACTERS, "x"),
        ("x" * MOST_CHARACTERS + "x", "x …"),
        ("\U0001f9a6" * MOST_CHARACTERS, "\U0001f9a6 …"),
        ("system:role:list " * 5000, "list …"),
    ],
)
def test_a_text_that_is_too_long_for_a_cell_ends_with_a_mark(text: str, end: str) -> None:
    kept = cut(text)
    assert len(kept.encode("utf-16-le")) <= 2 * MOST_CHARACTERS
    assert kept.endswith(end)


@pytest.mark.extended
async def test_a_hundred_thousand_rows_are_written_in_the_memory_of_a_batch() -> None:
    rows = 100_000

    async def batches() -> AsyncIterator[list[Entry]]:
        for first in range(0, rows, 500):
            yield [entry(number) for number in range(first, first + 500)]

    stream = export(batches(), Entry, TableFormat("xlsx"), "entries")  # type: ignore[arg-type]
    sent = 0
    tracemalloc.start()
    try:
        async for chunk in stream.chunks:
            sent += len(chunk)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sent > 1_000_000
    assert most < 6_000_000, most


async def test_the_chunks_of_a_workbook_are_those_of_an_archive_that_is_written_in_order() -> None:
    book = Workbook("entries", ["id"])
    first = book.begin()
    assert first.startswith(b"PK\x03\x04")
    archive = zipfile.ZipFile(io.BytesIO(first + book.add([["1"]]) + book.end()))
    assert archive.testzip() is None
    assert archive.namelist()[0] == "[Content_Types].xml"
