"""Shared by the endpoints that export and import tables: their queries and the answer to an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from service.administration.table_import import TableRow
from service.web.content.exports import Format
from service.web.messages.schema import Schema

UNCHANGED = "unchanged"
NO_KEYS: Final = "sent again, an import finds its records by name and creates none twice"
"""Why imports refuse an ``Idempotency-Key``."""


class ExportQuery(Schema):
    """The format of the file. An import reads all of them."""

    format: Format = "csv"


class ImportQuery(Schema):
    """Options of an import."""

    dry_run: Annotated[bool, Meta(description="Check everything, save nothing.")] = False


class ImportedRow(Schema):
    """A created or updated record; `changes` are the changed fields of an updated one."""

    row: Annotated[int, Meta(ge=1, description="From 1; the header of a CSV is not counted.")]
    name: str
    outcome: Literal["created", "updated"]
    changes: list[str]
    note: str | None


class ImportReport(Schema):
    """What was done or, with `dryRun`, would be done. `rows` omits unchanged records."""

    dry_run: bool
    created: int
    updated: int
    unchanged: int
    rows: list[ImportedRow]


def report_of(rows: Iterable[Any], *, dry_run: bool) -> ImportReport:
    """Return the answer for ``rows``, each a record with the attributes of an ``ImportedRow``."""
    rows = list(rows)
    counts = Counter(row.outcome for row in rows)
    changed = [ImportedRow.of(row) for row in rows if row.outcome != UNCHANGED]
    return ImportReport(dry_run, counts["created"], counts["updated"], counts[UNCHANGED], changed)


def table_rows(rows: Iterable[Schema], *, name: str, codes: str) -> list[TableRow]:
    """Return the rows of a table, numbered from 1.

    ``name`` is the field that identifies a record, ``codes`` the field with its list of codes. A field
    ``password`` is kept separate; all others are values of the record.
    """
    return [_table_row(number, row.given(), name, codes) for number, row in enumerate(rows, 1)]


def _table_row(number: int, values: dict[str, Any], name: str, codes: str) -> TableRow:
    known_by = values.pop(name)
    given = values.pop(codes, None)
    password = values.pop("password", None)
    return TableRow(number, known_by, values, None if given is None else tuple(given), password)
