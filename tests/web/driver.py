"""Drives an ASGI application with requests that a polite client would not send."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from service.web.requests.application import Message
from service.web.requests.middleware import RequestMiddleware

JSON = ("Content-Type", "application/json")
EVENTS = (b"content-type", b"text/event-stream")
"""A stream without an end: the client disconnects after its first events."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for header, value in self.headers if header == name.lower()]
        assert len(values) < 2, f"{name} is there twice: {values}"
        return values[0] if values else None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem document, whose form is checked as well."""
        assert self.header("content-type") == "application/problem+json"
        problem = self.json
        assert problem["status"] == self.status
        assert problem["requestId"] == self.header("x-request-id")
        assert problem["type"] == "/docs/errors#" + problem["code"].replace("_", "-")
        assert problem["title"]
        assert problem["detail"]
        code: str = problem["code"]
        return code

    @property
    def fields(self) -> list[str]:
        """The fields of a ``validation_failed``."""
        assert self.code == "validation_failed"
        return [error["field"] for error in self.json["errors"]]


async def ask(
    app: RequestMiddleware,
    method: str,
    target: str | bytes,
    *headers: tuple[str, str],
    body: bytes | Iterable[bytes] = b"",
    ends: bool = True,
    during: Callable[[], Awaitable[object]] | None = None,
    **scope: Any,
) -> Answer:
    """Send one request; a body in several pieces arrives in several messages, and may never end.

    ``during`` is called once a first part of the answer has come.
    """
    raw = target.encode() if isinstance(target, str) else target
    path, _, query = raw.partition(b"?")
    chunks = [body] if isinstance(body, bytes) else list(body)
    incoming: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
    ] or [{"type": "http.request", "body": b""}]
    if ends:
        incoming[-1]["more_body"] = False
    outgoing: list[Message] = []
    answered = asyncio.Event()

    async def receive() -> Message:
        if incoming:
            return incoming.pop(0)
        if ends:  # the client is there until it has its answer
            await answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal during
        outgoing.append(message)
        if during is not None and message.get("body"):
            act, during = during, None
            await act()
        whole = message["type"] == "http.response.body" and not message.get("more_body")
        if whole or (message.get("body") and EVENTS in outgoing[0]["headers"]):
            answered.set()

    await app(
        {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path.decode("latin-1")),  # as uvicorn does it
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
            "client": ("192.0.2.7", 50000),
            "server": ("192.0.2.1", 8080),
            **scope,
        },
        receive,
        send,
    )
    await asyncio.sleep(0)  # its log line is written in the next turn of the loop
    start, *rest = outgoing
    return Answer(
        start["status"],
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]],
        b"".join(message.get("body", b"") for message in rest),
    )
