"""``portcullis policy lint``: the files, and with a database also resources, bindings, codes and roles."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from service import settings as table
from service.app import check_routes
from service.authz.engine.errors import PolicyError
from service.authz.publishing.invariant_guard import broken_invariants
from service.authz.publishing.publisher import derived_policy
from service.authz.publishing.shipped import configured, policy_folder, read_shipped
from service.authz.review import file_findings, stored_findings
from service.authz.review.findings import FILE, Accepted, Finding, read_accepted
from service.authz.review.sources import standing_of
from service.authz.review.stored_findings import StoredResource
from service.kernel.services import PORTCULLIS
from service.kernel.text import counted
from service.launch.database import with_database
from service.launch.lazy_commands import add_data, add_json
from service.launch.output import show
from service.launch.paths import near
from service.launch.stores import reachable
from service.records.database.transactions import Database
from service.records.resources import bindings, resources
from service.settings import Settings
from service.web.requests.routes import RoutesError

UNREADABLE = 2  # the exit status when the acceptances can't be read
_WITHIN = 60.0  # seconds for reading resources, roles and users


class Linted(msgspec.Struct, frozen=True, rename="camel"):
    """The findings, the accepted ones too; ``database`` says whether one was looked at."""

    passed: bool
    database: bool
    findings: tuple[Finding, ...]


def add_arguments(parser: ArgumentParser) -> None:
    """Add ``--accepted``, ``--data`` and ``--json``."""
    add_accepted(parser)
    add_data(parser)
    add_json(parser)


def add_accepted(parser: ArgumentParser) -> None:
    """Add ``--accepted``."""
    parser.add_argument(
        "--accepted",
        action="append",
        default=[],
        metavar="FILE",
        help=f"a file of accepted findings, besides {FILE} of the policy; may be given more than once",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Lint, and print the findings; returns 0 if all are accepted, 1 if not, 2 if that can't be said.

    The database is looked at if ``--data`` or the settings name one; raises SchemaError and Unavailable.
    """
    settings = table.load(environ)
    try:
        accepted = acceptances(settings, options.accepted)
    except PolicyError as error:
        print(f"portcullis: {error}", file=sys.stderr)
        return UNREADABLE
    linted = lint(settings, accepted, stored=bool(settings.database.url or options.data))
    show(options, linted, lambda: _as_text(linted))
    return 0 if linted.passed else 1


def acceptances(settings: Settings, more: Iterable[str]) -> Accepted:
    """Read the acceptances of the policy's own folder, and of the files ``more``; PolicyError."""
    own = near(policy_folder(settings.policy.folder)) / FILE
    paths = [*([own] if own.exists() else []), *map(Path, more)]
    return read_accepted(paths, (*file_findings.CODES, *stored_findings.CODES))


def lint(settings: Settings, accepted: Accepted, *, stored: bool) -> Linted:
    """Return the findings in the files, and in the database if ``stored``; SchemaError and Unavailable.

    The database is not looked at while the files can't be used.
    """
    found = _files(settings)
    if any(one.finding == file_findings.POLICY for one in found):
        stored = False
        looked_for = {file_findings.POLICY}  # the rest could not be looked at
    else:
        looked_for = {*file_findings.CODES}
        if stored:
            looked_for.update(stored_findings.CODES)
            with reachable(settings) as there:
                found += [one for one in _stored(there) if one not in found]
    findings = accepted.applied(found, looked_for)
    return Linted(all(one.accepted is not None for one in findings), stored, tuple(findings))


def _files(settings: Settings) -> list[Finding]:
    policy, folder = settings.policy, near(policy_folder(settings.policy.folder))
    try:
        own = read_shipped(policy.model, folder, policy.invariants, policy.extensions)
    except PolicyError as error:
        return file_findings.refused(file_findings.POLICY, error.faults, str(folder))
    found = []
    try:
        check_routes(own)
    except RoutesError as error:
        found += file_findings.refused(file_findings.ROUTES, error.faults, str(folder / "endpoints.csv"))
    return [*found, *file_findings.file_findings(own, [folder / "cases"])]


def _stored(settings: Settings) -> list[Finding]:
    shipped = configured(settings.policy)

    async def look(database: Database) -> list[Finding]:
        async with database.snapshot(within=_WITHIN) as connection:
            policy = await derived_policy(connection, shipped)
            standing = await standing_of(policy, connection)
            broken = await broken_invariants(connection, shipped.invariants, policy)
            bound = {
                f"{one.method} {one.path}": one.buttons
                for one in await bindings.bound(connection)
                if one.service == PORTCULLIS
            }
            known = [
                StoredResource(name, one.enabled, tuple((code, works) for code, works in bound.get(name, ())))
                for one in await resources.registered(connection)
                for name in [f"{one.method} {one.path}"]
            ]
        found = await asyncio.to_thread(stored_findings.stored_findings, standing, known, shipped.invariants)
        return [*file_findings.broken_invariants(broken), *found]

    return with_database(settings, look)


def _as_text(linted: Linted) -> str:
    left = [finding for finding in linted.findings if finding.accepted is None]
    where = "files and database" if linted.database else "files"
    accepted = f"{len(linted.findings) - len(left)} more are accepted"
    return "\n".join([*map(str, left), f"{counted(len(left), 'finding')} in {where}; {accepted}."])
