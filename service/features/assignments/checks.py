"""Checks of assignments that expire soon, or break the demands of their roles."""

from collections.abc import Sequence
from typing import Final

from service.features.assignments import store_ends
from service.features.assignments.store import Assignment
from service.kernel.clock import rfc3339
from service.kernel.text import printable
from service.operator.findings import Check, Finding, Installation, ok, warning

_MANY: Final = 5


async def role_ends(installation: Installation) -> Finding:
    """Warn about users who lose a role soon because no other assignment continues it."""
    week, day = store_ends.NOTICE
    async with installation.records() as connection:
        ending = await store_ends.ending(connection, week)
        tomorrow = len(await store_ends.ending(connection, day))
    if not ending:
        return ok(f"no assignment ends within {week.days} days")
    return warning(
        f"{len(ending)} assignments end within {week.days} days, {tomorrow} of them within a day: "
        f"{_named(ending)}",
        "extend the assignments that are still needed",
        users=dict.fromkeys((ends.user_id, ends.user_name) for ends in ending[:_MANY]),
    )


async def role_demands(installation: Installation) -> Finding:
    """Warn about assignments without an expiry or reason that their roles demanded later."""
    async with installation.records() as connection:
        breaking = await store_ends.breaking(connection)
    if not breaking:
        return ok("all assignments meet the requirements of their roles")
    return warning(
        f"{len(breaking)} assignments exceed the longest duration of their roles, or lack a reason: "
        f"{_named(breaking)}",
        "set an end and a reason, or end them",
        users=dict.fromkeys((each.user_id, each.user_name) for each in breaking[:_MANY]),
    )


def _named(some: Sequence[Assignment]) -> str:
    names = [
        f"{each.role_code} of {printable(each.user_name)}"
        + (f" ({rfc3339(each.valid_until)})" if each.valid_until else "")
        for each in some[:_MANY]
    ]
    return ", ".join(names) + (", …" if len(some) > _MANY else "")


CHECKS: Final = (
    Check("role-ends", role_ends, after="factor-key"),
    Check("role-demands", role_demands, after="role-ends"),
)
