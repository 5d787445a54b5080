import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT, Rule
from service.kernel.assurance import BY_STRONGEST, WORDS, Word
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.explain import (
    Explanation,
    Fired,
    Passages,
    explain,
    explain_decided,
    explain_object,
)
from tests.laboratory.proof.small import models
from tests.laboratory.test_passing_classes import HELD as MANY_HELD
from tests.laboratory.test_passing_classes import layers
from tests.policies.stock import MODEL
from tests.support.cases import with_each
from tests.support.demands import undemanding

RULES = [
    Rule("resource", "@unregistered", "@login"),
    Rule("resource", "@no-session", "@anyone"),
    Rule("resource", "GET /api/role/list", "audit:role:read"),
    Rule("resource", "GET /api/user/{id}", "@nobody"),
    Rule("resource", "POST /api/auth/login", "audit:role:read"),
    Rule("endpoint", "GET /api/role/list", "system:role:list"),
    Rule("endpoint", "GET /api/role/list", "system:user:create"),
    Rule("endpoint", "GET /api/user/info", "@login"),
    Rule("endpoint", "GET /api/user/{id}", "system:user:detail"),
    Rule("endpoint", "POST /api/auth/login", "@anyone"),
    Rule("grant", "system:*:list", "system:*:list"),
]
POLICY = Policy(MODEL.read_text("utf-8"), undemanding(RULES), revision=4)


def asked(method: str, path: str, *codes: str) -> Explanation:
    return explain(POLICY, method, path, HeldCodes(codes))


def test_an_allowed_request_names_lines_deciding_line_and_every_held_code_that_fired() -> None:
    explanation = asked("GET", "/api/role/list", "audit:role:read", "system:*", "system:*:create", "other")

    assert explanation.allowed
    assert explanation.resource.line == "p, resource, GET /api/role/list, audit:role:read"
    assert explanation.resource.fired == (Fired("audit:role:read", "holdsExactly"),)
    assert explanation.endpoint is not None
    assert explanation.endpoint.lines == (
        "p, endpoint, GET /api/role/list, system:role:list",
        "p, endpoint, GET /api/role/list, system:user:create",
    )
    assert explanation.endpoint.line == explanation.endpoint.lines[0]
    assert explanation.endpoint.fired == (Fired("system:*", "holdsSubtree"),)
    assert explanation.endpoint.reason == "opened"


def test_a_denial_names_what_would_do_and_its_decision() -> None:
    explanation = asked("GET", "/api/role/list", "system:role:list")

    assert not explanation.allowed
    assert (explanation.resource.reason, explanation.resource.required) == ("not_held", ("audit:role:read",))
    assert (explanation.resource.line, explanation.resource.fired) == (None, ())
    decision = POLICY.judge("resource", "GET /api/role/list", HeldCodes(["system:role:list"]))
    assert explanation.resource.decision_id == decision.id
    assert explanation.endpoint is not None
    assert explanation.endpoint.allowed


def test_a_line_of_a_word_is_opened_by_no_code() -> None:
    explanation = asked("GET", "/api/user/info", "*")

    assert explanation.endpoint is not None
    assert explanation.endpoint.allowed
    assert (explanation.endpoint.line, explanation.endpoint.fired) == (
        "p, endpoint, GET /api/user/info, @login",
        (),
    )


def test_a_closed_object_can_be_opened_by_no_code() -> None:
    explanation = asked("GET", "/api/user/7", "*")

    assert (explanation.resource.reason, explanation.resource.required) == ("closed", ())
    assert explanation.endpoint is not None
    assert explanation.endpoint.fired == (Fired("*", "holdsEverything"),)


def test_without_a_session_the_resource_layer_leaves_it_to_the_endpoint_layer() -> None:
    explanation = explain(POLICY, "GET", "/api/role/list", None)

    assert (explanation.resource.object, explanation.resource.allowed) == ("@no-session", True)
    assert explanation.endpoint is not None
    assert (explanation.endpoint.reason, explanation.endpoint.allowed) == ("not_logged_in", False)


def test_a_public_route_answers_everybody_as_a_caller_without_a_session() -> None:
    explanation = asked("POST", "/api/auth/login", "nothing:of:use")

    assert (explanation.public, explanation.allowed, explanation.resource.object) == (
        True,
        True,
        "@no-session",
    )


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/nothing"), ("DELETE", "/api/role/list")])
def test_a_request_without_a_route_has_no_endpoint_layer(method: str, path: str) -> None:
    explanation = asked(method, path, "*")

    assert explanation.endpoint is None
    assert not explanation.allowed
    assert explanation.resource.object == "@unregistered"


def test_a_layer_without_a_line_says_so() -> None:
    explanation = explain(Policy(MODEL.read_text("utf-8"), RULES[2:]), "GET", "/api/user/info", HeldCodes())

    assert explanation.resource.reason == "closed"
    strict = explain(Policy(MODEL.read_text("utf-8"), RULES[-2:]), "GET", "/api/user/7", HeldCodes())
    assert strict.resource.reason == "no_line"


@with_each(
    ("held", "predicate"),
    [
        ("system:*:list", "holdsExactly"),
        ("*", "holdsEverything"),
        ("system:*", "holdsSubtree"),
        ("*:*:list", "holdsPattern"),
    ],
)
def test_a_grant_names_the_held_code_that_covers_the_granted_one(held: str, predicate: str) -> None:
    explanation = explain_object(POLICY, GRANT, "system:*:list", HeldCodes([held, "system:user:list"]))

    assert (explanation.allowed, explanation.layer.line) == (True, "p, grant, system:*:list, system:*:list")
    assert {fired.code for fired in explanation.layer.fired} == {held}
    assert Fired(held, predicate) in explanation.layer.fired


def test_a_wildcard_is_granted_by_no_code_that_it_covers() -> None:
    explanation = explain_object(
        POLICY, GRANT, "system:*:list", HeldCodes(["system:user:list", "system:role:*"])
    )

    assert (explanation.allowed, explanation.layer.reason) == (False, "not_held")
    assert explanation.layer.required == ("system:*:list",)
    assert explanation.layer.decision_id.startswith("r4-")


def test_a_code_that_no_button_carries_is_granted_by_nobody() -> None:
    explanation = explain_object(POLICY, GRANT, "system:user:list", HeldCodes(["*"]))

    assert (explanation.allowed, explanation.layer.reason, explanation.layer.required) == (
        False,
        "no_line",
        (),
    )


def test_a_visitor_grants_nothing() -> None:
    assert explain_object(POLICY, GRANT, "system:*:list", None).layer.reason == "not_logged_in"


DEMANDING = Policy(
    MODEL.read_text("utf-8"),
    [
        *RULES,
        Rule("assurance", "resource GET /api/role/list", "@two-factors-within-15m"),
        Rule("assurance", "resource GET /api/role/list", "@service"),
        Rule("assurance", "endpoint GET /api/role/list", "@login"),
        Rule("assurance", "endpoint GET /api/role/list", "@service"),
        Rule("assurance", "account set-contact self", "@two-factors"),
    ],
)
HELD = HeldCodes(["*", "audit:role:read"])


@with_each("word", WORDS)
def test_a_request_is_allowed_by_the_codes_and_by_what_the_caller_satisfies(word: Word) -> None:
    explanation = explain(DEMANDING, "GET", "/api/role/list", HELD, satisfied=BY_STRONGEST[word])

    assert explanation.permitted
    assert explanation.allowed == (
        word in ("@two-factors-within-15m", "@phishing-resistant-within-15m", "@service")
    )
    resource, endpoint = explanation.demands
    assert resource.lines == (
        "p, assurance, resource GET /api/role/list, @two-factors-within-15m",
        "p, assurance, resource GET /api/role/list, @service",
    )
    assert resource.allowed == explanation.strong_enough
    assert endpoint.allowed == (word not in ("@anyone", "@initial", "@current-password"))
    assert (endpoint.fired, endpoint.rows) == ((), ("satisfies",) if endpoint.allowed else ())


def test_who_is_asked_about_by_name_is_logged_in_with_a_password() -> None:
    resource, endpoint = explain(DEMANDING, "GET", "/api/role/list", HELD).demands

    assert (resource.allowed, resource.reason, resource.line) == (False, "not_held", None)
    assert endpoint.line == "p, assurance, endpoint GET /api/role/list, @login"


def test_a_refused_demand_is_explained_with_the_words_of_its_decision() -> None:
    late = BY_STRONGEST["@two-factors-within-12h"]
    decision = DEMANDING.judge("assurance", "resource GET /api/role/list", late)
    explanation = explain_decided(
        decision.id,
        lambda satisfied: explain(DEMANDING, "GET", "/api/role/list", HELD, satisfied=satisfied),
        BY_STRONGEST["@login"],
    )

    assert (explanation.satisfied, explanation.demands[0].decision_id) == (late, decision.id)
    account = explain_decided(
        DEMANDING.judge("assurance", "account set-contact self", BY_STRONGEST["@initial"]).id,
        lambda satisfied: explain_object(DEMANDING, "assurance", "account set-contact self", HELD, satisfied),
        BY_STRONGEST["@login"],
    )
    assert (account.satisfied, account.allowed) == (BY_STRONGEST["@initial"], False)


@given(models(), layers, st.none() | st.sets(st.sampled_from(MANY_HELD), max_size=2))
def test_a_list_of_passed_requests_names_the_line_by_which_the_enforcer_decides(
    model_text: str, codes: tuple[str, ...], held: set[str] | None
) -> None:
    policy = Policy(model_text, [Rule("endpoint", "GET /x", code) for code in codes])
    caller = None if held is None else HeldCodes(held)

    (passed,) = Passages(policy, caller).of("endpoint", "GET /x")

    decided = policy.judge("endpoint", "GET /x", caller).line
    assert passed.line == (None if decided is None else str(decided))
