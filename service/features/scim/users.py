"""Users provisioned by a directory through SCIM: created, edited and disabled under its ceiling.

The client is the service account that the directory names. It sees only accounts that it has provisioned. It
can disable a user who holds more than its ceiling from other sources, but not edit that user.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from msgspec import structs

from service.administration import change_log
from service.administration.accounts import Accounts
from service.administration.change_log import check_values
from service.administration.unit_of_work import RightsUnits, UnitOfWork
from service.administration.user_edits import NewUser
from service.errors import Conflict, NotFound, PermissionDenied
from service.features.directories import store as directories
from service.features.directories.directory import Directories
from service.features.directories.managed import managed_by
from service.features.directories.schema import Directory
from service.features.scim import store as scim
from service.features.scim.sentences import sentence
from service.features.scim.store import Known, ProvisionedUser
from service.kernel.fields import values_of
from service.kernel.identity import Caller
from service.kernel.origin import field_changes
from service.kernel.text import shown_name
from service.kernel.write import Write
from service.records import user_list
from service.records.database.transactions import Connection, Database
from service.records.user_list import User, UserValues

_log = structlog.get_logger(__name__)


class SentUser(Known, frozen=True, kw_only=True):
    """A user as the client sends it, complete: omitted values are removed.

    ``active``, ``language`` and ``time_zone`` keep their stored values if they are None: people choose the
    last two themselves, and a directory sets only what it sends. A new user is active.
    """

    user_name: str
    active: bool | None = None
    email: str | None = None
    language: str | None = None
    time_zone: str | None = None

    @property
    def known(self) -> Known:
        """Return the attributes that the account has no column for."""
        return Known(**values_of(self, Known))

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the account, except its status."""
        nick_name = shown_name(self.display_name, self.formatted_name, self.user_name)
        choices = {"language": self.language, "time_zone": self.time_zone}
        values = {"user_name": self.user_name, "nick_name": nick_name, "email": self.email}
        return values | {name: value for name, value in choices.items() if value is not None}

    def is_stored(self, stored: ProvisionedUser) -> bool:
        """Return whether the stored user has all these values already."""
        values = self.values
        if self.active is not None:
            values = {**values, "status": "enabled" if self.active else "disabled"}
        same = all(getattr(stored, name) == value for name, value in values.items())
        return same and _known(stored) == self.known


Change = Callable[[ProvisionedUser], SentUser]
"""Returns the new values of a stored user; an exception rolls the change back."""
Match = Callable[[ProvisionedUser], None]
"""Raises ``PreconditionFailed`` if the user has changed since the client read it."""


async def source_of(connection: Connection, caller: Caller) -> Directory:
    """Return the caller's directory; raises ``Conflict`` if there is none or it is cut off."""
    stored = await directories.of_client(connection, caller.user_id)
    if stored is None:
        raise Conflict(sentence("no_directory_of_client"), rule="directory")
    if not stored.enabled:
        raise managed_by(stored.name, sentence("directory_cut_off", directory=stored.name))
    return stored


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScimUsers:
    """Provisions users. All methods raise ``Conflict`` as ``source_of`` does, and ``RightsUnits`` errors."""

    database: Database
    units: RightsUnits
    accounts: Accounts
    sources: Directories

    async def create(self, write: Write, sent: SentUser) -> ProvisionedUser:
        """Create an account, or restore the one with that name that the client has deleted.

        Raises ``ValidationFailed``, and ``Conflict`` for a name in use, by any account.
        """
        sent = structs.replace(sent, active=sent.active is not False)
        async with self.units.of_rights(write) as unit:
            source = await source_of(unit.connection, write.caller)
            unit.check.directory = source.name
            before = await scim.deleted_user(unit.connection, source.name, sent.user_name)
            if before is not None:
                await self._edit(unit, source, before, sent, None)
                return await _read(unit.connection, source, before)
            values = {**sent.values, "status": "enabled" if sent.active else "disabled"}
            check_values(UserValues, values)
            made = await self.accounts.add(unit, NewUser(values, None, (), invited=True), None)
            subject = str(made.id)
            await directories.add_origin(unit.connection, source.name, "", subject, made.id, managed=True)
            await scim.put_user(unit.connection, source.name, made.id, sent.known)
            return await _read(unit.connection, source, made.id)

    async def update(self, write: Write, user_id: int, change: Change, match: Match) -> ProvisionedUser:
        """Change a user to the values that ``change`` returns; write nothing if they are stored already.

        Raises ``NotFound`` and ``ValidationFailed``. Raises ``PermissionDenied`` for a user above the ceiling
        unless the change disables the user, and ``Conflict``, also if no administrator would remain.
        """
        before = await scim.user_of_client(self.database, write.caller.user_id, user_id)
        if before is not None:
            change_log.concerns(change_log.user_target(before.user_name))
            match(before)
            if change(before).is_stored(before):
                return before  # without a lock: directories often repeat the same request
        async with self.units.of_rights(write) as unit:
            source = await source_of(unit.connection, write.caller)
            stored = await _read(unit.connection, source, user_id)
            match(stored)
            await self._edit(unit, source, user_id, change(stored), stored)
            return await _read(unit.connection, source, user_id)

    async def delete(self, write: Write, user_id: int, match: Match) -> None:
        """Disable a user and hide it from the client; the rows stay, the roles of groups end."""
        async with self.units.of_rights(write) as unit:
            source = await source_of(unit.connection, write.caller)
            stored = await _read(unit.connection, source, user_id)
            match(stored)
            await self.sources.deprovision(unit, source.name, user_id)
            await scim.forget_user(unit.connection, user_id)
            await self.sources.follow(unit, source.name, {user_id: ()})

    async def _edit(
        self,
        unit: UnitOfWork,
        source: Directory,
        user_id: int,
        sent: SentUser,
        stored: ProvisionedUser | None,
    ) -> None:
        """Edit a user; ``stored`` is None for a user that the client had deleted."""
        values = sent.values
        check_values(UserValues, values)
        user = await user_list.read(unit.connection, user_id)
        if sent.active is False and user.status != "disabled":
            # First, and regardless of the other values: a user to be removed must not stay.
            user = await self.sources.deprovision(unit, source.name, user_id)
        changed = {name: value for name, value in values.items() if getattr(user, name) != value}
        known = _known(stored) != sent.known
        enabled = sent.active is True and user.status != "enabled"
        if not (changed or known or enabled):
            return
        try:
            target, _ = await self.sources.editing(unit, source.name, user_id, source)
        except PermissionDenied as refusal:
            if sent.active is not False or stored is None:
                raise  # a deleted user is disabled already and stays so
            decision_id = None if refusal.decision is None else refusal.decision.id
            _log.warning(
                "a user above the ceiling was disabled, and not edited",
                event_type="security",
                login_id=str(user_id),
                decision_id=decision_id,
            )
            return
        saved: User = await self.accounts.edit(unit, target, user, changed)
        if enabled:
            await self.accounts.change_status(unit, target, saved, "enabled")
        if known:
            await scim.put_user(unit.connection, source.name, user_id, sent.known)
            target_name = change_log.user_target(saved.user_name)
            unit.changes += field_changes(target_name, _ids(_known(stored)), _ids(sent.known))


def _known(stored: ProvisionedUser | None) -> Known | None:
    if stored is None:
        return None
    return Known(**values_of(stored, Known))


def _ids(known: Known | None) -> dict[str, Any]:
    """Return the attributes for the operation log that the account lacks."""
    return {} if known is None else {"externalId": known.external_id}


async def _read(connection: Connection, source: Directory, user_id: int) -> ProvisionedUser:
    stored = await scim.one_user(connection, source.name, user_id)
    if stored is None:
        raise NotFound(sentence("no_such_user"))
    return stored
