"""What importing users and importing roles share: faults of rows, and what came of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from service.errors import Conflict, PermissionDenied, Refusal, RowFault, RowsRefused, ValidationFailed

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """What came of a row: ``name`` is what its record is known by, ``changes`` are the fields that differ."""

    row: int
    name: str
    outcome: Outcome
    changes: tuple[str, ...] = ()
    note: str | None = None


class RowFaults:
    """Gathers what is wrong with rows, so that all of it is told at once."""

    def __init__(self) -> None:
        self._found: list[RowFault] = []

    def add(self, row: int, field: str, message: str) -> None:
        """Note a fault of a row."""
        self._found.append(RowFault(row, field, message))

    def note(self, row: int, field: str, refusal: Refusal) -> None:
        """Note that a row is refused."""
        self._found.append(RowFault(row, field, refusal.detail, refusal.code))

    @contextmanager
    def of(self, row: int, denied: str, conflict: str | None = None) -> Iterator[None]:
        """Note what the block is refused.

        ``denied`` is the field to name when permissions are lacking, ``conflict``, by default the same, for a
        conflict that names none.
        """
        try:
            yield
        except ValidationFailed as refusal:
            self._found += [
                RowFault(row, one["field"], one["message"], refusal.code) for one in refusal.extra["errors"]
            ]
        except PermissionDenied as refusal:
            self.note(row, denied, refusal)
        except Conflict as refusal:
            self.note(row, str(refusal.extra.get("field", conflict or denied)), refusal)

    def require_none(self) -> None:
        """Return when there is no fault; RowsRefused else."""
        if self._found:
            raise RowsRefused(sorted(self._found))


def once_each(faults: RowFaults, field: str, keys: Iterable[tuple[int, str]]) -> None:
    """Note each row whose key an earlier row has: which of the two counts would be anybody's guess."""
    first: dict[str, int] = {}
    for row, key in keys:
        if first.setdefault(key, row) != row:
            faults.add(row, field, f"Row {first[key]} is about the same")
