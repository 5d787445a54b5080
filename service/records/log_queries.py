"""The operation log and the login log as they are read: which entries, and what of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Text, cast, func, literal, select
from sqlalchemy.dialects.postgresql import INET
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound
from service.records.log_reading import Conditions, Log, Span, within
from service.records.schema import login_log, operation_log

EVERYTHING: Final = Span()


@dataclass(frozen=True, slots=True)
class Operation:
    """A call of the service as lists and exports show it: without what was sent and answered."""

    id: int
    create_time: datetime
    request_id: str | None
    user_id: int | None
    user_name: str | None
    device: str | None
    module: str
    action: str
    kind: str
    method: str
    url: str
    query: str | None
    client_ip: str | None
    user_agent: str | None
    status: int
    error: str | None
    elapsed_ms: float
    decision: str | None
    decision_id: str | None
    policy_revision: int | None


@dataclass(frozen=True, slots=True)
class OperationDetail:
    """A call with what was sent and answered, as JSON text; None where nothing was kept."""

    operation: Operation
    params: str | None
    response: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFilter:
    """Which calls: those with exactly these values, and None asks nothing.

    ``status`` is the first and the last of a range. ``client_ip`` is an address or a network in CIDR form.
    """

    user_id: int | None = None
    user_name: str | None = None
    module: str | None = None
    kind: str | None = None
    status: tuple[int, int] | None = None
    decision: str | None = None
    client_ip: str | None = None
    request_id: str | None = None
    span: Span = EVERYTHING


@dataclass(frozen=True, slots=True)
class Login:
    """Something that happened to a session, or failed to."""

    id: int
    create_time: datetime
    request_id: str | None
    event: str
    outcome: str
    reason: str | None
    user_id: int | None
    user_name: str | None
    device: str | None
    login_ip: str | None
    user_agent: str | None
    browser: str | None
    os: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginFilter:
    """Which events of sessions, as ``OperationFilter`` says it; ``login_ip`` is an address or a network."""

    user_id: int | None = None
    user_name: str | None = None
    event: str | None = None
    outcome: str | None = None
    reason: str | None = None
    device: str | None = None
    login_ip: str | None = None
    request_id: str | None = None
    span: Span = EVERYTHING


def _equal(columns: Any, wanted: object, *names: str) -> Iterator[ColumnElement[bool]]:
    for name in names:
        if (value := getattr(wanted, name)) is not None:
            yield columns[name] == value


def _in_network(column: ColumnElement[Any], network: str | None) -> Conditions:
    if network is None:
        return ()
    given = literal(network, INET)
    return (column.bool_op("<<=")(given) if "/" in network else column == given,)


def _operations(wanted: OperationFilter) -> Conditions:
    columns = operation_log.c
    names = ("user_id", "user_name", "module", "kind", "decision", "request_id")
    return (
        *_equal(columns, wanted, *names),
        *(() if wanted.status is None else _statuses(*wanted.status)),
        *_in_network(columns.client_ip, wanted.client_ip),
        *within(columns.create_time, wanted.span),
    )


def _statuses(first: int, last: int) -> Conditions:
    status = operation_log.c.status
    return (status == first,) if first == last else (status >= first, status <= last)


def _logins(wanted: LoginFilter) -> Conditions:
    columns = login_log.c
    names = ("user_id", "user_name", "event", "outcome", "reason", "device", "request_id")
    return (
        *_equal(columns, wanted, *names),
        *_in_network(columns.login_ip, wanted.login_ip),
        *within(columns.create_time, wanted.span),
    )


OPERATIONS: Final = Log(
    operation_log, Operation, {"client_ip": func.host(operation_log.c.client_ip)}, _operations
)
"""The operation log."""

LOGINS: Final = Log(login_log, Login, {"login_ip": func.host(login_log.c.login_ip)}, _logins)
"""The login log."""


async def operation(connection: AsyncConnection, entry_id: int) -> OperationDetail:
    """Return one call with all that is known of it; NotFound when there is no such entry."""
    columns = operation_log.c
    content = cast(columns.params, Text), cast(columns.response, Text)
    statement = select(*OPERATIONS.columns, *content).where(columns.id == entry_id)
    row = (await connection.execute(statement)).first()
    if row is None:
        raise NotFound("There is no such entry")
    *values, params, response = row
    return OperationDetail(Operation(*values), params, response)
