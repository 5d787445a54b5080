"""What is past by two clocks."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, literal


def past() -> ColumnElement[datetime]:
    """Return the SQL of the earlier of the database's time and of this machine's, as of this call.

    For what can't be undone when it has turned out that a clock was ahead: to delete what is over, and to use
    again what nobody should mean any more.
    """
    return func.least(func.now(), literal(datetime.now(UTC)))
