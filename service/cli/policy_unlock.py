"""``portcullis policy unlock``: restores access when everybody is locked out of administering the policy."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from service import settings as table
from service.audit.chain.seals import seals_of
from service.audit.journal import enter
from service.authz.engine.paths import shape
from service.authz.engine.rules import UNREGISTERED
from service.authz.publishing.lockout import closing_resources
from service.authz.publishing.publisher import derived_policy
from service.authz.publishing.shipped import configured
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.cli.policy_operator_changes import operator_changes
from service.errors import Conflict
from service.operator.database import with_database
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_name, tell_security
from service.records import bindings, menus, resources
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.settings import Settings

_TOP: Final = "*"


@dataclass(frozen=True, slots=True)
class _Unlocked:
    """A resource that was opened, the changes to it, and the first revision with them."""

    name: str
    done: tuple[str, ...]
    revision: int


def add_arguments(parser: ArgumentParser) -> None:
    """Add the id of the resource."""
    add_data(parser)
    parser.add_argument("resource", metavar="ID", type=int, nargs="?", help="the id of the resource to open")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print what locks everybody out, or open a resource; raises what ``locked`` and ``unlock`` raise."""
    with reachable(table.load(environ)) as settings:
        say(*locked(settings) if options.resource is None else [unlock(settings, options.resource)])


def locked(settings: Settings) -> list[str]:
    """Describe the endpoints that are closed to everybody, and the resources that close them; change nothing.

    Raises ``PolicyError``, ``SchemaError`` and ``Unavailable``.
    """
    shipped = configured(settings.policy)

    async def look(database: Database) -> tuple[dict[str, list[str]], dict[str, int]]:
        async with database.snapshot() as connection:
            policy = await derived_policy(connection, shipped)
            known = await resources.of_service(connection)
        return closing_resources(policy), {
            shape(f"{resource.method} {resource.path}"): resource.id for resource in known
        }

    closing, ids = with_database(settings, look)
    if not closing:
        return ["Nobody is locked out: users who hold * pass each endpoint that administers the policy."]
    # Some are closed because their resource is disabled and policy.unregistered closes unregistered ones.
    unregistered = closing.pop(UNREGISTERED, [])
    lines = [_closed(requests, ids[shape(name)]) for name, requests in sorted(closing.items())]
    lines += [_closed([request], ids[shape(request)]) for request in unregistered if shape(request) in ids]
    if missing := [request for request in unregistered if shape(request) not in ids]:
        lines.append(f"{', '.join(missing)}: not registered: portcullis policy sync")
    return lines


def _closed(requests: list[str], resource_id: int) -> str:
    by = f"closed by resource {resource_id}: portcullis policy unlock {resource_id}"
    return f"{', '.join(requests)}: {by}"


def unlock(settings: Settings, resource_id: int) -> str:
    """Open a resource to users who hold ``*``, publish that, and return a summary.

    A disabled resource is enabled. A resource that is bound to disabled Buttons only is bound to the Button
    ``*`` as well, so that no other user gains access. Logged as a security event and in the operation log.
    Raises ``NotFound``, ``Conflict`` if no enabled Button carries ``*`` or a statement of the invariants
    would break, ``PolicyError``, ``SchemaError`` and ``Unavailable``.
    """
    begun = perf_counter()
    log_to_errors(settings)
    done = with_database(settings, lambda database: _unlock(settings, database, resource_id))
    if not done.done:
        return (
            f"Resource {resource_id}, {done.name}, is open to users who hold * already; nothing was changed."
        )
    tell_security(
        settings,
        "a resource was unlocked by the operator",
        resource_id=resource_id,
        resource=done.name,
        done=list(done.done),
        revision=done.revision,
    )
    event = OperationEvent(
        module="resource",
        action="unlock",
        kind="UPDATE",
        method="CLI",
        url=f"portcullis policy unlock {resource_id}",
        response={"resource": done.name, "done": list(done.done)},
        status=200,
        elapsed_ms=round((perf_counter() - begun) * 1000, 3),
        policy_revision=done.revision,
        user_name=operator_name(),
    )
    asyncio.run(enter(settings, event))
    did = ", ".join(done.done)
    return f"Resource {resource_id}, {done.name}: {did}. In force with revision {done.revision}."


async def _unlock(settings: Settings, database: Database, resource_id: int) -> _Unlocked:
    shipped = configured(settings.policy)
    changes = await operator_changes(database, shipped, seals_of(settings.oplog))
    async with changes.begin(f"resource {resource_id} unlocked by {operator_name()}") as change:
        done = []
        resource = await resources.read(change.connection, resource_id)
        bound = await bindings.buttons_of(change.connection, resource_id)
        top = (await menus.buttons_by_code(change.connection)).get(_TOP)
        if not resource.enabled:
            await resources.set_enabled(change.connection, resource_id, enabled=True)
            done.append("enabled")
        # Without bindings all logged-in users may pass, and a binding would close it to them.
        if bound and not any(button.enabled for button in bound):
            if top is None:
                raise Conflict(
                    "No enabled Button carries *, to which the resource could be bound", rule="consistent"
                )
            await bindings.bind_buttons(
                change.connection, resource_id, [*(bound_button.id for bound_button in bound), top]
            )
            done.append("bound to the Button *")
    return _Unlocked(f"{resource.method} {resource.path}", tuple(done), change.policy.revision)
