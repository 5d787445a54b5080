"""Imports of users or roles in one transaction, with the checks of single changes for each row."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar

from service.administration import change_log
from service.administration.delegation import Delegation, DelegationCheck
from service.administration.events import watching
from service.authn.revocations import Revocations
from service.features.bulk_acts.many_rows import WITHIN, RowFaults
from service.kernel.coded_sentences import Sentence
from service.kernel.fields import camel
from service.kernel.identity import Caller
from service.kernel.origin import FieldChange
from service.records.database.transactions import Connection, Database
from service.records.giving_way import paced

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """The outcome of a row: ``name`` identifies its record, ``changes`` are the changed fields."""

    row: int
    name: str
    outcome: Outcome
    changes: tuple[str, ...] = ()
    note: Sentence | None = None


Prepared = TypeVar("Prepared")
Changed = TypeVar("Changed")


@dataclass(frozen=True, slots=True)
class TableRow:
    """The values of one record, identified by ``name``; absent values are unchanged.

    ``values`` are by field of the record. ``codes`` are the roles of a user or the Buttons of a role; None
    leaves them unchanged. ``password`` is for a new user.
    """

    row: int
    name: str
    values: Mapping[str, Any]
    codes: tuple[str, ...] | None = None
    password: str | None = field(default=None, repr=False)

    def differing(self, before: object) -> dict[str, Any]:
        """Return the values that differ from ``before``; None equals an empty text."""
        return {
            name: value
            for name, value in self.values.items()
            if (value or "") != (getattr(before, name) or "")
        }


@dataclass(slots=True)
class Work:
    """An import in progress: in ``connection``, limited by ``check`` to what the caller may grant.

    ``changes`` are recorded in the operation log after the commit.
    """

    connection: Connection
    check: DelegationCheck
    faults: RowFaults = field(default_factory=RowFaults)
    done: list[ImportedRow] = field(default_factory=list)
    changes: list[FieldChange] = field(default_factory=list)

    def tell(
        self,
        table_row: TableRow,
        outcome: Outcome,
        fields: Collection[str] = (),
        note: Sentence | None = None,
    ) -> None:
        """Add the outcome of a row, with the changed fields."""
        self.done.append(ImportedRow(table_row.row, table_row.name, outcome, tuple(map(camel, fields)), note))


class _DryRunEnded(Exception):  # noqa: N818 - nobody erred
    """Rolls back the transaction of a dry run."""


def _undo_if(*, dry_run: bool) -> None:
    if dry_run:
        raise _DryRunEnded


@dataclass(frozen=True, eq=False, repr=False)
class TableImport(ABC, Generic[Prepared, Changed]):
    """Creates the records that do not exist, and edits those that differ; all rows, or none."""

    database: Database
    delegation: Delegation
    revocations: Revocations

    async def run(self, caller: Caller, rows: Sequence[TableRow], *, dry_run: bool) -> list[ImportedRow]:
        """Save the rows, unless ``dry_run``; return the outcome of each created or changed one.

        Raises ``RowsRefused`` with the faults of all rows, ``Conflict`` if no administrator would remain,
        ``RefreshRequired`` and ``Unavailable``.
        """
        prepared = await self._prepare(caller, rows, dry_run=dry_run)
        try:
            async with (
                self.database.transaction(within=WITHIN) as connection,
                paced(self.database, connection, "bulk"),
            ):
                async with self.delegation.changing(connection):
                    work = Work(connection, await self.delegation.check(connection, caller))
                    async with watching(connection, work.check.watches):
                        changed = await self._save(work, rows, prepared)
                    work.faults.require_none()
                    work.done.sort(key=attrgetter("row"))
                await self.delegation.recheck_rights(self.database, connection, caller, work.check)
                _undo_if(dry_run=dry_run)
                change_log.saving(work.changes)
                affected = await self._affected(connection, changed)
                await self.revocations.mark_first(affected)
        except _DryRunEnded:
            return work.done
        change_log.saved(work.changes)
        await self._follow(changed)
        await self.revocations.mark_all(affected)
        return work.done

    @abstractmethod
    async def _prepare(self, caller: Caller, rows: Sequence[TableRow], *, dry_run: bool) -> Prepared:
        """Prepare the rows before the transaction; raises RowsRefused for rows invalid by themselves."""

    @abstractmethod
    async def _save(self, work: Work, rows: Sequence[TableRow], prepared: Prepared) -> Changed:
        """Save the rows, add outcomes and faults to ``work``, and return the changes."""

    @abstractmethod
    async def _affected(self, connection: Connection, changed: Changed) -> list[int]:
        """Return the users whose tokens must be refreshed."""

    async def _follow(self, changed: Changed) -> None:
        """Apply the effects of the changes after the commit."""
