"""The second factors of the caller: enrolled, listed and removed."""

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from service.administration import change_log
from service.administration.delegation import Delegation
from service.authn.login_log import LoginLog
from service.authn.revocations import Revocations
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.directories.ways_in import WaysIn
from service.features.second_factors import recovery_codes, store, totp
from service.features.second_factors.challenges import Challenge, Challenges
from service.features.second_factors.checking import about
from service.features.second_factors.passkeys import PasskeyRefusedError, RelyingParty, challenge_of, party_of
from service.features.second_factors.sealing import FactorKeys
from service.features.second_factors.sentences import sentence
from service.kernel.about import NAME
from service.kernel.account_acts import Act
from service.kernel.identity import Caller, oneself
from service.kernel.notify import NoticeKind, Notices
from service.kernel.origin import field_changes
from service.kernel.text import text_fault
from service.records import factors
from service.records.database.transactions import Connection, Database
from service.records.factors import Factor
from service.records.logs.events import SessionEvent

MOST: Final = 20
"""The maximum number of factors of one user, including the set of recovery codes."""
_APP_NAME: Final = "Authenticator app"
_CODES_NAME: Final = "Recovery codes"
_HANDLE_BYTES: Final = 32
_UNFIT: Final = ("credential", sentence("answer_to_other_options"))


@dataclass(frozen=True, slots=True)
class NewApp:
    """An app that has to show a code: its secret in base32, and the URI that holds it."""

    id: int
    secret: str = field(repr=False)
    uri: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A new factor; the first one comes with recovery codes, which can't be read again."""

    factor: Factor
    recovery_codes: list[str] | None = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class OwnFactors:
    """Changes the caller's factors if the policy allows it now.

    The first factor is the act ``enrol-first-factor`` of the layers ``account`` and ``assurance``; every
    other change is ``change-factors``. All raise ``Conflict`` for a service account, ``PermissionDenied``,
    ``InsufficientAuthentication`` and ``Unavailable``.
    """

    database: Database
    delegation: Delegation
    challenges: Challenges
    keys: FactorKeys
    party: RelyingParty | None
    notices: Notices
    revocations: Revocations
    ways_in: WaysIn
    log: LoginLog
    now: Callable[[], float]
    """That of ``FactorCheck``."""

    async def all(self, caller: Caller) -> list[Factor]:
        """Return the confirmed factors, the oldest first, with the set of recovery codes."""
        async with self.database.snapshot() as connection:
            return await factors.of_user(connection, caller.user_id)

    async def begin_app(self, caller: Caller, name: str | None) -> NewApp:
        """Return a new app, which becomes a factor once ``confirm_app`` gets its code, within ten minutes.

        It replaces a waiting app. Raises ``Conflict`` if there is no key to encrypt its secret.
        """
        self.keys.require()
        name = _checked(name or _APP_NAME)
        secret = totp.new_secret()
        sealed = self.keys.seal(secret, about(caller.user_id))
        async with self._changing(caller) as connection:
            factor_id = await store.add_pending(connection, caller.user_id, name, sealed)
        uri = totp.uri_of(secret, issuer=NAME, account=caller.user_name)
        return NewApp(factor_id, totp.in_base32(secret), uri)

    async def confirm_app(self, caller: Caller, factor_id: int, code: str) -> list[str] | None:
        """Make the app a factor by its code; return the recovery codes that come with the first factor.

        Raises ``NotFound`` if no such app waits, and ``ValidationFailed`` for a wrong code.
        """
        async with self._changing(caller) as connection:
            app = await store.pending(connection, caller.user_id, factor_id)
            if app is None:
                raise NotFound(sentence("no_waiting_app"))
            step = totp.step_of(self.keys.open(app.sealed_secret, about(app.user_id)), code, self.now())
            if step is None:
                raise ValidationFailed(("code", sentence("app_code_wrong")))
            first = not await factors.has_any(connection, caller.user_id)
            factor = await store.confirm(connection, app, step)
            assert factor is not None  # noqa: S101 - the user is locked
            enrolled = await self._enrolled(connection, caller, factor, first=first)
        self._saved("factor_add", caller, factor, {}, _fields(factor))
        return enrolled.recovery_codes

    async def passkey_options(self, caller: Caller) -> dict[str, Any]:
        """Return the options for a browser to create a passkey within five minutes.

        Raises ``Conflict`` if the service has no public address suitable for passkeys.
        """
        party = party_of(self.party)
        async with self._changing(caller) as connection:
            known = await store.passkeys(connection, caller.user_id)
        handle = known[0].user_handle if known else secrets.token_bytes(_HANDLE_BYTES)
        issued = await self.challenges.issue(Challenge("enrol", caller.user_id, user_handle=handle))
        return party.creation_options(
            issued,
            user_handle=handle,
            user_name=caller.user_name,
            display_name=caller.nick_name,
            known=known,
        )

    async def add_passkey(self, caller: Caller, name: str, credential: Mapping[str, Any]) -> Enrolled:
        """Add a browser's new passkey; raises ``ValidationFailed`` if it does not fit the options."""
        party = party_of(self.party)
        name = _checked(name)
        issued = challenge_of(credential)
        challenge = await self.challenges.answered(issued, "enrol", caller.user_id)
        if issued is None or challenge is None:
            raise ValidationFailed(_UNFIT)
        try:
            new = party.registered(credential, issued, user_handle=challenge.user_handle)
        except PasskeyRefusedError:
            raise ValidationFailed(_UNFIT) from None
        async with self._changing(caller) as connection:
            first = not await factors.has_any(connection, caller.user_id)
            if not await self.challenges.spend(issued):
                raise ValidationFailed(_UNFIT)
            factor = await store.add_passkey(connection, caller.user_id, name, new.stored, new.sign_count)
            if factor is None:
                raise Conflict(sentence("passkey_enrolled"), rule="unique")
            enrolled = await self._enrolled(connection, caller, factor, first=first)
        self._saved("factor_add", caller, factor, {}, _fields(factor))
        return enrolled

    async def new_codes(self, caller: Caller) -> list[str]:
        """Return new recovery codes that replace the old ones; ``Conflict`` without another factor."""
        async with self._changing(caller) as connection:
            if not await factors.has_any(connection, caller.user_id):
                raise Conflict(sentence("recovery_codes_alone"), rule="consistent")
            codes, factor = await _set_codes(connection, caller.user_id)
            await self._saving(connection, caller, "recovery_codes_made", factor)
        self._saved("factor_add", caller, factor, {}, _fields(factor))
        return codes

    async def remove(self, caller: Caller, factor_id: int) -> None:
        """Remove a factor; removing the last one deletes the recovery codes.

        All other sessions end, since each may rest on the factor. They end before the commit and again after
        it, so nothing is saved while the session store is unavailable. The caller's session stays, and must
        refresh its access token. Raises ``NotFound`` if there is no such factor, and ``Conflict`` for a
        passkey that is the caller's only way to sign in.
        """
        async with self._changing(caller, ending_others=True) as connection:
            factor = await store.remove(connection, caller.user_id, factor_id)
            if factor is None:
                raise NotFound(sentence("no_such_factor"))
            if factor.kind == "passkey":
                await self.ways_in.require(connection, caller.user_id)
            await self._saving(connection, caller, "factor_removed", factor)
        self._saved("factor_remove", caller, factor, _fields(factor), {})
        await self.revocations.end_sessions(oneself(caller), keep=caller.device, opened_by=caller.issued_at)

    @asynccontextmanager
    async def _changing(self, caller: Caller, *, ending_others: bool = False) -> AsyncIterator[Connection]:
        """Let the block change the factors, without concurrent changes.

        With ``ending_others`` the other sessions of the caller end before the commit.
        """
        if caller.kind == "service":
            raise Conflict(sentence("factors_of_service"), rule="kind_of_account")
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            await factors.lock(connection, caller.user_id)
            has_one = await factors.has_any(connection, caller.user_id)
            act: Act = "change-factors" if has_one else "enrol-first-factor"
            await check.require_act(connection, oneself(caller), act)
            change_log.concerns(change_log.user_target(caller.user_name))
            async with self.delegation.keeping_an_administrator(connection):
                yield connection
            if ending_others:
                await self.revocations.end_sessions_first(
                    oneself(caller), keep=caller.device, opened_by=caller.issued_at
                )

    async def _enrolled(
        self, connection: Connection, caller: Caller, factor: Factor, *, first: bool
    ) -> Enrolled:
        if len(await factors.of_user(connection, caller.user_id)) > MOST:
            raise Conflict(sentence("too_many_factors", most=MOST), rule="limit")
        codes = (await _set_codes(connection, caller.user_id))[0] if first else None
        await self._saving(connection, caller, "factor_added", factor)
        return Enrolled(factor, codes)

    async def _saving(
        self,
        connection: Connection,
        caller: Caller,
        kind: NoticeKind,
        factor: Factor,
    ) -> None:
        facts = {"factor": factor.kind, "name": factor.factor_name}
        await self.notices.notify(connection, caller.user_id, kind, facts=facts)
        is_gone, fields = kind == "factor_removed", _fields(factor)
        change_log.saving(field_changes(_target(factor), *((fields, {}) if is_gone else ({}, fields))))

    def _saved(
        self,
        event: SessionEvent,
        caller: Caller,
        factor: Factor,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
    ) -> None:
        change_log.saved(field_changes(_target(factor), before, after))
        self.log.own(event, caller.user_id, caller.user_name, caller.device, reason=factor.kind)


async def _set_codes(connection: Connection, user_id: int) -> tuple[list[str], Factor]:
    codes = recovery_codes.new_codes()
    digests = [digest for code in codes if (digest := recovery_codes.digest_of(code))]
    return codes, await store.set_recovery_codes(connection, user_id, _CODES_NAME, digests)


def _checked(name: str) -> str:
    if fault := text_fault(name):
        raise ValidationFailed(("name", fault))
    return name


def _target(factor: Factor) -> str:
    return f"factor:{factor.id}"


def _fields(factor: Factor) -> dict[str, Any]:
    return {"kind": factor.kind, "name": factor.factor_name}
