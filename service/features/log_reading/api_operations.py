"""The operation log: ``/api/operation-log``."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from service.audit.entries import LONGEST_TARGET
from service.endpoints.record_endpoints import Endpoint
from service.errors import NotFound
from service.features.log_reading import store_queries as queries
from service.features.log_reading.api_views import LogQuery, LogView, Word, export_of, list_of
from service.features.log_reading.lists import Address, RequestId, TimePage, TraceId, UserName
from service.features.log_reading.store_queries import CHANGING_OPERATIONS, OPERATIONS, OperationFilter
from service.kernel.value_rules import whole
from service.records.database.transactions import Database
from service.records.logs.events import OperationKind
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs
from service.web.messages.record_schemas import shows
from service.web.messages.schema import SEVERAL, Id, Schema

Kinds = Annotated[list[OperationKind], SEVERAL]
Decisions = Annotated[list[Literal["allow", "deny"]], SEVERAL]
Target = Annotated[
    str,
    Meta(min_length=1, max_length=LONGEST_TARGET, examples=["role:auditor"]),
    Meta(
        description="A record as it was named at that time: `role:{roleCode}`, `user:{userName}`, "
        "`resource:{method} {path}`, `button:{authMark}` or `menu:{title}`."
    ),
]
Statuses = Annotated[
    list[Annotated[str, Meta(pattern=whole("[1-5](?:[0-9]{2}|xx)"), examples=["4xx"])]],
    Meta(max_length=20, description="Statuses such as `403`, or classes such as `4xx`, separated by commas."),
]


@shows(queries.Operation)
class OperationEntry(Schema):
    """A call of the service, with any outcome; `decision` is that of the policy, if it was asked."""


class OperationExportEntry(OperationEntry, kw_only=True):
    """A call in an export."""

    changes: Any


class FieldChange(Schema):
    """The change of one field of the record `target`; null without a record or value.

    For a field with many values, such as the permissions of a role, `before` has the removed values and
    `after` the added ones, at most 200 each. `removed` and `added` count them.
    """

    target: Annotated[str, Meta(examples=["role:auditor"])]
    field: Annotated[str, Meta(examples=["permissions"])]
    before: Any
    after: Any
    removed: Annotated[int, Meta(ge=0, examples=[1])] | UnsetType = UNSET
    added: Annotated[int, Meta(ge=0, examples=[2])] | UnsetType = UNSET


class OperationDetail(OperationEntry, kw_only=True):
    """A call with its changes, request data and answer, without secrets; null if nothing is kept."""

    changes: list[FieldChange] | None
    params: Any
    response: Any


class ChangesQuery(Schema):
    """The objects whose changes are returned."""

    ids: Annotated[
        list[Id],
        Meta(
            min_length=1, max_length=100, description="Ids of entries, separated by commas.", examples=[[1]]
        ),
    ]


class OperationChanges(Schema):
    """The changes of a call, at most 20 with at most 5 values each; the entry has all.

    Those of roles and permissions come first for a call with more changes.
    """

    id: Id
    changes: list[FieldChange]


class OperationChangeList(Schema):
    """The entries with changes, by id."""

    items: list[OperationChanges]


class OperationQuery(LogQuery):
    """Exact filters of calls."""

    user_id: Id | None = None
    user_name: UserName | None = None
    agent_id: Annotated[Id, Meta(description="The agent that acted for the user.")] | None = None
    module: Word | None = None
    kind: Kinds | None = None
    target: Target | None = None
    status: Statuses | None = None
    decision: Decisions | None = None
    client_ip: Address | None = None
    request_id: RequestId | None = None
    trace_id: TraceId | None = None
    dry_run: (
        Annotated[bool, Meta(description="Only dry runs, or all other calls; by default both.")] | None
    ) = None

    rights: Annotated[
        bool | None,
        Meta(
            description="Only calls that changed roles of users, permissions of roles, bindings of Buttons, "
            "public access, API keys, second factors or reviews, or that enabled or disabled one of them; or "
            "all other calls."
        ),
    ] = None

    @property
    def criteria(self) -> OperationFilter:
        """The filter; raises ValidationFailed for a malformed address."""
        return self.filter(OPERATIONS, status=_statuses(self.status))


_VIEW = LogView(
    name="operation-log",
    entries="calls of the service",
    log=OPERATIONS,
    query=OperationQuery,
    entry=OperationEntry,
    page=TimePage[OperationEntry],
    exported=CHANGING_OPERATIONS,
    row=OperationExportEntry,
)

_MOST_CHANGES: Final = 20
_MOST_VALUES: Final = 5

OperationList = list_of(_VIEW)
OperationExport = export_of(_VIEW)


class OneOperation(Endpoint[Database], at="/api/operation-log/{id}"):
    @needs("system:operation-log:detail", name="getOperationLog", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> OperationDetail:
        """Read one call, with request data and answer."""
        async with self.part.transaction() as connection:
            stored = await queries.operation(connection, id)
        entry = msgspec.structs.asdict(OperationEntry.of(stored))
        # Not read into the type: tampered entries are shown as well.
        changes: Any = stored.changes
        return OperationDetail(
            **entry, changes=changes, params=_json(stored.params), response=_json(stored.response)
        )


class ChangesOfOperations(Endpoint[Database], at="/api/operation-log/changes"):
    @needs("system:operation-log:detail", name="listOperationChanges")
    async def on_get(self, context: RequestContext, query: ChangesQuery) -> OperationChangeList:
        """Read the changes of some calls, in brief.

        The list itself has only the number of changes. Entries without changes and unknown ids are omitted.
        """
        async with self.part.transaction() as connection:
            stored = await queries.first_changes(connection, query.ids, _MOST_CHANGES)
        return OperationChangeList(
            [
                OperationChanges(entry_id, [_brief(change) for change in changes])
                for entry_id, changes in stored
            ]
        )


def _brief(change: Any) -> Any:
    """Return a stored change with few values on each side; a tampered change is returned unchanged."""
    if not isinstance(change, dict):
        return change
    return {
        name: value[:_MOST_VALUES] if isinstance(value, list) else value for name, value in change.items()
    }


def _json(text: str | None) -> Raw | None:
    return None if text is None else Raw(text.encode())


def _statuses(texts: list[str] | None) -> list[tuple[int, int]] | None:
    if texts is None:
        return None
    return [(int(text.replace("x", "0")), int(text.replace("x", "9"))) for text in texts]
