"""Resources: routes that administrators register to guard them: ``/api/resource``."""

from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, UnsetType

from service.administration import resource_edits
from service.administration.changes import Changes
from service.authz.engine.paths import registered_fault
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.errors import ValidationFailed
from service.kernel.codes import MOST_LINKED
from service.kernel.core_sentences import sentence
from service.kernel.value_rules import Method, ServiceName
from service.records import resources
from service.web.messages import record_schemas
from service.web.messages.context import RequestContext
from service.web.messages.preconditions import unchanged
from service.web.messages.schema import Id, PageQuery, Revision, Schema, sort_keys


@record_schemas.answer_of(resources.ResourceValues)
class Resource(Schema):
    """A registered route. Each edit increments `version`, its `ETag`; bindings have their own `ETag`."""

    id: Id
    resource_name: Annotated[str, Meta(examples=["Read a report"])]
    resource_code: Annotated[str, Meta(examples=["report.detail"])]
    method: Method
    path: Annotated[str, Meta(examples=["/api/report/{id}"])]
    service: Annotated[str, Meta(examples=["portcullis"])]


class SavedResource(Resource, kw_only=True):
    """The saved resource, and the policy revision that has the change."""

    policy_revision: Revision


OpeningButtons = Annotated[
    list[Id],
    Meta(max_length=MOST_LINKED, examples=[[13]]),
    Meta(description="The Buttons to bind. Each of them gives access to the resource."),
]


@record_schemas.body_of(resources.ResourceValues)
class ResourceBody(Schema):
    """The values of a resource."""


class NewResource(ResourceBody, kw_only=True):
    """A new resource, enabled by default, of this service (`portcullis`) or, for good, another one."""

    service: ServiceName | UnsetType = UNSET
    menu_ids: OpeningButtons | UnsetType = UNSET


@record_schemas.replacement_of(ResourceBody)
class ResourceReplacement(Schema):
    """All values of a resource."""


@record_schemas.patch_of(ResourceBody)
class ResourcePatch(record_schemas.MergePatch):
    """The values of a resource that change (RFC 7396). `null` removes the description, or the demand."""


class State(Schema):
    """True to enable the resource; a disabled one counts as not registered."""

    enabled: bool


@record_schemas.filters_of(resources.ResourceFilter, without=["services"])
class ResourceQuery(PageQuery):
    """Filters and order of resources; name (in any case), code and path match by parts."""

    sort: Annotated[str, sort_keys("ResourceSort", resources.SORTS)] = "id"


def _given(body: Schema) -> dict[str, Any]:
    """Return the values that ``body`` has, if its path can be registered; ValidationFailed else."""
    given = body.given()
    # The change refuses a slash at the end where the service has none.
    if "path" in given and (fault := registered_fault(given["path"], may_end_in_slash=True)):
        raise ValidationFailed(("path", fault))
    return given


RESOURCE: Final = RecordKind(
    noun="resource",
    shown=Resource,
    saved=SavedResource,
    page=resources.page,
    read=resources.read,
    matching=resources.ResourceFilter,
    given=_given,
    service_of=attrgetter("service"),
    session_act="change-access",
)


class ResourceList(RecordEndpoint[Changes], at="/api/resource/list"):
    on_get = RESOURCE.lists(
        ResourceQuery,
        "List resources of the services that the caller may administer.",
        "system:resource:list",
        "system:service:resources",
    )


class Resources(RecordEndpoint[Changes], at="/api/resource"):
    on_post = RESOURCE.creates(
        NewResource,
        """Register a resource.

        The bindings of the resource decide from then on. A resource without bindings is open to every
        logged-in user. In another service it is closed, until public access is given. To take requests from a
        more general resource, callers must hold one of its codes. `menuIds` also requires the permission to
        bind Buttons, and the codes of these Buttons.
        """,
        "system:resource:create",
        "system:service:resources",
        example={
            "resourceName": "Read a report",
            "resourceCode": "report.detail",
            "method": "GET",
            "path": "/api/report/{id}",
        },
    )


class OneResource(RecordEndpoint[Changes], at="/api/resource/{id}"):
    on_get = RESOURCE.reads("Read a resource.", "system:resource:list", "system:service:resources")
    on_put = RESOURCE.replaces(
        ResourceReplacement,
        """Replace the values of a resource; its bindings stay.

        Moving, enabling or disabling a bound resource requires one of its codes. Setting `assurance` and
        `services` requires the permission to bind; omitted ones keep their value. To demand less, callers
        must hold all codes of the resource.
        """,
        "system:resource:update",
        "system:service:resources",
        example={
            "resourceName": "Read a report",
            "resourceCode": "report.detail",
            "method": "GET",
            "path": "/api/report/{id}",
            "description": None,
            "enabled": True,
        },
    )
    on_patch = RESOURCE.replaces(
        ResourcePatch,
        "Change some values of a resource, by the rules of a `PUT`.",
        "system:resource:update",
        "system:service:resources",
        example={"description": "Reads a report by its id"},
    )
    on_delete = RESOURCE.deletes(
        """Delete a resource with its bindings; a bound one requires one of its codes.

        Its requests are then decided by the next matching resource, or count as not registered.
        """,
        "system:resource:delete",
        "system:service:resources",
    )


class ResourceState(RecordEndpoint[Changes], at="/api/resource/{id}/enabled"):
    @RESOURCE.sets(
        "enable",
        "setResourceEnabled",
        "system:resource:update",
        "system:service:resources",
        example={"enabled": True},
    )
    async def on_put(self, context: RequestContext, body: State, id: int) -> SavedResource:
        """Enable or disable a resource; a bound one requires one of its codes."""
        match = unchanged(context)
        saved = await self.changes.make(
            context.write,
            partial(sentence, "cause_enabled" if body.enabled else "cause_disabled"),
            lambda unit: resource_edits.set_enabled(unit, id, body.enabled, match),
        )
        answer: SavedResource = RESOURCE.record_answer(context, saved)
        return answer
