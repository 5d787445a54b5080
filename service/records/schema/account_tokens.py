"""Links that owners of accounts are sent, and who has asked for one."""

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    text,
)

from service.records.schema.base import chosen, digest, metadata, moment
from service.records.schema.rights import user

account_token = Table(
    "account_token",
    metadata,
    # The SHA-256 of the token, which only the link has.
    digest("digest", primary_key=True),
    chosen("purpose", "invitation", "password_reset", "address", "end_sessions", nullable=False),
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # The address that the link was mailed to; null if it was handed over otherwise.
    Column("email", Text),
    Column("expires_time", DateTime(timezone=True), nullable=False, index=True),
    # Second factors that were tried with it.
    Column("wrong", Integer, nullable=False, server_default=text("0")),
    # No foreign key: the id stays when that user is deleted. Null for what the owner has asked for.
    Column("created_by", BigInteger),
    moment("create_time"),
    Index(
        "account_token_latest_key",
        "user_id",
        "purpose",
        unique=True,
        postgresql_where=text("purpose <> 'end_sessions'"),
    ),
)

reset_request = Table(
    "reset_request",
    metadata,
    # As it was typed, in the form in which names are compared; a job looks for its user.
    Column("user_name_key", Text, primary_key=True),
    Column("client_ip", Text, nullable=False),
    moment("create_time"),
)
