"""Folders of static files: listed once, sent with entity tags, and never by a path that was not listed."""

from __future__ import annotations

import asyncio
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from service.errors import NotFound
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.requests.routes import Routes
from service.web.sites.static_content import Content

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
