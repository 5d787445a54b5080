"""Sign-offs of policy revisions, and the changes since a sign-off: ``/api/policy/changes``."""

from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import Meta

from service.administration import change_log
from service.audit.seals import RevisionSeals
from service.authz.engine.rules import ASSURANCE, REVIEW
from service.errors import NotFound, PermissionDenied, RevisionUntrusted, ValidationFailed
from service.features.explain.policy_questions import require_kept
from service.features.policy_history.api_revisions import LinesQuery, SharedLine, SignOff, Truncated
from service.features.reviews import store_sign_offs as sign_offs
from service.features.reviews.schema import NewSignOff
from service.features.reviews.schema import SignOff as StoredSignOff
from service.features.reviews.sentences import sentence
from service.features.reviews.sign_offs import SignOffs
from service.kernel.notify import Notices
from service.kernel.origin import FieldChange
from service.kernel.request_objects import sign_off_for
from service.kernel.value_rules import REASON, SHORT_LINE, bounds_of
from service.records import role_lives
from service.records.database.transactions import Connection, Database
from service.records.published import policy_history, policy_revisions
from service.records.role_lives import Life
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, by_session, needs, writes
from service.web.messages.record_schemas import Shown, shows
from service.web.messages.schema import Id, Moment, Revision, Schema, moment

MOST_NOTIFIED: Final = 100
"""The maximum number of authors notified about a sign-off."""
_DEMAND: Final = f"p, {ASSURANCE}, "


class SignOffBody(Schema, kw_only=True):
    """The title and note of a sign-off."""

    title: Annotated[str, bounds_of(SHORT_LINE), Meta(examples=["reviewed 2026-Q4"])]
    note: Annotated[str, bounds_of(REASON), Meta(examples=["Two findings, both accepted"])] | None = None


class RevisionSignOff(Responders, at="/api/policy/revisions/{revision}/sign-off"):
    def __init__(self, database: Database, seals: RevisionSeals, signing: SignOffs, notices: Notices) -> None:
        self._database = database
        self._seals = seals
        self._signing = signing
        self._notices = notices

    @needs("system:policy:sign-off", name="signOffRevision", refuses=[NotFound, RevisionUntrusted])
    @by_session("sign-off")
    @writes("sign off", "INSERT", example={"title": "reviewed 2026-Q4"}, refuses_keys="each sign-off counts")
    async def on_post(self, context: RequestContext, body: SignOffBody, revision: Id) -> SignOff:
        """Sign off a revision, which records that the caller has examined it.

        The revision must be unchanged since its publication. The changes since the last sign-off must not be
        the caller's own. A sign-off is kept for ever, and is on the time axis. The authors of the changes are
        notified.
        """
        texts = (("title", SHORT_LINE, body.title), ("note", REASON, body.note or ""))
        if faults := [(name, fault) for name, rule, text in texts if (fault := rule(text))]:
            raise ValidationFailed(*faults)
        async with self._database.transaction(context.write) as connection:
            if await policy_revisions.read(connection, revision) is None:
                raise NotFound(sentence("no_such_revision"))
            await self._seals.require(connection, revision)
            same = await self._signing.same_person(connection, revision, context.user.user_id)
            decision = context.decide(REVIEW, sign_off_for("others" if same is None else "self"))
            if not decision.allowed:
                why = sentence("sign_off_not_allowed")
                if same is not None:
                    why = sentence("sign_off_not_allowed_since", why=same)
                raise PermissionDenied(why, decision)
            new = NewSignOff(
                revision=revision,
                title=body.title,
                note=body.note,
                user_id=context.user.user_id,
                user_name=context.user.user_name,
            )
            authors = await self._signing.authors(connection, revision)
            made = await sign_offs.create(connection, new)
            facts = {"revision": str(revision), "title": body.title}
            notified = sorted(authors)[:MOST_NOTIFIED]
            await self._notices.notify_each(connection, notified, "policy_signed_off", "administrator", facts)
            change = FieldChange(f"policy:{revision}", "signOff", None, body.title)
            change_log.saving([change])
        change_log.saved([change])
        return SignOff.of(made)


class ChangesQuery(LinesQuery, kw_only=True):
    """Since which revision; without it, since the caller's last sign-off. Pages are of each list."""

    since: Revision | None = None


class ChangedGrant(Schema):
    """A code added to a role or removed from it."""

    change: Literal["given", "taken"]
    at: Moment
    role_code: Annotated[str, Meta(examples=["auditor"])]
    code: Annotated[str, Meta(examples=["system:user:list"])]


@shows(sign_offs.ChangedAssignment, valid_from="from", valid_until="until")
class ChangedAssignment(Shown, kw_only=True):
    """A created, edited or ended assignment."""


class PolicyChanges(Schema, kw_only=True):
    """The changes from a revision to `to`: lines, codes of roles, assignments, demands.

    `signOff` is the caller's last one, where the comparison begins; null if the query names a revision.
    Grants and assignments count from `sinceTime`, the time of the sign-off or the revision.
    """

    since: Revision
    since_time: Moment
    to: Revision
    sign_off: SignOff | None
    added_lines: list[SharedLine]
    removed_lines: list[SharedLine]
    added_demands: list[SharedLine]
    removed_demands: list[SharedLine]
    grants: list[ChangedGrant]
    assignments: list[ChangedAssignment]
    truncated: Truncated


class ChangesSince(Responders, at="/api/policy/changes"):
    def __init__(self, database: Database, seals: RevisionSeals) -> None:
        self._database = database
        self._seals = seals

    @needs("system:policy:read", name="getPolicyChanges", refuses=[RevisionUntrusted])
    async def on_get(self, context: RequestContext, query: ChangesQuery) -> PolicyChanges:
        """Read all changes since the caller's last sign-off, or since a revision."""
        async with self._database.snapshot(within=policy_history.READ_WITHIN) as connection:
            mine = await sign_offs.last_of(connection, context.user.user_id) if query.since is None else None
            if mine is None and query.since is None:
                raise ValidationFailed(("since", sentence("no_sign_off")))
            return await changes_since(connection, self._seals, query, mine)


async def changes_since(
    connection: Connection, seals: RevisionSeals, query: ChangesQuery, mine: StoredSignOff | None
) -> PolicyChanges:
    """Return the changes since the sign-off ``mine``, or without it since the revision of ``query``.

    Raises ``ValidationFailed`` if that revision is no longer kept, ``NotFound`` if it does not exist, and
    ``RevisionUntrusted``.
    """
    since = query.since if mine is None else mine.revision
    assert since is not None  # noqa: S101 - one of both names it
    await require_kept(connection, "since", since)
    latest = await policy_revisions.latest(connection)
    to = since if latest is None else latest.revision
    await seals.require(connection, since, to)
    at = await _time(connection, since) if mine is None else mine.create_time
    size, offset = query.part
    assert size is not None  # noqa: S101 - the query has one
    lines = await policy_history.difference(connection, since, to, query.part)
    lives = (await role_lives.changed(connection, at))[offset : offset + size + 1]
    assigned = await sign_offs.changed_assignments(connection, at, size=size + 1, offset=offset)
    added, removed = ([str(line) for line in each] for each in (lines.added, lines.removed))
    return PolicyChanges(
        since=since,
        since_time=moment(at),
        to=to,
        sign_off=None if mine is None else SignOff.of(mine),
        added_lines=[line for line in added if not line.startswith(_DEMAND)],
        removed_lines=[line for line in removed if not line.startswith(_DEMAND)],
        added_demands=[line for line in added if line.startswith(_DEMAND)],
        removed_demands=[line for line in removed if line.startswith(_DEMAND)],
        grants=[_grant(life) for life in lives[:size]],
        assignments=[ChangedAssignment.of(each) for each in assigned[:size]],
        truncated=lines.more or len(lives) > size or len(assigned) > size,
    )


async def _time(connection: Connection, revision: int) -> datetime:
    stored = await policy_revisions.read(connection, revision)
    if stored is None:
        raise NotFound(sentence("no_such_revision"))
    return stored.create_time


def _grant(life: Life) -> ChangedGrant:
    given = life.end_time is None
    at = life.begin_time if life.end_time is None else life.end_time
    return ChangedGrant("given" if given else "taken", moment(at), life.role_code, life.code)
