"""The bearer token with which the operator's tools read metrics and details of health."""

from __future__ import annotations

from hmac import compare_digest

from service.web.messages.context import RequestContext


class OperatorToken:
    """The token of the setting ``server.metrics_token``; an empty one matches no request."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode() if token else None

    @property
    def is_set(self) -> bool:
        """True if the token is set."""
        return self._expected is not None

    def is_held(self, context: RequestContext) -> bool:
        """True if the request has the token; compared in constant time."""
        sent = context.request.raw_header(b"authorization") or b""
        return self._expected is not None and compare_digest(sent, self._expected)
