"""Links between users and directories: list and remove them."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from service.administration import change_log
from service.administration.unit_of_work import RightsUnits, UnitOfWork
from service.authn.login_log import LoginLog
from service.errors import Conflict, NotFound
from service.features.directories import store as directories
from service.features.directories import store_sign_ins as sign_ins
from service.features.directories.directory import Directories
from service.features.directories.managed import managed_by
from service.features.directories.sentences import sentence
from service.features.directories.sessions import end_sessions_of
from service.features.directories.ways_in import WaysIn
from service.kernel.account_acts import Act
from service.kernel.identity import Caller, Target, oneself
from service.kernel.notify import Notices, acted_by
from service.kernel.origin import field_changes
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.records import factors, origins, user_list
from service.records.database.transactions import Connection, Database
from service.records.origins import Origin

_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class OriginOfUser:
    """A link between a user and a directory; ``title`` is its label on pages.

    ``provider``: the directory is a provider of the settings and enabled. ``current``: the caller's session
    was opened by signing in there.
    """

    origin: Origin
    title: str
    provider: bool
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOrigins:
    """Lists and removes links between users and directories.

    Unlinking changes a credential. It is the act ``change-factors`` of the layers ``account`` and
    ``assurance`` for the caller's account, ``enrol-first-factor`` for users without a second factor, and
    ``reset-factors`` for other users. All methods raise ``Unavailable``.
    """

    ways_in: WaysIn
    database: Database
    store: SessionStore
    units: RightsUnits
    directories: Directories
    notices: Notices
    log: LoginLog = field(repr=False)

    async def own(self, caller: Caller) -> list[OriginOfUser]:
        """Return the caller's links, by name."""
        async with self.database.snapshot() as connection:
            origins = await self._of(connection, caller.user_id)
            opened_by = await self._opened_by(connection, caller)
        return [replace(each, current=_key(each.origin) == opened_by) for each in origins]

    async def of_user(self, user_id: int) -> list[OriginOfUser]:
        """Return a user's links, by name; raises ``NotFound`` for an unknown user."""
        async with self.database.snapshot() as connection:
            await user_list.read(connection, user_id)
            return await self._of(connection, user_id)

    async def unlink_own(self, write: Write, source: str) -> None:
        """Unlink the caller's account from a directory, and end the other sessions that it opened.

        Sign-ins that wait for a second factor end too.

        Raises ``NotFound``, ``InsufficientAuthentication``, and ``Conflict`` for an API key, for the last
        sign-in method, and for accounts managed by the directory.
        """
        caller = write.caller
        if caller.key_id is not None:
            raise Conflict(sentence("session_of_key"), rule="kind_of_account")
        session = (await self.store.sessions(caller.login_id)).get(caller.device)
        async with self.units.of_rights(write) as unit:
            has_one = await factors.has_any(unit.connection, caller.user_id)
            act: Act = "change-factors" if has_one else "enrol-first-factor"
            target = oneself(caller)
            await unit.check.require_act(unit.connection, target, act)
            await self.ways_in.require(unit.connection, caller.user_id, without=source)
            await self._unlink(unit, target, source, keep="" if session is None else session.sign_in)

    async def unlink(self, write: Write, user_id: int, source: str) -> None:
        """Unlink another user from a directory, and end the sessions that it opened.

        Raises ``NotFound``, ``PermissionDenied`` if the user holds a code that the caller lacks or is the
        caller, and ``Conflict`` for accounts managed by the directory.
        """
        async with self.units.of_rights(write) as unit:
            user = await user_list.read(unit.connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            target = await unit.check.target(unit.connection, user_id, "reset-factors")
            await self._unlink(unit, target, source)

    async def _opened_by(self, connection: Connection, caller: Caller) -> _Key | None:
        """Return the link that opened the caller's session; None for sessions without a provider."""
        session = (await self.store.sessions(caller.login_id)).get(caller.device)
        if session is None or not session.sign_in or caller.key_id is not None:
            return None
        signed_in = await sign_ins.named(connection, caller.user_id, session.sign_in)
        return None if signed_in is None else (signed_in.source, signed_in.issuer, signed_in.subject)

    async def _of(self, connection: Connection, user_id: int) -> list[OriginOfUser]:
        return [
            OriginOfUser(origin, self._title(origin), opens)
            for origin, opens in await self.ways_in.origins_of(connection, user_id)
        ]

    def _title(self, origin: Origin) -> str:
        provider = self.ways_in.providers.get(origin.source)
        return (provider.title if provider else "") or origin.source

    async def _unlink(self, unit: UnitOfWork, target: Target, source: str, *, keep: str = "") -> None:
        connection, user_id = unit.connection, target.user_id
        known = [each for each in await origins.origins_of(connection, user_id) if each.source == source]
        if not known:
            raise NotFound(sentence("user_of_other_directory"))
        if any(each.managed for each in known):
            raise managed_by(source, sentence("managed_identity", directory=source))
        (user,) = await user_list.read_all(connection, [user_id])
        name = change_log.user_target(user.user_name)
        change_log.concerns(name)
        await self.directories.take_back(unit, source, user_id)
        await directories.remove_origin(connection, source, user_id)  # waits for pending sign-ins
        ended = await sign_ins.end(connection, source, user_id=user_id)
        sessions = [each for each in ended if each.sign_in != keep]
        unit.changes += field_changes(name, {"provider": source}, {})
        if sessions:  # mark before the commit: save nothing during an outage of the session store
            unit.refreshing.add(user_id)
        unit.follow_ups.append(partial(end_sessions_of, self.store, self.log, sessions))
        await self.notices.notify(
            connection, user_id, "identity_unlinked", acted_by(target), {"name": source}
        )


def _key(origin: Origin) -> _Key:
    return origin.source, origin.issuer, origin.subject
