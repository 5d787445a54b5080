"""The published policy: its lines, its revisions, what workers use, and the rows that it was derived from."""

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
    false,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import filled, identity, metadata, moment

# The columns that Casbin's adapters expect, without their limit of 255 characters.
casbin_rule = Table(
    "casbin_rule",
    metadata,
    identity(),
    Column("ptype", Text, nullable=False),
    *(Column(f"v{number}", Text) for number in range(6)),
)

policy_revision = Table(
    "policy_revision",
    metadata,
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    filled("digest"),
    Column("line_count", Integer, CheckConstraint("line_count >= 0", name="line_count"), nullable=False),
    Column("cause", Text, nullable=False),
    moment("create_time"),
    Column("user_name", Text),
    # The ids of the publishers: the account, and the creator of the API key of the request.
    Column("author_ids", ARRAY(BigInteger)),
    Column("request_id", Text),
    Column("added", Integer),
    Column("removed", Integer),
    Column("tampered", Integer, nullable=False, server_default="0"),
    Column("rows_kept", Boolean, nullable=False, server_default=false()),
    # Of revisions that a version without them has published, these are empty.
    Column("lines_digest", Text),
    Column("prior_revision", BigInteger),
    Column("prior_hash", Text),
    Column("sealed_from", BigInteger),
    Column("seals", JSONB),
    CheckConstraint("revision > 0", name="revision"),
    Index("policy_revision_tampered_idx", "revision", postgresql_where=text("tampered > 0")),
)

policy_line = Table(
    "policy_line",
    metadata,
    identity(),
    Column("layer", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("until", BigInteger),
    CheckConstraint("until > since", name="until"),
    Index(None, "since"),
    Index(None, "until", postgresql_where=text("until IS NOT NULL")),
)

policy_worker = Table(
    "policy_worker",
    metadata,
    filled("worker", primary_key=True),
    Column("revision", BigInteger, CheckConstraint("revision >= 0", name="revision"), nullable=False),
    Column("fault", Text),
    moment("seen_time"),
    Column("own_digest", Text),
    Column("facts", JSONB),
)


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
