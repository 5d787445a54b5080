"""Falcon's application: its routes, and its hooks at the start and the end of a worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from falcon.asgi import App, Response
from falcon.routing import CompiledRouter

from service.errors import NotFound
from service.web.messages.context import RequestContext
from service.web.messages.request import Request
from service.web.requests.answer import Answer

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
        super().__init__(request_type=Request, router=self._routes)

    def route(self, request: Request) -> tuple[Responder, dict[str, Any]]:
        """Return who serves ``request``, and its path parameters as text; raises NotFound."""
        match = self._routes.find(request.path, req=request)
        if match is None:
            raise NotFound
        responders, arguments = cast(MethodMap, match[1]), match[2]
        return responders[request.method], arguments
