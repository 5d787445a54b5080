"""The objects of the policy layer ``review``: who decides in a review, and who closes one."""

from typing import Final, Literal, TypeAlias, get_args

Whose: TypeAlias = Literal["others", "self", "unasked"]
"""Whose assignment somebody decides about: another person's; the own; or one of a review that asks others."""

CLOSE_OWN: Final = "close own"
"""The author of a review closes it before its deadline."""
CLOSE_OTHERS: Final = "close others"
"""Somebody closes a review of another author."""


def assignment_for(whose: Whose) -> str:
    """Return the object that says who decides about an assignment; only that of ``others`` has a line."""
    return f"assignment for {whose}"


OBJECTS: Final = frozenset({CLOSE_OWN, CLOSE_OTHERS, *map(assignment_for, get_args(Whose))})
"""All objects of the layer."""
NEVER_OPEN: Final = frozenset({assignment_for("self"), assignment_for("unasked")})
"""Those that have no line: nobody decides about the own roles, or in place of whom a review asks."""
