"""What every request gets, and what a worker releases at its end."""

import pytest

from service.app import Lifespan
from service.web.messages.context import MAX_USER_AGENT
from service.web.requests.application import Message
from tests.support.cases import with_each
from tests.support.unstarted import unstarted
from tests.web.driver import ask
from tests.web.example_service import example

APP, _ = example()


@with_each(
    ("method", "target", "status"),
    [
        ("GET", "/api/open", 200),
        ("GET", "/api/nothing", 404),
        ("PATCH", "/api/open", 405),
        ("GET", "/api/faulty", 500),
        ("GET", "//api/open", 400),
        ("GET", "/api/echo?page=0", 422),
    ],
)
async def test_every_response_carries_the_common_headers(method: str, target: str, status: int) -> None:
    answer = await ask(APP, method, target)
    assert answer.status == status
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("referrer-policy") == "no-referrer"
    assert answer.header("content-security-policy") == "default-src 'none'; frame-ancestors 'none'"
    assert answer.header("x-request-id")


@pytest.mark.parametrize("sent", ["a", "A.b_c-9", "x" * 64])
async def test_a_good_request_id_is_kept(sent: str) -> None:
    assert (await ask(APP, "GET", "/api/open", ("X-Request-Id", sent))).header("x-request-id") == sent


@with_each("sent", ["", "x" * 65, "a b", "a\r\nX-Evil: 1", "a\n", "é", "a;b", "<b>"])
async def test_any_other_request_id_is_replaced(sent: str) -> None:
    made = (await ask(APP, "GET", "/api/open", ("X-Request-Id", sent))).header("x-request-id")
    assert made
    assert made != sent


async def test_made_request_ids_differ() -> None:
    ids = {(await ask(APP, "GET", "/api/open")).header("x-request-id") for _ in range(100)}
    assert len(ids) == 100


@with_each(
    "path",
    [
        "//api/open",
        "/api//open",
        "/api/open/",
        "/api/./open",
        "/api/x/../open",
        "/api/%6fpen",
        "/api%2fopen",
        "/api/open%00",
        "/api/open%0a",
        "/api/open;a=1",
        "/api/open%3ba=1",
        "/api\\open",
        "/api/open%ff",
        b"/api/open\xff",
        "",
        "api/open",
        "/" + "a" * 3000,
    ],
)
async def test_a_path_with_more_than_one_spelling_is_refused_before_routing(path: str | bytes) -> None:
    answer = await ask(APP, "GET", path)
    assert (answer.status, answer.code) == (400, "bad_request")


async def test_the_router_reads_what_was_checked_whatever_the_server_decoded() -> None:
    answer = await ask(APP, "GET", "/api/open", path="/api/faulty")
    assert (answer.status, answer.json["data"]["caller"]) == (200, "nobody")


@pytest.mark.parametrize(("path", "status"), [("/api/open", 200), ("/api//open", 400), ("/api/ö", 404)])
async def test_without_a_raw_path_the_decoded_one_is_checked(path: str, status: int) -> None:
    assert (await ask(APP, "GET", "/", path=path, raw_path=None)).status == status


async def test_headers_of_a_responder_are_sent_and_add_up() -> None:
    answer = await ask(APP, "GET", "/api/open")
    assert (answer.header("x-one"), answer.header("x-two")) == ("1", "2")


async def test_a_call_knows_its_client() -> None:
    answer = await ask(APP, "GET", "/api/open", ("User-Agent", "x" * 600))
    assert answer.json["data"] == {
        "address": "192.0.2.7",
        "userAgent": "x" * MAX_USER_AGENT,
        "caller": "nobody",
    }


async def test_a_client_without_address_and_user_agent_is_served() -> None:
    answer = await ask(APP, "GET", "/api/open", client=None)
    assert (answer.json["data"]["address"], answer.json["data"]["userAgent"]) == ("", "")


async def test_a_websocket_is_turned_away() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await APP({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close"}]


class Broken(Exception):  # noqa: N818 - of no kind that the service knows
    pass


async def broken() -> None:
    raise Broken


async def test_a_part_that_can_not_end_keeps_no_other_one_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with unstarted() as container:
        ended: list[str] = []

        async def store() -> None:
            ended.append("store")

        async def database() -> None:
            ended.append("database")

        monkeypatch.setattr(container.trail.journal, "finish", broken)
        monkeypatch.setattr(container.parts["export"], "finish", broken)
        monkeypatch.setattr(container.stores.sessions, "close", store)
        monkeypatch.setattr(container.stores.database, "close", database)
        with pytest.raises(Broken):
            await container.close()
        assert ended == ["store", "database"]


async def test_a_start_that_fails_releases_what_it_has_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with unstarted() as container:
        closed: list[bool] = []

        async def close() -> None:
            closed.append(True)

        monkeypatch.setattr(container.stores.clock_watch, "look", broken)
        monkeypatch.setattr(container, "close", close)
        with pytest.raises(Broken):
            await Lifespan(container).process_startup({}, {})
        assert closed == [True]
