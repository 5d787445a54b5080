"""The documentation pages: Swagger UI, the OpenAPI document, and the problem codes.

All of it is served by this service, without scripts or styles from elsewhere.
"""

import asyncio
import html
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from service.errors import Refusal
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.openapi.document import BEARER, NO_TAGS, openapi
from service.web.requests.problems import ERRORS_PAGE, refusals, type_of
from service.web.requests.routes import Routes
from service.web.sites.sites import CSS, HTML, SCRIPT, Content, plain_page

# Swagger UI uses inline styles and icons in data: URLs. Scripts come from this service only.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_STATIC: Final = files("service.web.openapi") / "static"


class Shown:
    """A constant document; ``make`` returns its content.

    It is made at the first request: starts do not wait for it, and workers that are not asked do not hold it.
    """

    def __init__(self, make: Callable[[], bytes], media_type: str) -> None:
        self._make = make
        self._media_type = media_type
        self._content: Content | None = None
        self._making = asyncio.Lock()

    async def on_get(self, context: RequestContext) -> Document:
        """Read the document."""
        async with self._making:
            if self._content is None:
                self._content = await asyncio.to_thread(lambda: Content.of(self._make(), self._media_type))
        return self._content.answer(context, {"Content-Security-Policy": CONTENT_SECURITY_POLICY})


def add_docs(
    routes: Routes,
    *,
    info: Mapping[str, Any],
    tags: Mapping[str, str] = NO_TAGS,
    token: tuple[str, str] = BEARER,
    access_cookie: str | None = None,
    server: str = "/",
) -> None:
    """Add the pages to ``routes``. Call it last: the document shows the routes added before.

    ``info``, ``tags``, ``token``, ``access_cookie`` and ``server`` are those of ``openapi``. Raises
    RuntimeError if Swagger UI is not installed.
    """
    operations = [*routes.operations, *routes.outside]
    swagger_ui = _swagger_ui()

    def openapi_document() -> bytes:
        return msgspec.json.encode(
            openapi(
                operations,
                info=info,
                tags=tags,
                token=token,
                access_cookie=access_cookie,
                server=server,
            )
        )

    document = Shown(openapi_document, "application/json")
    for template in ("/docs/openapi.json", "/openapi.json"):  # the second is where many programs look
        routes.add_outside(template, document)
    pages: dict[str, tuple[Callable[[], bytes], str]] = {
        "/docs": ((_STATIC / "docs.html").read_bytes, HTML),
        ERRORS_PAGE: (lambda: errors_page(refusals()), HTML),
        "/docs/assets/errors.css": ((_STATIC / "errors.css").read_bytes, CSS),
        "/docs/assets/start.js": ((_STATIC / "start.js").read_bytes, SCRIPT),
        "/docs/assets/swagger-ui.css": ((swagger_ui / "swagger-ui.css").read_bytes, CSS),
        "/docs/assets/swagger-ui-bundle.js": ((swagger_ui / "swagger-ui-bundle.js").read_bytes, SCRIPT),
    }
    for template, (make, media_type) in pages.items():
        routes.add_outside(template, Shown(make, media_type))


def errors_page(shown: Sequence[type[Refusal]]) -> bytes:
    """Return the HTML page that the ``type`` of problem documents refers to."""
    sections = "\n".join(_section(refusal) for refusal in shown)
    return plain_page(
        "Problem codes",
        f"""<p>Every refusal is an <code>application/problem+json</code> document (RFC 9457).
Clients switch on its <code>code</code>.</p>
{sections}""",
    )


def _section(refusal: type[Refusal]) -> str:
    anchor = type_of(refusal).partition("#")[2]
    text = html.escape(" ".join((inspect.getdoc(refusal) or "").split())).replace("``", "")
    return f"""<section id="{anchor}">
<h2><code>{refusal.code}</code></h2>
<p>{refusal.status}: {html.escape(refusal.title)}</p>
<p>{text}</p>
</section>"""


def _swagger_ui() -> Path:
    # Located without an import: the package's code needs Flask, its files don't.
    spec = find_spec("flask_swagger_ui")
    if spec is None or spec.origin is None:
        raise RuntimeError("flask-swagger-ui is not installed")
    return Path(spec.origin).with_name("dist")
