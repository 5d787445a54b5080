"""What answers about the policy say of one layer."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.authz.review.explain import LayerExplained
from service.web.messages.schema import Schema

Line = Annotated[str, Meta(examples=["p, endpoint, GET /api/role/list, system:role:list"])]
RoleCode = Annotated[str, Meta(examples=["auditor"])]
Code = Annotated[str, Meta(examples=["system:role:list"])]
Rows = Annotated[
    list[str],
    Meta(examples=[["holdsSubtree"]]),
    Meta(description="The rows of the matcher that open the line: `@anyone`, `@login`, or predicates."),
]
Words = Annotated[list[str], Meta(examples=[["@two-factors", "@service"]])]
Name = Annotated[str, Meta(examples=["GET /api/role/list"])]


class FiredCode(Schema):
    """A held code that matches the deciding line, and the predicate of the model that matches it."""

    code: Annotated[str, Meta(examples=["system:*"])]
    predicate: Annotated[str, Meta(examples=["holdsSubtree"])]


class PassedLayer(Schema):
    """The line by which a layer lets pass, and the held codes that match it; none for `@login`."""

    object: Name
    line: Line | None
    rows: Rows
    fired: list[FiredCode]


class AskedLayer(Schema):
    """The object that a layer decides about, all its lines, and the codes any one of which would do."""

    object: Name
    lines: list[Line]
    required: list[Code]


def passed(layers: tuple[LayerExplained, ...], name: str) -> PassedLayer | None:
    """Return the layer ``name`` of an explanation; None if it was not asked."""
    return next((PassedLayer.of(layer) for layer in layers if layer.layer == name), None)
