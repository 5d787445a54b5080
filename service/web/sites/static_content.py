"""Static content: its entity tags, and its two representations, as it is and compressed."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from service.web.content.ranges import is_known
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document

CHECKED: Final = "no-cache"
"""A browser keeps the file, and asks each time whether it is still the same (RFC 9111 §5.2.2.4)."""

_NOT_MODIFIED: Final = 304
_CODING: Final = re.compile(rb"([^\s;=]+)[ \t]*(?:;[ \t]*q=([01](?:\.[0-9]{0,3})?))?", re.IGNORECASE)
_GZIP: Final = (b"gzip", b"x-gzip")  # names of the same coding (RFC 9110 §8.4.1.3)
_ANY: Final = b"*"


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a static file, with their media type and entity tag.

    ``gzipped`` is what clients get that take gzip; None if compression does not make ``data`` smaller.
    Nothing here depends on a caller, so the length of an answer gives no secret away.
    """

    data: bytes
    media_type: str
    digest: str
    gzipped: bytes | None

    @classmethod
    def of(cls, data: bytes, media_type: str) -> Content:
        """Return ``data``, compressed once. A megabyte takes about 50 ms: call it in a thread."""
        gzipped = gzip.compress(data, mtime=0)
        digest = hashlib.sha256(data).hexdigest()[:32]
        return cls(data, media_type, digest, gzipped if len(gzipped) < len(data) else None)

    def answer(
        self, context: RequestContext, headers: Mapping[str, str], cache_control: str = CHECKED
    ) -> Document:
        """Return the file with ``headers``, or 304 if the client has it (RFC 9110 §13.1.2).

        Each representation has a strong entity tag of its own (§8.8.3.3).
        """
        data, tag = self.data, f'"{self.digest}"'
        if self.gzipped is not None:
            context.respond_header("Vary", "Accept-Encoding")
            if takes_gzip(context.request.raw_header(b"accept-encoding")):
                data, tag = self.gzipped, f'"{self.digest}-gzip"'
        context.respond_header("ETag", tag)
        for name, value in headers.items():
            context.respond_header(name, value)
        context.cache_control = cache_control.encode("ascii")
        if is_known(context, tag):
            return Document(b"", self.media_type, _NOT_MODIFIED)
        if data is self.gzipped:
            context.respond_header("Content-Encoding", "gzip")
        return Document(data, self.media_type)


def takes_gzip(accepted: bytes | None) -> bool:
    """True if ``Accept-Encoding`` allows gzip, by its name or by ``*`` (RFC 9110 §12.5.3).

    Without the header, and for codings that can't be read, the file is sent as it is.
    """
    codings = (_CODING.fullmatch(coding.strip()) for coding in (accepted or b"").split(b","))
    weights = {match[1].lower(): float(match[2] or 1) for match in codings if match is not None}
    named = [weights[name] for name in _GZIP if name in weights]
    return max(named, default=weights.get(_ANY, 0.0)) > 0
