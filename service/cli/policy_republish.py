"""``portcullis policy republish``: publishes what is stored anew, whatever the newest revision says."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from time import perf_counter

from service import settings as table
from service.audit.chain.seals import seals_of
from service.audit.journal import enter
from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError
from service.authz.publishing.changes import WITHIN
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.operator.database import with_database
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_name, tell_security
from service.records import policy_revisions
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Add ``--without-key``."""
    add_data(parser)
    parser.add_argument(
        "--without-key",
        action="store_true",
        help="also where revisions are sealed and no key is set here: from then on none must be sealed",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Publish, and print the revision; raises what ``republish`` raises."""
    with reachable(table.load(environ)) as settings:
        say(republish(settings, without_key=options.without_key))


def republish(settings: Settings, *, without_key: bool) -> str:
    """Publish the policy that follows from resources, bindings and Buttons; return a summary.

    Revisions that are not trusted, or sealed by a key that is not set, are passed over. Logged as a security
    event and in the operation log. Raises ``PolicyError``, also if the newest revision is sealed and no key
    is set, unless ``without_key``; ``SchemaError`` and ``Unavailable``.
    """
    begun = perf_counter()
    log_to_errors(settings)
    policy = with_database(settings, lambda database: _republish(settings, database, without_key=without_key))
    revision, sealed = policy.revision, bool(settings.oplog.chain_key)
    tell_security(settings, "the policy was published anew by the operator", revision=revision, sealed=sealed)
    event = OperationEvent(
        module="policy",
        action="republish",
        kind="UPDATE",
        method="CLI",
        url="portcullis policy republish",
        response={"revision": revision, "sealed": sealed},
        status=200,
        elapsed_ms=round((perf_counter() - begun) * 1000, 3),
        policy_revision=revision,
        user_name=operator_name(),
    )
    asyncio.run(enter(settings, event))
    return (
        f"Revision {revision}, {'sealed' if sealed else 'without a seal'}: {len(policy.shared)} shared lines."
    )


async def _republish(settings: Settings, database: Database, *, without_key: bool) -> Policy:
    seals, shipped = seals_of(settings.oplog), configured(settings.policy)
    async with database.transaction(within=WITHIN) as connection:
        await policy_revisions.lock(connection)
        latest = await policy_revisions.latest(connection)
        if latest is not None and latest.sealed_from and not seals.key_ids and not without_key:
            raise PolicyError(
                f"Revision {latest.revision} must be sealed, and oplog.chain_key is not set here: set it, or "
                "repeat this with --without-key if no node has a key any more"
            )
        newest = 0 if latest is None else latest.revision
        cause = f"published anew by {operator_name()}"
        return await publish_if_changed(connection, shipped, seals, cause, least=newest + 1, anew=True)
