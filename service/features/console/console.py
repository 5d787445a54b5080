"""The console: static files of the package, served under a path that names their release.

The page at ``/console`` refers to its scripts and styles below ``/console/{release}``; the release is a
digest of all files. Browsers may cache these files forever, and a page never mixes files of two releases.
After an upgrade the old paths are gone, and the next load uses the new paths.
"""

import asyncio
import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import service
from service.errors import NotFound
from service.features.console.sentences import sentence
from service.features.console.sites import HTML, JSON, Content, Folder, add_site
from service.features.console.texts import bundles, languages
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.requests.routes import Routes

CONSOLE: Final = "/console"
FILES: Final = Path(service.__file__).parent / "console"
"""The folder of the console's files, in a checkout as in a package."""

TEXTS: Final = "texts"
"""The folder of the texts, below that of the console: each language has a folder of its own."""

# Scripts and styles come from files of the console only; texts become nodes, never markup (Trusted Types). QR
# codes are pictures in data URLs, in which no script runs.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), "
    "publickey-credentials-create=(self), publickey-credentials-get=(self)",
    "X-Frame-Options": "DENY",
}
KEPT: Final = "public, max-age=31536000, immutable"
"""A year: what such a path names never changes."""

_INDEX: Final = "index.html"
_REFERENCE: Final = re.compile(rb'(?<=\s)(src|href)="([^"]+)"')


class Console:
    """The files of one release, read together when the first of them is asked for."""

    def __init__(self, folder: Path, facts: Mapping[str, str]) -> None:
        """``facts`` are the values that the page passes to its scripts."""
        self._files = Folder(folder)
        self._texts_folder = folder / TEXTS
        self._texts: dict[str, Content] = {}
        self._facts = facts
        self._reading = asyncio.Lock()
        self._release: str | None = None
        self._page = Content.of(b"", HTML)

    async def page(self, context: RequestContext) -> Document:
        """Return the page, which browsers check at each load."""
        await self._release_of_files()
        return self._page.answer(context, HEADERS)

    async def answer(self, context: RequestContext, path: str) -> Document:
        """Return the file at ``path``, whose first segment is the release. Raises NotFound."""
        release, _, name = path.partition("/")
        if release != await self._release_of_files():
            raise NotFound(sentence("no_console_file"))
        content = self._texts.get(name) or await self._files.content(name)
        return content.answer(context, HEADERS, KEPT)

    async def _release_of_files(self) -> str:
        async with self._reading:
            if self._release is None:
                contents = {path: await self._files.content(path) for path in self._files.paths}
                self._texts = await asyncio.to_thread(self._bundled)
                contents |= self._texts
                manifest = "".join(f"{path}\0{content.digest}\n" for path, content in contents.items())
                release = hashlib.sha256(manifest.encode()).hexdigest()[:16]
                self._page = Content.of(
                    await asyncio.to_thread(self._referring, contents[_INDEX].data, release), HTML
                )
                self._release = release
        return self._release

    def _bundled(self) -> dict[str, Content]:
        """Return the bundles of texts by their paths."""
        made = bundles(self._texts_folder).items()
        return {f"{TEXTS}/{name}": Content.of(data, JSON) for name, data in made}

    def _referring(self, page: bytes, release: str) -> bytes:
        """Return ``page`` with its references to files of the console leading to those of ``release``."""

        def led(match: re.Match[bytes]) -> bytes:
            attribute, path = match[1], match[2].decode()
            if path not in self._files.paths:
                return match[0]
            return b'%s="%s/%s/%s"' % (attribute, CONSOLE.encode(), release.encode(), path.encode())

        named = dict(self._facts)
        if known := languages(self._texts_folder):
            named["languages"] = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
        facts = "".join(f'data-{name}="{html.escape(value)}" ' for name, value in named.items())
        tag = f"<html {facts}".encode()
        return _REFERENCE.sub(led, page).replace(b"<html ", tag, 1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entrance:
    """``/console``."""

    console: Console

    async def on_get(self, context: RequestContext) -> Document:
        """Read the page of the console."""
        return await self.console.page(context)


class SwitchedOff:
    """``/console``, and all below it, where ``console.enabled`` is off."""

    async def on_get(self, context: RequestContext) -> Document:  # noqa: ARG002 - every responder takes it
        """Say that there is no console here. Raises NotFound."""
        raise NotFound(_OFF)

    async def answer(self, context: RequestContext, path: str) -> Document:  # noqa: ARG002 - a site's
        """Say the same of a file. Raises NotFound."""
        raise NotFound(_OFF)


_OFF: Final = sentence("console_off")


def add_console(
    routes: Routes, *, enabled: bool, token: tuple[str, str], about: Mapping[str, str], folder: Path = FILES
) -> None:
    """Serve the files of ``folder`` as the console, or refusals that say that it is off.

    ``token`` is the header of the access token and the text before it. ``about`` has the other values that
    the page passes to its scripts. They include the ``version``, and the addresses of the ``guide`` and of
    the ``api`` pages where these are served. ``session`` is ``tab`` (until reload), or ``browser`` in cookie
    mode. ``passkeys`` is the origin whose pages can use them, and ``mail`` is set where mails are sent.
    """
    if enabled:
        name, prefix = token
        console = Console(folder, {"token-name": name, "token-prefix": prefix, **about})
        add_site(routes, CONSOLE, Entrance(console), console)
        routes.add_page_of_links(CONSOLE)
    else:
        add_site(routes, CONSOLE, SwitchedOff(), SwitchedOff())
