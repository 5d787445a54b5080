"""Assertions: who sends a request to another service, signed for that service."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from service.authn.tokens import Tokens
from service.kernel.identity import Caller
from service.settings import Auth

TYPE: Final = "portcullis-assertion+jwt"
"""The ``typ`` in the header of an assertion: nothing that takes tokens takes one (RFC 8725 §3.11)."""
LIFE: Final = 60
"""Seconds for which an assertion is valid."""


class AssertionClaims(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The claims of an assertion; without ``sub``, ``user_name`` and ``roles`` the user is not logged in.

    ``aud`` is the name of the service, ``decision`` the id of the decision that let the request pass.
    """

    iss: str
    aud: str
    iat: int
    exp: int
    decision: str
    sub: str | UnsetType = UNSET
    user_name: str | UnsetType = UNSET
    roles: tuple[str, ...] | UnsetType = UNSET


class Assertions:
    """Signs assertions with the key of tokens; does nothing where the setting is off."""

    def __init__(self, settings: Auth, tokens: Tokens) -> None:
        self._on = settings.forward_assertion
        self._issuer = settings.jwt_issuer
        self._tokens = tokens

    def issue(self, service: str, caller: Caller | None, decision: str, ends: float | None = None) -> str:
        """Return an assertion for ``service`` about ``caller``, None for nobody; "" where they are off.

        It tells roles, so it ends with what the caller was known by, at ``ends`` (seconds since the epoch),
        but lives for a second.
        """
        if not self._on:
            return ""
        now = int(self._tokens.now())
        return self._tokens.signed(
            TYPE,
            AssertionClaims(
                iss=self._issuer,
                aud=service,
                iat=now,
                exp=now + LIFE if ends is None else max(now + 1, min(now + LIFE, int(ends))),
                decision=decision,
                sub=UNSET if caller is None else caller.login_id,
                user_name=UNSET if caller is None else caller.user_name,
                roles=UNSET if caller is None else caller.roles,
            ),
        )
