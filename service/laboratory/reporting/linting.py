"""Lint findings: in the files, and with a database also in resources, bindings, codes and roles."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from service.administration.people import People
from service.authz.engine.rules import PolicyError
from service.authz.publishing.demands import lines_of
from service.authz.publishing.derive import derive
from service.authz.publishing.publisher import derived_policy
from service.authz.publishing.shipped import Shipped, configured, policy_folder, read_named
from service.kernel.feature import off_by, sole
from service.kernel.permission_catalogue import CATALOGUE, permissions
from service.kernel.services import PORTCULLIS
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import READ_WITHIN
from service.laboratory.findings import file_findings, menu_findings, request_findings, stored_findings
from service.laboratory.findings.approver_findings import approver_findings
from service.laboratory.findings.findings import FILE, Accepted, Finding, read_accepted
from service.laboratory.findings.stored_findings import StoredResource, unmet_demands
from service.laboratory.tested import demand_levels, near, table_places
from service.operator import installation
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records import bindings, resources, role_holdings
from service.records.database.transactions import Database
from service.records.installation.seed_catalogue import ADMINISTRATOR_ROLE, ROLES, WILDCARDS, seeded_resources
from service.settings import Features, Settings
from service.settings.sections.policy import Demands

if TYPE_CHECKING:
    from service.web.requests.routes import Routes

_STORED: Final = (*stored_findings.CODES, *request_findings.CODES, *menu_findings.CODES)


class Linted(msgspec.Struct, frozen=True, rename="camel"):
    """The findings, including accepted ones; ``database``: the database was linted too."""

    passed: bool
    database: bool
    findings: tuple[Finding, ...]


def source_of(settings: Settings, *, stored: bool) -> str:
    """Return the linted sources as text: the files, and the database if ``stored``."""
    if stored:
        return f"the policy files, and what is stored in {installation.name_of(settings)}"
    if installation.is_there(settings):
        return "the policy files alone"
    return f"the policy files; there is no installation in {settings.server.data}"


def acceptances(settings: Settings, more: Iterable[str]) -> Accepted:
    """Read the acceptances of the policy's own folder, and of the files ``more``; PolicyError."""
    own = near(policy_folder(settings.policy.folder)) / FILE
    paths = [*([own] if own.exists() else []), *map(Path, more)]
    return read_accepted(paths, (*file_findings.CODES, *_STORED), off_by(settings.features.off))


def lint(settings: Settings, accepted: Accepted, *, stored: bool) -> Linted:
    """Return the findings in the files, and in the database if ``stored``; SchemaError and Unavailable.

    The database is skipped if the files are unusable.
    """
    collected = _files(settings)
    if any(finding.finding == file_findings.POLICY for finding in collected):
        stored = False
        looked_for = {file_findings.POLICY}  # the rest could not be checked
    else:
        looked_for = {*file_findings.CODES}
        if stored:
            looked_for.update(_STORED)
            with reachable(settings) as there:
                collected += [finding for finding in _stored(there) if finding not in collected]
    findings = accepted.applied(collected, looked_for)
    if stored:
        findings = _accepted_as_shipped(findings, settings.features)
    return Linted(all(finding.accepted is not None for finding in findings), stored, tuple(findings))


def _files(settings: Settings) -> list[Finding]:
    """Return the findings in the files, with the demands of each level, used or not."""
    findings: dict[Finding, None] = {}
    made: list[Routes] = []
    for level in demand_levels(settings):
        of_level = _with_demands(settings, level, made)
        if any(finding.finding == file_findings.POLICY for finding in of_level):
            return of_level
        findings |= dict.fromkeys(of_level)
    return list(findings)


def _with_demands(settings: Settings, level: Demands, made: list[Routes]) -> list[Finding]:
    """Return the findings with the demands of a level; ``made`` caches the routes, shared by all levels."""
    folder = near(policy_folder(settings.policy.folder))
    try:
        own = read_named(settings, folder, assurance=level)
    except PolicyError as error:
        return file_findings.refused(file_findings.POLICY, error.faults, str(folder))
    misfits = _misfits(settings, own, made)
    _, shipped = lines_of(policy_folder(None), level)
    return [
        *file_findings.refused(file_findings.ROUTES, misfits, str(folder / "endpoints.csv")),
        *file_findings.file_findings(own, table_places(folder, level)),
        *file_findings.weaker_demands(own, shipped, level),
    ]


def _misfits(settings: Settings, own: Shipped, made: list[Routes]) -> Sequence[str]:
    """Return the differences between the routes of the code and the operator's own lines.

    Tests ensure that the shipped lines fit the code, whose routes import the whole service.
    """
    if settings.policy.folder is None and not settings.policy.extensions:
        return ()
    from service.app import check_routes, made_routes  # noqa: PLC0415 - a second for the operator's own lines
    from service.web.requests.routes import RoutesError  # noqa: PLC0415

    try:
        made[:] = made or [made_routes(own)]
        check_routes(own, known=made[0])
    except RoutesError as error:
        return error.faults
    return ()


def weakened(settings: Settings, accepted: Accepted) -> list[Finding]:
    """Return the findings about file lines that open more, or demand less, than the statements allow.

    Accepted findings are excluded.
    """
    codes = (file_findings.POLICY, file_findings.INVARIANT, file_findings.WEAKER)
    findings = [finding for finding in _files(settings) if finding.finding in codes]
    return [finding for finding in accepted.applied(findings, ()) if finding.accepted is None]


def _stored(settings: Settings) -> list[Finding]:
    shipped = configured(settings)

    async def look(database: Database) -> list[Finding]:
        async with database.snapshot(within=READ_WITHIN) as connection:
            policy = await derived_policy(connection, shipped)
            holdings = await role_holdings.read(connection)
            standing = Standing(policy, holdings.codes, holdings.users)
            persons = Standing(policy, holdings.codes, holdings.persons)
            strengths = await role_holdings.persons_by_strength(connection)
            broken = await sole("broken-invariants")(connection, shipped.invariants, policy)
            people = People(shipped.takeover_days)
            alike = await approver_findings(connection, persons, people, datetime.now(UTC))
            bound = {
                f"{binding.method} {binding.path}": binding.buttons
                for binding in await bindings.bound(connection)
                if binding.service == PORTCULLIS
            }
            known = [
                StoredResource(
                    name, resource.enabled, tuple((code, works) for code, works in bound.get(name, ()))
                )
                for resource in await resources.of_service(connection)
                for name in [f"{resource.method} {resource.path}"]
            ]
            placed = await menu_findings.placed_menus(connection)
        findings = await asyncio.to_thread(
            stored_findings.stored_findings, standing, known, shipped.invariants
        )
        unmet = await asyncio.to_thread(lambda: [*unmet_demands(standing, strengths)])
        asked = await asyncio.to_thread(request_findings.request_findings, persons, shipped.invariants)
        mistaken = menu_findings.menu_findings(placed)
        return [*file_findings.broken_invariants(broken), *findings, *unmet, *asked, *alike, *mistaken]

    return with_database(settings, look)


_AS_SHIPPED: Final = {
    stored_findings.UNREGISTERED: "as shipped: its endpoint line decides until you register a resource",
    stored_findings.OVERLAP: "both are shipped, and each is a separate route",
    stored_findings.OPEN: "as shipped: logged-in users read their own data",
    stored_findings.BY_WILDCARD: "as shipped: the role admin grants it by system:*",
    stored_findings.CONTAINS: "as shipped: the role admin may do everything below system",
}
"""The reasons for the intended findings of a new installation; it has no others."""


def _accepted_as_shipped(findings: Iterable[Finding], features: Features) -> list[Finding]:
    """Accept the findings that a new installation of this version has with the same text."""
    shipped = set(_of_a_new_installation(features))
    return [
        msgspec.structs.replace(finding, accepted=_AS_SHIPPED[finding.finding])
        if finding in shipped and finding.finding in _AS_SHIPPED
        else finding
        for finding in findings
    ]


def _of_a_new_installation(features: Features) -> list[Finding]:
    """Return the findings in the seeds, with the shipped policy and without extensions."""
    seeds, codes = seeded_resources(), [*dict(WILDCARDS), *permissions(CATALOGUE)]
    policy = configured(Settings(features=features)).policy(derive(seeds, codes), {}, 0)
    standing = Standing(
        policy, {role.code: role.codes for role in ROLES}, Counter({(ADMINISTRATOR_ROLE,): 1})
    )
    resources = [
        StoredResource(f"{seed.method} {seed.path}", enabled=True, buttons=tuple(seed.buttons))
        for seed in seeds
    ]
    return stored_findings.stored_findings(standing, resources)
