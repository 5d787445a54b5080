"""Folders of static files: listed once, sent with entity tags, and never by a path that was not listed."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from service.errors import NotFound
from service.web.content.entity_tags import is_known
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.requests.routes import Routes

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


HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"
SCRIPT: Final = "text/javascript; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"

TYPES: Final = {
    ".css": CSS,
    ".html": HTML,
    ".js": SCRIPT,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
"""The media types of the files of a site, by the ends of their names."""


class Folder:
    """The files below a folder, by their paths in it. They are listed once, so no request can name any other.

    Files whose type is not in ``TYPES`` are sent as ``others``, and left out if that is None.
    """

    def __init__(self, folder: Path, others: str | None = None) -> None:
        """``folder`` is listed, and each file read, when one is first asked for."""
        self._folder, self._others = folder, others
        self._read: dict[str, Content] = {}

    @cached_property
    def _files(self) -> dict[str, tuple[Path, str]]:
        files = [file for file in self._folder.rglob("*") if file.is_file()]
        types = [(file, TYPES.get(file.suffix, self._others)) for file in files]
        return {
            file.relative_to(self._folder).as_posix(): (file, media)
            for file, media in types
            if media is not None
        }

    @property
    def paths(self) -> list[str]:
        """The paths of all files, in order."""
        return sorted(self._files)

    async def content(self, path: str) -> Content:
        """Return the file at ``path``. Raises NotFound."""
        if path not in self._files:
            raise NotFound
        if path not in self._read:
            file, media_type = self._files[path]
            self._read[path] = await asyncio.to_thread(lambda: Content.of(file.read_bytes(), media_type))
        return self._read[path]


class Site(Protocol):
    """The documents served below a template."""

    async def answer(self, context: RequestContext, path: str) -> Document:
        """Return the file at ``path``. Raises NotFound."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Below:
    """The base of the files in one depth of a site."""

    site: Site


class InSite(_Below):
    """``…/{first}``. Falcon asks for the same names in the templates below it."""

    async def on_get(self, context: RequestContext, first: str) -> Document:
        """Read a file."""
        return await self.site.answer(context, first)


class InFolder(_Below):
    """``…/{first}/{second}``."""

    async def on_get(self, context: RequestContext, first: str, second: str) -> Document:
        """Read a file."""
        return await self.site.answer(context, f"{first}/{second}")


class TwoFoldersDown(_Below):
    """``…/{first}/{second}/{third}``."""

    async def on_get(self, context: RequestContext, first: str, second: str, third: str) -> Document:
        """Read a file."""
        return await self.site.answer(context, f"{first}/{second}/{third}")


class ThreeFoldersDown(_Below):
    """``…/{first}/{second}/{third}/{fourth}``."""

    async def on_get(
        self, context: RequestContext, first: str, second: str, third: str, fourth: str
    ) -> Document:
        """Read a file."""
        return await self.site.answer(context, f"{first}/{second}/{third}/{fourth}")


def add_site(routes: Routes, base: str, entrance: object, site: Site) -> None:
    """Serve ``site`` below the template ``base``, and ``entrance`` there, also with a slash after it."""
    routes.add_outside(base, entrance)
    routes.folders.append(base)
    routes.add_outside(f"{base}/{{first}}", InSite(site))
    routes.add_outside(f"{base}/{{first}}/{{second}}", InFolder(site))
    routes.add_outside(f"{base}/{{first}}/{{second}}/{{third}}", TwoFoldersDown(site))
    routes.add_outside(f"{base}/{{first}}/{{second}}/{{third}}/{{fourth}}", ThreeFoldersDown(site))
