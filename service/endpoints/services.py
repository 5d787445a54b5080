"""Other services, whose routes resources guard: ``/api/service``."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Final

from msgspec import Meta

from service.administration.changes import Changes
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.errors import Conflict
from service.kernel.value_rules import ServiceName
from service.records import services
from service.web.messages.partial_bodies import MergePatch, patch_of, replacement_of
from service.web.messages.record_schemas import answer_of, body_of, filters_of
from service.web.messages.schema import Id, Moment, PageQuery, Revision, Schema, UpdatedBy, sort_keys


@answer_of(services.ServiceValues, full=True)
class Service(Schema):
    """Another service. Each edit increments `version`, its `ETag`; the name stays."""

    id: Id
    name: ServiceName
    description: str | None
    version: Annotated[int, Meta(ge=1, examples=[3])]
    create_time: Moment
    update_time: Moment
    updated_by: UpdatedBy


class SavedService(Service, kw_only=True):
    """The saved service, and the policy revision from which it is in force."""

    policy_revision: Revision


@body_of(services.ServiceValues, left_out="default")
class ServiceBody(Schema):
    """How the router of a service reads requests. What it takes for one path must be one resource."""


@replacement_of(ServiceBody)
class ServiceReplacement(Schema):
    """All values of a service."""


@patch_of(ServiceBody)
class ServicePatch(MergePatch):
    """The values of a service that change (RFC 7396). `null` removes the description."""


class NewService(ServiceBody, kw_only=True):
    """A new service; `portcullis` is the name of this one."""

    name: ServiceName


@filters_of(services.ServiceFilter, without=["services"])
class ServiceQuery(PageQuery):
    """Filter and order of services; the name matches by parts."""

    sort: Annotated[str, sort_keys("ServiceSort", services.SORTS)] = "name"


SERVICE: Final = RecordKind(
    noun="service",
    shown=Service,
    saved=SavedService,
    page=services.page,
    read=services.read,
    matching=services.ServiceFilter,
    service_of=attrgetter("name"),
)


class ServiceList(RecordEndpoint[Changes]):
    """``/api/service/list``."""

    on_get = SERVICE.lists(
        ServiceQuery,
        "List other services: those whose resources the caller may list.",
        "system:service:list",
        "system:service:resources",
    )


class Services(RecordEndpoint[Changes]):
    """``/api/service``."""

    on_post = SERVICE.creates(
        NewService,
        """Register another service.

        Everything there is closed until resources are bound or opened.
        """,
        "system:service:create",
        example={"name": "orders", "description": "Orders and deliveries", "ignoreTrailingSlash": True},
    )


class OneService(RecordEndpoint[Changes]):
    """``/api/service/{id}``."""

    on_get = SERVICE.reads("Read another service.", "system:service:list", "system:service:resources")
    on_put = SERVICE.replaces(
        ServiceReplacement,
        """Replace the values of a service.

        How its router reads paths decides which resource gets a request: callers who change that must hold a
        code of each bound resource.
        """,
        "system:service:update",
        example={
            "description": "Orders and deliveries",
            "ignoreCase": True,
            "ignoreTrailingSlash": False,
            "allowPreflight": False,
        },
    )
    on_patch = SERVICE.replaces(
        ServicePatch,
        "Change some values of a service, by the rules of a `PUT`.",
        "system:service:update",
        example={"description": "Orders and deliveries"},
    )
    on_delete = SERVICE.deletes(
        "Delete a service that has no resources any more.", "system:service:delete", refuses=[Conflict]
    )
