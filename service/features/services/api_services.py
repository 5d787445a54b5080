"""Other services, whose routes resources guard, and their openings: ``/api/service``, ``opening``."""

from datetime import datetime
from operator import attrgetter
from typing import Annotated, Final

from msgspec import Meta

from service.administration.changes import Changes
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.errors import Conflict
from service.kernel.value_rules import ServiceName
from service.records import openings, services
from service.web.messages.record_schemas import (
    MergePatch,
    answer_of,
    body_of,
    filters_of,
    patch_of,
    replacement_of,
)
from service.web.messages.schema import SEVERAL, Id, Moment, PageQuery, Revision, Schema, sort_keys


@answer_of(services.ServiceValues, full=True)
class Service(Schema):
    """Another service. Each edit increments `version`, its `ETag`; the name stays."""

    id: Id
    name: ServiceName
    description: str | None


class SavedService(Service, kw_only=True):
    """The saved service, and the policy revision that has the change."""

    policy_revision: Revision


@body_of(services.ServiceValues, left_out="default")
class ServiceBody(Schema):
    """How the router of a service reads requests. Paths that it treats as equal must be one resource."""


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
    session_act="change-access",
)


class ServiceList(RecordEndpoint[Changes], at="/api/service/list"):
    on_get = SERVICE.lists(
        ServiceQuery,
        "List other services whose resources the caller may list.",
        "system:service:list",
        "system:service:resources",
    )


class Services(RecordEndpoint[Changes], at="/api/service"):
    on_post = SERVICE.creates(
        NewService,
        """Register another service.

        Everything in the service is closed until resources are bound or opened.
        """,
        "system:service:create",
        example={"name": "orders", "description": "Orders and deliveries", "ignoreTrailingSlash": True},
    )


class OneService(RecordEndpoint[Changes], at="/api/service/{id}"):
    on_get = SERVICE.reads("Read another service.", "system:service:list", "system:service:resources")
    on_put = SERVICE.replaces(
        ServiceReplacement,
        """Replace the values of a service.

        The settings of the router decide which resource gets a request. To change them, callers must hold a
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
        "Delete a service without resources.", "system:service:delete", refuses=[Conflict]
    )


OpenTo = Annotated[openings.OpenTo, Meta(description="`@login`: every logged-in user. `@anyone`: everybody.")]


OpeningEnd = Annotated[
    datetime,
    Meta(
        tz=True,
        description="The end of the public access, in whole seconds and later than now. Requests from then on"
        " do not pass by it.",
        examples=["2027-12-31T00:00:00Z"],
    ),
]


class ServiceOpening(Schema):
    """A rule of public access: `object` is a resource of the service, or its unregistered requests."""

    id: Id
    service: ServiceName
    object: Annotated[str, Meta(examples=["orders @unregistered"])]
    resource_id: Id | None
    code: OpenTo
    create_time: Moment
    until: Annotated[Moment | None, Meta(description="When it ends; `null`: never.")]


class SavedServiceOpening(ServiceOpening):
    """The saved rule of public access, and the policy revision that has the change."""

    policy_revision: Revision


class OpeningBody(Schema, kw_only=True):
    """The object of public access: a resource, or, without `resourceId`, all unregistered requests."""

    service: ServiceName
    resource_id: Id | None = None
    code: OpenTo
    until: OpeningEnd | None = None


class OpeningQuery(PageQuery):
    """Filters and order of rules of public access."""

    service: ServiceName | None = None
    code: Annotated[list[OpenTo], SEVERAL] | None = None
    ends_before: Annotated[datetime, Meta(tz=True)] | None = None
    endless: bool | None = None
    sort: Annotated[str, sort_keys("OpeningSort", openings.SORTS)] = "id"


OPENING: Final = RecordKind(
    noun="opening",
    shown=ServiceOpening,
    saved=SavedServiceOpening,
    page=openings.page,
    read=openings.read,
    matching=openings.OpeningFilter,
    versioned=False,
    service_of=attrgetter("service"),
    session_act="change-access",
)


class OpeningList(RecordEndpoint[Changes], at="/api/opening/list"):
    on_get = OPENING.lists(
        OpeningQuery,
        "List rules of public access to services that the caller may administer; disabled resources too.",
        "system:resource:list",
        "system:service:resources",
    )


class Openings(RecordEndpoint[Changes], at="/api/opening"):
    on_post = OPENING.creates(
        OpeningBody,
        """Give public access to a resource of another service, or to its unregistered requests.

        Callers must hold one code of a bound resource.
        """,
        "system:resource:open",
        "system:service:resources",
        example={"service": "orders", "code": "@login"},
    )


class OneOpening(RecordEndpoint[Changes], at="/api/opening/{id}"):
    on_get = OPENING.reads(
        "Read a rule of public access.", "system:resource:list", "system:service:resources"
    )
    on_delete = OPENING.deletes(
        "Delete a rule of public access: bound Buttons decide from then on; without any, the "
        "access is closed.",
        "system:resource:open",
        "system:service:resources",
    )
