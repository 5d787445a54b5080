"""Who gains and loses what between two policies, in answers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.authz.review.diff import access_diff
from service.authz.review.impact import Standing
from service.web.requests.dry_run import AccessChange
from service.web.requests.schema import Schema


class DiffCaller(Schema):
    """A caller who may exist, and the codes that the caller holds."""

    logged_in: bool
    codes: Annotated[list[str], Meta(examples=[["system:user:list"]])]


class DifferingRequest(Schema):
    """What two policies decide differently for some caller: a request, or a code in the layer that is named.

    `gains` is a smallest caller whom only `to` lets pass, `loses` one whom only `from` does.
    """

    name: Annotated[str, Meta(examples=["GET /api/user/list"])]
    layer: Literal["grant", "permission"] | None
    gains: DiffCaller | None
    loses: DiffCaller | None


class Access(Schema):
    """Who gains and loses what: by the current roles and users, and for every possible caller.

    `callers` also has what no current role would notice.
    """

    gains: list[AccessChange]
    loses: list[AccessChange]
    callers: list[DifferingRequest]


def access_answer(before: Policy, after: Standing) -> Access:
    """Return who gains and loses what; a large policy takes a while."""
    found = access_diff(before, after)
    return Access(
        gains=[AccessChange.of(one) for one in found.by_role.gains],
        loses=[AccessChange.of(one) for one in found.by_role.loses],
        callers=[DifferingRequest.of(one) for one in found.callers],
    )
