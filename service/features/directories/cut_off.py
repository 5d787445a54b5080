"""``portcullis directory cut-off NAME``: disable a directory and end its sessions."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from time import perf_counter

from service.audit.journal import enter, passing_journal
from service.authn.login_log import LoginLog
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.features.directories.directory import cut_off
from service.features.directories.managed import target_of
from service.features.directories.schema import Directory
from service.features.directories.sessions import end_sessions_of
from service.kernel.text import counted
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.operator.stores import reachable
from service.operator.units import operator, units_of_work
from service.operator.who import log_to_errors, operator_event, tell_security
from service.records.database.transactions import Database
from service.records.installation.schema_revision import require_current
from service.settings import Settings, load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options: the directory, and the end of its roles."""
    add_data(parser)
    parser.add_argument("name", metavar="NAME", help="the directory, or the provider of the settings")
    parser.add_argument("--roles", action="store_true", help="also revoke the roles that it assigned")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Disable a directory, and end the sessions of sign-ins with it.

    Raises ``NotFound``, ``SchemaError``, and ``Unavailable`` if a store is unavailable; then repeat the
    command.
    """
    with reachable(load(environ)) as settings:
        log_to_errors(settings)
        require_current(settings.database.url)
        directory, ended = asyncio.run(_cut_off(settings, options.name, roles=options.roles))
        tell_security(
            settings, "a directory was cut off by the operator", directory=options.name, ended=ended
        )
    say(f"{options.name} is cut off; {counted(ended, 'session')} have ended.")
    if directory.kind == "scim" and options.name in settings.oidc.names:
        say(
            f"People can still sign in with the provider {options.name}, which is not this directory: "
            "remove it from oidc.providers."
        )


async def _cut_off(settings: Settings, name: str, *, roles: bool) -> tuple[Directory, int]:
    begun = perf_counter()
    known = name in settings.oidc.names
    async with (
        Database(settings.database.url, pool_size=2, timeout=settings.database.timeout) as database,
        SessionStore(settings.redis, settings.auth) as store,
        passing_journal(settings, store, "directory") as journal,
    ):
        async with (
            units_of_work(settings, database, configured(settings)) as units,
            units.of_rights(Write(operator())) as unit,
        ):
            directory, sessions = await cut_off(unit, name, roles=roles, known=known)
        ended = await end_sessions_of(store, LoginLog(journal.collector.login), sessions)
    facts = {"changes": unit.changes, "change_count": len(unit.changes)} if unit.changes else {}
    event = operator_event(
        "directory cut-off",
        begun,
        module="directory",
        action="cut off",
        targets=(target_of(name),),
        **facts,
    )
    await enter(settings, event)
    return directory, ended
