"""Refusal of self-approval: authors cannot approve, deny or close their own requests.

The parties of a request are its author and its approvers; those of an emergency its author and the user who
closes it. Accounts that count as one person count once. Accounts of the author's person do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from service.administration.people import People, reason_of
from service.administration.unit_of_work import UnitOfWork
from service.authz.engine.policy import Decision
from service.authz.engine.rules import APPROVE
from service.errors import PermissionDenied
from service.features.access_requests import store_appointees
from service.features.access_requests.schema import AccessDecision, AccessRequest, Verdict
from service.features.access_requests.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.persons import Persons, SamePerson
from service.kernel.request_objects import Whose, stage_for
from service.records.database.transactions import Connection

Deciding: TypeAlias = Verdict | Literal["close"]


@dataclass(frozen=True, slots=True)
class TakingPart:
    """A request at an instant, with its decisions ``decided``."""

    people: People
    request: AccessRequest
    decided: Sequence[AccessDecision]
    at: datetime

    @property
    def approvers(self) -> list[int]:
        """Return the ids of the approvers, in order."""
        return [each.user_id for each in self.decided if each.decision == "approve"]

    @property
    def parties(self) -> set[int]:
        """Return the ids of the current parties."""
        return {self.request.user_id, *self.approvers}

    async def persons(self, connection: Connection) -> Persons:
        """Return the parties that count as one person."""
        return await self.people.of(connection, self.parties, self.at)

    def same_person(self, persons: Persons, user_id: int, deciding: Deciding) -> SamePerson | None:
        """Return why a deciding user counts as a person from whom the decision must be independent.

        None if the user counts as another person. ``persons`` covers the user and the parties, or more. Every
        decision requires another person than the author. An approval also requires another person than each
        earlier approver, because a denial needs only one person.
        """
        author = self.request.user_id
        approved = [] if deciding == "close" else [each for each in self.approvers if each != user_id]
        others = [author, *approved] if deciding == "approve" else [author]
        return persons.taking_part({author, user_id, *approved}).same_as_one_of(user_id, others)

    async def not_another(self, connection: Connection, user_id: int, deciding: Deciding) -> Sentence | None:
        """Return the reason why a deciding user does not count as another person; None if the user does.

        See ``same_person``. Users whom the author gave the permission to approve do not count either.
        """
        persons = await self.people.of(connection, {user_id, *self.parties}, self.at)
        if (same := self.same_person(persons, user_id, deciding)) is not None:
            return await reason_of(connection, same)
        if user_id in await store_appointees.of_request(connection, self.request.id):
            return sentence("appointed_by_author")
        return None

    async def require_stages(self, unit: UnitOfWork, deciding: Deciding) -> dict[int, Decision]:
        """Return the enforcer's answers for the stages that the caller may decide, by number.

        Raises ``PermissionDenied`` with the reason if there is no such stage.
        """
        same = await self.not_another(unit.connection, unit.caller.user_id, deciding)
        whose: Whose = "others" if same is None else "self"
        request = self.request
        answers = {
            number: unit.check.ask(APPROVE, stage_for(request.role_code, number, whose), optional=True)
            for number in range(1, len(request.stages) + 1)
        }
        if passed := {number: answer for number, answer in answers.items() if answer.allowed}:
            return passed
        why = sentence("request_not_decidable")
        if same is not None:
            why = sentence("request_not_decidable_by", why=same)
        denial = unit.check.ask(APPROVE, stage_for(request.role_code, 1, whose))
        raise PermissionDenied(why, denial)
