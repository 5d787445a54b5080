"""The links that owners of accounts are sent, and who has asked for one."""

import sqlalchemy as sa

from service.records.schema.base import chosen, digest, filled, metadata, moment
from service.records.schema.rights import user

account_token = sa.Table(
    "account_token",
    metadata,
    # The SHA-256 of the token, which only the link has.
    digest("digest", primary_key=True),
    chosen("purpose", "invitation", "password_reset", "address", "end_sessions", nullable=False),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # The address that the link was mailed to; null if it was handed over otherwise.
    sa.Column("email", sa.Text),
    sa.Column("expires_time", sa.DateTime(timezone=True), nullable=False, index=True),
    # Second factors that were tried with it.
    sa.Column("wrong", sa.Integer, nullable=False, server_default=sa.text("0")),
    # No foreign key: the id stays when that user is deleted. Null for what the owner has asked for.
    sa.Column("created_by", sa.BigInteger),
    moment("create_time"),
    sa.Index(
        "account_token_latest_key",
        "user_id",
        "purpose",
        unique=True,
        postgresql_where=sa.text("purpose <> 'end_sessions'"),
    ),
)

address_undo = sa.Table(
    "address_undo",
    metadata,
    # The SHA-256 of the token, which only the link has.
    digest("digest", primary_key=True),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # The address before, to which the link was mailed.
    filled("email"),
    sa.Column("expires_time", sa.DateTime(timezone=True), nullable=False, index=True),
    moment("create_time"),
)
"""Links by which the address before undoes a change: several may be good for one account."""

reset_request = sa.Table(
    "reset_request",
    metadata,
    # As it was typed, in the form in which names are compared; a job looks for its user.
    sa.Column("user_name_key", sa.Text, primary_key=True),
    sa.Column("client_ip", sa.Text, nullable=False),
    moment("create_time"),
)
