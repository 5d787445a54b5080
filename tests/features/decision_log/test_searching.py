"""The event of a denial in a file of the decision log."""

import os
from pathlib import Path

import pytest

from service.features.decision_log import decision_event
from service.features.decision_log.decision_event import (
    DecisionEvent,
    EvaluationEvent,
    Outcome,
    denial_in,
    encoded,
)

WANTED = "r12-9be1a6f0-5f0c39d1a2b4"
OTHER = "r12-9be1a6f0-000000000000"


def event(decision: str, request_id: str, outcome: Outcome = "deny") -> bytes:
    """Return the line of an event."""
    return encoded(
        DecisionEvent(
            time="2026-11-22T02:48:43.956Z",
            outcome=outcome,
            decision=decision,
            revision=12,
            own_digest="9be1a6f0",
            request_id=request_id,
            method="GET",
            route="/api/user/{id}",
            layer="endpoint",
            object="GET /api/user/{id}",
        )
    )


def question(decision: str, request_id: str) -> bytes:
    """Return the line of an answer to another service."""
    return encoded(
        EvaluationEvent(
            time="2026-11-22T02:48:43.956Z",
            outcome="deny",
            reason="not_held",
            decision=decision,
            revision=12,
            own_digest="9be1a6f0",
            request_id=request_id,
            asked_by=7,
            subject_type="user",
        )
    )


def written(folder: Path, *lines: bytes) -> Path:
    path = folder / "decisions.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def denied_request(path: Path) -> str | None:
    """Return the request of the denial that is found."""
    event = denial_in(path, WANTED)
    return None if event is None else event.request_id


@pytest.mark.parametrize("block", [64, 300, 4 * 2**20])
def test_the_latest_denial_is_found_wherever_blocks_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(decision_event, "_BLOCK", block)
    many = [event(OTHER, f"other-{n}") for n in range(20)]
    path = written(tmp_path, event(WANTED, "first"), *many, question(WANTED, "second"), *many)
    assert denied_request(path) == "second"
    assert denied_request(written(tmp_path, event(WANTED, "first"), *many)) == "first"
    assert denied_request(written(tmp_path, *many, event(WANTED, "last"))) == "last"
    assert denied_request(written(tmp_path, *many)) is None
    assert denied_request(written(tmp_path)) is None


def test_what_is_no_denial_is_passed_over(tmp_path: Path) -> None:
    whole = event(WANTED, "first")
    torn = event(WANTED, "torn")[:-20]
    spoof = b'{"event":"request","note":"\\"decision\\":","decision":"%s"}\n' % WANTED.encode()
    path = written(tmp_path, whole, event(WANTED, "passed", "allow"), b"\xff\xfe no text\n", spoof, torn)
    assert denied_request(path) == "first"


def test_only_the_last_bytes_of_a_long_file_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = event(OTHER, "other")
    monkeypatch.setattr(decision_event, "MOST", 3 * len(line))
    assert denied_request(written(tmp_path, event(WANTED, "first"), *[line] * 3)) is None
    assert denied_request(written(tmp_path, event(WANTED, "first"), line)) == "first"


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing", "."):
        assert denial_in(tmp_path / name, WANTED) is None
