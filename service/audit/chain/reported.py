"""Heads that were told elsewhere, and what restores account for of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date
from typing import Final

from service.audit.chain.form import Chain
from service.audit.chain.seals import is_sealed
from service.audit.chain.walk import HEAD_EVENT, Place, ReportedHeads
from service.kernel.restore_epoch import FIRST
from service.kernel.strict_json import strict_object
from service.records.restore_epochs import Timeline

_LOST: Final = "lost"


@dataclass(frozen=True, slots=True)
class ReportedHead:
    """A head as it was told: the number and hash of the last entry of a chain, in one timeline."""

    timeline: str
    log: str
    day: date
    key_id: str
    number: int
    hash: str

    @property
    def place(self) -> Place:
        """The chain that it is the head of."""
        return self.log, self.day, self.key_id


def told_lines(lines: Iterable[str]) -> list[ReportedHead]:
    """Read JSON lines of the log on standard output; lines that report no head are skipped.

    Those of versions before timelines were kept are of the first one.
    """
    heads = []
    for line in lines:
        if HEAD_EVENT not in line:
            continue
        try:
            head = strict_object(line.encode())
            if head["event"] == HEAD_EVENT:
                day, number = date.fromisoformat(head["day"]), int(head["number"])
                facts = (head["log"], day, head["key_id"], number, head["hash"])
                heads.append(ReportedHead(head.get("timeline", FIRST), *facts))
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
    return heads


def place_of(timeline: str, log: str, day: date, key_id: str) -> str:
    """Return the name under which the session store keeps the head of a chain."""
    return f"{timeline} {log} {day} {key_id}"


def told_store(kept: Mapping[str, str]) -> list[ReportedHead]:
    """Read what the session store keeps; entries of another form are skipped."""
    heads = []
    for place, value in kept.items():
        try:
            timeline, log, day, key_id = place.removesuffix(f" {_LOST}").split(" ")
            number, link = value.split(" ")
            heads.append(ReportedHead(timeline, log, date.fromisoformat(day), key_id, int(number), link))
        except ValueError:
            continue
    return heads


@dataclass(frozen=True, slots=True)
class Lineage:
    """The timelines of a database, and what follows from them for heads that were told.

    ``reported`` are the heads that must still be there. ``notes`` tell each restore and what it has lost;
    ``faults`` what no restore accounts for.
    """

    reported: ReportedHeads = field(default_factory=ReportedHeads)
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()


def lineage_of(begun: Sequence[Timeline], keys: Sequence[Chain], heads: Iterable[ReportedHead]) -> Lineage:
    """Return which of the heads ``heads`` must be in a database with the timelines ``begun``."""
    reported = ReportedHeads()
    lost: dict[tuple[int, Place], int] = {}
    strange: dict[str, int] = {}
    numbers = {timeline.name: place for place, timeline in enumerate(begun)}
    by_restore = {name: place for place, timeline in enumerate(begun) for name in timeline.ended}
    for head in heads:
        end = numbers[head.timeline] + 1 if head.timeline in numbers else by_restore.get(head.timeline)
        if end is None:
            strange[head.timeline] = strange.get(head.timeline, 0) + 1
            continue
        kept = _kept(begun[end], head.place) if end < len(begun) else head.number
        if head.number <= kept:
            reported.hashes.setdefault(head.place, {})[head.number] = head.hash
        else:
            gone = (end, head.place)
            lost[gone] = max(lost.get(gone, 0), head.number - kept)
    notes = [_told(timeline) for timeline in begun[1:]]
    for (end, (log, day, _)), count in sorted(lost.items()):
        notes.append(f"{log} {day}: {count} entries were lost by restore {begun[end].number}")
    faults = [
        f"restore {timeline.number}: its record was changed"
        for timeline in begun
        if not is_sealed(keys, timeline)
    ]
    for name, count in sorted(strange.items()):
        faults.append(
            f"timeline {name or '(first)'}: {count} heads were told of it, and it is not of this database"
        )
    return Lineage(reported, notes, faults)


def _kept(cut: Timeline, place: Place) -> int:
    """Return how many entries of a chain the backup had that has begun ``cut``."""
    numbers = (head.number for head in cut.heads if (head.log, head.day, head.key_id) == place)
    return max(numbers, default=0)


def _told(timeline: Timeline) -> str:
    begun, of = (
        "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")
        for moment in (timeline.begin_time, timeline.snapshot_time)
    )
    source = f"from the backup {timeline.backup_id} of {of}"
    return f"restore {timeline.number}: {begun}, by {timeline.operator}, {source}"
