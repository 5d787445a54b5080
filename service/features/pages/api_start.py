"""The start page at ``/``: what this service is, and where to go from here."""

import html
from collections.abc import Mapping
from typing import Final

from service import __version__
from service.features.console.console import CONSOLE
from service.features.console.sites import HTML
from service.features.pages.links import API, GUIDE
from service.features.pages.plain_page import plain_page
from service.kernel.about import AUDIENCE, LIMITS, NAME, ROLE
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders
from service.web.messages.schema import Document, envelope
from service.web.requests.credentials import OperatorToken
from service.web.requests.problems import ERRORS_PAGE

JSON: Final = "application/json"
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

LINKS: Final = {
    API: "The API, to read and to try out",
    "/docs/openapi.json": "The API as an OpenAPI document",
    ERRORS_PAGE: "The codes of refusals, and what to do about them",
    "/.well-known/jwks.json": "The public keys that verify tokens",
    "/health/live": "Whether the process runs",
    "/health/ready": "Whether the service works",
}
"""The permanent links of the page, with their descriptions."""


class StartPage(Responders, at="/"):
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
