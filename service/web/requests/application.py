"""Falcon's application: its routes, its hooks, and what a responder returns and how it is sent."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, cast

from falcon.asgi import App, Response
from falcon.routing import CompiledRouter
from msgspec import Struct

from service.errors import NotFound
from service.kernel.feature import Feature
from service.web.content.streams import Sending
from service.web.messages.context import RequestContext
from service.web.messages.dialect import Dialect
from service.web.messages.request import Request

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"

BODILESS: Final = frozenset({204, 304})
"""The statuses of answers without a body (RFC 9110 §6.4.1)."""


def require_lines(head: bytes, number: int) -> None:
    """Raise RuntimeError unless ``head`` has so many lines.

    A line break in a header would begin another header, or the body (RFC 9110 §5.5).
    """
    if head.count(b"\n") != number or head.count(b"\r") != number or b"\0" in head:
        raise RuntimeError("a header of the answer is not one line")


class Answer(Struct, frozen=True, eq=False):
    """An answer: its status, its media type, and its body, either ``data`` or the chunks of ``stream``.

    ``length`` is the size of all chunks in bytes, None if unknown. ``media_type`` is None without a body.
    """

    status: int
    data: bytes = b""
    media_type: bytes | None = JSON
    stream: Sending | None = None
    length: int | None = None

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that describe the body."""
        headers = []
        if self.stream is None and self.status not in BODILESS:
            headers.append((b"content-length", b"%d" % len(self.data)))
        elif self.length is not None:
            headers.append((b"content-length", b"%d" % self.length))
        if self.media_type is not None:
            headers.append((b"content-type", self.media_type))
        return headers

    async def send_body(self, send: Send, *, head_only: bool) -> None:
        """Send what follows the head: nothing with ``head_only``, and with a status that has no body.

        Closes the stream, whatever happens.
        """
        has_body = not head_only and self.status not in BODILESS
        if self.stream is None:
            await send({"type": "http.response.body", "body": self.data if has_body else b""})
            return
        try:
            if has_body:
                async for chunk in self.stream:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            await self.stream.close()
        await send({"type": "http.response.body", "body": b""})


Responder = Callable[[RequestContext, dict[str, Any]], Awaitable[Answer]]
"""Serves a request, whose path parameters are given as text."""


class MethodMap(dict[str, Responder]):
    """The responders of a route by method; every method has one."""


class _Router(CompiledRouter):
    """Falcon's router, with the map from methods to responders made by ``Routes``."""

    def map_http_methods(self, resource: object, **_options: Any) -> dict[str, Any]:
        """Return ``resource``, which already is that map."""
        assert isinstance(resource, MethodMap)  # noqa: S101 - Routes alone adds routes
        return resource


class Application(App[Request, Response]):
    """Falcon's application. ``RequestMiddleware`` serves requests: it asks only for the route of each."""

    def __init__(self) -> None:
        self._routes = _Router()
        self._literal: dict[str, MethodMap] = {}
        self.dialects: list[Dialect] = []
        """The forms of answers and errors below paths that have one of their own."""
        self.absent: tuple[Feature, ...] = ()
        """The features that are off: their paths are not found, even where a template would match them."""
        self.pages: list[str] = []
        """The paths of pages that are served too where a program has encoded the ``#`` of a link to them."""
        super().__init__(request_type=Request, router=self._routes)

    def add_route(self, uri_template: str, resource: object, **options: Any) -> None:
        """Add a route as Falcon does, and keep it apart if its template has no parameter."""
        super().add_route(uri_template, resource, **options)
        if "{" not in uri_template and isinstance(resource, MethodMap):
            self._literal[uri_template] = resource

    def dialect_of(self, path: str) -> Dialect | None:
        """Return the form of answers and errors of ``path``; None for the usual one."""
        return next((dialect for dialect in self.dialects if path.startswith(dialect.prefix)), None)

    def route(self, request: Request) -> tuple[Responder, dict[str, Any]]:
        """Return the responder of ``request``, and its path parameters as text; raises NotFound."""
        # The router tries literal segments first, too.
        if (literal := self._literal.get(request.path)) is not None:
            return literal[request.method], {}
        if self.absent and any(feature.owns(request.path) for feature in self.absent):
            raise NotFound
        match = self._routes.find(request.path, req=request)
        if match is None:
            page = request.path.partition("#")[0]
            if page == request.path or page not in self.pages:
                raise NotFound
            match = self._routes.find(page, req=request)
            assert match is not None  # noqa: S101 - it is served
        responders, arguments = cast(MethodMap, match[1]), match[2]
        return responders[request.method], arguments
