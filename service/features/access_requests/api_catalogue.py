"""The roles that the caller may ask for: ``/api/access-request/role/list``."""

from typing import Annotated

from msgspec import Meta

from service.endpoints.request_rules import Stage
from service.errors import Unavailable
from service.features.access_requests.approvers import FEW
from service.features.access_requests.catalogue import Catalogue, Offered
from service.features.access_requests.sentences import sentence
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, login
from service.web.messages.schema import Id, Page, PageQuery, Schema


class StageOfRole(Stage, kw_only=True):
    """A stage, and the approvers."""

    approvers: Annotated[
        list[str] | None,
        Meta(
            description=f"User names of those who may approve, sorted; null if more than {FEW} may, or if "
            "many hold the code."
        ),
    ]


class OpenedByRole(Schema):
    """The access of a role in an area, by the titles of its Buttons."""

    menu: Annotated[str, Meta(examples=["Orders"])] | None
    buttons: Annotated[list[str], Meta(examples=[["Read orders"]])]


class RequestableRole(Schema, kw_only=True):
    """A role that the caller may request. `maxDuration` is in seconds.

    In an `emergency` the role is assigned at once, and another person reviews it afterwards.
    """

    role_id: Id
    role_code: Annotated[str, Meta(examples=["auditor"])]
    role_name: Annotated[str, Meta(examples=["Auditor"])]
    description: str | None
    opens: list[OpenedByRole]
    max_duration: Annotated[int, Meta(ge=1, examples=[28_800])]
    reason_required: bool
    emergency: bool
    stages: list[StageOfRole]


class RequestableRoleList(Responders, at="/api/access-request/role/list"):
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @login(name="listRequestableRoles")
    async def on_get(self, context: RequestContext, query: PageQuery) -> Page[RequestableRole]:
        """List the roles that the caller may request, with their access and approvers."""
        if context.policy is None:
            raise Unavailable(sentence("no_policy"))
        offered, total = await self._catalogue.offered(context.policy, context.user, query.part)
        items = [_shown(each) for each in offered]
        return Page(items=items, page=query.page, size=query.size, total=total)


def _shown(offered: Offered) -> RequestableRole:
    opens: dict[str | None, list[str]] = {}
    for button in offered.buttons:
        if button.enabled:
            opens.setdefault(button.menu_title, []).append(button.title)
    stages = zip(offered.rule.stages, offered.approvers, strict=True)
    return RequestableRole(
        role_id=offered.role.id,
        role_code=offered.role.role_code,
        role_name=offered.role.role_name,
        description=offered.role.description,
        opens=[OpenedByRole(menu, buttons) for menu, buttons in opens.items()],
        max_duration=offered.max_duration,
        reason_required=offered.reason_required,
        emergency=offered.rule.emergency,
        stages=[
            StageOfRole(code=stage.code, approvals=stage.approvals, approvers=approvers)
            for stage, approvers in stages
        ],
    )
