"""Questions of the client: what is sent, and that everything but a clean answer is a denial."""

import asyncio
import logging
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location

import httpx
import pytest

from service.features.decisions.client import AsyncPortcullis, Portcullis, Question, Resource, Subject, asking
from service.features.decisions.client.exchange import Kept
from tests.client.decision_points import KEY, URL, Answer, DecisionPoint, decided
from tests.support.cases import with_each

ALICE = Subject.user("alice")
CODE = "orders:order:read"
THREE = [Question(ALICE, "GET", Resource.route(path)) for path in ("/a", "/b", "/c")]


def lost(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("gone")


def refused(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


def slow(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("slow")


NOT_CLEAN: dict[str, Answer] = {
    "text": lambda _: httpx.Response(200, text='{"decision": true}'),
    "no JSON": lambda _: httpx.Response(200, content=b"{", headers={"content-type": "application/json"}),
    "nested too deep": lambda _: httpx.Response(
        200, content=b"[" * 100_000, headers={"content-type": "application/json"}
    ),
    "no decision": lambda _: httpx.Response(200, json={}),
    "a list": lambda _: httpx.Response(200, json=[True]),
    "text for a boolean": lambda _: decided("true"),
    "a number for a boolean": lambda _: decided(1),
    "null": lambda _: decided(None),
    "created": lambda _: httpx.Response(201, json={"decision": True}),
    "redirected": lambda _: httpx.Response(307, headers={"location": "/x"}, json={"decision": True}),
    "key revoked": lambda _: httpx.Response(401, json={"code": "token_invalid", "decision": True}),
    "down": lambda _: httpx.Response(503, json={"decision": True}),
    "lost": lost,
    "refused": refused,
    "slow": slow,
}


@with_each("answer", NOT_CLEAN.values())
async def test_anything_but_a_clean_answer_is_a_denial(answer: Answer) -> None:
    point = DecisionPoint(answer)
    with point.client() as client:
        decision = client.evaluate(ALICE, "GET", Resource.route("/orders/7"))
        assert (decision.allowed, decision.reason) == (False, "unavailable")
        assert not client.check(ALICE, CODE)
        assert not any(client.evaluations(THREE))
    async with point.async_client() as asking:
        assert await asking.evaluate(ALICE, "GET", Resource.route("/orders/7")) == decision
        assert not await asking.check(ALICE, CODE)


async def test_a_question_names_all_that_decides() -> None:
    point = DecisionPoint()
    with point.client(service="orders") as client:
        assert client.evaluate(Subject.identity("7"), "GET", Resource.route("/orders/7"))
        assert client.check(ALICE, CODE)
    assert point.asked == [
        (
            "/access/v1/evaluation",
            {
                "subject": {"type": "identity", "id": "7"},
                "action": {"name": "GET"},
                "resource": {"type": "route", "id": "/orders/7", "properties": {"service": "orders"}},
            },
        ),
        (
            "/access/v1/evaluation",
            {
                "subject": {"type": "user", "id": "alice"},
                "action": {"name": "use"},
                "resource": {"type": "permission", "id": CODE},
            },
        ),
    ]


def test_a_denied_decision_is_false_and_says_why() -> None:
    with DecisionPoint(lambda _: decided(False, "not_held")).client() as client:
        decision = client.evaluate(ALICE, "GET", Resource.route("/orders/7"))
    assert not decision
    assert (decision.reason, decision.revision) == ("not_held", 3)


def in_turn(answers: list[Answer]) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        return answers.pop(0)(request)

    return answer


def several(*allowed: bool) -> Answer:
    return lambda _: httpx.Response(
        200, json={"evaluations": [{"decision": decision} for decision in allowed]}
    )


def test_several_questions_are_answered_in_order() -> None:
    with DecisionPoint(several(True, False, True)).client() as client:
        assert [decision.allowed for decision in client.evaluations(THREE)] == [True, False, True]
        assert client.evaluations([]) == []


def test_an_answer_with_too_few_or_too_many_decisions_denies_all() -> None:
    for count in (0, 2, 4):
        with DecisionPoint(several(*[True] * count)).client() as client:
            assert not any(client.evaluations(THREE))


def test_questions_behind_the_one_that_decides_are_denied() -> None:
    with DecisionPoint(several(True, False)).client() as client:
        decisions = client.evaluations(THREE, "deny_on_first_deny")
        assert [(decision.allowed, decision.reason) for decision in decisions] == [
            (True, ""),
            (False, ""),
            (False, "not_asked"),
        ]
        assert not any(client.evaluations(THREE, "permit_on_first_permit"))  # the last one does not permit


def test_a_lost_connection_is_tried_once_more() -> None:
    answers: list[Answer] = [lost, lambda _: decided(True)]
    with DecisionPoint(in_turn(answers)).client() as client:
        assert client.check(ALICE, CODE)


async def test_a_question_of_the_async_client_ends_in_time() -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        return decided(True)

    async with DecisionPoint().async_client(timeout=0.01) as client:
        client._http._transport = httpx.MockTransport(never)
        assert (await client.evaluate(ALICE, "GET", Resource.route("/a"))).reason == "unavailable"


def test_nothing_is_kept_unless_asked_for() -> None:
    answers = [True, False]
    with DecisionPoint(lambda _: decided(answers.pop(0))).client() as client:
        assert client.check(ALICE, CODE)
        assert not client.check(ALICE, CODE)


def test_kept_decisions_end_after_their_time_and_failures_are_not_kept() -> None:
    answers: list[Answer] = [refused, lambda _: decided(True), lambda _: decided(False)]
    point = DecisionPoint(in_turn(answers))
    now = [100.0]
    with point.client(cache_seconds=5) as client:
        client._kept = Kept(5, lambda: now[0])
        assert not client.check(ALICE, CODE)
        assert client.check(ALICE, CODE)
        now[0] += 4.9
        assert client.check(ALICE, CODE)
        assert len(point.asked) == 2
        now[0] += 0.1
        assert not client.check(ALICE, CODE)


def test_only_questions_without_a_kept_decision_are_sent() -> None:
    point = DecisionPoint(lambda _: decided(False))
    with point.client(cache_seconds=5) as client:
        assert not client.evaluate(ALICE, "GET", Resource.route("/a"))
        point.answer = several(True, True)
        assert [decision.allowed for decision in client.evaluations(THREE)] == [False, True, True]
    assert len(point.asked[1][1]["evaluations"]) == 2


BAD: list[Callable[[], object]] = [
    lambda: DecisionPoint().client(cache_seconds=-1),
    lambda: DecisionPoint().client(cache_seconds=float("inf")),
    lambda: DecisionPoint().client(timeout=0),
    lambda: DecisionPoint().client().evaluations([THREE[0]] * 1001),
    lambda: DecisionPoint().client().evaluations(THREE, "any"),  # type: ignore[arg-type]
]


@with_each("number", range(len(BAD)))
def test_a_bad_value_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r".+"):
        BAD[number]()


@with_each("key", ["", "pck_1\r\nX: y", " pck", "pck_…"])
def test_a_bad_key_is_refused_and_not_repeated(key: str) -> None:
    for kind in Portcullis, AsyncPortcullis:
        with pytest.raises(ValueError, match="API key") as caught:
            kind(URL, key)
        assert "pck" not in str(caught.value)


def test_no_failure_shows_a_token_or_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for answer in NOT_CLEAN.values():
        with DecisionPoint(answer).client() as client:
            client.evaluate(Subject.token("tkn-secret"), "GET", Resource.route("/a"))
    assert "401 token_invalid" in caplog.text
    assert "ConnectError" in caplog.text
    assert "tkn-secret" not in caplog.text
    assert KEY not in caplog.text
    assert "tkn-secret" not in repr(Question(Subject.token("tkn-secret"), "GET", Resource.route("/a")))


def test_the_client_is_imported_where_python_has_no_clocks_of_unix(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"):
        monkeypatch.delattr(time, name, raising=False)
    spec = spec_from_file_location("service.features.decisions.client.asking_anew", asking.__file__)
    assert spec is not None
    assert spec.loader is not None
    anew = module_from_spec(spec)
    spec.loader.exec_module(anew)
    assert anew.since_boot() <= time.monotonic()
