"""The id of a request: what its client has sent, if that can be logged, or one that is made here."""

import re
from collections.abc import Iterable
from random import getrandbits
from typing import Final

from service.web.messages.operation_metadata import ACCESS

_LONGEST_ECHO: Final = 1024  # bytes

# Can't match a JSON Web Token or an API key: the id is written to logs.
_REQUEST_ID: Final = re.compile(rb"(?!eyJ|[^p]*pck_)[A-Za-z0-9._-]{1,64}")


def request_ids(headers: Iterable[tuple[bytes, bytes]], path: str) -> tuple[str, bytes]:
    """Return the id of a request with these headers in logs, and the one in its answer.

    Below ``ACCESS`` the answer has exactly the id that was sent, with any characters, unless it is too long
    or repeated (AuthZEN Authorization API 1.0, "Request Identification").
    """
    sent = logged = None
    number = 0
    for name, value in headers:
        if name == b"x-request-id":
            number, sent = number + 1, value
            if logged is None and _REQUEST_ID.fullmatch(value):
                logged = value.decode("ascii")
    if logged is None:
        logged = new_request_id()
    if sent and number == 1 and len(sent) <= _LONGEST_ECHO and path.startswith(ACCESS):
        return logged, sent
    return logged, logged.encode("ascii")


def new_request_id() -> str:
    """Return an id for a request without one."""
    return f"{getrandbits(64):016x}"
