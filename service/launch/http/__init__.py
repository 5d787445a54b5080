"""The HTTP protocol of the workers: uvicorn's, made strict.

``protocol`` is what uvicorn runs for each connection. ``framing`` decides which heads of requests are
refused, ``incoming`` breaks off a body that can't be read to its end, ``lingering`` closes so that the last
answer arrives. Nothing here knows routes or callers; the application answers refusals, as it does all others.
"""

from __future__ import annotations

from service.launch.http.framing import MAX_HEAD
from service.launch.http.protocol import HttpProtocol

__all__ = ["MAX_HEAD", "HttpProtocol"]
