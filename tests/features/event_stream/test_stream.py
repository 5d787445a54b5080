"""One stream without a service: its text, its reader, and its end."""

import pytest

from service.features.event_stream import stream as streams
from service.features.event_stream.messages import HEARTBEAT, message
from service.features.event_stream.stream import MOST_BYTES, MOST_WAITING, EventStream


def test_no_value_begins_another_line() -> None:
    name = "a\r\n\ndata: b\r\rid: 7\u2028"
    text = message("permissions", {"roles": [name]}, "0" * 32, 1000).decode()
    assert text.splitlines()[:2] == ["retry: 1000", "id: " + "0" * 32]
    assert (text.count("\n"), text.count("\r"), text[-2:]) == (5, 0, "\n\n")


@pytest.mark.parametrize("message", [b"short", b"x" * (MOST_BYTES // 2)])
async def test_a_reader_that_is_too_slow_is_dropped_and_keeps_nothing_in_memory(message: bytes) -> None:
    ended = []
    stream = EventStream(lambda: ended.append(True))
    chunks = stream.chunks()
    stream.put(3 * MOST_BYTES * b"f")
    assert len(await anext(chunks)) == 3 * MOST_BYTES
    for _ in range(3 * MOST_WAITING):
        stream.put(message)
    assert (stream.has_ended, ended) == (True, [True])
    assert [chunk async for chunk in chunks] == []


async def test_what_waits_is_sent_together_and_the_last_message_before_the_end() -> None:
    stream = EventStream(lambda: None)
    for text in (b"a", b"b"):
        stream.put(text)
    stream.end(b"over")
    stream.put(b"late")
    assert [chunk async for chunk in stream.chunks()] == [b"abover"]


async def test_a_quiet_stream_has_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "QUIET", 0.001)
    stream = EventStream(lambda: None)
    chunks = stream.chunks()
    assert [await anext(chunks), await anext(chunks)] == [HEARTBEAT] * 2
    await chunks.aclose()
    assert stream.has_ended
