"""Changes of each policy revision: ``/api/policy/revisions``, ``diff``."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, field

from service.audit.seals import Authenticity, Judgement, RevisionSeals
from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.errors import (
    NotFound,
    RevisionUntrusted,
    ValidationFailed,
)
from service.features.explain.policy_layers import Access, access_answer
from service.features.explain.policy_questions import require_kept
from service.features.policy_history.causes import cause_of
from service.features.policy_history.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.feature import provided
from service.kernel.text import MAX_USER_NAME
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import PastPolicies, standing_of
from service.records.database.transactions import Connection, Database
from service.records.published import policy_history, policy_revisions
from service.records.published.policy_history import ALL, Part, PublishedLine
from service.records.published.policy_revisions import PolicyRevision, RevisionFilter
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageNumber,
    PageQuery,
    PartQuery,
    Revision,
    Schema,
    SentenceParams,
    stated_as,
)

SamePerson: TypeAlias = Callable[[Connection, int, int], Awaitable[Sentence | None]]
"""Returns why a user counts as an author of the changes of a revision; None if not."""

SharedLine = Annotated[str, Meta(examples=["p, resource, GET /api/report/{id}, report:detail"])]
Count = Annotated[int, Meta(ge=0, examples=[2])]


class SignOff(Schema, kw_only=True):
    """A sign-off of a revision: its author, title and note."""

    revision: Revision
    title: Annotated[str, Meta(examples=["reviewed 2026-Q4"])]
    note: str | None
    user_name: Annotated[str, Meta(examples=["kestrel"])]
    create_time: Moment


class PublishedRevision(Schema, kw_only=True):
    """A revision with its author, time, request and cause, and the numbers of added and removed lines.

    `userName` and `requestId` are `null` for a start and for commands. `added` and `removed` are `null` for
    revisions that an older version published, whose changes were not kept. `tampered` counts the stored
    lines and revisions that were changed or made directly in the database, and that this revision replaced.
    `authenticity` says whether the seal of the revision is right, and `distrust` what speaks against it.
    Clients translate `cause` and `distrust` by their codes and parameters; `other` is a cause without a code.
    """

    revision: Revision
    create_time: Moment
    user_name: Annotated[str, Meta(examples=["admin"])] | None
    request_id: str | None
    cause: Annotated[str, Meta(examples=["GET /api/report/{id} registered by admin"])]
    cause_code: Annotated[str, Meta(examples=["cause_by"])]
    cause_params: SentenceParams
    added: Count | None
    removed: Count | None
    tampered: Annotated[int, Meta(ge=0, examples=[0])]
    authenticity: Authenticity
    distrust: Annotated[str, Meta(examples=["its seal is not that of its content"])] | None
    distrust_code: Annotated[str, Meta(examples=["seal_differs"])] | None
    distrust_params: SentenceParams | None


def _published(revision: PolicyRevision, judgement: Judgement) -> PublishedRevision:
    """Return ``revision`` with the state of its seal from ``judgement``."""
    cause, distrust = cause_of(revision), judgement.reason
    return PublishedRevision.of(
        revision,
        cause_code=cause.code,
        cause_params=cause.params,
        authenticity=judgement.authenticity,
        **stated_as("distrust", distrust),
    )


Truncated = Annotated[bool, Meta(description="True if a next page has more lines.")]


class ListedRevision(PublishedRevision, kw_only=True):
    """A revision on the time axis, with its sign-offs."""

    sign_offs: list[SignOff]


class RevisionChanges(ListedRevision, kw_only=True):
    """A revision with the lines that it added and removed.

    These are `null` where they were not kept, and where they are not those that were published.
    """

    added_lines: list[SharedLine] | None
    removed_lines: list[SharedLine] | None
    truncated: Truncated


class ShownRevision(RevisionChanges, kw_only=True):
    """The same, with details for callers who may sign it off."""

    same_person: Annotated[
        str | None,
        Meta(
            description="The reason that the caller counts as an author of its changes, and may not sign it "
            "off; null without one."
        ),
    ]
    same_person_code: Annotated[str, Meta(examples=["same_person"])] | None
    same_person_params: SentenceParams | None


class LinesQuery(Schema):
    """Which of the lines are wanted: each page has up to `size` added and up to `size` removed ones."""

    page: PageNumber = 1
    size: Annotated[int, Meta(ge=1, le=1000, description="Lines of each kind on a page.")] = 1000

    @property
    def part(self) -> Part:
        """The lines of this page."""
        return Part(self.size, (self.page - 1) * self.size)


FirstRevision = Annotated[Revision, Meta(examples=[1])]


class DiffQuery(LinesQuery, kw_only=True):
    """The two revisions to compare, either may be the newer one; and which of the lines are wanted."""

    from_: FirstRevision = field(name="from")
    to: FirstRevision
    access: Annotated[
        bool, Meta(description="Also return the gained and lost access of users and roles.")
    ] = False
    access_size: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=1000,
                description="Members of each list of `access` on page `page`, and the most requests of a "
                "role among them; without it, all of them.",
            ),
        ]
        | None
    ) = None


class PolicyDiff(Schema):
    """The lines added from `from` to `to`, and those removed.

    `access` is null unless it was requested.
    """

    from_: Revision = field(name="from")
    to: Revision
    added_lines: list[SharedLine]
    removed_lines: list[SharedLine]
    truncated: Truncated
    access: Access | None


class RevisionQuery(PageQuery):
    """Limits on the time, and the user who asked for the change."""

    from_: Annotated[datetime, Meta(tz=True, description="Not before this time.")] | None = field(
        default=None, name="from"
    )
    to: Annotated[datetime, Meta(tz=True, description="Before this time.")] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME)] | None = None

    def __post_init__(self) -> None:
        if self.from_ is not None and self.to is not None and self.from_ >= self.to:
            raise ValidationFailed(("to", sentence("end_before_start")))

    @property
    def criteria(self) -> RevisionFilter:
        """The filter of the records."""
        return RevisionFilter(self.from_, self.to, self.user_name)


class RevisionList(Responders, at="/api/policy/revisions"):
    def __init__(self, database: Database, seals: RevisionSeals) -> None:
        self._database = database
        self._seals = seals

    @needs("system:policy:read", name="listRevisions")
    async def on_get(self, context: RequestContext, query: RevisionQuery) -> Page[ListedRevision]:
        """List the published revisions of the policy, newest first: all, or those of a time or a user."""
        async with self._database.snapshot() as connection:
            page = await policy_revisions.page(connection, query.criteria, page=query.page, size=query.size)
            await self._seals.learn(connection)
            signed = await signed_off(connection, [each.revision for each in page.items])
        items = []
        for revision in page.items:
            judged = _published(revision, self._seals.judge(revision))
            signs = signed[revision.revision]
            items.append(ListedRevision(**msgspec.structs.asdict(judged), sign_offs=signs))
        return Page(items=items, page=query.page, size=query.size, total=page.total)


class OneRevision(Responders, at="/api/policy/revisions/{revision}"):
    def __init__(self, database: Database, seals: RevisionSeals, signing: Sequence[SamePerson]) -> None:
        """``signing`` checks sign-offs of a revision; empty if sign-offs are off."""
        self._database = database
        self._seals = seals
        self._signing = signing

    @needs("system:policy:read", name="getRevision", refuses=[NotFound])
    async def on_get(self, context: RequestContext, query: LinesQuery, revision: Id) -> ShownRevision:
        """Read a revision of the policy, with the lines of the stored policy that it added and removed."""
        async with self._database.snapshot(within=policy_history.READ_WITHIN) as connection:
            stored = await policy_revisions.read(connection, revision)
            if stored is None:
                raise NotFound(sentence("no_such_revision"))
            changes = await changes_answer(connection, self._seals, stored, query.part)
            reasons = [await reason(connection, revision, context.user.user_id) for reason in self._signing]
            same = next(filter(None, reasons), None)
        return ShownRevision(**msgspec.structs.asdict(changes), **stated_as("same_person", same))


async def signed_off(connection: Connection, revisions: Collection[int]) -> dict[int, list[SignOff]]:
    """Return the sign-offs of each revision, as stored by features."""
    signed: dict[int, list[SignOff]] = {revision: [] for revision in revisions}
    for of_revisions in provided("sign-offs").values():
        for revision, stored in (await of_revisions(connection, revisions)).items():
            signed[revision] += map(SignOff.of, stored)
    return signed


async def changes_answer(
    connection: Connection, seals: RevisionSeals, revision: PolicyRevision, part: Part = ALL
) -> RevisionChanges:
    """Return the revision with ``part`` of its added and removed lines, if its seal is valid."""
    judgement = await seals.judged_with_lines(connection, revision)
    if revision.prior_revision is not None and judgement.is_trusted:
        prior = await policy_revisions.read(connection, revision.prior_revision)
        if prior is not None and not (await seals.judged_with_lines(connection, prior)).is_trusted:
            judgement = Judgement("forged", sentence("prior_revision_differs", revision=prior.revision))
    is_kept = revision.added is not None and judgement.is_trusted
    kept = await policy_history.changes_of(connection, revision.revision, part) if is_kept else None
    signed = await signed_off(connection, [revision.revision])
    return RevisionChanges(
        sign_offs=signed[revision.revision],
        **msgspec.structs.asdict(_published(revision, judgement)),
        added_lines=None if kept is None else _texts(kept.added),
        removed_lines=None if kept is None else _texts(kept.removed),
        truncated=kept is not None and kept.more,
    )


class Diff(Responders, at="/api/policy/diff"):
    def __init__(
        self, database: Database, live: LivePolicy, past: PastPolicies, concurrency: ConcurrencyLimit
    ) -> None:
        self._database = database
        self._live = live
        self._past = past
        self._concurrency = concurrency

    @needs("system:policy:read", name="compareRevisions", refuses=[RevisionUntrusted])
    async def on_get(self, context: RequestContext, query: DiffQuery) -> PolicyDiff:
        """Compare the stored policies of two revisions, and their decisions.

        With the model and the endpoint lines of this node, and the current roles and users.
        """
        async with self._concurrency.turn():
            async with self._database.snapshot(within=policy_history.READ_WITHIN) as connection:
                await require_kept(connection, "from", query.from_)
                await require_kept(connection, "to", query.to)
                await self._past.seals.require(connection, query.from_, query.to)
                changed_lines = await policy_history.difference(connection, query.from_, query.to, query.part)
                compared = await self._policies(connection, query) if query.access else None
            part = PartQuery(page=query.page, size=query.access_size)
            access = (
                None if compared is None else await self._concurrency.computed(access_answer, *compared, part)
            )
        return PolicyDiff(
            from_=query.from_,
            to=query.to,
            added_lines=_texts(changed_lines.added),
            removed_lines=_texts(changed_lines.removed),
            truncated=changed_lines.more,
            access=access,
        )

    async def _policies(self, connection: Connection, query: DiffQuery) -> tuple[Policy, Standing]:
        before, after = [await self._policy(connection, each) for each in (query.from_, query.to)]
        return before, await standing_of(after, connection)

    async def _policy(self, connection: Connection, revision: int) -> Policy:
        """Return the policy of a revision with all its lines, also those that have expired since."""
        live = self._live.current
        return live.after(0) if revision == live.revision else await self._past.of(connection, revision)


def _texts(lines: list[PublishedLine]) -> list[str]:
    return [str(line) for line in lines]
