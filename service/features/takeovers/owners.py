"""Owners of accounts: users who could act as them, and confirmations that these are other people."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct

from service.administration import change_log
from service.administration.delegation import Delegation
from service.administration.people import People
from service.authz.engine.policy import Decision
from service.errors import PermissionDenied
from service.features.takeovers.sentences import sentence
from service.kernel.account_acts import Whom
from service.kernel.identity import Caller
from service.kernel.origin import values_change
from service.kernel.persons import ControlAct
from service.kernel.value_rules import Id
from service.records import account_control, accounts, user_list
from service.records.database.transactions import Connection, Database


class Takeover(Struct, frozen=True):
    """A takeover: another account's user could act as the owner, by an act, from a time until a time.

    ``user_name`` is None for a deleted account.
    """

    user_id: Id
    user_name: Annotated[str | None, Meta(description="Null for a deleted account.", examples=["mira"])]
    act: ControlAct
    time: datetime
    until: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Owners:
    """Lists and ends takeovers of accounts. ``now`` is the session store's time."""

    database: Database
    delegation: Delegation
    people: People
    now: Callable[[], datetime]

    async def takeovers(self, user_id: int) -> list[Takeover]:
        """Return the takeovers of an account, the latest first; raises ``NotFound``."""
        async with self.database.snapshot() as connection:
            await user_list.read(connection, user_id)
            return await self._takeovers(connection, user_id)

    async def confirm(self, caller: Caller, user_id: int) -> list[Takeover]:
        """Confirm that the owner is another person than those who acted on the account; return the rest.

        Takeovers by users behind whom the caller stands, or who stand behind the caller, remain. Raises
        ``NotFound``. Raises ``PermissionDenied`` if all takeovers remain, if the account stands behind the
        caller, and for a user who holds more than the caller.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            target = change_log.user_target(user.user_name)
            change_log.concerns(target)
            await check.target(connection, user_id, "confirm-owner")
            near = {*check.acting_ids}
            for acting_id in check.acting_ids:
                near |= await self.people.all_holders(connection, acting_id, self.now())
            holders = await self.people.holders(connection, user_id, self.now())
            ended, denials = [], []
            for holder_id in sorted(holders):
                whom: Whom = "others" if near.isdisjoint({user_id, holder_id}) else "self"
                decision = check.decide_owner(whom)
                if decision.allowed:
                    ended.append(holder_id)
                else:
                    denials.append(decision)
            if denials and not ended:
                raise _refused(denials[0])
            await account_control.end(connection, user_id, ended)
            names = await accounts.names(connection, ended)
            changes = values_change(target, "takeoversBy", [names.get(each, str(each)) for each in ended], [])
            left = await self._takeovers(connection, user_id)
            change_log.saving(changes)
        change_log.saved(changes)
        return left

    async def _takeovers(self, connection: Connection, user_id: int) -> list[Takeover]:
        edges = await self.people.acts_on(connection, user_id, self.now())
        names = await accounts.names(connection, {edge.holder_id for edge in edges})
        lasting = timedelta(days=self.people.takeover_days)
        return [
            Takeover(edge.holder_id, names.get(edge.holder_id), edge.act, edge.time, edge.time + lasting)
            for edge in sorted(edges, key=lambda edge: edge.time, reverse=True)
        ]


def _refused(denial: Decision) -> PermissionDenied:
    return PermissionDenied(sentence("owner_not_confirmable"), denial)
