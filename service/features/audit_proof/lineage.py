"""Reported heads, and the losses that restores explain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date

from service.audit.key_chain import Chain
from service.audit.seals import is_sealed
from service.features.audit_proof.checkpoints import AnchoredCheckpoint, Place
from service.features.audit_proof.maintenance import HEAD_EVENT
from service.features.audit_proof.walk import ReportedHeads
from service.kernel.restore_epoch import FIRST
from service.kernel.strict_json import strict_object
from service.records.installation.restore_epochs import RestoreEpoch


def checkpoints_in(lines: Iterable[str]) -> list[AnchoredCheckpoint]:
    """Read heads from JSON lines of the service's log; other lines are skipped.

    Heads reported by versions without restore epochs belong to the first epoch.
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
                heads.append(AnchoredCheckpoint(head.get("timeline", FIRST), *facts))
        except (ValueError, KeyError, TypeError, OverflowError):
            continue
    return heads


@dataclass(frozen=True, slots=True)
class Lineage:
    """The restore epochs of a database, and their consequences for reported heads.

    ``reported`` are the heads that must still exist. ``notes`` describe each restore and its losses.
    ``faults`` are changed records of restores, and heads that no restore explains. Heads of another database
    look the same as heads of a removed restore.
    """

    reported: ReportedHeads = field(default_factory=ReportedHeads)
    notes: Sequence[str] = ()
    faults: Sequence[str] = ()


def lineage_of(
    begun: Sequence[RestoreEpoch],
    keys: Sequence[Chain],
    heads: Iterable[AnchoredCheckpoint],
    unknown_until: date = date.min,
) -> Lineage:
    """Return those of ``heads`` that must exist in a database with the restore epochs ``begun``.

    Until the day ``unknown_until``, restores can be sealed with a key that is not in ``keys``.
    """
    keyed = [chain for chain in keys if chain.key_id]
    known = {chain.key_id for chain in keyed}
    proved = {place for place, restore_epoch in enumerate(begun) if is_sealed(keyed, restore_epoch)}
    reported = ReportedHeads()
    lost: dict[tuple[int, Place], int] = {}
    strange: dict[str, int] = {}
    numbers = {restore_epoch.name: place for place, restore_epoch in enumerate(begun)}
    by_restore = {name: place for place, restore_epoch in enumerate(begun) for name in restore_epoch.ended}
    for head in heads:
        end = (
            numbers[head.restore_epoch] + 1
            if head.restore_epoch in numbers
            else by_restore.get(head.restore_epoch)
        )
        if end is None:
            strange[head.restore_epoch] = strange.get(head.restore_epoch, 0) + 1
            continue
        kept = _kept(begun[end], head.place) if end < len(begun) else head.number
        # A restore is sealed with the key of its time. A restore without a key explains no loss of keyed
        # entries.
        if head.number <= kept or (head.key_id in known and end not in proved):
            reported.hashes.setdefault(head.place, {})[head.number] = head.hash
        else:
            gone = (end, head.place)
            lost[gone] = max(lost.get(gone, 0), head.number - kept)
    notes = [_restore_note(restore_epoch) for restore_epoch in begun[1:]]
    for (end, (log, day, _)), count in sorted(lost.items()):
        notes.append(f"{log} {day}: {count} entries were lost by restore {begun[end].number}")
    faults = [
        f"restore {restore_epoch.number}: its record was changed"
        for restore_epoch in begun
        if not is_sealed(keys, restore_epoch)
        and (restore_epoch.number == 1 or restore_epoch.begin_time.astimezone(UTC).date() > unknown_until)
    ]
    for name, count in sorted(strange.items()):
        faults.append(
            f"restore epoch {name or '(first)'}: {count} heads were reported from it, but it is not in "
            "this database"
        )
    return Lineage(reported, notes, faults)


def _kept(cut: RestoreEpoch, place: Place) -> int:
    """Return the number of a chain's entries in the backup that began the epoch ``cut``."""
    numbers = (head.number for head in cut.heads if (head.log, head.day, head.key_id) == place)
    return max(numbers, default=0)


def _restore_note(restore_epoch: RestoreEpoch) -> str:
    begun, of = (
        "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")
        for moment in (restore_epoch.begin_time, restore_epoch.snapshot_time)
    )
    source = f"from the backup {restore_epoch.backup_id} of {of}"
    return f"restore {restore_epoch.number}: {begun}, by {restore_epoch.operator}, {source}"
