"""Tokens: JWTs (RFC 7519), signed by joserfc's algorithms."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET

from service.authn.claims import AccessClaims, Actor, Claims, ClientClaims, DelegatedClaims, RefreshClaims
from service.authn.signing_keys import signing_keys
from service.authn.token_lifetime import ends_with_rights
from service.authn.token_verifying import MAX_LENGTH, Accepted, TokenVerifier, signing
from service.errors import Conflict
from service.kernel.assurance import Authentication
from service.kernel.base64url import encoded
from service.kernel.core_sentences import sentence
from service.kernel.permission_map import PermissionMap
from service.kernel.restore_epoch import CurrentRestoreEpoch
from service.settings import Auth

MAX_COOKIE = 4000  # a browser drops a cookie whose name and value have more than 4096 bytes together


class Tokens(TokenVerifier):
    """Issues and verifies access, refresh, client and delegated tokens; one is never accepted as another."""

    def __init__(
        self,
        settings: Auth,
        now: Callable[[], float] = time.time,
        restore_epoch: CurrentRestoreEpoch | None = None,
    ) -> None:
        """``now`` returns the time for checking tokens, in seconds since the epoch.

        ``restore_epoch`` is the one whose tokens are issued and accepted; without it, the first.
        """
        self._settings = settings
        self._keys = signing_keys(settings)
        accepted = Accepted(
            settings.jwt_algorithm, settings.jwt_issuer, settings.jwt_audience, settings.jwt_leeway
        )
        super().__init__(accepted, self._keys.accepted, now, restore_epoch)
        self._algorithm.check_key(self._keys.signs)
        self._sign_message = signing(self._algorithm, self._keys.signs)
        self._headers: dict[str, str] = {}
        self._longest = MAX_COOKIE if settings.is_read_cookie else MAX_LENGTH

    def issue_access(
        self,
        *,
        login_id: str,
        device: str,
        sid: str,
        user_name: str,
        nick_name: str,
        roles: Iterable[str],
        permissions: Iterable[str],
        permission_map: PermissionMap,
        authentication: Authentication,
        issued: int,
        ends: int,
        changes_at: datetime | None = None,
    ) -> tuple[str, int]:
        """Return an access token and its lifetime in whole seconds.

        ``issued`` and ``ends`` of the session are in milliseconds since the epoch: the token never outlives
        it, nor ``changes_at``, when the roles change by themselves: ``life_left`` is at least 1.
        Permissions are encoded as bits if there is a map, else as names. Raises ``Conflict`` if the token is
        too long.
        """
        ends = min(issued + 1000 * self._settings.access_timeout, ends)
        expires = (
            ends
            if changes_at is None
            else round(1000 * ends_with_rights(changes_at, issued / 1000, ends / 1000))
        )
        codes = tuple(sorted(permissions))
        claims = AccessClaims(
            sub=login_id,
            iat=issued / 1000,
            exp=expires / 1000,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            dev=device,
            sid=sid,
            user_name=user_name,
            nick_name=nick_name,
            roles=tuple(roles),
            permissions=UNSET if permission_map else codes,
            pb=permission_map.encode(codes) if permission_map else UNSET,
            acr=authentication.acr,
            amr=authentication.amr,
            auth_time=authentication.auth_time,
            initial=authentication.initial,
            tl=self._require_epoch(),
        )
        return self._sign(claims), (expires - issued) // 1000

    def issue_refresh(self, *, login_id: str, rid: str, issued: int, ends: int) -> str:
        """Return a refresh token with the id ``rid``; times in milliseconds since the epoch."""
        claims = RefreshClaims(
            sub=login_id,
            iat=issued / 1000,
            exp=ends / 1000,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            rid=rid,
            tl=self._require_epoch(),
        )
        return self._sign(claims)

    def issue_client(
        self,
        *,
        login_id: str,
        key_id: int,
        scope: str,
        lasts: int,
        ends: float | None,
        changes_at: datetime | None = None,
    ) -> tuple[str, int]:
        """Return a token of the API key ``key_id``, and its lifetime in whole seconds.

        It expires after ``lasts`` seconds, and not after ``ends``, the expiry of the key in seconds since the
        epoch. It also expires at ``changes_at``, as for ``issue_access``. Raises ``Conflict`` if ``scope``
        makes it too long.
        """
        now = self.now()
        expires = now + lasts if ends is None else min(now + lasts, ends)
        if changes_at is not None:
            expires = ends_with_rights(changes_at, now, expires)
        claims = ClientClaims(
            sub=login_id,
            iat=round(now, 3),
            exp=expires,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            client_id=str(key_id),
            scope=scope,
            tl=self._require_epoch(),
        )
        return self._sign(claims), int(expires - now)

    def delegated(
        self, *, person: str, agent: str, key_id: int, delegation: int, scope: str | None, lasts: int
    ) -> DelegatedClaims:
        """Return the claims of a token with which ``agent`` acts for ``person``, both by login id.

        The token expires after ``lasts`` seconds.
        """
        issued = round(self.now(), 3)
        return DelegatedClaims(
            sub=person,
            act=Actor(agent),
            iat=issued,
            exp=issued + lasts,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            client_id=str(key_id),
            delegation=str(delegation),
            scope=UNSET if scope is None else scope,
            tl=self._require_epoch(),
        )

    def issue_delegated(self, claims: DelegatedClaims) -> tuple[str, int]:
        """Return a delegated token, and its lifetime in whole seconds; ``Conflict`` if it is too long."""
        return self._sign(claims), int(claims.exp - claims.iat)

    def verify_refresh(self, token: str) -> RefreshClaims:
        """Return the claims of a refresh token.

        Raises the errors of ``verify``. Its time of issue has no meaning: its ``rid`` works once, whatever
        the clock of the session store has done.
        """
        return self.verify(token, RefreshClaims).claims

    def public_keys(self) -> list[Mapping[str, Any]]:
        """Return the public keys that are accepted now, as JWKs (RFC 7517); none for a shared key."""
        now = self.now()
        return [key.public for key in self._keys.accepted if key.public is not None and now < key.until]

    def signed(self, kind: str, claims: msgspec.Struct) -> str:
        """Return a JWT with ``claims``, and ``kind`` as the ``typ`` of its header (RFC 8725 §3.11)."""
        header = self._headers.get(kind)
        if header is None:
            header = self._headers[kind] = self._header(kind, self._keys.kid)
        signed = f"{header}.{encoded(msgspec.json.encode(claims))}"
        return f"{signed}.{encoded(self._sign_message(signed.encode('ascii')))}"

    def _sign(self, claims: Claims) -> str:
        token = self.signed("JWT", claims)
        if len(token) > self._longest:  # better no session than a token that is never accepted
            raise Conflict(sentence("roles_too_large_for_token"), rule="limit")
        return token
