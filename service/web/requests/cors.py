"""Cross-origin requests of browsers (CORS, Fetch Standard §3.2), by exact origins.

Tokens of cross-origin requests travel in headers only. ``Access-Control-Allow-Credentials`` is never sent, so
a browser neither sends nor stores cookies, and cookie mode stays same-origin.
"""

from collections.abc import Collection, Sequence
from typing import Final

from service.errors import MethodNotAllowed
from service.web.messages.context import RequestContext, Scope
from service.web.requests.application import Answer

EXPOSED: Final = (
    "ETag",
    "Location",
    "X-Request-Id",
    "X-Policy-Revision",
    "X-Policy-In-Force",
    "Portcullis-Rights",
    "Retry-After",
    "Content-Disposition",
    "Idempotency-Replayed",
)
"""Response headers that scripts of the listed origins may read, in addition to the safelist (Fetch §4.10)."""

SENT: Final = (
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "If-Range",
    "Last-Event-ID",
    "Range",
    "X-Policy-Min-Revision",
    "X-Request-Id",
)
"""Request headers that these scripts may send, in addition to that of the access token."""

MAX_AGE: Final = 600
"""Seconds for which a browser may reuse the answer to a preflight request."""

_NO_CONTENT: Final = 204
_ASKED_METHOD: Final = b"access-control-request-method"
_VARY: Final = (b"vary", b"Origin")


class CrossOrigin:
    """Adds CORS headers for the allowed origins; without origins it adds none and answers no preflight."""

    def __init__(self, origins: Collection[str] = (), token_name: str = "Authorization") -> None:  # noqa: S107 - the name of a header
        """``origins`` are in the form in which browsers send them; ``token_name`` is the token's header."""
        self._origins = frozenset(origin.encode("ascii") for origin in origins)
        self.is_on = bool(self._origins)
        self._exposed = (b"access-control-expose-headers", ", ".join(EXPOSED).encode("ascii"))
        self._sent = ", ".join((token_name, *SENT))

    def headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return the headers of every answer to ``scope``, whatever its status.

        ``Vary`` comes with all answers: a cache may not give one origin the answer for another.
        """
        if not self.is_on:
            return []
        origin = self._listed(scope)
        if origin is None:
            return [_VARY]
        return [_VARY, (b"access-control-allow-origin", origin), self._exposed]

    def preflight(self, context: RequestContext, allowed: Sequence[str]) -> Answer:
        """Return the answer to an ``OPTIONS`` request for a route with the methods ``allowed``.

        No credentials are needed. Raises MethodNotAllowed unless it is a preflight request of a listed origin
        for one of them. The browser itself compares the headers that it would send with those of the answer.
        """
        asked = context.request.raw_header(_ASKED_METHOD)
        if asked is None or asked.decode("latin-1") not in allowed or self._listed(context.scope) is None:
            raise MethodNotAllowed(allowed)
        context.respond_header("Access-Control-Allow-Methods", ", ".join(allowed))
        context.respond_header("Access-Control-Allow-Headers", self._sent)
        context.respond_header("Access-Control-Max-Age", str(MAX_AGE))
        return Answer(_NO_CONTENT, media_type=None)

    def _listed(self, scope: Scope) -> bytes | None:
        """Return the origin of ``scope`` if it is listed, and the only one."""
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        return origins[0] if len(origins) == 1 and origins[0] in self._origins else None
