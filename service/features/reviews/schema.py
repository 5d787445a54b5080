"""Tables of reviews, their items, and sign-offs of revisions."""

from datetime import date, datetime
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import JSONB

from service.kernel.value_rules import Id, RoleCode, UserName
from service.records.schema.base import chosen, filled, identity, metadata, moment, table_of
from service.records.schema.rights import Source

State: TypeAlias = Literal["open", "closing", "closed"]
"""The state of a review: no decisions from the second state on, no changes in the last."""
OnSilence: TypeAlias = Literal["revoke", "keep"]
"""The rule for items that are undecided at the end."""
Apply: TypeAlias = Literal["at_once", "at_end"]
"""When decisions are applied."""
Verdict: TypeAlias = Literal["keep", "shorten", "revoke"]
"""The decision of a reviewer about an assignment."""
Finding: TypeAlias = Literal["no_reviewer", "last_administrator", "directory"]
"""Why silence never revokes an assignment."""
Outcome: TypeAlias = Literal["kept", "shortened", "revoked", "ended", "refused"]
"""The outcome of an item; ``ended``: the assignment ended before, by expiry or another edit."""

STATES: Final = get_args(State)


class NewReview(Struct, frozen=True, kw_only=True):
    """A new review; ``roles`` has the codes and statements of each role, by role code.

    Only ``reviewer_ids`` and holders of ``reviewer_code`` decide; None sets no limit.
    """

    title: Annotated[str, Meta(examples=["Access 2026-Q4"])]
    scope: Any
    reviewer_ids: list[Id] | None
    reviewer_code: str | None
    on_silence: OnSilence
    apply: Apply
    deadline: datetime
    author_id: Id
    author_name: Annotated[str, Meta(examples=["admin"])]
    roles: Any
    policy_revision: Annotated[int, Meta(ge=0, examples=[12], description="In force when it began.")]
    create_time: datetime


class Review(NewReview, frozen=True, kw_only=True):
    """A stored review."""

    id: Id
    state: State
    close_time: Annotated[datetime | None, Meta(description="The time of the last possible decision.")]
    closed_by: Annotated[str | None, Meta(description="Null for its deadline.")]
    end_time: Annotated[datetime | None, Meta(description="When all was settled.")]


# Kept after its author or a user in it is deleted, so it has no foreign keys to users.
review = table_of(
    Review,
    "review",
    identity(),
    filled("title"),
    sa.Column("scope", JSONB, nullable=False),
    chosen("state", *STATES, nullable=False, server_default=STATES[0]),
    filled("author_name"),
    sa.Column("roles", JSONB, nullable=False),
    sa.CheckConstraint("(state = 'open') = (close_time IS NULL)", name="close_time"),
    sa.CheckConstraint("(state = 'closed') = (end_time IS NOT NULL)", name="end_time"),
    sa.Index("review_deadline_idx", "deadline", postgresql_where=sa.text("state <> 'closed'")),
)


# Reviews whose reviewers were reminded of the deadline.
review_reminder = sa.Table(
    "review_reminder",
    metadata,
    sa.Column(
        "review_id",
        sa.ForeignKey(review.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    moment("create_time"),
)


class ReviewedAssignment(Struct, frozen=True, kw_only=True):
    """An assignment as of the start of a review."""

    user_id: Id
    user_name: UserName
    role_id: Id
    role_code: RoleCode
    valid_from: datetime | None
    valid_until: datetime | None
    reason: str | None
    source: Source
    given_time: datetime | None
    given_by: str | None
    request_id: Id | None


class NewItem(ReviewedAssignment, frozen=True, kw_only=True):
    """An assignment with a proposal and its ground; silence never revokes an item with a ``finding``."""

    assignment_id: Id
    last_used: Annotated[date, Meta(examples=["2026-11-20"])] | None
    proposal: Literal["keep", "revoke"] | None
    ground: Annotated[str, Meta(examples=["unused"])]
    finding: Finding | None


class Item(NewItem, frozen=True, kw_only=True):
    """An item: its decision, the reviewer (None: the rule for silence), and its outcome.

    ``decision_entry`` is the id of the request; ``outcome_entry`` is that request or the event that settled
    the item.
    """

    id: Id
    review_id: Id
    decision: Verdict | None
    until: datetime | None
    decision_reason: str | None
    reviewer_id: Id | None
    reviewer_name: str | None
    decision_ids: list[str] | None
    decision_time: datetime | None
    decision_entry: str | None
    outcome: Outcome | None
    outcome_reason: str | None
    outcome_time: datetime | None
    outcome_entry: str | None


review_item = table_of(
    Item,
    "review_item",
    identity(),
    sa.Column("review_id", sa.ForeignKey(review.c.id), nullable=False),
    filled("user_name"),
    filled("role_code"),
    filled("ground"),
    sa.UniqueConstraint("review_id", "assignment_id"),
    sa.CheckConstraint("(decision IS NULL) = (decision_time IS NULL)", name="decision_time"),
    sa.CheckConstraint("(decision IS NOT DISTINCT FROM 'shorten') = (until IS NOT NULL)", name="until"),
    sa.CheckConstraint(
        "(outcome IS NULL) = (outcome_time IS NULL) AND (outcome IS NULL OR decision IS NOT NULL)",
        name="outcome_time",
    ),
    sa.Index("review_item_review_id_id_idx", "review_id", "id"),
    sa.Index("review_item_pending_idx", "review_id", "id", postgresql_where=sa.text("outcome IS NULL")),
    sa.Index("review_item_user_id_idx", "user_id"),
)


class NewSignOff(Struct, frozen=True, kw_only=True):
    """A sign-off of a revision by a user."""

    revision: int
    title: str
    note: str | None
    user_id: int
    user_name: str


class SignOff(NewSignOff, frozen=True, kw_only=True):
    """A stored sign-off."""

    id: int
    create_time: datetime


policy_sign_off = table_of(
    SignOff,
    "policy_sign_off",
    identity(),
    sa.Column("revision", sa.BigInteger, nullable=False, index=True),
    filled("title"),
    filled("user_name"),
    moment("create_time"),
    sa.Index("policy_sign_off_user_id_id_idx", "user_id", "id"),
)
