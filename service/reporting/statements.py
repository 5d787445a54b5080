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
def demand(statement: Statement) -> str:
    """Return the demand of ``statement``."""
    raise TypeError(type(statement))


@demand.register
def _(statement: OnlyRoles) -> str:
    return (
        f"Without one of the roles {_listed(statement.roles)} nobody reaches {_listed(statement.requests)}."
    )


@demand.register
def _(statement: OnlyHolders) -> str:
    return (
        f"Without one of the codes {_listed(statement.codes)} nobody reaches {_listed(statement.requests)}."
    )


@demand.register
def _(statement: Apart) -> str:
    who = "role" if statement.among == "roles" else "user"
    excepted = f", except for the roles {_listed(statement.excepted)}" if statement.excepted else ""
    return f"No single {who} holds two of {_listed(statement.codes)}{excepted}."


@demand.register
def _(statement: CodeNeeded) -> str:
    excepted = f", except {_listed(statement.excepted)}" if statement.excepted else ""
    return f"Every request with {_listed(statement.methods)} needs a permission code{excepted}."


@demand.register
def _(statement: Exactly) -> str:
    objects = _listed(statement.objects) or "nothing"
    return f"In the layer {statement.layer}, the files have {statement.word} for exactly {objects}."


@demand.register
def _(statement: ExactLines) -> str:
    lines = "; ".join(map(str, statement.lines)) or "none"
    return f"Beside endpoints, the lines of the files that open something by a code are exactly: {lines}."


@demand.register
def _(statement: CodesLike) -> str:
    return f"Every permission code of the files has the form {statement.pattern}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
