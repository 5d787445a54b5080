"""Acts on many users, roles or resources: ``/api/user/bulk``, ``/api/role/bulk``, ``/api/resource/bulk``."""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta

from service.administration.changes import Changes
from service.administration.unit_of_work import Saved
from service.endpoints.record_endpoints import (
    Endpoint,
    RecordEndpoint,
    RecordKind,
    Responder,
    described,
    in_force,
)
from service.endpoints.resources import RESOURCE
from service.endpoints.roles import ROLE
from service.errors import Conflict, RowsRefused
from service.features.bulk_acts.records import update_all
from service.features.bulk_acts.users import MAX_USERS, BulkActs, RoleChange
from service.records.logs.events import DeclaredKind
from service.records.user_list import Status
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, needs, writes
from service.web.messages.schema import Id, Revision, Schema

F = TypeVar("F", bound=Callable[..., Any])
_REFUSALS: Final = (Conflict, RowsRefused)

MAX_RECORDS: Final = 200
"""Maximum number of records per operation, equal to the page size; other changes of rights wait meanwhile."""


class EnabledOrder(Schema):
    """The records and their new state."""

    ids: Annotated[
        list[Id],
        Meta(min_length=1, max_length=MAX_RECORDS, description="Each record once.", examples=[[4, 7]]),
    ]
    enabled: bool


class BulkReport(Schema):
    """The numbers of changed records and of records that already had the new value."""

    changed: Annotated[int, Meta(ge=0, examples=[2])]
    unchanged: Annotated[int, Meta(ge=0, examples=[0])]


class PublishedBulkReport(BulkReport, kw_only=True):
    """The same, with the policy revision that has the change."""

    policy_revision: Revision


UserIds = Annotated[
    list[Id], Meta(min_length=1, max_length=MAX_USERS, description="Each user once.", examples=[[4, 7]])
]


class StatusOfUsersOrder(Schema):
    """The users and their new status."""

    ids: UserIds
    status: Status


class RoleOfUsersOrder(Schema):
    """The users, and the role to assign to them or to remove from them."""

    ids: UserIds
    role_id: Id
    action: RoleChange


class SessionsOfUsersOrder(Schema):
    """The users whose sessions end."""

    ids: UserIds


def _report(_context: RequestContext, saved: Saved[Any]) -> BulkReport:
    return BulkReport.of(saved.record)


def _bulk(code: str, name: str, action: str, kind: DeclaredKind = "UPDATE", **more: Any) -> Callable[[F], F]:
    """Declare an operation on many users; it demands the code of the operation on one user."""

    def mark(responder: F) -> F:
        needs(code, name=name, refuses=_REFUSALS)(responder)
        return writes(action, kind, dry_run=True, idempotent=_report, **more)(responder)

    return mark


class StatusOfUsers(Endpoint[BulkActs], at="/api/user/bulk/status"):
    @_bulk(
        "system:user:update",
        "setUserStatuses",
        "set the status of many",
        example={"ids": [2], "status": "disabled"},
    )
    async def on_post(self, context: RequestContext, body: StatusOfUsersOrder) -> BulkReport:
        """Enable or disable many users, all of them or none.

        The rules of the act on one user apply to each. A refusal lists the users by their place in `ids`, as
        an import does.
        """
        return _report(context, await self.part.set_status(context.write, body.ids, body.status))


class RoleOfUsers(Endpoint[BulkActs], at="/api/user/bulk/role"):
    @_bulk(
        "system:user:update",
        "setRoleOfUsers",
        "change a role of many",
        example={"ids": [2], "roleId": 3, "action": "take"},
    )
    async def on_post(self, context: RequestContext, body: RoleOfUsersOrder) -> BulkReport:
        """Assign a role to many users, or remove it; for all of them or none.

        The rules of an edit of one user apply to each. Other roles of the users stay. A refusal lists the
        users by their place in `ids`, as an import does.
        """
        done = await self.part.change_role(context.write, body.ids, body.role_id, body.action)
        return _report(context, done)


class SessionsOfUsers(Endpoint[BulkActs], at="/api/user/bulk/end-sessions"):
    @_bulk("system:online:kick", "kickUsers", "kick many", "KICK", module="online", example={"ids": [2]})
    @by_session("end-sessions")
    async def on_post(self, context: RequestContext, body: SessionsOfUsersOrder) -> BulkReport:
        """End all sessions of many users with at most the caller's permissions.

        A refusal lists the users by their place in `ids`, as an import does. Users without a session are
        among the unchanged.
        """
        return _report(context, await self.part.end_sessions(context.write, body.ids))


def switches(kind: RecordKind, summary: str, *codes: str, example: dict[str, Any]) -> Responder:
    """Return the responder that enables or disables many records of ``kind``, all of them or none."""

    async def on_post(endpoint: RecordEndpoint[Changes], context: RequestContext, body: Any) -> Any:
        saved = await update_all(endpoint.changes, context.write, body.ids, {"enabled": body.enabled})
        if saved.policy is None or kind.saved is None:
            return BulkReport.of(saved.record)
        counts = saved.record.changed, saved.record.unchanged
        return PublishedBulkReport(*counts, policy_revision=in_force(context, saved))

    answer = BulkReport if kind.saved is None else PublishedBulkReport
    about: dict[str, Any] = {"answer": answer, "body": EnabledOrder, "refuses": _REFUSALS}
    responder = described(on_post, f"set{kind.name}sEnabled", summary, *codes, **about)
    again = "a repeated request changes nothing"
    return kind.writes("set the state of many", "UPDATE", example, refuses_keys=again)(responder)


class EnabledRoles(RecordEndpoint[Changes], at="/api/role/bulk/enabled"):
    on_post = switches(
        ROLE,
        """Enable or disable many roles, all of them or none, by the rules of an edit of one.

        A refusal lists the roles by their place in `ids`, as an import does.
        """,
        "system:role:update",
        example={"ids": [3], "enabled": True},
    )


class EnabledResources(RecordEndpoint[Changes], at="/api/resource/bulk/enabled"):
    on_post = switches(
        RESOURCE,
        """Enable or disable many resources, all of them or none, by the rules of an edit of one.

        A refusal lists the resources by their place in `ids`, as an import does.
        """,
        "system:resource:update",
        "system:service:resources",
        example={"ids": [1], "enabled": True},
    )
