"""HTTP requests byte by byte, each over a connection of its own, which any worker may take."""

import asyncio
import json
import re
from dataclasses import dataclass
from time import monotonic
from typing import Any


@dataclass(frozen=True)
class Seen:
    """One answer: when its request was sent (``time.monotonic``), and the policy revision that it names."""

    sent: float
    status: int
    revision: int
    body: bytes

    @property
    def data(self) -> Any:
        """What a JSON answer holds."""
        return json.loads(self.body)["data"]


def request(line: str, *headers: str, body: Any = None) -> bytes:
    """Return a request whose first line and headers are sent as they stand."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [line, "Host: x", "Connection: close", *headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + content


async def send(port: int, raw: bytes) -> Seen:
    """Send ``raw`` and read the answer to its end."""
    sent = monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    revision = re.search(rb"x-policy-revision: (\d+)", head)
    return Seen(sent, int(head.split(b" ", 2)[1]), int(revision[1]) if revision else 0, body)


async def log_in(port: int, user_name: str, password: str) -> str:
    """Return the header that carries the access token of a user."""
    body = {"userName": user_name, "password": password}
    seen = await send(port, request("POST /api/auth/login HTTP/1.1", body=body))
    assert seen.status == 200, seen.body
    return f"Authorization: Bearer {seen.data['accessToken']}"
