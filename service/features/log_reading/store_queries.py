"""The entries and filters of the operation log and the login log."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONPATH

from service.errors import NotFound
from service.features.log_reading.sentences import sentence
from service.features.log_reading.store_paging import Log, Span, within
from service.kernel.identity import device_of_agent
from service.kernel.value_rules import Id
from service.records.database.filters import Condition, Conditions, equals, one_of
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.logs.events import Decision, Outcome
from service.records.schema.logs import IS_OF_AGENT, IS_OF_RIGHTS, IS_PREVIEW, login_log, operation_log

EVERYTHING: Final = Span()


def in_network(column: sa.ColumnElement[Any]) -> Condition:
    """Require that the address in ``column`` equals the value, or lies in it if it is a CIDR network."""

    def conditions(network: str) -> Conditions:
        given = sa.literal(network, INET)
        return (column.bool_op("<<=")(given) if "/" in network else column == given,)

    return Condition(conditions)


def _has_target(target: str) -> Conditions:
    # Containment, which the index serves; ``= ANY`` would read every entry.
    return (operation_log.c.targets.contains(sa.cast([target], ARRAY(sa.Text))),)


# As in the indexes, which serve no other expressions.
_IS_OF_AGENT: Final = sa.literal_column(IS_OF_AGENT, sa.Boolean)
_IS_PREVIEW: Final = sa.literal_column(IS_PREVIEW, sa.Boolean)
_IS_OF_RIGHTS: Final = sa.literal_column(IS_OF_RIGHTS, sa.Boolean)


def _is(condition: sa.ColumnElement[bool]) -> Condition:
    """Require ``condition``, or its opposite; NULL is no."""
    return Condition(lambda given: (condition if given else condition.is_not(sa.true()),))


def _by_agent(agent_id: int) -> Conditions:
    return _IS_OF_AGENT, operation_log.c.device == device_of_agent(agent_id)


def _statuses(ranges: Collection[tuple[int, int]]) -> Conditions:
    status = operation_log.c.status
    each = (status == first if first == last else status.between(first, last) for first, last in ranges)
    return (sa.or_(*each),)


_Targets = Annotated[list[str], Meta(examples=[["role:auditor"]], description="The records it was about.")]
_ChangeCount = Annotated[
    int, Meta(ge=1, examples=[2], description="The number of changed fields; `changes` may have fewer.")
]
_Repetitions = Annotated[
    int,
    Meta(ge=1, examples=[12]),
    Meta(
        description="The number of refused reads within a minute that this entry summarizes; it describes the"
        " first. `null` for an entry of one call."
    ),
]


class Operation(Struct, frozen=True):
    """A call of the service as lists and exports show it: without parameters and response."""

    id: Id
    create_time: datetime
    request_id: Annotated[str, Meta(examples=["8d5f0c39d1a2b4e7"])] | None
    user_id: Id | None
    user_name: Annotated[str, Meta(examples=["admin"])] | None
    device: Annotated[str, Meta(examples=["web"])] | None
    module: Annotated[str, Meta(examples=["role"])]
    action: Annotated[str, Meta(examples=["create"])]
    kind: Annotated[str, Meta(examples=["INSERT"])]
    method: Annotated[str, Meta(examples=["POST"])]
    url: Annotated[str, Meta(examples=["/api/role"])]
    query: str | None
    client_ip: Annotated[str, Meta(examples=["203.0.113.7"])] | None
    user_agent: str | None
    status: Annotated[int, Meta(examples=[403])]
    error: Annotated[str, Meta(examples=["permission_denied"])] | None
    elapsed_ms: Annotated[float, Meta(ge=0, examples=[3.25])]
    decision: Decision | None
    decision_id: Annotated[str, Meta(examples=["r12-9be1a6f0-5f0c39d1a2b4"])] | None
    policy_revision: Annotated[int, Meta(examples=[12])] | None
    targets: _Targets | None
    change_count: _ChangeCount | None
    trace_id: Annotated[str, Meta(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])] | None
    dry_run: Annotated[bool, Meta(description="True for a dry run: nothing was saved.")]
    repetitions: _Repetitions | None


class ChangingOperation(Operation, frozen=True):
    """A call as exports show it: with the changes that it has saved."""

    changes: list[Any] | None


class OperationDetail(ChangingOperation, frozen=True):
    """A call with parameters and response as JSON text; None if they were not kept."""

    params: str | None
    response: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFilter:
    """A filter of calls: values must be equal, ``kind`` and ``decision`` to one of those given; None is any.

    ``agent_id`` is the agent that acted for the user. ``target`` is one of the records that the call was
    about. ``status`` are inclusive ranges. ``client_ip`` is an address or a network in CIDR form.
    """

    user_id: Annotated[int | None, equals(operation_log.c.user_id)] = None
    user_name: Annotated[str | None, equals(operation_log.c.user_name)] = None
    agent_id: Annotated[int | None, Condition(_by_agent)] = None
    module: Annotated[str | None, equals(operation_log.c.module)] = None
    kind: Annotated[Collection[str] | None, one_of(operation_log.c.kind)] = None
    target: Annotated[str | None, Condition(_has_target)] = None
    status: Annotated[Collection[tuple[int, int]] | None, Condition(_statuses)] = None
    decision: Annotated[Collection[str] | None, one_of(operation_log.c.decision)] = None
    client_ip: Annotated[str | None, in_network(operation_log.c.client_ip)] = None
    request_id: Annotated[str | None, equals(operation_log.c.request_id)] = None
    trace_id: Annotated[str | None, equals(operation_log.c.trace_id)] = None
    dry_run: Annotated[bool | None, _is(_IS_PREVIEW)] = None
    rights: Annotated[bool | None, _is(_IS_OF_RIGHTS)] = None
    span: Annotated[Span, within(operation_log.c.create_time)] = EVERYTHING


class Login(Struct, frozen=True):
    """An event of a session, successful or not."""

    id: Id
    create_time: datetime
    request_id: Annotated[str, Meta(examples=["8d5f0c39d1a2b4e7"])] | None
    event: Annotated[str, Meta(examples=["login"])]
    outcome: Outcome
    reason: Annotated[str, Meta(examples=["login_failed"])] | None
    user_id: Id | None
    user_name: Annotated[str, Meta(examples=["admin"])] | None
    device: Annotated[str, Meta(examples=["web"])] | None
    login_ip: Annotated[str, Meta(examples=["203.0.113.7"])] | None
    user_agent: str | None
    browser: Annotated[str, Meta(examples=["Firefox 145"])] | None
    os: Annotated[str, Meta(examples=["Linux"])] | None
    trace_id: Annotated[str, Meta(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginFilter:
    """A filter of session events, as ``OperationFilter``.

    ``event`` and ``outcome`` have several, like ``kind`` there; ``login_ip`` is an address or a network.
    """

    user_id: Annotated[int | None, equals(login_log.c.user_id)] = None
    user_name: Annotated[str | None, equals(login_log.c.user_name)] = None
    event: Annotated[Collection[str] | None, one_of(login_log.c.event)] = None
    outcome: Annotated[Collection[str] | None, one_of(login_log.c.outcome)] = None
    reason: Annotated[str | None, equals(login_log.c.reason)] = None
    device: Annotated[str | None, equals(login_log.c.device)] = None
    login_ip: Annotated[str | None, in_network(login_log.c.login_ip)] = None
    request_id: Annotated[str | None, equals(login_log.c.request_id)] = None
    trace_id: Annotated[str | None, equals(login_log.c.trace_id)] = None
    span: Annotated[Span, within(login_log.c.create_time)] = EVERYTHING


_SHOWN: Final[dict[str, sa.ColumnElement[Any]]] = {
    "client_ip": sa.func.host(operation_log.c.client_ip),
    "dry_run": sa.func.coalesce(_IS_PREVIEW, sa.false()),
}

OPERATIONS: Final = Log(operation_log, Operation, OperationFilter, **_SHOWN)
"""The operation log."""

CHANGING_OPERATIONS: Final = Log(operation_log, ChangingOperation, OperationFilter, **_SHOWN)
"""The operation log, with the changes of each call."""

LOGINS: Final = Log(login_log, Login, LoginFilter, login_ip=sa.func.host(login_log.c.login_ip))
"""The login log."""

_DETAIL: Final = RowMapper(
    OperationDetail,
    operation_log,
    (),
    **_SHOWN,
    params=sa.cast(operation_log.c.params, sa.Text),
    response=sa.cast(operation_log.c.response, sa.Text),
)


async def operation(connection: Connection, entry_id: int) -> OperationDetail:
    """Return one call with all its fields; NotFound if the entry does not exist."""
    entry = await _DETAIL.only(connection, operation_log.c.id == entry_id)
    if entry is None:
        raise NotFound(sentence("no_such_entry"))
    return entry


_GIVES: Final = '(@.field == "roles" || @.field == "permissions")'
_GIVEN_AND_OTHERS: Final = (f"$[*] ? {_GIVES}", f"$[*] ? (!{_GIVES})")


async def first_changes(
    connection: Connection, ids: Collection[int], most: int
) -> list[tuple[int, list[Any]]]:
    """Return the first ``most`` changes of calls that have saved some, with the id of each call.

    Those of roles and permissions come first for a call with more changes, such as an import.
    """
    saved = operation_log.c.changes
    given, others = [
        sa.func.jsonb_path_query_array(saved, sa.cast(path, JSONPATH)) for path in _GIVEN_AND_OTHERS
    ]
    ordered = sa.case((sa.func.jsonb_array_length(saved) > most, given.op("||")(others)), else_=saved)
    first = sa.func.jsonb_path_query_array(ordered, sa.cast(f"$[0 to {most - 1}]", JSONPATH))
    rows = await connection.execute(
        sa.select(operation_log.c.id, first)
        .where(operation_log.c.id.in_(ids), sa.func.jsonb_typeof(operation_log.c.changes) == "array")
        .order_by(operation_log.c.id)
    )
    return [(entry_id, changes) for entry_id, changes in rows]


async def refused(connection: Connection, decision_id: str) -> OperationDetail | None:
    """Return the latest call that the decision with that id refused; None if unknown."""
    logged = operation_log.c
    statement = (
        _DETAIL.select.where(logged.decision_id == decision_id, logged.decision == "deny")
        .order_by(logged.create_time.desc(), logged.id.desc())
        .limit(1)
    )
    return await _DETAIL.one_or_none(connection, statement)
