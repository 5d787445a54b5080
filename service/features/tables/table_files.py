"""Tables as files: their queries, exports in the format of imports, and the answer to an import."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta

from service.features.tables.table_bodies import CSV, Table, rows_of
from service.features.tables.table_import import TableRow
from service.web.content.streams import Format, Stream, TableFormat, WithMark, file_of
from service.web.messages.schema import Schema, SentenceParams, stated_as


def table_file(
    batches: AsyncGenerator[Sequence[object], None],
    kind: type[Table],
    form: TableFormat,
    name: str,
    *,
    without: Collection[str] = (),
) -> Stream:
    """Return the records of ``batches`` as a file; see ``streams.file_of``.

    Its columns are those of an import of ``kind``, without the fields ``without``. A record has an attribute
    for each column.
    """
    rows, _, row = rows_of(kind)
    fields = {column.encode_name: column.name for column in row.fields if column.name not in without}
    types = {field.encode_name: field.type for field in msgspec.structs.fields(row.cls)}
    return file_of(
        batches,
        form,
        name,
        member=rows.encode_name,
        columns={column: types[column] for column in fields},
        cells=lambda record: [_cell(getattr(record, field)) for field in fields.values()],
        encode=lambda record: msgspec.json.encode(
            {key: getattr(record, field) for key, field in fields.items()}
        ),
        csv_type=f"{CSV}; charset=utf-8; header=present",
    )


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value) if isinstance(value, tuple | list) else value


F = TypeVar("F")
UNCHANGED = "unchanged"
NO_KEYS: Final = "a repeated import finds its records by name and creates none twice"
"""The reason why imports refuse an ``Idempotency-Key``."""


class ExportQuery(Schema):
    """The format of the file. An import reads all of them."""

    format: Format = "csv"
    bom: WithMark = False

    @property
    def form(self) -> TableFormat:
        """The format and its options."""
        return TableFormat(self.format, self.bom)

    def filter(self, kind: Callable[..., F]) -> F:
        """Return the filter ``kind``, made from the parameters of the same names."""
        names = {*self.__struct_fields__} - {*ExportQuery.__struct_fields__}
        return kind(**{name: getattr(self, name) for name in names})


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
    note_code: Annotated[str, Meta(examples=["created_without_password"])] | None
    note_params: SentenceParams | None


class ImportReport(Schema):
    """The made edits, or with `dryRun` the planned ones. `rows` omits unchanged records."""

    dry_run: bool
    created: int
    updated: int
    unchanged: int
    rows: list[ImportedRow]


def report_of(rows: Iterable[Any], *, dry_run: bool) -> ImportReport:
    """Return the answer for ``rows``, each a record with the attributes of an ``ImportedRow``."""
    rows = list(rows)
    counts = Counter(row.outcome for row in rows)
    changed = [ImportedRow.of(row, **stated_as("note", row.note)) for row in rows if row.outcome != UNCHANGED]
    return ImportReport(dry_run, counts["created"], counts["updated"], counts[UNCHANGED], changed)


def table_rows(rows: Iterable[Schema], numbers: Iterable[int], *, name: str, codes: str) -> list[TableRow]:
    """Return the rows of a table, with their ``numbers``.

    ``name`` is the field that identifies a record, ``codes`` the field with its list of codes. A field
    ``password`` is kept separate; all others are values of the record.
    """
    return [_table_row(number, row.given(), name, codes) for number, row in zip(numbers, rows, strict=True)]


def _table_row(number: int, values: dict[str, Any], name: str, codes: str) -> TableRow:
    known_by = values.pop(name)
    given = values.pop(codes, None)
    password = values.pop("password", None)
    return TableRow(number, known_by, values, None if given is None else tuple(given), password)
