"""The published policy: its lines, its revisions, what workers use, and the rows that it was derived from."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
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
