"""Folders of static files: listed once, sent with entity tags, and never by a path that was not listed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from service.errors import NotFound
from service.web.content.ranges import is_known
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.requests.routes import Routes

HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"
SCRIPT: Final = "text/javascript; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"

TYPES: Final = {
    ".css": CSS,
    ".html": HTML,
    ".js": SCRIPT,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}
"""The media types of the files of a site, by the ends of their names."""

CHECKED: Final = "no-cache"
"""A browser keeps the file, and asks each time whether it is still the same (RFC 9111 §5.2.2.4)."""

_NOT_MODIFIED: Final = 304


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a static file, with their media type and entity tag."""

    data: bytes
    media_type: str
    tag: str

    @classmethod
    def of(cls, data: bytes, media_type: str) -> Content:
        """Return ``data`` with the strong entity tag of its bytes."""
        return cls(data, media_type, f'"{hashlib.sha256(data).hexdigest()[:32]}"')

    def answer(
        self, context: RequestContext, headers: Mapping[str, str], cache_control: str = CHECKED
    ) -> Document:
        """Return the file with ``headers``, or 304 if the client has it (RFC 9110 §13.1.2)."""
        context.respond_header("ETag", self.tag)
        for name, value in headers.items():
            context.respond_header(name, value)
        context.cache_control = cache_control.encode("ascii")
        if is_known(context, self.tag):
            return Document(b"", self.media_type, _NOT_MODIFIED)
        return Document(self.data, self.media_type)


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
            self._read[path] = Content.of(await asyncio.to_thread(file.read_bytes), media_type)
        return self._read[path]


class Site(Protocol):
    """What is served below a template."""

    async def answer(self, context: RequestContext, path: str) -> Document:
        """Return the file at ``path``. Raises NotFound."""


class InSite:
    """``…/{first}``. Falcon asks for the same names in the templates below it."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def on_get(self, context: RequestContext, first: str) -> Document:
        """Read a file."""
        return await self._site.answer(context, first)


class InFolder:
    """``…/{first}/{second}``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def on_get(self, context: RequestContext, first: str, second: str) -> Document:
        """Read a file."""
        return await self._site.answer(context, f"{first}/{second}")


class TwoFoldersDown:
    """``…/{first}/{second}/{third}``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def on_get(self, context: RequestContext, first: str, second: str, third: str) -> Document:
        """Read a file."""
        return await self._site.answer(context, f"{first}/{second}/{third}")


def add_site(routes: Routes, base: str, entrance: object, site: Site) -> None:
    """Serve ``site`` below the template ``base``, and ``entrance`` there, also with a slash after it."""
    routes.add_outside(base, entrance)
    routes.folders.append(base)
    routes.add_outside(f"{base}/{{first}}", InSite(site))
    routes.add_outside(f"{base}/{{first}}/{{second}}", InFolder(site))
    routes.add_outside(f"{base}/{{first}}/{{second}}/{{third}}", TwoFoldersDown(site))
