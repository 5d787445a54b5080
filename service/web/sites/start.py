"""The start page at ``/``: what this service is, and where to go from here."""

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import service
from service import __version__
from service.errors import NotFound
from service.kernel.about import AUDIENCE, LIMITS, NAME, ROLE
from service.web.content.streams import Stream, nothing
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import sends
from service.web.messages.schema import Document, envelope
from service.web.requests.credentials import OperatorToken
from service.web.requests.problems import ERRORS_PAGE
from service.web.requests.routes import Routes
from service.web.sites.console import CONSOLE
from service.web.sites.sites import HTML, TEXT, Folder, add_site, plain_page

GUIDE: Final = "/docs/guide"
SITE: Final = Path(service.__file__).parent / "shipped" / "guide"
"""Where the site is built, in a checkout as in a package."""

# The builder leaves no script and no style in a page. The search form asks the site itself.
GUIDE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

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


class Guide:
    """The files of the built documentation."""

    def __init__(self, site: Path) -> None:
        self._files = Folder(site, others=TEXT)

    async def answer(self, context: RequestContext, path: str) -> Document:
        """Return the file at ``path``. Raises NotFound."""
        content = await self._files.content(path)
        return content.answer(context, {"Content-Security-Policy": GUIDE_POLICY})


def is_built(site: Path = SITE) -> bool:
    """True if ``site`` holds the documentation."""
    return (site / _FIRST).is_file()


def add_guide(routes: Routes, site: Path = SITE) -> None:
    """Serve the files of ``site`` below ``/docs/guide``, or a refusal there that says how to build it."""
    if is_built(site):
        add_site(routes, GUIDE, Entrance(), Guide(site))
    else:
        routes.add_outside(GUIDE, NotBuilt())


JSON: Final = "application/json"
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

LINKS: Final = {
    "/docs": "The API, to read and to try out",
    "/docs/openapi.json": "The API as an OpenAPI document",
    ERRORS_PAGE: "The codes of refusals, and what to do about them",
    "/.well-known/jwks.json": "The public keys that verify tokens",
    "/health/live": "Whether the process runs",
    "/health/ready": "Whether the service works",
}
"""Where the page always leads, with what is there."""


class StartPage:
    """GET /."""

    def __init__(self, token: OperatorToken, *, guide: bool = False, console: bool = False) -> None:
        """Name the version to holders of ``token`` only, as the readiness check does.

        ``guide`` and ``console`` say that the documentation and the console are served here.
        """
        self._token = token
        self._links = dict(LINKS)
        if guide:
            self._links = {GUIDE: "How to use and run the service"} | self._links
        if console:
            self._links = {CONSOLE: "The console: administer and review in a browser"} | self._links
        self._page = _page(self._links)

    async def on_get(self, context: RequestContext) -> Document:
        """Read what this service is, as a page or, for a client that asks for it, as JSON."""
        context.respond_header("Vary", "Accept")
        context.respond_header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        request = context.request
        if "json" in request.accept and request.client_prefers((JSON, "text/html")) == JSON:
            version = {"version": __version__} if self._token.is_held(context) else {}
            facts = {"name": NAME, "role": ROLE, "audience": AUDIENCE, "limits": LIMITS, "links": self._links}
            return Document(envelope(facts | version), JSON)
        return Document(self._page, HTML)


def _page(shown: Mapping[str, str]) -> bytes:
    links = "\n".join(
        f'<li><a href="{path}"><code>{path}</code></a>: {html.escape(text)}</li>'
        for path, text in shown.items()
    )
    limits = "\n".join(f"<li>{html.escape(text)}</li>" for text in LIMITS)
    return plain_page(
        NAME,
        f"""<p>{html.escape(ROLE)} {html.escape(AUDIENCE)}</p>
<ul>
{links}
</ul>
<h2>What it is not</h2>
<ul>
{limits}
</ul>""",
    )
