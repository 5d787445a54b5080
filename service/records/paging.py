"""One page of a list: rows in a stable order and the exact number of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Row, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import ValidationFailed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """The rows of a page, and how many there are on all pages."""

    items: tuple[T, ...]
    total: int


async def page_of(
    connection: AsyncConnection,
    statement: Select[*tuple[Any, ...]],
    *,
    page: int,
    size: int,
    order: tuple[ColumnElement[Any], ...],
    counted: Select[*tuple[Any, ...]] | None = None,
) -> Page[Row[*tuple[Any, ...]]]:
    """Run ``statement`` for page ``page`` (from 1) of ``size`` rows; ``order`` ends with a unique column.

    ``counted`` is a statement of as many rows that is cheaper to count. The number and the rows agree when
    the connection is a snapshot.
    """
    all_of_them = (statement if counted is None else counted).subquery()
    total = (await connection.execute(select(func.count()).select_from(all_of_them))).scalar_one()
    chosen = statement.order_by(*order).limit(size).offset((page - 1) * size)
    return Page(tuple((await connection.execute(chosen)).all()), total)


def order_by(
    sort: str, allowed: Mapping[str, ColumnElement[Any]], unique: ColumnElement[Any]
) -> tuple[ColumnElement[Any], ...]:
    """Read ``field`` or ``-field`` against the allow-list; ``unique`` makes the order total.

    ValidationFailed for a field that is not on the list.
    """
    column = allowed.get(sort.removeprefix("-"))
    if column is None:
        raise ValidationFailed(("sort", f"one of {', '.join(sorted(allowed))}, with '-' for descending"))
    return (column.desc(), unique.desc()) if sort.startswith("-") else (column.asc(), unique.asc())


def containing(column: ColumnElement[str], text: str | None) -> tuple[ColumnElement[bool], ...]:
    """Return the condition that ``column`` contains ``text``, taken literally; none when there is no text."""
    return () if text is None else (column.contains(text, autoescape=True),)
