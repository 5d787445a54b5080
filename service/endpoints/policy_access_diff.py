"""Who gains and loses what between two policies, in answers."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.authz.review.impact import Difference, Standing, access_diff
from service.web.messages.dry_run import AccessChange
from service.web.messages.schema import PartQuery, Schema

Total: TypeAlias = Annotated[int, Meta(ge=0, examples=[2])]

WHOLE: Final = PartQuery()


class DiffCaller(Schema):
    """A caller who may exist, and the codes that the caller holds.

    In the layer `assurance` it is the strongest word that the caller satisfies.
    """

    logged_in: bool
    codes: Annotated[list[str], Meta(examples=[["system:user:list"]])]


class DifferingRequest(Schema):
    """What two policies decide differently for some caller: a request, or an object of the named layer.

    In the layer `assurance` it is a request for which one of them demands another authentication.
    `gains` is a smallest caller whom only `to` lets pass, `loses` one whom only `from` does.
    """

    name: Annotated[str, Meta(examples=["GET /api/user/list"])]
    layer: Literal["grant", "permission", "service", "account", "assurance"] | None
    gains: DiffCaller | None
    loses: DiffCaller | None


class AccessTotals(Schema):
    """How many members the lists have on all pages."""

    gains: Total
    loses: Total
    callers: Total


class Access(Schema):
    """Who gains and loses what: by the current roles and users, and for every possible caller.

    `callers` also has what no current role would notice. `totals` has the length of each whole list.
    """

    gains: list[AccessChange]
    loses: list[AccessChange]
    callers: list[DifferingRequest]
    totals: AccessTotals


def access_answer(before: Policy, after: Standing, part: PartQuery = WHOLE) -> Access:
    """Return who gains and loses what; a large policy takes a while.

    With a size, the answer has ``part`` of each list, and of an entry of a role as many requests at most.
    """
    diff = access_diff(before, after)
    gains = diff.by_role.gains
    loses = diff.by_role.loses
    callers = diff.callers
    return Access(
        gains=[_change(gain, part.size) for gain in part.part(gains)],
        loses=[_change(loss, part.size) for loss in part.part(loses)],
        callers=[DifferingRequest.of(caller) for caller in part.part(callers)],
        totals=AccessTotals(len(gains), len(loses), len(callers)),
    )


def _change(difference: Difference, size: int | None) -> AccessChange:
    if size is None:
        return AccessChange.of(difference)
    return AccessChange(
        difference.role_code, difference.users, list(difference.access[:size]), len(difference.access)
    )
