"""Searches: all subjects, resources or actions for which a question is allowed.

The results are exact, because the sets are finite: users, registered resources, and codes of Buttons.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ENDPOINT, METHODS, PERMISSION, RESOURCE
from service.features.decisions import questions
from service.features.decisions.questions import Resource, Subject, Subjects, question_by, service_of
from service.kernel.assurance import BY_STRONGEST, LOGIN, SERVICE, Satisfied
from service.kernel.clock import from_seconds
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, Kind, codes_asked
from service.kernel.services import split_object
from service.laboratory.analysis.answers import Answer, Answers, Question
from service.laboratory.analysis.held_code_index import DecisiveCodes
from service.laboratory.analysis.impact import Roles, Standing
from service.records import role_holdings
from service.records.assignments import Present
from service.records.database.transactions import Database

WITHIN: Final = 30.0
"""Maximum seconds to read roles and users."""

_PERSON: Final = BY_STRONGEST[LOGIN]
_SERVICE: Final = BY_STRONGEST[SERVICE]

_PARTS: Final = 3  # segments of the code of a type, an id and an action

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """The requested part: at most ``limit`` results after the first ``offset``, a multiple of ``limit``."""

    offset: int
    limit: int

    def of(self, matches: Sequence[T]) -> Results[T]:
        """Return this part of all results."""
        return Results(list(matches[self.offset : self.offset + self.limit]), len(matches))


@dataclass(frozen=True, slots=True)
class Results(Generic[T]):
    """One part of the results, and the total number."""

    items: list[T]
    total: int


class Search:
    """Runs one search at a time, in the turns of questions about the whole policy."""

    def __init__(
        self,
        database: Database,
        subjects: Subjects,
        concurrency: ConcurrencyLimit,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Create the search; ``now`` as for ``Answers``."""
        self._now = now
        self._database = database
        self._subjects = subjects
        self._concurrency = concurrency
        self._answers = Answers(now)  # used only in the thread of the turns

    async def subjects(
        self, policy: Policy, asking: Caller, kind: str, action: str, resource: Resource, *, part: Part
    ) -> Results[str]:
        """Return the ids of the subjects of type ``kind`` that may perform ``action`` on ``resource``.

        Sorted by user name; empty for types whose subjects cannot be listed. Persons count as logged in with
        a password at an unknown time, because a search has no session. Raises ``Unavailable``.
        """
        question = question_by(policy, asking, action, resource)
        if isinstance(question, Answer) or kind not in (questions.USER, questions.IDENTITY):
            return Results([], 0)
        async with self._concurrency.turn(), self._database.snapshot(within=WITHIN) as connection:
            at = Present(from_seconds(self._now()))
            held = await role_holdings.read(connection, at)
            standing = Standing(policy, held.codes, held.users)
            passing, kind_of_account = await self._concurrency.computed(self._passing, standing, question)
            page = part.offset // part.limit + 1 if part.limit else 1
            result = await role_holdings.holders(
                connection,
                passing,
                held.users,
                page=page,
                size=max(1, part.limit),
                total=held.number(passing, kind_of_account),
                kind=kind_of_account,
                at=at,
            )
        users = result.items if part.limit else ()
        ids = [user.user_name if kind == questions.USER else str(user.id) for user in users]
        return Results(ids, result.total)

    def _passing(self, standing: Standing, question: Question) -> tuple[list[Roles], Kind | None]:
        """Return the sets of roles that pass, and the kind of accounts that pass; None for both kinds.

        The authentication of a kind does not depend on roles, so one question decides about the other kind.
        """
        persons = self._having(standing, question, _PERSON)
        if not persons:
            return self._having(standing, question, _SERVICE), "service"
        held = standing.held(persons[0])
        also = self._answers.of(standing.policy, question, held, _SERVICE).allowed
        return persons, None if also else "person"

    def _having(self, standing: Standing, question: Question, satisfied: Satisfied) -> list[Roles]:
        """Return the sets of roles that pass; each relevant choice of codes is decided once."""
        policy, allowed = standing.policy, dict[frozenset[str], bool]()
        decisive = DecisiveCodes(standing.codes, self._answers.codes(policy, question))
        passing = []
        for roles in standing.users:
            held = decisive.of(roles)
            if held not in allowed:
                answer = self._answers.of(policy, question, HeldCodes(held), satisfied)
                allowed[held] = answer.allowed
            if allowed[held]:
                passing.append(roles)
        return passing

    async def resources(
        self, policy: Policy, asking: Caller, subject: Subject, action: str, target: Resource, *, part: Part
    ) -> Results[str]:
        """Return the ids of the resources like ``target`` on which ``subject`` may perform ``action``.

        They have the target's type and service; its id is ignored. Routes are returned as registered.
        """
        caller = await self._caller(policy, subject)
        if caller is None:
            return Results([], 0)
        async with self._concurrency.turn():
            allowed = await self._concurrency.computed(self._allowed, policy, asking, caller, action, target)
        return part.of(allowed)

    def _allowed(
        self, policy: Policy, asking: Caller, caller: Caller, action: str, target: Resource
    ) -> list[str]:
        allowed = []
        for resource_id in dict.fromkeys(_ids(policy, asking, action, target)):
            resource = Resource(target.type, resource_id, target.service)
            question = question_by(policy, asking, action, resource)
            if not isinstance(question, Answer) and self._allows(policy, question, caller):
                allowed.append(resource_id)
        return allowed

    async def actions(
        self, policy: Policy, asking: Caller, subject: Subject, resource: Resource, *, part: Part
    ) -> Results[str]:
        """Return the names of the actions that ``subject`` may perform on ``resource``."""
        caller = await self._caller(policy, subject)
        if caller is None:
            return Results([], 0)
        async with self._concurrency.turn():
            allowed = await self._concurrency.computed(self._performed, policy, asking, caller, resource)
        return part.of(allowed)

    def _performed(self, policy: Policy, asking: Caller, caller: Caller, resource: Resource) -> list[str]:
        asked = {name: question_by(policy, asking, name, resource) for name in _actions(policy, resource)}
        return [
            name
            for name, question in asked.items()
            if not isinstance(question, Answer) and self._allows(policy, question, caller)
        ]

    async def _caller(self, policy: Policy, subject: Subject) -> Caller | None:
        callers: Mapping[Subject, Caller] = await self._subjects.callers([subject], policy.permission_map)
        caller = callers.get(subject)
        return None if codes_asked(caller) is None else caller

    def _allows(self, policy: Policy, question: Question, caller: Caller) -> bool:
        return self._answers.about(policy, question, caller).allowed


def _ids(policy: Policy, asking: Caller, action: str, target: Resource) -> Iterator[str]:
    """Yield the ids of all resources of the type of ``target`` to which ``action`` can apply."""
    if target.type == questions.ROUTE:
        yield from sorted(_routes(policy, action, service_of(target, asking.service)))
    elif target.type == questions.PERMISSION:
        yield from sorted(policy.rules.objects(PERMISSION))
    else:
        for kind, resource_id, name in _codes(policy):
            if (kind, name) == (target.type, action):
                yield resource_id


def _routes(policy: Policy, method: str, service: str) -> Iterator[str]:
    """Yield the registered paths of a service for ``method``, including routes of this service."""
    for layer in (RESOURCE, ENDPOINT):
        for name in policy.rules.objects(layer):
            owner, route = split_object(name)
            registered, _, path = route.partition(" ")
            if owner == service and registered == ("GET" if method == "HEAD" else method):
                yield path


def _actions(policy: Policy, resource: Resource) -> Iterator[str]:
    """Yield the names of all actions that can be performed on ``resource``."""
    if resource.type == questions.ROUTE:
        yield from METHODS
    elif resource.type == questions.PERMISSION:
        yield questions.USE
    else:
        for kind, resource_id, name in _codes(policy):
            if (kind, resource_id) == (resource.type, resource.id):
                yield name


def _codes(policy: Policy) -> Iterator[tuple[str, str, str]]:
    """Yield the parts of all codes with a type, an id and an action."""
    for code in sorted(policy.rules.objects(PERMISSION)):
        parts = code.split(":")
        if len(parts) == _PARTS and "*" not in parts:
            yield parts[0], parts[1], parts[2]
