"""The copy of the caller's own data, ``/api/user/profile/data``, and erasures: ``/api/user/{id}/erasure``."""

from typing import Annotated, Any

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import BadRequest, Conflict, NotFound, PreconditionFailed
from service.features.audit_proof.maintenance import retention
from service.features.personal_data import erasures, store_archives, store_persons, store_tables
from service.features.personal_data.copies import copy_of
from service.features.personal_data.sentences import sentence
from service.kernel.clock import now
from service.kernel.value_rules import REASON, bounds_of
from service.records.database.transactions import Database
from service.web.content.streams import JSON, Stream, attachment
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, logged, login, needs, sends, writes
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Id, Moment, Schema
from service.web.requests.routes import Routes


class PersonalData(Schema):
    """The rows about a person, by table, the newest first; `cut` names tables with more rows."""

    user_id: Id
    time: Moment
    tables: Annotated[
        dict[str, list[dict[str, Any]]], Meta(description="Members are the columns of the database.")
    ]
    cut: list[str]


class OwnData(Endpoint[Database], at="/api/user/profile/data"):
    @login(name="exportOwnData")
    @logged("export own personal data", "EXPORT", keeps="nothing")
    @sends(JSON, of=PersonalData)
    async def on_get(self, context: RequestContext) -> Stream:
        """Export the caller's own personal data, without secrets and without data of other people.

        The session has a login of the last 15 minutes. API keys can't export.
        """
        name = attachment(f"personal-data-{now():%Y%m%dT%H%M%SZ}.json")
        return Stream(copy_of(self.part, context.user.user_id), JSON, {"Content-Disposition": name})


@shows(store_tables.Held)
class HeldRows(Schema):
    """The rows of a table that hold a person.

    `deleted` rows are deleted, in `redacted` rows the number replaces values, `kept` rows are under a seal.
    """


@shows(erasures.HeldEntries)
class HeldEntries(Schema):
    """The log entries that hold a person. `older` entries stay until `olderUntil`; null for ever.

    `plain` entries have a value in a change of another record, or in the path: this value stays.
    """


@shows(store_archives.Archive)
class Archive(Schema):
    """A file that can hold a person, and stays: a backup, an exported evidence archive, an uploaded file."""


@shows(store_persons.Erasure)
class Erasure(Schema):
    """An erasure; `endTime` is null while it runs. `authorId` is null for the operator."""


class ErasurePlan(Schema):
    """The rows, log entries and files that hold a person.

    `searched` are the values that texts are searched for. `shared` are those that others have too, or that
    are common words: they are erased only in rows of the number. `userName` is null for a deleted user.
    """

    user_id: Id
    user_name: str | None
    searched: list[str]
    shared: list[str]
    tables: list[HeldRows]
    logs: list[HeldEntries]
    archives: list[Archive]
    erasure: Erasure | None


class ErasureOrder(Schema):
    """The reason, for the operation log; it has no name or other value of the person."""

    reason: Annotated[str, bounds_of(REASON), Meta(min_length=1, examples=["Request of 12 November"])]


class Erased(Schema):
    """The erasure that has begun, and the rows that its first pass changed.

    `changed` is 0 too if the pass failed or took too long: the job goes on.
    """

    user_id: Id
    changed: int


class UserErasure(Endpoint[erasures.Erasures], at="/api/user/{id}/erasure"):
    @needs("system:user:erase", name="getErasurePlan", refuses=[NotFound], tagged=True, shows_more=True)
    @by_session(erasures.ERASE)
    async def on_get(self, context: RequestContext, id: int) -> ErasurePlan:
        """Preview the erasure of a user's personal data, also of a deleted user.

        Callers can't preview users with more permissions than their own. API keys can't erase.
        """
        plan = await self.part.plan(context.user, id)
        answer_tag(context, version_tag(plan.version))
        return _shown(plan)

    @needs(
        "system:user:erase",
        name="deletePersonalData",
        refuses=[NotFound, Conflict, PreconditionFailed],
    )
    @by_session(erasures.ERASE)
    @writes(
        "erase personal data",
        "DELETE",
        keeps="all",
        example={"reason": "Request of 12 November"},
        refuses_keys="a repeated request goes on with the erasure",
    )
    async def on_post(self, context: RequestContext, id: int, body: ErasureOrder) -> Erased:
        """Delete a user, and erase the personal data in tables and logs. Nothing can be restored.

        `If-Match` with the `ETag` of the preview is required. For ten minutes a job erases what requests in
        flight still write. Callers can't erase themselves or users with more permissions than their own.
        """
        if context.request.raw_header(b"if-match") is None:
            raise BadRequest(sentence("if_match_required"))
        match = unchanged(context)
        changed = await self.part.erase(context.write, id, body.reason, match, within=erasures.WITHIN)
        return Erased(id, changed)


def _shown(plan: erasures.Plan) -> ErasurePlan:
    return ErasurePlan(
        user_id=plan.user_id,
        user_name=plan.user_name,
        searched=[*plan.searched],
        shared=[*plan.shared],
        tables=[HeldRows.of(each) for each in plan.tables],
        logs=[HeldEntries.of(each) for each in plan.logs],
        archives=[Archive.of(each) for each in plan.archives],
        erasure=Erasure.of(plan.erasure) if plan.erasure else None,
    )


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    stores, parts = container.stores, container.administration
    routes.serve(OwnData(stores.database))
    passes = erasures.Passes.of(container.settings, stores.database, stores.sessions)
    days = retention(container.settings.oplog)
    erasing = erasures.Erasures(stores.database, parts.accounts, parts.delegation, passes, days)
    routes.serve(UserErasure(erasing))
