"""Agents and keys of people stay within their person: the statement, and what it finds."""

import re
from dataclasses import replace
from typing import Any

import pytest

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError, Rule
from service.kernel.codes import BoundedCodes, HeldCodes
from service.laboratory.invariants.checking import check
from service.laboratory.proof import within
from tests.laboratory.invariants.stated import SHIPPED, policy_of, stated
from tests.support.cases import with_each

BOTH = "within_their_person: [agent, key]"
MUTANTS = {
    "a login is not asked for": ('(p.code == "@login" && isLoggedIn(r.caller))', 'p.code == "@login"'),
    "each login holds all": ("|| holdsExactly(r.caller, p.code)", "|| isLoggedIn(r.caller)"),
    "nobody is a login": ('p.code == "@anyone"', 'p.code == "@anyone" || p.code == "@nobody"'),
    "counted lines open": ('p.code == "@anyone"', 'p.code == "@anyone" || p.code == "@counted"'),
    "a code opens to all": ('p.code == "@anyone"', 'p.code == "@anyone" || p.code == "a:b:c"'),
    "a layer opens": ('p.code == "@anyone"', 'p.code == "@anyone" || r.layer == "resource"'),
    "registered lines open": ('p.code == "@anyone"', 'p.code == "@anyone" || p.code == "@registered"'),
}
NARROWER = ("holdsExactly", "holdsEverything", "holdsSubtree", "holdsPattern", "satisfies")


def exceeding(policy: Policy) -> list[str]:
    """Return the names of the callers that exceed their person, and where."""
    return [f"{violation.finding}" for violation in check(stated(BOTH), policy).violations]


def test_no_agent_and_no_key_of_the_shipped_policy_exceeds_its_person() -> None:
    assert exceeding(policy_of()) == []
    for of in ("agent", "key"):
        assert within.model_escapes(SHIPPED.model_text, of, every=True) == ()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_model_that_opens_a_line_without_its_code_is_found(mutant: str) -> None:
    old, new = MUTANTS[mutant]
    text = SHIPPED.model_text.replace(old, new)
    assert text != SHIPPED.model_text
    escaped = {of: within.model_escapes(text, of) for of in ("agent", "key")}
    if mutant == "a login is not asked for":  # a caller with ceilings is logged in: nothing more is opened
        assert escaped == {"agent": (), "key": ()}
    else:
        assert all(escaped.values())


def test_a_model_that_opens_less_lets_no_agent_do_more() -> None:
    for row in NARROWER:
        text = re.sub(rf"    \|\| {row}\(r\.caller, p\.code\) \\\n", "", SHIPPED.model_text)
        assert text != SHIPPED.model_text
        assert within.model_escapes(text, "agent") == within.model_escapes(text, "key") == ()


def test_lines_that_only_a_key_satisfies_are_found() -> None:
    lines = Lines([Rule("assurance", "resource GET /api/role/list", "@personal-key")])
    policy = SHIPPED.policy(lines, {}, 1)
    how = "passes the demand on the authentication, which a login of its person does not"
    assert exceeding(policy) == [
        f"resource GET /api/role/list: an agent that acts for a person {how}",
        f"resource GET /api/role/list: an API key of a person {how}",
    ]


def test_acts_that_a_session_may_not_do_and_other_services_are_found() -> None:
    own = [
        Rule("account", "review by-personal-key", "@login"),
        Rule("account", "review by-session", "system:review:decide"),
        Rule("account", "act-for other-service", "@login"),
    ]
    without = [rule for rule in SHIPPED.accounts if rule.object != "review by-session"]
    policy = replace(SHIPPED, accounts=(*without, *own)).policy(Lines(), {}, 1)
    elsewhere = "acts at services that the delegation does not name"
    act = "may review, which its person in a session may not"
    assert exceeding(policy) == [
        f"review by-personal-key: an agent that acts for a person {act}",
        f"act-for other-service: an agent that acts for a person {elsewhere}",
        f"review by-personal-key: an API key of a person {act}",
    ]


@pytest.mark.parametrize("ignored", range(4))
def test_a_decision_that_forgets_a_party_is_found(ignored: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(BoundedCodes):
        def __init__(self, *parties: Any) -> None:
            super().__init__(*parties)
            asked = [*self.callers]
            asked[ignored : ignored + 1] = [HeldCodes(["*"])]
            self.callers = tuple(asked)

    monkeypatch.setattr(within, "BoundedCodes", Forgetful)
    assert within.model_escapes.__wrapped__(SHIPPED.model_text, "agent")


@with_each("text", ["within_their_person: [person]", "within_their_person: []", f"{BOTH}, reach: [GET /a]"])
def test_the_statement_names_kinds_of_callers_and_nothing_else(text: str) -> None:
    with pytest.raises(PolicyError):
        stated(text)
