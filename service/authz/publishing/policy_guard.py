"""The guard of changes: refuses those that break an invariant, or leave no way to administer."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.kernel.feature import sole
from service.kernel.write import DryRun
from service.records.database.transactions import Connection


class Completed(Protocol):
    """A change of the policy that runs steps just before its commit."""

    def before_commit(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run ``step`` after all checks have accepted the change; its error undoes the change."""


class PolicyGuard(Protocol):
    """Judges changes by the stored data and the policy that follows from them."""

    def keeping(
        self, connection: Connection, dry_run: DryRun | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Let the block change roles and users; Conflict, which rolls back, if it breaks an invariant.

        A ``dry_run`` gets a warning. Unavailable when this worker can't follow the newest policy in time.
        """

    def keeping_an_administrator(
        self, connection: Connection, change: Completed | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Let the block change rights or factors; Conflict, which rolls back, if no administrator remains.

        The lock of rights is held until the transaction ends. A ``change`` of the policy is checked once its
        policy is derived.
        """

    async def holders(self, connection: Connection) -> object:
        """Return the holdings before a change of the policy, for ``require``; takes the locks of rights."""

    async def require(
        self, connection: Connection, before: Policy, holders: object, policy: Policy, dry_run: DryRun | None
    ) -> None:
        """Check ``policy`` and the stored data against ``before`` and the ``holders`` of then.

        Raises Conflict if administration would be closed to all, with ``lockedOut``, or if an invariant would
        break, with ``brokenInvariants``; a ``dry_run`` gets a warning of the latter.
        """


def policy_guard(live: LivePolicy) -> PolicyGuard:
    """Return the guard of changes of a worker or a command."""
    guard: PolicyGuard = sole("policy-guard")(live)
    return guard
