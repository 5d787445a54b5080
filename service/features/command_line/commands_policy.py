"""Policy changes by the operator: ``portcullis policy sync``, ``republish`` and ``unlock``."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from service import settings as table
from service.audit.seals import RevisionSeals, seals_of
from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.rules import UNREGISTERED, PolicyError, PolicyFileError
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import WITHIN, PolicyChanges
from service.authz.publishing.live import LivePolicy, UntrustedRevisionError
from service.authz.publishing.publisher import derived_policy, publish_if_changed
from service.authz.publishing.shipped import Shipped, configured
from service.authz.publishing.sync import Differences, differences, register
from service.cli.lazy_commands import Parts, add_data
from service.cli.output import say
from service.errors import Conflict
from service.features.policy_checks.lockout import closing_resources
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.operator.database import with_database
from service.operator.known_routes import known_routes, routes_of_code
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_event, operator_name, tell_security
from service.records import bindings, menus, resources
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.records.published import policy_revisions
from service.settings import Settings


def _log(settings: Settings, event: OperationEvent) -> None:
    """Write an entry of the operation log."""
    from service.audit.journal import enter  # noqa: PLC0415 - it imports Redis, and a dry run logs nothing

    asyncio.run(enter(settings, event))


async def operator_changes(database: Database, shipped: Shipped, seals: RevisionSeals) -> PolicyChanges:
    """Return changes that may neither break an invariant nor newly lock everybody out.

    They are compared with the newest published policy, if there is one. An unusable newest policy is first
    replaced by the stored data, as a worker does. Raises PolicyError if no policy can be built from that
    data, UntrustedRevisionError if the newest policy is sealed by an unknown key, and Unavailable.
    """
    live = LivePolicy(shipped, seals)
    changes = PolicyChanges(database, live, shipped, lambda: shipped, leave_to_workers)
    async with database.snapshot() as connection:
        published = await policy_revisions.latest(connection)
    if published is not None:
        try:
            await live.load(database)
        except PolicyError as fault:
            if isinstance(fault, UntrustedRevisionError) and fault.judgement.authenticity == "unknown_key":
                raise
            await changes.mend(sentence("cause_derived_again", fault=fault.stated), published.revision + 1)
    return changes


def _add_sync(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print the differences")


def _sync(options: Namespace, environ: Mapping[str, str]) -> None:
    """Register the routes, and print the differences; raises as ``sync``."""
    with reachable(table.load(environ)) as settings:
        say(*sync(settings, dry_run=options.dry_run))


def sync(settings: Settings, *, dry_run: bool) -> list[str]:
    """Register the missing routes, unless ``dry_run``; return the differences as lines of text.

    Never deletes anything. Registrations are logged in the operation log. Raises ``PolicyError``,
    ``SchemaError``, ``Unavailable``, ``RoutesError`` and ``Conflict``.
    """
    started, revision = perf_counter(), 0
    log_to_errors(settings)
    shipped = configured(settings)
    routes = known_routes(settings, shipped)

    async def compare(database: Database) -> Differences:
        async with database.snapshot() as connection:
            return await differences(connection, routes, shipped.absent)

    async def change(database: Database) -> Differences:
        nonlocal revision
        comparison = await compare(database)
        if comparison.proposed:
            changes = await operator_changes(database, shipped, seals_of(settings.oplog))
            async with changes.begin(_by_operator(sentence("cause_synchronized"))) as begun:
                comparison = await differences(begun.connection, routes_of_code(shipped), shipped.absent)
                await register(begun.connection, comparison.proposed)
            revision = begun.policy.revision
        return comparison

    comparison = with_database(settings, compare if dry_run else change)
    if revision:
        event = operator_event(
            "policy sync",
            started,
            module="resource",
            action="register",
            kind="INSERT",
            response={"registered": [proposal.route.object for proposal in comparison.proposed]},
            policy_revision=revision,
        )
        _log(settings, event)
    return _described(comparison, dry_run=dry_run)


def _described(comparison: Differences, *, dry_run: bool) -> list[str]:
    lines = [
        f"+ {proposal.route.object}  {', '.join(proposal.buttons) or 'login'}"
        for proposal in comparison.proposed
    ]
    lines += [
        f"! {route.object}  not registered: no enabled Button has {' or '.join(route.access)}"
        for route in comparison.unbindable
    ]
    lines += [
        f"? {gone.method} {gone.path}  resource {gone.id}: no route serves it; it is left as it is"
        for gone in comparison.unrouted
    ]
    unbindable, unrouted = len(comparison.unbindable), len(comparison.unrouted)
    done = "would be registered" if dry_run else "registered"
    lines.append(f"{len(comparison.proposed)} {done}, {unbindable} can't be, {unrouted} fit no route.")
    return lines


def _add_republish(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument(
        "--without-key",
        action="store_true",
        help="also where revisions are sealed and no key is set here: from then on none must be sealed",
    )


def _republish(options: Namespace, environ: Mapping[str, str]) -> None:
    """Publish, and print the revision; raises as ``republish``."""
    with reachable(table.load(environ)) as settings:
        say(republish(settings, without_key=options.without_key))


def republish(settings: Settings, *, without_key: bool) -> str:
    """Publish the policy that follows from resources, bindings and Buttons; return a summary.

    Skips revisions that are untrusted, or sealed by a key that is not set. Logs a security event and an
    operation. Raises ``PolicyError``, ``SchemaError`` and ``Unavailable``. ``PolicyError`` also means a
    sealed newest revision without a key, unless ``without_key`` is set.
    """
    begun = perf_counter()
    log_to_errors(settings)
    policy = with_database(settings, lambda database: _derived(settings, database, without_key=without_key))
    revision, sealed = policy.revision, bool(settings.oplog.chain_key)
    tell_security(settings, "the policy was published anew by the operator", revision=revision, sealed=sealed)
    event = operator_event(
        "policy republish",
        begun,
        module="policy",
        action="republish",
        response={"revision": revision, "sealed": sealed},
        policy_revision=revision,
    )
    _log(settings, event)
    return (
        f"Revision {revision}, {'sealed' if sealed else 'without a seal'}: {len(policy.shared)} shared lines."
    )


def _by_operator(act: Sentence) -> Sentence:
    return sentence("cause_by", act=act, user=operator_name())


async def _derived(settings: Settings, database: Database, *, without_key: bool) -> Policy:
    seals, shipped = seals_of(settings.oplog), configured(settings)
    async with database.transaction(within=WITHIN) as connection:
        await policy_revisions.lock(connection)
        latest = await policy_revisions.latest(connection)
        if latest is not None and latest.sealed_from and not seals.key_ids and not without_key:
            raise PolicyFileError(
                f"Revision {latest.revision} must be sealed, and oplog.chain_key is not set here: set it, or "
                "repeat this with --without-key if no node has a key any more"
            )
        newest = 0 if latest is None else latest.revision
        cause = _by_operator(sentence("cause_published_anew"))
        return await publish_if_changed(connection, shipped, seals, cause, least=newest + 1, anew=True)


_TOP: Final = "*"


@dataclass(frozen=True, slots=True)
class _Unlocked:
    """An opened resource, its changes, and the first revision with them."""

    name: str
    done: tuple[str, ...]
    revision: int


def _add_unlock(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("resource", metavar="ID", type=int, nargs="?", help="the id of the resource to open")


def _unlock(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the causes of a lockout, or open a resource; raises as ``locked`` and ``unlock``."""
    with reachable(table.load(environ)) as settings:
        say(*locked(settings) if options.resource is None else [unlock(settings, options.resource)])


def locked(settings: Settings) -> list[str]:
    """Describe endpoints closed to everybody, and the resources that close them; change nothing.

    Raises ``PolicyError``, ``SchemaError`` and ``Unavailable``.
    """
    shipped = configured(settings)

    async def look(database: Database) -> tuple[dict[str, list[str]], dict[str, int]]:
        async with database.snapshot() as connection:
            policy = await derived_policy(connection, shipped)
            known = await resources.of_service(connection)
        return closing_resources(policy), {
            shape(f"{resource.method} {resource.path}"): resource.id for resource in known
        }

    closing, ids = with_database(settings, look)
    if not closing:
        return ["Nobody is locked out: users who hold * pass each endpoint that administers the policy."]
    # Some are closed by a disabled resource, because policy.unregistered closes unregistered requests.
    unregistered = closing.pop(UNREGISTERED, [])
    lines = [_closed(requests, ids[shape(name)]) for name, requests in sorted(closing.items())]
    lines += [_closed([request], ids[shape(request)]) for request in unregistered if shape(request) in ids]
    if missing := [request for request in unregistered if shape(request) not in ids]:
        lines.append(f"{', '.join(missing)}: not registered: portcullis policy sync")
    return lines


def _closed(requests: list[str], resource_id: int) -> str:
    by = f"closed by resource {resource_id}: portcullis policy unlock {resource_id}"
    return f"{', '.join(requests)}: {by}"


def unlock(settings: Settings, resource_id: int) -> str:
    """Open a resource to users who hold ``*``, publish the change, and return a summary.

    A disabled resource is enabled. A resource bound only to disabled Buttons is also bound to the Button
    ``*``, so that no other user gains access. Logs a security event and an operation. Raises ``NotFound``,
    ``PolicyError``, ``SchemaError`` and ``Unavailable``. Raises ``Conflict`` if no enabled Button has ``*``
    or an invariant would break.
    """
    begun = perf_counter()
    log_to_errors(settings)
    done = with_database(settings, lambda database: _opened(settings, database, resource_id))
    if not done.done:
        return (
            f"Resource {resource_id}, {done.name}, is open to users who hold * already; nothing was changed."
        )
    tell_security(
        settings,
        "a resource was unlocked by the operator",
        resource_id=resource_id,
        resource=done.name,
        done=list(done.done),
        revision=done.revision,
    )
    event = operator_event(
        f"policy unlock {resource_id}",
        begun,
        module="resource",
        action="unlock",
        response={"resource": done.name, "done": list(done.done)},
        policy_revision=done.revision,
    )
    _log(settings, event)
    did = ", ".join(done.done)
    return f"Resource {resource_id}, {done.name}: {did}. In force with revision {done.revision}."


async def _opened(settings: Settings, database: Database, resource_id: int) -> _Unlocked:
    shipped = configured(settings)
    changes = await operator_changes(database, shipped, seals_of(settings.oplog))
    async with changes.begin(_by_operator(sentence("cause_unlocked", resource=resource_id))) as change:
        done = []
        resource = await resources.read(change.connection, resource_id)
        bound = await bindings.buttons_of(change.connection, resource_id)
        top = (await menus.buttons_by_code(change.connection)).get(_TOP)
        if not resource.enabled:
            await resources.set_enabled(change.connection, resource_id, enabled=True)
            done.append("enabled")
        # Without bindings all logged-in users pass, and a binding would close the resource to them.
        if bound and not any(button.enabled for button in bound):
            if top is None:
                raise Conflict(sentence("no_full_button"), rule="consistent")
            await bindings.bind_buttons(
                change.connection, resource_id, [*(bound_button.id for bound_button in bound), top]
            )
            done.append("bound to the Button *")
    return _Unlocked(f"{resource.method} {resource.path}", tuple(done), change.policy.revision)


COMMANDS: Final[Parts] = {
    "sync": (_add_sync, _sync),
    "republish": (_add_republish, _republish),
    "unlock": (_add_unlock, _unlock),
}
