"""Assignments of roles to users, with a beginning, an end and a reason: ``/api/user/{id}/roles``."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.administration.unit_of_work import Saved
from service.errors import Conflict, NotFound, PreconditionFailed, ValidationFailed
from service.features.assignments import store, store_transitions
from service.features.assignments.edits import AssignmentEdits
from service.features.assignments.store import AssignmentFilter
from service.kernel.core_sentences import sentence
from service.kernel.value_rules import REASON, bounds_of
from service.records.database.transactions import Database
from service.records.schema.rights import How
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs, writes
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import MergePatch, filters_of, shows
from service.web.messages.schema import Id, Moment, Page, PageQuery, Schema, page_answer, sort_keys

F = TypeVar("F", bound=Callable[..., Any])


@shows(
    store.Assignment,
    leave_out=("version", "end_time", "ended_by", "how"),
    valid_until="until",
    valid_from="from",
)
class Assignment(Schema, kw_only=True):
    """A role of a user, enabled or disabled. Several of one role may overlap: their union is in force."""


class AssignmentOfUser(Assignment, kw_only=True):
    """The same, with its `version`, which is its `ETag`, and its end; null for a current assignment."""

    version: Annotated[
        int, Meta(ge=0, examples=[1], description="Rises with each edit; 0 once it has ended.")
    ]
    end_time: Moment | None
    ended_by: Annotated[str | None, Meta(description="The user who ended it; null after an expiry.")]
    how: Annotated[How | None, Meta(description="`expired` at its `until`; `revoked` by a user before.")]


_GivenFrom = Annotated[
    datetime,
    Meta(
        tz=True,
        description="The start; null or a past time for an immediate start. The decision is made now.",
    ),
]
_GivenUntil = Annotated[datetime, Meta(tz=True, description="The expiry; null for none.")]
_Reason = Annotated[str, bounds_of(REASON), Meta(examples=["Stands in for kestrel"])]


class AssignmentBody(Schema, kw_only=True):
    """A role to assign, by its id or its code, with an optional start and end."""

    role_id: Id | None = None
    role_code: Annotated[str, Meta(max_length=64, examples=["auditor"])] | None = None
    valid_from: _GivenFrom | None = msgspec.field(default=None, name="from")
    valid_until: _GivenUntil | None = msgspec.field(default=None, name="until")
    reason: _Reason | None = None


class AssignmentPatch(MergePatch, kw_only=True):
    """The values of an assignment that change (RFC 7396). `null` removes an end, reason or later start."""

    valid_from: _GivenFrom | UnsetType | None = msgspec.field(default=UNSET, name="from")
    valid_until: _GivenUntil | UnsetType | None = msgspec.field(default=UNSET, name="until")
    reason: _Reason | UnsetType | None = UNSET


class AssignmentsOfUserQuery(PageQuery):
    """Which assignments of the user."""

    ended: Annotated[bool, Meta(description="Those that have ended too.")] = False


@filters_of(AssignmentFilter)
class AssignmentQuery(PageQuery):
    """Filters and order of assignments that have not ended, those that begin later among them."""

    sort: Annotated[str, sort_keys("AssignmentSort", store.SORTS)] = "id"


@shows(store_transitions.Transition)
class AssignmentTransition(Schema, kw_only=True):
    """The start or the expiry of an assignment at its scheduled time."""


class TransitionQuery(PageQuery, kw_only=True):
    """Which transitions: from a time on, until before another one or now."""

    from_: Annotated[
        datetime, Meta(tz=True, examples=["2026-11-01T00:00:00Z"], description="Not before this time.")
    ] = msgspec.field(name="from")
    to: Annotated[datetime, Meta(tz=True, description="Before this time; now at the latest.")] | None = None

    def __post_init__(self) -> None:
        if self.to is not None and self.from_ >= self.to:
            raise ValidationFailed(("to", sentence("end_before_start")))


def _answer(context: RequestContext, saved: Saved[store.Assignment]) -> AssignmentOfUser:
    answer_tag(context, version_tag(saved.record.version))
    return AssignmentOfUser.of(saved.record)


class AssignmentEndpoint(Responders):
    """Base class of the endpoints of assignments."""

    def __init__(self, database: Database, edits: AssignmentEdits) -> None:
        self.database = database
        self.edits = edits


class AssignmentList(AssignmentEndpoint, at="/api/assignment/list"):
    @needs("system:user:list", name="listAssignments")
    async def on_get(self, context: RequestContext, query: AssignmentQuery) -> Page[Assignment]:
        """List the roles of all users, including later ones."""
        async with self.database.snapshot() as connection:
            listed = await store.page(
                connection,
                query.filter(AssignmentFilter),
                page=query.page,
                size=query.size,
                sort=query.sort,
                at=self.edits.now(),
            )
        return page_answer(query, listed, Assignment)


class AssignmentTransitions(AssignmentEndpoint, at="/api/assignment/transition/list"):
    @needs("system:user:list", name="listAssignmentTransitions")
    async def on_get(self, context: RequestContext, query: TransitionQuery) -> Page[AssignmentTransition]:
        """List starts and expiries of assignments at their scheduled times, the latest first.

        No request causes them, so the operation log has no entry of them.
        """
        async with self.database.snapshot() as connection:
            listed = await store_transitions.page(
                connection, query.from_, query.to, page=query.page, size=query.size, at=self.edits.now()
            )
        return page_answer(query, listed, AssignmentTransition)


class UserRoles(AssignmentEndpoint, at="/api/user/{id}/roles"):
    @needs("system:user:detail", name="listUserRoles", refuses=[NotFound])
    async def on_get(
        self, context: RequestContext, query: AssignmentsOfUserQuery, id: int
    ) -> Page[AssignmentOfUser]:
        """List the roles of a user, including later ones, and on request ended ones."""
        async with self.database.snapshot() as connection:
            listed = await store.of_user(
                connection, id, ended=query.ended, page=query.page, size=query.size, at=self.edits.now()
            )
        return page_answer(query, listed, AssignmentOfUser)

    @needs("system:user:update", name="assignUserRole", refuses=[NotFound, Conflict], tagged=True)
    @writes(
        "assign a role",
        "INSERT",
        example={"roleCode": "auditor", "until": "2099-12-31T00:00:00Z", "reason": "Year's end"},
        dry_run=True,
        created="/api/user/{id}/roles/{assignment_id}",
        idempotent=_answer,
    )
    async def on_post(self, context: RequestContext, body: AssignmentBody, id: int) -> AssignmentOfUser:
        """Assign a role to a user, with an optional start and end.

        The rules of an edit of the user apply: callers can't assign roles with permissions that they lack, or
        assign roles to themselves. A role may demand an end or a reason.
        """
        return _answer(context, await self.edits.create(context.write, id, body.given()))


class OneUserRole(AssignmentEndpoint, at="/api/user/{id}/roles/{assignment_id}"):
    @needs("system:user:detail", name="getUserRole", refuses=[NotFound], tagged=True, shows_more=True)
    async def on_get(self, context: RequestContext, id: int, assignment_id: int) -> AssignmentOfUser:
        """Read an assignment of a role, which may have ended."""
        async with self.database.snapshot() as connection:
            record = await store.read(connection, id, assignment_id, at=self.edits.now())
        return _answer(context, Saved(record))

    @needs(
        "system:user:update",
        name="patchUserRole",
        refuses=[NotFound, Conflict, PreconditionFailed],
        tagged=True,
    )
    @writes(
        "change an assignment of a role", "UPDATE", example={"until": "2099-12-31T00:00:00Z"}, dry_run=True
    )
    async def on_patch(
        self, context: RequestContext, body: AssignmentPatch, id: int, assignment_id: int
    ) -> AssignmentOfUser:
        """Change when an assignment of a role begins or ends, or its reason, by the rules of a new one.

        The start of a current assignment can't change.
        """
        match = unchanged(context)
        return _answer(
            context, await self.edits.update(context.write, id, assignment_id, body.given(), match)
        )

    @needs("system:user:update", name="endUserRole", refuses=[NotFound, Conflict, PreconditionFailed])
    @writes("end an assignment of a role", "DELETE", dry_run=True)
    async def on_delete(self, context: RequestContext, id: int, assignment_id: int) -> None:
        """End an assignment of a role now, by the rules of a new one; it stays among the past ones."""
        await self.edits.delete(context.write, id, assignment_id, unchanged(context))
