"""Bindings between Buttons and resources: below ``/api/resource`` and ``/api/menu``."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.administration import resource_edits
from service.administration.changes import Changes
from service.administration.resource_edits import Buttons
from service.endpoints.record_endpoints import RecordEndpoint, in_force, require_shown, shown_services
from service.endpoints.resources import RESOURCE
from service.errors import NotFound
from service.kernel.codes import MAX_CODE_LENGTH, MOST_LINKED
from service.kernel.core_sentences import sentence
from service.records import bindings, menus, resources
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import example_parameters, needs
from service.web.messages.preconditions import answer_tag, content_tag, require_match
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Id, Revision, Schema

Code = Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:user:list"])]


@shows(menus.Button)
class BoundButton(Schema):
    """A Button. A resource with only disabled Buttons is closed to everybody."""


class BoundResource(Schema):
    """A resource; a disabled one counts as not registered."""

    id: Id
    resource_name: Annotated[str, Meta(examples=["List users"])]
    resource_code: Annotated[str, Meta(examples=["user.list"])]
    method: Annotated[str, Meta(examples=["GET"])]
    path: Annotated[str, Meta(examples=["/api/user/list"])]
    service: Annotated[str, Meta(examples=["portcullis"])]
    enabled: bool


class ButtonsOfResource(Schema):
    """The Buttons of the resource and their codes: any one opens it. Without Buttons, a login is enough."""

    menu_ids: list[Id]
    codes: list[Code]
    buttons: list[BoundButton]


class SavedButtons(ButtonsOfResource):
    """The saved bindings, and the policy revision that has the change."""

    policy_revision: Revision


class ResourcesOfButton(Schema):
    """The resources of the Button, in services whose resources the caller may list or bind."""

    resource_ids: list[Id]
    resources: list[BoundResource]


class SavedResources(ResourcesOfButton):
    """The saved bindings, and the policy revision that has the change."""

    policy_revision: Revision


class ButtonsEdit(Schema):
    """All Buttons of the resource: by ids, by codes, or by both with the same Buttons."""

    menu_ids: Annotated[list[Id], Meta(max_length=MOST_LINKED)] | UnsetType = UNSET
    codes: Annotated[list[Code], Meta(max_length=MOST_LINKED)] | UnsetType = UNSET


class ResourceIds(Schema):
    """The ids of all resources that the Button opens."""

    resource_ids: Annotated[list[Id], Meta(max_length=MOST_LINKED)]


class ResourceButtons(RecordEndpoint[Changes], at="/api/resource/{id}/buttons"):
    @needs(
        "system:resource:list",
        "system:service:resources",
        name="getResourceButtons",
        refuses=[NotFound],
        tagged=True,
    )
    async def on_get(self, context: RequestContext, id: int) -> ButtonsOfResource:
        """Read the Buttons that open a resource."""
        async with self.database.snapshot() as connection:
            stored = await resources.read(connection, id)
            require_shown(context, self.live, stored.service)
            buttons = await bindings.buttons_of(connection, id)
        shown = _buttons(buttons)
        answer_tag(context, content_tag(shown))
        return shown

    @RESOURCE.sets(
        "bind",
        "setResourceButtons",
        "system:resource:bind",
        "system:service:resources",
        example={"menuIds": [23]},
    )
    async def on_put(self, context: RequestContext, body: ButtonsEdit, id: int) -> SavedButtons:
        """Replace the Buttons that open a resource.

        An empty list opens the resource to every logged-in user, and closes a resource of another service.
        Callers can't add or remove a Button whose code they lack. For a bound resource, they must hold one of
        its codes.
        """

        def match(before: Sequence[menus.Button]) -> None:
            require_match(context, content_tag(_buttons(before)))

        saved = await self.changes.make(
            context.write,
            partial(sentence, "cause_buttons_replaced"),
            lambda unit: resource_edits.bind_buttons(unit, id, Buttons(**body.given()), match),
        )
        shown = _buttons(saved.record)
        answer_tag(context, content_tag(shown))
        return SavedButtons(shown.menu_ids, shown.codes, shown.buttons, in_force(context, saved))


class ButtonResources(RecordEndpoint[Changes], at="/api/menu/{id}/resources"):
    @needs("system:menu:list", name="getButtonResources", refuses=[NotFound], tagged=True, shows_more=True)
    @example_parameters(id=23)
    async def on_get(self, context: RequestContext, id: int) -> ResourcesOfButton:
        """Read the resources that a Button opens."""
        async with self.database.snapshot() as connection:
            await menus.button(connection, id)
            bound = await bindings.resources_of(connection, id)
        answer_tag(context, content_tag(_resources(bound)))
        # A caller who may bind sees the bindings that a change would replace.
        services = shown_services(context, self.live, "bind")
        return _resources([resource for resource in bound if resource.service in services])

    @RESOURCE.sets("bind", "setButtonResources", "system:resource:bind", example={"resourceIds": [1]})
    async def on_put(self, context: RequestContext, body: ResourceIds, id: int) -> SavedResources:
        """Replace the resources that a Button opens.

        A resource that loses its last Button is open to every logged-in user, or closed in another service.
        Callers must hold the code of the Button, and one code of each added bound resource.
        """

        def match(before: Sequence[resources.Resource]) -> None:
            require_match(context, content_tag(_resources(before)))

        saved = await self.changes.make(
            context.write,
            partial(sentence, "cause_resources_replaced"),
            lambda unit: resource_edits.bind_resources(unit, id, body.resource_ids, match),
        )
        shown = _resources(saved.record)
        answer_tag(context, content_tag(shown))
        return SavedResources(shown.resource_ids, shown.resources, in_force(context, saved))


def _buttons(buttons: Sequence[menus.Button]) -> ButtonsOfResource:
    return ButtonsOfResource(
        [button.id for button in buttons],
        [button.auth_mark for button in buttons],
        [BoundButton.of(button) for button in buttons],
    )


def _resources(bound: Sequence[resources.Resource]) -> ResourcesOfButton:
    return ResourcesOfButton(
        [resource.id for resource in bound], [BoundResource.of(resource) for resource in bound]
    )
