"""The id of a request: what its client has sent, if that can be logged, or one that is made here."""

import re
from collections.abc import Iterable
from random import getrandbits
from typing import Final, NamedTuple

_LONGEST_ECHO: Final = 1024  # bytes

# Can't match a JSON Web Token or an API key: the id is written to logs.
_REQUEST_ID: Final = re.compile(rb"(?!eyJ|[^p]*pck_)[A-Za-z0-9._-]{1,64}")


class RequestIds(NamedTuple):
    """The id that names a request in logs, and the one that its answer says."""

    logged: str
    echoed: bytes


def request_ids(headers: Iterable[tuple[bytes, bytes]], *, echoes: bool) -> RequestIds:
    """Return the ids of a request with these headers.

    With ``echoes``, the answer says exactly the id that was sent, whatever its characters, unless it is too
    long or there are several (AuthZEN Authorization API 1.0, "Request Identification").
    """
    sent = [value for name, value in headers if name == b"x-request-id"]
    logged = next((value.decode("ascii") for value in sent if _REQUEST_ID.fullmatch(value)), None)
    logged = logged or new_request_id()
    exactly = echoes and len(sent) == 1 and 0 < len(sent[0]) <= _LONGEST_ECHO
    return RequestIds(logged, sent[0] if exactly else logged.encode("ascii"))


def new_request_id() -> str:
    """Return an id for a request without one."""
    return f"{getrandbits(64):016x}"
