"""Tables of mailed links, and of requests for links."""

import sqlalchemy as sa

from service.records.schema.base import chosen, digest, filled, metadata, moment
from service.records.schema.rights import user

account_token = sa.Table(
    "account_token",
    metadata,
    # The SHA-256 of the token; only the link contains the token.
    digest("digest", primary_key=True),
    chosen("purpose", "invitation", "password_reset", "address", "end_sessions", nullable=False),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # The address to which the link was mailed; null if it was not mailed.
    sa.Column("email", sa.Text),
    sa.Column("expires_time", sa.DateTime(timezone=True), nullable=False, index=True),
    # Number of second factors tried with the link.
    sa.Column("wrong", sa.Integer, nullable=False, server_default=sa.text("0")),
    # No foreign key: the id remains when the user is deleted. Null if the owner requested the link.
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
    # The SHA-256 of the token; only the link contains the token.
    digest("digest", primary_key=True),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # The former address, to which the link was mailed.
    filled("email"),
    sa.Column("expires_time", sa.DateTime(timezone=True), nullable=False, index=True),
    moment("create_time"),
)
"""Links with which the former address undoes a change; several can be valid for one account."""

reset_request = sa.Table(
    "reset_request",
    metadata,
    # The typed name, normalized for comparison; a job looks up the user.
    sa.Column("user_name_key", sa.Text, primary_key=True),
    sa.Column("client_ip", sa.Text, nullable=False),
    moment("create_time"),
)
