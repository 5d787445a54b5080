"""The documentation as a site, if it has been built: ``dev.py docs`` puts it beside the code."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import service
from service.errors import NotFound
from service.web.content.streams import Stream, nothing
from service.web.openapi.pages import CSS, HTML, SCRIPT, Shown
from service.web.requests.context import RequestContext
from service.web.requests.marks import sends
from service.web.requests.routes import Routes
from service.web.requests.schema import Document

GUIDE: Final = "/docs/guide"
SITE: Final = Path(service.__file__).parent / "shipped" / "guide"
"""Where the site is built, in a checkout as in a package."""

# The builder leaves no script and no style in a page. The search form asks the site itself.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_TEXT: Final = "text/plain; charset=utf-8"
_TYPES: Final = {
    ".css": CSS,
    ".html": HTML,
    ".js": SCRIPT,
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_FIRST: Final = "index.html"


class Entrance:
    """``/docs/guide``: leads to the first page, whose links are relative to its folder."""

    @sends(HTML)
    async def on_get(self, context: RequestContext) -> Stream:  # noqa: ARG002 - every responder takes it
        """Go to the first page of the documentation."""
        return Stream(nothing(), HTML, {"Location": f"{GUIDE}/{_FIRST}"}, length=0, status=307)


class NotBuilt:
    """``/docs/guide`` of an installation without the site."""

    @sends(HTML)
    async def on_get(self, context: RequestContext) -> Stream:  # noqa: ARG002 - as above
        """Say that there is no documentation here, and what makes it. Raises NotFound."""
        raise NotFound("The documentation is not built here; python3 dev.py docs builds it in a checkout")


class Site:
    """The files of the site, by their paths in it. They are listed once, so no request can name any other."""

    def __init__(self, site: Path) -> None:
        """List the files of ``site``; each is read when it is first asked for."""
        self._files = {
            file.relative_to(site).as_posix(): Shown(
                file.read_bytes, _TYPES.get(file.suffix, _TEXT), CONTENT_SECURITY_POLICY
            )
            for file in site.rglob("*")
            if file.is_file()
        }

    async def document(self, context: RequestContext, *path: str) -> Document:
        """Return the file at ``path``, folders first. Raises NotFound."""
        shown = self._files.get("/".join(path))
        if shown is None:
            raise NotFound
        return await shown.on_get(context)


class InSite:
    """``/docs/guide/{first}``. Falcon asks for the same names in the templates below it."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def on_get(self, context: RequestContext, first: str) -> Document:
        """Read a file of the documentation."""
        return await self._site.document(context, first)


class InFolder:
    """``/docs/guide/{first}/{second}``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def on_get(self, context: RequestContext, first: str, second: str) -> Document:
        """Read a file of the documentation."""
        return await self._site.document(context, first, second)


class TwoFoldersDown:
    """``/docs/guide/{first}/{second}/{third}``."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def on_get(self, context: RequestContext, first: str, second: str, third: str) -> Document:
        """Read a file of the documentation."""
        return await self._site.document(context, first, second, third)


def is_built(site: Path = SITE) -> bool:
    """True if ``site`` holds the documentation."""
    return (site / _FIRST).is_file()


def add_guide(routes: Routes, site: Path = SITE) -> None:
    """Serve the files of ``site`` below ``/docs/guide``, or a refusal there that says how to build it."""
    if not is_built(site):
        routes.add_outside(GUIDE, NotBuilt())
        return
    files = Site(site)
    routes.add_outside(GUIDE, Entrance())
    routes.add_outside(f"{GUIDE}/{{first}}", InSite(files))
    routes.add_outside(f"{GUIDE}/{{first}}/{{second}}", InFolder(files))
    routes.add_outside(f"{GUIDE}/{{first}}/{{second}}/{{third}}", TwoFoldersDown(files))
