"""Tables of policy history: the rows that each revision was derived from."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from service.records.schema.base import identity, metadata


def _history(name: str, *columns: Column[Any]) -> Table:
    """Return a table of rows with the revisions between which each had this content; no foreign keys."""
    return Table(
        name,
        metadata,
        identity(),
        *columns,
        Column("since", BigInteger, nullable=False),
        Column("until", BigInteger),
        CheckConstraint("until > since", name="until"),
        Index(None, "since"),
        Index(None, "until", postgresql_where=text("until IS NOT NULL")),
    )


resource_history = _history(
    "resource_history",
    Column("resource_id", BigInteger, nullable=False),
    Column("resource_name", Text, nullable=False),
    Column("resource_code", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("description", Text),
    Column("enabled", Boolean, nullable=False),
    Column("service", Text, nullable=False, server_default="portcullis"),
)

button_history = _history(
    "button_history",
    Column("menu_id", BigInteger, nullable=False),
    Column("parent_id", BigInteger),
    Column("title", Text, nullable=False),
    Column("name", Text),
    Column("icon", Text),
    Column("sort", Integer, nullable=False),
    Column("auth_mark", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
)

binding_history = _history(
    "binding_history",
    Column("resource_id", BigInteger, nullable=False),
    Column("menu_id", BigInteger, nullable=False),
)

service_history = _history(
    "service_history",
    Column("service_id", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("ignore_case", Boolean, nullable=False),
    Column("ignore_trailing_slash", Boolean, nullable=False),
    Column("allow_preflight", Boolean, nullable=False),
)

opening_history = _history(
    "opening_history",
    Column("opening_id", BigInteger, nullable=False),
    Column("service", Text),
    Column("resource_id", BigInteger),
    Column("code", Text, nullable=False),
    Column("end_time", DateTime(timezone=True)),
)

request_rule_history = _history(
    "request_rule_history",
    Column("role_id", BigInteger, nullable=False),
    Column("role_code", Text, nullable=False),
    Column("requestable_by", Text, nullable=False),
    Column("stage_codes", ARRAY(Text), nullable=False),
    Column("stage_approvals", ARRAY(Integer), nullable=False),
    Column("max_duration", Integer, nullable=False),
    Column("pending_timeout", Integer, nullable=False),
    Column("reason_required", Boolean, nullable=False),
    Column("grant_needed", Boolean, nullable=False),
    Column("assurance", Text),
    Column("emergency", Boolean, nullable=False),
)
