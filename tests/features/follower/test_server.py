"""The process beside a service speaks as the hub does, and says what its answers rest on."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import httpx
import pytest

from service.features.decision_log.decision_event import EvaluationEvent, answered_question, encoded
from service.features.decision_log.event_lines import Line
from service.features.decisions.questions import Asked
from service.features.follower import server
from service.features.follower.following import Follower
from service.features.follower.library import point_of
from service.features.follower.point import AtLeast, DecisionPoint, Evaluated
from service.features.follower.server import PdpApp
from service.features.follower.settings import PdpSettings, PdpSettingsError
from service.kernel.metrics import Sample
from tests.features.follower.conftest import House, OfAnotherHub, log_in
from tests.support.cases import with_each
from tests.support.members import query
from tests.web.driver import Answer

REQUEST_ID = ("X-Request-Id", "same-1")


class Beside:
    """A process beside the service, asked in the test's own process."""

    def __init__(self, house: House, follower: Follower, http: httpx.AsyncClient) -> None:
        self.house = house
        self.follower = follower
        self.http = http

    async def both(self, method: str, path: str, **options: Any) -> tuple[httpx.Response, Any]:
        """Send a request to the process and, with the key of a proxy, to the hub."""
        mine = await self.http.request(method, path, **options)
        headers = [*options.get("headers", []), ("X-Portcullis-Key", self.house.evaluator)]
        sent = [(name, value) for name, value in headers]
        theirs = await self.house.hub.as_anonymous(method, path, *sent)
        return mine, theirs

    async def both_raw(
        self, path: str, raw: bytes, *headers: tuple[str, str]
    ) -> tuple[httpx.Response, Answer]:
        """Send a body as it stands to the process, and to the hub with the key of the account that asks."""
        mine = await self.http.post(path, content=raw, headers=[*headers, REQUEST_ID])
        key = self.house.evaluator
        return mine, await self.house.hub.ask_raw("POST", path, raw, *headers, REQUEST_ID, token=key)


class Events:
    """A decision log in memory."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    @property
    def events(self) -> list[EvaluationEvent]:
        """What was logged."""
        return [event for line in self.lines if (event := answered_question(line)) is not None]

    def keeps(self, *, allowed: bool) -> bool:  # noqa: ARG002 - all are kept
        return True

    def put_lines(self, lines: Sequence[Line]) -> None:
        self.lines += [b"".join(line) for line in lines]

    def samples(self) -> list[Sample]:
        return []


@pytest.fixture(scope="module")
async def beside(house: House) -> AsyncIterator[Beside]:
    hosts = ("localhost", "orders.example")  # Envoy sends that of the original request
    async with house.following(house.evaluator, bound=30.0, hosts=hosts) as follower:
        transport = httpx.ASGITransport(PdpApp(follower))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            yield Beside(house, follower, http)


@pytest.fixture(scope="module")
async def token(house: House) -> str:
    role = await house.role("sender", house.buttons["orders:order:read"])
    await house.user("simon", role)
    return await log_in(house.hub, "simon")


QUESTIONS = [
    ({"type": "user", "id": "simon"}, "GET", {"type": "route", "id": "/orders/7"}),
    ({"type": "user", "id": "simon"}, "DELETE", {"type": "route", "id": "/orders/7"}),
    ({"type": "user", "id": "nobody"}, "GET", {"type": "route", "id": "/orders/7"}),
    ({"type": "user", "id": "simon"}, "use", {"type": "permission", "id": "orders:order:write"}),
    ({"type": "user", "id": "simon"}, "read", {"type": "orders", "id": "order"}),
    ({"type": "user", "id": "simon"}, "GET", {"type": "route", "id": "/orders/{id}"}),
    ({"type": "user", "id": "simon"}, "GET", {"type": "route", "id": "//x"}),
    ({"type": "user", "id": "simon"}, "use", {"type": "permission", "id": "system:user:list"}),
    ({"type": "group", "id": "simon"}, "GET", {"type": "route", "id": "/orders/7"}),
]


def route(path: str) -> dict[str, str]:
    return {"type": "route", "id": path}


def body(question: Any) -> dict[str, Any]:
    subject, action, resource = question
    return {"subject": subject, "action": {"name": action}, "resource": resource}


async def test_answers_are_those_of_the_hub_to_the_letter(beside: Beside, token: str) -> None:
    await beside.follower.renew(wait=False)
    questions = [body(question) for question in QUESTIONS]
    questions += [question | {"subject": {"type": "token", "id": token}} for question in questions[:2]]
    hub = beside.house.hub
    for question in questions:
        mine = await beside.http.post("/access/v1/evaluation", json=question)
        theirs = await hub.ask("POST", "/access/v1/evaluation", question, token=beside.house.evaluator)
        assert (mine.status_code, mine.json()) == (theirs.status, theirs.json), question
    for semantic in ("execute_all", "deny_on_first_deny", "permit_on_first_permit"):
        several = {"evaluations": [*questions, {}], "options": {"evaluations_semantic": semantic}}
        for _ in range(2):  # the second time from memory
            mine = await beside.http.post("/access/v1/evaluations", json=several)
            theirs = await hub.ask("POST", "/access/v1/evaluations", several, token=beside.house.evaluator)
            assert mine.json() == theirs.json


async def test_each_answer_says_what_it_rests_on(beside: Beside) -> None:
    answer = await beside.http.post("/access/v1/evaluation", json=body(QUESTIONS[0]))
    assert answer.headers["portcullis-revision"] == str(beside.follower.revision)
    assert int(answer.headers["portcullis-rights"]) == beside.follower.point.state.rights
    assert 0 < int(answer.headers["portcullis-age"]) < 30_000
    assert "portcullis-stale" not in answer.headers


GOOD = json.dumps(body(QUESTIONS[0])).encode()
DEEP = b"[" * 3000 + b"]" * 3000
FAULTY = [
    *(b"", b"[]", b"null", b"{", b"\xff", b'{"subject": 1}', b'{"subject": {"type": "user"}}', GOOD + b"}"),
    *(b"\xef\xbb\xbf" + GOOD, GOOD.decode().encode("utf-16"), GOOD.replace(b"simon", b"a\xff")),
    *(GOOD.replace(b"simon", rb"\ud800"), GOOD[:-1] + b', "context": {"x": NaN}}'),
    *(GOOD[:-1] + b', "context": {"x": %b}}' % deep for deep in (DEEP, b'{"x":' * 3000 + b"1" + b"}" * 3000)),
    *(GOOD[:-1] + b", " + GOOD[1:], GOOD.replace(b'"name"', b'"name": "DELETE", "name"')),
    GOOD[:-1] + b', "context": {"x": 1, "x": 2}}',
]


@pytest.mark.parametrize("path", ["/access/v1/evaluation", "/access/v1/evaluations"])
async def test_a_faulty_question_is_refused_as_by_the_hub(beside: Beside, path: str) -> None:
    sent = [*FAULTY]
    sent += [b'{"evaluations": [%b, %b]}' % (GOOD, faulty) for faulty in FAULTY if faulty]
    sent += [b'{"evaluations": [%b]}' % b", ".join([GOOD] * 1001), b'{"options": {}, "evaluations": 7}']
    statuses = set()
    for raw in sent:
        mine, theirs = await beside.both_raw(path, raw, ("Content-Type", "application/json"))
        assert (mine.status_code, mine.json()) == (theirs.status, theirs.json), raw[:200]
        statuses.add((mine.status_code, mine.json().get("code")))
    # A question of several that only names too little is denied in its place.
    expected = {(400, "bad_request")} | ({(200, None)} if path.endswith("s") else set())
    assert statuses == expected


@with_each(
    "headers",
    [
        [],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "application/json; charset=latin-1")],
        [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
        [("Content-Type", "application/json; charset=utf-8")],
        [("Content-Type", "Application/JSON")],
    ],
)
async def test_a_media_type_is_taken_or_refused_as_by_the_hub(
    beside: Beside, headers: list[tuple[str, str]]
) -> None:
    for path in ("/access/v1/evaluation", "/access/v1/evaluations"):
        mine, theirs = await beside.both_raw(path, GOOD, *headers)
        assert (mine.status_code, mine.json()) == (theirs.status, theirs.json)


async def test_what_is_no_question_is_refused(beside: Beside) -> None:
    assert (await beside.http.get("/access/v1/evaluation")).status_code == 405
    assert (await beside.http.post("/access/v1/search/subject")).status_code == 404


SENT_IDS = [
    [],
    ["r-1"],
    ["any text, with (signs)"],
    ["a" * 64],
    ["a" * 65],
    ["a" * 1025],
    ["pck_1_secret"],
    ["eyJhbGciOi"],
    ["r-1", "r-2"],
]


@with_each("sent", SENT_IDS)
async def test_the_id_of_a_request_returns_and_is_logged_as_at_the_hub(
    beside: Beside, sent: list[str]
) -> None:
    log = Events()
    transport = httpx.ASGITransport(PdpApp(beside.follower, log))
    headers = [("Content-Type", "application/json"), *(("X-Request-ID", value) for value in sent)]
    several = b'{"evaluations": [%b]}' % GOOD
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for path, raw in (
            ("/access/v1/evaluation", GOOD),
            ("/access/v1/evaluations", several),
            ("/access/v1/evaluations", several),  # from memory
            ("/access/v1/evaluation", b"{"),
        ):
            mine = await http.post(path, content=raw, headers=headers)
            theirs = await beside.house.hub.ask_raw("POST", path, raw, *headers, token=beside.house.evaluator)
            returned, hubs = mine.headers["x-request-id"], theirs.header("x-request-id")
            made = re.compile("[0-9a-f]{16}")
            assert returned == hubs or (made.fullmatch(returned) and made.fullmatch(hubs or ""))
            if mine.status_code == 200:
                logged = log.events[-1].request_id
                assert logged in sent or made.fullmatch(logged)
                assert (logged in ("pck_1_secret", "eyJhbGciOi")) is False
            else:
                assert mine.json()["requestId"] in {*sent, returned} or made.fullmatch(
                    mine.json()["requestId"]
                )
    assert len(log.events) == 3


async def test_remembered_answers_are_logged_as_those_that_are_found(beside: Beside) -> None:
    log = Events()
    transport = httpx.ASGITransport(PdpApp(beside.follower, log))
    resources = [
        {"type": "route", "id": path} for path in ("/orders/7", "/orders/{id}", "/none", "/orders/x")
    ]
    resources.append({"type": "permission", "id": "orders:order:read"})
    subjects = [{"type": "user", "id": name} for name in ("olga", "nobody", "admin")]
    asked = [
        {"subject": subject, "action": {"name": "GET"}, "resource": resource}
        for subject in subjects
        for resource in resources
    ]
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for question in asked:
            await http.post("/access/v1/evaluation", json=question, headers={"X-Request-ID": "same"})
        for _ in range(2):
            await http.post(
                "/access/v1/evaluations", json={"evaluations": asked}, headers={"X-Request-ID": "same"}
            )
    lines = [re.sub(rb'"time":"[^"]*"', b"", line) for line in log.lines]
    assert lines[: len(asked)] == lines[len(asked) : 2 * len(asked)] == lines[2 * len(asked) :]
    assert len({(event.outcome, event.reason) for event in log.events}) > 2
    assert all(line == encoded(event) for line, event in zip(log.lines, log.events, strict=True))


async def test_answers_are_remembered_by_what_is_short(
    beside: Beside, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = PdpApp(beside.follower)
    asked: list[Asked] = []
    point = beside.follower.point
    find = point.find

    def find_and_count(question: Asked) -> Evaluated:
        asked.append(question)
        return find(question)

    monkeypatch.setattr(point, "find", find_and_count)

    async def newly_asked(subject: str, action: str, *paths: str, kind: str = "user") -> int:
        """How many of the questions are asked when they are asked again."""
        questions = [body(({"type": kind, "id": subject}, action, route(path))) for path in paths]
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for _ in range(2):
                asked.clear()
                await http.post("/access/v1/evaluations", json={"evaluations": questions})
        return len(asked)

    assert await newly_asked("t" * 2000, "GET", *(f"/orders/{number}" for number in range(50))) == 0
    paths = [f"/orders/{number}" for number in range(50)]
    assert len(token) > 256
    assert await newly_asked(token, "GET", *paths, kind="token") == 0
    assert max(map(len, app._known)) <= 256
    assert {known.asked and known.asked.subject.id for known in app._known.values()} == {""}
    remembered = len(app._known)
    assert await newly_asked("t", "GET", "/orders/" + "7" * 2000) == 1
    assert await newly_asked("t", "G" * 2000, "/orders/7") == 1
    assert len(app._known) == remembered
    monkeypatch.setattr(server, "_MOST_KNOWN", 20_000)
    for number in range(0, 500, 10):
        await newly_asked("t", "GET", *(f"/orders/{each}" for each in range(number, number + 10)))
    assert len(app._known) <= 20_000 / 500 + 10


async def test_a_question_alone_is_remembered_until_something_changes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = await house.role("alone", house.buttons["orders:order:read"])
    user = await house.user("alone", role)
    async with house.follower(house.evaluator, bound=30.0) as follower:
        await follower.renew()
        app, original = PdpApp(follower), follower.point.find
        asked: list[Asked] = []

        def find(question: Asked) -> Evaluated:
            asked.append(question)
            return original(question)

        monkeypatch.setattr(follower.point, "find", find)
        question = body(({"type": "user", "id": "alone"}, "GET", route("/orders/7")))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:

            async def decided(kind: str = "application/json") -> tuple[int, bool | None]:
                headers = {"Content-Type": kind}
                answer = await http.post(
                    "/access/v1/evaluation", content=json.dumps(question), headers=headers
                )
                return answer.status_code, answer.json().get("decision")

            assert [await decided() for _ in range(3)] == [(200, True)] * 3
            assert len(asked) == 1
            assert await decided("text/plain") == (400, None)
            await house.data("PATCH", f"/api/user/{user}", {"roleIds": []})
            await follower.renew(wait=False)
            assert await decided() == (200, False)
            assert len(asked) == 2
        assert [each.value for each in app.samples() if each.name == "portcullis_pdp_answers_total"] == [
            3,
            1,
            0,
        ]


FORWARDED = [
    ("GET", "/orders/7", 200),
    ("DELETE", "/orders/7", 403),
    ("POST", "/orders", 403),
    ("HEAD", "/orders/7", 200),
    ("GET", "/nowhere", 403),
    ("GET", "//orders/7", 400),
    ("get", "/orders/7", 400),
    ("GET", "/orders/7?x=/../y", 200),
]


@with_each("dialect", ["caddy", "traefik", "nginx", "envoy"])
async def test_proxies_are_answered_as_by_the_hub(beside: Beside, token: str, dialect: str) -> None:
    await beside.follower.renew(wait=False)
    names = {"nginx": ("X-Original-Method", "X-Original-URI", "X-Original-Host")}.get(
        dialect, ("X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host")
    )
    for method, target, status in FORWARDED:
        path = f"/access/v1/forward/{dialect}/orders"
        headers = list(zip(names, (method, target, "orders.example"), strict=True))
        if dialect == "envoy":
            path, headers = path + target, [("Host", "orders.example")]
        asking = method if dialect == "envoy" else "GET"
        if dialect == "envoy" and method == "get":
            continue  # no client sends it
        for credentials in ([], [("Authorization", f"Bearer {token}")], [("Authorization", "Bearer x.y.z")]):
            mine, theirs = await beside.both(asking, path, headers=[*headers, *credentials])
            assert mine.status_code == theirs.status, (method, target, credentials)
            if credentials and credentials[0][1].endswith(token):
                assert mine.status_code == status, target
            if mine.status_code == 200:
                for name in ("user", "user-id", "roles", "decision"):
                    assert mine.headers[f"x-portcullis-{name}"] == theirs.header(f"x-portcullis-{name}")
            elif theirs.body:
                ours, hubs = mine.json(), theirs.json
                for each in (ours, hubs):
                    each.pop("requestId")
                assert ours == hubs
        forged = [*headers, ("X_Portcullis_User", "root")]
        assert (await beside.http.request(asking, path, headers=forged)).status_code == 400


async def test_a_client_of_a_proxy_can_not_make_it_wait(beside: Beside, token: str) -> None:
    await beside.follower.renew(wait=False)
    headers = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/orders/7", "X-Forwarded-Host": "x"}
    headers["Authorization"] = f"Bearer {token}"
    for demanded in ("revision=1000000", "rights=9000000000", "x"):
        async with asyncio.timeout(beside.follower.point.lease.bound / 2):
            answer = await beside.http.get(
                "/access/v1/forward/caddy/orders", headers=headers | {"Portcullis-At-Least": demanded}
            )
        assert answer.status_code == 200


async def test_a_service_that_is_not_followed_is_refused(beside: Beside) -> None:
    headers = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/", "X-Forwarded-Host": "x"}
    answer = await beside.http.get("/access/v1/forward/caddy/stock", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "proxy_refused")
    assert (await beside.http.get("/access/v1/forward/apache/orders", headers=headers)).status_code == 404


async def test_without_a_lease_questions_are_denied_and_proxies_told_503(house: House, token: str) -> None:
    async with (
        house.follower(house.evaluator) as follower,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(PdpApp(follower)), base_url="http://localhost"
        ) as http,
    ):
        headers = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/orders/7", "X-Forwarded-Host": "x"}
        headers["Authorization"] = f"Bearer {token}"

        async def asked() -> tuple[bool, str, int, int]:
            answer = (await http.post("/access/v1/evaluation", json=body(QUESTIONS[0]))).json()
            several = (
                await http.post("/access/v1/evaluations", json={"evaluations": [body(QUESTIONS[0])]})
            ).json()
            assert several["evaluations"] == [answer]
            forwarded = await http.get("/access/v1/forward/caddy/orders", headers=headers)
            ready = await http.get("/health/ready")
            return (
                answer["decision"],
                answer["context"]["reason"],
                forwarded.status_code,
                ready.status_code,
            )

        assert await asked() == (False, "stale", 503, 503)
        await follower.renew()
        assert await asked() == (True, "opened", 200, 200)
        follower.point.lease.give_up()
        assert await asked() == (False, "stale", 503, 503)
        marked = await http.post("/access/v1/evaluation", json=body(QUESTIONS[0]))
        assert marked.headers["portcullis-stale"] == "true"
        follower.point.last_known = True
        assert await asked() == (True, "opened", 200, 503)


async def test_a_question_may_demand_what_the_answer_knows(house: House) -> None:
    role = await house.role("demanded", house.buttons["orders:order:read"])
    user = await house.user("dora")
    question = body(({"type": "user", "id": "dora"}, "GET", {"type": "route", "id": "/orders/7"}))
    async with (
        house.following(house.evaluator) as follower,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(PdpApp(follower)), base_url="http://localhost"
        ) as http,
    ):
        for given in ([role], [], [role]):
            answer = await house.hub.ask("PATCH", f"/api/user/{user}", {"roleIds": given})
            number = answer.header("portcullis-rights")
            headers = {"Portcullis-At-Least": f"rights={number}, revision=1"}
            answered = await http.post("/access/v1/evaluation", json=question, headers=headers)
            assert answered.json()["decision"] is bool(given)
        far = {"Portcullis-At-Least": "revision=1000000"}
        assert (await http.post("/access/v1/evaluation", json=question, headers=far)).status_code == 503
        for wrong in (
            *(["x"], ["revision=-1"], ["revision=1,x=2"], ["rights="]),
            *(["revision=1000000, revision=1"], ["revision=1000000", "revision=1"], ["rights=1,rights=1"]),
        ):
            demanded = [("Portcullis-At-Least", value) for value in wrong]
            refused = await http.post("/access/v1/evaluation", json=question, headers=demanded)
            assert refused.status_code == 400, wrong
        both = [("Portcullis-At-Least", "revision=1"), ("Portcullis-At-Least", f"rights={number}")]
        assert (await http.post("/access/v1/evaluation", json=question, headers=both)).status_code == 200


@with_each(
    ("listen", "hosts", "answered", "refused"),
    [
        (
            "127.0.0.1:8181",
            (),
            ["127.0.0.1:8181", "localhost", "LOCALHOST:1", "[::1]:8181"],
            ["evil.example"],
        ),
        ("127.0.0.9:8181", (), ["127.0.0.9"], ["127.0.0.8", "", "localhost.evil.example", "a:b:c"]),
        ("./socket", (), ["anything", "x:1"], []),
        ("./socket", ("orders.example",), ["orders.example", "Orders.Example:443"], ["localhost", "x"]),
    ],
)
async def test_it_answers_only_the_hosts_it_is_configured_for(
    house: House, listen: str, hosts: tuple[str, ...], answered: list[str], refused: list[str]
) -> None:
    async with house.follower(listen=listen, hosts=hosts) as follower:
        transport = httpx.ASGITransport(PdpApp(follower))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for host, statuses in [
                *((each, (200,)) for each in answered),
                *((each, (400,)) for each in refused),
            ]:
                answer = await http.get("/health/live", headers={"Host": host})
                assert answer.status_code in statuses, host


async def test_metrics_are_told(beside: Beside) -> None:
    text = (await beside.http.get("/metrics")).text
    assert "portcullis_pdp_lease 1" in text
    assert 'portcullis_pdp_answers_total{outcome="allow"}' in text


WRONG: list[dict[str, Any]] = [
    *({"listen": place} for place in ("0.0.0.0:8181", "192.168.1.1:80", "[::]:80", "x", "127.0.0.1:x")),
    *({"services": names} for names in ((), ("Orders",), ("portcullis",))),
    *({"bound": seconds} for seconds in (0.0, 61.0)),
    *({"hub": "ftp://hub"}, {"name": "a b"}, {"stale": "allow"}, {"decision_log_allows": 2.0}),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_settings_that_can_not_work_are_refused(tmp_path: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(PdpSettingsError):
        PdpSettings(**{"hub": "http://hub", "key_file": tmp_path / "key", "services": ("orders",)} | wrong)


@pytest.mark.parametrize("how", ["rules", "time", "account"])
async def test_a_batch_is_answered_anew_after_other_rules_another_time_and_other_rights_of_who_asks(
    house: House, token: str, how: str
) -> None:
    settings, transport = house.settings(house.evaluator, bound=30.0), OfAnotherHub(house.transport)
    async with Follower(settings, point_of(settings), transport) as follower:
        ask = asking(follower, token)
        await follower.renew()
        assert [await ask() for _ in range(2)] == ["opened", "opened"]
        if how == "rules":
            transport.issuer = "somebody else"
        elif how == "time":
            transport.later = 7201.0  # it has expired by the hub's time
        else:
            transport.bound_to = "stock"
        await follower.renew(wait=False)
        assert await ask() == ("other_service" if how == "account" else "subject_not_active")


async def test_a_token_whose_time_has_not_come_is_looked_at_again(house: House, token: str) -> None:
    settings, transport = house.settings(house.evaluator, bound=30.0), OfAnotherHub(house.transport)
    since_boot, transport.time = 1000.0, time.time()
    async with Follower(settings, point_of(settings), transport) as follower:
        follower.point = DecisionPoint(("orders",), bound=30.0, clock=lambda: since_boot)
        ask = asking(follower, token)
        transport.later = -3600.0
        await follower.renew()
        assert await ask() == "subject_not_active"
        since_boot, transport.later = since_boot + 3600, 0.0
        await follower.renew(wait=False)
        assert await ask() == "opened"


def asking(follower: Follower, token: str) -> Callable[[], Awaitable[str]]:
    """Return what asks in a batch whether a token opens an order, and returns the reason."""
    http = httpx.AsyncClient(transport=httpx.ASGITransport(PdpApp(follower)), base_url="http://localhost")
    question = body(({"type": "token", "id": token}, "GET", {"type": "route", "id": "/orders/7"}))

    async def ask() -> str:
        answer = await http.post("/access/v1/evaluations", json={"evaluations": [question]})
        return str(answer.json()["evaluations"][0]["context"]["reason"])

    return ask


async def test_a_question_is_answered_once_its_write_is_known_though_nothing_has_changed(
    house: House,
) -> None:
    async with house.follower(bound=30.0) as follower:
        await follower.renew()
        ((number,),) = await query(house.hub, "SELECT pg_current_xact_id()::text::bigint")
        waiting = asyncio.create_task(follower.point.wait_for(AtLeast(rights=number)))
        await asyncio.sleep(0)
        assert not waiting.done()
        await follower.renew(wait=False)
        async with asyncio.timeout(10):
            assert await waiting
