"""A script: a collector of traces on a port of the loopback address, which takes all spans and keeps none."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Sink(BaseHTTPRequestHandler):
    """Answers each request with 200."""

    protocol_version = "HTTP/1.1"  # connections are kept, as by a real collector

    def do_POST(self) -> None:
        """Read the spans, and drop them."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Write nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Sink).serve_forever()
