"""``portcullis policy export`` and ``policy sync``: the stored policy, for the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from service.app import check_routes
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.authz.publishing.sync import Differences, KnownRoute, differences, register
from service.authz.review.export import export
from service.launch.errors import LaunchError
from service.launch.operator import operator_name
from service.records.database.transactions import Database
from service.records.migrate import require_current
from service.settings import Settings
from service.web.requests.routes import Routes

T = TypeVar("T")


class ExportError(LaunchError):
    """The files can't be written."""


def export_policy(settings: Settings, folder: Path) -> str:
    """Write the published policy into ``folder``; return a summary for the operator.

    Raises ``PolicyError`` if none was published or it does not fit this model, ``ExportError``,
    ``SchemaError`` and ``Unavailable``.
    """
    live = LivePolicy(configured(settings.policy))
    with_database(settings, live.load)
    try:
        model, lines = export(live.current, folder)
    except OSError as error:
        raise ExportError(f"{folder} can't be written: {error.strerror}") from error
    count = len(live.current.rules)
    return f"Revision {live.current.revision}: {model} and {count} lines in {lines}."


def sync(settings: Settings, *, dry_run: bool) -> str:
    """Register the missing routes, unless ``dry_run``; return the differences as lines of text.

    Nothing is ever deleted. Raises the errors of ``export_policy``, ``RoutesError`` and ``Conflict``.
    """
    shipped = configured(settings.policy)
    routes = known_routes(check_routes(shipped))

    async def compare(database: Database) -> Differences:
        async with database.snapshot() as connection:
            return await differences(connection, routes)

    async def change(database: Database) -> Differences:
        found = await compare(database)
        if found.proposed:
            changes = PolicyChanges(database, LivePolicy(shipped), shipped, lambda: shipped, leave_to_workers)
            async with changes.begin(f"policy sync by {operator_name()}") as begun:
                found = await differences(begun.connection, routes)
                await register(begun.connection, found.proposed)
        return found

    found = with_database(settings, compare if dry_run else change)
    return _described(found, dry_run=dry_run)


def known_routes(routes: Routes) -> list[KnownRoute]:
    """Return the guarded routes of the code as ``differences`` takes them."""
    return [KnownRoute(one.object, one.summary, one.access) for one in routes.operations]


def with_database(settings: Settings, do: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
    """Run ``do`` with the database, whose schema is this version's; SchemaError and Unavailable."""
    require_current(settings.database.url)

    async def work() -> T:
        database = Database(settings.database.url, pool_size=1, timeout=settings.database.timeout)
        try:
            return await do(database)
        finally:
            await database.close()

    return asyncio.run(work())


def _described(found: Differences, *, dry_run: bool) -> str:
    lines = [f"+ {one.route.object}  {', '.join(one.buttons) or 'login'}" for one in found.proposed]
    lines += [
        f"! {route.object}  not registered: no enabled Button has {' or '.join(route.access)}"
        for route in found.unbindable
    ]
    lines += [
        f"? {one.method} {one.path}  resource {one.id}: no route serves it; it is left as it is"
        for one in found.unrouted
    ]
    done = "would be registered" if dry_run else "registered"
    lines.append(
        f"{len(found.proposed)} {done}, {len(found.unbindable)} can't be, {len(found.unrouted)} fit no route."
    )
    return "\n".join(lines)
