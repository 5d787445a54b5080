"""A cache of verified access tokens, by digest, with their callers.

Verifying a signature takes 30 to 140 µs, a digest less than one. Only immutable values are cached. The
beginning and expiry of a token are checked each time by the clock of ``Tokens``, and revocation by
``authenticate`` in the session store. The restore epoch is compared each time too: a restore ends all tokens.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec import UNSET

from service.authn.claims import AccessClaims, ClientClaims
from service.authn.token_callers import caller_of, codes_of
from service.authn.token_verifying import MAX_LENGTH, Verified
from service.authn.tokens import Tokens
from service.errors import TokenExpired, TokenInvalid
from service.kernel.cache_sizes import cache_size
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.keyspace import Answer, KeyPair

MOST_TOKENS: Final = cache_size("tokens", 4096)
"""Maximum number of verified tokens that a worker remembers; the oldest goes first."""


class VerifiedToken:
    """The claims of a token, and its caller; None for a client token, whose rights are not in it.

    It is valid from ``begins`` to ``ends``, the expiry of the token or of its key. ``keys`` are the session
    store's keys by which it is checked, after the first check. ``answer`` is the store's answer when the
    token was last accepted, and ``accepted`` the result: the same answer has the same result.
    """

    __slots__ = (
        "accepted",
        "answer",
        "begins",
        "caller",
        "claims",
        "ends",
        "key_ends",
        "keys",
        "permission_map",
    )

    def __init__(
        self,
        verified: Verified[AccessClaims | ClientClaims],
        caller: Caller | None,
        permission_map: PermissionMap,
    ) -> None:
        self.claims, self.key_ends, self.begins = verified
        self.ends = min(self.claims.exp, self.key_ends)
        self.caller = caller
        self.permission_map = permission_map
        self.keys: KeyPair | None = None
        self.answer: Answer | None = None
        self.accepted: Authenticated | None = None


class Authenticated(NamedTuple):
    """The caller, and the newest policy revision announced at the time of the check.

    ``announced`` is None when the session store does not know it, and 0 when the store was not asked.
    ``expires`` is the instant at which the token or key expires, or its rights change, in seconds since the
    epoch. None for a key without an expiry, whose rights do not change by themselves. ``all_rights`` is the
    epoch of all rights at that moment, None if unknown.
    """

    caller: Caller
    announced: int | None
    expires: float | None = None
    all_rights: bytes | None = None


class VerifiedTokens:
    """Turns access tokens into callers; caches at most ``most`` of them, the oldest are evicted first."""

    def __init__(
        self,
        tokens: Tokens,
        most: int = MOST_TOKENS,
        first_seen: Callable[[AccessClaims], None] | None = None,
        *,
        prefix: str = "",
    ) -> None:
        """``first_seen`` is called with the claims of each token that was not cached.

        ``prefix`` is what precedes a token in the header that it is sent in.
        """
        self._tokens = tokens
        self._most = most
        self._first_seen = first_seen
        self._prefix = prefix.encode("ascii")
        self._entries: dict[bytes, VerifiedToken] = {}
        self._held: dict[object, HeldCodes] = {}
        self._held_map: PermissionMap | None = None

    def lookup(self, token: str, permission_map: PermissionMap) -> VerifiedToken:
        """Return an access or client token with its caller, whose bits ``permission_map`` decodes.

        Raises the errors of ``Tokens.verify_access``.
        """
        if len(token) > MAX_LENGTH or not token.isascii():
            raise TokenInvalid
        sent = self._prefix + token.encode("ascii")
        if (known := self.remembered(sent, permission_map, self._tokens.now())) is not None:
            return known
        verified = self._tokens.verified_bearer(token)
        entry = VerifiedToken(verified, self._caller_of(verified.claims, permission_map), permission_map)
        self._keep(sha256(sent).digest(), entry)
        if self._first_seen is not None and isinstance(verified.claims, AccessClaims):
            self._first_seen(verified.claims)
        return entry

    def remembered(self, sent: bytes, permission_map: PermissionMap, now: float) -> VerifiedToken | None:
        """Return the token of a header whose value is ``sent``, as of ``now``; None if it is not cached.

        Only the prefix with a token that was verified is cached: any other value is not found. Raises
        ``TokenInvalid``, ``TokenExpired`` and ``RefreshRequired``.
        """
        if len(sent) > MAX_LENGTH + len(self._prefix):
            return None
        digest = sha256(sent).digest()
        entry = self._entries.get(digest)
        if entry is None:
            return None
        if not entry.begins <= now < entry.ends:
            del self._entries[digest]
            if now < entry.begins:  # the clock of the session store was ahead when it was issued
                return None
            raise TokenExpired if entry.claims.exp <= now else TokenInvalid
        if entry.claims.tl != self._tokens.restore_epoch.name:
            self._tokens.require_restore_epoch(entry.claims)
        if entry.permission_map is not permission_map:
            # A new entry: requests that wait for the session store go on with the caller of their policy.
            verified, caller = (
                Verified(entry.claims, entry.key_ends, entry.begins),
                self._caller_of(entry.claims, permission_map),
            )
            entry = self._entries[digest] = VerifiedToken(verified, caller, permission_map)
        return entry

    def _keep(self, digest: bytes, entry: VerifiedToken) -> None:
        if not self._most:
            return
        now = self._tokens.now()
        while self._entries:
            oldest = next(iter(self._entries))
            if len(self._entries) < self._most and self._entries[oldest].claims.exp > now:
                break
            del self._entries[oldest]
        self._entries[digest] = entry

    def _caller_of(self, claims: AccessClaims | ClientClaims, permission_map: PermissionMap) -> Caller | None:
        if isinstance(claims, ClientClaims):
            return None
        # The same object for equal claims, so that decisions cached by it are found.
        if self._held_map is not permission_map or len(self._held) > self._most:
            self._held_map, self._held = permission_map, {}
        permissions = claims.permissions if claims.pb is UNSET else claims.pb
        held = self._held.get(permissions)
        if held is None:
            held = self._held[permissions] = HeldCodes(codes_of(claims, permission_map))
        return caller_of(claims, held)
