"""The outbox, for operators: ``/api/mail/list``."""

from typing import Annotated

from msgspec import Meta

from service.records import mail
from service.records.database.transactions import Database
from service.records.mail import MailFilter, MailState
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs
from service.web.messages.schema import SEVERAL, Id, Moment, Page, PageQuery, Schema, page_answer, sort_keys


class MailEntry(Schema):
    """A mail: whom it is for, and how far it has come; neither its text nor the link in it.

    `userId` is the account that it is about. `nextTime` is when a waiting one is tried next, `fault` why the
    last attempt failed: the command of SMTP, and the codes of the answer.
    """

    id: Id
    message_id: Annotated[str, Meta(examples=["<2f1c4a52-7d0e-4a86-9c0b-51d1a7a0d3f5@example.com>"])]
    kind: Annotated[str, Meta(examples=["invitation"])]
    recipient: Annotated[str, Meta(examples=["heron@example.org"])]
    user_id: Id | None
    state: MailState
    attempts: int
    next_time: Moment
    create_time: Moment
    end_time: Moment | None
    fault: Annotated[str, Meta(examples=["RCPT: 550 5.1.1"])] | None


class MailQuery(PageQuery):
    """Filters and order of mails."""

    state: Annotated[list[MailState], SEVERAL] | None = None
    kind: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    user_id: Id | None = None
    sort: Annotated[str, sort_keys("MailSort", mail.SORTS)] = "-id"


class MailList:
    """``/api/mail/list``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @needs("system:mail:list")
    @named("listMails")
    async def on_get(self, context: RequestContext, query: MailQuery) -> Page[MailEntry]:
        """List the mails that wait, and those of the last seven days; the newest first."""
        async with self._database.snapshot() as connection:
            listed = await mail.page(
                connection, query.filter(MailFilter), page=query.page, size=query.size, sort=query.sort
            )
        return page_answer(query, listed, MailEntry)
