"""Checks that the policy in force is the one derived from the files and the records."""

import asyncio
from datetime import UTC, datetime, timedelta

from service.administration.people import People
from service.audit.seals import seals_of
from service.authz.engine.rules import REQUEST
from service.authz.publishing.derive import covered_by
from service.authz.publishing.publisher import drift
from service.authz.publishing.shipped import configured
from service.authz.publishing.sync import differences
from service.features.operations.sentences import sentence
from service.features.policy_checks.guard import broken_invariants
from service.installation import changed_files
from service.kernel.about import DISTRIBUTION
from service.kernel.coded_sentences import Sentence
from service.kernel.feature import off_by
from service.kernel.operator_error import FaultsError
from service.kernel.permission_catalogue import permissions
from service.kernel.text import printable
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import standing_of
from service.laboratory.findings.approver_findings import approver_findings
from service.laboratory.findings.request_findings import request_findings
from service.laboratory.findings.stored_findings import unmet_demands
from service.operator.findings import Finding, Installation, fault, few, few_of, ok, warning
from service.records import role_holdings
from service.records.installation import seed_catalogue
from service.records.installation.feature_rows import rows_in_need
from service.records.installation.migrate import unmigrated
from service.records.installation.seed_catalogue import describe_additions
from service.records.published import bit_positions, policy_revisions, policy_workers
from service.records.published.policy_workers import PolicyWorker

_SHIPPED = "service/shipped/"
_LATELY = timedelta(days=30)
_HIGH = 8_192  # bits: 1.4 kB of a token, of which a cookie holds 4 kB


def policy_files(installation: Installation) -> Finding:
    """A start with a faulty model or line is refused."""
    try:
        shipped = installation.shipped or configured(installation.settings)  # to name the faults
        installation.routes(shipped)
    except FaultsError as wrong:
        return fault("; ".join(wrong.faults), "portcullis policy check lists them")
    return ok(f"model and {shipped.counted} lines match the code")


def shipped_files(_installation: Installation) -> Finding:
    """Edits inside the package were not reviewed, and the next update overwrites them."""
    changed = changed_files(DISTRIBUTION, _SHIPPED)
    if changed is None:
        return ok(sentence("files_of_checkout"))
    if not changed:
        return ok(sentence("files_unchanged"))
    return fault(
        sentence("files_changed", files=few(changed)),
        sentence("install_again"),
    )


async def published_policy(installation: Installation) -> Finding:
    """The policy that decides requests must be the one that a reviewer would derive."""
    async with installation.records() as connection:
        difference = await drift(connection, await installation.derived(connection))
        latest = await policy_revisions.latest(connection)
    if difference or latest is None:
        return fault(
            sentence("policy_differs", difference=difference)
            if difference
            else sentence("policy_unpublished"),
            sentence("publish_again"),
        )
    return ok(sentence("policy_up_to_date", revision=latest.revision, lines=latest.line_count))


async def invariants(installation: Installation) -> Finding:
    """A broken statement does not protect until its violation is corrected."""
    stated = installation.policy.invariants
    async with installation.records() as connection:
        policy = await installation.derived(connection)
        broken = await broken_invariants(connection, stated, policy)
    if not broken and (missing := stated.unlisted):
        return warning(
            sentence("invariants_unlisted", count=len(stated.statements), missing=missing),
            sentence("list_open_requests"),
        )
    if not broken:
        return ok(sentence("invariants_hold", count=len(stated.statements)))
    return fault(
        sentence("invariants_broken", invariants=few(map(str, broken), separator="; ")),
        sentence("mend_invariants"),
    )


def _behind(worker: PolicyWorker) -> Sentence:
    stated = {"worker": printable(worker.worker), "revision": worker.revision}
    if worker.fault is None:
        return sentence("worker_behind", **stated)
    return sentence("worker_faulty", fault=worker.stated_fault, **stated)


async def policy_workers_agree(installation: Installation) -> Finding:
    """A worker that can't load the newest revision decides by an old one."""
    async with installation.records() as connection:
        latest = await policy_revisions.latest(connection)
        present = await policy_workers.present(connection)
    newest = latest.revision if latest else 0
    behind = [worker for worker in present if worker.fault or worker.revision < newest]
    if not behind:
        return ok(
            sentence("workers_agree", count=len(present), revision=newest)
            if present
            else sentence("no_worker")
        )
    late = few_of(map(_behind, behind))
    return warning(
        sentence("workers_behind", count=len(behind), all=len(present), revision=newest, workers=late),
        sentence("restart_nodes"),
    )


async def static_policies_agree(installation: Installation) -> Finding:
    """Nodes with another model or other endpoint lines decide otherwise by the same revision."""
    own, allowed = installation.policy.digest, installation.settings.policy.own_digests
    async with installation.records() as connection:
        present = await policy_workers.present(connection)
    others = [worker for worker in present if worker.own_digest != own]
    if not others:
        return ok(
            sentence("static_policy_shared", count=len(present), digest=own[:8])
            if present
            else sentence("static_policy", digest=own[:8])
        )
    differing = {
        "count": len(others),
        "all": len(present),
        "digest": own[:8],
        "workers": few(f"{worker.worker} by {(worker.own_digest or 'none')[:8]}" for worker in others),
    }
    strangers = [worker for worker in others if worker.own_digest not in allowed]
    if allowed and not strangers:
        return ok(sentence("static_policies_listed", **differing))
    hint = sentence("same_policy_files")
    if allowed:
        return fault(sentence("static_policies_unlisted", **differing), hint)
    return warning(sentence("static_policies_differ", **differing), hint)


async def demands_met(installation: Installation) -> Finding:
    """A holder of a code is refused until the user has a factor as strong as demanded."""
    async with installation.records() as connection:
        policy = await installation.derived(connection)
        standing = Standing(policy, await role_holdings.read_codes(connection), {})
        strengths = await role_holdings.persons_by_strength(connection)
    unmet = await asyncio.to_thread(lambda: [*unmet_demands(standing, strengths)])
    if not unmet:
        return ok(sentence("demands_met"))
    named = few((f"roles {finding.place}: {finding.reason}" for finding in unmet), separator="; ")
    return warning(sentence("demands_unmet", roles=named), sentence("enrol_factors_of_users"))


async def request_rules(installation: Installation) -> Finding:
    """A role without eligible approvers can't be granted; a rule may let one person alone grant a role."""
    async with installation.records() as connection:
        policy = await installation.derived(connection)
        if not policy.rules.objects(REQUEST):
            return ok(sentence("request_rules_fine"))
        persons = await standing_of(policy, connection, kind="person")
        people = People(installation.policy.takeover_days)
        alike = await approver_findings(connection, persons, people, datetime.now(UTC))
    asked = await asyncio.to_thread(request_findings, persons, installation.policy.invariants)
    findings = [*asked, *alike]
    if not findings:
        return ok(sentence("request_rules_fine"))
    named = few((f"{finding.place}: {finding.reason}" for finding in findings), separator="; ")
    return warning(sentence("request_rules_stuck", rules=named), sentence("change_request_rule"))


async def tampering(installation: Installation) -> Finding:
    """Lines changed without the service never decide, but show an attempt."""
    async with installation.records() as connection:
        tampered = await policy_revisions.tamperings(connection)
    lately = [revision for revision in tampered if revision.create_time > datetime.now(UTC) - _LATELY]
    if not lately:
        return ok(sentence("no_tampering", days=_LATELY.days))
    last = lately[-1]
    return warning(
        sentence(
            "tampering_repaired",
            count=len(lately),
            days=_LATELY.days,
            revision=last.revision,
            lines=last.tampered,
        ),
        sentence("find_writer"),
    )


async def seals(installation: Installation) -> Finding:
    """Without a seal, write access to the database is enough to publish a policy."""
    made = seals_of(installation.settings.oplog)
    async with installation.records() as connection:
        latest = await policy_revisions.latest(connection)
        if latest is None:
            return ok(sentence("policy_unpublished"))
        judgement, present = await made.judged(connection, latest), await policy_workers.present(connection)
    if not judgement.is_trusted:
        return fault(
            sentence("revision_not_trusted", revision=latest.revision, reason=judgement.reason or ""),
            sentence("set_same_keys"),
        )
    if not made.key_ids:
        return ok(sentence("seals_off", revision=latest.revision))
    if made.sealed_from is not None:
        return ok(sentence("revision_sealed", revision=latest.revision, since=made.sealed_from))
    without = [worker.worker for worker in present if made.key_ids and not made.can_all_seal([worker])]
    return warning(
        sentence("workers_without_seals", workers=few(without)) if without else sentence("unsealed_trusted"),
        sentence("seal_everywhere"),
    )


async def extensions(installation: Installation) -> Finding:
    """An extension whose tables are older than its code fails in its requests."""
    named = installation.policy.extensions
    if not named:
        return ok(sentence("no_extension"))
    async with installation.records() as connection:
        behind = await connection.run_sync(unmigrated, named)
    if behind:
        return fault(
            sentence("extension_tables_old", extensions=behind),
            sentence("run_command", command="portcullis db migrate"),
        )
    return ok(sentence("extensions_fine", extensions=[extension.name for extension in named]))


async def features_off(installation: Installation) -> Finding:
    """Stored data of a disabled feature may stay in effect without the feature serving it."""
    off = installation.settings.features.off
    if not off:
        return ok(sentence("all_features_on"))
    async with installation.records() as connection:
        needed = await rows_in_need(connection, off)
    if needed:
        return fault(sentence("features_needed", features="; ".join(needed)), sentence("turn_feature_on"))
    return ok(sentence("features_off", features=[feature.name for feature in off_by(off)]))


async def permission_codes(installation: Installation) -> Finding:
    """A code that no Button carries can be given to users only by a wildcard."""
    covered, extensions = covered_by(installation.policy.model_text), installation.policy.extensions
    async with installation.records() as connection:
        additions = await connection.run_sync(seed_catalogue.pending, covered, extensions)
        lacking = await connection.run_sync(seed_catalogue.lacking, extensions)
    if additions:
        return warning(
            sentence("codes_to_add", additions=" ".join(describe_additions(additions))),
            sentence("start_to_add"),
        )
    if lacking:
        return warning(
            sentence("codes_without_button", codes=lacking),
            sentence("create_button"),
        )
    return ok(sentence("codes_with_buttons", count=len(permissions(installation.policy.catalogue))))


async def permission_bits(installation: Installation) -> Finding:
    """A token grows with the highest bit position, and must fit into a cookie and a header."""
    async with installation.records() as connection:
        positions = await bit_positions.overview(connection)
    highest = -1 if positions.highest is None else positions.highest
    message = sentence("bit_positions", highest=highest, waiting=positions.waiting)
    if highest < _HIGH:
        return ok(message)
    return warning(
        message,
        sentence("find_code_changes"),
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
        problems.append(sentence("routes_closed", count=missing))
    if stray := difference.unrouted:
        problems.append(
            sentence("resources_without_route", count=len(stray), route=f"{stray[0].method} {stray[0].path}")
        )
    if problems:
        message = (
            problems[0]
            if len(problems) == 1
            else sentence("both_findings", first=problems[0], second=problems[1])
        )
        return warning(message, sentence("sync_routes"))
    if missing:
        return ok(sentence("routes_unregistered", count=missing))
    return ok(sentence("routes_registered", count=len(known)))
