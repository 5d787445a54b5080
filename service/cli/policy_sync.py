"""``portcullis policy sync``: registers the routes that are not registered."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service import settings as table
from service.audit.chain.seals import seals_of
from service.authz.publishing.shipped import configured
from service.authz.publishing.sync import Differences, differences, register
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.cli.policy_operator_changes import operator_changes
from service.operator.database import with_database
from service.operator.known_routes import known_routes, routes_of_code
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_name
from service.records.database.transactions import Database
from service.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Add ``--dry-run``."""
    add_data(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print the differences")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Register, and print the differences; raises what ``sync`` raises."""
    with reachable(table.load(environ)) as settings:
        say(*sync(settings, dry_run=options.dry_run))


def sync(settings: Settings, *, dry_run: bool) -> list[str]:
    """Register the missing routes, unless ``dry_run``; return the differences as lines of text.

    Nothing is ever deleted. Raises ``PolicyError``, ``SchemaError``, ``Unavailable``, ``RoutesError`` and
    ``Conflict``.
    """
    log_to_errors(settings)
    shipped = configured(settings.policy)
    routes = known_routes(settings.policy, shipped)

    async def compare(database: Database) -> Differences:
        async with database.snapshot() as connection:
            return await differences(connection, routes)

    async def change(database: Database) -> Differences:
        comparison = await compare(database)
        if comparison.proposed:
            changes = await operator_changes(database, shipped, seals_of(settings.oplog))
            async with changes.begin(f"policy sync by {operator_name()}") as begun:
                comparison = await differences(begun.connection, routes_of_code(shipped))
                await register(begun.connection, comparison.proposed)
        return comparison

    comparison = with_database(settings, compare if dry_run else change)
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
