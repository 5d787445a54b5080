"""``sys.timeline``: the beginning of this database, and its restores."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import DateTime, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.logs.readable import readable_time
from service.records.schema.installation import restore_epoch


@dataclass(frozen=True, slots=True)
class RecoveryPointHead:
    """End of the chain of one day of a log in a backup: its number of entries."""

    log: str
    day: date
    key_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreEpoch:
    """A restore epoch: its number from 1, its name, and when it began.

    A restore has begun every one but the first: ``backup_id``, ``snapshot_time``, ``operator`` and ``heads``
    say which. ``ended`` are restore epochs that it has ended and that the backup did not know.
    """

    number: int
    name: str
    begin_time: datetime
    backup_id: str | None = None
    snapshot_time: datetime | None = None
    operator: str | None = None
    ended: tuple[str, ...] = ()
    heads: tuple[RecoveryPointHead, ...] = field(default=(), repr=False)
    seal: bytes | None = None


_PLAIN: Final = ("number", "name", "begin_time", "backup_id", "snapshot_time", "operator", "seal")


async def current(connection: AsyncConnection) -> str | None:
    """Return the name of the newest restore epoch; None if no restore was completed, or rows are lost."""
    newest = select(restore_epoch.c.name).order_by(restore_epoch.c.number.desc()).limit(1)
    return (await connection.execute(newest)).scalar_one_or_none()


async def every(connection: AsyncConnection) -> list[RestoreEpoch]:
    """Return all restore epochs of this database, the first one first."""
    # A forged time must not prevent reading the others.
    columns = [
        readable_time(column) if isinstance(column.type, DateTime) else column for column in restore_epoch.c
    ]
    rows = await connection.execute(select(*columns).order_by(restore_epoch.c.number))
    return [_restore_epoch(row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's public name


async def add(connection: AsyncConnection, begun: Iterable[RestoreEpoch]) -> None:
    """Store restore epochs; the caller has checked that they follow one another."""
    rows = [asdict(epoch) | {"ended": list(epoch.ended), "heads": _as_json(epoch.heads)} for epoch in begun]
    await connection.execute(insert(restore_epoch), rows)


def _restore_epoch(row: Any) -> RestoreEpoch:
    heads = _heads(row["heads"])
    return RestoreEpoch(**{name: row[name] for name in _PLAIN}, ended=tuple(row["ended"] or ()), heads=heads)


def _heads(stored: Any) -> tuple[RecoveryPointHead, ...]:
    """Read the heads of a row: none if they were forged so that they can't be read, which fits no seal."""
    try:
        return tuple(
            RecoveryPointHead(str(log), date.fromisoformat(day), str(key_id), int(number))
            for log, day, key_id, number in stored or ()
        )
    except (TypeError, ValueError, OverflowError):
        return ()


def _as_json(heads: Iterable[RecoveryPointHead]) -> list[list[str | int]]:
    return [[head.log, str(head.day), head.key_id, head.number] for head in heads]
