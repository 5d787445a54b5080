import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import BadRequest, Refusal
from service.features.files.multipart import FileBody
from service.web.messages.request import Request

BOUNDARY = "x-y"
# What a parser could mistake for a boundary, and what it must not swallow.
FRAGMENTS = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n-",
    b"\r\n--",
    b"\r\n--x",
    b"--x-y",
    b"\r\n--x-",
    b"\n--x-y\r\n",
    b"a",
    b"\0",
]
CONTENT = (
    st.lists(st.sampled_from(FRAGMENTS), max_size=30)
    .map(b"".join)
    .filter(lambda candidate: b"\r\n--x-y" not in candidate)
)
CUTS = st.lists(st.integers(0, 400), max_size=20)


def form(content: bytes, name: str) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def read(pieces: Sequence[bytes], *, ends: bool = True) -> tuple[str, bytes]:
    """Return name and content of the file in a body that arrives in ``pieces``."""
    events: list[dict[str, Any]] = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1 or not ends}
        for number, piece in enumerate(pieces)
    ]

    async def receive() -> dict[str, Any]:
        return events.pop(0) if events else {"type": "http.disconnect"}

    async def taken() -> tuple[str, bytes]:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [(b"content-type", f"multipart/form-data; boundary={BOUNDARY}".encode())],
        }
        request = Request(scope, receive)
        body = FileBody(request, "file", silence=5)
        try:
            await body.open()
            return body.name, b"".join([piece async for piece in body.content()])
        finally:
            await body.close()

    return asyncio.run(taken())


def cut(body: bytes, places: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    return [body[start:stop] for start, stop in pairwise(edges)]


@given(CONTENT, CUTS)
def test_a_file_is_the_same_however_its_body_is_cut(content: bytes, places: list[int]) -> None:
    assert read(cut(form(content, "a b.txt"), places)) == ("a b.txt", content)


@given(CONTENT, st.integers(0, 500), CUTS)
def test_a_body_that_ends_early_is_never_taken_for_a_whole_one(
    content: bytes, length: int, places: list[int]
) -> None:
    whole = form(content, "a.txt")
    # What follows the last boundary says nothing any more.
    broken = whole[: min(length, len(whole) - len("--\r\n"))]
    for ends in (True, False):
        with pytest.raises(BadRequest):
            read(cut(broken, places), ends=ends)


@given(st.binary(max_size=300), CUTS)
def test_whatever_else_is_sent_is_refused_and_never_a_fault(raw: bytes, places: list[int]) -> None:
    for body in (raw, f"--{BOUNDARY}\r\n".encode() + raw):
        with pytest.raises(Refusal):
            read(cut(body, places))
