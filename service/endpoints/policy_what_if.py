"""What another set of codes of a role would change: ``/api/policy/what-if``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from service.authz.review.impact import Differences, Standing, what_if
from service.authz.review.sources import standing_of
from service.endpoints.policy_who_may import WITHIN, PolicyQuestion
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import AccessChange
from service.web.messages.operation_metadata import example_parameters, named, needs
from service.web.messages.schema import Schema

Codes = Annotated[
    str,
    Meta(max_length=8192, examples=["system:user:list"]),
    Meta(description="Permission codes, separated by commas."),
]


class WhatIfQuery(Schema):
    """A role, and the codes that it would no longer give, or would give too."""

    role_code: Annotated[str, Meta(min_length=1, max_length=64, examples=["auditor"])]
    without: Codes = ""
    with_: Codes = field(default="", name="with")


class WhatIfAnswer(Schema):
    """Who would gain and who would lose what; nothing is changed."""

    gains: list[AccessChange]
    loses: list[AccessChange]


def what_if_answer(standing: Standing, query: WhatIfQuery) -> WhatIfAnswer:
    """Return the answer; ValidationFailed as ``what_if``. A large policy takes a while."""
    differences: Differences = what_if(standing, query.role_code, _codes(query.without), _codes(query.with_))
    return WhatIfAnswer.of(differences)


def _codes(text: str) -> list[str]:
    return [code for code in text.split(",") if code]


class WhatIf(PolicyQuestion):
    """``/api/policy/what-if``."""

    @needs("system:policy:read")
    @example_parameters(without="system:user:list")
    @named("previewRoleCodes")
    async def on_get(self, context: RequestContext, query: WhatIfQuery) -> WhatIfAnswer:
        """Tell who would gain and lose what if a role gave other codes; needs no right to change it."""
        context.policy = policy = self._live.current
        async with self._concurrency.turn():
            async with self._database.snapshot(within=WITHIN) as connection:
                standing = await standing_of(policy, connection)
            return await self._concurrency.computed(what_if_answer, standing, query)
