"""The outbox of mails, and the devices of logins."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import chosen, digest, identity, metadata, moment
from service.records.schema.rights import user

mail = sa.Table(
    "mail",
    metadata,
    identity(),
    # The same for each attempt, so that mailboxes recognize duplicates.
    sa.Column("message_id", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("recipient", sa.Text, nullable=False),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), index=True),
    # The values of its text, by name, in its language; null for English, by a version without languages.
    sa.Column("facts", JSONB, nullable=False),
    sa.Column("language", sa.Text),
    # The link, encrypted; removed when the mail is finished.
    sa.Column("sealed_link", sa.LargeBinary),
    chosen("state", "waiting", "sent", "given_up", nullable=False, server_default=sa.text("'waiting'")),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    # The next attempt: no sender claims the mail earlier.
    moment("next_time"),
    moment("create_time"),
    sa.Column("end_time", sa.DateTime(timezone=True)),
    # The reason of the last failure, without the content of the mail.
    sa.Column("fault", sa.Text),
    sa.CheckConstraint("(state = 'waiting') = (end_time IS NULL)", name="end_time"),
    sa.CheckConstraint("state = 'waiting' OR sealed_link IS NULL", name="sealed_link"),
    sa.Index("mail_waiting_idx", "next_time", postgresql_where=sa.text("state = 'waiting'")),
    sa.Index("mail_ended_idx", "end_time", postgresql_where=sa.text("state <> 'waiting'")),
)

known_device = sa.Table(
    "known_device",
    metadata,
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    # The SHA-256 of a device as defined in service.features.notices.notices.
    digest("digest", primary_key=True),
    moment("last_time"),
    sa.Index("known_device_last_time_idx", "last_time"),
)
"""The devices from which users have logged in."""
