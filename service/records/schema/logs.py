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
    Date,
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
    false,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB

from service.records.schema.base import chosen, filled, identity, metadata, moment

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
    chosen("decision", "allow", "deny"),
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
    filled("event"),
    chosen("outcome", "success", "failure", nullable=False),
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

_LOGS = "log IN ('operation_log', 'login_log')"

# One row for each day of a log and key: how many entries it has, and the hash of the last one.
log_chain = Table(
    "log_chain",
    metadata,
    Column("log", Text, CheckConstraint(_LOGS, name="log"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("key_id", Text, primary_key=True),
    Column("number", BigInteger, CheckConstraint("number > 0", name="number"), nullable=False),
    Column("hash", LargeBinary, nullable=False),
    # The latest earlier day with entries when this day got its first one, so that a missing day is noticed.
    Column("prior_day", Date),
    # True if the entries were dropped with their month, after the retention time.
    Column("dropped", Boolean, nullable=False, server_default=false()),
    # A MAC over all of the above: nobody can forge one without the key.
    Column("seal", LargeBinary, nullable=False),
    # The number when the head was last written to the log on standard output.
    Column("told_number", BigInteger, nullable=False, server_default=text("0")),
)

# The last verification of each log: how many days it has read, and how many were not as they were written.
log_verification = Table(
    "log_verification",
    metadata,
    Column("log", Text, CheckConstraint(_LOGS, name="log"), primary_key=True),
    moment("verify_time"),
    Column("day_count", Integer, nullable=False),
    Column("faulty_count", Integer, nullable=False),
)

log_set_aside = Table(
    "log_set_aside",
    metadata,
    # SHA-256 of the entry: it is set aside once.
    Column("digest", LargeBinary, primary_key=True),
    Column("log", Text, CheckConstraint(_LOGS, name="log"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("entry", Text, nullable=False),
    moment("set_aside_time"),
)

export_destination = Table(
    "export_destination",
    metadata,
    filled("name", primary_key=True),
    # The worker that sends, until lease_time; others may then take its place.
    Column("worker", Text),
    Column("lease_time", DateTime(timezone=True)),
    # The id of the last entry that was sent, of each log; null: it was never exported.
    Column("operation_id", BigInteger),
    Column("login_id", BigInteger),
    Column("decision_id", BigInteger),
    # The attempts that have failed since the last good one, why, and when the next one is due.
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("reason", Text),
    Column("retry_time", DateTime(timezone=True)),
    Column("success_time", DateTime(timezone=True)),
    # The time of the oldest entry that is known not to be sent; null: there is none.
    Column("waiting_time", DateTime(timezone=True)),
    Column("sent", BigInteger, nullable=False, server_default=text("0")),
)

# Events of the decision log, until all destinations have them.
export_decision = Table(
    "export_decision",
    metadata,
    identity(),
    Column("event_id", Uuid, nullable=False),
    moment("create_time"),
    Column("event", Text, nullable=False),
)

# Entries that a destination refused while it took others.
export_dead_letter = Table(
    "export_dead_letter",
    metadata,
    identity(),
    Column("destination", Text, nullable=False),
    chosen("log", "operations", "logins", "decisions", nullable=False),
    Column("event_id", Uuid, nullable=False),
    Column("reason", Text, nullable=False),
    Column("entry", Text, nullable=False),
    moment("dead_time"),
    Index(None, "destination", "event_id", unique=True),
)
