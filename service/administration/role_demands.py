"""Demands of roles on their assignments: a duration of at most ``max_duration``, and a reason."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from service.errors import ValidationFailed
from service.kernel.core_sentences import sentence
from service.records import roles
from service.records.assignments import Given
from service.records.database.transactions import Connection
from service.records.roles import Role

NOT_PLAIN = sentence("role_needs_end_or_reason")


def require_demands(role: Role, given: Given, since: datetime, *, window: bool = True) -> None:
    """Check that ``given`` meets the demands of ``role``; ValidationFailed else.

    The duration counts from the beginning of the assignment, or from ``since`` if that is later. ``since`` is
    now for a new assignment. Without ``window`` only the reason is checked: the duration does not change.
    """
    faults = []
    if window and (longest := role.max_duration) is not None:
        begins = max(since, given.valid_from or since)
        if given.valid_until is None or given.valid_until - begins > timedelta(seconds=longest):
            faults.append(("until", sentence("until_too_late", most=longest)))
    if role.reason_required and not (given.reason or "").strip():
        faults.append(("reason", sentence("role_needs_reason")))
    if faults:
        raise ValidationFailed(*faults)


async def require_plain(
    connection: Connection, role_ids: Sequence[int], had: Collection[int] = (), field: str = "roleIds"
) -> None:
    """Check that new ``role_ids``, not in ``had``, may be assigned without an end and a reason.

    ValidationFailed else, with the places in ``field``.
    """
    demanding = await roles.demanding(connection, set(role_ids).difference(had))
    if demanding:
        places = [place for place, role_id in enumerate(role_ids) if role_id in demanding]
        raise ValidationFailed(*((f"{field}[{place}]", NOT_PLAIN) for place in places))
