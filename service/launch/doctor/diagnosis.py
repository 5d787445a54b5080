"""Runs all checks, one after another, even if some fail."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from service import settings as table
from service.authz.engine.errors import PolicyError
from service.authz.publishing.shipped import Shipped, configured
from service.embedded import EmbeddedError
from service.errors import Unavailable
from service.kernel.extension import ExtensionError
from service.keyspace.inspection import StoreFacts
from service.keyspace.inspection import inspect as ask_store
from service.launch.doctor.checks import Check, checks
from service.launch.doctor.findings import Finding, fault, unknown
from service.launch.doctor.installation import WITHIN, Installation, Unanswered
from service.launch.stores import reachable
from service.records.database.server_facts import ServerFacts, server_facts
from service.records.database.transactions import Database
from service.settings import Settings, SettingsError

Findings = list[tuple[str, Finding]]
"""The name of each check with its finding."""


def diagnose(environ: Mapping[str, str], state_file: Path | None = None) -> Findings:
    """Check the installation that ``environ`` describes; errors become findings.

    With ``state_file``, also whether what is stored is what that file says.
    Existing embedded stores are started for the checks if no service runs them.
    """
    try:
        settings = table.load(environ)
    except SettingsError as wrong:
        return [
            ("settings", fault(f"{name} {message}", "see docs/reference/settings.md"))
            for name, message in wrong.faults
        ]
    found: Findings = []
    with ExitStack() as stack:
        if (settings.database.url and settings.redis.url) or (settings.server.data / "owner").exists():
            try:
                settings = stack.enter_context(reachable(settings))
            except (EmbeddedError, SettingsError) as wrong:
                found.append(("embedded-stores", fault(_in_one_line(wrong), "see the logs in server.data")))
        else:
            found.append(("embedded-stores", unknown("none was made yet: the first start makes them")))
        return found + asyncio.run(_examine(environ, settings, state_file))


async def _examine(environ: Mapping[str, str], settings: Settings, state_file: Path | None) -> Findings:
    installation = Installation(environ, settings, shipped=_shipped(settings), state_file=state_file)
    wanted = checks(state_file=state_file is not None)
    database = None
    if settings.database.url:
        database = Database(settings.database.url, pool_size=1, timeout=settings.database.timeout)
        installation = replace(installation, database=database, server=await _server(database))
    if settings.redis.url:
        installation = replace(installation, store=await _store(settings))
    try:
        return [(name, await _made(check, installation)) for name, check in wanted]
    finally:
        if database is not None:
            await database.close()


async def _made(check: Check, installation: Installation) -> Finding:
    try:
        async with asyncio.timeout(WITHIN):
            finding = check(installation)
            return await finding if inspect.isawaitable(finding) else finding
    except Unanswered as reason:
        return unknown(str(reason))
    except Exception as error:  # noqa: BLE001 - a failing check must not hide the findings of the others
        # Its message may hold a secret, such as a URL with a password.
        return fault(f"the check itself failed: {type(error).__name__}", "please report it")


async def _server(database: Database) -> ServerFacts | None:
    with suppress(Unavailable):
        async with database.transaction() as connection:
            return await server_facts(connection)
    return None


async def _store(settings: Settings) -> StoreFacts | None:
    with suppress(Unavailable):
        return await ask_store(settings.redis)
    return None


def _shipped(settings: Settings) -> Shipped | None:
    with suppress(PolicyError, ExtensionError):
        return configured(settings.policy)
    return None


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())
