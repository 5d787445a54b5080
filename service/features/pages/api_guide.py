"""The guide: the built documentation, where it is there."""

from pathlib import Path
from typing import Final

from service.errors import NotFound
from service.features.console.sites import HTML, TEXT, Folder, add_site
from service.features.pages.links import FIRST, GUIDE, SITE, is_built
from service.features.pages.sentences import sentence
from service.web.content.streams import Stream, nothing
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import sends
from service.web.messages.schema import Document
from service.web.requests.routes import Routes

# The builder leaves no script and no style in a page. The search form asks the site itself.
GUIDE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Entrance:
    """``/docs/guide``: leads to the first page, whose links are relative to its folder."""

    @sends(HTML)
    async def on_get(self, context: RequestContext) -> Stream:
        """Go to the first page of the documentation."""
        return Stream(nothing(), HTML, {"Location": f"{GUIDE}/{FIRST}"}, length=0, status=307)


class NotBuilt:
    """``/docs/guide`` of an installation without the site."""

    @sends(HTML)
    async def on_get(self, context: RequestContext) -> Stream:
        """Raise NotFound: the documentation is not built on this node."""
        raise NotFound(sentence("documentation_not_built"))


class Guide:
    """The files of the built documentation."""

    def __init__(self, site: Path) -> None:
        self._files = Folder(site, others=TEXT)

    async def answer(self, context: RequestContext, path: str) -> Document:
        """Return the file at ``path``. Raises NotFound."""
        content = await self._files.content(path)
        return content.answer(context, {"Content-Security-Policy": GUIDE_POLICY})


def add_guide(routes: Routes, site: Path = SITE) -> None:
    """Serve the files of ``site`` below ``/docs/guide``, or a refusal there that says how to build it."""
    if is_built(site):
        add_site(routes, GUIDE, Entrance(), Guide(site))
    else:
        routes.add_outside(GUIDE, NotBuilt())
