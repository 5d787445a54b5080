"""What the enforcer is asked, by an action and a resource, and what it answers about templates."""

import asyncio
import time
from dataclasses import replace
from itertools import product
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, ASSURANCE, ENDPOINT, PERMISSION, RESOURCE, SERVICE, Rule
from service.features.decisions import messages
from service.features.decisions.evaluator import Evaluator, Posed
from service.features.decisions.questions import (
    Asked,
    Resource,
    Subject,
    action_and_resource,
    question_by,
    question_of,
)
from service.kernel.assurance import BY_STRONGEST, LOGIN, Satisfied
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.laboratory.analysis.answers import (
    MOST_PATHS,
    Answer,
    Answers,
    Question,
    RequestsTo,
    RequestTo,
    Templates,
    Unanswerable,
    UseOf,
)
from tests.policies.stock import MODEL
from tests.support.cases import with_each
from tests.support.demands import undemanding
from tests.support.unstarted import SHIPPED


@with_each(
    ("action", "resource", "bound_to", "question"),
    [
        ("read", Resource("record", "record-1"), None, UseOf("record:record-1:read")),
        ("anything", Resource("permission", "orders:order:read"), None, UseOf("orders:order:read")),
        ("read", Resource("permission", "system:*"), None, UseOf("system:*")),
        ("read", Resource("record", "a:b"), None, "no_code"),
        ("read", Resource("record", "*"), None, "no_code"),
        ("*", Resource("record", "a"), None, "no_code"),
        ("read", Resource("@login", "a"), None, "no_code"),
        ("read", Resource("record", "A"), None, "no_code"),
        ("read", Resource("record", ""), None, "no_code"),
        ("read", Resource("record", "a\n"), None, "no_code"),
        ("read", Resource("record", "a" * 128), None, "no_code"),
        ("read", Resource("permission", "@login"), None, "no_code"),
        ("GET", Resource("route", "/api/x"), None, RequestTo("portcullis", "GET", "/api/x")),
        ("GET", Resource("route", "/x", "orders"), None, RequestTo("orders", "GET", "/x")),
        ("GET", Resource("route", "/x"), "orders", RequestTo("orders", "GET", "/x")),
        ("GET", Resource("route", "/x", "orders"), "orders", RequestTo("orders", "GET", "/x")),
        ("GET", Resource("route", "/x", "Orders"), None, "unknown_service"),
        ("GET", Resource("route", "/x", ""), None, "unknown_service"),
        ("GET", Resource("route", "/x", ""), "orders", "unknown_service"),
        ("GET", Resource("route", "/x/", "orders"), None, RequestTo("orders", "GET", "/x/")),
        ("GET", Resource("route", "/x/"), None, "not_canonical"),
        ("GET", Resource("route", "//x", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "/x/../y", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "/x?y", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "/%78", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "x", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "/x/{id}", "orders"), None, RequestsTo("orders", "GET", "/x/{id}")),
        ("GET", Resource("route", "/x/{id}/", "orders"), None, RequestsTo("orders", "GET", "/x/{id}/")),
        ("GET", Resource("route", "/x/{id}y", "orders"), None, "not_canonical"),
        ("GET", Resource("route", "/x/{}", "orders"), None, "not_canonical"),
    ],
)
def test_a_question_names_one_object_or_is_not_answerable(
    action: str, resource: Resource, bound_to: str | None, question: Question | Unanswerable
) -> None:
    assert question_of(action, resource, bound_to) == question


@with_each(
    ("action", "resource", "is_own"),
    [
        ("GET", Resource("route", "/x"), True),
        ("GET", Resource("route", "/x", "orders"), True),
        ("GET", Resource("route", "/x/{id}", "orders"), True),
        ("GET", Resource("route", "/x", "portcullis"), False),
        ("GET", Resource("route", "/x", "shop"), False),
        ("read", Resource("permission", "orders:order:read"), True),
        ("read", Resource("permission", "orders:*"), True),
        ("read", Resource("permission", "orders"), False),
        ("read", Resource("permission", "orders-2:order:read"), False),
        ("read", Resource("permission", "*"), False),
        ("read", Resource("permission", "*:order:read"), False),
        ("read", Resource("record", "record-1"), False),
        ("read", Resource("orders", "order"), True),
    ],
)
def test_about_which_service_an_account_asks_is_decided_by_a_line(
    action: str, resource: Resource, *, is_own: bool
) -> None:
    bound, free = gateway("orders"), gateway(None)
    assert isinstance(question_by(POLICY, free, action, resource), Question)
    outcome = question_by(POLICY, bound, action, resource)
    if is_own:
        assert isinstance(outcome, Question)
    else:
        assert isinstance(outcome, Answer)
        assert (outcome.allowed, outcome.reason) == (False, "other_service")
        assert outcome.decision == POLICY.judge(ACCOUNT, "evaluate other-service", bound.held)
    opened = Policy(MODEL.read_text("utf-8"), [*LINES, Rule(ACCOUNT, "evaluate other-service", "system:all")])
    bound_to_more = gateway("orders", "system:all")
    assert isinstance(question_by(opened, bound_to_more, action, resource), Question)


def test_without_a_line_nobody_asks_about_anything() -> None:
    closed = Policy(MODEL.read_text("utf-8"), [line for line in LINES if line.layer != ACCOUNT])
    for service in (None, "orders"):
        outcome = question_by(closed, gateway(service, "*"), "GET", Resource("route", "/x"))
        assert isinstance(outcome, Answer)


def gateway(service: str | None, *codes: str) -> Caller:
    return Caller(5, "5", "gateway", "Gateway", "key:1", (), HeldCodes(codes), 0.0, "service", service, 1)


LINES = [
    *SHIPPED.accounts,
    Rule(SERVICE, "orders", "@nobody"),
    Rule(RESOURCE, "orders GET /orders/{id}", "orders:order:read"),
    Rule(RESOURCE, "orders GET /orders/new", "orders:order:create"),
    Rule(RESOURCE, "orders GET /open/{id}", "@login"),
    Rule(RESOURCE, "orders GET /{any}/{id}", "orders:any:read"),
    Rule(SERVICE, "shop", "@ignore-case"),
    Rule(RESOURCE, "shop GET /Items/{id}", "shop:item:read"),
    Rule(RESOURCE, "shop GET /items/New", "shop:item:create"),
    Rule(PERMISSION, "orders:order:read", "orders:order:read"),
    Rule(RESOURCE, "@unregistered", "@login"),
    Rule(RESOURCE, "GET /api/role/7", "role:seven"),
    Rule(ENDPOINT, "GET /api/role/{id}", "role:read"),
    Rule(ENDPOINT, "GET /api/role/list", "role:list"),
    Rule(ENDPOINT, "GET /api/open", "@anyone"),
]
POLICY = Policy(MODEL.read_text("utf-8"), undemanding(LINES), revision=7)
BY_PASSWORD = BY_STRONGEST[LOGIN]


def allows(question: Question, *held: str) -> bool:
    return Answers().of(POLICY, question, HeldCodes(held), BY_PASSWORD).allowed


@with_each(
    ("template", "held", "allowed"),
    [
        ("/orders/{id}", ["orders:order:read"], False),  # /orders/new is another resource
        ("/orders/{id}", ["orders:order:create"], False),
        ("/orders/{id}", ["orders:order:read", "orders:order:create"], True),
        ("/orders/{number}", ["orders:*"], True),
        ("/open/{id}", [], True),
        ("/{a}/{b}", ["orders:any:read"], False),
        ("/{a}/{b}", ["orders:*"], True),
        ("/orders/new/{x}", ["*"], False),  # nothing is registered, and nothing opened
        ("/{a}", ["*"], False),
    ],
)
def test_a_template_is_allowed_if_each_request_that_fits_it_is(
    template: str, held: list[str], allowed: bool
) -> None:
    assert allows(RequestsTo("orders", "GET", template), *held) is allowed


def test_a_template_says_what_all_its_requests_say_together() -> None:
    values = ("new", "7", "open", "orders", "other")
    codes = ["orders:order:read", "orders:order:create", "orders:any:read"]
    for template in ("/orders/{a}", "/{a}/new", "/{a}/{b}", "/open/{b}"):
        paths = {template.replace("{a}", first).replace("{b}", two) for first, two in product(values, values)}
        for chosen in product([False, True], repeat=3):
            held = [code for code, has in zip(codes, chosen, strict=True) if has]
            each = all(allows(RequestTo("orders", "GET", path), *held) for path in paths)
            assert allows(RequestsTo("orders", "GET", template), *held) is each, (template, held)


def test_a_template_is_read_as_the_router_of_its_service_reads_it() -> None:
    for template in ("/items/{id}", "/ITEMS/{id}"):
        assert not allows(RequestsTo("shop", "GET", template), "shop:item:read")
        assert allows(RequestsTo("shop", "GET", template), "shop:*")
        assert allows(RequestsTo("shop", "HEAD", template), "shop:*")
        assert not allows(RequestsTo("shop", "POST", template), "*")
    assert not allows(RequestsTo("nowhere", "GET", "/items/{id}"), "*")


@with_each(
    ("template", "held", "allowed"),
    [
        ("/api/role/{id}", ["role:read"], False),  # also takes role 7 and the list
        ("/api/role/{id}", ["role:read", "role:list"], False),
        ("/api/role/{id}", ["role:*"], True),
        ("/api/{a}", ["*"], False),  # most of them have no route
    ],
)
def test_a_template_of_this_service_passes_both_layers(template: str, held: list[str], allowed: bool) -> None:
    assert allows(RequestsTo("portcullis", "GET", template), *held) is allowed


def test_an_answer_has_its_reason() -> None:
    def reason(question: Question, *held: str) -> str:
        return Answers().of(POLICY, question, HeldCodes(held), BY_PASSWORD).reason

    assert reason(UseOf("orders:order:read"), "orders:*") == "opened"
    assert reason(UseOf("orders:order:read")) == "not_held"
    assert reason(UseOf("orders:order:write"), "*") == "no_line"
    assert reason(RequestTo("orders", "GET", "/orders/7")) == "not_held"
    assert reason(RequestTo("orders", "GET", "/"), "*") == "no_line"
    assert reason(RequestTo("nowhere", "GET", "/"), "*") == "no_line"


DEMANDING = Policy(
    MODEL.read_text("utf-8"),
    [
        Rule(SERVICE, "orders", "@nobody"),
        Rule(RESOURCE, "orders GET /orders/{id}", "orders:read"),
        Rule(RESOURCE, "orders GET /orders/new", "orders:read"),
        Rule(RESOURCE, "orders DELETE /orders/{id}", "orders:read"),
        Rule(ASSURANCE, "resource orders GET /orders/{id}", "@login"),
        Rule(ASSURANCE, "resource orders GET /orders/{id}", "@service"),
        Rule(ASSURANCE, "resource orders GET /orders/new", "@two-factors-within-15m"),
        Rule(ASSURANCE, "resource orders DELETE /orders/{id}", "@service"),
    ],
    revision=7,
)


@with_each(
    ("question", "strongest", "reason"),
    [
        (RequestTo("orders", "GET", "/orders/7"), "@login", "opened"),
        (RequestTo("orders", "GET", "/orders/7"), "@service", "opened"),
        (RequestTo("orders", "GET", "/orders/new"), "@login", "insufficient_user_authentication"),
        (RequestTo("orders", "GET", "/orders/new"), "@two-factors", "insufficient_user_authentication"),
        (RequestTo("orders", "GET", "/orders/new"), "@two-factors-within-15m", "opened"),
        (RequestTo("orders", "GET", "/orders/new"), "@initial", "insufficient_user_authentication"),
        (RequestTo("orders", "GET", "/orders/new"), "@service", "not_held"),  # it logs in nowhere
        (RequestTo("orders", "DELETE", "/orders/7"), "@phishing-resistant", "not_held"),  # no login would do
        (RequestsTo("orders", "GET", "/orders/{id}"), "@login", "insufficient_user_authentication"),
        (RequestsTo("orders", "GET", "/orders/{id}"), "@two-factors-within-15m", "opened"),
    ],
)
def test_the_demand_of_a_resource_is_met_or_told(question: Question, strongest: str, reason: str) -> None:
    answer = Answers().of(DEMANDING, question, HeldCodes(["orders:read"]), BY_STRONGEST[strongest])
    assert (answer.reason, answer.allowed) == (reason, reason == "opened")
    assert answer.decision is not None
    assert answer.decision.layer == ("resource" if reason == "opened" else "assurance")


def test_who_lacks_the_code_is_told_of_no_demand() -> None:
    question = RequestTo("orders", "GET", "/orders/new")
    answer = Answers().of(DEMANDING, question, HeldCodes(["orders:write"]), BY_PASSWORD)
    assert answer.reason == "not_held"
    assert answer.decision is not None
    assert answer.decision.layer == "resource"


def test_templates_are_forgotten_with_their_policy() -> None:
    templates = Templates()
    policy = Policy(MODEL.read_text("utf-8"), LINES, revision=7)
    question = RequestsTo("orders", "GET", "/orders/{id}")

    renamed = RequestsTo("orders", "GET", "/orders/{number}")

    assert templates.paths(policy, question) is templates.paths(policy, renamed)
    assert len(templates.paths(policy, question) or ()) == 2
    del policy
    assert len(templates) == 0


@pytest.mark.parametrize(
    "value", [b"[" * 3000 + b"]" * 3000, b'{"x":' * 3000 + b"1" + b"}" * 3000, b'"\xff"']
)
def test_a_question_of_several_that_can_not_be_read_is_denied_in_its_place(value: bytes) -> None:
    raw = b'{"subject": {"type": "user", "id": "alice", "properties": {"x": %b}}}' % value
    assert messages.question_in(Raw(raw), messages.Question()) is None


def test_templates_are_remembered_while_what_is_asked_is_short() -> None:
    templates = Templates()
    policy = Policy(MODEL.read_text("utf-8"), LINES, revision=7)

    def is_remembered(question: RequestsTo) -> bool:
        first, second = templates.paths(policy, question), templates.paths(policy, question)
        assert first == second
        return first is second

    assert is_remembered(RequestsTo("orders", "GET", "/orders/{id}"))
    assert not is_remembered(RequestsTo("orders", "G" * 2000, "/orders/{id}"))
    assert not is_remembered(RequestsTo("orders", "GET", "/orders/{id}/" + "x" * 1010))


def test_a_template_that_meets_very_many_resources_is_denied_without_asking_about_them() -> None:
    lines = [Rule(RESOURCE, f"orders GET /orders/{n}", "orders:read") for n in range(MOST_PATHS)]
    policy = Policy(MODEL.read_text("utf-8"), [Rule(SERVICE, "orders", "@nobody"), *lines], revision=7)
    asked = []

    def reason(template: str) -> str:
        answer = Answers().of(policy, RequestsTo("orders", "GET", template), HeldCodes(["*"]), None)
        asked.append(answer.decision)
        return answer.reason

    assert reason("/orders/{id}") == reason("/{a}/{b}") == "too_general"
    assert asked == [None, None]
    assert reason("/{a}/7") == "no_line"


class SlowAnswers(Answers):
    def of(
        self, policy: Policy, question: Question, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        time.sleep(0.003)
        return super().of(policy, question, held, satisfied)


class OneSubject:
    async def callers(self, *_: Any) -> dict[Any, Any]:
        return {ALICE: Caller(1, "1", "alice", "", "", (), HeldCodes(()), 0.0)}


ALICE = Subject("user", "alice")


async def test_others_get_turns_while_a_long_list_of_questions_is_answered() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    asking = Caller(2, "2", "gateway", "", "", (), HeldCodes(()), 0.0)
    evaluator = Evaluator(cast(Any, OneSubject()), SlowAnswers())
    task = asyncio.create_task(others())
    asked: list[Posed] = [(ALICE, ("GET", "route", f"/orders/{number}", "orders")) for number in range(5)]
    (answered,) = await evaluator.evaluate(POLICY, asking, asked)
    task.cancel()

    assert [known.answer.reason for known in answered.known] == ["not_held"] * 5
    assert turns >= 5


def test_a_remembered_answer_is_that_of_the_policy_the_codes_and_the_proof_that_are_asked_about() -> None:
    """Answers of one object, asked in turn, equal those of objects that remember nothing."""
    shared = Answers(lambda: 1_000.0)
    demanding = Policy(MODEL.read_text("utf-8"), [*LINES, *_demands("orders GET /orders/{id}")], revision=8)
    closed = Policy(MODEL.read_text("utf-8"), undemanding(LINES[:-3]), revision=9)
    callers = [gateway("orders"), gateway("orders", "orders:order:read"), None]
    asked: list[Question] = [
        RequestTo("orders", "GET", "/orders/7"),
        RequestsTo("orders", "GET", "/orders/{id}"),
        RequestTo("portcullis", "GET", "/api/role/7"),
        UseOf("orders:order:read"),
    ]
    answers = set()
    for policy, question, caller in [*product((POLICY, demanding, closed), asked, callers)] * 2:
        answer = shared.about(policy, question, caller)
        assert answer == Answers(lambda: 1_000.0).about(policy, question, caller)
        answers.add((answer.allowed, answer.reason, answer.used))
    assert len(answers) > 3


def _demands(object_: str) -> list[Rule]:
    return [Rule(ASSURANCE, f"{RESOURCE} {object_}", "@two-factors")]


def test_long_questions_are_not_remembered() -> None:
    answers = Answers()
    for number in range(3):
        answers.about(POLICY, RequestTo("orders", "GET", f"/orders/{number}" + "x" * 2_000), None)
    assert not answers._remembered
    answers.about(POLICY, RequestTo("orders", "GET", "/orders/7"), None)
    assert len(answers._remembered) == 1


PARTS = [
    b"{}",
    b"7",
    b'"x"',
    b'{"resource":{"type":"route","id":"/a"}}',
    b'{"resource":{"type":"route","id":"/a","properties":{"service":"orders"}}}',
    b'{"resource":{"type":"route","id":"/a","properties":{"service":7}}}',
    b'{"resource":{"type":"route","id":7}}',
    b'{"subject":{"type":"user","id":"bob"},"action":{"name":"PUT"},"resource":{"type":"a","id":"b"}}',
    b'{"subject":{"type":"user"}}',
    b'{"action":null}',
]


class Named:
    """Knows subjects by their names."""

    def __init__(self, callers: dict[str, Caller]) -> None:
        self.known = callers

    async def callers(self, subjects: Any, *_: Any) -> dict[Subject, Caller]:
        return {subject: self.known[subject.id] for subject in subjects if subject.id in self.known}

    async def caller(self, subject: Subject, *_: Any) -> Caller | None:
        return self.known.get(subject.id)


async def test_what_an_evaluator_remembers_is_what_it_would_find_for_this_account_policy_and_subject() -> (
    None
):
    """Answers of one object, asked in turn and together, equal those of objects that remember nothing."""
    demanding = Policy(MODEL.read_text("utf-8"), [*LINES, *_demands("orders GET /orders/{id}")], revision=8)
    named = Named({"alice": gateway("orders"), "bob": gateway("orders", "orders:order:read")})
    limited = replace(gateway(None, "system:policy:read"), limited_to_nothing=True)
    asking = [gateway("orders"), gateway("orders", "system:policy:read"), gateway(None), limited]
    shared = Evaluator(cast(Any, named), Answers(lambda: 1_000.0))
    acts = [
        ("GET", "route", "/orders/7", "orders"),
        ("GET", "route", "/orders/7", None),
        ("GET", "route", "/orders/{id}", "orders"),
        ("use", "permission", "orders:order:read", None),
    ]
    posed: list[Posed | None] = [
        (Subject("user", name), act) for name in ("alice", "bob", "eve") for act in acts
    ]
    reasons: set[str] = set()
    for policy, account in [*product((POLICY, demanding), range(len(asking)))] * 2:
        expected = []
        for question in posed:
            assert question is not None
            fresh = Evaluator(cast(Any, named), Answers(lambda: 1_000.0))
            (only,) = (await fresh.evaluate_one(policy, asking[account], question)).known
            expected.append(only.answer)
        together = await shared.evaluate(policy, asking[account], posed)
        together += await shared.evaluate(policy, asking[account], posed)
        assert [each.answer for about in together for each in about.known] == expected * 2
        for each in {id(each): each for about in together for each in about.known}.values():
            each.shown = each.shown or (account, policy)
            assert each.shown == (account, policy), "it was shown to another account"
        reasons |= {answer.reason for answer in expected}
    assert len(reasons) > 3


@given(st.lists(st.sampled_from(PARTS), max_size=4), st.booleans())
def test_several_questions_are_read_as_each_of_them(parts: list[bytes], with_defaults: bool) -> None:
    shared = b'"subject":{"type":"user","id":"alice"},"action":{"name":"GET"},' if with_defaults else b""
    body = msgspec.json.decode(
        b'{%b"evaluations":[%b]}' % (shared, b",".join(parts)), type=messages.Evaluations
    )
    defaults = messages.Question(body.subject, body.action, body.resource)
    each = [messages.question_in(raw, defaults) for raw in body.evaluations]
    posed = messages.posed_in(body)
    assert [
        None if question is None else Asked(question[0], *action_and_resource(question[1]))
        for question in posed
    ] == each
