"""The hash chain of a day's entries: each hash covers its entry and the hash before it."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Final

import msgspec

from service.audit.chain.rows import Row
from service.records.database.transactions import Connection
from service.records.logs import chain as log_chain
from service.records.logs import inserts
from service.records.logs.chain import Head
from service.records.logs.inserts import Log

_ID_LENGTH: Final = 8


class Chain:
    """Makes the hashes: HMAC-SHA-256 (RFC 2104) with ``key`` if it is given, else SHA-256.

    Each key, named by ``key_id``, has a chain of its own: a day on which the key changes has two.
    """

    def __init__(self, key: str = "") -> None:
        self._keyed = hmac.new(key.encode(), digestmod="sha256") if key else None
        self.key_id = self._digest(b"portcullis: id of the key").hex()[:_ID_LENGTH] if key else ""

    def begin(self, log: Log, day: date) -> bytes:
        """Return the hash before the first entry of a day."""
        return self._digest(f"portcullis: {log} {day}".encode())

    def link(self, before: bytes, number: int, canonical: bytes) -> bytes:
        """Return the hash of entry ``number`` (from 1) after the hash ``before``."""
        return self._digest(before + number.to_bytes(8) + canonical)

    def sealed(self, head: Head) -> Head:
        """Return ``head`` with a seal over its other fields."""
        parts = (head.log, head.day, head.key_id, head.number, head.hash.hex(), head.prior_day, head.dropped)
        return replace(head, seal=self.seal(f"head {parts}"))

    def seal(self, facts: str) -> bytes:
        """Return the seal over ``facts``, which begin with the kind of record that they are of."""
        return self._digest(f"portcullis: {facts}".encode())

    def _digest(self, content: bytes) -> bytes:
        if self._keyed is not None:
            keyed = self._keyed.copy()  # a key is costly to prepare
            keyed.update(content)
            return keyed.digest()
        return hashlib.sha256(content).digest()


@dataclass(frozen=True, slots=True)
class Grown:
    """A chain that has grown: its head, and number and hash of the last entry before."""

    head: Head
    before: int
    before_hash: bytes


async def append(connection: Connection, chain: Chain, log: Log, rows: Sequence[Row]) -> list[Grown]:
    """Write ``rows`` to ``log``, chained to the entries of their days; locks the log against other writers.

    Return the chains that have grown, once it is committed. Raises Refused and AlreadyWritten.
    """
    await inserts.lock(connection, log)
    days = {row.day for row in rows}
    heads = await log_chain.heads_of(connection, log, chain.key_id, days)
    for day in sorted(days - heads.keys()):
        stored = await log_chain.day_before(connection, log, day)
        earlier = [other_day for other_day in (stored, *heads) if other_day is not None and other_day < day]
        prior = max(earlier, default=None)
        heads[day] = Head(
            log=log, day=day, key_id=chain.key_id, number=0, hash=chain.begin(log, day), prior_day=prior
        )
    before = dict(heads)
    lines = _linked(chain, rows, heads)
    await inserts.insert_all(connection, log, lines, _as_json(map(chain.sealed, heads.values())))
    return [Grown(heads[day], head.number, head.hash) for day, head in before.items()]


def _as_json(heads: Iterable[Head]) -> str:
    """Return ``heads`` as JSON, with bytes in PostgreSQL's hex format (manual §8.4.1)."""
    return msgspec.json.encode(
        [{**asdict(head), "hash": f"\\x{head.hash.hex()}", "seal": f"\\x{head.seal.hex()}"} for head in heads]
    ).decode()


def _linked(chain: Chain, rows: Sequence[Row], heads: dict[date, Head]) -> str:
    """Return ``rows`` as JSON with their places in the chains; advances ``heads``."""
    ends = {day: (head.number, head.hash) for day, head in heads.items()}
    lines = []
    for row in rows:
        number, before = ends[row.day]
        link = chain.link(before, number + 1, row.canonical)
        ends[row.day] = (number + 1, link)
        salts = "" if row.salts is None else f',"salts":"\\\\x{row.salts.hex()}"'
        place = (
            f',"chain_key":"{chain.key_id}","chain_number":{number + 1},"chain_hash":"\\\\x{link.hex()}"'
            f"{salts}}}"
        )
        lines.append(row.line[:-1] + place.encode())
    for day, (number, link) in ends.items():
        heads[day] = replace(heads[day], number=number, hash=link)
    return (b"[" + b",".join(lines) + b"]").decode()
