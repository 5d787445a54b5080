"""Protection against lost updates: entity tags and ``If-Match`` (RFC 9110 §8.8.3 and §13.1.1).

Reads of a record return its ``ETag``. A change with that tag in ``If-Match`` succeeds only if the record is
unchanged since. Without ``If-Match`` the last writer wins.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Final, Protocol

from service.errors import BadRequest, PreconditionFailed
from service.kernel.core_sentences import sentence
from service.web.messages.context import RequestContext
from service.web.messages.schema import envelope

_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS: Final = re.compile(rf"[ \t,]*{_TAG}(?:[ \t]*,[ \t,]*{_TAG})*[ \t,]*".encode())
_ONE: Final = re.compile(_TAG.encode())


def version_tag(version: int) -> str:
    """Return the entity tag of a record with a version, which each edit increments."""
    return f'"{version}"'


def content_tag(answer: object) -> str:
    """Return the entity tag of a record from the content of ``answer``; None for a missing record.

    Use it for records without a version. Use it also for records that restart with version 1 after deletion,
    since old and new record would have the same tag.
    """
    if answer is None:
        return version_tag(0)
    return f'"{hashlib.sha256(envelope(answer)).hexdigest()[:16]}"'


def answer_tag(context: RequestContext, tag: str) -> None:
    """Add ``tag`` as the ``ETag`` of the record in the answer."""
    context.respond_header("ETag", tag)


def require_match(context: RequestContext, tag: str) -> None:
    """Check that the request has no ``If-Match``, or one with ``tag`` or ``*``.

    Raises PreconditionFailed otherwise, BadRequest for a malformed header. Call it in the transaction that
    changes the record, after locking it.
    """
    given = context.request.raw_header(b"if-match")
    if given is None or given.strip() == b"*":
        return
    if _TAGS.fullmatch(given) is None:
        raise BadRequest(sentence("if_match_malformed"))
    # A weak tag never matches here (RFC 9110 §8.8.3.2).
    if tag.encode() not in _ONE.findall(given):
        raise PreconditionFailed


class Versioned(Protocol):
    """A record with a version, which each edit increments."""

    @property
    def version(self) -> int:
        """Its version."""


def unchanged(context: RequestContext) -> Callable[[Versioned], None]:
    """Return ``require_match`` for the version of the record that it is called with."""
    return lambda stored: require_match(context, version_tag(stored.version))
