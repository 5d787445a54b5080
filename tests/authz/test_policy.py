import hashlib
import random
from dataclasses import FrozenInstanceError

import pytest

from service.authz.engine import policy as policy_module
from service.authz.engine.enforcer import IndexedEnforcer
from service.authz.engine.policy import Decision, Policy
from service.authz.engine.rules import PolicyError, Rule
from service.kernel.assurance import EVERY_CALLER, WORDS
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from tests.policies.stock import MODEL

pytestmark = pytest.mark.usefixtures("cache_sizes")

TEXT = MODEL.read_text("utf-8")
RULES = (
    Rule("resource", "@unregistered", "@login"),
    Rule("resource", "@no-session", "@anyone"),
    Rule("resource", "GET /api/role/{id}", "system:role:detail"),
    Rule("resource", "GET /api/role/list", "@nobody"),
    Rule("endpoint", "GET /api/role/list", "system:role:list"),
    Rule("endpoint", "GET /api/role/list", "system:user:create"),
)


def caller(*codes: str) -> Caller:
    return Caller(
        user_id=1,
        login_id="1",
        user_name="ann",
        nick_name="Ann",
        device="web",
        roles=(),
        held=HeldCodes(codes),
        issued_at=0.0,
    )


OWN = "5e" * 32


@pytest.fixture
def policy() -> Policy:
    return Policy(TEXT, RULES, {"system:role:list": 0}, 12, own_digest=OWN)


def test_a_decision_says_what_was_asked_and_why(policy: Policy) -> None:
    decision = policy.decide("endpoint", "GET /api/role/list", caller("system:user:create"))

    assert decision.allowed
    assert (decision.layer, decision.object) == ("endpoint", "GET /api/role/list")
    assert decision.line == RULES[5]
    assert decision.required == ("system:role:list", "system:user:create")
    assert decision.revision == 12


def test_a_denial_has_no_line_and_says_which_codes_would_do(policy: Policy) -> None:
    decision = policy.decide("endpoint", "GET /api/role/list", caller("system:role:detail"))

    assert not decision.allowed
    assert decision.line is None
    assert decision.required == ("system:role:list", "system:user:create")


def test_nothing_would_open_what_is_closed_to_everybody_or_has_no_line(policy: Policy) -> None:
    assert policy.decide("resource", "GET /api/role/list", caller("*")).required == ()
    assert policy.decide("endpoint", "GET /api/none", caller("*")).required == ()


def test_a_decision_id_is_made_of_the_revision_and_of_what_was_asked(policy: Policy) -> None:
    decision = policy.decide("endpoint", "GET /api/role/list", caller("b", "a"))
    digest = hashlib.sha256(b"endpoint\nGET /api/role/list\na\nb").hexdigest()

    assert decision.id == f"r12-{OWN[:8]}-{digest[:12]}"


def test_a_decision_id_is_the_same_in_another_process_and_for_another_caller_with_the_same_codes(
    policy: Policy,
) -> None:
    elsewhere = Policy(TEXT, RULES, {"system:role:list": 0}, 12, own_digest=OWN)

    first = policy.decide("endpoint", "GET /api/role/list", caller("a", "b")).id
    second = elsewhere.decide("endpoint", "GET /api/role/list", caller("b", "a")).id

    assert first == second


def test_decision_ids_differ_by_layer_object_codes_revision_and_the_own_part(policy: Policy) -> None:
    later = Policy(TEXT, RULES, {}, 13, own_digest=OWN)
    differing = Policy(TEXT, RULES, {}, 12, own_digest="c" * 64)
    ids = {
        policy.decide("endpoint", "GET /a", caller("a")).id,
        policy.decide("resource", "GET /a", caller("a")).id,
        policy.decide("endpoint", "GET /b", caller("a")).id,
        policy.decide("endpoint", "GET /a", caller("b")).id,
        policy.decide("endpoint", "GET /a", caller()).id,
        policy.decide("endpoint", "GET /a", None).id,
        later.decide("endpoint", "GET /a", caller("a")).id,
        differing.decide("endpoint", "GET /a", caller("a")).id,
    }

    assert len(ids) == 8


def test_a_decision_cannot_be_changed(policy: Policy) -> None:
    decision = policy.decide("endpoint", "GET /api/role/list", caller())

    with pytest.raises(FrozenInstanceError):
        decision.allowed = True  # type: ignore[misc]  # that is what must fail


def test_the_enforcer_is_asked_once_for_a_layer_an_object_and_held_codes(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_module, "MAX_REMEMBERED", 10)
    asked: list[object] = []
    ask = IndexedEnforcer.enforce_ex

    def counting(self: IndexedEnforcer, *request: object) -> tuple[bool, Rule | None]:
        asked.append(request)
        return ask(self, *request)

    monkeypatch.setattr(IndexedEnforcer, "enforce_ex", counting)
    for codes in (("a",), ("a",), ("b", "a"), ("a", "b")):
        policy.decide("endpoint", "GET /api/role/list", caller(*codes))
    policy.decide("endpoint", "GET /api/role/list", None)
    policy.decide("resource", "GET /api/role/list", caller("a"))

    assert len(asked) == 4


def test_no_more_decisions_are_remembered_than_the_limit(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_module, "MAX_REMEMBERED", 10)

    for number in range(100):
        assert not policy.decide("endpoint", "GET /api/role/list", caller(f"a:{number}")).allowed
        assert len(policy._remembered) <= 10

    assert policy.decide("endpoint", "GET /api/role/list", caller("system:role:list")).allowed


def test_a_logged_in_caller_who_holds_nothing_is_not_taken_for_nobody(policy: Policy) -> None:
    assert policy.decide("resource", "@unregistered", caller()).allowed
    assert not policy.decide("resource", "@unregistered", None).allowed
    assert policy.decide("resource", "@unregistered", caller()).allowed


def test_the_object_of_a_request_is_the_most_specific_registered_resource(policy: Policy) -> None:
    assert policy.resource_for("GET", "/api/role/list", caller()) == "GET /api/role/list"
    assert policy.resource_for("GET", "/api/role/7", caller()) == "GET /api/role/{id}"
    assert policy.resource_for("PUT", "/api/role/7", caller()) == "@unregistered"
    assert policy.resource_for("GET", "/api/role", caller()) == "@unregistered"


def test_the_object_of_a_request_without_a_session_is_one_word(policy: Policy) -> None:
    assert policy.resource_for("GET", "/api/role/list", None) == "@no-session"


def test_a_policy_without_lines_denies_everything() -> None:
    empty = Policy(TEXT)

    assert empty.revision == 0
    for who in (None, caller(), caller("*")):
        for layer in ("resource", "endpoint"):
            for name in ("@unregistered", "@no-session", "GET /api/role/list"):
                assert not empty.decide(layer, name, who).allowed


def test_the_permission_map_is_the_revisions(policy: Policy) -> None:
    assert policy.permission_map.decode(policy.permission_map.encode(["system:role:list"])) == {
        "system:role:list"
    }


def test_two_resources_that_fit_the_same_requests_make_no_policy() -> None:
    with pytest.raises(PolicyError, match="match the same requests"):
        Policy(TEXT, [Rule("resource", "GET /x/{a}", "@login"), Rule("resource", "GET /x/{b}", "@nobody")])


def test_the_lines_of_an_object_can_be_asked_for(policy: Policy) -> None:
    assert policy.rules.of("endpoint", "GET /api/role/list") == RULES[4:]


def test_a_remembered_admission_is_what_the_three_questions_give(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(52)
    words = ("@anyone", "@login", "@nobody", "a", "b")
    objects = [f"GET /{number}" for number in range(6)]
    rules = {
        *(Rule(layer, name, chance.choice(words)) for layer in ("resource", "endpoint") for name in objects),
        *(
            Rule("assurance", f"{layer} {name}", chance.choice(("@anyone", "@login", *WORDS)))
            for layer in ("resource", "endpoint")
            for name in objects
        ),
    }
    policy = Policy(TEXT, rules)
    asked = [
        (
            (chance.choice(objects), chance.choice(objects), chance.choice(held), chance.choice(satisfied)),
            chance.choice([None, "edit self", "edit others"]),
        )
        for held in [(None, HeldCodes(), HeldCodes(["a"]), HeldCodes(["*"]))]
        for satisfied in [(None, *EVERY_CALLER)]
        for _ in range(2_000)
    ]

    def facts(decision: Decision | None) -> object:
        return None if decision is None else (decision.layer, decision.object, decision.line, decision.id)

    seen = set()
    for (resource, endpoint, codes, met), use in asked:
        admission = policy.judge_admission(resource, endpoint, codes, met, key_use=use)
        opened = policy.judge("resource", resource, codes)
        decision = policy.judge("endpoint", endpoint, codes) if opened.allowed else None
        demand = None
        if decision is not None and decision.allowed:
            demand = policy.judge_assurance(resource, endpoint, met)
        used = policy.judge("account", use, codes) if use and demand is not None and demand.allowed else None
        asked_alone = (opened, decision, demand, used)
        assert [facts(each) for each in admission] == [facts(each) for each in asked_alone]
        seen.add((opened.allowed, decision and decision.allowed, demand and demand.allowed))
    assert len(seen) == 4  # a denial by each of the three, and an admission
    monkeypatch.setattr(IndexedEnforcer, "enforce_ex", None)  # nobody is asked again
    if policy_module.MAX_REMEMBERED >= 10_000:
        question, use = asked[0]
        admissions = [policy.judge_admission(*question, key_use=use) for _ in range(2)]
        assert admissions[0] is admissions[1]
