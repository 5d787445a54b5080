"""``portcullis resource import FILE --service NAME``: resources for the operations of an OpenAPI document."""

import asyncio
import hashlib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Final

from msgspec import Struct

from service import settings as table
from service.administration.resource_edits import router_of
from service.audit.journal import enter
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import show
from service.features.tables.resource_import import (
    DocumentError,
    ImportPlan,
    Operations,
    ResourceImport,
    operations_of,
    planned,
)
from service.kernel.services import PORTCULLIS
from service.kernel.strict_json import strict_json
from service.kernel.text import counted
from service.laboratory.strict_yaml import Bounds, document_of, read_within
from service.operator.stores import reachable
from service.operator.units import caller_named, operator, units_of_work
from service.operator.who import log_to_errors, operator_event, operator_name
from service.records.database.transactions import Database
from service.records.installation.schema_revision import require_current
from service.settings import Settings

BOUNDS: Final = Bounds(size=16 * 1024 * 1024, values=300_000, depth=64)
"""The limits of a YAML document, and the size limit of a JSON document in bytes."""
MOST_JSON_VALUES: Final = 1_500_000
"""The maximum number of values in a JSON document, which use less memory; commas in texts count too."""


class New(Struct, frozen=True, rename="camel"):
    """A resource to register, and a permission code for its Button."""

    object: str
    resource_name: str
    suggested: str


class Told(Struct, frozen=True, rename="camel"):
    """A registered resource, with the document's path and name for it."""

    object: str
    resource_id: int
    path: str
    resource_name: str


class Unusable(Struct, frozen=True):
    """An operation that can't be registered, and the reason."""

    operation: str
    reason: str


class Report(Struct, frozen=True, kw_only=True):
    """The result of an import or its dry run; ``revision`` is None if nothing was changed."""

    base: str
    revision: int | None
    new: list[New]
    same: list[str]
    differing: list[Told]
    absent: list[str]
    unusable: list[Unusable]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the document, the service, and the option to register resources."""
    add_data(parser)
    parser.add_argument("file", metavar="FILE", help="an OpenAPI 3 or Swagger 2.0 document, JSON or YAML")
    parser.add_argument(
        "--service", metavar="NAME", required=True, help="the service whose routes it describes"
    )
    parser.add_argument("--base", metavar="PATH", help="the path before all paths of the document")
    parser.add_argument(
        "--apply", action="store_true", help="register what is new; without it nothing changes"
    )
    parser.add_argument(
        "--as", dest="user", metavar="USER", help="under the rights of this user, not of the operator"
    )
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the resources to register, or register them.

    Raises ``DocumentError``, ``ValidationFailed`` for an unknown service, and what ``ResourceImport`` raises.
    """
    if options.service == PORTCULLIS:
        raise DocumentError(f"{PORTCULLIS} is this service: portcullis policy sync registers its routes")
    document, digest = read_document(Path(options.file))
    with reachable(table.load(environ)) as settings:
        log_to_errors(settings)
        require_current(settings.database.url)
        plan, revision = asyncio.run(_imported(settings, options, document, digest))
    show(options, import_report(plan, revision), lambda: as_lines(plan, revision))


def read_document(path: Path) -> tuple[object, str]:
    """Return the content of a JSON or YAML file, and its SHA-256; raises YamlError and DocumentError.

    Content that begins with a brace is JSON: tools write large documents in that form, and JSON has escapes
    that YAML lacks.
    """
    raw = read_within(path, BOUNDS.size)
    if not raw.lstrip().startswith(b"{"):
        document = document_of(path, raw, object, BOUNDS)
        return document.value, document.digest
    if sum(map(raw.count, (b",", b"[", b"{"))) > MOST_JSON_VALUES:
        raise DocumentError(f"{path} has more than {MOST_JSON_VALUES} values")
    try:
        return strict_json(raw), hashlib.sha256(raw).hexdigest()
    except ValueError as error:
        raise DocumentError(f"{path} is no JSON document: {error}") from error


async def _imported(
    settings: Settings, options: Namespace, document: object, digest: str
) -> tuple[ImportPlan, int | None]:
    async with Database(settings.database.url, pool_size=2, timeout=settings.database.timeout) as database:
        async with database.snapshot() as connection:
            router = await router_of(connection, options.service)
            operations = operations_of(document, router, options.base)
            plan = await planned(connection, router, operations)
        if not options.apply or not plan.new:
            return plan, None
        return await _register(settings, database, options, operations, digest)


async def _register(
    settings: Settings, database: Database, options: Namespace, operations: Operations, digest: str
) -> tuple[ImportPlan, int]:
    begun = perf_counter()
    caller = operator() if options.user is None else await caller_named(database, options.user)
    async with units_of_work(settings, database, configured(settings)) as units:
        plan, policy = await ResourceImport(units).register(caller, options.service, operations)
    event = operator_event(
        "resource import",
        begun,
        module="resource",
        action="import",
        kind="INSERT",
        params={
            "file": Path(options.file).name,
            "sha256": digest,
            "service": options.service,
            "operator": operator_name(),
        },
        user_id=None if caller.is_operator else caller.user_id,
        user_name=caller.user_name,
        response={"registered": [operation.object for operation in plan.new]},
        policy_revision=policy.revision,
    )
    await enter(settings, event)
    return plan, policy.revision


def as_lines(plan: ImportPlan, revision: int | None) -> Iterator[str]:
    """Yield the lines of the report; ``revision`` is None for a dry run."""
    if plan.operations.base:
        yield f"All paths begin with {plan.operations.base}."
    for operation in plan.new:
        yield f"+ {operation.object}  {operation.name}  suggested: {operation.suggested}"
    for other in plan.differing:
        stored, imported = other.resource, other.imported
        differs = _difference(stored.path, imported.path, stored.resource_name, imported.name)
        yield f"~ {stored.object}  resource {stored.id}: {differs}"
    for gone in plan.absent:
        yield f"? {gone.object}  resource {gone.id}: not in the document; it is left as it is"
    for bad in plan.operations.unusable:
        yield f"! {bad.operation}  can't be registered: {bad.reason}"
    done = f"registered, disabled, with revision {revision}" if revision else "would be registered, disabled"
    yield f"{counted(len(plan.new), 'resource')} {done}; {len(plan.same)} are there already."
    if revision is None and plan.new:
        yield "Nothing has been changed: run it again with --apply."


def _difference(path: str, said_path: str, name: str, imported_name: str) -> str:
    parts = []
    if path != said_path:
        parts.append(f"the document has {said_path}")
    if name != imported_name:
        parts.append(f"the document calls it {imported_name!r}, here it is {name!r}")
    return "; ".join(parts)


def import_report(plan: ImportPlan, revision: int | None) -> Report:
    new = [New(item.object, item.name, item.suggested) for item in plan.new]
    differing = [
        Told(item.resource.object, item.resource.id, item.imported.path, item.imported.name)
        for item in plan.differing
    ]
    return Report(
        base=plan.operations.base,
        revision=revision,
        new=new,
        same=[item.object for item in plan.same],
        differing=differing,
        absent=[item.object for item in plan.absent],
        unusable=[Unusable(item.operation, item.reason) for item in plan.operations.unusable],
    )
