"""Answers about one layer, and about the access gained and lost between two policies."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.kernel import value_rules
from service.laboratory.analysis.explain import LayerExplained, LayerPassed
from service.laboratory.analysis.impact import Difference, Standing, access_diff
from service.web.messages.access_change import AccessChange
from service.web.messages.schema import Line, Moment, PartQuery, Schema

RoleCode = value_rules.RoleCode
Code = value_rules.Code
Rows = Annotated[
    list[str],
    Meta(examples=[["holdsSubtree"]]),
    Meta(description="The rows of the matcher that open the line: `@anyone`, `@login`, or predicates."),
]
Words = Annotated[list[str], Meta(examples=[["@two-factors", "@service"]])]
RegisteredBy = Annotated[
    list[str],
    Meta(examples=[["orders"]]),
    Meta(
        description="The other services that have registered a request that no route of this service serves, "
        "by name, for the policy in force; empty for a past revision."
    ),
]
Name = Annotated[str, Meta(examples=["GET /api/role/list"])]
At = Annotated[
    datetime,
    Meta(tz=True, examples=["2026-12-31T00:00:00Z"]),
    Meta(
        description="The instant of the question, past or future; by default now. The revision, the "
        "assignments and the codes of roles are those of that time, the states and bans of users "
        "are the current ones."
    ),
]
"""The parameter ``at`` of questions to the policy."""


class FiredCode(Schema):
    """A held code that matches the deciding line, and the predicate of the model that matches it."""

    code: Annotated[str, Meta(examples=["system:*"])]
    predicate: Annotated[str, Meta(examples=["holdsSubtree"])]


class PassedLayer(Schema):
    """The allowing line of a layer, and the held codes that match it; none for `@login`.

    `until` is the expiry of the line; null for none.
    """

    object: Name
    line: Line | None
    until: Moment | None
    rows: Rows
    fired: list[FiredCode]


class AskedLayer(Schema):
    """An object of a layer, all its lines, and the codes, any one of which is enough."""

    object: Name
    lines: list[Line]
    required: list[Code]


def passed(layers: Iterable[LayerExplained | LayerPassed], name: str) -> PassedLayer | None:
    """Return the layer ``name`` of an explanation; None if it did not decide."""
    return next((PassedLayer.of(layer) for layer in layers if layer.layer == name), None)


Total: TypeAlias = Annotated[int, Meta(ge=0, examples=[2])]

WHOLE: Final = PartQuery()


class DiffCaller(Schema):
    """A possible caller, with the held codes.

    In the layer `assurance` the code is the strongest word that the caller satisfies.
    """

    logged_in: bool
    codes: Annotated[list[str], Meta(examples=[["system:user:list"]])]


class DifferingRequest(Schema):
    """A difference between two policies for some caller: a request, or an object of the named layer.

    In the layer `assurance` it is a request with another demanded authentication. `gains` is a smallest
    caller whom only `to` allows, `loses` a smallest caller whom only `from` allows. Both are null for
    statements without callers: the numbers of approvals.
    """

    name: Annotated[str, Meta(examples=["GET /api/user/list"])]
    layer: (
        Literal["grant", "permission", "service", "account", "assurance", "request", "approve", "review"]
        | None
    )
    gains: DiffCaller | None
    loses: DiffCaller | None


class AccessTotals(Schema):
    """The numbers of members of the lists on all pages."""

    gains: Total
    loses: Total
    callers: Total


class Access(Schema):
    """Gained and lost access: of the current roles and users, and of every possible caller.

    `callers` also has differences that affect no current role. `totals` has the length of each whole list.
    """

    gains: list[AccessChange]
    loses: list[AccessChange]
    callers: list[DifferingRequest]
    totals: AccessTotals


def access_answer(before: Policy, after: Standing, part: PartQuery = WHOLE) -> Access:
    """Return the access gained and lost; a large policy takes a while.

    With a size, the answer has ``part`` of each list, and at most as many requests per role.
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
