"""Token exchange (RFC 8693): an agent's API key and a delegation for a token, with which the agent acts.

The agent is the client, its API key the client secret. The ``subject_token`` is the number of a delegation,
of the type ``DELEGATION``: a person has made it, in a session, for this agent alone. It is no secret, since
only the API key of that agent makes a token of it. A token is never a ``subject_token``, so an agent can't
act for an agent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from re import compile as pattern
from typing import Any, Final

from authlib.oauth2.rfc6749 import (
    InvalidRequestError,
    InvalidScopeError,
    OAuth2Error,
    UnauthorizedClientError,
)
from msgspec.structs import replace

from service.authn.agent_callers import AgentCallers
from service.authn.tokens import Tokens
from service.errors import Conflict, TokenInvalid
from service.kernel.codes import is_code
from service.kernel.identity import Caller

DELEGATION: Final = "urn:portcullis:token-type:delegation"
"""The type of the ``subject_token``: the number of a delegation (RFC 8693 §3 allows other URIs)."""
ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - a name
"""The type of the issued token (RFC 8693 §3)."""
LONGEST: Final = 900
"""Seconds; the longest life of a token of an agent."""
_ID: Final = pattern(r"[1-9][0-9]{0,17}")
_MOST_SCOPES: Final = 100


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]  # Authlib ships no types
    """The server issues no token for that service (RFC 8693 §2.2.2)."""

    error = "invalid_target"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TokenExchange:
    """See ``service.features.services.token_exchange``; ``lasts`` is the life of a token in seconds."""

    callers: AgentCallers
    tokens: Tokens
    lasts: int

    async def answer(self, client: Caller, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the members of the answer (RFC 8693 §2.2.1).

        Raises ``InvalidRequestError`` for every fault of the delegation: unknown, ended, of another agent, of
        an agent that is no longer one, suspended or switched off. Raises ``UnauthorizedClientError`` for a
        client that is no service account, and ``Unavailable``.
        """
        if client.kind != "service" or client.key_id is None or client.agent is not None:
            raise UnauthorizedClientError("Only a service account exchanges a delegation")
        if "actor_token" in form or "actor_token_type" in form:
            raise InvalidRequestError("The client is the actor: there is no actor_token")
        if "resource" in form or "audience" in form:
            raise InvalidTargetError("The delegation names the services")
        if form.get("requested_token_type", ACCESS_TOKEN) != ACCESS_TOKEN:
            raise InvalidRequestError(f"The requested_token_type must be {ACCESS_TOKEN}")
        if form.get("subject_token_type") != DELEGATION:
            raise InvalidRequestError(f"The subject_token_type must be {DELEGATION}")
        number = form.get("subject_token", "")
        if _ID.fullmatch(number) is None:
            raise InvalidRequestError("The subject_token must be the number of a delegation")
        scope = _scope(form.get("scope"))
        return await self._issue(client, int(number), scope)

    async def _issue(self, client: Caller, delegation_id: int, scope: str | None) -> dict[str, Any]:
        assert client.key_id is not None  # noqa: S101 - checked before
        try:
            person = await self.callers.person_of(client.user_id, delegation_id)
            claims = self.tokens.delegated(
                person=str(person),
                agent=client.login_id,
                key_id=client.key_id,
                delegation=delegation_id,
                scope=scope,
                lasts=min(self.lasts, LONGEST),
            )
            # The same check as at each request with the token: what it refuses is never issued.
            authenticated = await self.callers.of_token(claims)
        except TokenInvalid:
            raise InvalidRequestError("The delegation is not in force") from None
        held = authenticated.caller.held.codes
        if scope is not None and not held:
            raise InvalidScopeError("No permission is within the scope")
        assert authenticated.expires is not None  # noqa: S101 - a delegation has an expiry
        try:
            token, lasts = self.tokens.issue_delegated(replace(claims, exp=authenticated.expires))
        except Conflict:
            raise InvalidScopeError("The scope does not fit into a token: ask for less") from None
        return {
            "access_token": token,
            "issued_token_type": ACCESS_TOKEN,
            "token_type": "Bearer",
            "expires_in": lasts,
            **({"scope": " ".join(sorted(held))} if held else {}),
        }


def _scope(scope: str | None) -> str | None:
    if scope is None:
        return None
    codes = scope.split()
    if len(codes) > _MOST_SCOPES or not all(map(is_code, codes)):
        raise InvalidScopeError("A scope is a permission code, and at most 100 may be asked for")
    return " ".join(sorted(set(codes)))
