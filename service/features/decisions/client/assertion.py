"""Verifies the assertions that a proxy passes on from Portcullis, by its public keys."""

import threading
import time
from collections.abc import Callable
from typing import Any, Final

import httpx
from joserfc import jwk, jwt
from joserfc.errors import JoseError

from .entities import User

_TYPE: Final = "portcullis-assertion+jwt"
_LIFE: Final = 3600.0  # seconds for which keys are used: so long a dropped one lives on
_PAUSE: Final = 60.0  # seconds between two readings because of an assertion that was not good
_RETRY: Final = 1.0  # seconds after a reading that failed
_LONGEST: Final = 8192
_OK: Final = 200


class Assertions:
    """Identifies the user of a request by its ``X-Portcullis-Assertion``; may be shared by threads."""

    def __init__(
        self,
        url: str,
        service: str,
        *,
        algorithm: str = "ES256",
        issuer: str = "portcullis",
        timeout: float = 2.0,
        transport: httpx.BaseTransport | None = None,
        now: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """``url`` is where Portcullis is, ``service`` the name of the guarded service.

        ``algorithm`` and ``issuer`` are the settings ``auth.jwt_algorithm`` and ``auth.jwt_issuer``. Raises
        ValueError for an algorithm with a shared secret.
        """
        if algorithm.startswith("HS") or algorithm.lower() == "none":
            raise ValueError("Assertions are verified with public keys: choose an asymmetric algorithm")
        self._algorithm = algorithm
        self._issuer = issuer
        self._service = service
        self._now = now
        self._ticks = ticks
        self._http = httpx.Client(base_url=url, timeout=timeout, trust_env=False, transport=transport)
        self._keys = jwk.KeySet([])
        self._read_at = self._tried_at = float("-inf")
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def user(self, assertion: str) -> User | None:
        """Return the user, None for a request without a user.

        Raises ValueError for an assertion that is missing, malformed, forged, expired, or for another
        service. Raises ConnectionError if the public keys can't be read.
        """
        claims = self._claims(assertion)
        expected = (self._issuer, self._service)
        if (claims.get("iss"), claims.get("aud")) != expected or not self._is_valid(claims.get("exp")):
            raise ValueError("The assertion has expired, or is not for this service")
        if "sub" not in claims:
            return None
        roles = tuple(map(str, claims.get("roles", ())))
        return User(str(claims["sub"]), str(claims.get("user_name", "")), roles, str(claims.get("decision")))

    def _is_valid(self, ends: object) -> bool:
        return isinstance(ends, int | float) and self._now() < ends

    def _claims(self, assertion: str) -> dict[str, Any]:
        if len(assertion) > _LONGEST:
            raise ValueError("The assertion is too long")
        keys = self._current(_LIFE)
        try:
            return self._decoded(assertion, keys)
        except (JoseError, ValueError):
            newer = self._current(_PAUSE)
            if newer is keys:
                raise ValueError("The assertion is not valid") from None
        try:
            return self._decoded(assertion, newer)
        except (JoseError, ValueError):
            raise ValueError("The assertion is not valid") from None

    def _decoded(self, assertion: str, keys: jwk.KeySet) -> dict[str, Any]:
        token = jwt.decode(assertion, keys, algorithms=[self._algorithm])
        if token.header.get("typ") != _TYPE or not isinstance(token.claims, dict):
            raise ValueError("This is not an assertion")
        return token.claims

    def _current(self, oldest: float) -> jwk.KeySet:
        """Return keys that were read less than ``oldest`` seconds ago."""
        with self._lock:
            age = self._ticks() - self._read_at
            if age >= oldest and self._ticks() - self._tried_at >= _RETRY:
                try:
                    self._keys = self._read()
                    self._read_at = self._ticks()
                finally:
                    self._tried_at = self._ticks()
            elif age >= _LIFE:
                raise ConnectionError("The public keys can't be read")
            return self._keys

    def _read(self) -> jwk.KeySet:
        try:
            answer = self._http.get("/.well-known/jwks.json")
            if answer.status_code != _OK:
                raise ConnectionError("The public keys can't be read")
            return jwk.KeySet.import_key_set(answer.json())
        except (httpx.HTTPError, JoseError, ValueError, KeyError, TypeError) as error:
            raise ConnectionError("The public keys can't be read") from error
