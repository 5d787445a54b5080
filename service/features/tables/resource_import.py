"""Reads the operations of an OpenAPI document, and registers them, disabled until Buttons are bound."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from service.administration import resource_edits
from service.administration.unit_of_work import UnitsOfWork
from service.authz.engine.paths import registered_fault, shape
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import comparable
from service.authz.engine.rules import METHODS
from service.features.tables.sentences import sentence
from service.kernel.codes import MAX_CODE_LENGTH
from service.kernel.identity import Caller
from service.kernel.operator_error import OperatorError
from service.kernel.services import Service, object_of
from service.kernel.text import seen
from service.kernel.write import Write
from service.records import resources
from service.records.database.transactions import Connection
from service.records.resources import Resource, ResourceValues

_LONGEST_NAME: Final = 128
_LONGEST_CODE: Final = 64
_FIELDS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_PARAMETER: Final = re.compile(r"\{([^{}/]*)\}")
_ACTIONS: Final = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}


class DocumentError(OperatorError):
    """The document can't be imported; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Imported:
    """An operation as a resource: ``suggested`` is a permission code for its Button."""

    object: str
    method: str
    path: str
    name: str
    code: str
    suggested: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """An operation that can't be registered, such as ``GET /files/{name}.json``, and the reason."""

    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a document: ``base`` is the common path prefix, empty if there is none."""

    base: str
    imported: tuple[Imported, ...]
    unusable: tuple[Unusable, ...]


def operations_of(document: object, service: Service, base: str | None = None) -> Operations:
    """Return the operations of an OpenAPI 3 or Swagger 2.0 document as resources of ``service``.

    Paths begin with ``base``, by default the path of the document's ``servers`` or ``basePath``. Path
    parameters are renamed to names valid for resources. Raises DocumentError for other documents, and if
    ``base`` is required because several servers have different paths or paths with variables.
    """
    if not isinstance(document, dict) or not isinstance(document.get("paths"), dict):
        raise DocumentError("This is no OpenAPI document: it has no paths")
    if not str(document.get("openapi", "")).startswith("3.") and str(document.get("swagger", "")) != "2.0":
        raise DocumentError("Neither openapi: 3.x nor swagger: 2.0 stands in the document")
    prefix = _base(document) if base is None else base.rstrip("/")
    imported: list[Imported] = []
    unusable: list[Unusable] = []
    seen: dict[tuple[str, str], str] = {}
    for path, item in document["paths"].items():
        for method, operation in _operations(item):
            request = f"{method} {path}"
            reason = _reason(method, prefix, item, operation)
            whole, fault = _converted(f"{prefix}{path}")
            if (reason := reason or fault) is not None:
                unusable.append(Unusable(request, reason))
                continue
            key = method, comparable(service, shape(whole))
            if (other := seen.setdefault(key, request)) != request:
                unusable.append(Unusable(request, f"the router of {service.name} takes it for {other}"))
                continue
            imported.append(_imported(service.name, method, whole, operation))
    return Operations(prefix, tuple(imported), tuple(unusable))


def _base(document: Mapping[str, Any]) -> str:
    if "swagger" in document:
        return str(document.get("basePath") or "").rstrip("/")
    read = [_path_of(server) for server in _servers(document)]
    paths = sorted({path for path in read if path is not None})
    if None in read:
        raise DocumentError("The URL of a server can't be read: name the path of the servers by --base")
    if len(paths) > 1:
        raise DocumentError(
            f"The servers have different paths, {', '.join(map(repr, paths))}: name one by --base"
        )
    base = paths[0] if paths else ""
    if "{" in base:
        raise DocumentError(f"The path of the servers, {base!r}, has variables: name it by --base")
    return base


def _servers(described: Mapping[str, Any]) -> list[Any]:
    servers = described.get("servers")
    return servers if isinstance(servers, list) else []


def _path_of(server: object) -> str | None:
    """Return the path of a server; None if its URL can't be read."""
    url = str(server.get("url", "")) if isinstance(server, dict) else ""
    try:
        return urlsplit(url).path.rstrip("/")
    except ValueError:
        return None


def _operations(item: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(item, dict):
        for field in _FIELDS:
            if isinstance(operation := item.get(field), dict):
                yield field.upper(), operation


def _reason(method: str, base: str, item: Mapping[str, Any], operation: Mapping[str, Any]) -> str | None:
    if method == "HEAD":
        return "HEAD is decided as GET"
    if method not in METHODS:
        return f"resources have a method of {', '.join(METHODS)}"
    servers = _servers(operation) or _servers(item)
    if any(_path_of(server) != base for server in servers):
        return "it has servers of its own, with another path"
    return None


def _converted(path: str) -> tuple[str, str | None]:
    """Return ``path`` with valid parameter names, and the reason if it can't be registered."""
    for segment in path.split("/"):
        if "{" in segment and not _PARAMETER.fullmatch(segment):
            return path, "a parameter must be a whole segment"
    template = _PARAMETER.sub(lambda match: f"{{{_parameter(match[1])}}}", path)
    return template, registered_fault(template, may_end_in_slash=True)


def _parameter(name: str) -> str:
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"_{cleaned}"


def _imported(service: str, method: str, path: str, operation: Mapping[str, Any]) -> Imported:
    title = operation.get("summary") or operation.get("operationId") or f"{method} {path}"
    name = " ".join(seen(str(title)).split())[:_LONGEST_NAME].strip()
    words = [service, method.lower(), *re.findall(r"[A-Za-z0-9_-]+", path)]
    return Imported(
        object_of(service, f"{method} {path}"),
        method,
        path,
        name or f"{method} {path}"[:_LONGEST_NAME],
        ".".join(words)[:_LONGEST_CODE],
        _suggested(service, method, path),
    )


def _suggested(service: str, method: str, path: str) -> str:
    """Return a code such as ``orders:order:read``: the service, the noun of the path, and the action."""
    segments = [segment for segment in path.split("/") if segment]
    literal = [segment for segment in segments if not segment.startswith("{")]
    noun = _singular(re.sub(r"[^a-z0-9_-]", "-", (literal or [service])[-1].lower()))
    is_single = bool(segments) and segments[-1].startswith("{")
    action = _ACTIONS.get(method, "read" if is_single or not segments else "list")
    return f"{service}:{noun}:{action}"[:MAX_CODE_LENGTH]


def _singular(noun: str) -> str:
    if noun.endswith("ies") and len(noun) > 4:  # noqa: PLR2004 - "ties", and not "ies" alone
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


_FREE_CODE_LENGTH = 56


@dataclass(frozen=True, slots=True)
class Differing:
    """A registered resource that differs from the document: the stored and the imported version."""

    resource: Resource
    imported: Imported


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The plan of an import; everything else stays as it is.

    ``same`` are registered already. ``differing`` are registered with another name or path. ``absent`` are
    registered and missing in the document.
    """

    operations: Operations
    new: tuple[Imported, ...]
    same: tuple[Resource, ...]
    differing: tuple[Differing, ...]
    absent: tuple[Resource, ...]


async def planned(connection: Connection, router: Service, operations: Operations) -> ImportPlan:
    """Compare ``operations`` with the registered resources, including disabled ones; only reads."""
    stored = {
        (resource.method, comparable(router, shape(resource.path))): resource
        for resource in await resources.of_service(connection, router.name)
    }
    new: list[Imported] = []
    same: list[Resource] = []
    differing: list[Differing] = []
    for operation in operations.imported:
        existing = stored.pop((operation.method, comparable(router, shape(operation.path))), None)
        if existing is None:
            new.append(operation)
        elif (existing.path, existing.resource_name) == (operation.path, operation.name):
            same.append(existing)
        else:
            differing.append(Differing(existing, operation))
    return ImportPlan(operations, tuple(new), tuple(same), tuple(differing), tuple(stored.values()))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ResourceImport:
    """Registers the new operations of a plan."""

    units: UnitsOfWork

    async def register(
        self, caller: Caller, service: str, operations: Operations
    ) -> tuple[ImportPlan, Policy]:
        """Register the new operations, disabled and without bindings.

        Raises what ``edits.create`` and ``UnitsOfWork.publishing`` raise; then nothing is registered.
        """
        cause = sentence("cause_operations_imported", service=service)
        async with self.units.publishing(Write(caller), cause) as unit:
            router = await resource_edits.router_of(unit.connection, service)
            plan = await planned(unit.connection, router, operations)
            taken = {resource.resource_code for resource in await resources.every(unit.connection)}
            for operation in plan.new:
                code = _free(operation.code, taken)
                taken.add(code)
                values = ResourceValues(
                    operation.name, code, operation.method, operation.path, None, False, service
                )
                await resource_edits.create(unit, asdict(values))
        return plan, unit.policy


def _free(code: str, taken: set[str]) -> str:
    candidate, number = code, 1
    while candidate in taken:
        number += 1
        candidate = f"{code[:_FREE_CODE_LENGTH]}-{number}"
    return candidate
