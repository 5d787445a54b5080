"""The list and the export of a log: one implementation for both logs."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from service.features.log_reading.lists import (
    After,
    Cursor,
    FileFormat,
    Limit,
    TimeQuery,
    batches_of,
    time_page,
)
from service.features.log_reading.store_paging import Log, LogReader
from service.web.content.streams import (
    CSV,
    JSON,
    JSON_LINES,
    XLSX,
    Stream,
    TableFormat,
    WithMark,
    export,
)
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, logged, needs, sends
from service.web.messages.schema import PageNumber, PageSize, Schema

Word = Annotated[str, Meta(min_length=1, max_length=64)]

# A page is found by number within the first 10,000 entries, or by cursor without a limit.
_PAGED: Final = (
    ("page", PageNumber, 1),
    ("size", PageSize, 20),
    ("cursor", Cursor | None, None),
    ("after", After | None, None),
)
_EXPORTED: Final = (("format", FileFormat, "csv"), ("bom", WithMark, False), ("limit", Limit, 100_000))


class LogQuery(TimeQuery):
    """The filters of a log."""

    @property
    def criteria(self) -> Any:
        """The filter of the records; raises ValidationFailed for a malformed address."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class LogView:
    """The presentation of one log.

    ``name`` is part of paths, permission codes and file names; ``entries`` names the entries in texts. A list
    shows ``log`` as ``entry``, and ``page`` is its ``TimePage``; a file shows ``exported`` as ``row``.
    """

    name: str
    entries: str
    log: Log[Any, Any]
    query: type[LogQuery]
    entry: type[Schema]
    page: Any
    exported: Log[Any, Any]
    row: type[Schema]


class LogEndpoint(Responders):
    """Base of the endpoints that read a log."""

    def __init__(self, logs: LogReader) -> None:
        self.logs = logs


def list_of(view: LogView) -> type[LogEndpoint]:
    """Return the endpoint ``/api/{name}/list`` of a log."""

    async def on_get(self: LogEndpoint, context: RequestContext, query: Any) -> Any:
        return await time_page(self.logs, view.log, query.criteria, query, view.entry)

    on_get.__doc__ = f"""List {view.entries}, the latest first.

        Follow `nextCursor` to read any number of entries. Entries logged meanwhile cause no duplicates and no
        omissions. To follow the growing log, repeat the request with `followCursor` as `after`.
        """
    on_get.__annotations__ |= {"query": _extended(view.query, _PAGED), "return": view.page}
    mark = needs(f"system:{view.name}:list", name=f"list{_words(view)}s")
    return _endpoint(view, "list", mark(on_get))


def export_of(view: LogView) -> type[LogEndpoint]:
    """Return the endpoint ``/api/{name}/export`` of a log."""

    @needs(f"system:{view.name}:export", name=f"export{_words(view)}s")
    @logged("export", "EXPORT", keeps="params")
    @sends(CSV, JSON, JSON_LINES, XLSX, of=_rows_of(view))
    async def on_get(self: LogEndpoint, context: RequestContext, query: Any) -> Stream:
        rows = batches_of(self.logs, view.exported, query.criteria, query, view.row)
        return export(rows, view.row, TableFormat(query.format, query.bom), view.name)

    on_get.__doc__ = f"Export {view.entries} as a file."
    on_get.__annotations__ |= {"query": _extended(view.query, _EXPORTED)}
    return _endpoint(view, "export", on_get)


def _rows_of(view: LogView) -> type[Struct]:
    """Return the type of an export as JSON."""
    items: tuple[str, Any] = ("items", list[view.row])  # type: ignore[name-defined]  # known at run time
    members = {"__doc__": f"Exported {view.entries}."}
    return msgspec.defstruct(f"Exported{_words(view)}s", [items], bases=(Schema,), namespace=members)


def _words(view: LogView) -> str:
    return view.name.title().replace("-", "")


def _extended(query: type[LogQuery], parameters: tuple[tuple[str, Any, Any], ...]) -> Any:
    """Return a type of queries that has ``parameters`` (name, type, default) after those of ``query``."""
    return msgspec.defstruct(query.__name__, parameters, bases=(query,))


def _endpoint(view: LogView, action: str, on_get: Any) -> type[LogEndpoint]:
    on_get.__qualname__ = f"{view.name} {action}.on_get"
    head = {"at": f"/api/{view.name}/{action}", "on_get": on_get}
    return type(f"{view.name} {action}", (LogEndpoint,), head)
