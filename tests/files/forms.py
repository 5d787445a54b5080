"""Forms with a file in them, as browsers send them, and as they had better not."""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from service.web.requests.application import Message
from tests.support.inside import Inside
from tests.web.driver import Answer, ask

BOUNDARY = "----a7c1"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
PDF = b"%PDF-1.7\n" + b"obj\n" * 300


def disposition(name: str, field: str = "file") -> str:
    """Return the header of the part as the WHATWG HTML standard has it written."""
    escaped = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return f'Content-Disposition: form-data; name="{field}"; filename="{escaped}"'


def form(content: bytes, *headers: str, boundary: str = BOUNDARY) -> bytes:
    """Return a body with one part."""
    head = "\r\n".join([f"--{boundary}", *headers, "", ""]).encode()
    return head + content + f"\r\n--{boundary}--\r\n".encode()


def in_pieces(body: bytes, size: int = 65_536) -> Iterator[bytes]:
    """Cut a body as a server would hand it on."""
    return (body[start : start + size] for start in range(0, len(body), size))


async def send(
    service: Inside,
    body: bytes | Iterable[bytes],
    *headers: tuple[str, str],
    declared: int | None = None,
    ends: bool = True,
    token: str | None = None,
) -> Answer:
    """Send a body to the endpoint of uploads; ``declared`` is its Content-Length, if there is one."""
    given = [("Authorization", f"Bearer {token or service.token}"), *headers]
    if not any(name == "Content-Type" for name, _ in headers):
        given.append(("Content-Type", f"multipart/form-data; boundary={BOUNDARY}"))
    if declared is not None:
        given.append(("Content-Length", str(declared)))
    return await ask(service._app, "POST", "/api/file", *given, body=body, ends=ends)


async def upload(
    service: Inside, name: str = "picture.png", content: bytes = PNG, *, token: str | None = None
) -> Answer:
    """Upload one file as a browser does."""
    body = form(content, disposition(name), "Content-Type: application/octet-stream")
    return await send(service, in_pieces(body), declared=len(body), token=token)


async def uploaded(service: Inside, name: str = "picture.png", content: bytes = PNG) -> Any:
    """Upload one file, which must succeed, and return its record."""
    answer = await upload(service, name, content)
    assert answer.status == 201, answer.body
    return answer.json["data"]


async def download(service: Inside, file_id: int, *headers: tuple[str, str]) -> Answer:
    """Ask for the content of a file."""
    return await service.ask("GET", f"/api/file/{file_id}", None, *headers)


async def send_slowly(service: Inside, pieces: AsyncIterator[bytes], declared: int | None = None) -> Answer:
    """Send a body whose pieces are made while it is sent."""
    headers = [
        (b"authorization", f"Bearer {service.token}".encode()),
        (b"content-type", f"multipart/form-data; boundary={BOUNDARY}".encode()),
    ]
    if declared is not None:
        headers.append((b"content-length", str(declared).encode()))
    outgoing: list[Message] = []

    async def receive() -> Message:
        piece = await anext(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: Message) -> None:
        outgoing.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/file",
        "raw_path": b"/api/file",
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.7", 50000),
        "server": ("192.0.2.1", 8080),
    }
    await service._app(scope, receive, send)
    start, *rest = outgoing
    return Answer(
        start["status"],
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]],
        b"".join(message.get("body", b"") for message in rest),
    )
