"""Shared by imports and by acts on many records: faults and outcomes of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from service.errors import (
    ActOnOneself,
    Conflict,
    NotFound,
    PermissionDenied,
    Refusal,
    RowFault,
    RowsRefused,
    ValidationFailed,
)

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """The outcome of a row: ``name`` identifies its record, ``changes`` are the changed fields."""

    row: int
    name: str
    outcome: Outcome
    changes: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class BulkDone:
    """How many records of a bulk act have changed, and how many were already as they should be."""

    changed: int
    unchanged: int


class RowFaults:
    """Collects the faults of rows, so that all are reported together."""

    def __init__(self) -> None:
        self._found: list[RowFault] = []

    def add(self, row: int, field: str, message: str) -> None:
        """Add a fault of a row."""
        self._found.append(RowFault(row, field, message))

    def note(self, row: int, field: str, refusal: Refusal) -> None:
        """Add a refusal of a row."""
        denial = refusal if isinstance(refusal, PermissionDenied | ActOnOneself) else None
        self._found.append(RowFault(row, field, refusal.detail, refusal.code, denial))

    @contextmanager
    def of(self, row: int, denied: str, conflict: str | None = None) -> Iterator[None]:
        """Add refusals raised by the block.

        ``denied`` is the field for missing permissions, ``conflict``, by default the same, for a conflict;
        both for refusals that name no field.
        """
        try:
            yield
        except ValidationFailed as refusal:
            self._found += [
                RowFault(row, error["field"], error["message"], refusal.code)
                for error in refusal.extra["errors"]
            ]
        except (PermissionDenied, NotFound) as refusal:
            self.note(row, str(refusal.extra.get("field", denied)), refusal)
        except Conflict as refusal:
            self.note(row, str(refusal.extra.get("field", conflict or denied)), refusal)

    def require_none(self) -> None:
        """Raise RowsRefused if there is any fault."""
        if self._found:
            raise RowsRefused(sorted(self._found, key=itemgetter(slice(4))))


def once_each(faults: RowFaults, field: str, keys: Iterable[tuple[int, str]]) -> None:
    """Add a fault for each row with the key of an earlier row."""
    first: dict[str, int] = {}
    for row, key in keys:
        if first.setdefault(key, row) != row:
            faults.add(row, field, f"Row {first[key]} is for the same record")
