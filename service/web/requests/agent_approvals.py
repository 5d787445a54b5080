"""The port by which the guard asks if a person has approved a call of an agent; one feature keeps them."""

from collections.abc import Collection
from typing import Protocol

from service.errors import Decided
from service.kernel.feature import provided
from service.kernel.identity import Caller
from service.kernel.notify import Notices
from service.records.database.transactions import Database
from service.web.messages.context import RequestContext
from service.web.messages.original import Original


class AgentApprovals(Protocol):
    """Approvals of single calls by the people for whom agents act."""

    async def require(self, context: RequestContext, caller: Caller, denial: Decided) -> None:
        """Use the approval of the request ``context`` of the agent of ``caller``, which ``denial`` requires.

        It reads the body, which the operation can read again. Raises ``ApprovalRequired`` without an approval
        of exactly this call, ``TooLarge``, ``BadRequest`` and ``Unavailable``.
        """

    async def require_forwarded(
        self, service: str, original: Original, caller: Caller, denial: Decided
    ) -> None:
        """Use the approval of the request ``original`` to ``service``, about which a proxy asks.

        A proxy does not send the body. So raises ``PermissionDenied`` for methods whose requests have one,
        else ``ApprovalRequired`` and ``Unavailable`` as ``require``.
        """


def approvals_of(database: Database, notices: Notices, off: Collection[str]) -> AgentApprovals | None:
    """Return the approvals; None if the feature is ``off``: then no agent is admitted either."""
    makers = tuple(provided("agent-approvals", off).values())
    return makers[0](database, notices) if makers else None
