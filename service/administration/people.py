"""Accounts that count as one person in decisions, by stored data."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.persons import Edge, Persons, SamePerson, since_of
from service.records import account_control, accounts
from service.records.database.transactions import Connection


@dataclass(frozen=True, slots=True)
class People:
    """Reads the accounts behind an account, by their acts; an act counts for ``takeover_days`` days."""

    takeover_days: int

    async def of(
        self, connection: Connection, parties: Collection[int], at: datetime, beside: Collection[int] = ()
    ) -> Persons:
        """Return the persons behind ``parties``, the accounts that take part in a decision at ``at``.

        ``beside`` are further accounts to look up, which take no part in the decision.
        """
        since = since_of(at, self.takeover_days)
        edges = await account_control.leading_to(connection, {*parties, *beside}, since)
        return Persons(edges, parties, since)

    async def acts_on(self, connection: Connection, user_id: int, at: datetime) -> list[Edge]:
        """Return the acts on an account itself."""
        since = since_of(at, self.takeover_days)
        edges = await account_control.leading_to(connection, [user_id], since)
        return [edge for edge in edges if edge.account_id == user_id]

    async def holders(self, connection: Connection, user_id: int, at: datetime) -> dict[int, frozenset[int]]:
        """Return the accounts that acted on an account, by id, each with all accounts behind it."""
        since = since_of(at, self.takeover_days)
        edges = await account_control.leading_to(connection, [user_id], since)
        persons = Persons(edges, (), since)
        return {
            edge.holder_id: persons.behind(edge.holder_id) for edge in edges if edge.account_id == user_id
        }

    async def all_holders(self, connection: Connection, user_id: int, at: datetime) -> set[int]:
        """Return the ids of the accounts that acted on an account, and of the accounts behind them."""
        holders = await self.holders(connection, user_id, at)
        return {*holders}.union(*holders.values())

    async def signed_in(
        self, connection: Connection, user_id: int, linked_by: Collection[int] | None, at: datetime
    ) -> None:
        """End the effect of acts on an account whose owner has signed in with a provider.

        Acts of ``linked_by`` keep their effect: they may have linked the account, and signed in.
        """
        if linked_by is None:
            return
        holders = await self.holders(connection, user_id, at)
        ended = [each for each, behind in holders.items() if behind.union([each]).isdisjoint(linked_by)]
        await account_control.end(connection, user_id, ended)


async def reason_of(connection: Connection, same: SamePerson) -> Sentence:
    """Return why two accounts count as one person."""
    if same.first == same.second:
        return sentence("it_is_your_own")
    return same.sentence(await accounts.names(connection, same.user_ids))
