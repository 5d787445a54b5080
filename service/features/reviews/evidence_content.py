"""The content of an evidence archive: facts and tables of rows. Equal content gives equal bytes."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import msgspec

from service.features.reviews import store as reviews
from service.features.reviews import store_evidence as user_evidence
from service.features.reviews.schema import Item
from service.kernel.clock import rfc3339
from service.kernel.fields import camel, names_of, values_of
from service.records import role_lives
from service.records.database.transactions import Connection
from service.records.request_history import request_history

Kind: TypeAlias = Literal["review", "request", "user"]
"""The subject of the evidence."""


class Table(msgspec.Struct, frozen=True):
    """Rows of values, in the order of ``columns``."""

    columns: list[str]
    rows: list[list[Any]]


class Content(msgspec.Struct, frozen=True):
    """The content of an archive: ``facts`` about its subject, and tables by name."""

    kind: Kind
    facts: dict[str, Any]
    tables: dict[str, Table]


def encoded(content: Content) -> bytes:
    """Return ``content`` as JSON; equal contents give equal bytes."""
    return msgspec.json.encode(content, order="sorted")


def digest_of(content: Content) -> str:
    """Return the SHA-256 of ``content``, in the form of the log entry about the end of a review."""
    return f"sha256:{sha256(encoded(content)).hexdigest()}"


async def of_review(connection: Connection, review_id: int) -> Content:
    """Return a review: its scope, population, decisions and outcomes.

    Raises ``NotFound`` if there is no review with that id.
    """
    review = await reviews.read(connection, review_id)
    facts = _record(review)
    opened = facts.pop("roles")
    roles = [[role, each["opens"], each["statements"]] for role, each in sorted(opened.items())]
    tables = {
        "items": _table(Item, await reviews.items(connection, review_id)),
        "roles": Table(["roleCode", "opens", "statements"], roles),
    }
    return Content("review", facts, tables)


async def of_request(connection: Connection, request_id: int, at: datetime) -> Content:
    """Return a request for a role as of ``at``, with its decisions; NotFound if there is none."""
    history = request_history()
    request = await history.read(connection, request_id, at)
    decided = (await history.decisions(connection, [request_id]))[request_id]
    return Content("request", _record(request), {"decisions": _table(history.decision, decided)})


async def of_user(
    connection: Connection, about: user_evidence.KnownUser, since: datetime, until: datetime
) -> Content:
    """Return everything that explains a user's access between two instants.

    Assignments and their reasons, the codes of the roles and when, requests with their decisions, and
    reviews.
    """
    user_id = about.id
    held = await user_evidence.assignments(connection, user_id, since, until)
    lives = await role_lives.between(connection, {each.role_id for each in held}, since, until)
    history = request_history()
    asked = await history.of_user(connection, user_id, since, until)
    decided = await history.decisions(connection, [each.id for each in asked])
    decisions = [[request_id, *_row(each)] for request_id, given in decided.items() for each in given]
    tables = {
        "assignments": _table(user_evidence.HeldAssignment, held),
        "roleCodes": _table(role_lives.Life, lives),
        "requests": _table(history.request, asked),
        "requestDecisions": Table(["requestId", *_columns(history.decision)], decisions),
        "reviewItems": _table(Item, await reviews.items_of_user(connection, user_id, since, until)),
    }
    facts = {"userId": user_id, "userName": about.user_name, "from": _plain(since), "to": _plain(until)}
    return Content("user", facts, tables)


def _columns(kind: type[Any]) -> list[str]:
    return [*map(camel, names_of(kind))]


def _row(record: Any) -> list[Any]:
    return [*map(_plain, values_of(record).values())]


def _table(kind: type[Any], records: Iterable[Any]) -> Table:
    return Table(_columns(kind), [_row(record) for record in records])


def _record(record: Any) -> dict[str, Any]:
    return dict(zip(_columns(type(record)), _row(record), strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return rfc3339(value.astimezone(UTC))
    if isinstance(value, date):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
