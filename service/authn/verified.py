"""A cache of verified access tokens, by digest, with their callers.

Verifying a signature takes 30 to 140 µs, a digest less than one. Only immutable values are cached. The
beginning and expiry of a token are checked each time by the clock of ``Tokens``, and revocation by
``authenticate`` in the session store. The restore epoch is compared each time too: a restore ends all tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

from service.authn.claims import AccessClaims, BearerClaims, ClientClaims, DelegatedClaims
from service.authn.token_callers import TokenCallers
from service.authn.token_verifying import MAX_LENGTH, Verified
from service.authn.tokens import Tokens
from service.errors import TokenInvalid
from service.kernel.cache_sizes import cache_size
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.keyspace import Answer, KeyPair

MOST_TOKENS: Final = cache_size("tokens", 4096)
"""Maximum number of verified tokens that a worker remembers; the oldest goes first."""


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


@dataclass(slots=True, eq=False)
class VerifiedToken:
    """A verified token, and its caller; None for a client or delegated token, whose rights are not in it.

    ``keys`` are the session store's keys by which it is checked, after the first check. ``answer`` is the
    store's answer when the token was last accepted, and ``accepted`` the result: the same answer has the same
    result.
    """

    verified: Verified[BearerClaims]
    caller: Caller | None
    permission_map: PermissionMap
    keys: KeyPair | None = None
    answer: Answer | None = None
    accepted: Authenticated | None = None


class VerifiedTokens:
    """Turns access tokens into callers; caches at most ``most`` of them, the oldest are evicted first."""

    def __init__(
        self,
        tokens: Tokens,
        most: int = MOST_TOKENS,
        first_seen: Callable[[str, str, int], None] | None = None,
        *,
        prefix: str = "",
    ) -> None:
        """``first_seen`` is called for each access token that was not cached: ``Deliveries.seen``.

        ``prefix`` is what precedes a token in the header that it is sent in.
        """
        self._tokens = tokens
        self._callers = TokenCallers(most)
        self._most = most
        self._first_seen = first_seen
        self._prefix = prefix.encode("ascii")
        self._entries: dict[bytes, VerifiedToken] = {}

    def lookup(self, token: str, permission_map: PermissionMap) -> VerifiedToken:
        """Return an access, client or delegated token with its caller, whose bits ``permission_map`` decodes.

        Raises the errors of ``Tokens.verify``.
        """
        if len(token) > MAX_LENGTH or not token.isascii():
            raise TokenInvalid
        sent, now = self._prefix + token.encode("ascii"), self._tokens.now()
        if (known := self.remembered(sent, permission_map, now)) is not None:
            return known
        verified: Verified[BearerClaims] = self._tokens.verify(
            token, AccessClaims, ClientClaims, DelegatedClaims
        )
        claims = verified.claims
        entry = VerifiedToken(verified, self._callers.of(claims, permission_map), permission_map)
        while self._entries:
            oldest = next(iter(self._entries))
            if len(self._entries) < self._most and self._entries[oldest].verified.ends > now:
                break
            del self._entries[oldest]
        if self._most:
            self._entries[sha256(sent).digest()] = entry
        if self._first_seen is not None and isinstance(claims, AccessClaims):
            self._first_seen(claims.sub, claims.dev, round(1000 * claims.iat))
        return entry

    def remembered(self, sent: bytes, permission_map: PermissionMap, now: float) -> VerifiedToken | None:
        """Return the token of a header whose value is ``sent``, as of ``now``; None if it is to be verified.

        Only the prefix with a token that was verified is cached: any other value is not found. A token that
        has expired or begins later, whose key has ended, or of another restore epoch is verified again, which
        refuses it.
        """
        if len(sent) > MAX_LENGTH + len(self._prefix):
            return None
        digest = sha256(sent).digest()
        entry = self._entries.get(digest)
        if entry is None:
            return None
        claims, begins, ends = entry.verified
        if not begins <= now < ends or claims.tl != self._tokens.restore_epoch.name:
            del self._entries[digest]
            return None
        if entry.permission_map is not permission_map:
            # A new entry: requests that wait for the session store go on with the caller of their policy.
            caller = self._callers.of(claims, permission_map)
            entry = self._entries[digest] = VerifiedToken(entry.verified, caller, permission_map)
        return entry
