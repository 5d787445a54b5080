"""Liveness and readiness of the service: ``/health``."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.metrics import Health, State
from service.web.messages.address import peer_of
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, outside
from service.web.messages.schema import Schema
from service.web.observability.readiness import ReadinessChecks, ReadinessState
from service.web.requests.credentials import OperatorToken

Facts = Callable[[], Awaitable[Mapping[str, Any]]]
"""Returns facts for the operator, in addition to the details of the parts."""


class Liveness(Schema):
    """The process runs."""

    status: Literal["live"]


class Readiness(Schema):
    """The state of each part; ``degraded`` if a part that requests do not need is not up.

    ``details`` are shown with the bearer token of `server.metrics_token` only.
    """

    status: ReadinessState
    parts: dict[str, State]
    details: dict[str, Any] | UnsetType = UNSET


class Live(Responders, at="/health/live"):
    @outside(name="checkLiveness")
    async def on_get(self, _context: RequestContext) -> Liveness:
        """Check that the process is running.

        Stores are not checked, since a restart would not repair them.
        """
        return Liveness(status="live")


class Ready(Responders, at="/health/ready"):
    def __init__(self, checks: ReadinessChecks, token: OperatorToken, facts: Facts) -> None:
        """Show everybody the states of the parts, and holders of ``token`` the details and ``facts``."""
        self._checks = checks
        self._token = token
        self._facts = facts

    @outside(name="checkReadiness", refuses=[Unavailable])
    async def on_get(self, context: RequestContext) -> Readiness:
        """Check that users can log in, be authorized, and read and write.

        `degraded` is also ready: an optional part is not available. The answer is 503 if the worker is not
        ready; `parts` shows the cause. With the bearer token of `server.metrics_token` it has `details`.
        """
        if self._checks.withdrawn is not None:
            raise Unavailable(self._checks.withdrawn)
        healths = await self._checks.look()
        states = {name: health.state for name, health in healths.items()}
        details = await self._details(context, healths) if self._token.is_held(context) else UNSET
        if missing := self._checks.missing(healths):
            refusal = Unavailable(sentence("not_ready", parts=missing))
            refusal.extra["parts"] = states
            if details is not UNSET:
                refusal.extra["details"] = details
            raise refusal
        status: ReadinessState = "ready" if set(states.values()) <= {"up"} else "degraded"
        return Readiness(status=status, parts=states, details=details)

    async def _details(self, context: RequestContext, healths: Mapping[str, Health]) -> dict[str, Any]:
        parts = {name: dict(health.details) for name, health in healths.items()}
        return {**await self._facts(), "request": arrival(context), **parts}


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
