"""Changes of many rows in one transaction: report the faults of all rows together."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from service import errors
from service.features.bulk_acts.sentences import sentence
from service.kernel.coded_sentences import Sentence


@dataclass(frozen=True, slots=True)
class BulkDone:
    """Numbers of records that a bulk operation has changed and left unchanged."""

    changed: int
    unchanged: int


class RowFaults:
    """Collects the faults of rows, to report them together."""

    def __init__(self) -> None:
        self._found: list[errors.RowFault] = []

    def add(self, row: int, field: str, message: Sentence) -> None:
        self._found.append(errors.RowFault(row, field, message))

    def note(self, row: int, field: str, refusal: errors.Refusal) -> None:
        denial = refusal if isinstance(refusal, errors.PermissionDenied | errors.ActOnOneself) else None
        self._found.append(errors.RowFault(row, field, refusal.stated(), refusal.code, denial))

    @contextmanager
    def of(self, row: int, denied: str, conflict: str | None = None) -> Iterator[None]:
        """Add refusals raised by the block.

        For refusals without a field, ``denied`` is the field of missing permissions, and ``conflict``, by
        default the same, that of a conflict.
        """
        try:
            yield
        except errors.ValidationFailed as refusal:
            self._found += [
                errors.RowFault(row, fault.field, fault.sentence, refusal.code) for fault in refusal.faults
            ]
        except (errors.PermissionDenied, errors.NotFound) as refusal:
            self.note(row, str(refusal.extra.get("field", denied)), refusal)
        except errors.Conflict as refusal:
            self.note(row, str(refusal.extra.get("field", conflict or denied)), refusal)

    def require_none(self) -> None:
        """Raise RowsRefused if a fault was added."""
        if self._found:
            raise errors.RowsRefused(sorted(self._found, key=itemgetter(slice(4))))


def add_duplicate_faults(faults: RowFaults, field: str, keys: Iterable[tuple[int, str]]) -> None:
    """Add a fault for each row with the key of an earlier row."""
    first: dict[str, int] = {}
    for row, key in keys:
        if first.setdefault(key, row) != row:
            faults.add(row, field, sentence("same_record_twice", row=first[key]))


WITHIN: Final = 60.0
"""Maximum seconds of a transaction on many rows, including waits; a thousand rows take a few."""
