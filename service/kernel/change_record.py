"""What one request changes, for the operation log: which records, and each field before and after."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct

MOST_TARGETS: Final = 1_000
"""Records of one request that are named: as many as an import has rows."""


class FieldChange(Struct, frozen=True, omit_defaults=True):
    """The change of one field of the record ``target``; None where the record or the value is not there.

    Of a field with many values, such as the permissions of a role, ``before`` has those that were removed and
    ``after`` those that were added; ``removed`` and ``added`` count them, and are None for any other field.
    """

    target: str
    field: str
    before: Any
    after: Any
    removed: int | None = None
    added: int | None = None


class ChangeRecord:
    """The records that a request is about, and what it has saved of them."""

    def __init__(self) -> None:
        self._targets: dict[str, None] = {}
        self.changes: list[FieldChange] = []
        """What was saved, in order."""
        self._saving: tuple[Sequence[FieldChange], Sequence[str]] = (), ()
        self.entry: tuple[UUID, datetime] | None = None
        """The id and the time of the entry of the request, once something was about to be saved."""
        self.intent: tuple[tuple[str, ...], int] | None = None
        """The targets, and the number of changes, of the intent that is saved."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The records, such as ``role:auditor``, in the order in which they were named."""
        return tuple(self._targets)

    def save(self, changes: Sequence[FieldChange], targets: Sequence[str]) -> None:
        """Take what the transaction saves that is about to be committed, and what that is about besides."""
        self._saving = changes, targets

    def with_saving(self) -> tuple[tuple[str, ...], list[FieldChange]]:
        """Return the targets and changes as they are once the transaction is committed.

        Once: what is not committed is not part of the next transaction of the request.
        """
        (changes, targets), self._saving = self._saving, ((), ())
        named = dict.fromkeys((*self._targets, *(change.target for change in changes), *targets))
        return tuple(named)[:MOST_TARGETS], [*self.changes, *changes]

    def concern(self, targets: Iterable[str]) -> None:
        """Add records that the request is about, ``MOST_TARGETS`` in all."""
        for target in targets:
            if len(self._targets) == MOST_TARGETS:
                return
            self._targets[target] = None


def field_changes(target: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    """Return the changes between the fields of a record; a new or a deleted one has no fields on one side.

    A ``frozenset`` is a field with many values, compared one by one.
    """
    changes = []
    for field in {**before, **after}:
        old, new = before.get(field), after.get(field)
        if isinstance(old, frozenset) or isinstance(new, frozenset):
            old, new = old or frozenset(), new or frozenset()
            changes += values_change(target, field, old - new, new - old)
        elif old != new:
            changes.append(FieldChange(target, field, old, new))
    return changes


def values_change(
    target: str, field: str, removed: Collection[str], added: Collection[str]
) -> list[FieldChange]:
    """Return the change of a field with many values; nothing if there is none."""
    if not (removed or added):
        return []
    return [FieldChange(target, field, sorted(removed), sorted(added), len(removed), len(added))]
