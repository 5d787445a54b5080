"""Whose request it is to somebody who decides about it: another person's, or as good as the own one.

The author and those who have approved take part in a request; in an emergency its author and who closes it.
Accounts that count as one person count once, and those of the author's person not at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from service.administration.people import People, reason_of
from service.features.access_requests import store_appointees
from service.features.access_requests.schema import AccessDecision, AccessRequest, Verdict
from service.kernel.persons import Persons
from service.records.database.transactions import Connection

Deciding: TypeAlias = Verdict | Literal["close"]


@dataclass(frozen=True, slots=True)
class TakingPart:
    """A request at an instant, and what is ``decided`` about it."""

    people: People
    request: AccessRequest
    decided: Sequence[AccessDecision]
    at: datetime

    @property
    def approvers(self) -> list[int]:
        """The ids of those who have approved, in order."""
        return [each.user_id for each in self.decided if each.decision == "approve"]

    @property
    def parties(self) -> set[int]:
        """The ids of all who take part by now."""
        return {self.request.user_id, *self.approvers}

    async def persons(self, connection: Connection) -> Persons:
        """Return which of the accounts that take part count as one person."""
        return await self.people.of(connection, self.parties, self.at)

    async def not_another(self, connection: Connection, user_id: int, deciding: Deciding) -> str | None:
        """Return why somebody who decides does not count as another person; None if they do.

        Another one than the author; and to approve, than each who has approved: a denial needs one person.
        """
        author = self.request.user_id
        approved = [] if deciding == "close" else [each for each in self.approvers if each != user_id]
        persons = await self.people.of(connection, {author, user_id, *approved}, self.at)
        others = [author, *approved] if deciding == "approve" else [author]
        if (same := persons.same_as_one_of(user_id, others)) is not None:
            return await reason_of(connection, same)
        if user_id in await store_appointees.of_request(connection, self.request.id):
            return "its author gave you what it takes to approve it"
        return None
