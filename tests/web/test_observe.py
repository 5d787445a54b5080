import asyncio
import io
import json
import logging
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import NotImplementedHere, Overloaded, Unavailable
from service.kernel.coded_sentences import Sentence
from service.kernel.origin import ORIGIN
from service.web.observability.log_format import configure_logging
from service.web.requests.application import Message
from service.web.requests.middleware import REFUSAL
from tests.web.driver import JSON, ask
from tests.web.example_service import example

NASTY = "a\r\nb\x00\x1b[31m\x7f\x85\x9b\u2028\u202ec\ud800"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave the logging of the process as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


@pytest.fixture
def out() -> io.BytesIO:
    stream = io.BytesIO()
    configure_logging("json", "info", stream)
    return stream


def lines(stream: io.BytesIO) -> list[dict[str, Any]]:
    text = stream.getvalue()
    assert text.isascii()
    assert len(text.splitlines()) == text.count(b"\n")
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_is_json_with_time_level_and_event(out: io.BytesIO) -> None:
    structlog.get_logger().info("started", port=8080)
    (line,) = lines(out)
    assert line.pop("time").endswith("Z")
    assert line == {"event": "started", "level": "info", "port": 8080}


@pytest.mark.parametrize(
    "value", [NASTY, NASTY.encode("utf-8", "replace"), {NASTY: [NASTY]}, object(), None, 1]
)
def test_no_value_starts_a_line_of_its_own(out: io.BytesIO, value: object) -> None:
    structlog.get_logger().warning("nasty", value=value)
    structlog.get_logger().warning(str(value))
    assert len(lines(out)) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters()))
def test_any_text_comes_back_from_its_line(out: io.BytesIO, text: str) -> None:
    out.seek(0)
    out.truncate()
    structlog.get_logger().info("text", value=text)
    (line,) = lines(out)
    assert line["value"] == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters()))
def test_any_text_is_one_readable_line(text: str) -> None:
    stream = io.BytesIO()
    configure_logging("console", "info", stream)
    structlog.get_logger().info(text, value=text, also={"key": text})
    written = stream.getvalue().decode()
    assert written.endswith("\n")
    assert len(written.splitlines()) == 1


def test_a_level_below_the_least_is_not_written(out: io.BytesIO) -> None:
    structlog.get_logger().debug("quiet")
    logging.getLogger("anything").debug("quiet")
    assert lines(out) == []


def test_the_standard_library_writes_through_the_same_processors(out: io.BytesIO) -> None:
    logging.getLogger("uvicorn.error").warning("hello %s", NASTY)
    logging.getLogger("odd").log(35, "between two levels")
    first, second = lines(out)
    assert (first["logger"], first["event"], first["level"]) == ("uvicorn.error", f"hello {NASTY}", "warning")
    assert (second["event"], second["level"]) == ("between two levels", "warning")


def test_an_exception_is_in_its_line(out: io.BytesIO) -> None:
    logging.getLogger("odd").error("failed", exc_info=ValueError(NASTY))
    (line,) = lines(out)
    assert "ValueError" in line["exception"]


def test_a_traceback_for_people_stays_below_its_line() -> None:
    stream = io.BytesIO()
    configure_logging("console", "info", stream)
    error = ValueError("bad\n2026-01-01T00:00:00.000Z [info     ] a forged line\x1b[2K")
    structlog.get_logger().error("failed", exc_info=error)
    first, *others = stream.getvalue().decode().splitlines()
    assert "failed" in first
    assert all(line.startswith("    ") for line in others)
    assert "\x1b" not in "".join(others)


def test_configuring_twice_writes_each_line_once(out: io.BytesIO) -> None:
    configure_logging("json", "info", out)
    logging.getLogger("uvicorn").info("once")
    assert len(lines(out)) == 1


def test_what_is_no_terminal_gets_json() -> None:
    stream = io.BytesIO()
    configure_logging("auto", "info", stream)
    structlog.get_logger().info("started")
    assert lines(stream)[0]["event"] == "started"


async def test_a_request_has_one_line(out: io.BytesIO) -> None:
    app, _ = example()
    await ask(app, "POST", "/api/thing", JSON, ("X-Request-Id", "r-1"), body=b'{"userName":"alice"}')
    (line,) = lines(out)
    assert line.pop("ms") >= 0
    assert line.pop("time")
    assert line == {
        "event": "request",
        "level": "info",
        "request_id": "r-1",
        "method": "POST",
        "path": "/api/thing",
        "status": 201,
        "module": "thing",
        "action": "create",
        "kind": "INSERT",
    }


async def test_what_clients_send_stays_out_of_the_log(out: io.BytesIO) -> None:
    app, _ = example()
    secret = ("Authorization", "Bearer hunter2")
    for target in ("/api/open?token=hunter2", "/hunter2", "/api/hunter2%00", "/api/thing/hunter2"):
        await ask(app, "GET", target, secret, ("Cookie", "hunter2"), ("User-Agent", "hunter2"))
    await ask(app, "POST", "/api/thing", JSON, secret, body=b'{"userName":"hunter2","colour":"hunter2"}')
    assert len(lines(out)) == 5
    assert b"hunter2" not in out.getvalue()


async def test_a_method_of_the_clients_own_making_forges_no_line(out: io.BytesIO) -> None:
    app, _ = example()
    await ask(app, "GET\n{}", "/api/open")
    (line,) = lines(out)
    assert line["status"] == 405


async def test_a_fault_is_logged_with_its_traceback_and_its_request(out: io.BytesIO) -> None:
    app, _ = example()
    answer = await ask(app, "GET", "/api/faulty")
    fault, request = lines(out)
    assert fault["request_id"] == request["request_id"] == answer.header("x-request-id")
    assert (fault["level"], fault["operation"]) == ("error", "GET /api/faulty")
    assert "RuntimeError" in fault["exception"]
    assert (request["level"], request["status"]) == ("error", 500)


async def test_what_is_not_implemented_is_no_fault_of_ours(out: io.BytesIO) -> None:
    app, _ = example()
    refusal: dict[str, Any] = {REFUSAL: NotImplementedHere(Sentence("The coding is not understood"))}
    answer = await ask(app, "POST", "/", **refusal)
    (line,) = lines(out)
    assert (answer.status, line["status"], line["level"]) == (501, 501, "info")


async def test_a_flood_that_is_turned_away_is_no_fault_of_ours(out: io.BytesIO) -> None:
    app, _ = example()
    for refused in (
        Overloaded(Sentence("Too many logins are waiting. Try again")),
        Unavailable(),
    ):
        refusal: dict[str, Any] = {REFUSAL: refused}
        await ask(app, "POST", "/", **refusal)

    assert [(line["status"], line["level"]) for line in lines(out)] == [(503, "info"), (503, "error")]


async def test_outside_a_request_there_is_no_request_id(out: io.BytesIO) -> None:
    app, _ = example()
    await ask(app, "GET", "/api/open")
    assert ORIGIN.get() is None
    structlog.get_logger().info("after")
    assert "request_id" not in lines(out)[-1]


async def test_a_request_that_is_cancelled_has_a_line_without_a_status(out: io.BytesIO) -> None:
    app, _ = example()
    waiting = asyncio.Event()

    async def receive() -> Message:
        waiting.set()
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "PUT", "path": "/api/open", "raw_path": b"/api/open"}
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    serving = asyncio.ensure_future(app({**scope, "query_string": b"", "headers": headers}, receive, send))
    await waiting.wait()
    serving.cancel()
    await asyncio.wait([serving])
    await asyncio.sleep(0)  # its line is written in the next turn of the loop
    (line,) = lines(out)
    assert (line["status"], line["path"]) == (None, "/api/open")


async def test_a_level_above_info_keeps_the_lines_of_faults_alone() -> None:
    stream = io.BytesIO()
    configure_logging("json", "warning", stream)
    app, _ = example()
    await ask(app, "GET", "/api/open")
    await ask(app, "GET", "/api/faulty")
    fault, request = lines(stream)
    assert (fault["event"], request["event"], request["status"]) == ("fault", "request", 500)


async def test_the_line_of_a_request_is_the_same_with_and_without_structlog(out: io.BytesIO) -> None:
    app, _ = example()
    with structlog.testing.capture_logs(processors=[]) as captured:
        through_structlog, _ = example()
        await ask(through_structlog, "POST", "/api/thing", JSON, body=b'{"userName":"twice"}')
    await ask(app, "POST", "/api/thing", JSON, body=b'{"userName":"twice"}')
    ((first,), (second,)) = captured, lines(out)
    varying = {"ms": 0, "time": "", "request_id": ""}
    level = first.pop("log_level")
    assert {**first, "level": level, **varying} == {**second, **varying}


async def test_a_readable_request_line_names_the_request() -> None:
    stream = io.BytesIO()
    configure_logging("console", "info", stream)
    app, _ = example()
    await ask(app, "GET", "/api/thing/404", ("X-Request-Id", "r-1"))
    (line,) = stream.getvalue().decode().splitlines()
    for part in ("request", "r-1", "GET", "/api/thing/{id}", "404"):
        assert part in line


async def test_a_method_that_is_not_ascii_is_escaped(out: io.BytesIO) -> None:
    app, _ = example()
    await ask(app, "G\x9bT", "/api/open")
    (line,) = lines(out)
    assert line["method"] == "G\x9bT"


def test_lines_that_a_full_disk_did_not_take_are_told_at_once_and_counted_afterwards(tmp_path: Path) -> None:
    path, before = tmp_path / "log", resource.getrlimit(resource.RLIMIT_FSIZE)
    reader, writer = os.pipe()  # which no such limit concerns
    kept = os.dup(2)
    with path.open("wb") as stream, os.fdopen(reader, "rb") as errors:
        configure_logging("json", "info", stream)
        log = structlog.get_logger()
        os.dup2(writer, 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            log.info("lost")
            log.info("lost too")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            os.dup2(kept, 2)
            os.close(kept)
            os.close(writer)
        log.info("written")
        assert errors.read() == (
            b"portcullis: the log can't be written: File too large. Lines are lost until there is room\n"
        )
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    assert [line["event"] for line in lines] == ["lines of the log were lost", "written"]
    assert (lines[0]["count"], lines[0]["reason"]) == (2, "File too large")
