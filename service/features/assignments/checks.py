"""Checks of assignments that expire soon, or break the demands of their roles."""

from collections.abc import Sequence
from typing import Final

from service.features.assignments import store_ends
from service.features.assignments.sentences import sentence
from service.features.assignments.store import Assignment
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.operator.findings import Check, Finding, Installation, few_of, ok, warning

_MANY: Final = 5


async def role_ends(installation: Installation) -> Finding:
    """Warn about users who lose a role soon because no other assignment continues it.

    Approved requests are meant to end: their authors get a notice.
    """
    week, day = store_ends.NOTICE
    async with installation.records() as connection:
        ending, soon = [
            [each for each in await store_ends.ending(connection, within) if each.source != "request"]
            for within in (week, day)
        ]
    if not ending:
        return ok(sentence("no_assignment_ends", days=week.days))
    return warning(
        sentence(
            "assignments_end", count=len(ending), days=week.days, tomorrow=len(soon), names=_named(ending)
        ),
        sentence("extend_assignments"),
        users=dict.fromkeys((ends.user_id, ends.user_name) for ends in ending[:_MANY]),
    )


async def role_demands(installation: Installation) -> Finding:
    """Warn about assignments without an expiry or reason that their roles demanded later."""
    async with installation.records() as connection:
        breaking = await store_ends.breaking(connection)
    if not breaking:
        return ok(sentence("assignments_meet_demands"))
    return warning(
        sentence("assignments_break_demands", count=len(breaking), names=_named(breaking)),
        sentence("mend_assignments"),
        users=dict.fromkeys((each.user_id, each.user_name) for each in breaking[:_MANY]),
    )


def _named(some: Sequence[Assignment]) -> list[Sentence]:
    named = [
        sentence(
            "role_of_user_until",
            role=each.role_code,
            user=each.user_name,
            time=rfc3339(each.valid_until),
        )
        if each.valid_until
        else sentence("role_of_user", role=each.role_code, user=each.user_name)
        for each in some
    ]
    return few_of(named, most=_MANY)


CHECKS: Final = (
    Check("role-ends", role_ends, after="factor-key"),
    Check("role-demands", role_demands, after="role-ends"),
)
