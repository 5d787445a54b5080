"""Mails that wait to be sent, and for some days those that were."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import identity, metadata, moment
from service.records.schema.rights import user

mail = Table(
    "mail",
    metadata,
    identity(),
    # The same each time that it is sent, so that mailboxes know one that comes twice.
    Column("message_id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), index=True),
    # What its words tell, by name.
    Column("facts", JSONB, nullable=False),
    # The link in it, encrypted; removed when it has ended.
    Column("sealed_link", LargeBinary),
    Column(
        "state",
        Text,
        CheckConstraint("state IN ('waiting', 'sent', 'given_up')", name="state"),
        nullable=False,
        server_default=text("'waiting'"),
    ),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # When it is sent, or sent again: nobody else sends it before.
    moment("next_time"),
    moment("create_time"),
    Column("end_time", DateTime(timezone=True)),
    # Why the last attempt failed; nothing of its content.
    Column("fault", Text),
    CheckConstraint("(state = 'waiting') = (end_time IS NULL)", name="end_time"),
    CheckConstraint("state = 'waiting' OR sealed_link IS NULL", name="sealed_link"),
    Index("mail_waiting_idx", "next_time", postgresql_where=text("state = 'waiting'")),
    Index("mail_ended_idx", "end_time", postgresql_where=text("state <> 'waiting'")),
)
