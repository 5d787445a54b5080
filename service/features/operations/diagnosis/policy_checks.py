"""Checks that the policy in force is the one derived from the files and the records."""

import asyncio
from datetime import UTC, datetime, timedelta

from service.administration.people import People
from service.audit.chain.seals import seals_of
from service.authz.publishing.derive import covered_by
from service.authz.publishing.invariant_guard import broken_invariants
from service.authz.publishing.publisher import derived_policy, drift
from service.authz.publishing.shipped import configured
from service.authz.publishing.sync import differences
from service.installation import changed_files
from service.kernel.about import DISTRIBUTION
from service.kernel.feature import off_by
from service.kernel.operator_error import FaultsError
from service.kernel.permission_catalogue import permissions
from service.laboratory.analysis.sources import standing_of
from service.laboratory.findings.approver_findings import approver_findings
from service.laboratory.findings.request_findings import request_findings
from service.laboratory.findings.stored_findings import unmet_demands
from service.operator.findings import Finding, Installation, fault, few, ok, warning
from service.records import role_holdings
from service.records.installation import seed_catalogue
from service.records.installation.feature_rows import rows_in_need
from service.records.installation.migrate import unmigrated
from service.records.installation.seed_catalogue import describe_additions
from service.records.published import bit_positions, policy_revisions, policy_workers

_SHIPPED = "service/shipped/"
_LATELY = timedelta(days=30)
_HIGH = 8_192  # bits: 1.4 kB of a token, of which a cookie holds 4 kB


def policy_files(installation: Installation) -> Finding:
    """A start with a faulty model or line is refused."""
    try:
        shipped = configured(installation.settings)
        installation.routes(shipped)
    except FaultsError as wrong:
        return fault("; ".join(wrong.faults), "portcullis policy check lists them")
    return ok(f"model and {shipped.counted} lines match the code")


def shipped_files(_installation: Installation) -> Finding:
    """Edits inside the package were not reviewed, and the next update overwrites them."""
    changed = changed_files(DISTRIBUTION, _SHIPPED)
    if changed is None:
        return ok("the service runs from a checkout, which has no file list")
    if not changed:
        return ok("model and lines are unchanged since installation")
    return fault(
        f"changed since installation: {few(changed)}",
        "install the package again; put your own files in policy.model and policy.folder",
    )


async def published_policy(installation: Installation) -> Finding:
    """The policy that decides requests must be the one that a reviewer would derive."""
    async with installation.records() as connection:
        difference = await drift(connection, installation.in_force)
        latest = await policy_revisions.latest(connection)
    if difference or latest is None:
        return fault(
            difference or "no policy has been published",
            "publish it again: send POST /api/policy/reload, or restart the service",
        )
    return ok(f"revision {latest.revision}, {latest.line_count} lines, up to date")


async def invariants(installation: Installation) -> Finding:
    """A broken statement does not protect until its violation is corrected."""
    stated = installation.policy.invariants
    async with installation.records() as connection:
        policy = await derived_policy(connection, installation.policy, installation.in_force)
        broken = await broken_invariants(connection, stated, policy)
    if not broken and (missing := stated.unlisted):
        return warning(
            f"{len(stated.statements)} statements hold, but the complete lists of open requests are "
            f"missing: {', '.join(missing)}",
            "add the lists of the shipped file to invariants.yaml of policy.folder",
        )
    if not broken:
        return ok(f"{len(stated.statements)} statements hold")
    return fault(
        few(map(str, broken), separator="; "),
        "correct the named objects or the statement; changes that violate it further are refused",
    )


async def policy_workers_agree(installation: Installation) -> Finding:
    """A worker that can't load the newest revision decides by an old one."""
    async with installation.records() as connection:
        latest = await policy_revisions.latest(connection)
        present = await policy_workers.present(connection)
    newest = latest.revision if latest else 0
    behind = [worker for worker in present if worker.fault or worker.revision < newest]
    if not behind:
        return ok(f"{len(present)} workers use revision {newest}" if present else "no worker is running")
    late = few(
        f"{worker.worker} with {worker.revision}{f' ({worker.fault})' if worker.fault else ''}"
        for worker in behind
    )
    return warning(
        f"{len(behind)} of {len(present)} do not use revision {newest}: {late}",
        "restart these nodes with the same version and settings",
    )


async def static_policies_agree(installation: Installation) -> Finding:
    """Nodes with another model or other endpoint lines decide otherwise by the same revision."""
    own, allowed = installation.policy.digest, installation.settings.policy.own_digests
    async with installation.records() as connection:
        present = await policy_workers.present(connection)
    others = [worker for worker in present if worker.own_digest != own]
    if not others:
        return ok(
            (f"{len(present)} workers use the static policy {own[:8]}")
            if present
            else f"static policy {own[:8]}"
        )
    named = few(f"{worker.worker} by {(worker.own_digest or 'none')[:8]}" for worker in others)
    message = f"{len(others)} of {len(present)} do not use the static policy {own[:8]}: {named}"
    strangers = [worker for worker in others if worker.own_digest not in allowed]
    if allowed and not strangers:
        return ok(f"{message}; policy.own_digests lists all of them")
    hint = "restart these nodes with the same version, settings (including policy.assurance) and policy files"
    return (
        fault(f"{message}; policy.own_digests does not list it", hint) if allowed else warning(message, hint)
    )


async def demands_met(installation: Installation) -> Finding:
    """A holder of a code is refused until the user has a factor as strong as demanded."""
    async with installation.records() as connection:
        policy = await derived_policy(connection, installation.policy, installation.in_force)
        standing = await standing_of(policy, connection)
        strengths = await role_holdings.persons_by_strength(connection)
    unmet = await asyncio.to_thread(lambda: [*unmet_demands(standing, strengths)])
    if not unmet:
        return ok("all users can meet the authentication demands of their permissions")
    named = few((f"roles {finding.place}: {finding.reason}" for finding in unmet), separator="; ")
    return warning(named, "ask these users to enrol a factor: docs/guides/second-factors.md")


async def request_rules(installation: Installation) -> Finding:
    """A role without eligible approvers can't be granted; a rule may let one person alone grant a role."""
    async with installation.records() as connection:
        policy = await derived_policy(connection, installation.policy, installation.in_force)
        persons = await standing_of(policy, connection, kind="person")
        people = People(installation.policy.takeover_days)
        alike = await approver_findings(connection, persons, people, datetime.now(UTC))
    asked = await asyncio.to_thread(request_findings, persons, installation.policy.invariants)
    findings = [*asked, *alike]
    if not findings:
        return ok("all requestable roles can be approved without violating invariants")
    named = few((f"{finding.place}: {finding.reason}" for finding in findings), separator="; ")
    return warning(named, "change the request rule, or the holders of the codes of its stages")


async def tampering(installation: Installation) -> Finding:
    """Lines changed without the service never decide, but show an attempt."""
    async with installation.records() as connection:
        tampered = await policy_revisions.tamperings(connection)
    lately = [revision for revision in tampered if revision.create_time > datetime.now(UTC) - _LATELY]
    if not lately:
        return ok(f"no stored line was changed directly in the database in {_LATELY.days} days")
    last = lately[-1]
    return warning(
        f"{len(lately)} revisions in {_LATELY.days} days replaced lines or revisions that were changed "
        f"directly in the database; the last is {last.revision}, with {last.tampered} of them",
        "find out what else writes to sys.casbin_rule and sys.policy_revision",
    )


async def seals(installation: Installation) -> Finding:
    """Without a seal, write access to the database is enough to publish a policy."""
    made = seals_of(installation.settings.oplog)
    async with installation.records() as connection:
        latest = await policy_revisions.latest(connection)
        if latest is None:
            return ok("no policy has been published")
        judgement, present = await made.judged(connection, latest), await policy_workers.present(connection)
    if not judgement.is_trusted:
        return fault(
            f"revision {latest.revision} is not trusted: {judgement.reason}",
            "set the same keys as on the other nodes, then run 'portcullis policy republish'",
        )
    if not made.key_ids:
        return ok(f"any revision is trusted, including {latest.revision}: oplog.chain_key is not set")
    if made.sealed_from is not None:
        return ok(f"revision {latest.revision} is sealed; all revisions since {made.sealed_from} must be")
    without = [worker.worker for worker in present if made.key_ids and not made.can_all_seal([worker])]
    named = f": {few(without)} can't create seals" if without else ""
    return warning(
        f"revisions without a seal are trusted{named}",
        "start all nodes with this version and the same oplog.chain_key",
    )


async def extensions(installation: Installation) -> Finding:
    """An extension whose tables are older than its code fails in its requests."""
    named = installation.policy.extensions
    if not named:
        return ok("none")
    async with installation.records() as connection:
        behind = await connection.run_sync(unmigrated, named)
    if behind:
        return fault(f"the tables of {', '.join(behind)} are not up to date", "portcullis db migrate")
    return ok(f"{', '.join(extension.name for extension in named)}, with tables up to date")


async def features_off(installation: Installation) -> Finding:
    """Stored data of a disabled feature may stay in effect without the feature serving it."""
    off = installation.settings.features.off
    if not off:
        return ok("all are on")
    async with installation.records() as connection:
        needed = await rows_in_need(connection, off)
    if needed:
        return fault("; ".join(needed), "remove the feature from features.off, or follow the message")
    return ok(f"off: {', '.join(feature.name for feature in off_by(off))}")


async def permission_codes(installation: Installation) -> Finding:
    """A code that no Button carries can be given to users only by a wildcard."""
    covered, extensions = covered_by(installation.policy.model_text), installation.policy.extensions
    async with installation.records() as connection:
        additions = await connection.run_sync(seed_catalogue.pending, covered, extensions)
        lacking = await connection.run_sync(seed_catalogue.lacking, extensions)
    if additions:
        return warning(" ".join(describe_additions(additions)), "start the service to add them")
    if lacking:
        return warning(
            f"no enabled Button has {', '.join(lacking)}: only wildcards grant it",
            "create or enable a Button with the code, or accept that only holders of a wildcard have it",
        )
    return ok(f"each of the {len(permissions(installation.policy.catalogue))} codes has an enabled Button")


async def permission_bits(installation: Installation) -> Finding:
    """A token grows with the highest bit position, and must fit into a cookie and a header."""
    async with installation.records() as connection:
        positions = await bit_positions.overview(connection)
    highest = -1 if positions.highest is None else positions.highest
    message = f"the highest bit position is {highest}; {positions.waiting} are waiting to be released"
    if highest < _HIGH:
        return ok(message)
    return warning(
        message,
        "find the author of the permission code changes in the operation log (module menu), and stop them",
    )


async def routes(installation: Installation) -> Finding:
    """A route that is not registered is decided by the endpoint layer alone, or refused."""
    shipped = installation.policy
    known = installation.routes(shipped)
    async with installation.records() as connection:
        difference = await differences(connection, known, shipped.absent)
    problems = []
    missing = len(difference.proposed) + len(difference.unbindable)
    if missing and not shipped.leaves_unregistered:
        problems.append(
            f"{missing} routes are not registered, and therefore closed to everyone (policy.unregistered)"
        )
    if stray := difference.unrouted:
        problems.append(
            f"{len(stray)} resources match no route, for example {stray[0].method} {stray[0].path}"
        )
    if problems:
        return warning(
            "; ".join(problems),
            "portcullis policy sync registers missing routes, and lists resources without a route",
        )
    if missing:
        return ok(f"{missing} are not registered: the endpoint layer decides them by their codes")
    return ok(f"all {len(known)} are registered, or public")
