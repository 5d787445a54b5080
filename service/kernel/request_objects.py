"""The objects of the policy layers ``request``, ``approve`` and ``review``: who asks, and who decides."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

Whose: TypeAlias = Literal["others", "self"]
"""Author of the request being decided: another person, or the decider, also in place of its author."""

MOST_STAGES: Final = 5
"""The most stages of a rule."""
MOST_APPROVALS: Final = 9
"""The most approvals of a stage."""

_ROLE: Final = r"role [a-z0-9_-]{1,64}"
_ASKED: Final = re.compile(rf"{_ROLE}( emergency)?")
_STAGE: Final = rf"{_ROLE} stage [1-{MOST_STAGES}]"
_DECIDED: Final = re.compile(
    rf"{_STAGE} for (others|self)|{_STAGE} takes [1-{MOST_APPROVALS}]|{_ROLE} without-grant"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a rule: ``approvals`` different people who hold ``code`` must approve."""

    code: str
    approvals: int


class PublishedRule(NamedTuple):
    """Published rule for requests for an enabled role.

    ``demand`` are words of the layer ``assurance``; the requester must satisfy one of them.
    """

    role_code: str
    requestable_by: str
    stages: Sequence[Stage]
    demand: tuple[str, ...]
    grant_needed: bool = True
    emergency: bool = False


def ask(role_code: str) -> str:
    """Return the object of layer ``request`` that opens requests for a role."""
    return f"role {role_code}"


def ask_at_once(role_code: str) -> str:
    """Return the object of layer ``request`` that opens an immediate grant, in an emergency."""
    return f"role {role_code} emergency"


def stage_for(role_code: str, number: int, whose: Whose) -> str:
    """Return the object of layer ``approve`` of a stage, counted from 1; that of ``self`` has no line."""
    return f"role {role_code} stage {number} for {whose}"


def is_for_others(name: str) -> bool:
    """True for an object of layer ``approve`` that opens decisions about the requests of others."""
    return name.endswith(" for others")


def for_self(name: str) -> str:
    """Return the object of a stage for own requests, from the one for others; other objects unchanged."""
    return f"{name.removesuffix(' others')} self" if is_for_others(name) else name


def stage_takes(role_code: str, number: int, approvals: int) -> str:
    """Return the object of layer ``approve`` with the number of different approvers for a stage."""
    return f"role {role_code} stage {number} takes {approvals}"


def stages_of(names: Iterable[str], role_code: str) -> dict[int, int]:
    """Return the required approvals of each stage of a role, by number, from objects of layer ``approve``."""
    words = (name.split(" ") for name in names if name.startswith(f"{ask(role_code)} stage "))
    return {int(word[3]): int(word[5]) for word in words if word[4] == "takes"}


def without_grant(role_code: str) -> str:
    """Return the object of layer ``approve`` for approvers who cannot grant all codes of the role."""
    return f"role {role_code} without-grant"


def is_asked(name: str) -> bool:
    """True for an object of layer ``request``."""
    return _ASKED.fullmatch(name) is not None


def is_decided(name: str) -> bool:
    """True for an object of layer ``approve``."""
    return _DECIDED.fullmatch(name) is not None


def role_of(name: str) -> str:
    """Return the code of the role that an object of these layers is about."""
    return name.split(" ")[1]


WhoseAssignment: TypeAlias = Literal["others", "self", "unasked"]
"""Holder of the reviewed assignment: another person; the decider; or a person assigned to other reviewers."""

CLOSE_OWN: Final = "close own"
"""The object of layer ``review`` by which the author of a review closes it before its deadline."""
CLOSE_OTHERS: Final = "close others"
"""The object for closing a review of another author."""


def assignment_for(whose: WhoseAssignment, code: str | None = None) -> str:
    """Return the object of layer ``review`` that opens decisions about an assignment.

    Only the object for ``others`` has a line. ``code`` is that of the review; None for a review without a
    code. No code opens decisions about own assignments, or in place of the assigned reviewers.
    """
    return f"assignment for {whose}" if code is None or whose != "others" else f"{_BY}{code}"


def code_of_review(name: str) -> str | None:
    """Return the code that an object of layer ``review`` names: that of reviews; None for all others."""
    return name.removeprefix(_BY) if name.startswith(_BY) else None


_BY: Final = f"{assignment_for('others')} by "


def sign_off_for(whose: Whose) -> str:
    """Return the object of layer ``review`` that opens sign-off of the changes of others, or of own ones."""
    return f"sign-off for {whose}"


OF_REVIEWS: Final = frozenset(
    {CLOSE_OWN, CLOSE_OTHERS}.union(
        map(assignment_for, get_args(WhoseAssignment)), map(sign_off_for, get_args(Whose))
    )
)
"""All objects of the layer ``review`` of the node's own files; others name the code of a review."""
NEVER_OPEN: Final = frozenset({assignment_for("self"), assignment_for("unasked"), sign_off_for("self")})
"""Objects without a line: decisions about own assignments or changes, or in place of assigned reviewers."""
