"""Runs all checks, a few at a time, even if some fail."""

import asyncio
import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError
from service.authz.publishing.shipped import Shipped, configured
from service.errors import Unavailable
from service.features.operations.sentences import sentence
from service.kernel.extension import ExtensionError
from service.keyspace.inspection import StoreFacts
from service.keyspace.inspection import inspect as ask_store
from service.operator import findings
from service.operator.findings import Check
from service.records.database.failures import reason_of
from service.records.database.server_facts import ServerFacts, server_facts
from service.records.database.transactions import Database
from service.settings import Settings

AT_ONCE: Final = 3
"""Checks that run at the same time; each uses one connection at a time."""


async def examine(
    environ: Mapping[str, str],
    settings: Settings,
    routes: findings.Routes,
    checks: Iterable[Check],
    in_force: Policy | None = None,
) -> findings.Findings:
    """Return the finding of each check; errors become findings.

    ``settings`` name existing stores; the checks open connections of their own. ``environ`` is the
    environment of the service; ``routes`` and ``in_force`` are as for ``Installation``.
    """
    installation = findings.Installation(
        environ, settings, routes, shipped=_shipped(settings), in_force=in_force
    )
    url = settings.database.direct_url or settings.database.url
    database = Database(url, pool_size=AT_ONCE, timeout=settings.database.timeout) if url else None
    if database is not None:
        server = await _server(database)
        fault = str(server) if isinstance(server, Unavailable) else ""
        known = None if isinstance(server, Unavailable) else server
        installation = replace(installation, database=database, server=known, server_fault=fault)
    if settings.redis.url:
        store = await _store(settings)
        fault = str(store) if isinstance(store, Unavailable) else ""
        facts = None if isinstance(store, Unavailable) else store
        installation = replace(installation, store=facts, store_fault=fault)
    turns = asyncio.Semaphore(AT_ONCE)

    async def finding_of(check: Check) -> tuple[str, findings.Finding]:
        async with turns:
            return check.name, marked(check, await _made(check, installation))

    try:
        return await asyncio.gather(*map(finding_of, checks))
    finally:
        if database is not None:
            await database.close()


def marked(check: Check, finding: findings.Finding) -> findings.Finding:
    """Return the finding of ``check``, marked as local if the check is local."""
    return replace(finding, local=True) if check.local else finding


async def _made(check: Check, installation: findings.Installation) -> findings.Finding:
    try:
        async with asyncio.timeout(findings.WITHIN):
            finding = check.look(installation)
            return await finding if inspect.isawaitable(finding) else finding
    except findings.Unanswered as reason:
        return findings.unknown(reason.reason)
    except PolicyError as wrong:  # in stored lines; faults of the files are found by another check
        faults = sentence("lines_faulty", faults=wrong.stated)
        return findings.fault(faults, sentence("correct_lines"))
    except Exception as error:  # noqa: BLE001 - a failing check must not hide the findings of the others
        # The error's message may hold a secret, such as a URL with a password.
        return findings.fault(sentence("check_failed", error=type(error).__name__), sentence("report_it"))


async def _server(database: Database) -> ServerFacts | Unavailable:
    """Return the facts of the server, or its error."""
    try:
        async with database.transaction() as connection:
            return await server_facts(connection)
    except Unavailable as refusal:
        return Unavailable(sentence("store_reason", reason=reason_of(refusal)))


async def _store(settings: Settings) -> StoreFacts | Unavailable:
    try:
        return await ask_store(settings.redis)
    except Unavailable as refusal:
        return Unavailable(sentence("store_reason", reason=reason_of(refusal)))


def _shipped(settings: Settings) -> Shipped | None:
    with suppress(PolicyError, ExtensionError):
        return configured(settings)
    return None
