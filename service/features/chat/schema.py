"""The outbox of messages to a chat."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import chosen, identity, metadata, moment

chat_message = sa.Table(
    "chat_message",
    metadata,
    identity(),
    # The same for each attempt, so that receivers recognize repetitions.
    sa.Column("message_id", sa.Text, nullable=False),
    # The name of the destination in the settings; its URL is not stored.
    sa.Column("destination", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    # The values of its text, by name, and the id of the record for the link, whose view the kind names.
    sa.Column("facts", JSONB, nullable=False),
    sa.Column("request", sa.Text),
    chosen("state", "waiting", "sent", "given_up", nullable=False, server_default=sa.text("'waiting'")),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    # The next attempt: no sender claims the message earlier.
    moment("next_time"),
    moment("create_time"),
    sa.Column("end_time", sa.DateTime(timezone=True)),
    # The reason of the last failure, without URL and content.
    sa.Column("fault", sa.Text),
    sa.CheckConstraint("(state = 'waiting') = (end_time IS NULL)", name="end_time"),
    sa.Index(
        "chat_message_waiting_idx", "destination", "next_time", postgresql_where=sa.text("state = 'waiting'")
    ),
    sa.Index("chat_message_ended_idx", "end_time", postgresql_where=sa.text("state <> 'waiting'")),
)
