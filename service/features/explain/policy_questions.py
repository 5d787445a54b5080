"""Common code of questions about the policy, the stored roles and users."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.errors import ValidationFailed
from service.features.explain.sentences import sentence
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import Instant, PastPolicies, instant_of, standing_of
from service.records.database.transactions import Connection, Database
from service.records.published import policy_history
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders

WITHIN: Final = 30.0
"""Maximum seconds to read roles and users."""


@dataclass(frozen=True, eq=False, repr=False)
class PolicyQuestion(Responders):
    """Base class of questions about a policy and the stored roles, with few questions at a time."""

    database: Database
    live: LivePolicy
    concurrency: ConcurrencyLimit
    past: PastPolicies

    async def _asked(
        self, context: RequestContext, connection: Connection, at: datetime | None
    ) -> tuple[Policy, Instant]:
        """Return the policy and the instant of the question; the request itself is decided as of now."""
        assert context.policy is not None  # noqa: S101 - the caller has set it
        instant = await instant_of(connection, at)
        return await self.past.at(connection, context.policy, instant), instant

    async def _standing(
        self, context: RequestContext, connection: Connection, at: datetime | None
    ) -> Standing:
        """Return the policy, roles and users at that instant."""
        policy, instant = await self._asked(context, connection, at)
        return await standing_of(policy, connection, instant)


async def require_kept(connection: Connection, name: str, revision: int) -> None:
    """Raise ValidationFailed for the field ``name`` unless the lines of ``revision`` are kept."""
    if not await policy_history.is_kept(connection, revision):
        raise ValidationFailed((name, sentence("revision_not_stored")))
