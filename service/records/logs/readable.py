"""Times and days of stored entries, as far as Python can read them."""

from datetime import UTC, date, datetime, time
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, case, func

OUTERMOST: Final = (date(1, 1, 2), date.max)
"""The first and the last day that a log can have here: whatever lies beyond is read as of them.

PostgreSQL has times that Python has not, and only a forged row has one. No entry was ever made on these days.
"""


def start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def readable(value: ColumnElement[Any], first: date, last: date) -> ColumnElement[Any]:
    # Both functions pass over NULL.
    return case((value.is_not(None), func.least(func.greatest(value, first), last, type_=value.type)))


def readable_time(moment: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a time, by its name if it has one, with what Python can't read as that of the ``OUTERMOST``."""
    time_read = readable(moment, *map(start, OUTERMOST))
    return time_read.label(moment.name) if isinstance(moment, Column) else time_read
