"""The tables of agents, delegations and approvals."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from service.records.schema.base import chosen, digest, identity, metadata, moment
from service.records.schema.rights import user

agent = sa.Table(
    "agent",
    metadata,
    # A service account.
    sa.Column(
        "user_id",
        sa.BigInteger,
        sa.ForeignKey(user.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    # The person who is responsible; null for a deleted one, which suspends the agent.
    sa.Column("owner_id", sa.BigInteger, sa.ForeignKey(user.c.id, ondelete="SET NULL"), index=True),
    # The switch of administrators.
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    # Set by a trigger when the owner is disabled or banned; a new owner clears it.
    sa.Column("suspended", sa.Boolean, nullable=False, server_default=sa.false()),
    # No foreign key: the id stays when that user is deleted.
    sa.Column("created_by", sa.BigInteger, nullable=False),
    moment("create_time"),
)

# The switch of all agents: one row, or none before the first use of the switch.
agent_switch = sa.Table(
    "agent_switch",
    metadata,
    sa.Column(
        "id",
        sa.Integer,
        sa.CheckConstraint("id = 1", name="id"),
        primary_key=True,
        autoincrement=False,
        server_default=sa.text("1"),
    ),
    sa.Column("enabled", sa.Boolean, nullable=False),
    moment("update_time"),
)

delegation = sa.Table(
    "delegation",
    metadata,
    identity(),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("agent_id", sa.ForeignKey(agent.c.user_id, ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("codes", ARRAY(sa.Text), nullable=False),
    # Codes of which each use needs the person's approval.
    sa.Column("ask_me", ARRAY(sa.Text), nullable=False, server_default=sa.text("'{}'")),
    sa.Column("services", ARRAY(sa.Text), nullable=False),
    sa.Column("until", sa.DateTime(timezone=True), nullable=False, index=True),
    moment("create_time"),
)

agent_approval = sa.Table(
    "agent_approval",
    metadata,
    identity(),
    sa.Column(
        "delegation_id", sa.ForeignKey(delegation.c.id, ondelete="CASCADE"), nullable=False, index=True
    ),
    # The call: an approval is for exactly this one.
    sa.Column("method", sa.Text, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    # The SHA-256 of media type and body.
    digest("digest", nullable=False),
    # The JSON text of the body, without secrets, for the person who decides.
    sa.Column("body", sa.Text),
    chosen(
        "state",
        "pending",
        "once",
        "always",
        "used",
        "refused",
        nullable=False,
        server_default=sa.text("'pending'"),
    ),
    # The end of a pending approval, and of one for a single call.
    sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    moment("create_time"),
)
