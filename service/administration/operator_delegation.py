"""Delegation of the operator, who may grant everything: for commands, and for jobs that edit accounts."""

from collections.abc import Iterable
from datetime import datetime

from service.administration.delegation import Delegation, DelegationCheck
from service.authz.engine.policy import Policy
from service.authz.publishing.changes import Change
from service.authz.publishing.live import LivePolicy
from service.errors import ActOnOneself, PermissionDenied
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import Caller
from service.records import role_rights
from service.records.database.transactions import Connection, Database


class OperatorDelegation(Delegation):
    """Loads the policy when it is asked: commands and jobs have nothing that follows it."""

    def __init__(self, live: LivePolicy, database: Database) -> None:
        super().__init__(live)
        self._policy = live
        self._database = database

    async def check(
        self, connection: Connection, caller: Caller, change: Change | None = None
    ) -> DelegationCheck:
        """Return the check of the operator; see ``Delegation.check``."""
        # The lock of the policy is held, so the newest policy stays the newest until the transaction ends.
        await self._policy.load(self._database)
        if caller.is_operator:
            await role_rights.lock(connection)
            return OperatorCheck(self._policy.current, caller, caller.held, change)
        return await super().check(connection, caller, change)


class OperatorCheck(DelegationCheck):
    """Lets the operator do everything: a user who can run a command can also write to the database.

    A job acts by the operator's settings.
    """

    async def require(self, codes: Iterable[str], why: Sentence, *, until: datetime | None = None) -> None:
        """Return."""

    async def require_any(self, codes: Iterable[str], why: Sentence) -> None:
        """Return."""

    def require_object(
        self,
        policy: Policy,
        layer: str,
        name: str,
        why: Sentence,
        field: str | None = None,
        *,
        denied: type[PermissionDenied | ActOnOneself] = PermissionDenied,
    ) -> None:
        """Return."""

    def may_request(self, _request: str) -> bool:
        """Return true: an operator reads all records."""
        return True

    def require_request(self, method: str, path: str, template: str) -> None:
        """Return."""
