"""What the entries of a batch add to the counts of the hours in which they were made."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, TypeVar

import msgspec

from service.keyspace import HourCounts

_SECONDS: Final = 3600


class _Login(msgspec.Struct):
    event: str
    outcome: Literal["success", "failure"]
    create_time: datetime


class _Operation(msgspec.Struct):
    create_time: datetime
    decision: Literal["allow", "deny"] | None = None
    repetitions: int | None = None


Entry = TypeVar("Entry")

_login = msgspec.json.Decoder(_Login)
_operation = msgspec.json.Decoder(_Operation)


def hour_of(moment: datetime) -> int:
    """Return the hour of ``moment`` (aware), in hours since the epoch, UTC."""
    return int(moment.timestamp()) // _SECONDS


def activity_of(operations: Iterable[msgspec.Raw], logins: Iterable[msgspec.Raw]) -> tuple[HourCounts, ...]:
    """Return the counts of encoded entries, by hour; an entry that can't be read counts nowhere.

    An entry that stands for repeated refusals counts as often as they were repeated.
    """
    hours: defaultdict[int, HourCounts] = defaultdict(HourCounts)
    for line in logins:
        login = _read(_login, line)
        if login is not None and login.event == "login":
            counts = hours[hour_of(login.create_time)]
            if login.outcome == "success":
                counts.logins += 1
            else:
                counts.login_failures += 1
    for line in operations:
        operation = _read(_operation, line)
        if operation is not None and operation.decision is not None:
            counts = hours[hour_of(operation.create_time)]
            if operation.decision == "allow":
                counts.allowed += 1
            else:
                counts.refused += operation.repetitions or 1
    for hour, counts in hours.items():
        counts.hour = hour
    return tuple(hours.values())


def _read(decoder: msgspec.json.Decoder[Entry], line: msgspec.Raw) -> Entry | None:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return None
