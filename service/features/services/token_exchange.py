"""The port by which the token endpoint exchanges delegations to agents (RFC 8693); one feature brings it."""

from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

from service.authn.agent_callers import AgentCallers
from service.authn.tokens import Tokens
from service.kernel.feature import provided
from service.kernel.identity import Caller

EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
"""The grant type of a token exchange (RFC 8693 §2.1)."""


class TokenExchange(Protocol):
    """Exchanges the delegation in a token request for a token of the client."""

    async def answer(self, client: Caller, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the members of the answer to a client whose API key was checked.

        Raises an ``OAuth2Error`` of Authlib, and ``Unavailable``.
        """


def token_exchange_of(
    callers: AgentCallers | None, tokens: Tokens, lasts: int, off: Collection[str]
) -> TokenExchange | None:
    """Return the exchange, for tokens of ``lasts`` seconds at most; None if the feature is ``off``."""
    makers = tuple(provided("token-exchange", off).values())
    return makers[0](callers, tokens, lasts) if makers and callers is not None else None
