"""What the endpoints that export and import tables share: their queries and the answer to an import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from msgspec import Meta

from service.administration.table_import import TableRow
from service.web.content.table_files import Form
from service.web.requests.schema import Schema

UNCHANGED = "unchanged"


class ExportQuery(Schema):
    """In which form. Either is what an import takes."""

    format: Form = "csv"


class ImportQuery(Schema):
    """Whether only to tell what would be done."""

    dry_run: Annotated[bool, Meta(description="Check everything and save nothing.")] = False


class ImportedRow(Schema):
    """A record that was made or changed; `changes` are the fields of a changed one that are different now."""

    row: Annotated[int, Meta(ge=1, description="From 1; the header of a CSV is not counted.")]
    name: str
    outcome: Literal["created", "updated"]
    changes: list[str]
    note: str | None


class ImportReport(Schema):
    """What was done, or, when `dryRun`, would have been. `rows` leaves out those that are as they were."""

    dry_run: bool
    created: int
    updated: int
    unchanged: int
    rows: list[ImportedRow]


def report_of(rows: Iterable[Any], *, dry_run: bool) -> ImportReport:
    """Return the answer for ``rows``, each a record with the attributes of an ``ImportedRow``."""
    rows = list(rows)
    counts = Counter(one.outcome for one in rows)
    told = [ImportedRow.of(one) for one in rows if one.outcome != UNCHANGED]
    return ImportReport(dry_run, counts["created"], counts["updated"], counts[UNCHANGED], told)


def table_rows(rows: Iterable[Schema], *, name: str, codes: str) -> list[TableRow]:
    """Return the rows of a table, numbered from 1.

    ``name`` is the field that a record is known by, ``codes`` that of all that it is given; a field
    ``password`` is taken apart, and all others are values of the record.
    """
    return [_table_row(number, one.given(), name, codes) for number, one in enumerate(rows, 1)]


def _table_row(number: int, said: dict[str, Any], name: str, codes: str) -> TableRow:
    known_by, given, password = said.pop(name), said.pop(codes, None), said.pop("password", None)
    return TableRow(number, known_by, said, None if given is None else tuple(given), password)
