"""The hash chain of a day's entries: each hash covers its entry and the hash before it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date

import msgspec

from service.audit.key_chain import Chain
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof.rows import Row
from service.features.audit_proof.store_chain import Head
from service.records.database.transactions import Connection
from service.records.logs import inserts
from service.records.logs.inserts import Log


@dataclass(frozen=True, slots=True)
class Grown:
    """A chain that has grown: its head, and number and hash of the last entry before."""

    head: Head
    before: int
    before_hash: bytes


def sealed(chain: Chain, head: Head) -> Head:
    """Return ``head`` with a seal over its other fields."""
    parts = (head.log, head.day, head.key_id, head.number, head.hash.hex(), head.prior_day, head.dropped)
    return replace(head, seal=chain.seal(f"head {parts}"))


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
    await inserts.insert_all(connection, log, lines, _as_json(sealed(chain, head) for head in heads.values()))
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
