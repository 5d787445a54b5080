"""Writes entries to their log, chained; entries that the database refuses are repaired or set aside."""

import hashlib
import math
from collections.abc import Collection, Iterable, Sequence
from time import monotonic
from typing import Any, Final

import msgspec
import structlog

from service.audit.entries import encode, mended
from service.audit.key_chain import Chain
from service.features.audit_proof import rows
from service.features.audit_proof.appending import Grown, append
from service.features.audit_proof.checkpoints import place_of
from service.features.audit_proof.rows import Row
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.restore_epoch import FIRST
from service.keyspace import KeptHead
from service.records.database.transactions import Connection, Database
from service.records.installation import restore_epochs
from service.records.logs import inserts
from service.records.logs.events import LoginEvent, OperationEvent
from service.records.logs.inserts import AlreadyWritten, Log, Refused
from service.records.published import policy_workers
from service.records.published.policy_workers import COMMITMENTS

_LOOK_EVERY: Final = 30.0  # seconds between two looks for workers of older versions
_PART: Final = 50  # entries decoded between two yields to the event loop

_EVENTS: Final[dict[Log, Any]] = {
    "operation_log": msgspec.json.Decoder(OperationEvent),
    "login_log": msgspec.json.Decoder(LoginEvent),
}
_Numbered = Sequence[tuple[int, Row]]

_log = structlog.get_logger(__name__)


class Writing:
    """Writes each entry once, even if called again; the time limit of ``database`` is that of each batch."""

    def __init__(self, database: Database, chain: Chain) -> None:
        self._database = database
        self._chain = chain
        self._grown: dict[str, KeptHead] = {}
        self._commits = False
        self._looked = -math.inf

    def grown(self) -> list[KeptHead]:
        """Return the heads of the chains that have grown since this was last asked."""
        grown, self._grown = list(self._grown.values()), {}
        return grown

    async def write(self, log: Log, lines: Sequence[bytes]) -> set[int]:
        """Write the encoded entries ``lines``; return the indexes of the lines that were set aside.

        Raises Unavailable; some of the entries may already have been written.
        """
        ready = []
        aside = set()
        pauses = CooperativeYield()
        commits = await self._may_commit()
        for place, line in enumerate(lines):
            try:
                ready.append((place, rows.read(log, line, commits=commits)))
            except ValueError as fault:
                await self._set_aside(log, line, str(fault))
                aside.add(place)
            if place % _PART == _PART - 1:
                await pauses.give_way()
        await self._write(log, ready, aside)
        return aside

    async def _may_commit(self) -> bool:
        """Return true once every worker that reports can verify commitments: older ones would find faults."""
        if not self._commits and monotonic() - self._looked > _LOOK_EVERY:
            async with self._database.transaction() as connection:
                workers = await policy_workers.present(connection)
            self._looked = monotonic()
            self._commits = all(COMMITMENTS in worker.knows for worker in workers)
        return self._commits

    async def _write(self, log: Log, ready: _Numbered, aside: set[int]) -> None:
        """Write all; if the database refuses, bisect until the refused entries are found."""
        if not ready:
            return
        try:
            await self._insert(log, [row for _, row in ready])
        except Refused as refusal:
            if len(ready) > 1:
                half = len(ready) // 2
                await self._write(log, ready[:half], aside)
                await self._write(log, ready[half:], aside)
                return
            place, row = ready[0]
            if not await self._mend(log, row, str(refusal)):
                aside.add(place)

    async def _insert(self, log: Log, new: Sequence[Row]) -> None:
        try:
            async with self._database.transaction() as connection:
                restore_epoch = await restore_epochs.current(connection)
                grown = await append(connection, self._chain, log, new)
                await _settle(connection, log, new, written=True)
            self._note(restore_epoch, grown)
        except AlreadyWritten:
            await self._insert_missing(log, new)

    async def _insert_missing(self, log: Log, new: Sequence[Row]) -> None:
        grown: Sequence[Grown] = ()
        async with self._database.transaction() as connection:
            restore_epoch = await restore_epochs.current(connection)
            await inserts.lock(connection, log)
            there = await inserts.written(connection, log, [(row.event_id, row.create_time) for row in new])
            missing = {row.event_id: row for row in new if row.event_id not in there}
            if missing:
                try:
                    grown = await append(connection, self._chain, log, list(missing.values()))
                except AlreadyWritten:  # its id is in the log with another time
                    raise Refused("its id was already written with another time") from None
            await _settle(connection, log, new, written=True)
        self._note(restore_epoch, grown)

    def _note(self, restore_epoch: str | None, grown: Iterable[Grown]) -> None:
        """Note the committed growth; a chain that grew twice keeps its first beginning."""
        for growth in grown:
            head = growth.head
            place = place_of(restore_epoch or FIRST, head.log, head.day, head.key_id)
            before = growth.before, growth.before_hash.hex()
            if (known := self._grown.get(place)) is not None:
                before = known.before, known.before_hash
            self._grown[place] = KeptHead(place, *before, head.number, head.hash.hex())

    async def _mend(self, log: Log, row: Row, reason: str) -> bool:
        try:
            line = encode(mended(_EVENTS[log].decode(row.line)))
            await self._insert(log, [rows.read(log, line, commits=self._commits)])
        except (Refused, ValueError):
            await self._set_aside(log, row.line, reason, row)
            return False
        _log.warning("an entry was mended", log=log, event_id=str(row.event_id), sqlstate=reason[:5])
        return True

    async def _set_aside(self, log: Log, line: bytes, reason: str, *rows: Row) -> None:
        digest = hashlib.sha256(line).digest()
        text = line.decode("utf-8", "replace").replace("\0", "\ufffd")
        async with self._database.transaction() as connection:
            await inserts.set_aside(connection, log, digest, text, reason.replace("\0", "\ufffd"))
            await _settle(connection, log, rows)
        _log.error("an entry was set aside", log=log, digest=digest.hex())


async def _settle(connection: Connection, log: Log, rows: Collection[Row], *, written: bool = False) -> None:
    """Delete the intents of entries that are written or set aside; note the logins that are written."""
    if rows and log == "operation_log":
        await inserts.settle_intents(connection, [row.event_id for row in rows])
    elif written and log == "login_log":
        await inserts.note_logins(connection, [_EVENTS[log].decode(row.line) for row in rows])
