"""Changes of single records: each is one edit, in a unit of work of its own."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from service.administration import menu_edits, resource_edits, role_edits
from service.administration.unit_of_work import (
    OF_ROLES_WITHIN,
    Cause,
    PublishingRequiredError,
    Saved,
    UnitOfWork,
    UnitsOfWork,
)
from service.kernel.core_sentences import sentence
from service.kernel.write import Write

R = TypeVar("R")

Match = Callable[[Any], None]
"""Checks the stored record under the lock; an exception rolls the change back."""


@dataclass(frozen=True, slots=True)
class RecordEdits:
    """The edits of one kind of records, named as in the paths of the API; they raise refusals.

    ``create`` takes the fields of a new record and returns it, ``update`` those that change, ``delete`` none.
    ``created`` returns the cause of the revision for a new record. Without it edits publish only if they
    must, since these records mostly have no policy lines (decisions 0027 and 0096).
    """

    noun: str
    create: Callable[[UnitOfWork, Mapping[str, Any]], Awaitable[Any]]
    update: Callable[[UnitOfWork, int, Mapping[str, Any], Any], Awaitable[Any]] | None
    delete: Callable[[UnitOfWork, int, Any], Awaitable[None]]
    created: Callable[[Mapping[str, Any]], str] | None


MENUS: Final = RecordEdits(
    "menu",
    menu_edits.create,
    menu_edits.update,
    menu_edits.delete,
    lambda given: sentence("cause_menu_created", name=given.get("auth_mark") or repr(given["title"])),
)
ROLES: Final = RecordEdits("role", role_edits.create, role_edits.update, role_edits.delete, None)
RESOURCES: Final = RecordEdits(
    "resource",
    resource_edits.create,
    resource_edits.update,
    resource_edits.delete,
    lambda given: sentence("cause_resource_registered", name=f"{given['method']} {given['path']}"),
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Changes:
    """Makes one edit of a record, and publishes the policy that follows if the record has policy lines.

    All methods raise the errors of the edit and of ``UnitsOfWork``; then nothing is saved.
    """

    units: UnitsOfWork
    edits: RecordEdits

    async def create(self, write: Write, given: Mapping[str, Any]) -> Saved[Any]:
        """Create a record of the ``given`` fields."""

        async def create(unit: UnitOfWork) -> Any:
            record = await self.edits.create(unit, given)
            await unit.made(record)
            return record

        created = self.edits.created
        return await self.make(write, "" if created is None else created(given), create)

    async def update(
        self, write: Write, record_id: int, given: Mapping[str, Any], match: Match
    ) -> Saved[Any]:
        """Store the ``given`` fields of a record; absent fields are unchanged."""
        update = self.edits.update
        assert update is not None  # noqa: S101 - such records have no endpoint that edits them
        return await self.make(
            write, partial(sentence, "cause_edited"), lambda unit: update(unit, record_id, given, match)
        )

    async def delete(self, write: Write, record_id: int, match: Match) -> Saved[None]:
        return await self.make(
            write, partial(sentence, "cause_deleted"), lambda unit: self.edits.delete(unit, record_id, match)
        )

    async def make(self, write: Write, cause: Cause, edit: Callable[[UnitOfWork], Awaitable[R]]) -> Saved[R]:
        """Make another ``edit`` of a record; ``cause`` is for the list of revisions.

        An edit that requires to publish is begun anew, in a unit that does.
        """
        if self.edits.created is None:
            with suppress(PublishingRequiredError):
                return await _made(self.units.of_rights(write, within=OF_ROLES_WITHIN, pace="bulk"), edit)
        return await _made(self.units.publishing(write, cause), edit)


async def _made(
    begun: AbstractAsyncContextManager[UnitOfWork], edit: Callable[[UnitOfWork], Awaitable[R]]
) -> Saved[R]:
    async with begun as unit:
        record = await edit(unit)
    return Saved(record, None if unit.change is None else unit.policy)
