"""Edits of other services and their openings within a unit of work."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from service.administration import change_log
from service.administration.change_log import check_record, check_values
from service.administration.changes import RecordEdits
from service.administration.older_nodes import require_known
from service.administration.resource_edits import router_of
from service.administration.resource_reach import require_apart, require_lowering, require_reach
from service.administration.unit_of_work import UnitOfWork
from service.errors import Conflict, ValidationFailed
from service.features.services.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.origin import field_changes
from service.kernel.services import PORTCULLIS, is_other_service, with_end, word_and_end
from service.records import openings, resources, services
from service.records.database.row_mapper import merged
from service.records.openings import Opening
from service.records.published.policy_workers import LINE_ENDS
from service.records.services import ServiceValues, StoredService

Match = Callable[[StoredService], None]
"""Raises ``PreconditionFailed`` if the service has changed since the caller read it."""


async def create(unit: UnitOfWork, given: Mapping[str, Any]) -> StoredService:
    """Register another service with the ``name`` and the fields of ``ServiceValues`` that are given.

    ``Conflict`` if there is one of that name, ``ValidationFailed`` for a name that it can't have.
    """
    fields = dict(given)
    name = fields.pop("name")
    values = ServiceValues(**fields)
    if not is_other_service(name):
        raise ValidationFailed(
            ("name", sentence("service_name_reserved", service=PORTCULLIS, pattern="[a-z][a-z0-9-]{0,31}"))
        )
    unit.check.require_foreign("name", name)
    check_record(values)
    unit.authorized()
    saved = await services.create(unit.connection, name, values)
    unit.changes += field_changes(change_log.service_target(name), {}, change_log.service_fields(saved))
    return saved


async def update(unit: UnitOfWork, service_id: int, given: Mapping[str, Any], match: Match) -> StoredService:
    """Store the given fields of ``ServiceValues``; absent fields are unchanged.

    Raises ``NotFound``, and ``Conflict`` if the new router would match two of its resources, disabled ones
    too, as one path. A router change moves requests between resources: the caller must reach all resources of
    the service, and may open them. Preflight requests pass without a login, so enabling them also needs the
    right to open.
    """
    check_values(ServiceValues, given)
    before = await _for_change(unit, service_id, match)
    values = merged(ServiceValues, before, given)
    if (before.ignore_case, before.ignore_trailing_slash) != (
        values.ignore_case,
        values.ignore_trailing_slash,
    ):
        registered = await resources.of_service(unit.connection, before.name)
        await require_reach(unit.connection, unit.check, [resource.id for resource in registered])
        if registered:
            unit.check.require_service("open", before.name)
        await require_lowering(unit.connection, unit.check, registered)
        await require_apart(unit.connection, services.router_of(before.name, values))
    if values.allow_preflight and not before.allow_preflight:
        unit.check.require_service("open", before.name)
    saved = await services.update(unit.connection, service_id, values)
    fields = map(change_log.service_fields, (before, saved))
    unit.changes += field_changes(change_log.service_target(before.name), *fields)
    return saved


async def delete(unit: UnitOfWork, service_id: int, match: Match) -> None:
    """Delete a service; ``NotFound``, and ``Conflict`` while it has resources."""
    before = await _for_change(unit, service_id, match)
    if registered := await resources.of_service(unit.connection, before.name):
        raise Conflict(
            sentence("service_in_use", service=before.name, resource=registered[0].object),
            resourceIds=[resource.id for resource in registered[:100]],
            rule="in_use",
        )
    await services.delete(unit.connection, service_id)
    unit.changes += field_changes(
        change_log.service_target(before.name), change_log.service_fields(before), {}
    )


async def open_up(unit: UnitOfWork, given: Mapping[str, Any]) -> Opening:
    """Open a resource of another ``service`` to a ``code``, or all requests not registered there.

    ``resource_id`` is None for unregistered requests. ``until`` is the expiry, if there is one. A code with
    an end restores an earlier opening: the end may have passed, and then nothing is open.

    Raises ``PermissionDenied`` also if the resource is bound and the caller does not reach it. Raises
    ``ValidationFailed`` for an unknown service or resource, and for an ``until`` that is past or not in whole
    seconds. Raises ``Conflict`` if it is open already, or if a node does not support expiries.
    """
    service, resource_id = given["service"], given["resource_id"]
    code, until = word_and_end(given["code"])
    if (given_end := given.get("until")) is not None:
        _require_coming(unit, given_end)
        until = given_end
    if service == PORTCULLIS:
        raise ValidationFailed(("service", sentence("opened_by_files")))
    await router_of(unit.connection, service)
    unit.check.require_service("open", service)
    if resource_id is not None:
        matches = await resources.matching(unit.connection, ids=[resource_id])
        if not matches or matches[0].service != service:
            raise ValidationFailed(("resourceId", sentence("no_resource_of_service", service=service)))
        unit.targets.append(change_log.resource_target(matches[0]))
        await require_reach(unit.connection, unit.check, [resource_id])
    if until is not None:
        await require_known(unit.connection, LINE_ENDS)
    unit.authorized()
    saved = await openings.create(unit.connection, service, resource_id, code, until, now=_now(unit))
    unit.changes += field_changes(change_log.opening_target(saved), {}, {"code": saved.word})
    return saved


def _now(unit: UnitOfWork) -> float:
    assert unit.change is not None  # noqa: S101 - openings have lines
    return unit.change.now


def _require_coming(unit: UnitOfWork, until: datetime) -> None:
    if until.microsecond:
        raise ValidationFailed(("until", sentence("end_not_whole_seconds")))
    if until.timestamp() <= _now(unit):
        raise ValidationFailed(("until", sentence("end_past")))


async def close(unit: UnitOfWork, opening_id: int, match: Callable[[Opening], None]) -> None:
    """Delete an opening; ``NotFound``, and ``PermissionDenied`` as for ``open_up``."""
    before = await openings.read(unit.connection, opening_id)
    match(before)
    change_log.concerns(change_log.opening_target(before))
    unit.check.require_service("open", before.service)
    if before.resource_id is not None:
        await require_reach(unit.connection, unit.check, [before.resource_id])
    await openings.delete(unit.connection, opening_id)
    unit.changes += field_changes(change_log.opening_target(before), {"code": before.word}, {})


async def _for_change(unit: UnitOfWork, service_id: int, match: Match) -> StoredService:
    stored = await services.read(unit.connection, service_id)
    change_log.concerns(change_log.service_target(stored.name))
    match(stored)
    return stored


def _opened(given: Mapping[str, Any]) -> Sentence:
    resource_id = given["resource_id"]
    opened = {"service": given["service"], "word": with_end(given["code"], given.get("until"))}
    if resource_id is None:
        return sentence("cause_rest_opened", **opened)
    return sentence("cause_resource_opened", resource=resource_id, **opened)


SERVICES: Final = RecordEdits(
    "service",
    create,
    update,
    delete,
    lambda given: sentence("cause_service_registered", service=given["name"]),
)
OPENINGS: Final = RecordEdits("opening", open_up, None, close, _opened)
