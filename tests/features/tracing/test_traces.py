"""The traces of a whole service, as a collector gets them, and the header ``traceparent``."""

import asyncio

import pytest

from service.features.tracing.recorder import trace_parent
from service.records.database.connection import described
from tests.features.metrics.test_metrics import TOKEN, value
from tests.features.tracing.conftest import TRUSTED, asked, of_request
from tests.support.cases import with_each
from tests.support.collector import Collector, named, tree
from tests.support.inside import Inside
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.web.driver import ask

CREDENTIALS = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
BOB = "a-Long-enough-1"


async def test_a_login_is_a_tree_from_the_request_to_the_thread_that_hashes(
    traced: Inside, collector: Collector
) -> None:
    answer = await traced.ask("POST", "/api/auth/login", CREDENTIALS, ("X-Request-Id", "login-1"))
    assert answer.status == 200
    traced.token = answer.json["data"]["accessToken"]  # the session before has ended
    spans = await of_request(collector, "login-1")
    (request,) = tree(spans)
    assert request[0] == "POST /api/auth/login"
    steps = request[1:]
    assert ["decide resource"] in steps
    assert ["decide endpoint"] in steps
    in_order = [
        ["SELECT sys.user"],
        ["verify password", ["Argon2id"]],
        ["SELECT sys.role"],  # the user and the rights, by the deny marker that was read before them
        ["EVALSHA open"],
    ]
    assert [step for step in steps if step in in_order] == in_order
    session = named(spans, "EVALSHA open")
    assert session.kind == "SPAN_KIND_CLIENT"
    assert session.attributes == {
        "db.system.name": "redis",
        "db.operation.name": "EVALSHA",
        "db.stored_procedure.name": "open",
    }


async def test_both_logs_name_the_trace_and_are_searched_by_it(traced: Inside, collector: Collector) -> None:
    answer = await traced.ask("POST", "/api/auth/login", CREDENTIALS, ("X-Request-Id", "login-2"))
    traced.token = answer.json["data"]["accessToken"]
    trace = (await of_request(collector, "login-2"))[-1].trace
    for log in ("operation-log", "login-log"):
        entries: list[dict[str, str]] = []
        for _ in range(200):
            listed = await traced.ask("GET", f"/api/{log}/list?traceId={trace}")
            if entries := listed.json["data"]["items"]:
                break
            await asyncio.sleep(0.05)
        assert {(entry["requestId"], entry["traceId"]) for entry in entries} == {("login-2", trace)}, log
    assert (await traced.ask("GET", "/api/login-log/list?traceId=everything")).status == 422


async def test_a_guarded_read_tells_its_session_both_decisions_and_its_statements(
    traced: Inside, collector: Collector
) -> None:
    answer, spans = await asked(traced, collector, "read-1", "/api/user/1")
    assert answer.status == 200
    assert tree(spans) == [
        [
            "GET /api/user/{id}",
            ["MGET"],
            ["decide resource"],
            ["decide endpoint"],
            ["transaction", ["SELECT sys.user"], ["SELECT sys.user_role"]],
        ]
    ]
    request, decision = named(spans, "GET /api/user/{id}"), named(spans, "decide endpoint")
    assert request.kind == "SPAN_KIND_SERVER"
    assert not request.error
    assert request.attributes == {
        "http.request.method": "GET",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "http.route": "/api/user/{id}",
        "http.response.status_code": 200,
        "portcullis.request_id": "read-1",
    }
    assert decision.attributes["portcullis.decision.object"] == "GET /api/user/{id}"
    assert decision.attributes["portcullis.decision.answer"] == "allow"
    assert str(decision.attributes["portcullis.policy.revision"]) == answer.header("x-policy-revision")
    assert named(spans, "SELECT sys.user").attributes == {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.collection.name": "sys.user",
    }
    assert collector.resources[0]["service.name"] == "gate"
    assert collector.headers[0]["api-key"] == "k-7"


@pytest.fixture(scope="module")
async def auditor(traced: Inside) -> str:
    """The token of a user who may read only."""
    new_user = {"userName": "bob", "nickName": "Bob", "password": BOB, "roleIds": [3]}
    await traced.data("POST", "/api/user", new_user)
    return await traced.log_in("bob", BOB)


async def test_a_denial_tells_the_decision_by_the_id_that_the_problem_has(
    traced: Inside, collector: Collector, auditor: str
) -> None:
    denied = await traced.ask("DELETE", "/api/user/1", None, ("X-Request-Id", "denied-1"), token=auditor)
    spans = await of_request(collector, "denied-1")
    assert denied.status == 403
    decision, request = named(spans, "decide endpoint"), named(spans, "DELETE /api/user/{id}")
    assert decision.attributes["portcullis.decision.answer"] == "deny"
    assert decision.attributes["portcullis.decision.layer"] == "endpoint"
    assert decision.attributes["portcullis.decision.id"] == denied.json["decisionId"]
    assert request.attributes["portcullis.problem"] == "permission_denied"
    assert not request.error  # the conventions blame a server for 5xx only
    assert denied.json["traceId"] == request.trace


async def test_requests_at_the_same_time_do_not_mix_their_spans(traced: Inside, collector: Collector) -> None:
    names = [f"together-{number}" for number in range(12)]
    answered = await asyncio.gather(*(asked(traced, collector, name, "/api/user/1") for name in names))
    assert len({spans[0].trace for _, spans in answered}) == len(names)
    for _, spans in answered:
        (request,) = tree(spans)
        assert sorted(step[0] for step in request[1:]) == sorted(
            ["MGET", "decide resource", "decide endpoint", "transaction"]
        )


async def test_no_secret_and_nothing_that_was_sent_is_in_any_span(
    traced: Inside, collector: Collector
) -> None:
    sent = "Needle-4711"
    await asked(traced, collector, "query-1", f"/api/user/list?userName={sent}&page=1&size=7")
    await traced.ask("GET", f"/api/file/public/{sent}")
    await traced.ask("GET", f"/{sent}", None, ("User-Agent", sent), ("X-Forwarded-For", "203.0.113.9"))
    wrong = {"userName": sent, "password": sent}
    await traced.ask("POST", "/api/auth/login", wrong, ("X-Request-Id", "last-1"))
    await of_request(collector, "last-1")
    everything = b"".join(collector.bodies)
    assert b"query-1" in everything
    for secret in (sent, ADMINISTRATOR_PASSWORD, traced.token, BOB, "203.0.113.9", "192.0.2.7", "\x05admin"):
        assert str(secret).encode() not in everything


@pytest.mark.parametrize("flags", ["01", "03"])
async def test_the_trace_of_a_trusted_peer_is_continued(
    traced: Inside, collector: Collector, flags: str
) -> None:
    sent = f"00-{TRACE}-{PARENT}-{flags}".encode()
    headers = [("Traceparent", sent.decode()), ("X-Request-Id", f"trusted-{flags}")]
    await ask(traced._app, "GET", "/api/user/info", *headers, client=(TRUSTED, 5000))
    spans = await of_request(collector, f"trusted-{flags}")
    request = next(
        span for span in spans if span.attributes.get("portcullis.request_id") == f"trusted-{flags}"
    )
    assert (request.trace, request.parent) == (TRACE, PARENT)


async def test_a_trusted_peer_that_does_not_record_is_followed_and_the_answer_names_its_trace(
    traced: Inside, collector: Collector
) -> None:
    quiet = "ab" * 16
    header = ("Traceparent", f"00-{quiet}-{PARENT}-00")
    answer = await ask(traced._app, "GET", "/api/user/info", header, client=(TRUSTED, 5000))
    assert answer.json["traceId"] == quiet
    await asked(traced, collector, "after-quiet", "/api/user/info")
    assert all(span.trace != quiet for span in collector.spans)


async def test_a_stranger_chooses_neither_the_trace_nor_that_it_is_recorded(
    traced: Inside, collector: Collector
) -> None:
    header = ("Traceparent", f"00-{'cd' * 16}-{PARENT}-00")
    answer = await traced.as_anonymous("GET", "/api/user/info", header, ("X-Request-Id", "stranger-1"))
    (request, *_) = reversed(await of_request(collector, "stranger-1"))
    assert answer.json["traceId"] == request.trace
    assert request.trace != "cd" * 16
    assert request.parent == ""
    assert request.links == ["cd" * 16]


async def test_probes_are_not_traced(traced: Inside, collector: Collector) -> None:
    for path in ("/health/live", "/health/ready"):
        await traced.as_anonymous("GET", path, ("X-Request-Id", "probe-1"))
    await asked(traced, collector, "after-probes", "/api/user/info")
    assert all(span.attributes.get("portcullis.request_id") != "probe-1" for span in collector.spans)


async def test_the_metrics_count_what_was_sent(traced: Inside, collector: Collector) -> None:
    await asked(traced, collector, "counted-1", "/api/user/info")
    text = (await traced.ask("GET", "/metrics", None, token=TOKEN)).body.decode()
    assert value(text, "portcullis_trace_spans_total", outcome="sent") > 0
    assert value(text, "portcullis_trace_spans_total", outcome="dropped") == 0


async def test_an_upload_tells_the_time_of_the_object_store(traced: Inside, collector: Collector) -> None:
    boundary = "b0"
    form = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
        f"Content-Type: text/plain\r\n\r\nhello\r\n--{boundary}--\r\n"
    ).encode()
    kind = ("Content-Type", f"multipart/form-data; boundary={boundary}")
    answer = await traced.ask_raw("POST", "/api/file", form, kind, ("X-Request-Id", "upload-1"))
    assert answer.status == 201, answer.body
    spans = await of_request(collector, "upload-1")
    stored = named(spans, "object store put")
    assert stored.kind == "SPAN_KIND_CLIENT"
    assert stored.parent == spans[-1].id


async def test_grants_and_questions_of_other_services_are_decisions_too(
    traced: Inside, collector: Collector
) -> None:
    new_user = {"userName": "eve", "nickName": "Eve", "password": BOB, "roleIds": [3]}
    await traced.ask("POST", "/api/user", new_user, ("X-Request-Id", "grant-1"))
    grant = named(await of_request(collector, "grant-1"), "decide grant")
    assert int(grant.attributes["portcullis.decision.questions"]) > 0
    question = {
        "subject": {"type": "user", "id": "eve"},
        "action": {"name": "use"},
        "resource": {"type": "permission", "id": "system:user:delete"},
    }
    answer = await traced.ask("POST", "/access/v1/evaluation", question, ("X-Request-Id", "question-1"))
    asked_about = named(await of_request(collector, "question-1"), "decide question")
    assert asked_about.attributes["portcullis.decision.id"] == answer.json["context"]["decisionId"]
    assert asked_about.attributes["portcullis.decision.answer"] == "deny"


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"


def sent(*values: str) -> list[tuple[bytes, bytes]]:
    return [(b"host", b"x"), *((b"traceparent", value.encode("latin-1")) for value in values)]


@with_each(
    ("value", "sampled"),
    [(GOOD, True), (GOOD[:-2] + "00", False), (GOOD[:-2] + "fe", False), ("cc" + GOOD[2:] + "-more", True)],
)
def test_a_well_formed_header_is_read(value: str, sampled: bool) -> None:
    assert trace_parent(sent(value)) == (int(TRACE, 16), int(SPAN, 16), sampled)


@with_each(
    "value",
    [
        "",
        GOOD.upper(),
        GOOD + "-more",
        GOOD + " ",
        GOOD[1:],
        "ff" + GOOD[2:],
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        "cc" + GOOD[2:] + "-" + "x" * 200,
        "cc" + GOOD[2:] + "more",
        GOOD + "\n",
        "\xff" * 55,
    ],
)
def test_any_other_is_ignored(value: str) -> None:
    assert trace_parent(sent(value)) is None


def test_one_that_is_missing_or_repeated_is_ignored() -> None:
    assert trace_parent(sent()) is None
    assert trace_parent(sent(GOOD, GOOD)) is None


@with_each(
    ("statement", "name"),
    [
        ('SELECT sys."user".id FROM sys."user" WHERE sys."user".name = %(n)s', "SELECT sys.user"),
        ("INSERT INTO sys.role (id) VALUES (%(id)s) RETURNING id", "INSERT sys.role"),
        ("UPDATE sys.menu SET name='FROM secret'", "UPDATE sys.menu"),
        ("DELETE FROM sys.user_role WHERE 1=1", "DELETE sys.user_role"),
        ("WITH RECURSIVE t AS (SELECT 1 FROM sys.menu) SELECT * FROM t", "SELECT sys.menu"),
        ("SELECT pg_advisory_xact_lock(%(key)s)", "SELECT"),
        ("SET LOCAL statement_timeout = 9000", "SET"),
        (b"\n  select 1", "SELECT"),
        ("", "STATEMENT"),
    ],
)
def test_statements_are_told_by_verb_and_table(statement: str | bytes, name: str) -> None:
    assert described(statement).name == name
