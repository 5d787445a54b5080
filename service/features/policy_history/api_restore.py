"""Restore of a past policy revision: ``/api/policy/revisions/{revision}/restore``."""

from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound, PreconditionFailed, RateLimited, RevisionUntrusted
from service.features.policy_history.restore import PolicyRestore
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import MadeEdit
from service.web.messages.operation_metadata import by_session, needs, writes
from service.web.messages.preconditions import require_match, version_tag
from service.web.messages.schema import Id, Revision, Schema


class RestoredRevision(Schema):
    """The edits, and the policy revision that has the change."""

    edits: list[MadeEdit]
    policy_revision: Revision


class Restore(Endpoint[PolicyRestore], at="/api/policy/revisions/{revision}/restore"):
    @needs(
        "system:policy:restore",
        name="restoreRevision",
        refuses=[NotFound, Conflict, RevisionUntrusted, PreconditionFailed, RateLimited],
    )
    @by_session("change-access")
    @writes("restore", "UPDATE", dry_run=True, publishes=True)
    async def on_post(self, context: RequestContext, revision: Id) -> RestoredRevision:
        """Restore the shared lines of a past revision, in a new revision.

        All edits of resources, bindings and Buttons are made, or none. Callers need the rights for each edit.
        `cannotReturn` of a 409 names the edits that are impossible. `If-Match` may name the revision in force
        (`"12"`), such as that of a dry run: 412 for an outdated one.
        """
        done = await self.part.restore(
            context.write, revision, lambda newest: require_match(context, version_tag(newest))
        )
        context.policy = done.policy
        return RestoredRevision(
            edits=[MadeEdit.of(edit) for edit in done.edits], policy_revision=done.policy.revision
        )
