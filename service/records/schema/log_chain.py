"""What proves the logs whole: the heads of the chains, and the entries that no log took."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    LargeBinary,
    Table,
    Text,
    false,
    text,
)

from service.records.schema.base import metadata, moment

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
    # The latest day before this one that had entries when this one got its first: a missing day is noticed.
    Column("prior_day", Date),
    # Whether the entries are gone, with the month that they were in, since they were old enough.
    Column("dropped", Boolean, nullable=False, server_default=false()),
    # Over all of the above: without the key nobody can make a new one.
    Column("seal", LargeBinary, nullable=False),
    # The number when the head was last told to the log on standard output.
    Column("told_number", BigInteger, nullable=False, server_default=text("0")),
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
