"""How events of the decision log get into a file, also in a whole service, and what happens if they can't."""

import errno
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from service.audit.seals import RevisionSeals
from service.authz.publishing.shipped import read_shipped
from service.features.decision_log import decision_log as module
from service.features.decision_log.appended_file import AppendedFile
from service.features.decision_log.decision_event import DecisionEvent, decoded, encoded
from service.features.decision_log.decision_log import MOST_WAITING, DecisionWriter, output_named
from service.features.decision_log.event_lines import Line
from service.features.export.decisions import decision_log
from service.features.policy_tests.replay import replay
from service.kernel.metrics import Sample
from service.laboratory.analysis.sources import PastPolicies, read_policy, source_named
from service.records.database.transactions import Database
from service.settings import Policy
from tests.features.export.appending import append
from tests.features.metrics.test_metrics import TOKEN, value
from tests.support.forks import forks
from tests.support.inside import all_decisions, inside_published


def event(number: int) -> DecisionEvent:
    """Return an event whose request id is ``number``."""
    return DecisionEvent(
        time="2026-11-22T00:00:00.000Z",
        outcome="deny",
        decision="r1-00000000-000000000000",
        revision=1,
        own_digest="0" * 64,
        request_id=str(number),
        method="GET",
        route="/api/thing",
        layer="endpoint",
        object="GET /api/thing",
    )


def ids(path: Path) -> list[str]:
    """Return the request ids of the events in the file."""
    events = [decoded(line) for line in path.read_bytes().splitlines() if line]
    return [entry.request_id for entry in events if entry is not None]


def line(number: int) -> Line:
    """Return the line of ``event`` in parts."""
    before, name, after = encoded(event(number)).partition(b'"request_id"')
    return before, name, after


class Broken:
    """An output that takes nothing until it is mended."""

    def __init__(self) -> None:
        self.asked, self.mended = threading.Event(), threading.Event()
        self.lines: list[bytes] = []

    def write(self, lines: Sequence[bytes]) -> int:
        self.asked.set()
        if not self.mended.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        self.lines += lines
        return len(lines)

    def close(self) -> None:
        self.lines.append(b"closed")


class Stuck(Broken):
    """An output that holds its writer up until it is mended."""

    def write(self, lines: Sequence[bytes]) -> int:
        self.asked.set()
        self.mended.wait()
        return super().write(lines)


async def test_all_events_are_in_the_file_in_order_when_the_writer_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    writer = DecisionWriter(AppendedFile(path))
    writer.start()
    for number in range(1000):
        writer.put(event(number))
    await writer.finish()

    assert ids(path) == [str(number) for number in range(1000)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (writer.written, writer.dropped) == (1000, 0)


async def test_lines_in_parts_and_events_are_in_the_file_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    writer = DecisionWriter(AppendedFile(path))
    writer.start()
    for first in range(0, 9_000, 1_000):
        writer.put_lines([line(number) for number in range(first, first + 999)])
        writer.put(event(first + 999))
    await writer.finish()

    assert ids(path) == [str(number) for number in range(9_000)]
    assert (writer.written, writer.dropped) == (9_000, 0)


async def test_of_several_lines_those_without_room_are_counted() -> None:
    output = Stuck()
    writer = DecisionWriter(output)
    writer.start()
    writer.put(event(0))
    assert output.asked.wait(10)
    with capture_logs() as lines:
        writer.put_lines([line(number) for number in range(1, MOST_WAITING + 6)])
        writer.put_lines([line(0)])

    assert writer.dropped == 6
    assert [each["event"] for each in lines] == ["events of the decision log are dropped"]
    output.mended.set()
    await writer.finish()
    assert writer.written == MOST_WAITING + 1


async def test_events_wait_while_the_output_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_EVERY", 0.01)
    output = Broken()
    writer = DecisionWriter(output)
    with capture_logs() as lines:
        writer.start()
        writer.put(event(1))
        assert output.asked.wait(10)
        writer.put(event(2))
        output.mended.set()
        await writer.finish()

    assert [b'"request_id":"1"' in output.lines[0], b'"request_id":"2"' in output.lines[1]] == [True, True]
    assert (writer.written, writer.dropped, output.lines[2:]) == (2, 0, [b"closed"])
    assert lines[0]["event"] == "the decision log can't be written"
    assert "No space" in lines[0]["reason"]


async def test_no_caller_waits_for_an_output_that_is_stuck_and_what_is_too_much_is_counted() -> None:
    output = Stuck()
    writer = DecisionWriter(output)
    writer.start()
    writer.put(event(0))
    assert output.asked.wait(10)
    with capture_logs() as lines:
        for number in range(MOST_WAITING + 3):
            writer.put(event(number))

    assert writer.dropped == 3
    assert Sample("portcullis_decision_events_total", 3, {"outcome": "dropped"}) in list(writer.samples())
    assert [line["event"] for line in lines] == ["events of the decision log are dropped"]
    output.mended.set()
    await writer.finish()
    assert writer.written == MOST_WAITING + 1


async def test_what_can_not_be_written_at_the_end_is_told() -> None:
    writer = DecisionWriter(Broken())
    writer.start()
    writer.put(event(1))
    with capture_logs() as lines:
        await writer.finish()

    assert {"event": "events of the decision log are lost", "log_level": "warning", "lost": 1} in lines


def test_standard_output_gets_each_event_as_a_line_whatever_the_form_of_the_log(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    output = output_named("stdout")
    assert output.write([encoded(event(1)), encoded(event(2))]) == 2
    output.close()

    events = [decoded(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert events == [event(1), event(2)]


def test_there_is_no_log_unless_the_settings_name_one(tmp_path: Path) -> None:
    assert decision_log(Policy()) is None
    assert decision_log(Policy(decision_log=tmp_path / "decisions.jsonl")) is not None
    assert list(tmp_path.iterdir()) == []  # made with the first event


def test_a_file_that_was_moved_or_removed_is_made_anew(tmp_path: Path) -> None:
    path, moved = tmp_path / "decisions.jsonl", tmp_path / "decisions.1"
    output = AppendedFile(path)
    output.write([b"1\n"])
    path.rename(moved)
    output.write([b"2\n"])
    path.unlink()
    output.write([b"3\n"])
    output.close()

    assert (moved.read_bytes(), path.read_bytes()) == (b"1\n", b"3\n")


def test_a_file_that_was_there_keeps_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_bytes(b"1\n")
    output = AppendedFile(path)
    output.write([b"2\n"])
    output.close()

    assert path.read_bytes() == b"1\n2\n"


def test_a_line_that_was_cut_off_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "decisions.jsonl", os.write
    output = AppendedFile(path)
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, text: write(file, text[:5]))
        assert output.write([b"one\n", b"two\n"]) == 1
    assert output.write([b"three\n"]) == 1
    output.close()

    assert path.read_bytes() == b"one\nt\nthree\n"


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    writers = [forks().Process(target=append, args=(path, name)) for name in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == 3 * 80 + 1
    assert set(lines) == {b"a" * 20_000, b"b" * 20_000, b"c" * 20_000, b""}


AUDITOR = 3
"""The id of the seeded role."""


async def test_refusals_and_allowed_requests_are_in_the_file_and_counted(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    chosen = {
        **all_decisions(path),
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
    }
    async with inside_published(published_database_url, redis_url, **chosen) as service:
        new_user = {"userName": "bob", "nickName": "Bob", "password": "a-Long-enough-1"}
        await service.data("POST", "/api/user", {**new_user, "roleIds": [AUDITOR]})
        token = await service.log_in("bob", "a-Long-enough-1")
        denied = await service.ask("DELETE", "/api/user/1", token=token)
        assert denied.status == 403
        text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()
        assert value(text, "portcullis_decision_events_total", outcome="dropped") == 0

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    events = [event for line in path.read_bytes().splitlines() if (event := decoded(line)) is not None]
    assert [(entry.outcome, entry.route, entry.user_id) for entry in events[:2]] == [
        ("allow", "/api/auth/login", None),
        ("allow", "/api/user", 1),
    ]
    assert (events[-1].decision, events[-1].path) == (denied.json["decisionId"], "/api/user/1")
    assert (events[-1].outcome, events[-1].layer, events[-1].roles) == ("deny", "endpoint", ("auditor",))
    assert [grant.needed for grant in events[1].grants] == ["all"]
    assert "system:policy:read" in events[1].grants[0].codes
    for secret in (b"a-Long-enough-1", token.encode(), (service.token or "none").encode()):
        assert secret not in path.read_bytes()

    async with Database(published_database_url) as database:
        policy = await read_policy(source_named("1"), PastPolicies(read_shipped(), RevisionSeals()), database)
    with path.open("rb") as lines:
        answer = replay(policy, lines)
    assert (answer.events, answer.differing) == (len(events), 0)
