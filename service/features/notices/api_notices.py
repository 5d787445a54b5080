"""Notices to users about their accounts, and waiting mails."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.features.notices import store_mail as mail
from service.features.notices import store_notices as notices
from service.features.notices.sentences import STORED_FAULTS
from service.features.notices.store_mail import MailFilter, MailState
from service.kernel.stored_sentences import STORED_REFUSALS
from service.records.database.transactions import Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, login, needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import (
    SEVERAL,
    Id,
    Moment,
    Page,
    PageQuery,
    Schema,
    SentenceParams,
    page_answer,
    sort_keys,
    stated_as,
)


class NoticeFacts(Schema, omit_defaults=True):
    """The details of a notice.

    `factor` and `name` are those of a second factor; `name`, `account` and `network` those of an API key;
    `givenRoles`, `takenRoles` and `changedRoles` are codes, `from`, `until` and `reason` those of a
    single assignment; `until` is also the end of a ban; `email` is the new address. `role` ends in about
    `days` days, with the assignment of that id. `request` is the id of an access request by `account` or
    the reader; `state` is its final state. `device` is that of a session. `made` is the account created
    for a person whom the provider `name` knows by the name `account`, which was in use. `title` is that of a
    `review`, or of the sign-off of a `revision`. `call` is the method and path of an agent's call, which
    waits for the `approval` of that id; `name` is then the agent. The `reason` of a failed request has a code
    and parameters.
    """

    factor: Annotated[str, Meta(examples=["totp"])] | None = None
    name: str | None = None
    account: Annotated[str, Meta(examples=["reports"])] | None = None
    given_roles: Annotated[list[str], Meta(examples=[["auditor"]])] | None = None
    taken_roles: list[str] | None = None
    changed_roles: list[str] | None = None
    valid_from: Moment | None = msgspec.field(default=None, name="from")
    until: Moment | None = None
    reason: str | None = None
    reason_code: Annotated[str, Meta(examples=["author_gone"])] | None = None
    reason_params: SentenceParams | None = None
    email: str | None = None
    role: Annotated[str, Meta(examples=["auditor"])] | None = None
    days: Annotated[str, Meta(examples=["7"])] | None = None
    assignment: str | None = None
    request: str | None = None
    review: Annotated[str, Meta(examples=["7"])] | None = None
    revision: Annotated[str, Meta(examples=["12"])] | None = None
    title: Annotated[str, Meta(examples=["Access 2026-Q4"])] | None = None
    state: Annotated[str, Meta(examples=["approved"])] | None = None
    device: Annotated[str, Meta(examples=["web"])] | None = None
    made: Annotated[str, Meta(examples=["heron-1f0c39d1"])] | None = None
    network: Annotated[str, Meta(examples=["203.0.113.0/24"])] | None = None
    call: Annotated[str, Meta(examples=["DELETE /api/role/7"])] | None = None
    approval: Annotated[str, Meta(examples=["7"])] | None = None


@shows(notices.Notice, leave_out=("user_id",))
class Notice(Schema):
    """An event of the caller's account.

    For an act of the caller, `actedBy` is `self`, and the notice has the client. For an act of another user
    it has the `requestId`, by which administrators find the act in the operation log.
    """

    id: Id
    facts: NoticeFacts


class NoticePage(Page[Notice]):
    """A page of notices; `unread` is the number of unread notices on all pages."""

    unread: Annotated[int, Meta(ge=0, examples=[2])]


class ReadNotices(Schema):
    """The notices that the caller has read: those of `ids`, or all."""

    ids: Annotated[list[Id], Meta(max_length=200, examples=[[1]])] | None = None


class OwnNotices(Endpoint[Database], at="/api/user/profile/notices"):
    @login(name="listOwnNotices")
    async def on_get(self, context: RequestContext, query: PageQuery) -> NoticePage:
        """List the events of the caller's account in the last 180 days, the latest first."""
        user_id = context.user.user_id
        async with self.part.snapshot() as connection:
            listed = await notices.page(connection, user_id, page=query.page, size=query.size)
            unread = await notices.unread(connection, user_id)
        page = page_answer(query, listed, Notice)
        items = [msgspec.structs.replace(each, facts=_stated(each.facts)) for each in page.items]
        return NoticePage(items=items, page=page.page, size=page.size, total=page.total, unread=unread)


def _stated(facts: NoticeFacts) -> NoticeFacts:
    """Return the same with the code of the reason, which people write unless the request has failed."""
    if facts.state != "failed" or facts.reason is None:
        return facts
    return msgspec.structs.replace(facts, **stated_as("reason", STORED_REFUSALS.read(facts.reason)))


class OwnReadNotices(Endpoint[Database], at="/api/user/profile/notices/read"):
    @login(name="markOwnNotices")
    @by_session("mark-notices")
    @writes(
        "mark own notices as read",
        "UPDATE",
        example={"ids": [1, 2]},
        answers=204,
        refuses_keys="a repeated request changes nothing",
    )
    async def on_post(self, context: RequestContext, body: ReadNotices) -> None:
        """Mark notices of the caller as read, by `ids`, or all. Ids that are not the caller's are ignored."""
        async with self.part.transaction() as connection:
            await notices.mark_read(connection, context.user.user_id, body.ids)


@shows(mail.ListedMail)
class MailEntry(Schema):
    """A mail with its recipient and its state, without its text and link.

    `userId` is the account of the recipient. `nextTime` is the next attempt of a waiting mail. `fault` is the
    reason of the last failure: the SMTP command, and the codes of the answer.
    """

    fault_code: Annotated[str, Meta(examples=["smtp_answered"])] | None
    fault_params: SentenceParams | None


class MailQuery(PageQuery):
    """Filters and order of mails."""

    state: Annotated[list[MailState], SEVERAL] | None = None
    kind: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    user_id: Id | None = None
    sort: Annotated[str, sort_keys("MailSort", mail.SORTS)] = "-id"


class MailList(Endpoint[Database], at="/api/mail/list"):
    @needs("system:mail:list", name="listMails")
    async def on_get(self, context: RequestContext, query: MailQuery) -> Page[MailEntry]:
        """List waiting mails and those of the last seven days, the newest first."""
        async with self.part.snapshot() as connection:
            listed = await mail.page(
                connection, query.filter(MailFilter), page=query.page, size=query.size, sort=query.sort
            )
        items = [
            MailEntry.of(each, **stated_as("fault", STORED_FAULTS.read(each.fault))) for each in listed.items
        ]
        return Page(items=items, page=query.page, size=query.size, total=listed.total)
