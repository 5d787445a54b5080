"""Publishes the policy: derives and builds it, and writes lines and revision in one transaction."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

import structlog

from service.audit.seals import UNSEALED, RevisionSeals, hash_of
from service.authz.engine.lines import Lines, changes
from service.authz.engine.policy import Policy
from service.authz.publishing.contributions import read_all
from service.authz.publishing.derive import derive, digest_of, lines_digest_of
from service.authz.publishing.live import UntrustedRevisionError
from service.authz.publishing.shipped import Shipped
from service.kernel.events import Event
from service.kernel.origin import ORIGIN
from service.kernel.write import OvertakenError
from service.records import bindings, menus, openings, request_rules, services
from service.records.database.transactions import Connection
from service.records.published import policy_history, policy_revisions, policy_workers
from service.records.published import policy_lines as casbin_rule
from service.records.published.policy_lines import Stored
from service.records.published.policy_revisions import NewRevision, PolicyRevision

_log = structlog.get_logger()

LINES_PUBLISHED: Final[Event[[Connection, int, int]]] = Event(
    "lines-published",
    when="After the policy was derived from the stored rows and, if it differs, published as a revision",
    within="The transaction of the change, which holds the policy lock",
    locks="Rows of its feature",
    raises="Nothing",
)
"""Receives the revision, and the newest one before; these are equal if no line has changed."""


async def publish_if_changed(
    connection: Connection,
    shipped: Shipped,
    seals: RevisionSeals,
    cause: str,
    check: Callable[[Policy], None] = lambda _: None,
    *,
    user_name: str | None = None,
    author_ids: Collection[int] | None = None,
    in_force: Policy | None = None,
    least: int = 0,
    anew: bool = False,
) -> Policy:
    """Derive the policy from the data of ``connection``, publish it if it differs, and return it.

    All in the caller's transaction: the change, the lines and the revision become visible together.
    Publishers follow one another from here to the end of the transaction. A policy that cannot be built
    raises PolicyError, which undoes the change. ``check`` is called with the policy before it is published;
    its errors undo the change too. Unchanged, the newest revision stays; lines that were tampered with are
    written anew, and logged. ``cause`` is the reason, and ``user_name`` the requester, for the list of
    revisions; ``author_ids`` are for its sign-offs. ``in_force`` is the policy in force in this process: its
    parts that the new policy shares are not built again. ``least`` is the lowest number of the revision: a
    revision with a lower number is published again. After the commit, pass the policy to
    ``LivePolicy.offer``.

    Revisions that ``seals`` does not trust are passed over: the stored data are published above them. A
    revision sealed by an unknown key is passed over with ``anew`` only, else UntrustedRevisionError is
    raised: another node may have made it. ``anew`` also publishes an unsealed revision again if a key exists.
    """
    await policy_revisions.lock(connection)
    base = await _base(connection, seals, anew=anew)
    shared, bits, digest = await _derived(connection, in_force)
    stored = await connection.run_sync(casbin_rule.stored)
    changed = await asyncio.to_thread(changes, stored.objects, shared.by_object)
    tampered = await _tampered(connection, base, stored, in_force)
    newest, prior = base.newest, base.trusted
    same = prior is not None and prior.digest == digest and not changed and not tampered
    unchanged = same and newest >= least and not (anew and base.lacks_seal)
    revision = newest if unchanged else max(newest + 1, least)
    policy = await asyncio.to_thread(shipped.policy, shared, bits, revision, digest=digest, like=in_force)
    check(policy)
    if not unchanged:
        await policy_history.forget_from(connection, newest + 1)
        origin = ORIGIN.get()
        line_count, lines_digest = await asyncio.to_thread(lambda: (len(shared), lines_digest_of(shared)))
        new = NewRevision(
            digest=digest,
            line_count=line_count,
            cause=cause,
            user_name=user_name,
            author_ids=None if author_ids is None else sorted(author_ids),
            request_id=None if origin is None else origin.request_id,
            tampered=tampered + base.passed_over,
            lines_digest=lines_digest,
            prior_revision=None if prior is None else prior.revision,
            prior_hash=None if prior is None else hash_of(prior),
            sealed_from=await _sealed_from(connection, seals, revision),
        )
        await casbin_rule.publish(connection, changed, new, mend=bool(stored.strangers), least=least)
        await policy_history.record(connection, revision)
        await _seal(connection, seals, revision)
    await LINES_PUBLISHED.emit(connection, revision, newest)
    return policy


async def candidate(connection: Connection, shipped: Shipped, in_force: Policy) -> Policy:
    """Return the policy that ``publish_if_changed`` would return; only reads, for a dry run.

    OvertakenError when ``in_force`` is newer than what ``connection`` sees.
    """
    latest = await policy_revisions.latest(connection)
    shared, bits, digest = await _derived(connection, in_force)
    newest = 0 if latest is None else latest.revision
    if in_force.revision > newest:
        raise OvertakenError
    revision = newest if latest is not None and latest.digest == digest else newest + 1
    return await asyncio.to_thread(shipped.policy, shared, bits, revision, digest=digest, like=in_force)


async def derived_policy(connection: Connection, shipped: Shipped, in_force: Policy | None = None) -> Policy:
    """Return the policy that would be published now, as revision 0; only reads. PolicyError for none.

    ``in_force`` saves work, as in ``publish_if_changed``.
    """
    shared, bits, digest = await _derived(connection, in_force)
    return await asyncio.to_thread(shipped.policy, shared, bits, 0, digest=digest, like=in_force)


async def drift(connection: Connection, derived: Policy) -> str | None:
    """Return the difference of the published policy from the one to be published now; None if equal.

    Only reads, from a snapshot. ``derived`` is the ``derived_policy`` of it.
    """
    latest = await policy_revisions.latest(connection)
    if latest is None:
        return "no policy has been published"
    if derived.digest != latest.digest:
        return f"revision {latest.revision} does not match the current resources, bindings and Buttons"
    stored = await connection.run_sync(casbin_rule.stored)
    if await _differ(stored, derived.shared):
        return (
            f"the stored lines differ from revision {latest.revision}: they were changed directly in the "
            "database"
        )
    return None


class _Base(NamedTuple):
    """The base of a new revision.

    ``newest`` is the newest number, ``trusted`` the newest trusted revision, and ``passed_over`` the number
    of untrusted revisions above it. ``lacks_seal``: it has no seal although a key exists.
    """

    newest: int
    trusted: PolicyRevision | None
    passed_over: int
    lacks_seal: bool


async def _base(connection: Connection, seals: RevisionSeals, *, anew: bool) -> _Base:
    await seals.learn(connection)
    latest = await policy_revisions.latest(connection)
    if latest is None:
        return _Base(0, None, 0, False)
    judgement = seals.judge(latest)
    if judgement.is_trusted:
        return _Base(latest.revision, latest, 0, bool(seals.key_ids) and judgement is UNSEALED)
    if judgement.authenticity == "unknown_key" and not anew:
        raise UntrustedRevisionError(latest.revision, judgement)
    _log.error(
        "a policy revision was not published here",
        event_type="security",
        revision=latest.revision,
        reason=str(judgement.reason),
    )
    passed_over = 1
    async for revision in policy_revisions.older(connection, latest.revision):
        if seals.judge(revision).is_trusted:
            return _Base(latest.revision, revision, passed_over, False)
        passed_over += 1
    return _Base(latest.revision, None, passed_over, False)


async def _sealed_from(connection: Connection, seals: RevisionSeals, revision: int) -> int | None:
    """Return the first revision from which each must have a seal, as stated by ``revision``, the next one."""
    if not seals.key_ids:
        return None
    if seals.sealed_from is not None and seals.sealed_from <= revision:
        return seals.sealed_from
    return revision if seals.can_all_seal(await policy_workers.present(connection)) else None


async def _seal(connection: Connection, seals: RevisionSeals, revision: int) -> None:
    if seals.key_ids and (made := await policy_revisions.read(connection, revision)) is not None:
        await policy_revisions.seal(connection, {revision: seals.made_for(made)})


async def _tampered(connection: Connection, base: _Base, stored: Stored, in_force: Policy | None) -> int:
    """Return the number of stored lines that differ from the trusted revision; log an error if any."""
    if base.trusted is None:
        return 0
    if (
        in_force is not None
        and (in_force.revision, in_force.digest) == (base.trusted.revision, base.trusted.digest)
        and not await _differ(stored, in_force.shared)
    ):
        return 0
    tampered_count = await policy_history.tampered(connection, base.trusted.revision)
    if tampered_count:
        _log.error(
            "published policy lines were changed past the service",
            event_type="security",
            revision=base.trusted.revision,
            lines=tampered_count,
        )
    return tampered_count


async def _differ(stored: Stored, lines: Lines) -> bool:
    return bool(stored.strangers or await asyncio.to_thread(changes, stored.objects, lines.by_object))


class _Derived(NamedTuple):
    """The shared lines, the permission map, and the digest of both."""

    shared: Lines
    bits: Mapping[str, int]
    digest: str


async def _derived(connection: Connection, in_force: Policy | None = None) -> _Derived:
    bound = await bindings.bound(connection)
    buttons = await menus.button_codes(connection)
    others = await services.published(connection)
    opened = await openings.published(connection) if others else []
    requestable = await request_rules.published(connection)
    contributed = await read_all(connection)

    def made() -> _Derived:
        known = Lines() if in_force is None else in_force.shared
        codes = [button.auth_mark for button in buttons]
        disabled = {button.auth_mark for button in buttons if not button.enabled}
        shared = derive(
            bound,
            codes,
            known,
            disabled=disabled,
            services=others,
            openings=opened,
            requestable=requestable,
            contributed=contributed,
        )
        bits = {button.auth_mark: button.bit_position for button in buttons if button.enabled}
        return _Derived(shared, bits, digest_of(shared, bits))

    return await asyncio.to_thread(made)
