"""Effects of other codes or roles: ``/api/policy/what-if``."""

from typing import Annotated, Literal

from msgspec import Meta, field

from service.administration.resource_edits import NO_DEMAND
from service.errors import ValidationFailed
from service.features.explain.policy_layers import Name, Words
from service.features.explain.policy_questions import WITHIN, PolicyQuestion
from service.features.explain.sentences import sentence
from service.features.explain.what_if import (
    DemandChange,
    demand_changes,
    if_role_gave,
    if_user_had,
    with_resource,
)
from service.kernel.assurance import Demand, words_of
from service.kernel.text import MAX_USER_NAME
from service.laboratory.analysis.impact import Roles, Standing, differences
from service.laboratory.analysis.sources import standing_of, subject_of
from service.records import role_rights
from service.records.database.transactions import Connection
from service.web.messages.access_change import AccessChange
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import example_parameters, needs
from service.web.messages.schema import Schema

Codes = Annotated[
    str,
    Meta(max_length=8192, examples=["system:user:list"]),
    Meta(description="Permission codes, or the codes of roles of a user, separated by commas."),
]


class WhatIfQuery(Schema):
    """The previewed change: exactly one of a role, a user and a resource, with removed and added codes.

    A role gives permission codes, a user has roles, and permission codes open a resource, by the Buttons
    that are bound to it.
    """

    role_code: Annotated[str, Meta(min_length=1, max_length=64, examples=["auditor"])] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME)] | None = None
    resource: (
        Annotated[
            str,
            Meta(min_length=1, max_length=1100, examples=["GET /api/user/{id}"]),
            Meta(description="Method and path, after the name of the service if it is another one."),
        ]
        | None
    ) = None
    without: Codes = ""
    with_: Codes = field(default="", name="with")
    assurance: (
        Annotated[
            Demand | Literal["none"],
            Meta(description="The authentication to demand of persons who send requests to the resource."),
        ]
        | None
    ) = None
    services: Annotated[bool, Meta(description="Let service accounts pass too; only with `assurance`.")] = (
        False
    )

    def __post_init__(self) -> None:
        if self.resource is None and (self.assurance is not None or self.services):
            raise ValidationFailed(("assurance", sentence("demand_without_resource")))
        if self.assurance in (None, "none") and self.services:
            raise ValidationFailed(("services", NO_DEMAND))
        if sum(choice is not None for choice in (self.role_code, self.user_name, self.resource)) != 1:
            raise ValidationFailed(("roleCode", sentence("one_of_role_user_resource")))

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of the demand; empty if the demand stays the same."""
        if self.assurance is None:
            return ()
        return words_of(None if self.assurance == "none" else self.assurance, services=self.services)

    async def roles(self, connection: Connection) -> Roles:
        """Return the roles of the named user; empty without a name; raises ValidationFailed if unknown."""
        if self.user_name is None:
            return ()
        asking = await subject_of(connection, self.user_name, None)
        return () if asking.user_id is None else (await role_rights.of(connection, asking.user_id)).roles


class ChangedDemand(Schema):
    """The demanded authentication of a request: the weakest words, any one of which is enough."""

    object: Name
    before: Words
    after: Words


class WhatIfAnswer(Schema):
    """The gained and lost access of the preview; nothing is changed.

    A disabled or banned user is treated as one who may log in. `demands` are the requests whose demanded
    authentication would change.
    """

    gains: list[AccessChange]
    loses: list[AccessChange]
    demands: list[ChangedDemand]


def what_if_answer(standing: Standing, had: Roles, query: WhatIfQuery) -> WhatIfAnswer:
    """Return the answer for a user with the roles ``had``; takes seconds. Raises ValidationFailed."""
    without, with_ = _codes(query.without), _codes(query.with_)
    demands: list[DemandChange] = []
    if query.role_code is not None:
        differing = if_role_gave(standing, query.role_code, without, with_)
    elif query.resource is not None:
        after = with_resource(standing.policy, query.resource, without, with_, query.words)
        differing = differences(standing, Standing(after, standing.codes, standing.users))
        demands = demand_changes(standing.policy, after)
    else:
        differing = if_user_had(standing, had, without, with_)
    return WhatIfAnswer(
        gains=[AccessChange.of(gain) for gain in differing.gains],
        loses=[AccessChange.of(loss) for loss in differing.loses],
        demands=[ChangedDemand.of(change) for change in demands],
    )


def _codes(text: str) -> list[str]:
    return [code for code in text.split(",") if code]


class WhatIf(PolicyQuestion, at="/api/policy/what-if"):
    @needs("system:policy:read", name="previewRoleCodes")
    @example_parameters(role_code="auditor", without="system:user:list")
    async def on_get(self, context: RequestContext, query: WhatIfQuery) -> WhatIfAnswer:
        """Preview the gained and lost access of changed codes or roles, without the right to change them.

        A preview of other codes for a role, other roles for a user, or other codes for a resource.
        """
        context.policy = policy = self.live.current
        async with self.concurrency.turn():
            async with self.database.snapshot(within=WITHIN) as connection:
                had = await query.roles(connection)
                standing = await standing_of(policy, connection)
            return await self.concurrency.computed(what_if_answer, standing, had, query)
