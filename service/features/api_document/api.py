"""The document of the API: ``/docs/openapi.json``, and other constant documents."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from service import __version__
from service.features.api_document.document import BEARER, NO_TAGS, openapi
from service.features.console.sites import Content
from service.kernel.about import NAME
from service.kernel.extension import Extension
from service.kernel.feature import on_by
from service.settings import Settings
from service.web.messages.context import RequestContext
from service.web.messages.schema import Document
from service.web.requests.routes import Routes

# Swagger UI uses inline styles and icons in data: URLs. Scripts come from this service only.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


INFO: Final = {
    "title": f"{NAME} API",  # of which generators of clients make the names of packages
    "version": __version__,
    "description": "An administration service. Every authorization decision is one Casbin decision.",
    "contact": {"name": "The Portcullis maintainers"},
    "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
}
"""The facts about the API that open its document."""

TAGS: Final = {
    ".well-known": "Discovery documents for clients (RFC 8615).",
    "auth": "Login, refresh, logout, and the caller's own sessions.",
    "health": "Liveness of the process and readiness of the service.",
    "menu": "Menus and Buttons, and the resources that Buttons open.",
    "online": "Logged-in users, kicks and bans.",
    "policy": "The authorization policy, its revisions, and questions about access.",
    "public": "Downloads by a public link.",
    "resource": "Registered API resources, and the Buttons that open them.",
    "role": "Roles, and the permissions that they give.",
    "user": "Users, and the caller's own account.",
}
"""Descriptions of the operations below the first segment of a path."""


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


def add_document_of_all(routes: Routes, container: Any, extensions: Sequence[Extension]) -> None:
    """Register the document of the API, with the routes that were added before."""
    auth, cookies = container.settings.auth, container.sign_in.cookies
    token = auth.token_name, auth.token_prefix
    add_document(
        routes,
        info=INFO,
        tags=tags_of(container.settings, extensions),
        token=token,
        access_cookie=cookies.access if cookies.on else None,
        server=container.settings.server.public_url or "/",
    )


def tags_of(settings: Settings, extensions: Sequence[Extension]) -> dict[str, str]:
    """Return the descriptions of operations, including those of features and extensions."""
    tags = dict(TAGS)
    for feature in on_by(settings.features.off):
        tags |= feature.tags
    return tags | {extension.name: f"{extension.title}." for extension in extensions}
