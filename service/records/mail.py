"""``sys.mail``: the outbox. A waiting mail that is due is claimed by one sender, for as long as it may need.

A claim is a number of attempts: who holds an older one can no longer go on.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

from sqlalchemy import insert

from service.records.database.transactions import Connection
from service.records.schema.of_users import mail

MailState: TypeAlias = Literal["waiting", "sent", "given_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMail:
    """A mail that waits: the link in it is encrypted, None if it has none."""

    message_id: str
    kind: str
    recipient: str
    user_id: int | None
    facts: Mapping[str, str]
    sealed_link: bytes | None = field(repr=False)


async def add(connection: Connection, new: NewMail) -> None:
    """Write a mail that waits."""
    await connection.execute(insert(mail).values(asdict(new)))
