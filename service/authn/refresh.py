"""Refresh: exchanges a refresh token, once, for its successor and a new access token."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

import structlog

from service.authn.claims import RefreshClaims
from service.authn.denials import Denials, banned, banned_by
from service.authn.login_log import UNRECORDED, LoginLog, reason_of
from service.authn.opening import ATTEMPTS, PAUSE, new_rid
from service.authn.token_issuer import Account, TokenIssuer, TokenPair
from service.authn.tokens import Tokens
from service.errors import (
    AccountBanned,
    AccountDisabled,
    InternalError,
    RefreshRejected,
    RefreshRequired,
    Refusal,
    TokenExpired,
    TokenInvalid,
    Unavailable,
)
from service.kernel.assurance import Acr
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller
from service.kernel.notify import Notices
from service.keyspace import Rotation, Seen, SessionStore, StepUp, Unconfirmed
from service.records.database.transactions import Database
from service.records.logs.events import SessionEvent

PATIENCE: Final = 1.0
"""Seconds that a request waits while another one may be handing out the same successor."""
_FIRST_PAUSE: Final = 0.005  # seconds; doubled each time, up to:
_LONGEST_PAUSE: Final = 0.05

_OUTCOMES: Final = (
    *("rotated", "again", "superseded", "reused", "unknown", "ended"),
    *(refusal.code for refusal in (TokenInvalid, AccountDisabled, AccountBanned, Unavailable, InternalError)),
)

_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False, repr=False)
class _Counting:
    """Context manager that counts refusals, shared by all requests: a generator costs five more calls."""

    outcomes: Counter[str]

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception):
            self.outcomes[_outcome_of(error)] += 1


class Refresh:
    """Renews tokens with the user's current data; records refusals of genuine tokens in ``log``.

    The owner of a session that ends as stolen gets a notice.
    """

    def __init__(
        self,
        database: Database,
        store: SessionStore,
        tokens: Tokens,
        pairs: TokenIssuer,
        *,
        log: LoginLog = UNRECORDED,
        notices: Notices,
    ) -> None:
        self._database = database
        self._notices = notices
        self._store = store
        self._tokens = tokens
        self._pairs = pairs
        self._entries = log
        self._denials = Denials(database, store)
        self.outcomes = Counter(dict.fromkeys(_OUTCOMES, 0))
        """The refreshes that were tried, by outcome of the rotation or code of the refusal.

        ``again``: a repeat of a spent token has got the tokens that a lost answer had.
        """
        self._counting = _Counting(self.outcomes)

    async def refresh(self, token: str) -> TokenPair:
        """Return the successor of ``token``: ``verify``, ``renew`` and ``hand_out`` in one."""
        pair = await self.renew(self.verify(token))
        await self.hand_out(pair)
        return pair

    def verify(self, token: str) -> RefreshClaims:
        """Return the claims of a genuine refresh token, which may already be spent.

        Raises ``TokenInvalid``, and ``RefreshRejected`` (``ended``) if it has expired or a restore has ended
        it.
        """
        with self._counting:
            try:
                return self._tokens.verify_refresh(token)
            except TokenExpired:
                raise RefreshRejected(reason="ended") from None

    async def seen(self, claims: RefreshClaims) -> Seen:
        """Return the session store's values for ``renew``; the device is empty for a dead token.

        A dead token is spent, or its session has ended. Raises ``Unavailable``.
        """
        with self._counting:
            return await self._store.marker_of(claims.sub, claims.rid)

    async def renew(self, claims: RefreshClaims, seen: Seen | None = None) -> TokenPair:
        """Return the successor of a refresh token, and an access token with the current rights.

        ``seen`` is the result of the method of that name. ``hand_out`` must be called before they are sent.
        Until then a repeat of the spent token gets the same successor, so that a lost answer does not end the
        session.

        Raises ``RefreshRejected`` with its ``reason``: ``unknown``, ``superseded`` (another request was
        first), ``reused`` (the session was ended as stolen) or ``ended``. Also ``AccountBanned``,
        ``AccountDisabled`` (its sessions are ended) and ``Unavailable``.
        """
        with self._counting:
            return await self._renew(claims.sub, claims.rid, seen=seen)

    async def stepped_up(self, caller: Caller, acr: Acr, amr: tuple[str, ...]) -> TokenPair:
        """Return the successor of the tokens of the caller's session, which rests on a new proof from now on.

        As after ``renew``, ``hand_out`` must be called before they are sent, and a repeat of the spent
        refresh token gets the same ones. Raises the errors of ``renew`` about the user. Raises
        ``RefreshRequired`` if the session has ended, or rests on a stronger proof than the new one and the
        caller's token differs.
        """
        step_up = StepUp(caller.device, caller.issued_at, caller.rests_on, acr, amr)
        try:
            return await self._renew(caller.login_id, "", step_up=step_up)
        except RefreshRejected:
            raise RefreshRequired from None

    async def _renew(
        self, login_id: str, rid: str, *, seen: Seen | None = None, step_up: StepUp | None = None
    ) -> TokenPair:
        for _ in range(ATTEMPTS):
            # Read before the user is: another marker makes this refresh stale.
            if seen is None:
                seen = await self._store.marker_of(login_id, rid)
            account = await self._account(login_id)
            rotation = await self._rotate(rid, account, seen, step_up)
            if rotation.outcome == "banned":
                # The database had no ban when it was read: there is one by now, or the store is outdated.
                await self._denials.settle(account.user_id)
                if (ban := await self._store.ban_of(login_id)) is not None:
                    raise self._entered(banned(ban.until), login_id, account.user_name)
            elif rotation.outcome != "stale":
                return await self._pair(account, rotation)
            seen = None
            await asyncio.sleep(PAUSE)
        raise Unavailable(sentence("user_being_changed"))

    async def hand_out(self, pair: TokenPair, is_gone: Callable[[], Awaitable[bool]] | None = None) -> None:
        """Confirm to the store that ``pair`` is handed out; call it right before sending the answer.

        Raises ``Unavailable`` if it can't be confirmed; then ``pair`` must not be sent, and a repeat of the
        spent token gets it. The same holds if ``is_gone`` returns that the client has disconnected.
        """
        if pair.lease is None:
            return
        if is_gone is not None and await is_gone():
            await self._store.deliveries.release(pair.lease)
        else:
            await self._store.deliveries.confirm(pair.lease)

    async def _rotate(self, rid: str, account: Account, seen: bytes, step_up: StepUp | None) -> Rotation:
        """Rotate; while another request may be handing out the successor, wait for its outcome."""
        until, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
        while True:
            try:
                rotation = await self._store.rotate_session(
                    str(account.user_id),
                    rid,
                    new_rid(),
                    user_name=account.user_name,
                    nick_name=account.nick_name,
                    seen=seen,
                    step_up=step_up,
                )
            except Unconfirmed as unconfirmed:
                await self._done_unconfirmed(account, unconfirmed.answer)
                raise
            if rotation.outcome == "late":
                raise Unavailable(sentence("session_store_unavailable"))
            if rotation.outcome != "pending":
                return rotation
            if time.monotonic() + pause > until:
                raise Unavailable(sentence("token_being_refreshed"))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _done_unconfirmed(self, account: Account, rotation: Rotation) -> None:
        """Complete a rotation whose request is answered 503, because too few replicas have it."""
        if rotation.lease is not None:  # the repeat may have the successor at once
            await self._store.deliveries.release(rotation.lease)
        if rotation.outcome == "reused":
            await self._reused(account, rotation)

    async def _account(self, login_id: str) -> Account:
        """Read the user's current data; if deleted, disabled or banned, end all sessions and refuse."""
        known = await self._pairs.entitled(int(login_id))
        if known is not None and known.status == "enabled" and not known.banned:
            return self._pairs.account(known)
        ban = await self._store.ban_of(login_id)
        await self._store.close_sessions(login_id)
        user_name = known.user_name if known else None
        if known is not None:
            await self._denials.settle(known.user_id)  # the store may have lost it
            if known.banned:
                raise self._entered(banned_by(known), login_id, user_name)
        if ban is not None:
            raise self._entered(banned(ban.until), login_id, user_name)
        if known is None:
            raise self._entered(RefreshRejected(reason="ended"), login_id, user_name)
        raise self._entered(AccountDisabled(), login_id, user_name)

    async def _pair(self, account: Account, rotation: Rotation) -> TokenPair:
        match rotation.outcome:
            case "rotated" | "again":
                return await self._issue(account, rotation)
            case "reused":
                raise await self._reused(account, rotation)
        user = (str(account.user_id), account.user_name)
        raise self._entered(RefreshRejected(reason=rotation.outcome), *user)

    async def _reused(self, account: Account, rotation: Rotation) -> Refusal:
        """Raise the alarm that a session has ended as stolen, and notify its owner; return the refusal."""
        user_id, device = account.user_id, rotation.device
        _log.warning(
            "a spent refresh token came back: its session is ended",
            event_type="security",
            login_id=str(user_id),
            device=device,
        )
        refusal = self._entered(RefreshRejected(reason="reused"), str(user_id), account.user_name, device)
        try:
            async with self._database.transaction() as connection:
                await self._notices.notify(connection, user_id, "session_stolen", facts={"device": device})
        except Unavailable:
            _log.warning("the owner of a session that was ended as stolen could not be told")
        return refusal

    async def _issue(self, account: Account, rotation: Rotation) -> TokenPair:
        try:
            times = {"issued": rotation.issued, "ends": rotation.ends}
            pair = await self._pairs.issue(
                account,
                rotation.device,
                rotation.rid,
                sid=rotation.sid,
                authentication=rotation.authentication,
                **times,
            )
        except Refusal:  # the roles don't fit into a token: once they do, the same refresh token works
            if rotation.lease is not None:
                await self._store.deliveries.release(rotation.lease)
            raise
        self.outcomes[rotation.outcome] += 1
        return replace(pair, lease=rotation.lease)

    def _entered(
        self, refusal: Refusal, login_id: str, user_name: str | None, device: str | None = None
    ) -> Refusal:
        reason = _outcome_of(refusal)
        event: SessionEvent = "reuse" if reason == "reused" else "refresh"
        self._entries.own(event, int(login_id), user_name, device, reason=reason, outcome="failure")
        return refusal


def _outcome_of(error: Exception) -> str:
    if isinstance(error, RefreshRejected):
        return str(error.extra["reason"])
    return reason_of(error)
