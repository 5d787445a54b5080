"""The memory in which the workers of a node leave their metrics for one another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import monotonic

import pytest

from service.web.observability.shared_metrics import FRESH, LONGEST, SharedMetrics


@pytest.fixture
def board() -> Iterator[SharedMetrics]:
    made = SharedMetrics(2)
    yield made
    made.close()


def test_a_slot_has_the_latest_snapshot_and_none_after_its_worker_has_left(board: SharedMetrics) -> None:
    assert board.read() == {}
    for text in (b"first", b"second", b"third"):
        board.write(1, text)
        assert board.read() == {1: text}
    board.write(2, b"other")
    assert board.read() == {1: b"third", 2: b"other"}
    board.clear(1)
    assert board.read() == {2: b"other"}


def test_a_snapshot_that_is_half_written_leaves_the_one_before(
    board: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite
    board.write(1, b"whole")
    monkeypatch.setattr(os, "pwrite", lambda file, text, place: write(file, text[:-3], place))
    board.write(1, b"broken off")
    assert board.read() == {1: b"whole"}


def test_a_worker_that_is_silent_counts_as_gone(
    board: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.write(1, b"once")
    now = monotonic()
    monkeypatch.setattr("service.web.observability.shared_metrics.monotonic", lambda: now + FRESH - 1)
    assert board.read() == {1: b"once"}
    monkeypatch.setattr("service.web.observability.shared_metrics.monotonic", lambda: now + FRESH + 1)
    assert board.read() == {}


def test_a_snapshot_that_has_no_room_is_refused_and_leaves_the_one_before(board: SharedMetrics) -> None:
    board.write(1, b"fits")
    with pytest.raises(ValueError, match="has no room"):
        board.write(1, bytes(LONGEST + 1))
    assert board.read() == {1: b"fits"}
