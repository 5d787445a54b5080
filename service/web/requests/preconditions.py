"""Nobody overwrites what he has not seen: entity tags, and ``If-Match`` (RFC 9110 §8.8.3 and §13.1.1).

Whoever reads a record gets its ``ETag``. Whoever sends that back as ``If-Match`` changes the record only as
long as it still is the one that was read. Without ``If-Match`` the last writer wins.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from service.errors import BadRequest, PreconditionFailed
from service.web.requests.context import RequestContext
from service.web.requests.schema import envelope

_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS: Final = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*".encode())
_ONE: Final = re.compile(_TAG.encode())


def version_tag(version: int) -> str:
    """Return the entity tag of a record by the version that each edit raises."""
    return f'"{version}"'


def content_tag(answer: object) -> str:
    """Return the entity tag of a record that has no version, by all that ``answer`` shows of it."""
    return f'"{hashlib.sha256(envelope(answer)).hexdigest()[:16]}"'


def answer_tag(context: RequestContext, tag: str) -> None:
    """Have the answer of ``call`` name the entity tag of the record that it holds."""
    context.respond_header("ETag", tag)


def require_match(context: RequestContext, tag: str) -> None:
    """Return when ``call`` has no ``If-Match``, or one that names ``tag`` or any record (``*``).

    PreconditionFailed else; BadRequest for what is no list of entity tags. Call it in the transaction that
    changes the record, behind its lock.
    """
    given = context.request.raw_header(b"if-match")
    if given is None or given.strip() == b"*":
        return
    if _TAGS.fullmatch(given) is None:
        raise BadRequest("If-Match is no list of entity tags")
    # A weak tag never matches here (RFC 9110 §8.8.3.2).
    if tag.encode() not in _ONE.findall(given):
        raise PreconditionFailed
