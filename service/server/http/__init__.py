"""The HTTP protocol of the workers: uvicorn's, made strict.

``protocol`` serves one connection, and closes it so that the last answer arrives. ``framing`` decides which
request heads are refused, ``deadlines`` how long a client may take, ``cycle`` takes one request and its
answer. Nothing here knows routes or callers; the application answers refusals, like all others.
"""

from service.server.http.deadlines import Limits
from service.server.http.framing import MAX_HEAD
from service.server.http.protocol import HttpProtocol, WorkerState

__all__ = ["MAX_HEAD", "HttpProtocol", "Limits", "WorkerState"]
