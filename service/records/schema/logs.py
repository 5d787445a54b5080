"""The logs of operations and logins, one row per event.

Both tables are partitioned by ``create_time``, the time of the event, which is therefore part of every key;
rows of a month without a partition go into the default one. ``event_id`` is made with the event, so that no
event is written twice. Rows outlive the users they name: there are no foreign keys.

The indexes are for ``service.records.logs.queries``: each filter has one, in the order of time.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB

from service.records.schema.base import metadata

IS_PREVIEW: Final = "coalesce(dry_run, query ~ '(^|&)dryRun=true(&|$)')"
"""Whether a call asked only what it would change; NULL counts as no.

The queries of entries from before there was the column, or of nodes that do not know it, say the same.
"""

IS_OF_RIGHTS: Final = (
    'jsonb_path_exists(changes, \'$[*] ? (@.field == "roles" || @.field == "permissions"'
    ' || @.field == "resources" || @.field == "code")\')'
)
"""Whether a call has changed who may do what.

That is the roles of a user, the permissions of a role or of a resource, the resources of a Button, or the
code that an opening gives a resource to. NULL counts as no.
"""

_BY_TIME = "RANGE (create_time)"


def _chained() -> tuple[Column[Any], ...]:
    """The place of an entry in the chain of its day and key (``log_chain``)."""
    return (
        Column("chain_key", Text),
        Column("chain_number", BigInteger),
        Column("chain_hash", LargeBinary),
    )


operation_log = Table(
    "operation_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("create_time", DateTime(timezone=True), primary_key=True),
    Column("event_id", Uuid, nullable=False),
    Column("request_id", Text),
    Column("user_id", BigInteger),
    Column("user_name", Text),
    Column("device", Text),
    Column("module", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("query", Text),
    Column("client_ip", INET),
    Column("user_agent", Text),
    Column("params", JSONB),
    Column("response", JSONB),
    Column(
        "status", SmallInteger, CheckConstraint("status BETWEEN 100 AND 599", name="status"), nullable=False
    ),
    Column("error", Text),
    Column("elapsed_ms", Double, CheckConstraint("elapsed_ms >= 0", name="elapsed_ms"), nullable=False),
    Column("decision", Text, CheckConstraint("decision IN ('allow', 'deny')", name="decision")),
    Column("decision_id", Text),
    Column("policy_revision", BigInteger),
    *_chained(),
    # After the others: the hashes of older entries end before them (``service.audit.chain.rows``).
    Column("targets", ARRAY(Text)),
    Column("changes", JSONB),
    Column("change_count", Integer),
    Column("trace_id", Text),
    Column("dry_run", Boolean),
    Column("repetitions", Integer),
    UniqueConstraint("event_id", "create_time"),
    Index(None, "create_time", "id"),
    Index(None, "user_id", "create_time"),
    Index(None, "user_name", "create_time"),
    Index(None, "module", "create_time"),
    Index(None, "kind", "create_time"),
    Index(None, "client_ip", "create_time"),
    Index(None, "request_id"),
    # Nearly all calls succeed and are allowed: they are found by time, and need no index entry.
    Index("operation_log_failed_idx", "create_time", "status", postgresql_where=text("status >= 300")),
    Index("operation_log_denied_idx", "create_time", postgresql_where=text("decision = 'deny'")),
    Index("operation_log_denial_idx", "decision_id", postgresql_where=text("decision = 'deny'")),
    Index("operation_log_preview_idx", "create_time", postgresql_where=text(IS_PREVIEW)),
    Index("operation_log_rights_idx", "create_time", postgresql_where=text(IS_OF_RIGHTS)),
    # An index of NULLs too would grow with every call, and few calls change anything.
    Index(None, "targets", postgresql_using="gin", postgresql_where=text("targets IS NOT NULL")),
    Index(None, "trace_id", postgresql_where=text("trace_id IS NOT NULL")),
    postgresql_partition_by=_BY_TIME,
)

# What a transaction of a request changes, saved with it, until the log has the entry of the request.
operation_intent = Table(
    "operation_intent",
    metadata,
    Column("event_id", Uuid, primary_key=True),
    # With the id, the entry's key.
    Column("create_time", DateTime(timezone=True), nullable=False),
    # The entry as JSON, without parameters and answer.
    Column("entry", Text, nullable=False),
)

login_log = Table(
    "login_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("create_time", DateTime(timezone=True), primary_key=True),
    Column("event_id", Uuid, nullable=False),
    Column("request_id", Text),
    Column("event", Text, CheckConstraint("event <> ''", name="event"), nullable=False),
    Column(
        "outcome", Text, CheckConstraint("outcome IN ('success', 'failure')", name="outcome"), nullable=False
    ),
    Column("reason", Text),
    Column("user_id", BigInteger),
    Column("user_name", Text),
    Column("device", Text),
    Column("login_ip", INET),
    Column("user_agent", Text),
    Column("browser", Text),
    Column("os", Text),
    *_chained(),
    # After the others, as above.
    Column("trace_id", Text),
    UniqueConstraint("event_id", "create_time"),
    Index(None, "create_time", "id"),
    Index(None, "user_id", "create_time"),
    Index(None, "user_name", "create_time"),
    Index(None, "event", "create_time"),
    Index(None, "device", "create_time"),
    Index(None, "login_ip", "create_time"),
    Index(None, "request_id"),
    Index("login_log_failed_idx", "create_time", postgresql_where=text("outcome = 'failure'")),
    Index(None, "reason", "create_time", postgresql_where=text("reason IS NOT NULL")),
    Index(None, "trace_id", postgresql_where=text("trace_id IS NOT NULL")),
    postgresql_partition_by=_BY_TIME,
)
