"""Texts about statements of ``invariants.yaml``, the reasons why a layer allows, and callers."""

from collections.abc import Iterable
from functools import singledispatch
from typing import Final

from service.features.explain.policy_layers import DiffCaller, PassedLayer
from service.kernel.services import UNTIL
from service.laboratory.invariants import statements
from service.laboratory.proof.within import Bounded

_WITHIN: Final[dict[Bounded, str]] = {
    "agent": "An agent passes only where the person, its own roles and the delegation allow it.",
    "key": "An API key of a person passes only where the person and its scopes allow it.",
}
"""The demand of ``within_their_person`` about each kind of caller."""


@singledispatch
def demand(statement: statements.Statement) -> str:
    """Return the demand of ``statement``."""
    raise TypeError(type(statement))


@demand.register
def _(statement: statements.OnlyRoles) -> str:
    return (
        f"Only users with one of the roles {_listed(statement.roles)} can reach "
        f"{_listed(statement.requests)}."
    )


@demand.register
def _(statement: statements.OnlyHolders) -> str:
    return (
        f"Only holders of one of the codes {_listed(statement.codes)} can reach "
        f"{_listed(statement.requests)}."
    )


@demand.register
def _(statement: statements.Apart) -> str:
    who = "role" if statement.among == "roles" else "user"
    excepted = f", except for the roles {_listed(statement.excepted)}" if statement.excepted else ""
    return f"No {who} holds two of {_listed(statement.codes)}{excepted}."


@demand.register
def _(statement: statements.EndsWithin) -> str:
    named = [f"the role {role}" for role in statement.roles] + [
        f"the code {code}" for code in statement.codes
    ]
    excepted = f", except for the roles {_listed(statement.excepted)}" if statement.excepted else ""
    return f"No user has {' or '.join(named)} for longer than {statement.days} days at a time{excepted}."


@demand.register
def _(statement: statements.CodeNeeded) -> str:
    excepted = f", except {_listed(statement.excepted)}" if statement.excepted else ""
    return f"Every request with {_listed(statement.methods)} needs a permission code{excepted}."


@demand.register
def _(statement: statements.WithinPerson) -> str:
    return " ".join(_WITHIN[caller] for caller in statement.callers)


@demand.register
def _(statement: statements.Exactly) -> str:
    objects = _listed(statement.objects) or "nothing"
    return f"In the layer {statement.layer}, the files have {statement.word} for exactly {objects}."


@demand.register
def _(statement: statements.ExactLines) -> str:
    lines = "; ".join(map(str, statement.lines)) or "none"
    return (
        f"Outside the endpoint layer, the lines of the files that give access by a code are exactly: {lines}."
    )


@demand.register
def _(statement: statements.ExactDemands) -> str:
    groups = "; ".join(f"{' or '.join(words)} for {_listed(names)}" for words, names in statement.groups)
    return (
        f"The demands of {statement.level} are exactly: {groups}; and "
        f"{' or '.join(statement.others)} for all other objects."
    )


@demand.register
def _(statement: statements.CodesLike) -> str:
    return f"Every permission code of the files has the form {statement.pattern}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def by(layer: PassedLayer | None) -> str:
    """Return the reason why ``layer`` allows: ``@login``, or the held codes and the code of the line.

    A temporary line has its end: ``@login until 2026-12-31T00:00:00.000Z``.
    """
    if layer is None or layer.line is None:
        return ""
    code = layer.line.rpartition(", ")[2]
    if layer.until is not None:
        return f"{code}{UNTIL}{layer.until}"
    held = list(dict.fromkeys(fired.code for fired in layer.fired if fired.code != code))
    exactly = any(fired.code == code for fired in layer.fired)
    return code if exactly or not held else f"{code} by {' and '.join(held)}"


def caller_text(caller: DiffCaller) -> str:
    """Return the description of a possible caller."""
    if not caller.logged_in:
        return "everybody"
    if caller.codes and caller.codes[0].startswith("@"):
        return f"a caller that satisfies {caller.codes[0]}"
    return f"a holder of {' and '.join(caller.codes)}" if caller.codes else "every login"
