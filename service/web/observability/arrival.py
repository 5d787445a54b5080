"""What has arrived of a request, for the operator: behind a proxy that is not what was sent."""

from __future__ import annotations

from typing import Any, Final

from service.web.messages.address import peer_of
from service.web.messages.context import RequestContext

# Headers that a proxy sets or removes; none of them may be a client's.
_TOLD: Final = (
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-original-url",
    "x-portcullis-user",
    "x-real-ip",
)


def arrival(context: RequestContext) -> dict[str, Any]:
    """Return the client's address as the service takes it, that of the peer, and the headers of proxies."""
    raw = {name: context.request.raw_header(name.encode()) for name in _TOLD}
    return {
        "address": context.address,
        "peer": peer_of(context.scope),
        "headers": {name: value.decode("latin-1") for name, value in raw.items() if value is not None},
    }
