"""The document of the API: ``/docs/openapi.json``, and other constant documents."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.openapi.document import BEARER, NO_TAGS, openapi
from service.web.requests.routes import Routes
from service.web.sites.sites import Content

# Swagger UI uses inline styles and icons in data: URLs. Scripts come from this service only.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


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


def add_document(
    routes: Routes,
    *,
    info: Mapping[str, Any],
    tags: Mapping[str, str] = NO_TAGS,
    token: tuple[str, str] = BEARER,
    access_cookie: str | None = None,
    server: str = "/",
) -> None:
    """Add the OpenAPI document to ``routes``. Call it last: it shows the routes added before.

    ``info``, ``tags``, ``token``, ``access_cookie`` and ``server`` are those of ``openapi``.
    """
    operations = [*routes.operations, *routes.outside]

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
