"""The same edit of many records of one kind; each record is checked as in a single edit."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from service.administration.changes import Changes
from service.administration.unit_of_work import Saved, UnitOfWork
from service.features.bulk_acts.many_rows import BulkDone, RowFaults, add_duplicate_faults
from service.kernel.core_sentences import sentence
from service.kernel.write import Write


class _UnchangedError(Exception):
    """A record already has the new values."""


async def update_all(
    changes: Changes, write: Write, record_ids: Sequence[int], given: Mapping[str, Any]
) -> Saved[BulkDone]:
    """Store the ``given`` fields of many records: of all of them, or of none.

    Records that already have these values stay unchanged. Raises ``RowsRefused`` with a fault for each
    refused record; ``row`` is its position in the ids, from 1.
    """
    update = changes.edits.update
    assert update is not None  # noqa: S101 - records without an update have no such endpoint

    def match(stored: Any) -> None:
        if all(getattr(stored, name) == value for name, value in given.items()):
            raise _UnchangedError

    async def edit(unit: UnitOfWork) -> BulkDone:
        faults = RowFaults()
        add_duplicate_faults(faults, "ids", enumerate(map(str, record_ids), 1))
        changed = 0
        for place, record_id in enumerate(record_ids):
            with suppress(_UnchangedError), faults.of(place + 1, f"ids[{place}]"):
                await update(unit, record_id, given, match)
                changed += 1
        faults.require_none()
        return BulkDone(changed, len(record_ids) - changed)

    cause = sentence("cause_edited_many", count=len(record_ids), kind=f"{changes.edits.noun}s")
    return await changes.make(write, cause, edit)
