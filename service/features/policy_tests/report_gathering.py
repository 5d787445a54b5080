"""Gather the contents of a report, with the code of the other ``portcullis policy`` commands."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from service.audit.seals import RevisionSeals, seals_of
from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyFileError
from service.authz.publishing.publisher import derived_policy, drift
from service.authz.publishing.shipped import Shipped, configured
from service.features.explain.api_who_may import OpenRequest, openings_answer
from service.features.explain.policy_layers import Access, access_answer
from service.features.policy_checks.guard import broken_invariants
from service.features.policy_history.api_revisions import RevisionChanges
from service.features.policy_history.revision_log import RightsChange, read_log
from service.laboratory.analysis import sources
from service.laboratory.analysis.impact import LineDiff, Standing, line_diff
from service.laboratory.findings.findings import Accepted
from service.laboratory.invariants.checking import Violation, check
from service.laboratory.reporting.linting import Linted, lint
from service.laboratory.tested import Tested, tested
from service.operator.database import with_database
from service.records.database.transactions import Connection, Database
from service.records.published import policy_revisions
from service.records.published.policy_revisions import PolicyRevision, RevisionFilter
from service.settings import Settings
from service.web.messages.schema import WHOLE_LIST, PageQuery


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences from the revision ``since``, their effects, and later revisions, newest first.

    ``rights`` are later changes of roles and assignments, which publish no revision.
    """

    since: PolicyRevision
    lines: LineDiff
    access: Access
    revisions: tuple[RevisionChanges, ...]
    rights: tuple[RightsChange, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Contents of a database; ``drift`` are differences between published and registered policy."""

    standing: Standing
    published: PolicyRevision
    drift: str | None
    changes: Changes | None


@dataclass(frozen=True, slots=True)
class Reported:
    """The contents of a report; ``stored`` is None if only files were read; ``source`` names them.

    ``assurance`` names the file of the shipped demands.

    ``at`` is the instant of the policy, the roles, the users and public access; None is now. Findings, tests
    and invariants are the current ones.

    ``unchecked`` are the names of invariants about roles, which need a database.
    """

    source: str
    made: datetime
    assurance: str
    shipped: Shipped
    policy: Policy
    openings: tuple[OpenRequest, ...]
    linted: Linted
    tested: Tested
    violations: tuple[Violation, ...]
    unchecked: tuple[str, ...]
    stored: Stored | None
    at: datetime | None = None


def gather(
    settings: Settings,
    accepted: Accepted,
    since: int | None,
    source: str,
    *,
    at: datetime | None = None,
    stored: bool,
    mutate: bool,
) -> Reported:
    """Return the contents of a report: with the ``stored`` policy, roles and users, or from files only.

    ``source`` is the display name of the source.

    Raises ``PolicyError``, also for an unknown revision ``since`` and if the policy changes meanwhile;
    ``SchemaError`` and ``Unavailable``; and ValidationFailed if the assignments at ``at`` are unknown.
    """
    if at is not None and not stored:
        raise PolicyFileError("--at needs a database: set it by --data or the settings")
    if since is not None and not stored:
        raise PolicyFileError("--since needs a database: set it by --data or the settings")
    past = sources.PastPolicies(configured(settings), seals_of(settings.oplog))
    shipped = past.shipped
    results = tested(settings, (), coverage=True, mutate=mutate)
    linted = lint(settings, accepted, stored=stored)
    contents: Stored | None = None
    if stored:

        async def read(database: Database) -> tuple[Policy, Stored, tuple[Violation, ...]]:
            return await _stored(database, past, since, at)

        policy, contents, violations = with_database(settings, read)
        unchecked: tuple[str, ...] = ()
    else:
        policy = asyncio.run(sources.read_policy(sources.source_named(sources.SHIPPED), past, None))
        checked = check(shipped.invariants, policy)
        violations, unchecked = checked.violations, tuple(statement.name for statement in checked.unchecked)
    return Reported(
        source=source,
        made=datetime.now(UTC),
        assurance=settings.policy.assurance,
        shipped=shipped,
        policy=policy,
        openings=tuple(openings_answer(policy, PageQuery(page=1, size=WHOLE_LIST)).items),
        linted=linted,
        tested=results,
        violations=violations,
        unchecked=unchecked,
        stored=contents,
        at=at,
    )


async def _stored(
    database: Database, past: sources.PastPolicies, since: int | None, at: datetime | None
) -> tuple[Policy, Stored, tuple[Violation, ...]]:
    policy = await sources.read_policy(sources.source_named(sources.LIVE), past, database)
    async with database.snapshot(within=sources.READ_WITHIN) as connection:
        published = await policy_revisions.latest(connection)
        if published is None or published.revision != policy.revision:
            raise PolicyFileError("The policy was changed while the report was created: try again")
        violations = await broken_invariants(connection, past.shipped.invariants, policy)
        instant = await sources.instant_of(connection, at)
        policy = await past.at(connection, policy, instant)
        standing = await sources.standing_of(policy, connection, instant)
        differs = await drift(connection, await derived_policy(connection, past.shipped))
        before = None if since is None else await _before(connection, past, since)
    changes = None if before is None else await _changes(database, past.seals, *before, standing)
    return policy, Stored(standing, published, differs, changes), violations


async def _before(
    connection: Connection, past: sources.PastPolicies, since: int
) -> tuple[PolicyRevision, Policy]:
    policy = await sources.past_policy(connection, past, since)
    revision = await policy_revisions.read(connection, since)
    if revision is None:
        raise PolicyFileError(f"There is no revision {since}")
    return revision, policy


async def _changes(
    database: Database, seals: RevisionSeals, since: PolicyRevision, before: Policy, standing: Standing
) -> Changes:
    log = await read_log(database, seals, RevisionFilter(since.create_time))
    return Changes(
        since=since,
        lines=line_diff(before, standing.policy),
        access=access_answer(before, standing),
        revisions=tuple(revision for revision in log.revisions if revision.revision > since.revision),
        rights=tuple(log.rights),
    )
