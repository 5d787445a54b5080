"""Says in a sentence what a statement of ``invariants.yaml`` demands."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from service.authz.invariants.statements import (
    Apart,
    CodeNeeded,
    CodesLike,
    ExactLines,
    Exactly,
    OnlyHolders,
    OnlyRoles,
    Statement,
)


@singledispatch
def said(statement: Statement) -> str:
    """Return the demand of ``statement``."""
    raise TypeError(type(statement))


@said.register
def _(one: OnlyRoles) -> str:
    return f"Without one of the roles {_listed(one.roles)} nobody reaches {_listed(one.requests)}."


@said.register
def _(one: OnlyHolders) -> str:
    return f"Without one of the codes {_listed(one.codes)} nobody reaches {_listed(one.requests)}."


@said.register
def _(one: Apart) -> str:
    who = "role" if one.among == "roles" else "user"
    excepted = f", except for the roles {_listed(one.excepted)}" if one.excepted else ""
    return f"No single {who} holds two of {_listed(one.codes)}{excepted}."


@said.register
def _(one: CodeNeeded) -> str:
    excepted = f", except {_listed(one.excepted)}" if one.excepted else ""
    return f"Every request with {_listed(one.methods)} needs a permission code{excepted}."


@said.register
def _(one: Exactly) -> str:
    objects = _listed(one.objects) or "nothing"
    return f"In the layer {one.layer}, the files have {one.word} for exactly {objects}."


@said.register
def _(one: ExactLines) -> str:
    lines = "; ".join(map(str, one.lines)) or "none"
    return f"Beside endpoints, the lines of the files that open something by a code are exactly: {lines}."


@said.register
def _(one: CodesLike) -> str:
    return f"Every permission code of the files has the form {one.pattern}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
