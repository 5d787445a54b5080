"""From the token or API key of a request to the caller: one round trip to the session store, or none."""

from dataclasses import replace

from msgspec import UNSET, MsgspecError, Struct
from msgspec.json import Decoder

from service.authn.agent_callers import AgentCallers
from service.authn.claims import AccessClaims, ClientClaims, DelegatedClaims
from service.authn.denials import banned
from service.authn.key_callers import API_KEY_PREFIX, KeyCaller, KeyCallers, is_client
from service.authn.tokens import Tokens
from service.authn.verified import Authenticated, VerifiedToken, VerifiedTokens
from service.errors import RefreshRequired, TokenInvalid
from service.kernel.assurance import Authentication
from service.kernel.identity import Caller
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.kernel.tracing import current_span
from service.keyspace import BANNED, SessionStore
from service.settings import Auth

_MARK = b"refresh:"


class _Session(Struct):
    login_time: float
    sid: str = ""
    last_refresh_time: float = 0.0


_session = Decoder(_Session)


class Authenticator:
    """Finds the caller of a token or an API key, checked at each request."""

    def __init__(
        self,
        settings: Auth,
        tokens: Tokens,
        store: SessionStore,
        api_keys: KeyCallers,
        agents: AgentCallers | None = None,
    ) -> None:
        """Without ``agents``, tokens of agents are refused."""
        self._api_keys = api_keys
        self._agents = agents
        seen = store.deliveries.seen  # in case the store missed the confirmation of their delivery
        self._verified = VerifiedTokens(tokens, first_seen=seen, prefix=settings.token_prefix)
        self._store = store
        self._asks_store = settings.per_request_deny_check
        self.remembered = self._verified.remembered
        """Finds the token of a header that was sent before; see ``VerifiedTokens.remembered``."""
        self._ask = store.checks.ask

    async def authenticate(
        self,
        token: str,
        permission_map: PermissionMap,
        *,
        span: Span | None = None,
        counted: bool = True,
        asks_store: bool | None = None,
    ) -> Authenticated:
        """Return the caller of an access token or API key, and the newest announced policy revision.

        Raises for an API key the errors of ``KeyCallers``. For a token: ``TokenInvalid``, ``TokenExpired``,
        ``AccountBanned``, ``RefreshRequired`` (the user was marked after the token was issued, or the device
        session was ended or replaced) and ``Unavailable``. With ``per_request_deny_check`` off, only the
        first two: a token then works until it expires. API keys are always checked. ``asks_store`` replaces
        that setting. ``span`` is that of the request. With ``counted`` off, a wrong key does not count
        against the client of the request, which asks about the key of another client.
        """
        if token.startswith(API_KEY_PREFIX):
            key_caller = await self._api_keys.of_key(token, counted=counted)
            if key_caller.authenticated is None:
                key_caller.authenticated = _by_key(key_caller)
            return key_caller.authenticated
        try:
            known = self._verified.lookup(token, permission_map)
        except RefreshRequired:
            # It may be issued later than it is by the store's last answer, since the store's clock was set.
            await self._store.clock()
            known = self._verified.lookup(token, permission_map)
        return await self.accepted(known, span, asks_store=asks_store)

    async def authenticate_client(self, client_id: str, secret: str) -> Authenticated:
        """Return the caller of the API key ``secret``, whose number or account is ``client_id``.

        Raises the errors of ``KeyCallers``, and ``TokenInvalid`` if key and client do not belong together.
        """
        client = _by_key(await self._api_keys.of_key(secret))
        if not is_client(client.caller, client_id):
            raise TokenInvalid
        return client

    async def checked(self, token: str, permission_map: PermissionMap) -> Authenticated:
        """Return the caller as ``authenticate`` does, and check for revocation whatever the settings say.

        For questions about the tokens of others: wrong API keys are not counted.
        """
        return await self.authenticate(
            token, permission_map, span=current_span(), asks_store=True, counted=False
        )

    async def has_session(self, caller: Caller) -> bool:
        """Return True if a person has a session on the token's device, or if sessions are not checked."""
        if not self._asks_store:
            return True
        return (await self._store.check(caller.login_id, caller.device)).value is not None

    async def accepted(
        self, known: VerifiedToken, span: Span | None, *, asks_store: bool | None = None
    ) -> Authenticated:
        """Return the caller of a verified token, unless it was revoked; raises as ``authenticate``.

        ``span`` is that of the request. The same answer of the session store as at the last acceptance leads
        to the same caller.
        """
        claims, caller = known.verified.claims, known.caller
        if caller is None:
            if isinstance(claims, DelegatedClaims):
                if self._agents is None:
                    raise TokenInvalid
                return await self._agents.of_token(claims)
            assert isinstance(claims, ClientClaims)  # noqa: S101 - an access token has a caller
            return _by_key(await self._api_keys.of_token(claims), claims.exp)
        if not (self._asks_store if asks_store is None else asks_store):
            return Authenticated(caller, 0, claims.exp)
        if (keys := known.keys) is None:
            keys = known.keys = self._store.session_keys(caller.login_id, caller.device)
        answer = await self._ask(keys, span)
        if known.accepted is not None and answer == known.answer:
            return known.accepted
        assert isinstance(claims, AccessClaims)  # noqa: S101 - as above
        marker, session, revision, all_rights = answer
        if marker == BANNED:
            ban = await self._store.ban_of(caller.login_id)
            raise banned(ban.until if ban else None)
        opened = _session_of(claims, round(1000 * caller.issued_at), marker, session)
        if opened is None:
            raise RefreshRequired
        if claims.auth_time is UNSET:
            caller = replace(caller, authentication=Authentication(auth_time=opened.login_time))
        known.answer = answer
        known.accepted = Authenticated(caller, revision, claims.exp, all_rights)
        return known.accepted


def _by_key(key_caller: KeyCaller, expires: float | None = None) -> Authenticated:
    answer, good_until = key_caller.answer, key_caller.good_until
    if expires is not None:
        good_until = expires if good_until is None else min(expires, good_until)
    return Authenticated(key_caller.caller, answer.revision, good_until, answer.all_rights)


def _session_of(
    claims: AccessClaims, issued: int, marker: bytes | None, stored: bytes | None
) -> _Session | None:
    """Return the device session if a token, ``issued`` at these milliseconds, belongs to it; else None.

    A refresh marker rejects the tokens that are not issued after it, and all tokens if it is malformed.
    The session's name decides, whatever the clocks did. Sessions and tokens of version 0.2.0 have none: there
    the time decides. A node of that version makes tokens without the name when it refreshes a session of this
    version. The tokens of the last refresh belong to the session, until the next one.
    """
    if stored is None:
        return None
    try:
        if marker is not None and issued <= round(1000 * float(marker.removeprefix(_MARK))):
            return None
        session = _session.decode(stored)
        refreshed = not claims.sid and issued == round(1000 * session.last_refresh_time)
        named = claims.sid == session.sid or refreshed
        belongs = named and issued >= round(1000 * session.login_time)
    except (MsgspecError, OverflowError, ValueError):
        return None
    return session if belongs else None
