"""Servers that are really away for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from service.embedded.server import Server


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """Stop a server, and start it again at the end."""
    server.stop()
    try:
        yield
    finally:
        server.start()


@contextmanager
def frozen(server: Server) -> Iterator[None]:
    """Keep a server from answering, while it holds its connections."""
    server.pause()
    try:
        yield
    finally:
        server.resume()
