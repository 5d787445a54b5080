"""Searches: all subjects, resources or actions for which a question is answered with yes.

The universe is finite: users, registered resources and the codes of Buttons. So the answers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, METHODS, PERMISSION, RESOURCE
from service.authz.review.concurrency import ConcurrencyLimit
from service.authz.review.impact import Roles, Standing
from service.evaluation import entities
from service.evaluation.answers import Answer, Answers, question_by
from service.evaluation.entities import Resource, Subject
from service.evaluation.questions import Question, service_of
from service.evaluation.subjects import Subjects
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, codes_asked
from service.kernel.services import split_object
from service.records import role_holdings
from service.records.database.transactions import Database

WITHIN: Final = 30.0
"""Seconds that reading roles and users may take."""

_PARTS: Final = 3  # segments of the code of a type, an id and an action

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """Which results are wanted: at most ``limit``, after the first ``offset``, a multiple of ``limit``."""

    offset: int
    limit: int

    def of(self, matches: Sequence[T]) -> Results[T]:
        """Return this part of all results."""
        return Results(list(matches[self.offset : self.offset + self.limit]), len(matches))


@dataclass(frozen=True, slots=True)
class Results(Generic[T]):
    """One part of the results, and how many there are."""

    items: list[T]
    total: int


class Search:
    """Finds what would be allowed; one search at a time, in the turns of questions about the whole policy."""

    def __init__(self, database: Database, subjects: Subjects, concurrency: ConcurrencyLimit) -> None:
        self._database = database
        self._subjects = subjects
        self._concurrency = concurrency
        self._answers = Answers()  # used in the thread of the turns alone

    async def subjects(
        self, policy: Policy, asking: Caller, kind: str, action: str, resource: Resource, *, part: Part
    ) -> Results[str]:
        """Return the ids of the subjects of type ``kind`` that may perform ``action`` on ``resource``.

        By user name; none for a type whose subjects can't be listed. Raises ``Unavailable``.
        """
        question = question_by(policy, asking, action, resource)
        if isinstance(question, Answer) or kind not in (entities.USER, entities.IDENTITY):
            return Results([], 0)
        async with self._concurrency.turn(), self._database.snapshot(within=WITHIN) as connection:
            held = await role_holdings.read(connection)
            standing = Standing(policy, held.codes, held.users)
            passing = await self._concurrency.computed(self._passing, standing, question)
            page = part.offset // part.limit + 1 if part.limit else 1
            total = sum(held.users[roles] for roles in passing)
            result = await role_holdings.holders(
                connection, passing, held.users, page=page, size=max(1, part.limit), total=total
            )
        users = result.items if part.limit else ()
        ids = [user.user_name if kind == entities.USER else str(user.id) for user in users]
        return Results(ids, result.total)

    def _passing(self, standing: Standing, question: Question) -> list[Roles]:
        return [
            roles for roles in standing.users if self._allows(standing.policy, question, standing.held(roles))
        ]

    async def resources(
        self, policy: Policy, asking: Caller, subject: Subject, action: str, target: Resource, *, part: Part
    ) -> Results[str]:
        """Return the ids of the resources like ``target`` on which ``subject`` may perform ``action``.

        They are of its type and service; its id counts for nothing. Routes are told as they are registered.
        """
        held = await self._held(policy, subject)
        if held is None:
            return Results([], 0)
        async with self._concurrency.turn():
            allowed = await self._concurrency.computed(self._allowed, policy, asking, held, action, target)
        return part.of(allowed)

    def _allowed(
        self, policy: Policy, asking: Caller, held: HeldCodes, action: str, target: Resource
    ) -> list[str]:
        allowed = []
        for resource_id in dict.fromkeys(_ids(policy, asking, action, target)):
            resource = Resource(target.type, resource_id, target.service)
            question = question_by(policy, asking, action, resource)
            if not isinstance(question, Answer) and self._allows(policy, question, held):
                allowed.append(resource_id)
        return allowed

    async def actions(
        self, policy: Policy, asking: Caller, subject: Subject, resource: Resource, *, part: Part
    ) -> Results[str]:
        """Return the names of the actions that ``subject`` may perform on ``resource``."""
        held = await self._held(policy, subject)
        if held is None:
            return Results([], 0)
        async with self._concurrency.turn():
            allowed = await self._concurrency.computed(self._performed, policy, asking, held, resource)
        return part.of(allowed)

    def _performed(self, policy: Policy, asking: Caller, held: HeldCodes, resource: Resource) -> list[str]:
        asked = {name: question_by(policy, asking, name, resource) for name in _actions(policy, resource)}
        return [
            name
            for name, question in asked.items()
            if not isinstance(question, Answer) and self._allows(policy, question, held)
        ]

    async def _held(self, policy: Policy, subject: Subject) -> HeldCodes | None:
        callers: Mapping[Subject, Caller] = await self._subjects.callers([subject], policy.permission_map)
        return codes_asked(callers.get(subject))

    def _allows(self, policy: Policy, question: Question, held: HeldCodes) -> bool:
        return self._answers.of(policy, question, held).allowed


def _ids(policy: Policy, asking: Caller, action: str, target: Resource) -> Iterator[str]:
    """Yield the ids of all resources of the type of ``target`` that ``action`` may be about."""
    if target.type == entities.ROUTE:
        yield from sorted(_routes(policy, action, service_of(target, asking.service)))
    elif target.type == entities.PERMISSION:
        yield from sorted(policy.rules.objects(PERMISSION))
    else:
        for kind, resource_id, name in _codes(policy):
            if (kind, name) == (target.type, action):
                yield resource_id


def _routes(policy: Policy, method: str, service: str) -> Iterator[str]:
    """Yield the registered paths of a service for ``method``, and those of the routes of this one."""
    for layer in (RESOURCE, ENDPOINT):
        for name in policy.rules.objects(layer):
            owner, route = split_object(name)
            registered, _, path = route.partition(" ")
            if owner == service and registered == ("GET" if method == "HEAD" else method):
                yield path


def _actions(policy: Policy, resource: Resource) -> Iterator[str]:
    """Yield the names of all actions that may be performed on ``resource``."""
    if resource.type == entities.ROUTE:
        yield from METHODS
    elif resource.type == entities.PERMISSION:
        yield entities.USE
    else:
        for kind, resource_id, name in _codes(policy):
            if (kind, resource_id) == (resource.type, resource.id):
                yield name


def _codes(policy: Policy) -> Iterator[tuple[str, str, str]]:
    """Yield the parts of all codes that name a type, an id and an action."""
    for code in sorted(policy.rules.objects(PERMISSION)):
        parts = code.split(":")
        if len(parts) == _PARTS and "*" not in parts:
            yield parts[0], parts[1], parts[2]
