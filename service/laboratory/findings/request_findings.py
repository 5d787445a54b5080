"""Lint the rules of requests for access, by their lines and by the persons able to log in."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.rules import APPROVE, ASSURANCE, GRANT, REQUEST, assured
from service.kernel.request_objects import ask, ask_at_once, role_of, stage_for, stages_of, without_grant
from service.kernel.text import counted
from service.laboratory.analysis.demands import meeting
from service.laboratory.analysis.impact import Roles, Standing
from service.laboratory.findings.findings import Finding
from service.laboratory.invariants.checking import Holders, Situation, newly_broken
from service.laboratory.invariants.statements import EndsWithin, Invariants

UNAPPROVABLE: Final = "request-unapprovable"
AGAINST_INVARIANT: Final = "request-against-invariant"
WEAK_EMERGENCY: Final = "emergency-without-two-factors"
ONE_PERSON: Final = "request-approvers-one-person"

CODES: Final = (UNAPPROVABLE, AGAINST_INVARIANT, WEAK_EMERGENCY, ONE_PERSON)
"""The codes of the findings."""


def request_findings(persons: Standing, invariants: Invariants) -> list[Finding]:
    """Return the findings about the requestable roles.

    The users of ``persons`` are the persons able to log in. A role may be requestable by people whom a
    statement excludes. And if each possible author is left out in turn, its stages may lack approvers.
    """
    roles = sorted({role_of(name) for name in persons.policy.rules.objects(REQUEST)})
    return [finding for role in roles for finding in _of_role(persons, invariants, role)]


def _of_role(persons: Standing, invariants: Invariants, role: str) -> Iterator[Finding]:
    policy = persons.policy
    authors = [
        roles for roles in persons.users if policy.judge(REQUEST, ask(role), persons.held(roles)).allowed
    ]
    if short := Approvers.of(persons, role).short(authors):
        yield Finding(UNAPPROVABLE, ask(role), short)
    if broken := _broken(persons, invariants, role, authors):
        yield Finding(AGAINST_INVARIANT, ask(role), broken)
    words = policy.rules.codes(ASSURANCE, assured(REQUEST, ask_at_once(role)))
    if words and not _needs_two_factors(policy, words):
        yield Finding(WEAK_EMERGENCY, ask_at_once(role), "in an emergency, a password alone is enough")


def _needs_two_factors(policy: Policy, words: tuple[str, ...]) -> bool:
    return meeting(policy.model_text, (words,)) <= meeting(policy.model_text, (("@two-factors",),))


@dataclass(frozen=True, slots=True)
class Approvers:
    """Numbers of persons by the stages that their roles approve, and the approvals that each stage needs."""

    takes: dict[int, int]
    stages: dict[Roles, frozenset[int]]
    persons: dict[Roles, int]

    @classmethod
    def of(cls, persons: Standing, role: str) -> "Approvers":
        """Return the approvers of a role that may be asked for."""
        takes = stages_of(persons.policy.rules.objects(APPROVE), role)
        stages = {roles: _stages(persons, role, roles, takes) for roles in persons.users}
        return cls(takes, stages, dict(persons.users))

    @property
    def role_sets(self) -> list[Roles]:
        """The sets of roles whose persons approve any stage."""
        return [roles for roles, stages in self.stages.items() if stages]

    def short(self, authors: list[Roles]) -> str | None:
        """Return for which stages too few persons are left beside one of ``authors``; None if for none.

        Each person counts in one stage. So enough are left exactly if there are as many for each choice of
        stages as these take together (the marriage theorem).
        """
        for author in (None, *authors):
            for size in range(1, len(self.takes) + 1):
                for chosen in combinations(self.takes, size):
                    left = sum(
                        number - (roles == author)
                        for roles, number in self.persons.items()
                        if not self.stages[roles].isdisjoint(chosen)
                    )
                    taken = sum(self.takes[stage] for stage in chosen)
                    if left < taken:
                        named = " and ".join(map(str, chosen))
                        beside = f" beside a person with the roles {' '.join(author)}" if author else ""
                        return (
                            f"stage {named} takes {counted(taken, 'person')}, and {left} can approve{beside}"
                        )
        return None


def _stages(persons: Standing, role: str, roles: Roles, takes: dict[int, int]) -> frozenset[int]:
    """Return the stages that persons with ``roles`` approve: if required, only of grantors of the role."""
    policy, held = persons.policy, persons.held(roles)
    if not policy.judge(APPROVE, without_grant(role), held).allowed and not all(
        policy.judge(GRANT, code, held).allowed for code in persons.codes.get(role, ())
    ):
        return frozenset()
    return frozenset(
        stage for stage in takes if policy.judge(APPROVE, stage_for(role, stage, "others"), held).allowed
    )


def _broken(persons: Standing, invariants: Invariants, role: str, authors: list[Roles]) -> str | None:
    """Return the statement that a grant to one of ``authors`` would break; None if none would.

    The duration of an assignment does not count: a request has an end.
    """
    codes = {each: given for each, given in persons.codes.items() if given}
    before = {roles: (_named(roles),) for roles in authors if role not in roles}
    after: dict[Roles, tuple[str, ...]] = {}
    for roles, names in before.items():
        having = tuple(sorted((*roles, role)))
        after[having] = after.get(having, ()) + names
    situations = [Situation(persons.policy, Holders(codes, users)) for users in (before, after)]
    broken = newly_broken(invariants, *situations)
    return next((str(each) for each in broken if not isinstance(each.statement, EndsWithin)), None)


def _named(roles: Roles) -> str:
    return f"a user with the roles {' '.join(roles)}" if roles else "a user without a role"
