"""Assertions: signed statements about the sender of a request, for one service."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from service.authn.claims import Actor
from service.authn.tokens import Tokens
from service.kernel.identity import Caller, roles_told
from service.settings import Auth

TYPE: Final = "portcullis-assertion+jwt"
"""The ``typ`` header of assertions; token consumers reject this type (RFC 8725 §3.11)."""
LIFE: Final = 60
"""Time to live of an assertion in seconds."""


class AssertionClaims(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The claims of an assertion; anonymous users have no ``sub``, ``user_name`` and ``roles``.

    ``act`` is the agent that acts for ``sub`` (RFC 8693 §4.1).
    ``aud`` is the name of the service, ``decision`` the id of the decision that allowed the request.
    """

    iss: str
    aud: str
    iat: int
    exp: int
    decision: str
    sub: str | UnsetType = UNSET
    user_name: str | UnsetType = UNSET
    roles: tuple[str, ...] | UnsetType = UNSET
    act: Actor | UnsetType = UNSET


class Assertions:
    """Signs assertions with the key of tokens; does nothing if the setting is off."""

    def __init__(self, settings: Auth, tokens: Tokens) -> None:
        self._on = settings.forward_assertion
        self._issuer = settings.jwt_issuer
        self._tokens = tokens

    def issue(self, service: str, caller: Caller | None, decision: str, ends: float | None = None) -> str:
        """Return an assertion about ``caller``, None if anonymous, for ``service``; "" if assertions are off.

        The assertion has roles, so it expires no later than the caller's credential, at ``ends`` (seconds
        since the epoch). Its minimum time to live is one second.
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
                roles=UNSET if caller is None else roles_told(caller),
                act=UNSET if caller is None or caller.agent is None else Actor(str(caller.agent.agent_id)),
            ),
        )
