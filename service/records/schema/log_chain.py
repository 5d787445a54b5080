"""The heads of the logs' hash chains, and the entries that could not be stored in a log."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Integer,
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
