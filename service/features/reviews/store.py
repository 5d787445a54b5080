"""``sys.review`` and ``sys.review_item``: reviews of assignments, and the decisions.

Triggers make the subject of an item immutable, and everything once a review is closed. Callers that settle
items hold ``role_rights.lock``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import insert

from service.errors import NotFound
from service.features.reviews.schema import (
    Finding,
    Item,
    NewItem,
    NewReview,
    Review,
    ReviewedAssignment,
    State,
    review,
    review_item,
    review_reminder,
)
from service.features.reviews.sentences import sentence
from service.features.reviews.store_unused import Unneeded
from service.kernel.fields import values_of
from service.kernel.value_rules import ID
from service.records.assignments import approved, instant, not_ended
from service.records.database import filters
from service.records.database.filters import among
from service.records.database.paging import Page, order_by, page_of, sorts_of
from service.records.database.portions import write_records
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import role, user, user_role

REMINDED: Final = 172_800.0
"""Seconds before the deadline at which reviewers are reminded; at most a quarter of the review's length."""


class Progress(Struct, frozen=True):
    """The numbers of all items, decided items, settled items and findings of a review."""

    items: Annotated[int, Meta(ge=0, examples=[120])]
    decided: Annotated[int, Meta(ge=0, examples=[80])]
    settled: Annotated[int, Meta(ge=0, examples=[80])]
    findings: Annotated[int, Meta(ge=0, examples=[2])]


class Subject(ReviewedAssignment, frozen=True, kw_only=True):
    """An assignment that may become an item of a review."""

    id: int
    user_enabled: bool


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """A filter of reviews."""

    state: Annotated[Collection[State] | None, filters.one_of(review.c.state)] = None
    author_id: Annotated[int | None, filters.equals(review.c.author_id), ID] = None


class Visible(Struct, frozen=True):
    """The reviews that a user may see: the user's own reviews, and reviews that the user may decide in.

    ``codes`` are the reviewer codes that the user holds; None among them stands for reviews without a code.
    """

    user_id: int
    codes: Collection[str | None]

    @property
    def condition(self) -> sa.ColumnElement[bool]:
        """The condition for matching reviews."""
        usual = review.c.reviewer_code.is_(None) & (None in self.codes)
        decides = usual | review.c.reviewer_code.in_([code for code in self.codes if code is not None])
        asked = review.c.reviewer_ids.is_(None) | (self.user_id == sa.any_(review.c.reviewer_ids))
        return (review.c.author_id == self.user_id) | (decides & asked)


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """A filter of items; ``decided``: by a reviewer or by the rule for silence."""

    role_id: Annotated[int | None, filters.equals(review_item.c.role_id), ID] = None
    user_id: Annotated[int | None, filters.equals(review_item.c.user_id), ID] = None
    ground: Annotated[str | None, filters.equals(review_item.c.ground), Meta(max_length=64)] = None
    decided: Annotated[bool | None, filters.whether(review_item.c.decision.is_not(None))] = None
    finding: Annotated[Collection[Finding] | None, filters.one_of(review_item.c.finding)] = None


SORTS: Final = sorts_of(review, "id", "title", "deadline", "create_time")
"""The columns by which a list of reviews can be sorted."""
ITEM_SORTS: Final = sorts_of(review_item, "id", "user_name", "role_code", "ground", "last_used")
"""The columns by which a list of items can be sorted."""

_REVIEW: Final = RowMapper(Review, review)
_ITEM: Final = RowMapper(Item, review_item)


def _subjects() -> RowMapper[Subject]:
    request_id, _ = approved(user_role.c.id)
    return RowMapper(
        Subject,
        user_role,
        user_name=user.c.user_name,
        user_enabled=user.c.status == "enabled",
        role_code=role.c.role_code,
        given_time=user_role.c.create_time,
        given_by=user_role.c.created_by,
        request_id=request_id,
    )


async def subjects(
    connection: Connection,
    at: datetime,
    *,
    role_ids: Collection[int] | None = None,
    role_codes: Collection[str] | None = None,
    user_ids: Collection[int] | None = None,
    endless: bool | None = None,
    unneeded: Unneeded | None = None,
    most: int,
) -> list[Subject]:
    """Return the first ``most`` assignments without a past end, of these roles and users; None for all.

    ``endless``: True for those without an end, False for those with one. ``unneeded`` selects unused ones.
    """
    mapped = _subjects()
    joined = user_role.join(user, user.c.id == user_role.c.user_id).join(
        role, role.c.id == user_role.c.role_id
    )
    chosen = mapped.select.select_from(joined).where(not_ended(instant(at)))
    for column, ids in ((user_role.c.role_id, role_ids), (user_role.c.user_id, user_ids)):
        if ids is not None:
            chosen = chosen.where(filters.among(column, ids))
    if role_codes is not None:
        chosen = chosen.where(role.c.role_code == sa.any_(sa.literal(list(role_codes), sa.ARRAY(sa.Text))))
    if unneeded is not None:
        chosen = chosen.where(unneeded.condition)
    if endless is not None:
        chosen = chosen.where(user_role.c.valid_until.is_(None) == endless)
    return await mapped.all(connection, chosen.order_by(role.c.role_code, user_role.c.id).limit(most))


async def create(connection: Connection, new: NewReview, items: Sequence[NewItem]) -> Review:
    """Write a review with its items."""
    written = sa.insert(review).values(values_of(new)).returning(*_REVIEW.columns)
    made = await _REVIEW.returned(connection, written)
    await write_records(connection, review_item, items, review_id=made.id)
    return made


async def read(
    connection: Connection, review_id: int, visible: Visible | None = None, *, for_update: bool = False
) -> Review:
    """Return a review; NotFound if none of the ``visible`` ones (None: all) has that id."""
    chosen = _REVIEW.select.where(review.c.id == review_id, *_seen(visible))
    stored = await _REVIEW.one_or_none(connection, chosen.with_for_update() if for_update else chosen)
    if stored is None:
        raise NotFound(sentence("no_such_review"))
    return stored


def _seen(visible: Visible | None) -> list[sa.ColumnElement[bool]]:
    return [] if visible is None else [visible.condition]


async def codes(connection: Connection) -> list[str]:
    """Return the reviewer codes of all reviews, including closed ones: the policy has a line for each."""
    chosen = sa.select(review.c.reviewer_code).where(review.c.reviewer_code.is_not(None)).distinct()
    return list((await connection.execute(chosen)).scalars())


async def page(
    connection: Connection,
    criteria: ReviewFilter,
    visible: Visible | None,
    *,
    page: int,
    size: int,
    sort: str = "-id",
) -> Page[Review]:
    """Return page ``page`` (from 1) of the matching reviews; ValidationFailed for an unknown ``sort``."""
    matching = _REVIEW.select.where(*filters.conditions_of(criteria), *_seen(visible))
    order = order_by(sort, SORTS, review.c.id)
    return (await page_of(connection, matching, page=page, size=size, order=order)).of(_REVIEW)


async def progress(connection: Connection, review_ids: Collection[int]) -> dict[int, Progress]:
    """Return the progress of reviews, by id."""
    table, count = review_item.c, sa.func.count()
    counted = sa.select(
        table.review_id,
        count,
        count.filter(table.decision.is_not(None)),
        count.filter(table.outcome.is_not(None)),
        count.filter(table.finding.is_not(None)),
    ).where(table.review_id.in_(review_ids))
    rows = await connection.execute(counted.group_by(table.review_id))
    return {review_id: Progress(*counts) for review_id, *counts in rows}


async def undecided(connection: Connection, review_ids: Collection[int]) -> dict[int, dict[int, int]]:
    """Return how many items nobody has decided about, by review and user."""
    table = review_item.c
    counted = sa.select(table.review_id, table.user_id, sa.func.count()).where(
        among(table.review_id, review_ids), table.decision.is_(None), table.outcome.is_(None)
    )
    counts: dict[int, dict[int, int]] = {review_id: {} for review_id in review_ids}
    for review_id, user_id, count in await connection.execute(
        counted.group_by(table.review_id, table.user_id)
    ):
        counts[review_id][user_id] = count
    return counts


async def item_page(
    connection: Connection,
    review_id: int,
    criteria: ItemFilter,
    *,
    page: int,
    size: int,
    sort: str = "id",
) -> Page[Item]:
    """Return page ``page`` (from 1) of the matching items; ValidationFailed for an unknown ``sort``."""
    matching = _ITEM.select.where(review_item.c.review_id == review_id, *filters.conditions_of(criteria))
    order = order_by(sort, ITEM_SORTS, review_item.c.id)
    return (await page_of(connection, matching, page=page, size=size, order=order)).of(_ITEM)


async def items(connection: Connection, review_id: int) -> list[Item]:
    """Return all items of a review, by id."""
    return await _ITEM.where(connection, review_item.c.review_id == review_id, order=review_item.c.id)


async def items_of_user(connection: Connection, user_id: int, since: datetime, until: datetime) -> list[Item]:
    """Return the items about a user in reviews that were open between two instants, by id."""
    under_way = (review.c.create_time < until) & (review.c.end_time.is_(None) | (review.c.end_time >= since))
    chosen = _ITEM.select.join(review, review.c.id == review_item.c.review_id)
    matching = chosen.where(review_item.c.user_id == user_id, under_way)
    return await _ITEM.all(connection, matching.order_by(review_item.c.id))


async def item(connection: Connection, review_id: int, item_id: int) -> Item:
    """Return an item of a review, for update; NotFound if there is none with that id."""
    chosen = _ITEM.select.where(review_item.c.review_id == review_id, review_item.c.id == item_id)
    stored = await _ITEM.one_or_none(connection, chosen.with_for_update())
    if stored is None:
        raise NotFound(sentence("no_such_item"))
    return stored


async def is_asked(connection: Connection, assignment_id: int, but: Collection[int]) -> bool:
    """Return whether another review item than ``but`` still has to settle an assignment."""
    table = review_item.c
    pending = (table.assignment_id == assignment_id) & table.outcome.is_(None) & table.id.not_in(but)
    return bool((await connection.execute(sa.select(sa.exists().where(pending)))).scalar_one())


async def unsettled(connection: Connection, review_id: int, most: int) -> list[Item]:
    """Return the first ``most`` unsettled items, ordered by their new end, items without one first."""
    table = review_item.c
    chosen = _ITEM.select.where(table.review_id == review_id, table.outcome.is_(None))
    return await _ITEM.all(connection, chosen.order_by(table.until.nulls_first(), table.id).limit(most))


async def unsettled_users(connection: Connection, review_id: int) -> list[int]:
    """Return the ids of the users of these items."""
    table = review_item.c
    chosen = sa.select(table.user_id).where(table.review_id == review_id, table.outcome.is_(None))
    return list((await connection.execute(chosen.distinct())).scalars())


async def change_items(connection: Connection, changed: Mapping[int, Mapping[str, Any]]) -> None:
    """Store decisions and outcomes of items: column values by item id."""
    alike: dict[str, tuple[Mapping[str, Any], list[int]]] = {}
    for item_id, values in changed.items():
        alike.setdefault(repr(values), (values, []))[1].append(item_id)
    for values, ids in alike.values():
        chosen = filters.among(review_item.c.id, ids)
        await connection.execute(sa.update(review_item).where(chosen).values(values))


async def begin_closing(connection: Connection, review_id: int, at: datetime, *, by: str | None) -> None:
    """Stop decisions on a review; ``by`` None stands for the deadline."""
    values = {"state": "closing", "close_time": at, "closed_by": by}
    await connection.execute(sa.update(review).where(review.c.id == review_id).values(values))


async def close(connection: Connection, review_id: int, at: datetime) -> Review:
    """Close a review finally once all its items are settled."""
    ended = sa.update(review).where(review.c.id == review_id).values(state="closed", end_time=at)
    return await _REVIEW.returned(connection, ended.returning(*_REVIEW.columns))


async def under_way(connection: Connection) -> list[Review]:
    """Return the reviews that are not closed, by id."""
    return await _REVIEW.where(connection, review.c.state != "closed", order=review.c.id)


async def in_need(connection: Connection) -> tuple[int, str]:
    """Return the number of open reviews, and why it matters."""
    counted = sa.select(sa.func.count()).select_from(review).where(review.c.state != "closed")
    count: int = (await connection.execute(counted)).scalar_one()
    return count, (
        "reviews are under way, in which nobody could decide, and whose end would apply nothing: close them, "
        "or wait until they are closed"
    )


async def count_undecidable(connection: Connection, review_id: int, user_ids: Collection[int] | None) -> int:
    """Count a review's undecided items that are about these users (None: all) or have the finding."""
    table = review_item.c
    about = sa.true() if user_ids is None else filters.among(table.user_id, user_ids)
    undecided = (table.review_id == review_id) & table.decision.is_(None)
    counted = sa.select(sa.func.count()).where(undecided, about | (table.finding == "no_reviewer"))
    return int((await connection.execute(counted)).scalar_one())


def _due(at: datetime | None) -> sa.ColumnElement[bool]:
    over = (review.c.state == "open") & (review.c.deadline <= instant(at))
    return over | (review.c.state == "closing")


async def is_due(connection: Connection) -> bool:
    """Return whether a review is over, was interrupted at its closing, or needs a reminder, as of now."""
    asked = sa.or_(sa.exists().where(_due(None)), sa.exists().where(_REMINDER_DUE))
    return bool((await connection.execute(sa.select(asked))).scalar_one())


def _seconds(difference: sa.ColumnElement[Any]) -> sa.ColumnElement[float]:
    return sa.cast(sa.func.extract("epoch", difference), sa.Double)


_LENGTH: Final = _seconds(review.c.deadline - review.c.create_time)
_LEFT: Final = _seconds(review.c.deadline - sa.func.now())
_REMINDER_DUE: Final = sa.and_(
    review.c.state == "open",
    _LEFT.between(0, sa.func.least(REMINDED, _LENGTH / 4)),
    ~sa.exists().where(review_reminder.c.review_id == review.c.id),
    sa.exists().where(review_item.c.review_id == review.c.id, review_item.c.decision.is_(None)),
)


async def is_reminder_due(connection: Connection) -> bool:
    """Return whether a review with undecided items ends soon, and its reviewers are not reminded."""
    return bool((await connection.execute(sa.select(sa.exists().where(_REMINDER_DUE)))).scalar_one())


async def take_reminders(connection: Connection, most: int) -> list[Review]:
    """Return at most ``most`` reviews whose reviewers are to be reminded, and note that they are."""
    chosen = sa.select(review.c.id).where(_REMINDER_DUE).order_by(review.c.id).limit(most)
    noted = insert(review_reminder).from_select(["review_id"], chosen).on_conflict_do_nothing()
    ids = list((await connection.execute(noted.returning(review_reminder.c.review_id))).scalars())
    return await _REVIEW.where(connection, review.c.id.in_(ids), order=review.c.id)


async def due(connection: Connection, at: datetime) -> list[int]:
    """Return the ids of the reviews that are over at ``at``, or whose closing was interrupted."""
    chosen = sa.select(review.c.id).where(_due(at)).order_by(review.c.deadline, review.c.id)
    return list((await connection.execute(chosen)).scalars())
