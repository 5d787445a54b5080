"""Public access to other services, without a permission code: ``/api/opening``."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Final

from msgspec import Meta

from service.administration.changes import Changes
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.kernel.value_rules import ServiceName
from service.records import openings
from service.web.messages.schema import SEVERAL, Id, Moment, PageQuery, Revision, Schema, sort_keys

OpenTo = Annotated[
    openings.OpenTo, Meta(description="`@login`: everybody who is logged in. `@anyone`: everybody.")
]


class ServiceOpening(Schema):
    """A rule of public access: `object` is a resource of the service, or what is not registered there."""

    id: Id
    service: ServiceName
    object: Annotated[str, Meta(examples=["orders @unregistered"])]
    resource_id: Id | None
    code: OpenTo
    create_time: Moment


class SavedServiceOpening(ServiceOpening):
    """The saved rule of public access, and the policy revision from which it is in force."""

    policy_revision: Revision


class OpeningBody(Schema, kw_only=True):
    """What to give public access to: a resource, or, without `resourceId`, what is not registered there."""

    service: ServiceName
    resource_id: Id | None = None
    code: OpenTo


class OpeningQuery(PageQuery):
    """Filters and order of rules of public access."""

    service: ServiceName | None = None
    code: Annotated[list[OpenTo], SEVERAL] | None = None
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
)


class OpeningList(RecordEndpoint[Changes]):
    """``/api/opening/list``."""

    on_get = OPENING.lists(
        OpeningQuery,
        "List rules of public access to services that the caller may administer; disabled resources too.",
        "system:resource:list",
        "system:service:resources",
    )


class Openings(RecordEndpoint[Changes]):
    """``/api/opening``."""

    on_post = OPENING.creates(
        OpeningBody,
        """Give public access to a resource of another service, or to what is not registered there.

        Callers must hold one code of a bound resource.
        """,
        "system:resource:open",
        "system:service:resources",
        example={"service": "orders", "code": "@login"},
    )


class OneOpening(RecordEndpoint[Changes]):
    """``/api/opening/{id}``."""

    on_get = OPENING.reads(
        "Read a rule of public access.", "system:resource:list", "system:service:resources"
    )
    on_delete = OPENING.deletes(
        "Delete a rule of public access: from then on bound Buttons decide, or nobody passes.",
        "system:resource:open",
        "system:service:resources",
    )
