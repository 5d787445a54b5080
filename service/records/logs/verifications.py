"""``sys.log_verification``: when each log was last verified, and with what result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.logs.inserts import Log
from service.records.schema import log_verification


@dataclass(frozen=True, slots=True)
class Verification:
    """The last verification of a log: the days that it has read, and those not as they were written."""

    log: Log
    verify_time: datetime
    day_count: int
    faulty_count: int


_VERIFICATION = RowMapper(Verification, log_verification)


async def save(connection: Connection, counts: Mapping[Log, tuple[int, int]]) -> None:
    """Record that logs were verified now; ``counts`` are the days that were read, and the faulty ones."""
    row = insert(log_verification)
    renewed = {name: row.excluded[name] for name in ("day_count", "faulty_count")}
    statement = row.on_conflict_do_update(index_elements=["log"], set_={**renewed, "verify_time": func.now()})
    values = [
        {"log": log, "day_count": days, "faulty_count": faulty} for log, (days, faulty) in counts.items()
    ]
    await connection.execute(statement, values)


async def latest(connection: Connection) -> list[Verification]:
    """Return the last verification of each log that was ever verified."""
    return await _VERIFICATION.all(connection, select(*_VERIFICATION.columns))
