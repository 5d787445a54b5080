"""Accounts for provider sign-ins: found by issuer and subject, created, or linked.

Never found by a name or an address that the provider sends. Roles from groups are in force before a session
opens.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final, Literal, TypeAlias

import structlog
from msgspec import Struct

from service.administration import change_log, user_edits
from service.administration.people import People
from service.administration.unit_of_work import RightsUnits, UnitOfWork
from service.administration.user_edits import NewUser
from service.authz.engine.rules import ENDPOINT
from service.errors import Conflict, SignInFailed, ValidationFailed
from service.features.directories import store as directories
from service.features.directories.directory import Directories
from service.features.directories.schema import Directory, SignedIn
from service.features.oidc import store
from service.features.oidc.provider import Identity, Provider
from service.kernel.codes import HeldCodes
from service.kernel.domains import ascii_domain
from service.kernel.identity import Caller, operator_named
from service.kernel.notify import Notices
from service.kernel.origin import field_changes
from service.kernel.text import shown_name
from service.kernel.write import Write
from service.keyspace import DeviceSession, SessionStore
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import accounts, code_holders, user_list
from service.records.accounts import Credentials
from service.records.database.transactions import Connection, Database
from service.records.origins import Origin
from service.records.user_list import UserValues

_OPENS_WITHIN: Final = timedelta(seconds=360)
"""The time in which a sign-in may open a session; a second factor of this service may come between."""

_HANDS_OVER: Final = "system:user:reset-password"
_HANDOVER: Final = "POST /api/auth/oidc/{provider}/accounts"
_ASKED: Final = 1000  # the most holders of that code or of a wildcard that are examined
_MOST_TOLD: Final = 100

_log = structlog.get_logger(__name__)

Purpose: TypeAlias = Literal["sign-in", "link", "step-up"]


class Begun(Struct, frozen=True):
    """A sign-in in progress. ``challenge`` comes from a front end, ``binding`` is the digest of a cookie.

    ``user_id`` is the user who links an account or steps up, 0 for none, and ``session`` is that user's
    session.
    """

    provider: str
    nonce: str
    verifier: str
    next: str
    device: str
    challenge: str = ""
    binding: str = ""
    purpose: Purpose = "sign-in"
    user_id: int = 0
    max_age: int | None = None
    session: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ProviderAccounts:
    """Finds, creates and links accounts for provider sign-ins.

    ``roles_timeout`` is the lifetime of roles that the groups give.
    """

    roles_timeout: timedelta
    database: Database
    store: SessionStore
    units: RightsUnits
    directories: Directories
    notices: Notices
    people: People

    async def account(self, provider: Provider, known: Begun, identity: Identity) -> tuple[Credentials, str]:
        """Return the account of the sign-in and the name of the stored sign-in.

        Creates or links the account where that is allowed. The conditions are read in the transaction that
        stores the sign-in: a concurrent cut-off or unlinking either precedes it or ends it. Raises
        ``SignInFailed``.
        """
        place = (provider.name, provider.settings.issuer, identity.subject)
        async with self.database.snapshot() as connection:
            origin, _ = await self._stored(connection, place, known)
        if origin is None or identity.groups is not None:
            async with self.units.of_rights(Write(_nobody(provider.name))) as unit:
                await self._settle(unit, provider, known, identity)
                return await self._note(unit.connection, place, known, identity)
        async with self.database.transaction() as connection:
            return await self._note(connection, place, known, identity)

    async def _stored(
        self, connection: Connection, place: tuple[str, str, str], known: Begun
    ) -> tuple[Origin | None, Directory | None]:
        """Return the account linked to the subject, and the provider's mapping; raises ``SignInFailed``."""
        name, _, _ = place
        origin = await store.origin(connection, *place)
        stored = await store.of_provider(connection, name)
        if stored is not None and not stored.enabled:
            raise refused(name, "a provider that is cut off")
        if known.purpose != "sign-in" and origin is not None and origin.user_id != known.user_id:
            raise refused(name, "the account of another person")
        if origin is None and known.purpose == "step-up":
            raise refused(name, "an account that is not linked")
        return origin, stored

    async def _note(
        self, connection: Connection, place: tuple[str, str, str], known: Begun, identity: Identity
    ) -> tuple[Credentials, str]:
        """Store the sign-in of an existing account; return the account and the name of the sign-in."""
        name, issuer, subject = place
        linked = await store.touch(connection, *place)  # no other transaction can unlink it from here on
        origin, _ = await self._stored(connection, place, known)
        if not linked or origin is None:
            raise refused(name, "an account that was just unlinked")
        account = await accounts.credentials_of(connection, origin.user_id)
        if account is None:
            raise refused(name, "not the account of a person")
        live = await self._live(known, origin.user_id)
        now, sign_in = self.directories.now(), secrets.token_urlsafe(18)
        await self.people.signed_in(connection, origin.user_id, origin.linked_by, now)
        signed_in = SignedIn(
            user_id=origin.user_id,
            device=known.device,
            source=name,
            issuer=issuer,
            subject=subject,
            sid=identity.sid,
            opened_time=now + _OPENS_WITHIN,
            sign_in=sign_in,
        )
        await store.add(connection, signed_in, live, now)
        return account, sign_in

    async def _live(self, known: Begun, user_id: int) -> str:
        """Return the sign-in that opened the session on the device, "" for none.

        A user who links an account or steps up must still have the session in which that was begun.
        """
        session = (await self.store.sessions(str(user_id))).get(known.device)
        if known.purpose != "sign-in" and (session is None or name_of(session) != known.session):
            raise refused(known.provider, "a session that has ended")
        return "" if session is None else session.sign_in

    async def _settle(self, unit: UnitOfWork, provider: Provider, known: Begun, identity: Identity) -> None:
        """Create or link the account, and set its roles."""
        place = (provider.name, provider.settings.issuer, identity.subject)
        origin, stored = await self._stored(unit.connection, place, known)
        user_id = origin.user_id if origin is not None else known.user_id
        if origin is None:
            if known.purpose == "sign-in":
                user_id = await self._made(unit, provider, identity)
            else:
                await self._require_owner(unit.connection, known)
            linked_by = await self.people.all_holders(unit.connection, user_id, self.directories.now())
            if not await directories.add_origin(
                unit.connection, *place, user_id, managed=False, linked_by=linked_by
            ):
                raise refused(provider.name, "a newly created account")
            if known.purpose == "link":
                await self._tell_linked(unit, provider.name, user_id)
        if identity.groups is not None:
            now = self.directories.now()
            until = now + self.roles_timeout
            await store.note_groups(unit.connection, place, identity.groups, now, until)
            if stored is not None:
                # A user above the ceiling keeps the current roles and gets none from the groups.
                groups = identity.groups
                await self.directories.follow(unit, provider.name, {user_id: groups}, until=until, since=now)

    async def _require_owner(self, connection: Connection, known: Begun) -> None:
        """Raise ``SignInFailed`` unless the linking user may still log in and has a live session.

        The sign-in may have begun ten minutes ago.
        """
        account = await accounts.credentials_of(connection, known.user_id)
        if account is None or account.status != "enabled" or account.banned:
            raise refused(known.provider, "an account that may not log in")
        await self._live(known, known.user_id)

    async def _tell_linked(self, unit: UnitOfWork, name: str, user_id: int) -> None:
        user = await user_list.read(unit.connection, user_id)
        target = change_log.user_target(user.user_name)
        unit.changes += field_changes(target, {}, {"provider": name})
        await self.notices.notify(unit.connection, user_id, "identity_linked", "self", {"name": name})

    async def _made(self, unit: UnitOfWork, provider: Provider, identity: Identity) -> int:
        """Create the account at a first sign-in; raise ``SignInFailed`` if the settings forbid it."""
        settings = provider.settings
        domain = ascii_domain((identity.email or "").rpartition("@")[2])
        if settings.create == "never" or (
            settings.create == "known-domain" and domain not in settings.domains
        ):
            raise refused(provider.name, "a person without an account")
        mark = sha256(f"{settings.issuer} {identity.subject}".encode()).hexdigest()[:8]
        address = _address(identity)
        names = [identity.user_name, identity.user_name and f"{identity.user_name}-{mark}"]
        taken = False
        for user_name in (*names, f"{provider.name}-{mark}"):
            values = {
                "user_name": user_name,
                "nick_name": shown_name(identity.nick_name, user_name),
                **address,
            }
            try:
                change_log.check_values(UserValues, values)
                if user_name is None:
                    continue
                made = await user_edits.add(unit, NewUser(values, None), None)
            except Conflict:
                taken = taken or user_name == identity.user_name
            except ValidationFailed:
                pass
            else:
                target = change_log.user_target(made.user_name)
                unit.changes += field_changes(target, {}, change_log.user_fields(made))
                if taken:
                    facts = {"name": provider.name, "account": identity.user_name, "made": made.user_name}
                    await self._tell_taken(unit, facts)
                return made.id
        raise refused(provider.name, "a name that is not a valid user name")

    async def _tell_taken(self, unit: UnitOfWork, facts: Mapping[str, str | None]) -> None:
        """Notify users who may hand accounts over: another account has the name sent by the provider."""
        stored = await code_holders.codes_like(unit.connection, [_HANDS_OVER])
        holders = await code_holders.holders(unit.connection, stored, self.directories.now(), _ASKED)
        decider = BatchDecider(unit.check.policy)
        people = [
            user_id for user_id, codes in holders if decider.opens(ENDPOINT, _HANDOVER, HeldCodes(codes))
        ]
        await self.notices.notify_each(
            unit.connection, people[:_MOST_TOLD], "name_taken", "administrator", facts
        )


def _address(identity: Identity) -> dict[str, str]:
    """Return the confirmed address for a new account, if it is valid for accounts."""
    values = {} if identity.email is None else {"email": identity.email}
    try:
        change_log.check_values(UserValues, values)
    except ValidationFailed:
        return {}
    return values


def name_of(session: DeviceSession) -> str:
    """Return the unique name of a session on its device; sessions of version 0.2.0 have no ``sid``."""
    return session.sid or str(session.login_time)


def refused(name: str, reason: str) -> SignInFailed:
    """Return the refusal of a sign-in at the provider ``name``; only the log records the reason."""
    _log.warning("a sign-in was refused", event_type="security", provider=name, reason=reason)
    return SignInFailed()


def _nobody(name: str) -> Caller:
    """Return the caller for a sign-in before its account is known; that caller may grant nothing."""
    return operator_named(f"@{name}", codes=())
