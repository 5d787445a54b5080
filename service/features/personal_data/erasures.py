"""Erasures: the plan, the deletion of the account, and passes over tables and logs until nothing is found.

An erasure is stored in the transaction that deletes the account, with the values to search for. Each further
step is a transaction of its own and can be repeated, so an interrupted erasure goes on. A job repeats the
steps until nothing was found for ``SETTLE``: requests in flight may still write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

import msgspec
from msgspec import Struct

from service.administration.accounts import Accounts
from service.administration.change_log import user_target
from service.administration.delegation import Delegation, DelegationCheck
from service.administration.reasons import require_reason
from service.administration.unit_of_work import UnitOfWork, unconditionally
from service.audit.key_chain import Chain
from service.errors import NotFound, Unavailable, ValidationFailed
from service.features.audit_proof.commitments import Sealing
from service.features.personal_data import store_entries, store_persons, store_tables
from service.features.personal_data.erasing import erase
from service.features.personal_data.persons import Person
from service.features.personal_data.sentences import sentence
from service.features.personal_data.store_archives import Archive, archives
from service.features.personal_data.store_persons import Erasure
from service.features.personal_data.store_tables import Held
from service.kernel.clock import now
from service.kernel.identity import Caller, Target
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.records.database.transactions import Connection, Database
from service.records.logs.inserts import TABLES, Log
from service.records.user_list import User
from service.settings import Settings

ERASE: Final = "erase"
"""The act, in the policy's layer ``account``."""
SETTLE: Final = timedelta(minutes=10)
"""The time for which an erasure is repeated: longer than a request, and than an entry waits for its log."""
WITHIN: Final = 30.0
"""Seconds that a step may take."""
_AT_ONCE: Final = 500  # entries of a step
_TRIES: Final = 20  # for the lock of the logs
_PAUSE: Final = 0.25  # seconds between two tries


class HeldEntries(Struct, frozen=True):
    """The entries of a log that hold a person.

    ``older`` have no commitments: they stay until ``older_until``, None for ever. ``plain`` have a value in a
    change of another record, or in the path: this value stays.
    """

    log: Log
    erased: int
    older: int
    older_until: datetime | None
    plain: int


class Plan(Struct, frozen=True, kw_only=True):
    """The rows, entries and files that hold a person; see ``Person`` for ``searched`` and ``shared``.

    ``user_name`` is None and ``version`` 0 for a deleted account. ``erasure`` is the latest one.
    """

    user_id: int
    user_name: str | None
    version: int
    searched: tuple[str, ...]
    shared: tuple[str, ...]
    tables: list[Held]
    logs: list[HeldEntries]
    archives: list[Archive]
    erasure: Erasure | None


class NoAccount(Struct, frozen=True):
    """A deleted account, for preconditions."""

    version: int = 0


Match = Callable[[User | NoAccount], None]
"""Raises ``PreconditionFailed`` if the account has changed since the caller read the plan."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Passes:
    """The passes of an erasure.

    ``chain`` seals erased entries, ``close_sessions`` ends sessions of a user by number.
    """

    database: Database
    chain: Sealing
    close_sessions: Callable[[str], Awaitable[object]]

    @classmethod
    def of(cls, settings: Settings, database: Database, store: SessionStore) -> Self:
        """Return the passes of an installation; they seal with the chain key of its logs."""
        return cls(database, Chain(settings.oplog.chain_key), store.close_sessions)

    async def run(self, user_id: int) -> int | None:
        """Take a person out of all tables and logs; return the number of changes, None if none is running.

        The erasure ends if nothing was found, and it began at least ``SETTLE`` ago. Raises ``Unavailable``.
        """
        await self.close_sessions(str(user_id))
        async with self.database.snapshot(within=WITHIN) as connection:
            person = await store_persons.person(connection, user_id)
        changed = 0
        for kept in store_tables.redactable():
            async with self.database.transaction(within=WITHIN) as connection:
                # The lock of the erasure keeps another pass from changing its pattern.
                begun = await store_persons.refresh(connection, person)
                if begun is None:
                    return None
                changed += await store_tables.redact(connection, kept, person)
        for log in TABLES:
            changed += await self._entries(log, person)
        if not changed and begun is not None and now() - begun >= SETTLE:
            async with self.database.transaction() as connection:
                await store_persons.end(connection, user_id)
        return changed

    async def _entries(self, log: Log, person: Person) -> int:
        changed, place = 0, None
        while True:
            rows = await self._portion(log, person, place)
            changed += len([row for row in rows if row["is_erased"]])
            if len(rows) < _AT_ONCE:
                return changed
            place = rows[-1]["stored_time"], rows[-1]["id"]

    async def _portion(
        self, log: Log, person: Person, after: store_entries.Place | None
    ) -> list[dict[str, Any]]:
        for _ in range(_TRIES):
            async with self.database.transaction(within=WITHIN) as connection:
                if await store_entries.can_change(connection, log):
                    rows = await store_entries.holding(connection, log, person, after, _AT_ONCE)
                    for row in rows:
                        about = log == "operation_log" and store_entries.is_about(person, row["url"])
                        columns = erase(
                            log,
                            row,
                            person.user_id,
                            person.is_in,
                            self.chain,
                            is_own=row["is_own"],
                            is_about=about,
                        )
                        row["is_erased"] = columns is not None
                        if columns is not None:
                            await store_entries.save(connection, log, row, columns)
                    return rows
            await asyncio.sleep(_PAUSE)
        raise Unavailable(sentence("logs_maintained"))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Erasures:
    """Plans and begins erasures, under the rights of a caller; ``days`` is the retention of each log."""

    database: Database
    account_changes: Accounts
    delegation: Delegation
    passes: Passes
    days: Mapping[Log, int]

    async def plan(self, caller: Caller, user_id: int) -> Plan:
        """Return the plan of an erasure. Raises NotFound, PermissionDenied and Unavailable."""
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            await self._target(connection, check, user_id, only_reads=True)
        async with self.database.snapshot(within=WITHIN) as connection:
            person = await store_persons.person(connection, user_id)
            account = await store_persons.account(connection, user_id)
            return Plan(
                user_id=user_id,
                user_name=account.user_name if account else None,
                version=account.version if account else 0,
                searched=person.searched,
                shared=person.shared,
                tables=await store_tables.all_held(connection, person),
                logs=[await self._held(connection, log, person) for log in TABLES],
                archives=await archives(connection, person),
                erasure=await store_persons.erasure_of(connection, user_id),
            )

    async def erase(
        self,
        write: Write,
        user_id: int,
        reason: str,
        match: Match = unconditionally,
        within: float | None = None,
    ) -> int:
        """Delete the account if it exists, begin its erasure, and run the first pass; return its changes.

        An erasure of a deleted account, or one that runs, goes on. The job goes on with a pass that fails, or
        takes more seconds than ``within``: its changes count as 0. Raises the refusals of
        ``Accounts.delete``, ``NotFound`` for a number that no account had, ``ValidationFailed`` for a
        ``reason`` with a value of the person, ``InsufficientAuthentication`` of a caller with a second factor
        without two of the last minutes, and ``Unavailable``.
        """
        require_reason(reason)
        # Outside of the transaction, which holds the lock of rights: the logs can be long.
        async with self.database.snapshot(within=WITHIN) as connection:
            account = await store_persons.account(connection, user_id)
            person = await store_persons.person(connection, user_id)

        async def begin(unit: UnitOfWork, target: Target) -> None:
            unit.check.require_session(ERASE)
            await unit.check.require_act(unit.connection, target, ERASE)
            await unit.check.require_factors(unit.connection, "erase-beside-factor")
            stored = await store_persons.person(unit.connection, user_id, with_logs=False)
            whole = person.joined(stored)
            _require_neutral(reason, whole)
            author = None if write.caller.is_operator else write.caller.user_id
            await store_persons.begin(unit.connection, whole, author)

        if account is not None:
            await self.account_changes.delete(write, user_id, match, erasing=begin)
        else:
            async with self.account_changes.units.of_rights(write) as unit:
                target = await self._target(unit.connection, unit.check, user_id)
                match(NoAccount())
                await begin(unit, target)
                unit.targets.append(user_target(person.mark))
        with suppress(Unavailable, TimeoutError):  # the account is deleted: a refusal would say it is not
            async with asyncio.timeout(within):
                return await self.passes.run(user_id) or 0
        return 0

    async def _target(
        self, connection: Connection, check: DelegationCheck, user_id: int, *, only_reads: bool = False
    ) -> Target:
        if not await store_persons.was_assigned(connection, user_id):
            raise NotFound
        check.require_session(ERASE)
        return await check.target(connection, user_id, ERASE, only_reads=only_reads)

    async def _held(self, connection: Connection, log: Log, person: Person) -> HeldEntries:
        erased, older, last, plain = await store_entries.counts(connection, log, person)
        days = self.days[log]
        until = last + timedelta(days=days) if last is not None and days else None
        return HeldEntries(log, erased, older, until, plain)


def _require_neutral(reason: str, person: Person) -> None:
    """Check that a reason for the log has no value of the person; raises ValidationFailed."""
    every = msgspec.structs.replace(person, searched=(*person.names, *person.searched, *person.shared))
    if every.is_in(reason):
        raise ValidationFailed(("reason", sentence("reason_names_person")))
