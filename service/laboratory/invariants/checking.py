"""Check statements against a policy and the holdings of roles and users."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce, singledispatchmethod
from itertools import combinations, product
from typing import TypeVar

from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import by_group, group_of
from service.authz.engine.rules import ASSURANCE, ENDPOINT
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import NO_CODES, HeldCodes
from service.kernel.core_sentences import sentence
from service.laboratory.invariants.spans import ALWAYS, Held, Span, joined, pieces
from service.laboratory.invariants.statements import (
    Apart,
    CodeNeeded,
    CodesLike,
    EndsWithin,
    ExactDemands,
    ExactLines,
    Exactly,
    Invariants,
    OnlyHolders,
    OnlyRoles,
    Statement,
    WithinPerson,
)
from service.laboratory.proof.batch_decider import BatchDecider
from service.laboratory.proof.conditions import Condition, condition_of, line_answers
from service.laboratory.proof.escaping import escaping
from service.laboratory.proof.request_classes import RequestClass, decided_alike, registered, request_classes
from service.laboratory.proof.within import escapes

T = TypeVar("T")
Roles = tuple[str, ...]
"""The codes of the roles of a user, sorted."""


@dataclass(frozen=True, slots=True)
class Holders:
    """The codes that each role gives, and the names of users by their roles, as of ``now``.

    ``changing`` are the users whose roles change by themselves, with their assignments; they are not among
    ``users``.
    """

    codes: Mapping[str, tuple[str, ...]]
    users: Mapping[Roles, tuple[str, ...]] = field(default_factory=dict)
    changing: Mapping[str, tuple[Held, ...]] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)

    def over_time(self) -> Iterator[tuple[tuple[str, ...], list[tuple[Span, Roles]]]]:
        """Yield names of users, with each interval from now on and the roles that they have in it."""
        yield from ((names, [(ALWAYS, roles)]) for roles, names in self.users.items())
        yield from (((name,), list(pieces(held))) for name, held in self.changing.items())


@dataclass(frozen=True, slots=True)
class Violation:
    """A statement that does not hold; ``finding`` names who or what breaks it.

    ``key`` is the same for the same finding about another policy; None for a finding that is new by itself.
    ``span`` is the time for which it is broken.
    """

    statement: Statement
    finding: Sentence
    key: tuple[str, ...] | None = field(repr=False, compare=False, default=None)
    span: Span = field(repr=False, compare=False, default=ALWAYS)

    def __str__(self) -> str:
        return str(self.stated)

    @property
    def stated(self) -> Sentence:
        """Return the statement, the finding and the reason as one sentence."""
        name, reason = self.statement.name, self.statement.reason
        return sentence("invariant_broken", name=name, finding=self.finding, reason=reason)


@dataclass(frozen=True, slots=True)
class Checked:
    """Findings of a check; ``unchecked`` are statements about roles, if no roles are known."""

    violations: tuple[Violation, ...]
    unchecked: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """A policy, by a linted model, and the holders of codes; without ``holders`` no role is known."""

    policy: Policy
    holders: Holders | None = None


def check(invariants: Invariants, policy: Policy, holders: Holders | None = None) -> Checked:
    """Return the statements that ``policy`` breaks, and those that cannot be checked without ``holders``.

    Statements about requests are checked for every request, and those about holders of codes for every
    possible caller.
    """
    asked = _Check(Situation(policy, holders))
    unchecked = tuple(
        statement for statement in invariants.statements if holders is None and _needs_roles(statement)
    )
    checkable = (statement for statement in invariants.statements if statement not in unchecked)
    return Checked(
        tuple(violation for statement in checkable for violation in asked.broken(statement)), unchecked
    )


def newly_broken(invariants: Invariants, before: Situation, after: Situation) -> list[Violation]:
    """Return the ways in which ``after`` breaks statements and ``before`` does not.

    A broken statement may stay broken. It may not break in further requests, by further roles, users or
    possible callers, or earlier or for longer. Statements about requests alone are left out if both policies
    decide all requests alike: then each is broken in both in the same ways.
    """
    alike = before.policy is after.policy or decided_alike(before.policy, after.policy)
    asked = [statement for statement in invariants.statements if _needs_roles(statement) or not alike]
    if not asked:
        return []
    now = _Check(after, before.policy)
    if not (violations := [violation for statement in asked for violation in now.broken(statement)]):
        return []
    earlier = _Check(before, after.policy)
    known: dict[tuple[Statement, tuple[str, ...] | None], list[Span]] = {}
    for statement in {violation.statement for violation in violations}:
        for violation in earlier.broken(statement):
            known.setdefault((statement, violation.key), []).append(violation.span)
    return [
        breach
        for breach in violations
        if breach.key is None
        or not any(span.covers(breach.span) for span in known.get((breach.statement, breach.key), ()))
    ]


def _needs_roles(statement: Statement) -> bool:
    return isinstance(statement, OnlyRoles | Apart | EndsWithin)


class _Check:
    """Checks statements of one situation; ``other`` is the policy of the situation it is compared with.

    Requests are distinguished as in both policies, so that the findings about both have the same names.
    Access of possible callers that ``other`` already opens is no new violation.
    """

    def __init__(self, situation: Situation, other: Policy | None = None) -> None:
        self._policy = situation.policy
        self._decide = BatchDecider(situation.policy)
        self._holders = situation.holders or Holders({})
        self._own = tuple(situation.policy.own)  # many statements read all of these lines
        self._other = other
        self._answers = line_answers(situation.policy.model_text)
        self._routes = list(situation.policy.rules.objects(ENDPOINT))
        self._serving = situation.policy.routes
        mine = registered(situation.policy)
        theirs = mine if other is None else registered(other)
        self._resources, self._differing = by_group(mine | theirs), by_group(mine ^ theirs)
        self._held = {role: HeldCodes(codes) for role, codes in self._holders.codes.items()}

    @singledispatchmethod
    def broken(self, statement: Statement) -> Iterator[Violation]:
        """Yield how a statement does not hold."""
        raise TypeError(type(statement))

    @broken.register
    def _(self, statement: Exactly) -> Iterator[Violation]:
        open_objects = {
            rule.object for rule in self._own if (rule.layer, rule.code) == (statement.layer, statement.word)
        }
        for name in sorted(open_objects.symmetric_difference(statement.objects)):
            is_open = name in open_objects
            finding = sentence("open_but_unlisted" if is_open else "listed_but_closed", object=name)
            yield Violation(statement, finding, (name,))
        for rule in self._own:
            if rule.layer == statement.layer and rule.object in open_objects and rule.code != statement.word:
                yield Violation(
                    statement,
                    sentence("line_beside_opening", line=f"'{rule}'", word=statement.word),
                    (str(rule),),
                )

    @broken.register
    def _(self, statement: ExactLines) -> Iterator[Violation]:
        own_rules = {rule for rule in self._own if rule.layer != ENDPOINT and not rule.code.startswith("@")}
        for rule in sorted(own_rules.symmetric_difference(statement.lines)):
            is_own = rule in own_rules
            finding = sentence("line_unlisted" if is_own else "listed_line_missing", line=f"'{rule}'")
            yield Violation(statement, finding, (str(rule),))

    @broken.register
    def _(self, statement: ExactDemands) -> Iterator[Violation]:
        demanded: dict[str, set[str]] = {}
        for rule in self._own:
            if rule.layer == ASSURANCE and rule.object not in statement.besides:
                demanded.setdefault(rule.object, set()).add(rule.code)
        listed = {name: {*words} for words, names in statement.groups for name in names}
        for name in sorted(demanded.keys() | listed.keys()):
            words, expected = demanded.get(name, set()), listed.get(name, {*statement.others})
            if words != expected:
                demand, known = (_either(sorted(each)) or sentence("no_demand") for each in (words, expected))
                finding = sentence("demand_differs", object=name, demand=demand, listed=known)
                yield Violation(statement, finding, (name,))

    @broken.register
    def _(self, statement: CodesLike) -> Iterator[Violation]:
        codes = {rule.code for rule in self._own if not rule.code.startswith("@")}
        for code in sorted(code for code in codes if not re.fullmatch(statement.pattern, code)):
            finding = sentence("code_of_other_form", code=code, pattern=statement.pattern)
            yield Violation(statement, finding, (code,))

    @broken.register
    def _(self, statement: CodeNeeded) -> Iterator[Violation]:
        excepted = set()
        for name in statement.excepted:
            excepted.update(served := {each.name for each in self._requests(name)})
            if not served:
                yield self._unserved(statement, name)
        routes = [name for name in self._routes if name.partition(" ")[0] in statement.methods]
        for each in self._classes(routes):
            if each.name not in excepted and (who := self._without_codes(each)):
                yield Violation(statement, _sends(who, each), (each.name, str(who)))

    @broken.register
    def _(self, statement: OnlyHolders) -> Iterator[Violation]:
        for name, each in self._named(statement.requests):
            if each is None:
                yield self._unserved(statement, name)
                continue
            allowed = Condition(self._answers, (statement.codes,))
            if self._other is not None:
                # Holders of a code, or callers who could pass before: an "or" of clauses is one "or" in each
                # clause.
                before = condition_of(self._other, each).clauses
                allowed = Condition(self._answers, tuple((*statement.codes, *clause) for clause in before))
            if self._decide.passes_request(each, None):
                yield Violation(statement, sentence("open_to_everyone", request=each.name), (each.name,))
            elif (held := escaping(condition_of(self._policy, each), allowed)) is not None:
                codes = _both(sorted(held))
                holder = sentence("holder_of", codes=codes) if codes else sentence("everyone_logged_in")
                yield Violation(statement, _sends(holder, each))

    @broken.register
    def _(self, statement: OnlyRoles) -> Iterator[Violation]:
        others = [role for role in self._held if role not in statement.roles]
        for name, each in self._named(statement.requests):
            if each is None:
                yield self._unserved(statement, name)
            elif who := self._without_codes(each):
                yield Violation(statement, _sends(who, each), (each.name, str(who)))
            else:
                for roles in self._passing(each, others):
                    subject = sentence("roles_named", count=len(roles), roles=_both(roles))
                    yield Violation(statement, _sends(subject, each), (each.name, *roles))

    @broken.register
    def _(self, statement: WithinPerson) -> Iterator[Violation]:
        for by in statement.callers:
            for name, how in escapes(self._policy, by):
                finding = sentence("exceeds_person", object=name, caller=by, finding=how)
                yield Violation(statement, finding, (by, name, str(how)))

    @broken.register
    def _(self, statement: Apart) -> Iterator[Violation]:
        if statement.among == "roles":
            for role, held in self._held.items():
                if role not in statement.excepted:
                    for pair in self._together(statement, held):
                        finding = sentence("role_holds_both", role=role, codes=_both(pair))
                        yield Violation(statement, finding, (role, *pair))
            return

        def together(roles: Roles) -> Iterator[tuple[str, str]]:
            return self._together(statement, self._joined(roles))

        for name, pair, span, by in self._over_time(statement.excepted, together):
            codes = _both(pair)
            finding = sentence("user_holds_both", user=name, codes=codes, roles=by, **_times(span))
            yield Violation(statement, finding, (name, *pair), span)

    @broken.register
    def _(self, statement: EndsWithin) -> Iterator[Violation]:
        def given(roles: Roles) -> Iterator[Sentence]:
            return self._given(statement, roles)

        for name, each, span, _ in self._over_time(statement.excepted, given):
            begin = span.begin or self._holders.now
            if span.end is None or span.end - begin > timedelta(days=statement.days):
                finding = sentence("user_has_long", user=name, right=each, **_times(span))
                yield Violation(statement, finding, (name, str(each)), span)

    def _over_time(
        self, excepted: tuple[str, ...], given: Callable[[Roles], Iterable[T]]
    ) -> Iterator[tuple[str, T, Span, tuple[str, ...]]]:
        """Yield each user with what ``given`` returns for the roles, in which interval, and by which roles.

        Users are left out while they have one of the roles ``excepted``.
        """
        for names, intervals in self._holders.over_time():
            having: dict[T, list[tuple[Span, Roles]]] = {}
            for span, roles in intervals:
                if set(roles).isdisjoint(excepted):
                    for each in given(roles):
                        having.setdefault(each, []).append((span, roles))
            for each, parts in having.items():
                by = tuple(dict.fromkeys(role for _, roles in parts for role in roles))
                for span, name in product(joined(span for span, _ in parts), names):
                    yield name, each, span, by

    def _given(self, statement: EndsWithin, roles: Roles) -> Iterator[Sentence]:
        """Yield each role and each code of the statement that a user with ``roles`` has, in words."""
        yield from (sentence("role_named", role=role) for role in statement.roles if role in roles)
        if statement.codes:
            held = self._joined(roles)
            opened = (code for code in statement.codes if self._answers.opens(code, held))
            yield from (sentence("code_named", code=code) for code in opened)

    def _named(self, names: Iterable[str]) -> Iterator[tuple[str, RequestClass | None]]:
        """Yield each class of the requests that ``names`` name; None for a name that no route serves."""
        for name in names:
            classes = self._requests(name)
            yield from ((name, each) for each in classes or (None,))

    def _requests(self, name: str) -> list[RequestClass]:
        """Return the classes of requests that ``name`` means: those of a route, else all that fit it."""
        asked_shape = shape(name)
        if route := next((route for route in self._routes if shape(route) == asked_shape), None):
            return list(self._classes([route]))
        return [each for each in self._classes(self._routes, name) if _fits(asked_shape, each)]

    def _classes(self, routes: list[str], *more: str) -> Iterator[RequestClass]:
        groups = set(map(group_of, routes))
        resources, differing = (
            [*more, *(name for group in groups for name in known.get(group, ()))]
            for known in (self._resources, self._differing)
        )
        return request_classes(routes, resources, differing, serving=self._serving)

    def _without_codes(self, each: RequestClass) -> Sentence | None:
        """Return the callers who pass without any code, in words; None for none."""
        if self._decide.passes_request(each, None):
            return sentence("everyone_without_login")
        return sentence("everyone_logged_in") if self._decide.passes_request(each, NO_CODES) else None

    def _passing(self, each: RequestClass, roles: list[str]) -> Iterator[Roles]:
        """Yield each of ``roles`` that passes, and each two that pass only together.

        In a linted model one held code passes a line. So one role passes a layer, and at most two roles are
        needed for both layers.
        """
        passing = {role for role in roles if self._decide.passes_request(each, self._held[role])}
        yield from ((role,) for role in sorted(passing))
        clauses = condition_of(self._policy, each).clauses
        opening = [
            [role for role in roles if role not in passing and self._opens(clause, self._held[role])]
            for clause in clauses
        ]
        yield from sorted({tuple(sorted(pair)) for pair in product(*opening)})

    def _opens(self, clause: Iterable[str], held: HeldCodes) -> bool:
        return any(self._answers.opens(code, held) for code in clause)

    def _together(self, statement: Apart, held: HeldCodes) -> Iterator[tuple[str, str]]:
        return combinations([code for code in statement.codes if self._answers.opens(code, held)], 2)

    def _joined(self, roles: Roles) -> HeldCodes:
        return HeldCodes(code for role in roles for code in self._holders.codes.get(role, ()))

    @staticmethod
    def _unserved(statement: Statement, name: str) -> Violation:
        return Violation(statement, sentence("statement_without_route", request=name), (name,))


def _sends(who: Sentence, each: RequestClass) -> Sentence:
    return sentence("can_send", who=who, request=each.name)


def _both(words: Sequence[str]) -> str:
    return reduce(lambda first, last: sentence("both", first=first, last=last), words) if words else ""


def _either(words: Sequence[str]) -> str:
    return reduce(lambda first, last: sentence("either", first=first, last=last), words) if words else ""


def _times(span: Span) -> dict[str, str]:
    """Return the begin and the end of ``span`` as parameters of a sentence."""
    times = {"begin": span.begin, "end": span.end}
    return {name: "none" if time is None else rfc3339(time) for name, time in times.items()}


def _fits(asked_shape: str, each: RequestClass) -> bool:
    mine = f"{each.route.partition(' ')[0]} {each.path}".split("/")
    return len(mine) == len(theirs := asked_shape.split("/")) and all(
        a in (b, "{}") for a, b in zip(theirs, mine, strict=True)
    )
