"""Reviews of role assignments: ``/api/review``."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from service.authz.engine.rules import ACCOUNT, REVIEW
from service.errors import Conflict, NotFound, RowsRefused
from service.features.reviews import schema as stored
from service.features.reviews import store as reviews
from service.features.reviews.evidence_making import maker_of, review_evidence
from service.features.reviews.feature import READ_REVIEWS
from service.features.reviews.reviews import Reviews, asks
from service.features.reviews.schema import Apply, Item, OnSilence, Verdict
from service.features.reviews.store import ItemFilter, Progress, ReviewFilter, Visible
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import codes_asked
from service.kernel.request_objects import CLOSE_OTHERS, WhoseAssignment, assignment_for, code_of_review
from service.kernel.stored_sentences import STORED_REFUSALS
from service.kernel.value_rules import REASON, SHORT_LINE, bounds_of
from service.records.database.transactions import Connection, Database
from service.settings import Oplog
from service.web.content.streams import Stream, attachment
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    Responders,
    by_session,
    logged,
    login,
    needs,
    sends,
    writes,
)
from service.web.messages.record_schemas import filters_of, shows
from service.web.messages.schema import Id, Page, PageQuery, Schema, SentenceParams, sort_keys, stated_as

ZIP: Final = "application/zip"
_MOST_IDS: Final = 1000
_MOST_DECIDED: Final = 200
_Ids = Annotated[list[Id], Meta(min_length=1, max_length=_MOST_IDS, examples=[[4, 7]])]
_Code = Annotated[str, Meta(min_length=1, max_length=128, examples=["system:user:update"])]
_TITLE: Final = Meta(examples=["Access 2026-Q4"])
_Days = Annotated[int, Meta(ge=1, le=3650, examples=[90])]


class ReviewScope(Schema, kw_only=True, omit_defaults=True):
    """The assignments of a review: those that meet all given conditions.

    The conditions are roles, users, roles with one of `codes` or with access to a resource of one of
    `services`, no end, and no use for a number of days.
    """

    role_ids: _Ids | None = None
    user_ids: _Ids | None = None
    codes: Annotated[list[_Code], Meta(min_length=1, max_length=100)] | None = None
    services: (
        Annotated[list[Annotated[str, Meta(max_length=32)]], Meta(min_length=1, max_length=100)] | None
    ) = None
    endless: bool = False
    unused_days: _Days | None = None


class Reviewers(Schema, kw_only=True, omit_defaults=True):
    """The reviewers: holders of `code`, by default `system:review:decide`; only `userIds`, if given."""

    user_ids: _Ids | None = None
    code: _Code | None = None


class ReviewBody(Schema, kw_only=True):
    """A review to start."""

    title: Annotated[str, bounds_of(SHORT_LINE), _TITLE]
    scope: ReviewScope
    reviewers: Reviewers
    deadline: Annotated[datetime, Meta(tz=True)]
    on_silence: OnSilence
    apply: Apply


@shows(Progress)
class ReviewProgress(Schema):
    """The numbers of all items, decided items, settled items and findings of a review."""


@shows(
    stored.Review,
    leave_out=("roles",),
    before="progress",
    policy_revision="revision",
)
class Review(Schema, kw_only=True):
    """A review. While it is `closing`, `progress` has the number of settled items; then it is `closed`.

    `mayDecide` is true if the policy lets the caller decide about items of other persons now; `waiting` is
    the number of those without a decision. Both are null in the answers of commands.
    """

    id: Id
    progress: ReviewProgress
    may_decide: bool | None
    waiting: Annotated[int, Meta(ge=0, examples=[11])] | None


@shows(
    stored.Item,
    leave_out=("review_id", "decision_entry", "outcome_entry"),
    before="opens",
    valid_from="from",
    valid_until="assignedUntil",
)
class ReviewItem(Schema, kw_only=True):
    """An assignment as it was at the beginning of the review, with its decision and outcome.

    `opens` are the codes of its role, `statements` the invariants that name it, `ground` is the reason of the
    `proposal`. An item with a `finding` is never revoked by silence. A decision without a reviewer is that of
    the rule for silence; `decisionIds` are the policy decisions that allowed the reviewer. `outcomeReason` is
    the reason of a failed outcome.
    """

    id: Id
    opens: list[str]
    statements: list[str]
    same_person: Annotated[
        str | None,
        Meta(
            description="The reason that the caller counts as the reviewed user, and may not decide; null "
            "without one, and after the review."
        ),
    ]
    same_person_code: Annotated[str, Meta(examples=["same_person"])] | None
    same_person_params: SentenceParams | None
    outcome_reason_code: Annotated[str, Meta(examples=["outcome_ended"])] | None
    outcome_reason_params: SentenceParams | None


class ItemDecisionBody(Schema, kw_only=True):
    """A decision; only `shorten` takes `until`, which is before the end of the assignment."""

    decision: Verdict
    until: Annotated[datetime, Meta(tz=True)] | None = None
    reason: Annotated[str, bounds_of(REASON), Meta(min_length=1, examples=["Still in the team"])]


class ItemsDecisionBody(ItemDecisionBody, kw_only=True):
    """The same decision about many items."""

    item_ids: Annotated[
        list[Id],
        Meta(min_length=1, max_length=_MOST_DECIDED, description="Each item once.", examples=[[11, 12]]),
    ]


class DecidedItems(Schema):
    """The items as they are decided, in the order of the request."""

    items: list[ReviewItem]


@filters_of(ReviewFilter)
class ReviewQuery(PageQuery):
    """Filters and order of reviews."""

    sort: Annotated[str, sort_keys("ReviewSort", reviews.SORTS)] = "-id"


@filters_of(ItemFilter)
class ItemQuery(PageQuery):
    """Filters and order of items."""

    sort: Annotated[str, sort_keys("ReviewItemSort", reviews.ITEM_SORTS)] = "id"


def _shown(
    review: stored.Review,
    progress: Progress | None,
    may_decide: bool | None = None,
    waiting: int | None = None,
) -> Review:
    counts = progress or Progress(0, 0, 0, 0)
    return Review.of(review, progress=counts, may_decide=may_decide, waiting=waiting)


def _shown_item(
    item: Item, roles: Mapping[str, Mapping[str, list[str]]], same_person: Sentence | None = None
) -> ReviewItem:
    reason = STORED_REFUSALS.read(item.outcome_reason)
    stated = stated_as("same_person", same_person) | stated_as("outcome_reason", reason)
    return ReviewItem.of(item, **roles[item.role_code], **stated)


class ReviewEndpoint(Responders):
    """The base of the endpoints of reviews."""

    def __init__(self, database: Database, changes: Reviews) -> None:
        self.database = database
        self.changes = changes

    def visible(self, context: RequestContext) -> Visible | None:
        """Return the reviews that the caller may see; None for all."""
        if context.decide(ACCOUNT, READ_REVIEWS).allowed:
            return None
        policy = context.policy
        names: Collection[str] = () if policy is None else policy.rules.objects(REVIEW)
        asked = {code_of_review(name) for name in names}
        mine = {code for code in asked if context.decide(REVIEW, assignment_for("others", code)).allowed}
        return Visible(context.user.user_id, mine)

    async def shown(
        self, context: RequestContext, connection: Connection, listed: Sequence[stored.Review]
    ) -> list[Review]:
        """Return reviews with their progress, and with what waits in each for the caller."""
        progress = await reviews.progress(connection, [review.id for review in listed])
        caller = context.user.user_id
        mine = [review for review in listed if review.state == "open" and self._decides(context, review)]
        waiting = await self.changes.waiting(connection, [review.id for review in mine], caller)
        return [
            _shown(review, progress.get(review.id), review.id in waiting, waiting.get(review.id, 0))
            for review in listed
        ]

    async def alone(self, review_id: int) -> Review:
        """Return a review with its progress."""
        async with self.database.snapshot() as connection:
            review = await reviews.read(connection, review_id)
            progress = await reviews.progress(connection, [review_id])
        return _shown(review, progress.get(review_id))

    @staticmethod
    def _decides(context: RequestContext, review: stored.Review) -> bool:
        """Return true if the caller may decide about items of other persons in an open review.

        As the decision itself asks: API keys decide nothing.
        """
        policy, held = context.policy, codes_asked(context.user)
        if policy is None or held is None:
            return False
        whose: WhoseAssignment = "others" if asks(review, context.user.user_id) else "unasked"
        questions = (
            (ACCOUNT, f"review {context.user.proof}"),
            (REVIEW, assignment_for(whose, review.reviewer_code)),
        )
        return all(policy.judge(layer, name, held).allowed for layer, name in questions)


class ReviewList(ReviewEndpoint, at="/api/review/list"):
    @login(name="listReviews")
    async def on_get(self, context: RequestContext, query: ReviewQuery) -> Page[Review]:
        """List reviews of assignments that the caller has begun, or in which the caller may decide.

        Holders of `system:review:list` see all.
        """
        criteria, visible = query.filter(ReviewFilter), self.visible(context)
        async with self.database.snapshot() as connection:
            listed = await reviews.page(
                connection, criteria, visible, page=query.page, size=query.size, sort=query.sort
            )
            items = await self.shown(context, connection, listed.items)
        return Page(items=items, page=query.page, size=query.size, total=listed.total)


class NewReview(ReviewEndpoint, at="/api/review"):
    @needs("system:review:create", name="createReview", refuses=[Conflict])
    @writes(
        "begin",
        "INSERT",
        example={
            "title": "Access 2026-Q4",
            "scope": {"endless": True},
            "reviewers": {},
            "deadline": "2030-01-15T00:00:00Z",
            "onSilence": "keep",
            "apply": "at_end",
        },
        dry_run=True,
        publishes=True,
        created="/api/review/{id}",
        refuses_keys="each request begins a review of its own",
    )
    @by_session("review")
    async def on_post(self, context: RequestContext, body: ReviewBody) -> Review:
        """Begin a review of the current assignments.

        The caller must be able to grant all permissions of the reviewed users and roles, since the review can
        remove them. The first review with a code publishes the line for its holders. A dry run returns in
        `progress` the numbers of items and findings.
        """
        given = body.given()
        given |= {name: msgspec.to_builtins(given[name]) for name in ("scope", "reviewers")}
        saved = await self.changes.start(context.write, given)
        context.policy = saved.policy or context.policy
        return _shown(*saved.record)


class OneReview(ReviewEndpoint, at="/api/review/{id}"):
    @login(name="getReview", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> Review:
        """Read a review that the caller may see, with its progress."""
        visible = self.visible(context)
        async with self.database.snapshot() as connection:
            (answer,) = await self.shown(context, connection, [await reviews.read(connection, id, visible)])
        return answer


class ClosedReview(ReviewEndpoint, at="/api/review/{id}/close"):
    @needs("system:review:create", name="closeReview", refuses=[NotFound, Conflict])
    @writes("close", "UPDATE", refuses_keys="a review is closed once")
    @by_session("review")
    async def on_post(self, context: RequestContext, id: int) -> Review:
        """Close a review of the caller before its deadline; decisions and the rule for silence are applied.

        In a large review, a job settles the remaining items: until then the review is `closing`.
        """
        visible = None if context.decide(REVIEW, CLOSE_OTHERS).allowed else self.visible(context)
        await self.changes.close(context.write, id, visible)
        return await self.alone(id)


class ReviewItemList(ReviewEndpoint, at="/api/review/{id}/item/list"):
    @login(name="listReviewItems", refuses=[NotFound])
    async def on_get(self, context: RequestContext, query: ItemQuery, id: int) -> Page[ReviewItem]:
        """List the items of a review that the caller may see."""
        visible = self.visible(context)
        async with self.database.snapshot() as connection:
            review = await reviews.read(connection, id, visible)
            listed = await reviews.item_page(
                connection, id, query.filter(ItemFilter), page=query.page, size=query.size, sort=query.sort
            )
            users = {item.user_id for item in listed.items}
            same = await self.changes.same_persons(connection, review, context.user.user_id, users)
        items = [_shown_item(item, review.roles, same.get(item.user_id)) for item in listed.items]
        return Page(items=items, page=query.page, size=query.size, total=listed.total)


class DecisionAboutItem(ReviewEndpoint, at="/api/review/{id}/item/{item_id}/decision"):
    @login(name="decideReviewItem", refuses=[NotFound, Conflict])
    @writes(
        "decide",
        "UPDATE",
        example={"decision": "keep", "reason": "Still in the team"},
        dry_run=True,
        refuses_keys="a decision replaces the earlier one",
    )
    @by_session("review")
    async def on_post(
        self, context: RequestContext, body: ItemDecisionBody, id: int, item_id: int
    ) -> ReviewItem:
        """Keep, shorten or revoke an assignment of another person; reviewers can't decide about their own.

        The line for the code of the review names the reviewers. If the review applies decisions at once, a
        revoked assignment has ended on every node before the answer.
        """
        visible = self.visible(context)
        saved = await self.changes.decide(context.write, id, item_id, body.given(), visible)
        async with self.database.snapshot() as connection:
            review = await reviews.read(connection, id)
        return _shown_item(saved.record, review.roles)


class DecisionAboutItems(ReviewEndpoint, at="/api/review/{id}/decision"):
    @login(name="decideReviewItems", refuses=[NotFound, Conflict, RowsRefused])
    @writes(
        "decide about many",
        "UPDATE",
        example={"itemIds": [11, 12], "decision": "keep", "reason": "Still in the team"},
        dry_run=True,
        refuses_keys="a decision replaces the earlier one",
    )
    @by_session("review")
    async def on_post(self, context: RequestContext, body: ItemsDecisionBody, id: int) -> DecidedItems:
        """Keep, shorten or revoke many assignments of a review, all of them or none.

        By the rules of a decision about one item, for each. A refusal lists the items by their place in
        `itemIds`.
        """
        given = body.given()
        item_ids = given.pop("item_ids")
        saved = await self.changes.decide_all(context.write, id, item_ids, given, self.visible(context))
        async with self.database.snapshot() as connection:
            review = await reviews.read(connection, id)
        return DecidedItems([_shown_item(item, review.roles) for item in saved.record])


class ReviewEvidence(Responders, at="/api/review/{id}/evidence"):
    def __init__(self, database: Database, settings: Oplog, changes: Reviews) -> None:
        self._database = database
        self._settings = settings
        self._changes = changes

    @needs("system:review:evidence", name="exportReviewEvidence", refuses=[NotFound])
    @logged("export evidence", "EXPORT", keeps="params")
    @sends(ZIP)
    async def on_get(self, context: RequestContext, id: int) -> Stream:
        """Export a review as an archive for an auditor: JSON, CSV, a page to print, and entries of the log.

        Callers who may list the operation log also get the log entries up to the end of that day. With them,
        the archive can be verified against a log head kept by the auditor.
        """
        connected = context.may("GET /api/operation-log/list")
        maker = maker_of(self._settings, self._changes.now(), context.user.user_name, connected=connected)
        data = await review_evidence(self._database, maker, id)

        async def chunks() -> AsyncGenerator[bytes, None]:
            yield data

        headers = {"Content-Disposition": attachment(f"review-{id}.zip")}
        return Stream(chunks(), ZIP, headers, length=len(data))
