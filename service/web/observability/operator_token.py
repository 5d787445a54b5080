"""The bearer token by which the operator's tools read what strangers and users may not."""

from __future__ import annotations

from hmac import compare_digest

from service.web.requests.context import RequestContext


class OperatorToken:
    """The token of the setting ``server.metrics_token``; an empty one is held by nobody."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode() if token else None

    @property
    def is_set(self) -> bool:
        """Whether the operator has set one."""
        return self._expected is not None

    def is_held(self, context: RequestContext) -> bool:
        """Tell whether the request carries the token; compared in constant time."""
        sent = context.request.raw_header(b"authorization") or b""
        return self._expected is not None and compare_digest(sent, self._expected)
