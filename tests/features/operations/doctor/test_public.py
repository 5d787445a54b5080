"""What ``doctor --url`` says of the way from the public address to the service."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from service.features.operations.diagnosis.public import ask_publicly
from tests.support.cases import with_each
from tests.support.tls import TlsServer, write_certificate

TOKEN = "mX3-" * 8
PROXY = "10.0.0.1"
CLIENT = "198.51.100.7"


@contextmanager
def answering(arrived: dict[str, Any] | None, seen: list[str] | None = None) -> Iterator[str]:
    """Answer as a service to whose node ``arrived`` has come; with None, one that tells nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            details = {} if arrived is None else {"details": {"request": arrived}}
            body = json.dumps({"data": {"status": "ready", "parts": {}, **details}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if seen is not None:
                seen.append(str(self.headers))

        def log_message(self, *_arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def states(url: str) -> dict[str, str]:
    return {name: finding.state for name, finding in ask_publicly(url, TOKEN)}


@with_each(
    ("address", "headers", "of_address", "of_headers"),
    [
        (CLIENT, {"x-forwarded-for": CLIENT, "x-forwarded-proto": "https"}, "ok", "ok"),
        (CLIENT, {"x-forwarded-for": f"192.0.2.1, {CLIENT}"}, "ok", "ok"),
        ("192.0.2.1", {"x-forwarded-for": "192.0.2.1"}, "fault", "ok"),
        (PROXY, {"x-forwarded-for": CLIENT}, "fault", "ok"),
        (PROXY, {"x-forwarded-for": f"192.0.2.1, {PROXY}"}, "unknown", "ok"),  # asked on the proxy's machine
        (CLIENT, {"x-forwarded-for": CLIENT, "x-real-ip": "192.0.2.1"}, "ok", "fault"),
        (CLIENT, {"x-forwarded-for": CLIENT, "x-portcullis-user": "forged.invalid"}, "ok", "fault"),
        (CLIENT, {"x-forwarded-for": CLIENT, "forwarded": "for=192.0.2.1"}, "ok", "fault"),
    ],
)
def test_what_arrives_of_forged_headers_is_told(
    address: str, headers: dict[str, str], of_address: str, of_headers: str
) -> None:
    with answering({"address": address, "peer": PROXY, "headers": headers}) as url:
        reported = states(url)
    assert reported == {
        "public-url": "ok",
        "public-tls": "warning",  # it was the check used plain HTTP
        "public-address": of_address,
        "public-headers": of_headers,
    }


def test_a_service_that_tells_nothing_leaves_it_unknown() -> None:
    seen: list[str] = []
    with answering(None, seen) as url:
        reported = states(url)
    assert (reported["public-url"], reported["public-address"], reported["public-headers"]) == (
        "ok",
        "unknown",
        "unknown",
    )
    assert "X-Forwarded-For: 192.0.2.1" in seen[0]
    assert TOKEN in seen[0]


def test_a_certificate_that_nobody_trusts_is_a_fault_and_gets_no_token(tmp_path: Path) -> None:
    with TlsServer(write_certificate(tmp_path / "own.pem", ends_in=timedelta(days=9))) as server:
        ((name, finding),) = ask_publicly(f"https://localhost:{server.port}", TOKEN)
    assert (name, finding.state) == ("public-url", "fault")
    assert "certificate" in finding.message


@with_each(
    "url", ["ftp://example.com", "https://", "http://127.0.0.1:1", "http://[::1", "https://example.com:x"]
)
def test_an_address_that_is_wrong_or_does_not_answer_is_a_fault(url: str) -> None:
    assert states(url) == {"public-url": "fault"}
