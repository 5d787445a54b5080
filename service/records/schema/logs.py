"""The logs of operations and logins, one row per event.

Both tables are partitioned by ``create_time``, the time of the event, which is therefore part of every key;
rows of a month without a partition go into the default one. ``event_id`` is made with the event, so that no
event is written twice. Rows outlive the users they name: there are no foreign keys.

The indexes are for the filters of lists: each filter has one, in the order of time.
"""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB

from service.records.schema.base import chosen, filled, metadata, moment

IS_PREVIEW: Final = "coalesce(dry_run, query ~ '(^|&)dryRun=true(&|$)')"
"""True for a dry run; NULL counts as no.

For entries older than the column, and for nodes that do not know it, the query string decides.
"""

IS_OF_RIGHTS: Final = (
    'jsonb_path_exists(changes, \'$[*] ? (@.field == "roles" || @.field == "permissions"'
    ' || @.field == "resources" || @.field == "code" || (@.field == "status" || @.field == "enabled")'
    ' && @.before != null && @.after != null || @.field == "secondFactors" || @.target starts with "key:"'
    ' || @.target starts with "factor:" || @.target starts with "review:")\')'
)
"""True if a call changed rights, a way to use them, or a decision about them.

Those are the roles of a user, the permissions of a role or of a resource, the resources of a Button, the code
of a resource's opening, or the switch of any of them: on or off; API keys, second factors and reviews. NULL
counts as no.
"""

IS_OF_AGENT: Final = "device LIKE 'agent:%'"
"""True for a call of an agent that acted for the user of the entry; the number of the agent follows."""

_BY_TIME = "RANGE (create_time)"


def _chained() -> tuple[sa.Column[Any], ...]:
    """The place of an entry in the chain of its day and key (``log_chain``)."""
    return (
        sa.Column("chain_key", sa.Text),
        sa.Column("chain_number", sa.BigInteger),
        sa.Column("chain_hash", sa.LargeBinary),
    )


def _committed() -> tuple[sa.Column[Any], ...]:
    """The salts of an entry's commitments, and what was erased (the feature ``audit_proof``)."""
    return (sa.Column("salts", sa.LargeBinary), sa.Column("erased", JSONB))


operation_log = sa.Table(
    "operation_log",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("create_time", sa.DateTime(timezone=True), primary_key=True),
    sa.Column("event_id", sa.Uuid, nullable=False),
    sa.Column("request_id", sa.Text),
    sa.Column("user_id", sa.BigInteger),
    sa.Column("user_name", sa.Text),
    sa.Column("device", sa.Text),
    sa.Column("module", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("method", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("query", sa.Text),
    sa.Column("client_ip", INET),
    sa.Column("user_agent", sa.Text),
    sa.Column("params", JSONB),
    sa.Column("response", JSONB),
    sa.Column(
        "status",
        sa.SmallInteger,
        sa.CheckConstraint("status BETWEEN 100 AND 599", name="status"),
        nullable=False,
    ),
    sa.Column("error", sa.Text),
    sa.Column(
        "elapsed_ms", sa.Double, sa.CheckConstraint("elapsed_ms >= 0", name="elapsed_ms"), nullable=False
    ),
    chosen("decision", "allow", "deny"),
    sa.Column("decision_id", sa.Text),
    sa.Column("policy_revision", sa.BigInteger),
    *_chained(),
    # After the others: the hashes of older entries end before them (the feature ``audit_proof``).
    sa.Column("targets", ARRAY(sa.Text)),
    sa.Column("changes", JSONB),
    sa.Column("change_count", sa.Integer),
    sa.Column("trace_id", sa.Text),
    sa.Column("dry_run", sa.Boolean),
    sa.Column("repetitions", sa.Integer),
    *_committed(),
    sa.UniqueConstraint("event_id", "create_time"),
    sa.Index(None, "create_time", "id"),
    sa.Index(None, "user_id", "create_time"),
    sa.Index(None, "user_name", "create_time"),
    sa.Index(None, "module", "create_time"),
    sa.Index(None, "kind", "create_time"),
    sa.Index(None, "client_ip", "create_time"),
    sa.Index(None, "request_id"),
    # Nearly all calls succeed and are allowed: they are found by time, and need no index entry.
    sa.Index("operation_log_failed_idx", "create_time", "status", postgresql_where=sa.text("status >= 300")),
    sa.Index("operation_log_denied_idx", "create_time", postgresql_where=sa.text("decision = 'deny'")),
    sa.Index("operation_log_denial_idx", "decision_id", postgresql_where=sa.text("decision = 'deny'")),
    sa.Index("operation_log_preview_idx", "create_time", postgresql_where=sa.text(IS_PREVIEW)),
    sa.Index("operation_log_agent_idx", "device", "create_time", postgresql_where=sa.text(IS_OF_AGENT)),
    sa.Index("operation_log_rights_idx", "create_time", postgresql_where=sa.text(IS_OF_RIGHTS)),
    # An index of NULLs too would grow with every call, and few calls change anything.
    sa.Index(None, "targets", postgresql_using="gin", postgresql_where=sa.text("targets IS NOT NULL")),
    sa.Index(None, "trace_id", postgresql_where=sa.text("trace_id IS NOT NULL")),
    postgresql_partition_by=_BY_TIME,
)

# Changes of a request's transaction, saved with it, until the log has the entry of the request.
operation_intent = sa.Table(
    "operation_intent",
    metadata,
    sa.Column("event_id", sa.Uuid, primary_key=True),
    # With the id, the entry's key.
    sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
    # The entry as JSON, without parameters and answer.
    sa.Column("entry", sa.Text, nullable=False),
)

login_log = sa.Table(
    "login_log",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("create_time", sa.DateTime(timezone=True), primary_key=True),
    sa.Column("event_id", sa.Uuid, nullable=False),
    sa.Column("request_id", sa.Text),
    filled("event"),
    chosen("outcome", "success", "failure", nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("user_id", sa.BigInteger),
    sa.Column("user_name", sa.Text),
    sa.Column("device", sa.Text),
    sa.Column("login_ip", INET),
    sa.Column("user_agent", sa.Text),
    sa.Column("browser", sa.Text),
    sa.Column("os", sa.Text),
    *_chained(),
    # After the others, as above.
    sa.Column("trace_id", sa.Text),
    *_committed(),
    sa.UniqueConstraint("event_id", "create_time"),
    sa.Index(None, "create_time", "id"),
    sa.Index(None, "user_id", "create_time"),
    sa.Index(None, "user_name", "create_time"),
    sa.Index(None, "event", "create_time"),
    sa.Index(None, "device", "create_time"),
    sa.Index(None, "login_ip", "create_time"),
    sa.Index(None, "request_id"),
    sa.Index("login_log_failed_idx", "create_time", postgresql_where=sa.text("outcome = 'failure'")),
    sa.Index(None, "reason", "create_time", postgresql_where=sa.text("reason IS NOT NULL")),
    sa.Index(None, "trace_id", postgresql_where=sa.text("trace_id IS NOT NULL")),
    postgresql_partition_by=_BY_TIME,
)

_LOGS = "log IN ('operation_log', 'login_log')"

# One row for each day of a log and key: its number of entries, and the hash of the last one.
log_chain = sa.Table(
    "log_chain",
    metadata,
    sa.Column("log", sa.Text, sa.CheckConstraint(_LOGS, name="log"), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, sa.CheckConstraint("number > 0", name="number"), nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    # The latest earlier day with entries when this day got its first one, so that a missing day is noticed.
    sa.Column("prior_day", sa.Date),
    # True if the entries were dropped with their month, after the retention time.
    sa.Column("dropped", sa.Boolean, nullable=False, server_default=sa.false()),
    # A MAC over all of the above: only holders of the key can forge one.
    sa.Column("seal", sa.LargeBinary, nullable=False),
    # The number when the head was last written to the log on standard output.
    sa.Column("told_number", sa.BigInteger, nullable=False, server_default=sa.text("0")),
)

# The last verification of each log: the number of days read, and of those that differ from the original.
log_verification = sa.Table(
    "log_verification",
    metadata,
    sa.Column("log", sa.Text, sa.CheckConstraint(_LOGS, name="log"), primary_key=True),
    moment("verify_time"),
    sa.Column("day_count", sa.Integer, nullable=False),
    sa.Column("faulty_count", sa.Integer, nullable=False),
)

# Facts of the past of rights, sealed up to a settled instant.
history_seal = sa.Table(
    "history_seal",
    metadata,
    sa.Column(
        "number",
        sa.BigInteger,
        sa.CheckConstraint("number > 0", name="number"),
        primary_key=True,
        autoincrement=False,
    ),
    # It covers the facts from the end of the seal before up to this instant.
    sa.Column("until_time", sa.DateTime(timezone=True), nullable=False),
    # The digest of the facts of each part, by source and part.
    sa.Column("parts", JSONB, nullable=False),
    # Covers all of the above, and the hash before.
    sa.Column("hash", sa.LargeBinary, nullable=False),
    # MACs over the hash, by the ids of their keys.
    sa.Column("seals", JSONB, nullable=False),
)

log_set_aside = sa.Table(
    "log_set_aside",
    metadata,
    # SHA-256 of the entry: it is set aside once.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("log", sa.Text, sa.CheckConstraint(_LOGS, name="log"), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("entry", sa.Text, nullable=False),
    moment("set_aside_time"),
)
